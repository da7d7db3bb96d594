//! The foreign TCPs that can be judged, by their names.

use crate::world::Ran;
use crate::{gvisor, smol};

/// Runs scenarios on one foreign TCP. Each thread has its own.
pub trait Sender {
    /// Runs the scenario with this number.
    ///
    /// # Panics
    /// If the TCP contradicts itself: what it logs does not explain what it sends.
    fn ran(&mut self, seed: u64) -> Ran;
}

/// A foreign TCP.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name, as `--sender` takes it.
    pub name: &'static str,
    /// The release that is run, or why it cannot be run here, in one line.
    pub version: fn() -> Result<String, String>,
    /// Starts it.
    ///
    /// # Errors
    /// As `version` has them.
    pub start: fn() -> Result<Box<dyn Sender>, String>,
}

/// All of them.
pub const SENDERS: [Known; 2] = [smol::KNOWN, gvisor::KNOWN];

/// The one with this name.
///
/// # Errors
/// One line with the names that there are.
pub fn named(name: &str) -> Result<Known, String> {
    let found = SENDERS.into_iter().find(|known| known.name == name);
    found.ok_or_else(|| format!("--sender {name}: one of {}", SENDERS.map(|known| known.name).join(", ")))
}
