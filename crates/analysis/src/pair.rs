//! Two captures of the same flows: which packet of one is which of the other, how long each took, which were lost
//! where, and what that says of retransmissions.
//!
//! Unlike an analysis of one capture this one is no stream: it keeps 64 bytes of every TCP packet of both captures, and
//! some more while it matches, until both have been read. Packets of SCTP are analysed in each capture and not matched.
//!
//! Not done: initial sequence numbers that something between the captures changes, and data that a proxy writes anew.

mod capture;
mod clock;
mod crossing;
mod delays;
mod digest;
mod evidence;
mod holes;
mod judged;
mod lane;
mod near;
mod partners;
mod rows;
mod run;

use crate::packet::Batch;
use capture::Capture;

pub use rows::{
    ClockMethod, ClockRow, ClockStep, CrossingRow, End, Fate, LostAt, NearBy, PairRetransmissionRow,
    PairRows, PairSummary,
};
pub use run::PairRun;

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

/// Judges two captures. Call [`push`](Self::push) with the batches of each in its order, in whichever order of the
/// captures, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct Pairing {
    options: Options,
    captures: [Capture; 2],
}

impl Pairing {
    /// One that has seen nothing.
    pub fn new(options: &Options) -> Self {
        let capture = || Capture::new(&options.analysis);
        Self { options: *options, captures: [capture(), capture()] }
    }

    /// Takes the next packets of a capture.
    pub fn push(&mut self, end: End, batch: &Batch) {
        self.captures[end as usize].push(batch);
    }

    /// So many bytes of the file of a capture have been read: see [`crate::Analyzer::allow`].
    pub fn allow(&mut self, end: End, read: u64) {
        self.captures[end as usize].allow(read);
    }

    /// Both captures have ended.
    pub fn finish(mut self) -> PairRows {
        for capture in &mut self.captures {
            capture.finish();
        }
        judged::judge(&self.options, self.captures)
    }
}

#[cfg(test)]
mod tests;
