//! Times of the way: from the place of the capture to the receiver and back, and to the sender and back.

use rexmit_units::Duration;

use crate::core::policy::SctpPolicy;
use crate::core::spread::Samples;

/// Round-trip times of one side's chunks.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    policy: &'static SctpPolicy,
    /// Samples of DATA.
    pub(super) data: Samples,
    /// Samples of HEARTBEATs.
    pub(super) heartbeat: Samples,
    /// Smallest of any kind, the handshake's included.
    min: Option<Duration>,
    /// Smoothed as RFC 9260 section 6.3.1 has it, of DATA and the handshake, nanoseconds.
    smoothed: Option<(f64, f64)>,
}

impl Clock {
    /// One without a sample.
    pub(super) fn new(policy: &'static SctpPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Takes a sample of DATA.
    pub(super) fn data(&mut self, rtt: Duration) {
        self.data.add(rtt.as_nanos());
        self.shortest(rtt);
        self.smooth(rtt.as_nanos() as f64);
    }

    /// Takes a sample of a HEARTBEAT.
    pub(super) fn heartbeat(&mut self, rtt: Duration) {
        self.heartbeat.add(rtt.as_nanos());
        self.shortest(rtt);
    }

    /// Takes a sample of the handshake.
    pub(super) fn handshake(&mut self, rtt: Duration) {
        self.shortest(rtt);
        self.smooth(rtt.as_nanos() as f64);
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.data.heap() + self.heartbeat.heap()
    }

    /// The shortest way from here to the receiver and back.
    pub(super) fn min(&self) -> Option<Duration> {
        self.min
    }

    /// Smoothed RTT and what is added to it for the retransmission timeout, `sender_loop` included: what RFC 9260 gives
    /// without a lower bound.
    pub(super) fn timeout(&self, sender_loop: Duration) -> Option<Duration> {
        // RTTVAR is at least the clock's granularity.
        let granularity = self.policy.timer.granularity.as_nanos() as f64;
        let rto = |(srtt, rttvar): (f64, f64)| (srtt + (4.0 * rttvar).max(granularity)) as u64;
        self.smoothed.map(|smoothed| Duration::from_nanos(rto(smoothed)) + sender_loop)
    }

    /// What no retransmission timeout can be below, `sender_loop` included.
    pub(super) fn floor(&self, sender_loop: Duration) -> Option<Duration> {
        self.min.map(|min| min + sender_loop + self.policy.timer.granularity)
    }

    fn shortest(&mut self, rtt: Duration) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    fn smooth(&mut self, r: f64) {
        self.smoothed = Some(match self.smoothed {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => (srtt + (r - srtt) / 8.0, rttvar + ((srtt - r).abs() - rttvar) / 4.0),
        });
    }
}
