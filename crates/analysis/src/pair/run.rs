//! Two captures from their first bytes to their rows.

use std::io::Read;

use rexmit_capture::Reader;

use super::options::Options;
use super::pairing::Pairing;
use super::rows::{End, PairRows};
use crate::filter::Filter;
use crate::limits::{Counts, Limit, PAIR_BYTES, PAIR_PACKET, PAIR_PER_BYTE};
use crate::run::{Intake, Progress, Summary};

/// Judges two captures. Call [`step`](Self::step) until it gives false, then [`finish`](Self::finish).
#[derive(Debug)]
pub struct PairRun {
    intakes: [Intake; 2],
    open: [bool; 2],
    pairing: Pairing,
    /// Packets so far, and what limits did, of each capture.
    kept: u64,
    limits: [Counts; 2],
}

impl PairRun {
    /// Begins to judge what `a` and `b` read; `filter` says which packets are judged, `None` for all.
    pub fn new<A, B>(a: Reader<A>, b: Reader<B>, filter: Option<&Filter>, options: &Options) -> Self
    where
        A: Read + Send + 'static,
        B: Read + Send + 'static,
    {
        let intakes = [Intake::here(a, filter.cloned()), Intake::here(b, filter.cloned())];
        Self { intakes, open: [true; 2], pairing: Pairing::new(options), kept: 0, limits: Default::default() }
    }

    /// Takes at least `packets` records more of each capture, fewer only at its end; false when both have ended.
    pub fn step(&mut self, packets: u64) -> bool {
        for (end, i) in [(End::A, 0), (End::B, 1)] {
            let until = self.intakes[i].progress().packets.saturating_add(packets.max(1));
            while self.open[i] && self.intakes[i].progress().packets < until {
                let read: u64 = self.progress().iter().map(|progress| progress.bytes).sum();
                self.pairing.allow(end, self.intakes[i].progress().bytes);
                let most = PAIR_BYTES.saturating_add(read.saturating_mul(PAIR_PER_BYTE)) / PAIR_PACKET;
                match self.intakes[i].next() {
                    Some(batch) if self.kept < most => {
                        self.kept += batch.packets.len() as u64;
                        self.pairing.push(end, batch);
                    }
                    Some(batch) => self.limits[i].add(Limit::Pair, batch.packets.len() as u64),
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
        let rows = self.pairing.finish();
        let mut summaries = self.intakes.map(Intake::summary);
        for (summary, limits) in summaries.iter_mut().zip([rows.a.limits, rows.b.limits]) {
            summary.limits.merge(&limits);
        }
        for (summary, limits) in summaries.iter_mut().zip(self.limits) {
            summary.limits.merge(&limits);
        }
        (rows, summaries)
    }
}
