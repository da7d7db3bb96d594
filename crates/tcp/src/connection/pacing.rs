//! When the next packet may leave, as Linux paces within TCP (net/ipv4/tcp_output.c, `tcp_update_skb_after_send`,
//! `tcp_pacing_check`; LK-PACE-1 to LK-PACE-3).

use rexmit_units::{Duration, Instant};

use super::device::Device;
use super::{Tcb, Timers};
use crate::congestion::Congestion;
use crate::profile::OutputConfig;
use crate::recovery::LossRecovery;

/// This many segments leave before anything is paced.
const FREE_SEGMENTS: u64 = 10;

/// What a connection that paces keeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacing {
    /// Bytes a second; 0: none is known yet.
    rate: u64,
    /// Bytes a second, at most (`sk_max_pacing_rate`).
    most: u64,
    /// When the next packet is due, or the last one left (`tcp_wstamp_ns`).
    due: Instant,
    /// When the packet that is leaving left, by how much it was late, nanoseconds, and its bytes so far.
    packet: (Instant, u64, u64),
    /// Segments with data that have left (`data_segs_out`).
    segments: u64,
    /// Segments of a packet of the send queue, at least.
    least_segments: u64,
    /// What leaves again next is a packet of its own.
    opens: bool,
}

impl Default for Pacing {
    fn default() -> Self {
        Self {
            rate: 0,
            most: u64::MAX,
            due: Instant::ZERO,
            packet: (Instant::ZERO, 0, 0),
            segments: 0,
            least_segments: 2,
            opens: true,
        }
    }
}

impl Pacing {
    /// Of a sender that goes by this congestion control: BBR paces, others where the profile says so.
    pub fn of(output: &OutputConfig, congestion: &Congestion) -> Option<Box<Self>> {
        let most = output.pacing_rate.map(|rate| rate.bits_per_second() / 8);
        let paces = congestion.sets_window() || most.is_some();
        paces.then(|| Box::new(Self { most: most.unwrap_or(u64::MAX), ..Self::default() }))
    }

    /// Takes the rate of the congestion control, bytes a second, and how many segments a packet has at least.
    pub fn set_rate(&mut self, rate: u64, least_segments: u64) {
        (self.rate, self.least_segments) = (self.at_most(rate), least_segments);
    }

    /// Bytes a second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// A rate has been set.
    pub fn is_known(&self) -> bool {
        self.rate > 0
    }

    /// This rate, or the most that is allowed.
    pub fn at_most(&self, rate: u64) -> u64 {
        rate.min(self.most)
    }

    /// A packet of the send queue holds at least this many segments.
    pub fn least_segments(&self) -> u64 {
        self.least_segments
    }

    /// When the next packet is due, or the last one left.
    pub fn due(&self) -> Instant {
        self.due
    }

    /// When what leaves now is stamped to leave: a repair that cannot wait is stamped with its turn.
    fn departure(&self, now: Instant) -> Instant {
        self.due.max(now)
    }

    /// Nanoseconds from now until the next packet is due.
    pub fn ahead(&self, now: Instant) -> u64 {
        self.due.saturating_since(now).as_nanos()
    }

    /// A packet begins to leave.
    fn begin_packet(&mut self, now: Instant) {
        let at = self.departure(now);
        self.packet = (at, at.saturating_since(self.due).as_nanos(), 0);
        self.due = at;
    }

    /// A segment of `len` bytes has left. A packet that is late takes up to half of its own time from that.
    pub fn on_data(&mut self, len: u32) {
        self.segments += 1;
        let (at, late, bytes) = &mut self.packet;
        *bytes += u64::from(len);
        if self.rate > 0 && self.segments >= FREE_SEGMENTS {
            let time = *bytes * 1_000_000_000 / self.rate;
            self.due = *at + Duration::from_nanos(time - (time / 2).min(*late));
        }
    }
}

impl Tcb {
    /// How long a timer of the transport runs: by whole ticks longer where what it is for is not due yet, but no longer than the
    /// longest RTO (`tcp_reset_xmit_timer`, `tcp_pacing_delay`).
    #[inline]
    pub(crate) fn with_pacing(&self, now: Instant, wait: Duration) -> Duration {
        let Some(pacing) = &self.pacing else { return wait };
        let tick = self.profile.clock.tick.as_nanos().max(1);
        (wait + Duration::from_nanos(pacing.ahead(now) / tick * tick)).min(self.profile.rtt.max_rto)
    }

