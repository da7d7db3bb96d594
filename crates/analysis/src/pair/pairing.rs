//! Two captures, packet by packet, until both have ended.

use super::capture::Capture;
use super::judged;
use super::options::Options;
use super::rows::{End, PairRows};
use crate::packet::Batch;

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

    /// This many bytes of the file of a capture have been read: see [`crate::Analyzer::allow`].
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
