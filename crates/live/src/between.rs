//! What lies between the hosts of a run: this emulator, or the kernel's own netem.

use std::io;

use rexmit_network::{ByLink, Ends, HostId};
use rexmit_path::{Direction, LogRow, Unreached, Verdict};
use rexmit_scenario::{LinkCounts, Measured, Resolved, Row};
use rexmit_units::Instant;

use crate::drive::poll_number;
use crate::emulator::{Emulator, Lateness};
use crate::netem::NetemPath;
use crate::port::{Port as _, Side};
use crate::sys::inside::Recorder;
use crate::sys::poll::Poll;

/// A path at work.
pub enum Between {
    /// This emulator.
    Ours(Box<Emulator<Side>>),
    /// The kernel's.
    Netem(NetemPath),
}

/// What passed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Passed {
    /// By link; netem takes no patterns, so none was unreached.
    pub links: ByLink<LinkCounts>,
    /// Packets that reached a host.
    pub delivered: u64,
}

impl Between {
    /// Records what passes a host's interface; `None` where a packet socket must do that.
    pub fn record(&self, host: HostId) -> Option<Recorder> {
        match self {
            Self::Ours(emulator) => emulator.ports()[host].record(),
            Self::Netem(_) => None,
        }
    }

    /// Waits for what hosts send, each under its [`poll_number`].
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn watch(&self, poll: &Poll) -> io::Result<()> {
        if let Self::Ours(emulator) = self {
            for (host, port) in emulator.ports().iter() {
                poll.add_readable(port, poll_number(host))?;
            }
        }
        Ok(())
    }

    /// As [`Emulator::take_in`], for all hosts.
    ///
    /// # Errors
    /// Those of an interface.
    pub fn take_in(&mut self, now: Instant) -> io::Result<()> {
        if let Self::Ours(emulator) = self {
            for host in emulator.ports().ids() {
                emulator.take_in(host, now)?;
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
        let Some(host) = emulator.hand_out(now)? else { return Ok(false) };
        emulator.take_in(host, now)?;
        Ok(true)
    }

    /// Before what happens at `now`: measures queues and intervals.
    pub(crate) fn measure<E: Measured>(&mut self, now: Instant, ends: &Ends<E>) {
        if let Self::Ours(emulator) = self {
            emulator.measure(now, ends);
        }
    }

    /// Adds to the row of a run that is over what connections and links did.
    pub(crate) fn tell<E: Measured>(&mut self, row: &mut Row, resolved: &Resolved, ends: &Ends<E>) {
        if let Self::Ours(emulator) = self {
            emulator.tell(row, resolved, ends);
        }
    }

    /// When the next packet is due, as far as this process is concerned with it.
    pub fn next_due(&self) -> Option<Instant> {
        match self {
            Self::Ours(emulator) => emulator.next_due(),
            Self::Netem(_) => None,
        }
    }

    /// What has passed.
    ///
    /// # Errors
    /// Where the kernel does not report it.
    pub fn passed(&self) -> io::Result<Passed> {
        match self {
            Self::Ours(emulator) => {
                let links = emulator.links().values().map(|direction| LinkCounts {
                    packets: direction.counters().packets,
                    drops: direction.counters().drops_by().into(),
                    unreached: direction.unmet(),
                });
                Ok(Passed { links: links.collect(), delivered: emulator.delivered() })
            }
            Self::Netem(netem) => netem.passed(),
        }
    }

    /// How late packets came out; nothing is known of netem's.
    pub fn lateness(&self) -> Option<&Lateness> {
        match self {
            Self::Ours(emulator) => Some(emulator.lateness()),
            Self::Netem(_) => None,
        }
    }

    /// The verdicts on what `host` sent; `None` where nobody gave any.
    pub fn verdicts_on(&self, host: HostId) -> Option<&[Verdict]> {
        match self {
            Self::Ours(emulator) => Some(emulator.verdicts_on(host)),
            Self::Netem(_) => None,
        }
    }

    /// The log of each link; none of netem's.
    pub fn logs(&self) -> ByLink<&[LogRow]> {
        match self {
            Self::Ours(emulator) => emulator.links().each_ref().map(Direction::log),
            Self::Netem(_) => ByLink::new(),
        }
    }

    /// What patterns name and no packet matched.
    pub fn unreached(&self, resolved: &Resolved) -> Vec<Unreached> {
        match self {
            Self::Ours(emulator) => resolved.unreached(emulator.links()),
            Self::Netem(_) => Vec::new(),
        }
    }
}
