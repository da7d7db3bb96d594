//! FreeBSD's `inflight`: a window of the measured bandwidth times the round-trip time, beside cwnd (FB-INF-1). It was on
//! by default in 5.x and 6.x and off in every study here.
//!
//! The bandwidth is what ACKs of new data acknowledge in a second, sampled at most once a tick and averaged over 16
//! samples. The round-trip time is the mean of the smoothed one and the best estimate of it.

use rexmit_wire::SeqNumber;

use super::config::InflightConfig;

/// The estimator's state as FreeBSD keeps it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RttView {
    /// Smoothed round-trip time in 1/32 of a tick.
    pub srtt: i64,
    /// Its deviation in 1/16 of a tick.
    pub rttvar: i64,
    /// Ticks a second.
    pub hz: i64,
}

/// The limiter of one connection.
#[derive(Clone, Copy, Debug)]
pub struct Inflight {
    config: InflightConfig,
    /// When the last sample was taken, in ticks, and up to where all was acknowledged then.
    since: (u64, SeqNumber),
    /// Bytes a second.
    bandwidth: i64,
    /// Least `srtt + rttvar` that was seen; the kernel adds the two in their different units.
    best: Option<i64>,
    /// Least sample of the round-trip time, in ticks.
    low: Option<u64>,
    window: u32,
}

impl Inflight {
    /// A connection whose first sequence number is `iss`; `None` where the limiter is off.
    pub fn new(config: InflightConfig, iss: SeqNumber) -> Option<Self> {
        let window = config.most.0.min(u64::from(u32::MAX)) as u32;
        config.on.then_some(Self { config, since: (0, iss), bandwidth: 0, best: None, low: None, window })
    }

    /// The connection is made, at tick `now`: by connect(), or by the handshake's third segment.
    pub fn begin(&mut self, now: u64) {
        self.since.0 = now;
    }

    /// Bytes a second, as far as is known.
    pub fn bandwidth(&self) -> u32 {
        self.bandwidth.clamp(0, u32::MAX.into()) as u32
    }

    /// Begins from the bandwidth of an earlier connection, in bytes a second, and its smoothed round-trip time, in 1/32 of
    /// a tick; 0 for what is not known (FB-HC-7).
    pub fn begin_from(&mut self, bandwidth: u32, srtt: u32) {
        if srtt != 0 {
            self.best = Some(i64::from(srtt) + 32);
        }
        if bandwidth != 0 {
            self.bandwidth = bandwidth.into();
        }
    }

    /// The greatest number of bytes that may be out.
    #[inline]
    pub fn window(&self) -> u32 {
        self.window
    }

    /// A sample of the round-trip time, in ticks, has been taken; `view` is the estimator after it.
    pub fn on_sample(&mut self, ticks: u64, view: RttView) {
        let sum = view.srtt + view.rttvar;
        self.best = Some(self.best.map_or(sum, |best| best.min(sum)));
        self.low = Some(self.low.map_or(ticks, |low| low.min(ticks)));
    }

    /// New data up to `ack` were acknowledged at tick `now`.
    pub fn on_ack(&mut self, now: u64, ack: SeqNumber, mss: u32, view: RttView) {
        let threshold = self.config.rtt_threshold.as_nanos() as i64 * view.hz / 1_000_000_000;
        if self.low.map_or(0, |low| low as i64) < threshold {
            self.window = self.config.most.0.min(u64::from(u32::MAX)) as u32;
            self.bandwidth = 0;
            return;
        }
        let (tick, seq) = self.since;
        let Some(ticks) = now.checked_sub(tick).filter(|&n| n > 0) else { return };
        self.since = (now, ack);
        let bandwidth = i64::from(ack.diff(seq)) * view.hz / ticks as i64;
        self.bandwidth = (self.bandwidth * 15 + bandwidth) >> 4;
        let rtt = (view.srtt + self.best.unwrap_or(view.srtt)) / 2;
        let slop = i64::from(self.config.stab) * i64::from(mss) / 10;
        let window = self.bandwidth * rtt / (view.hz << 5) + slop;
        let most = self.config.most.0.min(u64::from(u32::MAX)) as i64;
        let window = window.max(self.config.least.0 as i64).min(most).max(2 * i64::from(mss));
        self.window = window as u32;
    }
}
