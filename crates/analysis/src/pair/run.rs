//! Two captures from their first bytes to their rows.

use std::io::Read;

use rexmit_capture::Reader;

use super::{End, Options, PairRows, Pairing};
use crate::filter::Filter;
use crate::run::{Intake, Progress, Summary};

/// Judges two captures. Call [`step`](Self::step) until it gives false, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct PairRun {
    intakes: [Intake; 2],
    open: [bool; 2],
    pairing: Pairing,
}

impl PairRun {
    /// Begins to judge what `a` and `b` read; `filter` says which packets are judged, `None` for all.
    pub fn new<A, B>(a: Reader<A>, b: Reader<B>, filter: Option<&Filter>, options: &Options) -> Self
    where
        A: Read + Send + 'static,
        B: Read + Send + 'static,
    {
        let intakes = [Intake::here(a, filter.cloned()), Intake::here(b, filter.cloned())];
        Self { intakes, open: [true; 2], pairing: Pairing::new(options) }
    }

    /// Takes at least `packets` records more of each capture, fewer only at its end; false when both have ended.
    pub fn step(&mut self, packets: u64) -> bool {
        for (end, i) in [(End::A, 0), (End::B, 1)] {
            let until = self.intakes[i].progress().packets.saturating_add(packets.max(1));
            while self.open[i] && self.intakes[i].progress().packets < until {
                match self.intakes[i].next() {
                    Some(batch) => self.pairing.push(end, batch),
                    None => self.open[i] = false,
                }
            }
        }
        self.open != [false; 2]
    }

    /// How far both captures have been read.
    pub fn progress(&self) -> [Progress; 2] {
        [self.intakes[0].progress(), self.intakes[1].progress()]
    }

    /// Matches and judges, which takes about as long again as reading, and tells of both captures as a whole.
    pub fn finish(self) -> (PairRows, [Summary; 2]) {
        (self.pairing.finish(), self.intakes.map(Intake::summary))
    }
}
