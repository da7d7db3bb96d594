//! Third-party stacks that are built in.

use pyo3::prelude::*;

/// What was missing for FreeBSD's SCTP when this module was built, and what to do; None where it is built in.
#[pyfunction]
pub fn usrsctp_missing() -> Option<&'static str> {
    rexmit_usrsctp::missing()
}
