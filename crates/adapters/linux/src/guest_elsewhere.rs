//! Where there is no Linux, no guest is booted: a host that asks for one is told so.

use std::io;

use crate::error::GuestError;
use crate::pool::Kernel;
use crate::protocol::{Answer, Request};

/// None is ever booted.
#[derive(Debug)]
pub(crate) enum Guest {}

impl Guest {
    /// Says that guests need Linux.
    pub fn start(kernel: Kernel) -> Result<Self, GuestError> {
        let text = "a Linux kernel with a virtual clock runs on Linux alone; give the host another `code`";
        Err(GuestError::Start {
            kernel: kernel.version,
            error: io::Error::new(io::ErrorKind::Unsupported, text),
        })
    }

    pub fn kernel(&self) -> &Kernel {
        match *self {}
    }

    pub fn started_by(&self) -> u32 {
        match *self {}
    }

    pub fn lives(&mut self) -> bool {
        match *self {}
    }

    pub fn ask(&mut self, _: &Request) -> Result<Answer, GuestError> {
        match *self {}
    }
}
