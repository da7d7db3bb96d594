//! A capture in a file that is whole or is not there.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use rexmit_capture::{Direction, Options, Writer};
use rexmit_units::Instant;
use rexmit_wire::Packet;

/// Writes a capture to a temporary name beside `path` (`NAME.PID.partial`) and renames it in
/// [`CaptureFile::finish`]. Dropped before that, it removes what it wrote.
#[derive(Debug)]
pub(crate) struct CaptureFile {
    /// None once finished.
    writer: Option<Writer<BufWriter<File>>>,
    partial: PathBuf,
    path: PathBuf,
}

impl CaptureFile {
    /// Starts a capture of `interface` that will be the file `path`; an older file of that name stays until
    /// then.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, interface: &str, options: &Options) -> io::Result<Self> {
        let mut name = path.file_name().map(OsString::from).ok_or_else(|| {
            io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()))
        })?;
        name.push(format!(".{}.partial", std::process::id()));
        let partial = path.with_file_name(name);
        let file = BufWriter::new(File::create(&partial)?);
        // From here on, dropping it removes the partial file.
        let mut capture = Self { writer: None, partial, path: path.to_owned() };
        capture.writer = Some(Writer::with_options(file, interface, options)?);
        Ok(capture)
    }

    /// As [`Writer::write_directed`].
    ///
    /// # Errors
    /// As [`Writer::write_packet`].
    pub fn write_directed(
        &mut self,
        time: Instant,
        packet: &Packet,
        direction: Option<Direction>,
        comment: Option<&str>,
    ) -> io::Result<()> {
        match &mut self.writer {
            Some(writer) => writer.write_directed(time, packet, direction, comment),
            None => unreachable!("a capture has its writer until it is finished"),
        }
    }

    /// Writes what is buffered and gives the file its name.
    ///
    /// # Errors
    /// Those of the file system; the partial file is removed then.
    pub fn finish(mut self) -> io::Result<()> {
        if let Some(writer) = self.writer.take() {
            let file = writer.finish()?.into_inner().map_err(io::IntoInnerError::into_error)?;
            drop(file);
            fs::rename(&self.partial, &self.path)?;
            self.partial.clear();
        }
        Ok(())
    }
}

impl Drop for CaptureFile {
    fn drop(&mut self) {
        if !self.partial.as_os_str().is_empty() {
            // Closed first, for systems that remove no open file.
            self.writer = None;
            // There is nobody to tell, and the name says that it is partial.
            let _ = fs::remove_file(&self.partial);
        }
    }
}

#[cfg(test)]
mod tests;
