//! Packets judged as they pass, without a capture.

use rexmit_units::Instant;
use rexmit_wire as wire;

use super::sums::{Repeated, Repeats};
use crate::analyzer::Analyzer;
use crate::options::Options;
use crate::packet::Batch;

/// Judges the packets at one place while they pass: what [`Repeats::of`] finds in a capture made there.
#[derive(Debug)]
pub struct Watcher {
    analyzer: Analyzer,
    repeats: Repeats,
    batch: Batch,
    packets: u64,
}

impl Watcher {
    /// One that has seen nothing.
    pub fn new(options: &Options) -> Self {
        Self {
            analyzer: Analyzer::new(options),
            repeats: Repeats::default(),
            batch: Batch::default(),
            packets: 0,
        }
    }

    /// A packet passes, not before the last one.
    pub fn packet(&mut self, time: Instant, packet: &wire::Packet) {
        self.packets += 1;
        self.batch.add(self.packets, time, packet);
        if self.batch.packets.len() == PACKETS || self.batch.bytes.len() > BYTES {
            self.judge();
        }
    }

    /// What was sent again, once nothing more passes.
    pub fn finish(mut self) -> Vec<Repeated> {
        self.judge();
        self.analyzer.finish();
        self.repeats.take(&self.analyzer.take_rows());
        self.repeats.finish()
    }

    fn judge(&mut self) {
        self.analyzer.push(&self.batch);
        self.repeats.take(&self.analyzer.take_rows());
        self.batch.clear();
    }
}

/// Packets judged at a time: few enough to stay in a core's cache.
const PACKETS: usize = 128;
/// Bytes of SCTP packets after which these are judged.
const BYTES: usize = 1 << 15;
