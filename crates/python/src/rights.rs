//! With whose rights this thread opens files.

use pyo3::prelude::*;
use rexmit_live::sys::rights;

/// Lets this thread open files with the rights of a user until [`give_rights_back`]. Raises OSError without the
/// privilege to.
#[pyfunction]
pub fn take_rights(user: u32, group: u32, groups: Vec<u32>) -> PyResult<()> {
    Ok(rights::take(user, group, &groups)?)
}

/// Gives this thread the rights of before.
#[pyfunction]
pub fn give_rights_back() -> PyResult<()> {
    Ok(rights::give_back()?)
}
