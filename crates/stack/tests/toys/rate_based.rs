//! A controller that goes by the rate of delivery, for the tests of those seams in TCP and in SCTP: it takes the fastest
//! delivery that it has seen for the path's rate, paces at it, and keeps two of its products with the shortest round trip
//! in flight.
//!
//! Startup is BBR's (draft-cardwell-iccrg-bbr-congestion-control-02, section 4.3.2): rate and window grow by 2/ln 2
//! until three rounds have brought less than a quarter more. What makes BBR fit for use is not here: the rate is never
//! forgotten, nothing is probed again.

use std::sync::{Arc, Mutex};

use rexmit_stack::rate::{EcnEcho, RateControl, RateSample, SentData};
use rexmit_units::{Duration, Rate};

/// 2 / ln 2, in thousandths.
const STARTUP: u64 = 2_885;

/// What it asks of a protocol's windows, in bytes.
pub trait Sizes {
    fn cwnd(&self) -> u64;
    /// Data of a full packet.
    fn unit(&self) -> u64;
    /// The largest that the window may be.
    fn most(&self) -> u64;
}

/// What such a controller has heard.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    pub sent: Vec<SentData>,
    pub samples: Vec<RateSample>,
    pub echoes: Vec<EcnEcho>,
    pub losses: u32,
    pub timeouts: u32,
}

/// The state, of which the test reads `heard`.
#[derive(Clone, Debug)]
pub struct RateBased {
    pub heard: Arc<Mutex<Heard>>,
    /// Paces at this rate, whatever is delivered.
    pub fixed: Option<Rate>,
    /// bit/s.
    fastest: u64,
    least_rtt: Option<Duration>,
    cwnd: u64,
    /// The round is over when what was delivered now was so when a segment left.
    round_end: u64,
    /// The fastest at the start of a round that brought a quarter more, and rounds since then.
    plateau: (u64, u32),
}

impl RateBased {
    /// One that has seen nothing.
    pub fn new(fixed: Option<Rate>) -> Self {
        Self {
            heard: Arc::default(),
            fixed,
            fastest: 0,
            least_rtt: None,
            cwnd: 0,
            round_end: 0,
            plateau: (0, 0),
        }
    }

    fn in_startup(&self) -> bool {
        self.plateau.1 < 3
    }

    /// The product of the rate and the round trip, in bytes.
    fn product(&self) -> u64 {
        let nanos = self.least_rtt.map_or(0, Duration::as_nanos);
        (u128::from(self.fastest) * u128::from(nanos) / 8 / 1_000_000_000) as u64
    }

    pub fn note<R>(&self, what: impl FnOnce(&mut Heard) -> R) -> R {
        what(&mut self.heard.lock().unwrap())
    }
}

impl<W: Sizes> RateControl<W> for RateBased {
    fn on_sent(&mut self, _window: &mut W, sent: &SentData) {
        self.note(|heard| heard.sent.push(*sent));
    }

    fn on_rate_sample(&mut self, window: &mut W, sample: &RateSample) {
        self.note(|heard| heard.samples.push(*sample));
        if let Some(rtt) = sample.rtt {
            self.least_rtt = Some(self.least_rtt.map_or(rtt, |least| least.min(rtt)));
        }
        if let Some(rate) = sample.rate().filter(|_| !sample.app_limited) {
            self.fastest = self.fastest.max(rate.bits_per_second());
        }
        if sample.prior_delivered >= self.round_end {
            self.round_end = sample.total_delivered;
            let (before, rounds) = self.plateau;
            let grew = self.fastest * 4 >= before * 5;
            self.plateau = if grew && self.in_startup() { (self.fastest, 0) } else { (before, rounds + 1) };
        }
        let gain = if self.in_startup() { STARTUP } else { 2_000 };
        let target = self.product() * gain / 1_000;
        let grown = self.cwnd.max(window.cwnd()).saturating_add(sample.newly_delivered);
        self.cwnd = if self.in_startup() { grown.min(target) } else { target };
        self.cwnd = self.cwnd.clamp(4 * window.unit(), window.most());
    }

    fn on_ecn(&mut self, _window: &mut W, echo: &EcnEcho) {
        self.note(|heard| heard.echoes.push(*echo));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        let gain = if self.in_startup() { STARTUP } else { 1_000 };
        self.fixed.or_else(|| Rate::from_bits_per_second(self.fastest * gain / 1_000))
    }

    fn cwnd(&self) -> Option<u64> {
        (self.cwnd > 0).then_some(self.cwnd)
    }
}
