//! Two captures of the same flows: which packet of one is which of the other, how long each took, which were lost
//! where, and what that says of retransmissions.

mod rows;

pub use rows::{
    ClockMethod, ClockRow, ClockStep, CrossingRow, End, Fate, LostAt, NearBy, PairRetransmissionRow, PairRows,
    PairSummary,
};

/// What a pairing may be told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// What the analysis of each capture is told.
    pub analysis: crate::Options,
    /// Both captures were made by one clock.
    pub same_clock: bool,
    /// Both captures ran from before the first packet until after the last one, so that a packet that is in one of them
    /// only was lost. Otherwise a capture is taken to have run from its first to its last packet.
    pub whole: bool,
    /// Keep [`PairRows::crossings`]: a row a packet.
    pub crossings: bool,
}
