//! Files of the machine, written by it and not through the guest's file system, which takes longer than a short run.

use std::ffi::{CStr, CString, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rexmit_files::temporary_name;

use super::{answered, calls, host_write};

/// A file that is being written; dropped before [`Self::keep`], it is removed.
///
/// A new file has its own name from the start: to rename a short capture would take half as long as to write it. A run
/// writes into a folder of its own, and its files count for whole once it has answered. Where there is a file of that
/// name, it stays until the new one is kept, as with [`rexmit_files::Whole`].
#[derive(Debug)]
pub struct HostFile {
    /// None once it was kept.
    descriptor: Option<c_int>,
    present: CString,
    name: CString,
}

impl HostFile {
    /// Begins the file `path`; `None` outside.
    ///
    /// # Errors
    /// Those of the machine; a path without a name.
    pub fn create(path: &Path) -> io::Result<Option<Self>> {
        let Some(calls) = calls() else { return Ok(None) };
        let file_name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let name = CString::new(path.as_os_str().as_bytes())?;
        let mut present = name.clone();
        loop {
            // SAFETY: text that ends.
            match answered(unsafe { (calls.host_create)(present.as_ptr()) }) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(made) => return Ok(Some(Self { descriptor: Some(made as c_int), present, name })),
            }
            let temporary = path.with_file_name(temporary_name(file_name));
            present = CString::new(temporary.as_os_str().as_bytes())?;
        }
    }

    /// Ends the file, which then has its name.
    ///
    /// # Errors
    /// Those of the machine.
    pub fn keep(mut self) -> io::Result<()> {
        let descriptor = self.descriptor.take();
        if self.present != self.name {
            return end(descriptor, &self.present, Some(&self.name));
        }
        // The driver closes, then renames. To rename nothing is an error of its own, and costs nothing.
        match end(descriptor, c"", Some(c"")) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            ended => ended,
        }
    }
}

/// Closes a file and renames what is `present`, or removes it where it gets no name; nothing where it was ended.
fn end(descriptor: Option<c_int>, present: &CStr, name: Option<&CStr>) -> io::Result<()> {
    let (Some(calls), Some(descriptor)) = (calls(), descriptor) else { return Ok(()) };
    let name = name.map_or(std::ptr::null(), CStr::as_ptr);
    // SAFETY: a descriptor of nobody else's, and text that ends.
    answered(unsafe { (calls.host_keep)(descriptor, present.as_ptr(), name) }).map(drop)
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
        let _ = end(self.descriptor.take(), &self.present, None);
    }
}
