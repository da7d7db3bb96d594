//! What the path did to a packet, and why.

use std::fmt;

use rexmit_units::{Duration, Instant, QueueLimit};

use crate::spec::Algorithm;

/// What the path did to one packet: its fate, and every effect on the way.
///
/// [`fmt::Display`] gives the text that captures carry as a comment, such as `dropped by pattern at position
/// 18` or `dropped: queue full (99 packets)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Number of the packet in its direction; the first is 1.
    pub position: u64,
    /// Whether it comes out, and if not, why.
    pub fate: Fate,
    /// What else was done to it.
    pub effects: Effects,
}

/// Whether a packet comes out at the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It comes out.
    Delivered {
        /// When; `None` where that depends on packets still to come (reordering).
        at: Option<Instant>,
    },
    /// A loss pattern names it.
    DroppedByPattern {
        /// Number of the packet in its direction.
        position: u64,
    },
    /// Random loss took it.
    DroppedByLoss,
    /// The queue was full.
    QueueFull {
        /// What the queue holds.
        limit: QueueLimit,
    },
    /// The queue's management dropped it as it came.
    DroppedOnArrival {
        /// Which algorithm.
        by: Algorithm,
    },
    /// The queue's management dropped it from the queue.
    DroppedFromQueue {
        /// Which algorithm.
        by: Algorithm,
        /// How long it had been there.
        after: Duration,
    },
    /// It does not fit into the token bucket.
    TooLong {
        /// Its bytes, with those of the link layer.
        bytes: u64,
    },
    /// It is in the queue, or on the link before it, and may still be dropped: see
    /// [`poll_verdict`](crate::Direction::poll_verdict).
    Undecided,
}

/// What drops or changes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// A pattern.
    Pattern,
    /// Random loss.
    Random,
    /// A full queue.
    Queue,
    /// The queue's management.
    Aqm,
    /// A token bucket, which the packet does not fit into.
    Bucket,
}

impl By {
    /// Its name in tables.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Pattern => "pattern",
            Self::Random => "random",
            Self::Queue => "queue",
            Self::Aqm => "aqm",
            Self::Bucket => "bucket",
        }
    }
}

/// What was done to a packet besides its fate; several may hold at a time. All but a mark by the queue's management
/// is done by patterns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// A bit error: the receiver sees a bad checksum.
    pub corrupted: bool,
    /// A second copy entered the queue behind it.
    pub duplicated: Duplicated,
    /// Extra delay by a pattern, in the delay line.
    pub held: Option<Duration>,
    /// Held back until this many later packets have passed.
    pub reordered: Option<u32>,
    /// Marked "congestion experienced" (RFC 3168).
    pub marked: bool,
    /// That was by the queue's management; a pattern marks before.
    pub marked_by: Option<Algorithm>,
}

/// Whether a packet was duplicated, and what became of the copy.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Duplicated {
    /// No copy.
    #[default]
    No,
    /// The copy comes out as well.
    Delivered,
    /// The copy found the queue full.
    CopyDropped,
    /// The copy was dropped by the queue's management.
    CopyDroppedByAqm {
        /// Which algorithm.
        by: Algorithm,
    },
}

impl Verdict {
    /// True if the packet does not come out.
    #[inline]
    pub fn is_drop(&self) -> bool {
        self.fate.dropped_by().is_some()
    }

    /// What dropped it, or else what changed it, a pattern before the queue's management; none where it just passes.
    pub fn by(&self) -> Option<By> {
        let marked = self.effects.marked_by.map(|_| By::Aqm);
        // A mark is a pattern's unless the queue's management made it.
        let pattern =
            Effects { marked_by: None, marked: self.effects.marked && marked.is_none(), ..self.effects };
        let changed = (pattern != Effects::default()).then_some(By::Pattern);
        self.fate.dropped_by().or(changed).or(marked)
    }

    /// True if nothing can change it any more.
    #[inline]
    pub fn is_final(&self) -> bool {
        self.fate != Fate::Undecided
    }

