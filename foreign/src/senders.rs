//! The foreign TCPs that can be judged, by their names.

use crate::world::Ran;
use crate::{gvisor, ns3, smol};

/// Runs scenarios on one foreign TCP. Each thread has its own.
pub trait Sender {
    /// Runs the scenario with this number.
    ///
    /// # Panics
    /// If the TCP contradicts itself: what it logs does not explain what it sends.
    fn ran(&mut self, seed: u64) -> Ran;

    /// Its name and release.
    fn version(&self) -> String;
}

/// A foreign TCP.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its name, as `--sender` takes it.
    pub name: &'static str,
    /// Starts it.
    ///
    /// # Errors
    /// Why it cannot be run here, in one line.
    pub start: fn() -> Result<Box<dyn Sender>, String>,
}

/// All of them.
pub const SENDERS: [Known; 3] = [smol::KNOWN, ns3::KNOWN, gvisor::KNOWN];

/// The one with this name.
///
/// # Errors
/// One line with the names that there are.
pub fn named(name: &str) -> Result<Known, String> {
    let found = SENDERS.into_iter().find(|known| known.name == name);
    found.ok_or_else(|| format!("--sender {name}: one of {}", SENDERS.map(|known| known.name).join(", ")))
}
