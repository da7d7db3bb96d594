//! What can be wrong with a path.

use rexmit_units::Duration;

use crate::spec::{Change, DirectionSpec, EmulatorKind, PathSpec, ShaperKind};

/// The smallest queue in bytes: the smallest MTU, so that any link's packets could pass.
const SMALLEST_QUEUE: u64 = 68;

/// What is wrong with a direction: one line that names the key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A shaper with ticks needs time between them.
    #[error("path.{0}.tick: allowed: a duration above zero, such as \"1 ms\"")]
    NoTick(String),
    /// The first tick comes before one whole tick has passed.
    #[error("path.{name}: the phase {phase} of its tick must be shorter than the tick {tick}")]
    Phase {
        /// `down` or `up`.
        name: String,
        /// As given.
        phase: Duration,
        /// As given.
        tick: Duration,
    },
    /// A change without a moment or with several.
    #[error("path.{name}.changes.{index}: allowed: exactly one of at, packet and when")]
    ChangeMoment {
        /// `down` or `up`.
        name: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A change of nothing.
    #[error("path.{name}.changes.{index}: nothing changes; allowed: rate, delay or both")]
    ChangeOfNothing {
        /// `down` or `up`.
        name: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A change at packet 0.
    #[error("path.{name}.changes.{index}: packet = 0: allowed: at least 1, the first packet")]
    ChangeAtZero {
        /// `down` or `up`.
        name: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A queueing discipline of Linux without Linux.
    #[error("path.{0}.qdisc: a discipline of the Linux kernel goes with path.emulator = \"netem\"")]
    QdiscOfOthers(String),
    /// A queue that no packet fits into.
    #[error(
        "path.{0}.queue: no packet fits in; allowed: at least 1 packet or {SMALLEST_QUEUE} bytes, the smallest MTU"
    )]
    NoQueue(String),
}

impl PathError {
    /// Checks what the types of `spec` allow and a path does not.
    pub(crate) fn check(spec: &DirectionSpec, name: &str, phase: Duration) -> Result<(), Self> {
        use rexmit_units::QueueLimit::{Bytes, Packets};
        if spec.shaper == ShaperKind::Dummynet {
            if spec.tick.is_zero() {
                return Err(Self::NoTick(name.into()));
            }
            if phase >= spec.tick {
                return Err(Self::Phase { name: name.into(), phase, tick: spec.tick });
            }
        }
        if matches!(spec.queue, Packets(0) | Bytes(..SMALLEST_QUEUE)) {
            return Err(Self::NoQueue(name.into()));
        }
        let changes = spec.impairments.changes.iter().enumerate();
        changes.into_iter().try_for_each(|(index, change)| Self::check_change(change, name, index))
    }

    fn check_change(change: &Change, name: &str, index: usize) -> Result<(), Self> {
        let name = name.to_owned();
        let moments = [change.at.is_some(), change.packet.is_some(), change.when.is_some()];
        match change {
            Change { rate: None, delay: None, .. } => Err(Self::ChangeOfNothing { name, index }),
            Change { packet: Some(0), .. } => Err(Self::ChangeAtZero { name, index }),
            _ if moments.iter().filter(|m| **m).count() == 1 => Ok(()),
            _ => Err(Self::ChangeMoment { name, index }),
        }
    }
}

impl PathSpec {
    /// Checks what the types allow and a path does not.
    ///
    /// # Errors
    /// Names the key and what is allowed.
    pub fn check(&self) -> Result<(), PathError> {
        for (direction, name) in [(self.down(), "down"), (self.up(), "up")] {
            direction.check(name)?;
            if direction.qdisc.is_some() && self.emulator != Some(EmulatorKind::Netem) {
                return Err(PathError::QdiscOfOthers(name.into()));
            }
        }
        Ok(())
    }
}

impl DirectionSpec {
    /// Checks what the types allow and a path does not. `name` is `down` or `up`.
    ///
    /// # Errors
    /// Names the key and what is allowed.
    pub fn check(&self, name: &str) -> Result<(), PathError> {
        PathError::check(self, name, Duration::ZERO)
    }
}
