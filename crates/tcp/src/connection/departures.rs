//! When segments that are out left, for samples of the rate of delivery (draft-cheng-iccrg-delivery-rate-estimation-02).

use std::collections::VecDeque;

use rexmit_stack::rate::{DeliveryRate, RateSample, Stamp};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

/// A segment that is out.
#[derive(Clone, Copy, Debug)]
struct Departure {
    start: SeqNumber,
    end: SeqNumber,
    stamp: Stamp,
    /// It has been reported.
    arrived: bool,
}

/// The segments of one connection that are out, in order of their sequence numbers, and the estimator.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    out: VecDeque<Departure>,
    pub rate: DeliveryRate,
}

impl Departures {
    /// `[start, end)` leaves, for the first time or again; `idle`: nothing is in flight.
    pub fn on_sent(&mut self, now: Instant, start: SeqNumber, end: SeqNumber, idle: bool) {
        let stamp = self.rate.on_sent(now, idle, false);
        let known = self.out.back().map_or(start, |last| last.end);
        for old in self.out.iter_mut().filter(|s| s.start < end && start < s.end && !s.arrived) {
            old.stamp = stamp.of(true);
        }
        if known < end {
            self.out.push_back(Departure { start: start.max(known), end, stamp, arrived: false });
        }
    }

    /// An acknowledgment up to `una` with these SACK blocks; `None` if it tells of nothing new.
    pub fn on_ack(
        &mut self,
        now: Instant,
        una: SeqNumber,
        blocks: &[(SeqNumber, SeqNumber)],
        in_flight: u64,
    ) -> Option<RateSample> {
        for sent in self.out.iter_mut().filter(|s| !s.arrived) {
            let reported = blocks.iter().any(|(left, right)| *left <= sent.start && sent.end <= *right);
            if sent.end <= una || reported {
                sent.arrived = true;
                self.rate.on_delivered(now, &sent.stamp, sent.end.diff(sent.start) as u32);
            }
        }
        while self.out.front().is_some_and(|s| s.end <= una) {
            self.out.pop_front();
        }
        self.rate.sample(now, in_flight)
    }
}

#[cfg(test)]
mod tests {
    use rexmit_units::Duration;

    use super::*;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn seq(n: u32) -> SeqNumber {
        SeqNumber(n * MSS)
    }

    /// A segment that is reported counts once, and one that was sent again gives no round-trip time.
    #[test]
    fn a_report_counts_once() {
        let mut rate = Departures::default();
        for n in 0..3 {
            rate.on_sent(at(0), seq(n), seq(n + 1), n == 0);
        }
        let sample = rate.on_ack(at(10), seq(0), &[(seq(1), seq(3))], 1000).unwrap();
        assert_eq!((sample.newly_delivered, sample.total_delivered), (2000, 2000));
        assert_eq!(rate.on_ack(at(11), seq(0), &[(seq(1), seq(3))], 1000), None);
        rate.on_sent(at(12), seq(0), seq(1), false);
        let sample = rate.on_ack(at(22), seq(3), &[], 0).unwrap();
        assert_eq!((sample.newly_delivered, sample.total_delivered), (1000, 3000));
        assert_eq!((sample.delivered, sample.rtt, sample.is_retransmit), (1000, None, true));
    }

    /// A retransmission that takes new data along: what is old in it is told apart from what is new.
    #[test]
    fn old_and_new_data_in_one_segment_are_told_apart() {
        let mut rate = Departures::default();
        rate.on_sent(at(0), seq(0), seq(1), true);
        rate.on_sent(at(5), seq(0), seq(2), false);
        let sample = rate.on_ack(at(20), seq(1), &[], 1000).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (1000, None));
        let sample = rate.on_ack(at(25), seq(2), &[], 0).unwrap();
        assert_eq!((sample.newly_delivered, sample.rtt), (1000, Some(Duration::from_millis(20))));
    }
}
