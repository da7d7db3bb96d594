//! With whose rights this thread opens files.

use pyo3::prelude::*;

/// Lets this thread open files with the rights of a user until [`give_rights_back`]. Raises OSError without the
/// privilege to.
#[pyfunction]
pub fn take_rights(user: u32, group: u32, groups: Vec<u32>) -> PyResult<()> {
    #[cfg(all(target_os = "linux", feature = "kernels"))]
    return Ok(rexmit_live::sys::rights::take(user, group, &groups)?);
    #[cfg(not(all(target_os = "linux", feature = "kernels")))]
    Err(std::io::Error::other(format!(
        "no thread takes the rights of {user}:{group} ({} groups) here",
        groups.len()
    ))
    .into())
}

/// Gives this thread its earlier rights back.
#[pyfunction]
pub fn give_rights_back() -> PyResult<()> {
    #[cfg(all(target_os = "linux", feature = "kernels"))]
    rexmit_live::sys::rights::give_back()?;
    Ok(())
}
