//! How fast data are delivered (draft-cheng-iccrg-delivery-rate-estimation-02; net/ipv4/tcp_rate.c).
//!
//! Each segment remembers how much had been delivered when it left. When it arrives, what was delivered since then,
//! over the longer of the times in which that was sent and acknowledged, is a sample.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::RateSample;

/// A segment that is out (section 3.1.2, "per-packet state").
#[derive(Clone, Copy, Debug)]
struct Sent {
    start: SeqNumber,
    end: SeqNumber,
    /// When it left last.
    at: Instant,
    /// Bytes delivered when it left, and when the last of them was.
    delivered: u64,
    delivered_at: Instant,
    /// When the first segment of the interval left that it ends.
    first_sent_at: Instant,
    app_limited: bool,
    /// It has been sent again.
    again: bool,
    /// It has been reported.
    arrived: bool,
}

/// The estimator of one connection (section 3.1.1, "per-connection state").
#[derive(Clone, Debug)]
pub(crate) struct DeliveryRate {
    out: VecDeque<Sent>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The sender is limited by its application until so much has been delivered; 0: it is not.
    limited_until: u64,
}

impl DeliveryRate {
    pub fn new() -> Self {
        Self {
            out: VecDeque::new(),
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            limited_until: 0,
        }
    }

    /// `[start, end)` leaves, for the first time or again (section 3.2); `idle`: nothing is in flight.
    pub fn on_sent(&mut self, now: Instant, start: SeqNumber, end: SeqNumber, idle: bool) {
        if idle {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        let mut sent = Sent {
            start,
            end,
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.limited_until > 0,
            again: false,
            arrived: false,
        };
        let known = self.out.back().map_or(start, |last| last.end);
        sent.again = true;
        for old in self.out.iter_mut().filter(|s| s.start < end && start < s.end && !s.arrived) {
            *old = Sent { start: old.start, end: old.end, ..sent };
        }
        if known < end {
            self.out.push_back(Sent { start: start.max(known), again: false, ..sent });
        }
    }

    /// All has left that waited, and `in_flight` bytes are out: the application limits the sender until they have
    /// arrived (section 3.4).
    pub fn on_app_limited(&mut self, in_flight: u32) {
        self.limited_until = (self.delivered + u64::from(in_flight)).max(1);
    }

    /// An acknowledgment up to `una` with these SACK blocks (section 3.3); `None` if it tells of nothing new.
    pub fn on_ack(
        &mut self,
        now: Instant,
        una: SeqNumber,
        blocks: &[(SeqNumber, SeqNumber)],
        in_flight: u32,
    ) -> Option<RateSample> {
        let (before, mut newest) = (self.delivered, None::<Sent>);
        for i in 0..self.out.len() {
            let sent = &mut self.out[i];
            let reported = blocks.iter().any(|(left, right)| *left <= sent.start && sent.end <= *right);
            if sent.arrived || !(sent.end <= una || reported) {
                continue;
            }
            sent.arrived = true;
            let sent = *sent;
            self.delivered += u64::from(sent.end.diff(sent.start) as u32);
            self.delivered_at = now;
            // Of several, the one that left last.
            if newest.is_none_or(|n| (sent.delivered, sent.at) >= (n.delivered, n.at)) {
                newest = Some(sent);
            }
        }
        while self.out.front().is_some_and(|s| s.end <= una) {
            self.out.pop_front();
        }
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let newest = newest?;
        self.first_sent_at = newest.at;
        let sending = newest.at.saturating_since(newest.first_sent_at);
        let acking = now.saturating_since(newest.delivered_at);
        let interval: Duration = sending.max(acking);
        Some(RateSample {
            now,
            newly_delivered: (self.delivered - before) as u32,
            delivered: self.delivered - newest.delivered,
            prior_delivered: newest.delivered,
            total_delivered: self.delivered,
            interval,
            rtt: (!newest.again).then(|| now.saturating_since(newest.at)),
            app_limited: newest.app_limited,
            in_flight,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u32 = 1000;

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(ms)
    }

    fn seq(n: u32) -> SeqNumber {
        SeqNumber(n * MSS)
    }

    /// Ten segments at once, whose ACKs come 1 ms apart after 20 ms: the first sample spans the round trip, the later
    /// ones grow towards the rate at which ACKs come.
    #[test]
    fn acks_a_millisecond_apart_tell_of_a_segment_a_millisecond() {
        let mut rate = DeliveryRate::new();
        for n in 0..10 {
            rate.on_sent(at(0), seq(n), seq(n + 1), n == 0);
        }
        let sample = rate.on_ack(at(20), seq(1), &[], 9 * MSS).unwrap();
        assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(20)));
        assert_eq!(sample.rtt, Some(Duration::from_millis(20)));
        // What leaves now is answered after twenty more segments of time: its sample begins at this ACK.
        rate.on_sent(at(20), seq(10), seq(11), false);
        for n in 2..=10 {
            rate.on_ack(at(19 + u64::from(n)), seq(n), &[], 0).unwrap();
        }
        let sample = rate.on_ack(at(40), seq(11), &[], 0).unwrap();
        assert_eq!((sample.prior_delivered, sample.total_delivered), (1000, 11_000));
        assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(20)));
        assert_eq!(sample.rate().unwrap().bits_per_second(), 4_000_000);
    }

    /// A segment that is reported counts once, and one that was sent again gives no round-trip time.
    #[test]
    fn a_report_counts_once() {
        let mut rate = DeliveryRate::new();
        for n in 0..3 {
            rate.on_sent(at(0), seq(n), seq(n + 1), n == 0);
        }
        let sample = rate.on_ack(at(10), seq(0), &[(seq(1), seq(3))], MSS).unwrap();
        assert_eq!((sample.newly_delivered, sample.total_delivered), (2000, 2000));
        assert_eq!(rate.on_ack(at(11), seq(0), &[(seq(1), seq(3))], MSS), None);
        rate.on_sent(at(12), seq(0), seq(1), false);
        let sample = rate.on_ack(at(22), seq(3), &[], 0).unwrap();
        assert_eq!((sample.newly_delivered, sample.total_delivered, sample.rtt), (1000, 3000, None));
        assert_eq!(sample.delivered, 1000);
    }

    /// ACKs that come faster than their segments left do not raise the rate.
    #[test]
    fn no_faster_than_it_was_sent() {
        let mut rate = DeliveryRate::new();
        for n in 0..5 {
            rate.on_sent(at(u64::from(n) * 10), seq(n), seq(n + 1), n == 0);
        }
        let sample = rate.on_ack(at(45), seq(5), &[], 0).unwrap();
        // Sent over 40 ms, acknowledged 45 ms after the first left.
        assert_eq!((sample.delivered, sample.interval), (5000, Duration::from_millis(45)));
    }

    /// Samples of segments that left while nothing waited say so, until all that was out then has arrived.
    #[test]
    fn an_application_that_has_no_more_is_told_of() {
        let mut rate = DeliveryRate::new();
        rate.on_sent(at(0), seq(0), seq(1), true);
        rate.on_app_limited(MSS);
        rate.on_sent(at(5), seq(1), seq(2), false);
        assert!(!rate.on_ack(at(20), seq(1), &[], MSS).unwrap().app_limited);
        assert!(rate.on_ack(at(25), seq(2), &[], 0).unwrap().app_limited);
        rate.on_sent(at(30), seq(2), seq(3), true);
        assert!(!rate.on_ack(at(50), seq(3), &[], 0).unwrap().app_limited);
    }
}
