//! How long the way is: from the place of the capture to the receiver and back, and to the sender and back.

/// Round-trip times of one side's data, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    /// Smallest sample of the way from here to the receiver and back.
    pub min: Option<u64>,
    /// Smoothed as RFC 6298 section 2 has it.
    srtt: f64,
    rttvar: f64,
    /// The same way for the packets of the handshake, which are short; the smaller of both is the soonest answer.
    pub opening: Option<u64>,
    /// From here to the sender and back: how soon an acknowledgment seen here can show in its packets. `None` if the
    /// handshake did not show it.
    pub loop_time: Option<u64>,
    /// The handshake shows it for sure.
    pub sure: bool,
}

/// Below this the capture counts as made at the sender: a host takes that long to answer.
const AT_SENDER: u64 = 200_000;
/// The longest time that is reckoned with, nanoseconds: a day. Captures may hold any times; so sums and small multiples
/// of those that are kept here cannot overflow.
pub(super) const LONGEST: u64 = 86_400_000_000_000;

impl Clock {
    /// Takes an unambiguous sample.
    pub(super) fn sample(&mut self, rtt: u64) {
        let rtt = rtt.min(LONGEST);
        let r = rtt as f64;
        if self.min.is_none() {
            (self.srtt, self.rttvar) = (r, r / 2.0);
        } else {
            self.rttvar += ((self.srtt - r).abs() - self.rttvar) / 4.0;
            self.srtt += (r - self.srtt) / 8.0;
        }
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
    }

    /// The soonest that an answer came back from the receiver.
    pub(super) fn soonest(&self) -> Option<u64> {
        self.min.into_iter().chain(self.opening).min().map(|time| time.min(LONGEST))
    }

    /// The same where it bounds how soon an answer may come: at the receiver it is all jitter.
    pub(super) fn soonest_answer(&self) -> Option<u64> {
        self.soonest().filter(|&soonest| soonest >= 1_000_000 && soonest >= self.delay())
    }

    /// The whole round trip at its shortest, from the handshake or from samples.
    pub(super) fn whole(&self) -> Option<u64> {
        self.soonest().map(|soonest| soonest + self.loop_time.unwrap_or(0))
    }

    /// From here to the sender and back, 0 where the capture is at the sender or nothing is known.
    pub(super) fn delay(&self) -> u64 {
        let far = self.loop_time.unwrap_or(0).min(LONGEST);
        let whole = far + self.soonest().unwrap_or(0);
        if far < AT_SENDER || far < whole / 5 { 0 } else { far }
    }

    /// Timestamps show that the loop to the sender takes no longer; the handshake may have met queues.
    pub(super) fn loop_is_at_most(&mut self, longest: u64) {
        self.loop_time = self.loop_time.map(|time| time.min(longest.max(AT_SENDER)));
    }

    /// The capture was made at the sender, and the handshake shows it.
    pub(super) fn is_surely_near(&self) -> bool {
        let far = self.loop_time.unwrap_or(u64::MAX);
        self.sure && (far < 1_000_000 || far < self.soonest().unwrap_or(0) / 20)
    }

    /// The sender's round-trip time now, if there was a sample.
    pub(super) fn rtt(&self) -> Option<u64> {
        self.min.map(|_| self.srtt as u64 + self.delay())
    }

    /// The sender's smallest round-trip time.
    pub(super) fn min_rtt(&self) -> Option<u64> {
        self.min.map(|min| min + self.delay())
    }

    /// The retransmission timeout of RFC 6298 section 2 from these samples, with the usual lower bound of 200 ms in
    /// place of its one second.
    pub(super) fn rto(&self) -> Option<u64> {
        const LOWER_BOUND: f64 = 200e6;
        self.rtt().map(|rtt| (rtt as f64 + 4.0 * self.rttvar).max(LOWER_BOUND) as u64)
    }
}
