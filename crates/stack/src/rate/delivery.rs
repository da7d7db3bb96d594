//! How fast data are delivered (draft-cheng-iccrg-delivery-rate-estimation-02; net/ipv4/tcp_rate.c).
//!
//! Each segment or chunk remembers how much had been delivered when it left. When it arrives, what was delivered since
//! then, over the longer of the times in which that was sent and acknowledged, is a sample.
//!
//! Not here: which of them an acknowledgment tells of. That is the protocol's business, which keeps their [`Stamp`]s.

use rexmit_units::Instant;

use super::RateSample;

/// What a segment or chunk that is out remembers of when it left last (section 3.1.2, "per-packet state").
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    at: Instant,
    /// Bytes delivered when it left, and when the last of them was.
    delivered: u64,
    delivered_at: Instant,
    /// When the first data of the interval that it ends left.
    first_sent_at: Instant,
    app_limited: bool,
    again: bool,
}

impl Stamp {
    /// The same of data that leave together with it and that have, or have not, been sent before.
    #[must_use]
    pub fn of(self, again: bool) -> Self {
        Self { again, ..self }
    }
}

/// The estimator of one connection or path (section 3.1.1, "per-connection state").
///
/// For an acknowledgment: [`Self::on_delivered`] for each segment or chunk that it newly reports, then
/// [`Self::sample`].
#[derive(Clone, Debug)]
pub struct DeliveryRate {
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// The sender is limited by its application until this much has been delivered; 0: it is not.
    limited_until: u64,
    /// Of the acknowledgment that is being taken: what had been delivered before it, and the newest that it reports.
    before: u64,
    newest: Option<Stamp>,
}

impl DeliveryRate {
    /// Nothing has been sent.
    pub const fn new() -> Self {
        Self {
            delivered: 0,
            delivered_at: Instant::ZERO,
            first_sent_at: Instant::ZERO,
            limited_until: 0,
            before: 0,
            newest: None,
        }
    }

    /// Data leave, for the first time or again (section 3.2). `idle`: nothing else is out.
    pub fn on_sent(&mut self, now: Instant, idle: bool, again: bool) -> Stamp {
        if idle {
            (self.first_sent_at, self.delivered_at) = (now, now);
        }
        Stamp {
            at: now,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            app_limited: self.limited_until > 0,
            again,
        }
    }

    /// All that waited has left, and `in_flight` bytes are out: the application limits the sender until they have
    /// arrived (section 3.4).
    pub fn on_app_limited(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// `len` bytes that left at `stamp` have arrived (section 3.3).
    pub fn on_delivered(&mut self, now: Instant, stamp: &Stamp, len: u32) {
        self.delivered += u64::from(len);
        self.delivered_at = now;
        // Of several, the one that left last.
        if self.newest.is_none_or(|n| (stamp.delivered, stamp.at) >= (n.delivered, n.at)) {
            self.newest = Some(*stamp);
        }
    }

    /// What the acknowledgment as a whole tells, `in_flight` bytes being out after it; `None` if it tells of nothing new.
    pub fn sample(&mut self, now: Instant, in_flight: u64) -> Option<RateSample> {
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        let before = std::mem::replace(&mut self.before, self.delivered);
        let newest = self.newest.take()?;
        self.first_sent_at = newest.at;
        let sending = newest.at.saturating_since(newest.first_sent_at);
        let acking = now.saturating_since(newest.delivered_at);
        Some(RateSample {
            now,
            newly_delivered: self.delivered - before,
            delivered: self.delivered - newest.delivered,
            prior_delivered: newest.delivered,
            prior_delivered_at: newest.delivered_at,
            total_delivered: self.delivered,
            interval: sending.max(acking),
            rtt: (!newest.again).then(|| now.saturating_since(newest.at)),
            is_retransmit: newest.again,
            app_limited: newest.app_limited,
            in_flight,
        })
    }
}

impl Default for DeliveryRate {
    fn default() -> Self {
        Self::new()
    }
}
