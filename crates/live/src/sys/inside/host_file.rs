//! Files of the machine, written by it and not through the guest's file system, which takes longer than a short run.

use std::ffi::{CStr, CString, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rexmit_files::temporary_name;

use super::{answered, calls, host_write};

/// A file that is being written, as [`rexmit_files::Whole`]: it gets its name in [`Self::keep`]; dropped before that, it
/// is removed.
#[derive(Debug)]
pub struct HostFile {
    /// None once it was kept.
    descriptor: Option<c_int>,
    temporary: CString,
    name: CString,
}

impl HostFile {
    /// Begins the file `path`; `None` elsewhere than inside.
    ///
    /// # Errors
    /// Those of the machine; a path without a name.
    pub fn create(path: &Path) -> io::Result<Option<Self>> {
        let Some(calls) = calls() else { return Ok(None) };
        let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        loop {
            let temporary = path.with_file_name(temporary_name(name));
            let [temporary, name] =
                [temporary.as_path(), path].map(|path| CString::new(path.as_os_str().as_bytes()));
            let (temporary, name) = (temporary?, name?);
            // SAFETY: text that ends.
            match answered(unsafe { (calls.host_create)(temporary.as_ptr()) }) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(made) => return Ok(Some(Self { descriptor: Some(made as c_int), temporary, name })),
            }
        }
    }

    /// Gives the file its name.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn keep(mut self) -> io::Result<()> {
        let name = std::mem::take(&mut self.name);
        self.end(Some(&name))
    }

    fn end(&mut self, name: Option<&CStr>) -> io::Result<()> {
        let (Some(calls), Some(descriptor)) = (calls(), self.descriptor.take()) else { return Ok(()) };
        let name = name.map_or(std::ptr::null(), CStr::as_ptr);
        // SAFETY: a descriptor of nobody else's, and text that ends.
        answered(unsafe { (calls.host_keep)(descriptor, self.temporary.as_ptr(), name) }).map(drop)
    }
}

impl Write for HostFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        host_write(self.descriptor.ok_or(io::ErrorKind::NotConnected)?, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for HostFile {
    fn drop(&mut self) {
        // There is nobody to tell, and the name says what it is.
        let _ = self.end(None);
    }
}
