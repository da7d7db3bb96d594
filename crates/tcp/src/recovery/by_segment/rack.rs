//! Loss by time: RACK (RFC 8985 section 6.2), whose names stand at their counterparts. Times are exact; the round trip
//! that it needs is that of single segments, not the estimator's.
//!
//! A choice: the minimum round trip is that of the whole connection (section 6.2 step 1 leaves the window of the filter
//! open).

use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::segments::{Marked, Segment, Segments, Verdict};
use crate::connection::Tcb;

/// Recoveries for which a wider window lasts (RACK.reo_wnd_persist).
const PERSISTENCE: u8 = 16;

/// What RACK keeps of a connection (section 5.3).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Rack {
    /// Of the segment that was sent last of all that have arrived: when, and its end (RACK.xmit_ts, RACK.end_seq).
    latest: Option<(Instant, SeqNumber)>,
    /// What the last segment that arrived took (RACK.rtt).
    rtt: Duration,
    /// RACK.min_RTT.
    least: Option<Duration>,
    /// One past the highest byte that has arrived (RACK.fack).
    fack: Option<SeqNumber>,
    /// RACK.reordering_seen.
    reordering_seen: bool,
    /// RACK.dsack_round.
    dsack_round: Option<SeqNumber>,
    /// RACK.reo_wnd_mult, less one.
    wider_by: u32,
    persist: u8,
}

impl Rack {
    /// Steps 1 to 3: what has arrived, in the order of sequence numbers.
    pub fn take(&mut self, tcb: &Tcb, now: Instant, segment: &TcpSegment, arrived: &[Segment]) {
        for one in arrived {
            let rtt = now.saturating_since(one.at);
            // Step 1: the round trip of what left once is beyond doubt.
            if !one.resent {
                self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            }
            // Step 2: a retransmission that may not be what arrived says nothing.
            let earlier_copy = one.resent
                && (echo_is_older(tcb, segment, one.at) || self.least.is_some_and(|least| rtt < least));
            if !earlier_copy {
                self.rtt = rtt;
                if self.latest.is_none_or(|latest| is_after((one.at, one.end), latest)) {
                    self.latest = Some((one.at, one.end));
                }
            }
            // Step 3.
            match self.fack {
                Some(fack) if one.end <= fack => self.reordering_seen |= one.end < fack && !one.resent,
                _ => self.fack = Some(one.end),
            }
        }
    }

    /// Step 4, its first half: a report of a duplicate widens the window, once a round trip.
    pub fn take_duplicate(&mut self, una: SeqNumber, nxt: SeqNumber, reported: bool) {
        if self.dsack_round.is_some_and(|end| una >= end) {
            self.dsack_round = None;
        }
        if reported && self.dsack_round.is_none() {
            self.dsack_round = Some(nxt);
            self.wider_by = self.wider_by.saturating_add(1);
            self.persist = PERSISTENCE;
        }
    }

    /// Step 4: a recovery has ended.
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.wider_by = 0;
        }
    }

    /// Step 4: how late a segment may be (RACK_update_reo_wnd).
    pub fn window(&self, tcb: &Tcb, repairing: bool, sacked: u32) -> Duration {
        if !self.reordering_seen && (repairing || sacked >= tcb.duplicates_needed()) {
            return Duration::ZERO;
        }
        let quarter = self.least.map_or(0, Duration::as_nanos) / 4;
        let wide = Duration::from_nanos(quarter.saturating_mul(u64::from(self.wider_by) + 1));
        tcb.rtt.srtt().map_or(wide, |srtt| wide.min(srtt))
    }

    /// Step 5: marks what is lost, and says how long the rest of what was overtaken may still take (RACK_detect_loss).
    pub fn detect(
        &self,
        segments: &mut Segments,
        now: Instant,
        window: Duration,
    ) -> (Marked, Option<Duration>) {
        let Some(latest) = self.latest.filter(|_| !segments.is_plain()) else {
            return (Marked::default(), None);
        };
        let mut longest = None;
        let marked = segments.mark(|segment, in_order| {
            if !is_after(latest, (segment.at, segment.end)) {
                return if in_order { Verdict::Enough } else { Verdict::Keep };
            }
            let due = segment.at + self.rtt + window;
            if due <= now {
                return Verdict::Lost;
            }
            longest = longest.max(Some(due.saturating_since(now)));
            Verdict::Keep
        });
        (marked, longest)
    }

    /// Section 6.3: what is lost when the retransmission timer expires (RACK_mark_losses_on_RTO).
    /// `out`: what was out then, from una on; new data that F-RTO sent since are not.
    pub fn mark_at_timeout(
        &self,
        segments: &mut Segments,
        out: (SeqNumber, SeqNumber),
        now: Instant,
        window: Duration,
    ) {
        segments.mark(|segment, _| {
            let old = segment.at + self.rtt + window <= now;
            match segment.start {
                start if start >= out.1 => Verdict::Enough,
                start if old || start == out.0 => Verdict::Lost,
                _ => Verdict::Keep,
            }
        });
    }
}

/// RACK_sent_after: of two that left at the same time the one with the higher number is later.
fn is_after(one: (Instant, SeqNumber), other: (Instant, SeqNumber)) -> bool {
    one.0 > other.0 || (one.0 == other.0 && one.1 > other.1)
}

/// The echoed timestamp is older than the retransmission that left at `at`: an earlier copy has arrived.
fn echo_is_older(tcb: &Tcb, segment: &TcpSegment, at: Instant) -> bool {
    let stamps = segment.timestamps.filter(|stamps| tcb.marks.timestamps && stamps.echo != 0);
    stamps.is_some_and(|stamps| (stamps.echo.wrapping_sub(tcb.timestamp(at)) as i32) < 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RF-RACK-3: a wider window lasts for sixteen recoveries without a report of a duplicate.
    #[test]
    fn a_wider_window_lasts_for_sixteen_recoveries() {
        let mut rack = Rack::default();
        let n = SeqNumber;
        rack.take_duplicate(n(1), n(100), true);
        rack.take_duplicate(n(50), n(150), true); // The same round trip.
        assert_eq!(rack.wider_by, 1);
        rack.take_duplicate(n(100), n(200), true);
        assert_eq!(rack.wider_by, 2);
        (0..15).for_each(|_| rack.recovered());
        assert_eq!(rack.wider_by, 2);
        rack.recovered();
        assert_eq!(rack.wider_by, 0);
    }

    #[test]
    fn of_one_instant_the_higher_number_left_later() {
        let at = |ms: u64, end| (Instant::from_nanos(ms), SeqNumber(end));
        assert!(is_after(at(1, 3), at(1, 2)) && !is_after(at(1, 2), at(1, 2)));
        assert!(is_after(at(2, 1), at(1, 2)));
        assert!(is_after(at(1, 5), at(1, u32::MAX - 5)));
    }
}
