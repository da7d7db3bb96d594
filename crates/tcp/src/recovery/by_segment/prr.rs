//! How much leaves in fast recovery: proportional rate reduction (RFC 9937, and RFC 6937, which it replaces).

use crate::profile::PrrRule;

/// One episode of recovery; all in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prr {
    rule: PrrRule,
    /// prr_delivered.
    delivered: u64,
    /// prr_out.
    out: u64,
    /// RecoverFS.
    flight: u64,
}

/// What an acknowledgment in recovery tells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// DeliveredData.
    pub delivered: u32,
    /// Bytes in flight after it.
    pub in_flight: u32,
    /// una has moved, and nothing more is lost (SafeACK).
    pub safe: bool,
}

/// What was out when recovery began.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// SND.NXT - SND.UNA, una being what it was before this acknowledgment.
    pub flight: u32,
    /// Bytes that were reported before it.
    pub sacked_before: u32,
}

impl Prr {
    /// RFC 9937 section 6.1: what was reported before is not delivered in recovery. RFC 6937 section 3 counts it.
    pub fn begin(rule: PrrRule, outstanding: Outstanding) -> Self {
        let known = if rule == PrrRule::Rfc6937 { 0 } else { outstanding.sacked_before };
        let flight = outstanding.flight.saturating_sub(known).max(1);
        Self { rule, delivered: 0, out: 0, flight: flight.into() }
    }

    /// This many bytes leave, new or again.
    pub fn note_sent(&mut self, bytes: u32) {
        self.out += u64::from(bytes);
    }

    /// The window after an acknowledgment: what is in flight and what may leave now (SndCnt).
    pub fn window(&mut self, progress: &Progress, ssthresh: u32, mss: u32) -> u32 {
        let Progress { delivered, in_flight, safe } = *progress;
        self.delivered += u64::from(delivered);
        let owed = self.delivered.saturating_sub(self.out);
        let mut count = if in_flight > ssthresh {
            (self.delivered * u64::from(ssthresh)).div_ceil(self.flight).saturating_sub(self.out)
        } else {
            let (now, mss) = (u64::from(delivered), u64::from(mss));
            let limit = match self.rule {
                PrrRule::Rfc6937 => owed.max(now) + mss,
                _ => owed.max(now) + if safe { mss } else { 0 },
            };
            limit.min(u64::from(ssthresh - in_flight))
        };
        // The fast retransmission leaves in any case; less than a segment is nothing, as parts of one do not leave.
        if self.out == 0 && count < u64::from(mss) {
            count = mss.into();
        }
        in_flight.saturating_add(u32::try_from(count).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn begin(rule: PrrRule, flight: u32, sacked_before: u32) -> Prr {
        Prr::begin(rule, Outstanding { flight, sacked_before })
    }

    /// 20 segments of 1000 bytes, ssthresh 10: one segment leaves for every second that arrives.
    #[test]
    fn the_rate_is_reduced_in_proportion() {
        let mut prr = begin(PrrRule::Rfc9937, 20_000, 2_000);
        let mut in_flight = 16_000;
        let mut left = Vec::new();
        for _ in 0..12 {
            let window = prr.window(&Progress { delivered: 1_000, in_flight, safe: false }, 10_000, 1_000);
            let whole = (window - in_flight) / 1_000 * 1_000;
            prr.note_sent(whole);
            left.push(whole / 1_000);
            in_flight = in_flight + whole - 1_000;
        }
        // The first leaves at once; from then on k * 10 / 18 in all with the k-th ACK, a part of a segment being kept.
        assert_eq!(left, [1, 0, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0], "{left:?}");
    }

    /// RFC 9937: below ssthresh as much leaves as arrives, and a segment more with an ACK that is safe. RFC 6937 adds it
    /// always.
    #[test]
    fn below_ssthresh_a_safe_ack_adds_a_segment_twin() {
        let play = |rule, safe| {
            let mut prr = begin(rule, 20_000, 0);
            prr.window(&Progress { delivered: 1_000, in_flight: 4_000, safe }, 10_000, 1_000) - 4_000
        };
        assert_eq!(play(PrrRule::Rfc9937, false), 1_000);
        assert_eq!(play(PrrRule::Rfc9937, true), 2_000);
        assert_eq!(play(PrrRule::Rfc6937, false), 2_000);
    }

    /// It never goes beyond ssthresh.
    #[test]
    fn the_window_ends_at_ssthresh() {
        let mut prr = begin(PrrRule::Rfc9937, 20_000, 0);
        prr.note_sent(1_000);
        assert_eq!(
            prr.window(&Progress { delivered: 9_000, in_flight: 9_500, safe: true }, 10_000, 1_000),
            10_000
        );
    }

    /// Without any delivery, as when the reordering timer begins recovery, the first retransmission leaves.
    #[test]
    fn the_first_retransmission_is_forced() {
        let mut prr = begin(PrrRule::Rfc9937, 20_000, 0);
        let still = Progress { delivered: 0, in_flight: 19_000, safe: false };
        assert_eq!(prr.window(&still, 10_000, 1_000), 20_000);
        prr.note_sent(1_000);
        assert_eq!(prr.window(&still, 10_000, 1_000), 19_000);
    }
}
