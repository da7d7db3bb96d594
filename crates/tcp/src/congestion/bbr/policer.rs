//! A rate that seems to be policed: two intervals of heavy loss with the same throughput, which is then the rate for a
//! while (`bbr_lt_bw_sampling`).

use super::{Mode, PacketSample, SCALE, Sender, UNIT};

/// Round trips that an interval lasts at least, and four times as many at most.
const ROUNDS: u32 = 4;
/// Losses of an interval, in 256ths of what was delivered.
const LOSSES: u64 = 50;
/// The rate is kept for this many round trips.
const KEPT: u32 = 48;
/// Two rates are the same if they differ by an eighth at most, or by 500 bytes a second.
const SHARE: u64 = UNIT / 8;
const BYTES: u64 = 500;

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    rounds: u32,
    pub uses: bool,
    pub rate: u32,
    delivered: u32,
    at_ms: u32,
    lost: u32,
}

/// What becomes of the gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Nothing,
    /// The rate is policed: no gain.
    Steady,
    /// Bandwidth is probed for again.
    Probe,
}

impl Policer {
    fn begin_interval(&mut self, sender: &Sender) {
        self.at_ms = (sender.delivered_at / 1_000) as u32;
        (self.delivered, self.lost, self.rounds) = (sender.delivered, sender.lost, 0);
    }

    pub fn reset(&mut self, sender: &Sender) {
        (self.rate, self.uses, self.sampling) = (0, false, false);
        self.begin_interval(sender);
    }

    pub fn take(&mut self, sample: &PacketSample, sender: &Sender, mode: Mode, round: bool) -> Verdict {
        if self.uses {
            if mode == Mode::ProbeBandwidth && round {
                self.rounds += 1;
                if self.rounds >= KEPT {
                    self.reset(sender);
                    return Verdict::Probe;
                }
            }
            return Verdict::Nothing;
        }
        if !self.sampling {
            if sample.losses == 0 {
                return Verdict::Nothing;
            }
            self.begin_interval(sender);
            self.sampling = true;
        }
        if sample.app_limited {
            self.reset(sender);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(round);
        if self.rounds < ROUNDS {
            return Verdict::Nothing;
        }
        if self.rounds > 4 * ROUNDS {
            self.reset(sender);
            return Verdict::Nothing;
        }
        if sample.losses == 0 {
            return Verdict::Nothing;
        }
        let lost = u64::from(sender.lost.wrapping_sub(self.lost));
        let delivered = u64::from(sender.delivered.wrapping_sub(self.delivered));
        if delivered == 0 || (lost << 8) < LOSSES * delivered {
            return Verdict::Nothing;
        }
        let ms = ((sender.delivered_at / 1_000) as u32).wrapping_sub(self.at_ms);
        if (ms as i32) < 1 {
            return Verdict::Nothing;
        }
        if ms >= u32::MAX / 1_000 {
            self.reset(sender);
            return Verdict::Nothing;
        }
        let rate = ((delivered << SCALE) / (u64::from(ms) * 1_000)) as u32;
        self.end_interval(sender, rate)
    }

    fn end_interval(&mut self, sender: &Sender, rate: u32) -> Verdict {
        if self.rate > 0 {
            let apart = u64::from(rate.abs_diff(self.rate));
            if apart * UNIT <= SHARE * u64::from(self.rate) || sender.bytes_a_second(apart, UNIT) <= BYTES {
                self.rate = ((u64::from(rate) + u64::from(self.rate)) >> 1) as u32;
                (self.uses, self.rounds) = (true, 0);
                return Verdict::Steady;
            }
        }
        self.rate = rate;
        self.begin_interval(sender);
        Verdict::Nothing
    }
}
