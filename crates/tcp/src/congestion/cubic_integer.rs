//! CUBIC as Linux 6.1 computes it (tcp_cubic.c): whole packets, time in ticks of 1 ms, those of the host's clock.
//!
//! A deviation: the time that HyStart allows for large packets is its upper bound (see [`super::hystart`]).

use rexmit_units::{Duration, Instant};

use super::config::{CongestionConfig, CubicConfig, GrowthCondition};
use super::hystart::{Hystart, RoundTrip};
use super::reno::{add_packets, slow_start_packets};
use super::{Ack, CongestionControl, LinuxControl, Loss, Note, Window};

/// Ticks in a second, the kernel's HZ.
const HZ: u64 = 1_000;
/// `beta`, of 1024.
const BETA: u32 = 717;
const SCALE: u32 = 1_024;
/// `bic_scale` times 10: 1024 C / 0.1 s.
const CUBE_RTT_SCALE: u64 = 410;
/// The cubic function's time counts in 1/1024 s.
const TIME_SHIFT: u32 = 10;

/// Integer CUBIC.
#[derive(Clone, Debug)]
pub struct CubicInteger {
    config: CubicConfig,
    grows: GrowthCondition,
    state: State,
    hystart: Hystart,
    /// `snd_cwnd_cnt`.
    credit: u32,
    /// The part of the host's tick that has passed when the run starts.
    phase: Duration,
}

/// `struct bictcp`.
#[derive(Clone, Copy, Debug, Default)]
struct State {
    /// Packets for one segment more.
    count: u32,
    /// Window at the last reduction, perhaps lowered.
    last_max: u32,
    last_cwnd: u32,
    last_time: u64,
    origin: u32,
    /// When the function is at its origin, in 1/1024 s after the start.
    k: u64,
    /// Least round-trip time in microseconds; 0: none.
    delay_min: u64,
    epoch: Option<u64>,
    /// Packets since the last step of `reno_cwnd`.
    acked: u32,
    reno_cwnd: u32,
}

impl CubicInteger {
    /// See [`super::Congestion::new`].
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            config: config.cubic,
            grows: config.grows,
            state: State::default(),
            hystart: Hystart::default(),
            credit: 0,
            phase: Duration::ZERO,
        }
    }

    /// Ticks are those of a host whose clock has this phase (LK-CUBIC-1).
    pub fn set_phase(&mut self, phase: Duration) {
        self.phase = phase;
    }

    /// `jiffies`.
    fn ticks(&self, now: Instant) -> u64 {
        (now.as_nanos() + self.phase.as_nanos()) / 1_000_000
    }

    /// `bictcp_update`.
    fn update(&mut self, now: u64, cwnd: u32, acked: u32) {
        let s = &mut self.state;
        s.acked = s.acked.saturating_add(acked);
        if s.last_cwnd == cwnd && now - s.last_time <= HZ / 32 {
            return;
        }
        // The function is looked at once a tick at most.
        if s.epoch.is_none() || now != s.last_time {
            s.last_cwnd = cwnd;
            s.last_time = now;
            self.follow_function(now, cwnd, acked);
        }
        if self.config.reno_friendly {
            self.follow_reno(cwnd);
        }
        self.state.count = self.state.count.max(2);
    }

    fn follow_function(&mut self, now: u64, cwnd: u32, acked: u32) {
        let s = &mut self.state;
        let epoch = *s.epoch.get_or_insert_with(|| {
            s.acked = acked;
            s.reno_cwnd = cwnd;
            if s.last_max <= cwnd {
                (s.k, s.origin) = (0, cwnd);
            } else {
                let factor = (1u64 << (10 + 3 * TIME_SHIFT)) / CUBE_RTT_SCALE;
                s.k = cubic_root(factor * u64::from(s.last_max - cwnd));
                s.origin = s.last_max;
            }
            now
        });
        let t = now.saturating_sub(epoch) + s.delay_min.div_ceil(1_000);
        let t = (t << TIME_SHIFT) / HZ;
        let distance = u128::from(t.abs_diff(s.k));
        let delta = (u128::from(CUBE_RTT_SCALE) * distance * distance * distance) >> (10 + 3 * TIME_SHIFT);
        let delta = delta.min(1 << 30) as u32;
        let target = if t < s.k { s.origin.saturating_sub(delta) } else { s.origin.saturating_add(delta) };
        s.count = if target > cwnd { cwnd / (target - cwnd) } else { cwnd.saturating_mul(100) };
        if s.last_max == 0 {
            s.count = s.count.min(20);
        }
    }

    /// Never slower than Reno with the same factor (`tcp_friendliness`).
    fn follow_reno(&mut self, cwnd: u32) {
        let s = &mut self.state;
        let scale = 8 * (SCALE + BETA) / 3 / (SCALE - BETA);
        let delta = ((cwnd * scale) >> 3).max(1);
        while s.acked > delta {
            s.acked -= delta;
            s.reno_cwnd += 1;
        }
        if s.reno_cwnd > cwnd {
            s.count = s.count.min(cwnd / (s.reno_cwnd - cwnd));
        }
    }
}

