//! Reno (RFC 5681) with the choices in which real systems differ: FB-CW-1, FB-FR-2, LX-ST-6, LX-ST-12,
//! RFC 3465.

use rexmit_units::Instant;

use super::config::{
    CongestionConfig, Growth, GrowthCondition, HystartRule, SlowStartCondition, SsthreshRule,
};
use super::hystart_plus_plus::{HystartPlusPlus, LIMIT, RoundTrip};
use super::{Ack, CongestionControl, During, Loss, Window};

/// Reno; NewReno differs in recovery only.
#[derive(Clone, Debug)]
pub struct Reno {
    slow_start: SlowStart,
    at_least_one: bool,
    grows: GrowthCondition,
    ssthresh: SsthreshRule,
    /// `counter`: ACKs; `per-byte`: bytes; both since the last step of congestion avoidance.
    credit: u32,
}

impl Reno {
    /// See [`super::Congestion::new`].
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            slow_start: SlowStart::new(config),
            at_least_one: config.at_least_one,
            grows: config.grows,
            ssthresh: config.ssthresh,
            credit: 0,
        }
    }

    /// ACKs (`counter`) or bytes (`per-byte`) counted towards the next step of congestion avoidance.
    pub fn credit(&self) -> u32 {
        self.credit
    }

    /// Sets that count: Linux's rate halving uses the same counter and leaves it as it stands (LX-ST-7,
    /// LX-ST-13).
    pub fn set_credit(&mut self, credit: u32) {
        self.credit = credit;
    }

    pub(super) fn watch_slow_start(&mut self, w: &mut Window, round: &RoundTrip) {
        self.slow_start.watch(w, round);
    }

    fn avoid(&mut self, w: &mut Window, acked: u32) {
        match self.slow_start.growth {
            // RFC 5681 equation 3.
            Growth::PerAck => {
                let step = u64::from(w.mss) * u64::from(w.mss) / u64::from(w.cwnd.max(1));
                let least = u64::from(self.at_least_one);
                open(w, step.clamp(least, u64::from(w.mss)) as u32);
            }
            // RFC 3465 section 2.1. Packets have a rule of their own.
            Growth::PerByte | Growth::PerPacket => {
                self.credit = self.credit.saturating_add(acked);
                if self.credit >= w.cwnd {
                    self.credit -= w.cwnd;
                    open(w, w.mss);
                }
            }
            // LX-ABC-4; the bytes have been counted already.
            Growth::CountedBytes => {
                if self.slow_start.bytes >= w.cwnd {
                    self.slow_start.bytes -= w.cwnd;
                    open(w, w.mss);
                }
            }
            // LX-ST-12: the comparison comes first.
            Growth::Counter => {
                if self.credit >= w.cwnd / w.mss {
                    self.credit = 0;
                    open(w, w.mss);
                } else {
                    self.credit += 1;
                }
            }
        }
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, w: &mut Window, ack: &Ack) {
        self.slow_start.count(ack);
        if self.grows == GrowthCondition::WhenLimited && !ack.cwnd_limited {
            return;
        }
        if self.slow_start.growth == Growth::PerPacket {
            let left = slow_start_packets(w, ack.acked / w.mss);
            if left > 0 {
                add_packets(w, &mut self.credit, w.cwnd / w.mss, left);
            }
        } else if self.slow_start.holds(w) {
            self.slow_start.grow(w, ack.acked);
        } else {
            self.slow_start.finished();
            self.avoid(w, ack.acked);
        }
    }

    fn ssthresh_on_loss(&mut self, w: &Window, loss: &Loss) -> u32 {
        // LX-ST-6; RFC 3465 says nothing.
        self.credit = 0;
        self.slow_start.forget();
        match self.ssthresh {
            SsthreshRule::WindowHalf => whole_segments(w.cwnd.min(loss.snd_wnd) / 2, w.mss),
            SsthreshRule::CwndHalf => whole_segments(w.cwnd / 2, w.mss),
            SsthreshRule::FlightHalf => (loss.in_flight / 2).max(w.mss.saturating_mul(2)),
        }
    }

    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        self.credit = 0;
        w.cwnd = w.mss;
        self.slow_start.timed_out();
    }

    fn on_recovery_exit(&mut self, _w: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {
        self.slow_start.finished();
    }

    fn name(&self) -> &'static str {
        "reno"
    }
}

