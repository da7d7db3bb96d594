//! The rate of delivery, packet by packet (net/ipv4/tcp_rate.c, whose function names stand at their counterparts;
//! draft-cheng-iccrg-delivery-rate-estimation; LK-RATE-1 to LK-RATE-3).

use std::collections::VecDeque;

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::rack::{is_later, micros};
use crate::congestion::bbr::PacketSample;
use crate::recovery::packets::SentPacket;

/// What stood when a segment left last; times in microseconds.
#[derive(Clone, Copy, Debug)]
struct Stamp {
    start: SeqNumber,
    end: SeqNumber,
    delivered: u32,
    delivered_at: u64,
    first_sent: u64,
    app_limited: bool,
}

/// Of the packet of an acknowledgment that left last.
#[derive(Clone, Copy, Debug)]
struct Newest {
    stamp: Stamp,
    /// How long sending took, from the packet before the sample to this one.
    sending: u64,
}

/// What `struct tcp_sock` keeps of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Rates {
    begun: bool,
    stamps: VecDeque<Stamp>,
    first_sent: u64,
    delivered_at: u64,
    /// Until this many packets have arrived, the application is what limits the sender (`app_limited`).
    app_limited: Option<u32>,
    newest: Option<Newest>,
    prior_in_flight: u32,
}

impl Rates {
    /// When packets were last known to have arrived, microseconds.
    pub fn delivered_at(&self) -> u64 {
        self.delivered_at
    }

    /// The handshake is complete. True the first time.
    pub fn begins(&mut self) -> bool {
        !std::mem::replace(&mut self.begun, true)
    }

    /// Has the application let the sender wait?
    pub fn is_app_limited(&self) -> bool {
        self.app_limited.is_some()
    }

    /// What has been sent by now is limited by the application (`tcp_rate_check_app_limited`).
    pub fn limit(&mut self, delivered: u32, in_flight: u32) {
        self.app_limited = Some(delivered.wrapping_add(in_flight));
    }

    /// `[start, end)` leaves, again or for the first time; `alone`: nothing else is out (`tcp_rate_skb_sent`).
    pub fn on_sent(
        &mut self,
        at: Instant,
        (start, end): (SeqNumber, SeqNumber),
        alone: bool,
        delivered: u32,
    ) {
        if alone {
            (self.first_sent, self.delivered_at) = (micros(at), micros(at));
        }
        let stamp = Stamp {
            start,
            end,
            delivered,
            delivered_at: self.delivered_at,
            first_sent: self.first_sent,
            app_limited: self.app_limited.is_some(),
        };
        if self.stamps.back().is_none_or(|last| last.end <= start) {
            self.stamps.push_back(stamp);
            return;
        }
        let from = self.stamps.partition_point(|s| s.end <= start);
        for old in self.stamps.iter_mut().skip(from).take_while(|s| s.start < end) {
            *old = Stamp { start: old.start, end: old.end, ..stamp };
        }
    }

    /// An acknowledgment is looked at.
    pub fn begin_ack(&mut self, in_flight: u32) {
        (self.newest, self.prior_in_flight) = (None, in_flight);
    }

    /// A packet has arrived (`tcp_rate_skb_delivered`).
    pub fn on_delivered(&mut self, packet: &SentPacket) {
        let i = self.stamps.partition_point(|s| s.end <= packet.start);
        let Some(stamp) = self.stamps.get(i) else { return };
        let left = micros(packet.at);
        let last = self.newest.map(|newest| (self.first_sent, newest.stamp.end));
        if last.is_none_or(|last| is_later((left, packet.end), last)) {
            self.first_sent = left;
            let sending = left.saturating_sub(stamp.first_sent);
            self.newest = Some(Newest { stamp: Stamp { end: packet.end, ..*stamp }, sending });
        }
    }

    /// Was there one packet in the network, of which the acknowledgment tells?
    pub fn is_single(&self, delivered: u32) -> bool {
        self.newest.is_some_and(|newest| newest.stamp.delivered + 1 == delivered)
    }

    /// All that an acknowledgment tells has been taken (`tcp_rate_gen`). `delivered`: packets that have ever arrived,
    /// `arrived`: those of them that are new; `least_rtt` in microseconds.
    pub fn sample(
        &mut self,
        now: Instant,
        una: SeqNumber,
        (delivered, arrived): (u32, u32),
        least_rtt: u64,
    ) -> PacketSample {
        while self.stamps.front().is_some_and(|stamp| stamp.end <= una) {
            self.stamps.pop_front();
        }
        if self.app_limited.is_some_and(|until| (until.wrapping_sub(delivered) as i32) < 0) {
            self.app_limited = None;
        }
        if arrived > 0 {
            self.delivered_at = micros(now);
        }
        let mut sample =
            PacketSample { arrived, prior_in_flight: self.prior_in_flight, ..PacketSample::default() };
        let Some(Newest { stamp, sending }) = self.newest else { return sample };
        let count = delivered.wrapping_sub(stamp.delivered);
        let interval = sending.max(micros(now).saturating_sub(stamp.delivered_at));
        sample.prior_delivered = stamp.delivered;
        sample.app_limited = stamp.app_limited;
        sample.has_delivered = count > 0;
        sample.rate = (interval > 0 && interval >= least_rtt).then_some((count, interval));
        sample
    }
}