impl CongestionControl for CubicInteger {
    fn on_ack(&mut self, w: &mut Window, ack: &Ack) {
        if self.grows == GrowthCondition::WhenLimited && !ack.cwnd_limited {
            return;
        }
        let left = slow_start_packets(w, ack.acked / w.mss);
        if left > 0 {
            self.update(self.ticks(ack.now), w.cwnd / w.mss, left);
            add_packets(w, &mut self.credit, self.state.count, left);
        }
    }

    /// `cubictcp_recalc_ssthresh`.
    fn ssthresh_on_loss(&mut self, w: &Window, _loss: &Loss) -> u32 {
        let cwnd = w.cwnd / w.mss;
        let s = &mut self.state;
        let converges = self.config.fast_convergence && cwnd < s.last_max;
        s.epoch = None;
        s.last_max = if converges { scale(cwnd, SCALE + BETA, 2 * SCALE) } else { cwnd };
        self.credit = 0;
        scale(cwnd, BETA, SCALE).max(2).saturating_mul(w.mss)
    }

    /// `cubictcp_state`: all is forgotten, the last maximum as well.
    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        self.state = State::default();
        self.hystart.forget();
        self.credit = 0;
        w.cwnd = w.mss;
    }

    fn on_recovery_exit(&mut self, _w: &Window, _now: Instant) {}

    /// The kernel restores the window only (`tcp_reno_undo_cwnd`).
    fn on_spurious(&mut self) {}

    fn linux_control(&mut self) -> Option<&mut dyn LinuxControl> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "cubic"
    }
}

impl LinuxControl for CubicInteger {
    fn note(&mut self, w: &mut Window, note: &Note) {
        match *note {
            Note::Restart { now, idle } => {
                // `cubictcp_cwnd_event`: a time without data is not part of the stage.
                let (now, idle) = (self.ticks(now), idle.as_nanos() / 1_000_000);
                self.state.epoch = self.state.epoch.map(|epoch| (epoch + idle).min(now));
            }
            Note::Sample { now, rtt, una, nxt, paced } => {
                let Some(rtt) = rtt else { return };
                // `cubictcp_acked`: not within a second of the start of a stage.
                let since = |epoch| self.ticks(now).saturating_sub(epoch);
                if self.state.epoch.is_some_and(|epoch| since(epoch) < HZ) {
                    return;
                }
                let rtt = (rtt.as_nanos() / 1_000).max(1);
                let least = &mut self.state.delay_min;
                *least = if *least == 0 { rtt } else { rtt.min(*least) };
                if let Some(config) = &self.config.hystart
                    && w.cwnd < w.ssthresh
                    && self.hystart.ends_slow_start(
                        config,
                        w.cwnd / w.mss,
                        &RoundTrip { now, una, nxt, rtt, least: *least, paced },
                    )
                {
                    w.ssthresh = w.cwnd;
                }
            }
        }
    }
}

/// `n` times `up` / `down`, rounded down.
fn scale(n: u32, up: u32, down: u32) -> u32 {
    (u64::from(n) * u64::from(up) / u64::from(down)) as u32
}

/// The kernel's cube root: a table for the leading bits, and one step of Newton's method. Its error is a few
/// per mille, and that decides when a step comes.
fn cubic_root(a: u64) -> u64 {
    let bits = 64 - a.leading_zeros();
    if bits < 7 {
        return (u64::from(ROOTS[a as usize]) + 35) >> 6;
    }
    let b = ((bits * 84) >> 8) - 1;
    let shift = (a >> (b * 3)) as usize;
    let x = ((u64::from(ROOTS[shift]) + 10) << b) >> 6;
    let x = 2 * x + a / (x * (x - 1));
    (x * 341) >> 10
}

/// cbrt(x << 18) - 1 for x from 0 to 63, refined by hand in the kernel.
const ROOTS: [u8; 64] = [
    0, 54, 54, 54, 118, 118, 118, 118, 123, 129, 134, 138, 143, 147, 151, 156, 157, 161, 164, 168, 170, 173,
    176, 179, 181, 185, 187, 190, 192, 194, 197, 199, 200, 202, 204, 206, 209, 211, 213, 215, 217, 219, 221,
    222, 224, 225, 227, 229, 231, 232, 234, 236, 237, 239, 240, 242, 244, 245, 246, 248, 250, 251, 252, 254,
];

#[cfg(test)]
#[path = "tests/cubic_integer.rs"]
mod tests;
