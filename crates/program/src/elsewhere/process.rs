//! Where there is no Linux, no program is started: a host that asks for one is told so.

use std::convert::Infallible;
use std::io;

use crate::about::About;
use crate::error::ProgramError;
use crate::frame::{Answer, Call};
use crate::lead::Key;
use crate::pool::Command;
use crate::seat::Seat;

/// None is ever started.
#[derive(Debug)]
pub struct Program(Infallible);

impl Program {
    /// Says that programs need Linux.
    pub(crate) fn start(_: Command, _: Option<Key>) -> Result<Self, ProgramError> {
        Err(ProgramError::Start(io::Error::new(
            io::ErrorKind::Unsupported,
            "stacks that are programs need Linux; give the host another `code`",
        )))
    }

    pub(crate) fn command(&self) -> &Command {
        match self.0 {}
    }

    pub(crate) fn started_by(&self) -> u32 {
        match self.0 {}
    }

    pub(crate) fn lives(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn sit(&mut self, _: &Seat) {
        match self.0 {}
    }

    pub fn hello(&mut self, _: &[u8; 32], _: &str, _: &str) -> Result<About, ProgramError> {
        match self.0 {}
    }

    pub(crate) fn bye(&mut self) -> bool {
        match self.0 {}
    }

    pub fn ask(&mut self, _: &Call<'_>, _: u64, _: u32) -> Result<Answer, ProgramError> {
        match self.0 {}
    }
}