/// Slow start, the same for every algorithm.
#[derive(Clone, Debug)]
pub(super) struct SlowStart {
    growth: Growth,
    condition: SlowStartCondition,
    abc_limit: u32,
    after_timeout: bool,
    /// `counted-bytes`: acknowledged since the last step.
    bytes: u32,
    hystart: Option<Box<HystartPlusPlus>>,
}

impl SlowStart {
    pub(super) fn new(config: &CongestionConfig) -> Self {
        Self {
            growth: config.growth,
            condition: config.slow_start,
            abc_limit: config.abc_limit,
            after_timeout: false,
            bytes: 0,
            hystart: (config.hystart == HystartRule::Rfc9406).then(Box::default),
        }
    }

    #[inline]
    pub(super) fn holds(&self, w: &Window) -> bool {
        match self.condition {
            SlowStartCondition::UpToSsthresh => w.cwnd <= w.ssthresh,
            SlowStartCondition::BelowSsthresh => w.cwnd < w.ssthresh,
        }
    }

    /// Takes note of the bytes of an ACK: none while a timeout is being repaired (LX-ABC-2).
    #[inline]
    pub(super) fn count(&mut self, ack: &Ack) {
        if self.growth == Growth::CountedBytes && ack.during != During::Loss {
            self.bytes = self.bytes.saturating_add(ack.acked);
        }
    }

    /// A congestion event clears what was counted (LX-ABC-1).
    pub(super) fn forget(&mut self) {
        self.bytes = 0;
    }

    pub(super) fn grow(&mut self, w: &mut Window, acked: u32) {
        match self.growth {
            Growth::CountedBytes => {
                if self.bytes >= w.mss {
                    self.bytes = 0;
                    open(w, w.mss);
                }
            }
            Growth::PerAck | Growth::Counter => open(w, w.mss),
            Growth::PerByte | Growth::PerPacket => {
                // RFC 9406 section 4.3 has a limit of its own, for the first slow start.
                let first = w.ssthresh == u32::MAX;
                let hystart = self.hystart.as_ref().filter(|_| first && !self.after_timeout);
                let limit = match hystart {
                    Some(_) => LIMIT,
                    None if self.after_timeout => 1,
                    None => self.abc_limit,
                };
                let bytes = acked.min(w.mss.saturating_mul(limit));
                open(w, bytes / hystart.map_or(1, |hystart| hystart.divisor()));
            }
        }
    }

    /// The first slow start ends where HyStart++ says so (RFC 9406 section 4.2).
    pub(super) fn watch(&mut self, w: &mut Window, round: &RoundTrip) {
        if let Some(hystart) = self.hystart.as_mut().filter(|_| w.ssthresh == u32::MAX)
            && hystart.ends_slow_start(round)
        {
            w.ssthresh = w.cwnd;
        }
    }

    /// RFC 3465 section 2.3: what follows a timeout may acknowledge many bytes at once that left the
    /// network long ago.
    pub(super) fn timed_out(&mut self) {
        self.after_timeout = true;
    }

    pub(super) fn finished(&mut self) {
        self.after_timeout = false;
    }
}

/// Slow start by `acked` packets, up to ssthresh; returns what is left of them (`tcp_slow_start`).
pub(super) fn slow_start_packets(w: &mut Window, acked: u32) -> u32 {
    if w.cwnd >= w.ssthresh {
        return acked;
    }
    let cwnd = w.cwnd / w.mss;
    let target = (cwnd.saturating_add(acked)).min(w.ssthresh / w.mss).max(cwnd);
    open(w, (target - cwnd) * w.mss);
    acked - (target - cwnd)
}

/// One segment more for each `count` packets (`tcp_cong_avoid_ai`).
pub(super) fn add_packets(w: &mut Window, credit: &mut u32, count: u32, acked: u32) {
    // What was counted at a larger window makes one segment, not several.
    if *credit >= count {
        *credit = 0;
        open(w, w.mss);
    }
    *credit = credit.saturating_add(acked);
    if *credit >= count {
        let steps = *credit / count.max(1);
        *credit -= steps * count;
        open(w, steps.saturating_mul(w.mss));
    }
}

/// Opens the window up to its limit; a window that is already beyond it stays.
pub(super) fn open(w: &mut Window, bytes: u32) {
    w.cwnd = w.cwnd.saturating_add(bytes).min(w.max).max(w.cwnd);
}

/// Rounded down to whole segments, at least two.
pub(super) fn whole_segments(bytes: u32, mss: u32) -> u32 {
    (bytes / mss).max(2).saturating_mul(mss)
}
