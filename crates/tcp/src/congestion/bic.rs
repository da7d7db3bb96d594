//! BIC as in Linux 2.6.15 (LX-BIC-2 to LX-BIC-4): a binary search for the window of the last loss.
//!
//! All windows are whole segments, with the kernel's integer arithmetic.
//!
//! Deviation: the step size follows every ACK; the kernel recomputes it at most once in HZ/32 while the
//! window stands still, when it would come out the same except for the ratio of ACKs.

use rexmit_units::Instant;

use super::config::{BicConfig, CongestionConfig, GrowthCondition};
use super::reno::{SlowStart, open};
use super::{Ack, CongestionControl, During, LinuxControl, Loss, Window};

/// The last step towards the old maximum is this part of the distance.
const PARTS: u32 = 4;
/// Largest count before the first loss.
const FIRST_COUNT: u32 = 20;
/// Fixed point of the ratio of segments to ACKs: 1/16.
const RATIO_SHIFT: u32 = 4;

/// BIC.
#[derive(Clone, Debug)]
pub struct Bic {
    config: BicConfig,
    grows: GrowthCondition,
    slow_start: SlowStart,
    memory: Memory,
    /// As it was before the last congestion event.
    before: Memory,
    /// ACKs since the last step; shared with rate halving (LX-ST-13).
    credit: u32,
}

#[derive(Clone, Copy, Debug)]
struct Memory {
    /// Window at the last congestion event, perhaps lowered; 0: none.
    last_max: u32,
    /// A congestion event has come since the start or the last timeout.
    lost: bool,
    /// Segments per ACK, in 1/16.
    ratio: u32,
}

impl Memory {
    const NONE: Self = Self { last_max: 0, lost: false, ratio: 2 << RATIO_SHIFT };
}

impl Bic {
    /// See [`super::Congestion::new`].
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            config: config.bic,
            grows: config.grows,
            slow_start: SlowStart::new(config),
            memory: Memory::NONE,
            before: Memory::NONE,
            credit: 0,
        }
    }

    /// See [`super::Reno::set_credit`].
    pub fn set_credit(&mut self, credit: u32) {
        self.credit = credit;
    }

    /// ACKs for one segment more, LX-BIC-3.
    fn acks_for_a_step(&self, cwnd: u32) -> u32 {
        let BicConfig { low_window, max_increment, smooth_part, .. } = self.config;
        if cwnd <= low_window {
            return cwnd;
        }
        let max = self.memory.last_max;
        let gentle = cwnd * smooth_part / PARTS;
        let mut count = if cwnd < max {
            match (max - cwnd) / PARTS {
                far if far > max_increment => cwnd / max_increment,
                0 | 1 => gentle,
                distance => cwnd / distance,
            }
        } else if cwnd < max + PARTS {
            gentle
        } else if cwnd < max + max_increment * (PARTS - 1) {
            cwnd * (PARTS - 1) / (cwnd - max)
        } else {
            cwnd / max_increment
        };
        if !self.memory.lost {
            count = count.min(FIRST_COUNT);
        }
        ((count << RATIO_SHIFT) / self.memory.ratio.max(1)).max(1)
    }

    /// A running mean of the segments that an ACK covers, while nothing is suspected.
    fn measure_ratio(&mut self, w: &Window, ack: &Ack) {
        let segments = ack.acked.div_ceil(w.mss);
        if segments > 0 && ack.during == During::Open {
            let ratio = &mut self.memory.ratio;
            *ratio = *ratio - (*ratio >> RATIO_SHIFT) + segments.min(1 << 16);
        }
    }
}

impl CongestionControl for Bic {
    fn on_ack(&mut self, w: &mut Window, ack: &Ack) {
        self.slow_start.count(ack);
        self.measure_ratio(w, ack);
        if self.grows == GrowthCondition::WhenLimited && !ack.cwnd_limited {
            return;
        }
        if self.slow_start.holds(w) {
            self.slow_start.grow(w, ack.acked);
            return;
        }
        self.slow_start.finished();
        // The comparison comes first, as in LX-ST-12.
        if self.credit >= self.acks_for_a_step(w.cwnd / w.mss) {
            self.credit = 0;
            open(w, w.mss);
        } else {
            self.credit += 1;
        }
    }

    fn ssthresh_on_loss(&mut self, w: &Window, _loss: &Loss) -> u32 {
        self.credit = 0;
        self.slow_start.forget();
        self.before = self.memory;
        let cwnd = w.cwnd / w.mss;
        let BicConfig { beta, low_window, fast_convergence, .. } = self.config;
        let converges = fast_convergence && cwnd < self.memory.last_max;
        self.memory.last_max = if converges { scale(cwnd, 1024 + beta, 2048) } else { cwnd };
        self.memory.lost = true;
        let left = if cwnd <= low_window { cwnd / 2 } else { scale(cwnd, beta, 1024) };
        left.max(2).saturating_mul(w.mss)
    }

    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        // LX-BIC-4.
        self.memory = Memory::NONE;
        self.credit = 0;
        self.slow_start.timed_out();
        w.cwnd = w.mss;
    }

    fn on_recovery_exit(&mut self, _w: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {
        self.memory = self.before;
        self.slow_start.finished();
    }

    fn linux_control(&mut self) -> Option<&mut dyn LinuxControl> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "bic"
    }
}

impl LinuxControl for Bic {
    fn recovery_floor(&self, w: &Window) -> u32 {
        w.ssthresh // LX-ST-7
    }

    /// The window of the last loss, which a timeout forgets (`bictcp_undo_cwnd`).
    fn undo_window(&self, w: &Window) -> u32 {
        self.memory.last_max.saturating_mul(w.mss)
    }
}

/// `n` times `up` / `down`, rounded down.
fn scale(n: u32, up: u32, down: u32) -> u32 {
    (u64::from(n) * u64::from(up) / u64::from(down)) as u32
}
