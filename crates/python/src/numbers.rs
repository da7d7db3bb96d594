//! Whole numbers from Python.

use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// A whole number from 0 to 2^64 - 1. Another number is a ValueError, not Python's OverflowError.
#[derive(Clone, Copy)]
pub struct Whole(pub u64);

impl Whole {
    /// As a size; the largest where it does not fit.
    pub fn size(self) -> usize {
        usize::try_from(self.0).unwrap_or(usize::MAX)
    }
}

impl<'py> FromPyObject<'_, 'py> for Whole {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, 'py, PyAny>) -> PyResult<Self> {
        object.extract::<u64>().map(Self).map_err(|error: PyErr| {
            if error.is_instance_of::<PyTypeError>(object.py()) {
                return error;
            }
            PyValueError::new_err(format!("{}: allowed: a whole number from 0 to {}", &*object, u64::MAX))
        })
    }
}
