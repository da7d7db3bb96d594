//! How long the way is: from the place of the capture to the receiver and back, and to the sender and back.

use rexmit_units::Duration;

use crate::core::policy::TcpPolicy;

/// Round-trip times of one side's data.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clock {
    policy: &'static TcpPolicy,
    /// Smallest sample of the way from here to the receiver and back.
    pub min: Option<Duration>,
    /// Greatest one; zero without a sample.
    max: Duration,
    /// Smoothed as RFC 6298 section 2 has it, nanoseconds.
    srtt: f64,
    rttvar: f64,
    /// Smoothed with the sample of the handshake before these.
    seeded: f64,
    /// The same way for the packets of the handshake, which are short; the smaller of both is the soonest answer.
    pub opening: Option<Duration>,
    /// From here to the sender and back: how soon an acknowledgment seen here can show in its packets. `None` if the
    /// handshake did not show it.
    pub loop_time: Option<Duration>,
    /// The handshake shows it for sure.
    pub sure: bool,
}

/// The longest time that is reckoned with: a day. Captures may hold any times; so sums and small multiples of those that
/// are kept here cannot overflow.
pub(super) const LONGEST: Duration = Duration::from_secs(86_400);

impl Clock {
    /// One without a sample.
    pub(super) fn new(policy: &'static TcpPolicy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Takes an unambiguous sample.
    pub(super) fn sample(&mut self, rtt: Duration) {
        let rtt = rtt.min(LONGEST);
        let r = rtt.as_nanos() as f64;
        if self.min.is_none() {
            (self.srtt, self.rttvar) = (r, r / 2.0);
            let opening = self.opening.map_or(r, |opening| opening.min(LONGEST).as_nanos() as f64);
            self.seeded = opening + (r - opening) / 8.0;
        } else {
            self.seeded += (r - self.seeded) / 8.0;
            self.rttvar += ((self.srtt - r).abs() - self.rttvar) / 4.0;
            self.srtt += (r - self.srtt) / 8.0;
        }
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        self.max = self.max.max(rtt);
    }

    /// The soonest that an answer came back from the receiver.
    pub(super) fn soonest(&self) -> Option<Duration> {
        self.min.into_iter().chain(self.opening).min().map(|time| time.min(LONGEST))
    }

    /// The same where it bounds how soon an answer may come: at the receiver it is all jitter.
    pub(super) fn soonest_answer(&self) -> Option<Duration> {
        let least = self.policy.place.soonest_answer;
        self.soonest().filter(|&soonest| soonest >= least && soonest >= self.delay())
    }

    /// The whole round trip at its shortest, from the handshake or from samples.
    pub(super) fn whole(&self) -> Option<Duration> {
        self.soonest().map(|soonest| soonest + self.loop_time.unwrap_or_default())
    }

    /// From here to the sender and back, zero where the capture is at the sender or nothing is known.
    #[inline]
    pub(super) fn delay(&self) -> Duration {
        let place = &self.policy.place;
        let far = self.loop_time.unwrap_or_default().min(LONGEST);
        let whole = far + self.soonest().unwrap_or_default();
        let near = far < place.at_sender || far < place.at_sender_share.of(whole);
        if near { Duration::ZERO } else { far }
    }

    /// Timestamps show that the loop to the sender takes no longer; the handshake may have met queues.
    pub(super) fn loop_is_at_most(&mut self, longest: Duration) {
        let least = self.policy.place.at_sender;
        self.loop_time = self.loop_time.map(|time| time.min(longest.max(least)));
    }

    /// The capture was made at the sender, and the handshake shows it.
    pub(super) fn is_surely_near(&self) -> bool {
        let place = &self.policy.place;
        let Some(far) = self.loop_time.filter(|_| self.sure) else { return false };
        far < place.surely_near || far < place.surely_near_share.of(self.soonest().unwrap_or_default())
    }

    /// The sender's round-trip time now, if there was a sample.
    pub(super) fn rtt(&self) -> Option<Duration> {
        self.min.map(|_| Duration::from_nanos(self.srtt as u64) + self.delay())
    }

    /// The sender's smoothed round-trip time, by its samples alone and with that of the handshake before.
    pub(super) fn smoothed(&self) -> Option<[Duration; 2]> {
        let of = |ns: f64| Duration::from_nanos(ns as u64) + self.delay();
        self.min.map(|_| [of(self.srtt), of(self.seeded)])
    }

    /// The sender's smallest round-trip time.
    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min.map(|min| min + self.delay())
    }

    /// The greatest round-trip time that was seen, the handshake's included.
    pub(super) fn greatest(&self) -> Option<Duration> {
        self.min
            .into_iter()
            .chain(self.opening)
            .max()
            .map(|time| time.min(LONGEST).max(self.max) + self.delay())
    }

    /// The retransmission timeout of RFC 6298 section 2 from these samples, with the usual lower bound in place of its
    /// one second. Linux bounds what is added to the smoothed RTT instead (`tcp_rtt_estimator`, net/ipv4/tcp_input.c), and
    /// so waits longer: of the two rules this is the one that no timer is sooner by.
    pub(super) fn rto(&self) -> Option<Duration> {
        let least = self.policy.timer.min_rto.as_nanos() as f64;
        let of = |rtt: Duration| (rtt.as_nanos() as f64 + 4.0 * self.rttvar).max(least) as u64;
        self.rtt().map(|rtt| Duration::from_nanos(of(rtt)))
    }
}
