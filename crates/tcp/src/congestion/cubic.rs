//! CUBIC (RFC 9438).
//!
//! Windows are kept in segments and times in seconds, as 64-bit floating-point numbers. Only operations that
//! IEEE 754 defines exactly are used, and the cube root is computed here, so the same run gives the same
//! bytes on every machine.
//!
//! Slow start is that of the profile, with HyStart++ or without (section 4.10). A deviation: section 4.2's exclusion of times without growth ends at the next ACK that was limited by the window.

use rexmit_units::{Duration, Instant};

use super::config::{CongestionConfig, CubicConfig, GrowthCondition, SsthreshRule};
use super::hystart_plus_plus::RoundTrip;
use super::reno::{SlowStart, open};
use super::{Ack, CongestionControl, Loss, Window};

/// CUBIC.
#[derive(Clone, Debug)]
pub struct Cubic {
    config: CubicConfig,
    base: SsthreshRule,
    grows: GrowthCondition,
    slow_start: SlowStart,
    state: State,
    /// As it was before the last congestion event (section 4.9).
    before: Option<State>,
}

/// Windows in segments, times in seconds.
#[derive(Clone, Debug, Default)]
struct State {
    /// The window at the last congestion event, perhaps lowered by fast convergence.
    w_max: f64,
    /// The window just before the last reduction.
    cwnd_prior: f64,
    /// The present stage of congestion avoidance, once there is one.
    epoch: Option<Epoch>,
    /// The last congestion event was a timeout (section 4.8).
    timed_out: bool,
    /// Part of a byte by which the window should already be larger.
    fraction: f64,
}

#[derive(Clone, Debug)]
struct Epoch {
    start: Instant,
    /// When the cubic function is back at `w_max`, in seconds after the start.
    k: f64,
    /// What Reno would have.
    w_est: f64,
    last_ack: Instant,
}

impl Cubic {
    /// See [`super::Congestion::new`].
    pub fn new(config: &CongestionConfig) -> Self {
        Self {
            config: config.cubic,
            base: config.ssthresh,
            grows: config.grows,
            slow_start: SlowStart::new(config),
            state: State::default(),
            before: None,
        }
    }

    pub(super) fn watch_slow_start(&mut self, w: &mut Window, round: &RoundTrip) {
        self.slow_start.watch(w, round);
    }

    /// One step of congestion avoidance, sections 4.2 to 4.5.
    fn avoid(&mut self, w: &mut Window, ack: &Ack) {
        let mss = f64::from(w.mss);
        let cwnd = f64::from(w.cwnd) / mss;
        let CubicConfig { c, beta, reno_friendly, .. } = self.config;
        let state = &mut self.state;
        let epoch = match &mut state.epoch {
            Some(epoch) => epoch,
            empty => {
                // Sections 4.2, 4.8 and 4.10: without a former maximum above the present window, and in the
                // first stage after a timeout, the function starts at its plateau.
                let mut k = 0.0;
                if state.timed_out || state.w_max <= cwnd {
                    state.w_max = cwnd;
                } else {
                    k = cube_root((state.w_max - cwnd) / c);
                }
                empty.insert(Epoch { start: ack.now, k, w_est: cwnd, last_ack: ack.now })
            }
        };
        epoch.last_ack = ack.now;
        let t = seconds(ack.now.saturating_since(epoch.start));
        let (k, w_max) = (epoch.k, state.w_max);
        let w_cubic = |t: f64| c * (t - k) * (t - k) * (t - k) + w_max;

        // Section 4.3, equation 4, and the rule below it for windows beyond the last reduction.
        let alpha = if epoch.w_est >= state.cwnd_prior { 1.0 } else { 3.0 * (1.0 - beta) / (1.0 + beta) };
        epoch.w_est += alpha * (f64::from(ack.acked) / mss) / cwnd;

        let step = if reno_friendly && w_cubic(t) < epoch.w_est {
            epoch.w_est - cwnd
        } else {
            // Sections 4.4 and 4.5: the target is where the function is one round-trip time from now.
            let target = w_cubic(t + ack.srtt.map_or(0.0, seconds)).clamp(cwnd, 1.5 * cwnd);
            (target - cwnd) / cwnd
        };
        let bytes = step.max(0.0) * mss + state.fraction;
        let whole = (bytes as u32).min(w.max);
        state.fraction = if bytes < f64::from(w.max) { bytes - f64::from(whole) } else { 0.0 };
        open(w, whole);
    }

    /// A time without growth is not part of the stage (section 4.2).
    fn pause(&mut self, now: Instant) {
        if let Some(epoch) = &mut self.state.epoch {
            epoch.start += now.saturating_since(epoch.last_ack);
            epoch.last_ack = now;
        }
    }
}

impl CongestionControl for Cubic {
    fn on_ack(&mut self, w: &mut Window, ack: &Ack) {
        self.slow_start.count(ack);
        if self.grows == GrowthCondition::WhenLimited && !ack.cwnd_limited {
            self.pause(ack.now);
        } else if self.slow_start.holds(w) {
            self.slow_start.grow(w, ack.acked);
        } else {
            self.slow_start.finished();
            self.avoid(w, ack);
        }
    }

    fn ssthresh_on_loss(&mut self, w: &Window, loss: &Loss) -> u32 {
        self.before = Some(self.state.clone());
        self.slow_start.forget();
        let mss = f64::from(w.mss);
        let cwnd = f64::from(w.cwnd) / mss;
        // Section 4.7.
        let converge = self.config.fast_convergence && cwnd < self.state.w_max;
        let w_max = if converge { cwnd * (1.0 + self.config.beta) / 2.0 } else { cwnd };
        self.state = State { w_max, cwnd_prior: cwnd, ..State::default() };
        // Section 4.6.
        let base = match self.base {
            SsthreshRule::FlightHalf => loss.in_flight,
            SsthreshRule::CwndHalf => w.cwnd,
            SsthreshRule::WindowHalf => w.cwnd.min(loss.snd_wnd),
        };
        ((f64::from(base) * self.config.beta) as u32).max(w.mss.saturating_mul(2))
    }

    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        self.state.epoch = None;
        self.state.timed_out = true;
        self.state.fraction = 0.0;
        self.slow_start.timed_out();
        w.cwnd = w.mss;
    }

    fn on_recovery_exit(&mut self, _w: &Window, _now: Instant) {
        // The stage of congestion avoidance starts with its first ACK.
        self.state.epoch = None;
    }

    fn on_spurious(&mut self) {
        // Section 4.9.
        if let Some(before) = self.before.take() {
            self.state = before;
            self.slow_start.finished();
        }
    }

    fn name(&self) -> &'static str {
        "cubic"
    }
}

fn seconds(d: Duration) -> f64 {
    d.as_nanos() as f64 / 1e9
}

/// The cube root of a number that is not negative, to within one part in 10^15. The library's `cbrt` may
/// differ between platforms in the last bit; this cannot.
pub(super) fn cube_root(x: f64) -> f64 {
    if x.is_nan() || x <= 0.0 {
        return 0.0;
    }
    // A third of the exponent is a guess within a few per cent; Newton's method doubles the digits.
    let mut y = f64::from_bits(x.to_bits() / 3 + 0x2A9F_7893_782D_A1CE);
    for _ in 0..5 {
        y -= (y * y * y - x) / (3.0 * y * y);
    }
    y
}
