//! What a pattern names and no packet matched.

use std::fmt;

use rexmit_units::Instant;

use crate::pattern::Positions;

/// What a pattern names and no packet of a run matched: most likely a mistake in the study.
///
/// Its text is one line: `path.down.drop: position 11-30 was never reached (10 packets came)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreached {
    /// Dotted name of the pattern, such as `path.down.drop`.
    pub pattern: String,
    /// What the pattern counts, such as `position`; where it counts nothing, the whole text.
    pub subject: String,
    /// The numbers or the time.
    pub missed: Missed,
    /// How far the packets went; empty where nothing is counted.
    pub because: String,
}

/// The part of a pattern that no packet reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Missed {
    /// These numbers.
    Numbers(Positions),
    /// This time and what comes after it.
    Time(Instant),
    /// All of it.
    All,
}

impl fmt::Display for Unreached {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pattern, subject, missed, because } = self;
        match missed {
            Missed::Numbers(n) => write!(f, "{pattern}: {subject} {n} was never reached ({because})"),
            Missed::Time(t) => write!(f, "{pattern}: {subject} {t} was never reached ({because})"),
            Missed::All => write!(f, "{pattern}: {subject}"),
        }
    }
}
