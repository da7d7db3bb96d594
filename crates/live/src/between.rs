//! What lies between the hosts of a run: this emulator, or the kernel's own netem.

use std::io;
use std::net::IpAddr;

use rexmit_path::{Direction, LogRow, Unreached, Verdict};
use rexmit_scenario::Dropped;
use rexmit_units::Instant;

use crate::emulator::{Emulator, Lateness};
use crate::netem::NetemPath;
use crate::packet::RealPacket;
use crate::port::Side;
use crate::sys::poll::Poll;

/// A path at work.
pub enum Between {
    /// This emulator.
    Ours(Box<Emulator<Side>>),
    /// The kernel's.
    Netem(NetemPath),
}

/// What passed, by direction (down, up).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// Packets that came from a host.
    pub packets: [u64; 2],
    /// Packets that were dropped.
    pub drops: [Dropped; 2],
    /// Packets that reached a host.
    pub delivered: u64,
}

impl Between {
    /// Waits for what hosts send, under these numbers.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch(&self, poll: &Poll, numbers: [u64; 2]) -> io::Result<()> {
        if let Self::Ours(emulator) = self {
            for (port, number) in emulator.ports().iter().zip(numbers) {
                poll.add_readable(port, number)?;
            }
        }
        Ok(())
    }

    /// As [`Emulator::take_in`], for both ports.
    ///
    /// # Errors
    /// Those of an interface.
    pub fn take_in(&mut self, now: Instant) -> io::Result<()> {
        if let Self::Ours(emulator) = self {
            for port in 0..2 {
                emulator.take_in(port, now)?;
            }
        }
        Ok(())
    }

    /// Hands the next packet that is due to its host, and takes what the host says to it; true if one was due.
    ///
    /// # Errors
    /// Those of an interface.
    pub fn hand_out(&mut self, now: Instant) -> io::Result<bool> {
        let Self::Ours(emulator) = self else { return Ok(false) };
        let Some(port) = emulator.hand_out(now)? else { return Ok(false) };
        emulator.take_in(port, now)?;
        Ok(true)
    }

    /// When the next packet is due, as far as this process has to do with it.
    pub fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Ours(emulator) => emulator.next_due(),
            Self::Netem(_) => None,
        }
    }

    /// What has passed.
    ///
    /// # Errors
    /// Where the kernel does not tell.
    pub fn passed(&self) -> io::Result<Passed> {
        match self {
            Self::Ours(emulator) => {
                let counters = emulator.directions().each_ref().map(Direction::counters);
                Ok(Passed {
                    packets: counters.map(|c| c.packets),
                    drops: counters.map(|c| c.drops_by().into()),
                    delivered: emulator.lateness().packets,
                })
            }
            Self::Netem(netem) => netem.counters(),
        }
    }

    /// How late packets came out; nothing is known of netem's.
    pub fn lateness(&self) -> Lateness {
        match self {
            Self::Ours(emulator) => emulator.lateness().clone(),
            Self::Netem(_) => Lateness::default(),
        }
    }

    /// The verdicts on what host `n` sent; `None` where nobody gave any.
    pub fn verdicts(&self, n: usize) -> Option<&[Verdict]> {
        match self {
            Self::Ours(emulator) => Some(emulator.verdicts()[n]),
            Self::Netem(_) => None,
        }
    }

    /// The log of each direction (down, up).
    pub fn logs(&self) -> [&[LogRow]; 2] {
        match self {
            Self::Ours(emulator) => emulator.directions().each_ref().map(Direction::log),
            Self::Netem(_) => [&[], &[]],
        }
    }

    /// What patterns name and no packet was.
    pub fn unreached(&self) -> Vec<Unreached> {
        match self {
            Self::Ours(emulator) => emulator.directions().iter().flat_map(Direction::unreached).collect(),
            Self::Netem(_) => Vec::new(),
        }
    }

    /// How many patterns met no packet, down and up; netem takes none.
    pub fn unmet(&self) -> [u64; 2] {
        match self {
            Self::Ours(emulator) => emulator.directions().each_ref().map(Direction::unmet),
            Self::Netem(_) => [0, 0],
        }
    }
}

/// The emulator between two hosts.
pub(crate) fn ours(
    ports: [Side; 2],
    directions: [Direction<RealPacket>; 2],
    addresses: [IpAddr; 2],
    verdicts: bool,
) -> Between {
    Between::Ours(Box::new(Emulator::new(ports, directions, verdicts).only_between(addresses)))
}
