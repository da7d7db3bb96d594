//! How far acknowledgments come in lumps: what arrived beyond what the bandwidth explains widens the window
//! (`bbr_update_ack_aggregation`).

use super::{PacketSample, SCALE, Sender};

/// The greatest of two parts of this many round trips each.
const ROUNDS: u32 = 5;
/// A measurement restarts after this many packets.
const MOST: u32 = 1 << 20;
/// The window is widened by what such a time brings at most, microseconds.
const LONGEST: u64 = 100_000;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    since: u64,
    arrived: u32,
    rounds: u32,
    part: usize,
    extra: [u16; 2],
}

impl Aggregation {
    pub fn begin(&mut self, at: u64) {
        (self.since, self.arrived) = (at, 0);
    }

    /// `path`: the bandwidth, whether a round trip begins, and cwnd.
    pub fn take(&mut self, sample: &PacketSample, sender: &Sender, path: (u32, bool, u32)) {
        let (bandwidth, round, cwnd) = path;
        if sample.arrived == 0 || sample.rate.is_none() {
            return;
        }
        if round {
            self.rounds = (self.rounds + 1).min(0x1f);
            if self.rounds >= ROUNDS {
                (self.rounds, self.part) = (0, 1 - self.part);
                self.extra[self.part] = 0;
            }
        }
        let since = sender.delivered_at.saturating_sub(self.since);
        let mut expected = ((u64::from(bandwidth) * since) >> SCALE) as u32;
        if self.arrived <= expected || self.arrived + sample.arrived >= MOST {
            self.begin(sender.delivered_at);
            expected = 0;
        }
        self.arrived = (self.arrived + sample.arrived).min(MOST - 1);
        let extra = self.arrived.wrapping_sub(expected).min(cwnd);
        if extra > self.extra[self.part].into() {
            self.extra[self.part] = extra as u16;
        }
    }

    /// Packets by which the window is wider.
    pub fn packets(&self, bandwidth: u32) -> u32 {
        let most = (u64::from(bandwidth) * LONGEST) >> SCALE;
        u64::from(self.extra[0].max(self.extra[1])).min(most) as u32
    }
}