    /// Does the next packet have to wait? If so, a timer is set for it, unless it runs (`tcp_pacing_check`).
    #[inline]
    pub(crate) fn waits_for_turn(&mut self, now: Instant) -> bool {
        let Some(pacing) = self.pacing.as_deref().filter(|pacing| pacing.due > now) else { return false };
        if self.timers.pace == Timers::OFF {
            self.timers.pace = pacing.due;
        }
        true
    }

    /// What is due at the very instant at which something arrives leaves first, as a guest's timers go before its devices.
    #[inline]
    pub(super) fn take_turn<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        if self.pacing.is_some() && self.timers.pace <= now {
            self.on_pace_timer(now, recovery);
        }
    }

    /// Must the next packet wait?
    #[inline]
    pub(super) fn next_waits_for_turn(&mut self, now: Instant) -> bool {
        if self.pacing.is_none() || !self.device.as_deref().is_none_or(Device::begins_another) {
            return false;
        }
        let waiting = self.has_unsent() || (self.state.wants_fin() && !self.marks.sent_fin);
        waiting && self.waits_for_turn(now)
    }

    /// What leaves again next is a packet of its own, or (`alone` is false) more of the one before.
    #[inline]
    pub(crate) fn begin_packet(&mut self, alone: bool) {
        if let Some(pacing) = &mut self.pacing {
            pacing.opens = alone;
        }
    }

    /// A segment is about to leave, with `len` bytes, again or not: when it is stamped to leave.
    #[inline]
    pub(super) fn begin_departure(&mut self, now: Instant, len: u32, again: bool) -> Instant {
        let Some(pacing) = &mut self.pacing else { return now };
        let under_way = match again {
            true => !pacing.opens,
            false => self.device.as_deref().is_some_and(|device| device.is_under_way() && !device.begins()),
        };
        if len == 0 || !under_way {
            pacing.begin_packet(now);
        }
        pacing.packet.0
    }

    /// A segment of `len` bytes leaves, with `out` segments out before it: the next packet has to wait. Until the first
    /// acknowledgment the rate is that of the first window.
    pub(crate) fn pace_after(&mut self, len: u32, out: u32) {
        if self.pacing.as_deref().is_some_and(|pacing| !pacing.is_known()) {
            self.note_usual_rate(out);
        }
        if let Some(pacing) = self.pacing.as_deref_mut() {
            pacing.on_data(len);
        }
    }

    /// When the segment that is leaving is stamped to leave.
    #[inline]
    pub(crate) fn left_at(&self, now: Instant) -> Instant {
        self.pacing.as_deref().map_or(now, |pacing| pacing.packet.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn at(ns: u64) -> Instant {
        Instant::ZERO + Duration::from_nanos(ns)
    }

    fn send(pacing: &mut Pacing, now: Instant, segments: u32) {
        pacing.begin_packet(now);
        for _ in 0..segments {
            pacing.on_data(1_000);
        }
    }

    /// LK-PACE-1: the first nine segments are free; a packet is followed after its length at the rate.
    #[test]
    fn a_packet_takes_its_time() {
        let mut pacing = Pacing::default();
        pacing.set_rate(1_000_000, 2);
        send(&mut pacing, at(0), 4);
        send(&mut pacing, at(0), 4);
        assert_eq!(pacing.ahead(at(0)), 0);
        send(&mut pacing, at(0), 2);
        assert_eq!(pacing.ahead(at(0)), 2 * MS);
        send(&mut pacing, at(2 * MS), 3);
        assert_eq!(pacing.ahead(at(2 * MS)), 3 * MS);
    }

    /// LK-PACE-2: what was late makes the next pause shorter, by half at most, counted for the packet as a whole.
    #[test]
    fn half_of_a_pause_may_be_made_up() {
        let mut pacing = Pacing::default();
        pacing.set_rate(1_000_000, 2);
        send(&mut pacing, at(0), 10);
        send(&mut pacing, at(11 * MS), 4);
        assert_eq!(pacing.ahead(at(11 * MS)), 3 * MS, "a millisecond late");
        send(&mut pacing, at(100 * MS), 4);
        assert_eq!(pacing.ahead(at(100 * MS)), 2 * MS, "long late");
    }

    /// LK-PACE-3: a repair that cannot wait leaves now, is stamped with its turn, and puts the next one off.
    #[test]
    fn a_repair_is_stamped_with_its_turn() {
        let mut pacing = Pacing::default();
        pacing.set_rate(1_000_000, 2);
        send(&mut pacing, at(0), 10);
        send(&mut pacing, at(4 * MS), 1);
        assert_eq!(pacing.packet.0, at(10 * MS));
        assert_eq!(pacing.ahead(at(4 * MS)), 7 * MS);
    }
}