    /// True if the packet just passes: no comment needed.
    #[inline]
    pub fn is_plain(&self) -> bool {
        matches!(self.fate, Fate::Delivered { .. }) && self.effects == Effects::default()
    }
}

impl Fate {
    /// Its name in tables: `delivered`, `dropped` or `undecided`.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Delivered { .. } => "delivered",
            Self::Undecided => "undecided",
            _ => "dropped",
        }
    }

    /// What dropped the packet, if anything did.
    #[inline]
    pub fn dropped_by(&self) -> Option<By> {
        match self {
            Self::Delivered { .. } | Self::Undecided => None,
            Self::DroppedByPattern { .. } => Some(By::Pattern),
            Self::DroppedByLoss => Some(By::Random),
            Self::QueueFull { .. } => Some(By::Queue),
            Self::DroppedOnArrival { .. } | Self::DroppedFromQueue { .. } => Some(By::Aqm),
            Self::TooLong { .. } => Some(By::Bucket),
        }
    }

    /// Whether a comment in a capture, the text of a verdict, says that the packet was dropped.
    pub fn is_drop_in(comment: &str) -> bool {
        comment.starts_with(DROPPED)
    }
}

/// How the text of every drop begins, and no other.
const DROPPED: &str = "dropped";

impl Effects {
    /// The names of what was done, in tables: `damaged`, `duplicated`, `copy-dropped`, `delayed`, `reordered`,
    /// `marked`.
    pub fn names(&self) -> impl Iterator<Item = &'static str> {
        let duplicated = match self.duplicated {
            Duplicated::No => None,
            Duplicated::Delivered => Some("duplicated"),
            Duplicated::CopyDropped | Duplicated::CopyDroppedByAqm { .. } => Some("copy-dropped"),
        };
        let held = self.held.map(|_| "delayed");
        let reordered = self.reordered.map(|_| "reordered");
        let (damaged, marked) = (self.corrupted.then_some("damaged"), self.marked.then_some("marked"));
        [damaged, duplicated, held, reordered, marked].into_iter().flatten()
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fate.fmt(f)?;
        self.effects.fmt(f)
    }
}

impl fmt::Display for Fate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Delivered { .. } => f.write_str("delivered"),
            Self::DroppedByPattern { position } => write!(f, "dropped by pattern at position {position}"),
            Self::DroppedByLoss => f.write_str("dropped by random loss"),
            Self::QueueFull { limit } => {
                f.write_str("dropped: queue full (")?;
                match limit {
                    QueueLimit::Packets(1) => f.write_str("1 packet")?,
                    QueueLimit::Packets(n) => write!(f, "{n} packets")?,
                    QueueLimit::Bytes(n) => write!(f, "{n} bytes")?,
                }
                f.write_str(")")
            }
            Self::DroppedOnArrival { by } => write!(f, "dropped by {} on arrival", by.name()),
            Self::DroppedFromQueue { by, after } => {
                write!(f, "dropped by {} after {} ms in the queue", by.name(), after.as_millis_f64())
            }
            Self::TooLong { bytes } => write!(f, "dropped: longer than the token bucket ({bytes} bytes)"),
            Self::Undecided => f.write_str("still in the queue"),
        }
    }
}

impl fmt::Display for Effects {
    /// Each effect after a comma; nothing for none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.corrupted {
            f.write_str(", corrupted")?;
        }
        match self.duplicated {
            Duplicated::No => {}
            Duplicated::Delivered => f.write_str(", duplicated")?,
            Duplicated::CopyDropped => f.write_str(", duplicated (copy dropped: queue full)")?,
            Duplicated::CopyDroppedByAqm { by } => {
                write!(f, ", duplicated (copy dropped by {})", by.name())?;
            }
        }
        if let Some(by) = self.held {
            write!(f, ", held for {} ms", by.as_millis_f64())?;
        }
        match self.reordered {
            None => {}
            Some(1) => f.write_str(", held back past 1 packet")?,
            Some(n) => write!(f, ", held back past {n} packets")?,
        }
        if self.marked {
            f.write_str(", marked congestion experienced")?;
        }
        if let Some(by) = self.marked_by {
            write!(f, " by {}", by.name())?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
