//! Where there is no Linux, no clock is led.

use std::ffi::OsString;
use std::io;
use std::path::Path;

/// What random numbers of a program come from.
pub(crate) type Key = [u8; 16];

/// None is ever made.
#[derive(Debug)]
pub enum Lead {}

impl Lead {
    /// Says that clocks are led on Linux.
    ///
    /// # Errors
    /// Always.
    pub fn new(_: &[u8; 16]) -> io::Result<Self> {
        Err(io::Error::other(WHY))
    }

    /// Names and values that the program's environment has besides this process's.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        match *self {}
    }

    /// Leads it to this time of the run, in ns.
    ///
    /// # Errors
    /// None.
    pub fn set_now(&self, _: u64) -> io::Result<()> {
        match *self {}
    }
}

/// Why no program can be led.
pub(crate) fn hindrance(_: &[String], _: &Path) -> Option<String> {
    Some(WHY.to_owned())
}

const WHY: &str = "this build of rexmit leads no clocks (64-bit Linux with glibc does)";
