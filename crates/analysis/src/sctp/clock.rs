//! Times of the way: from the place of the capture to the receiver and back, and to the sender and back.

use crate::spread::Samples;

/// Round-trip times of one side's chunks, nanoseconds.
#[derive(Clone, Debug, Default)]
pub(super) struct Clock {
    /// Samples of DATA.
    pub(super) data: Samples,
    /// Samples of HEARTBEATs.
    pub(super) heartbeat: Samples,
    /// Smallest of any kind, the handshake's included.
    min: Option<u64>,
    /// Smoothed as RFC 9260 section 6.3.1 has it, of DATA and the handshake.
    smoothed: Option<(f64, f64)>,
}

impl Clock {
    /// Takes a sample of DATA.
    pub(super) fn data(&mut self, rtt: u64) {
        self.data.add(rtt);
        self.shortest(rtt);
        self.smooth(rtt as f64);
    }

    /// Takes a sample of a HEARTBEAT.
    pub(super) fn heartbeat(&mut self, rtt: u64) {
        self.heartbeat.add(rtt);
        self.shortest(rtt);
    }

    /// Takes a sample of the handshake.
    pub(super) fn handshake(&mut self, rtt: u64) {
        self.shortest(rtt);
        self.smooth(rtt as f64);
    }

    /// Bytes that it takes beside itself.
    pub(super) fn heap(&self) -> usize {
        self.data.heap() + self.heartbeat.heap()
    }

    /// The shortest way from here to the receiver and back.
    pub(super) fn min(&self) -> Option<u64> {
        self.min
    }

    /// Smoothed RTT and what is added to it for the retransmission timeout, `sender_loop` included: what RFC 9260 gives
    /// without a lower bound.
    pub(super) fn timeout(&self, sender_loop: u64) -> Option<u64> {
        // RTTVAR is at least the clock's granularity: a millisecond is the finest that is known.
        self.smoothed.map(|(srtt, rttvar)| (srtt + (4.0 * rttvar).max(GRANULE)) as u64 + sender_loop)
    }

    /// What no retransmission timeout can be below, `sender_loop` included.
    pub(super) fn floor(&self, sender_loop: u64) -> Option<u64> {
        self.min.map(|min| min + sender_loop + GRANULE as u64)
    }

    fn shortest(&mut self, rtt: u64) {
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    fn smooth(&mut self, r: f64) {
        self.smoothed = Some(match self.smoothed {
            None => (r, r / 2.0),
            Some((srtt, rttvar)) => (srtt + (r - srtt) / 8.0, rttvar + ((srtt - r).abs() - rttvar) / 4.0),
        });
    }
}

/// Four times a granularity of 1 ms.
const GRANULE: f64 = 4e6;
