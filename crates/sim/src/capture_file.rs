//! A capture in a file that is whole or is not there.

use std::io;
use std::path::Path;

use rexmit_capture::{Direction, Options, Writer};
use rexmit_files::Whole;
use rexmit_units::Instant;
use rexmit_wire::Packet;

/// Writes a capture to a temporary name beside its own, which it gets in [`CaptureFile::finish`]. Dropped before that,
/// it removes what it wrote.
#[derive(Debug)]
pub(crate) struct CaptureFile(Writer<Whole>);

impl CaptureFile {
    /// Starts a capture of `interface` that will be the file `path`; an older file of that name stays until
    /// then.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn create(path: &Path, interface: &str, options: &Options) -> io::Result<Self> {
        Ok(Self(Writer::with_options(Whole::create(path)?, interface, options)?))
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
        self.0.write_directed(time, packet, direction, comment)
    }

    /// As [`Writer::write_secrets`].
    ///
    /// # Errors
    /// Those of the file system.
    pub fn write_secrets(&mut self, lines: &str) -> io::Result<()> {
        self.0.write_secrets(lines)
    }

    /// Writes what is buffered and gives the file its name.
    ///
    /// # Errors
    /// Those of the file system; the partial file is removed then.
    pub fn finish(self) -> io::Result<()> {
        self.0.finish()?.keep()
    }
}

#[cfg(test)]
mod tests;
