//! Loss by time: RACK (RFC 8985 section 6; net/ipv4/tcp_recovery.c, whose function names stand at their counterparts;
//! LK-RACK-1 to LK-RACK-7).

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::{Linux61, Phase};
use crate::connection::{RexmtFor, Tcb};
use crate::recovery::packets::{SentPacket, SentQueue};

/// Least wait of a timer of the transport (`TCP_TIMEOUT_MIN_US`).
pub(super) const LEAST_WAIT: Duration = Duration::from_millis(2);
/// A wider window lasts for this many recoveries (`TCP_RACK_RECOVERY_THRESH`).
const PERSISTENCE: u8 = 16;

/// What `struct tcp_sock` keeps for RACK; times in microseconds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// Of the packets that have arrived, the one that was sent last: when it left, and its end.
    latest: (u64, SeqNumber),
    /// What the last packet that arrived took.
    rtt: u64,
    /// Something arrived since losses were looked for.
    advanced: bool,
    /// Packets have arrived out of the order in which they were sent.
    reordering_seen: bool,
    /// A needless copy was reported that reordering may have caused.
    duplicate_seen: bool,
    /// Quarters of the least round trip that a packet may be late, and the recoveries for which they hold.
    steps: u8,
    persist: u8,
    /// Packets that had arrived when the window was last widened.
    widened_at: u32,
    /// Of the packets that the present acknowledgment reports, the one that left last: when, its end, and how many had
    /// arrived then.
    told: Option<(u64, SeqNumber, u32)>,
}

impl Rack {
    pub fn new() -> Self {
        Self {
            latest: (0, SeqNumber(0)),
            rtt: 0,
            advanced: false,
            reordering_seen: false,
            duplicate_seen: false,
            steps: 1,
            persist: 0,
            widened_at: 0,
            told: None,
        }
    }

    /// Losses are to be looked for with the next acknowledgment, whatever it says.
    pub fn look_again(&mut self) {
        self.advanced = true;
    }

    /// A packet that was overtaken arrived.
    pub fn note_reordering(&mut self) {
        self.reordering_seen = true;
    }

    /// A copy was needless. One of a probe says nothing of reordering.
    pub fn note_duplicate(&mut self, of_probe: bool) {
        self.duplicate_seen |= self.reordering_seen && !of_probe;
    }

    /// A recovery has ended (`tcp_try_undo_recovery`).
    pub fn recovered(&mut self) {
        self.persist = self.persist.saturating_sub(1);
    }

    /// A recovery was needless, as reports of all its copies show (`tcp_try_undo_dsack`).
    pub fn persist_longer(&mut self) {
        self.persist = (self.persist + 1).min(PERSISTENCE);
    }

    /// `tcp_rack_advance`: a packet has arrived. One that was sent again and came sooner than any round trip lasted is
    /// likely to be the original.
    fn advance(&mut self, now: Instant, packet: &SentPacket, least_rtt: Duration) {
        let (left, end) = (micros(packet.at), packet.end);
        let rtt = micros(now) - left;
        if packet.ever_resent && rtt < least_rtt.as_nanos() / 1_000 {
            return;
        }
        (self.advanced, self.rtt) = (true, rtt);
        if is_later((left, end), self.latest) {
            self.latest = (left, end);
        }
    }

    /// The present acknowledgment tells of this packet.
    fn note_told(&mut self, packet: &SentPacket) {
        let (left, end) = (micros(packet.at), packet.end);
        if self.told.is_none_or(|(at, last, _)| is_later((left, end), (at, last))) {
            self.told = Some((left, end, packet.delivered));
        }
    }

    /// An old acknowledgment does not count for the window.
    pub fn forget_told(&mut self) {
        self.told = None;
    }

    /// `tcp_rack_update_reo_wnd`: a needless copy widens the window by a quarter of the least round trip, once a round
    /// trip. `delivered`: packets that have arrived.
    fn update_window(&mut self, delivered: u32) {
        let Some((_, _, sent_at)) = self.told.take() else { return };
        if (sent_at.wrapping_sub(self.widened_at) as i32) < 0 {
            self.duplicate_seen = false;
        }
        if std::mem::take(&mut self.duplicate_seen) {
            self.steps = self.steps.saturating_add(1);
            self.widened_at = delivered;
            self.persist = PERSISTENCE;
        } else if self.persist == 0 {
            self.steps = 1;
        }
    }

    /// Microseconds until a packet that left at `at` counts as lost, if it has not arrived by then; not positive if
    /// that time has passed (`tcp_rack_skb_timeout`).
    fn remaining(&self, now: Instant, at: Instant, window: u64) -> i64 {
        (self.rtt + window) as i64 - (micros(now) - micros(at)) as i64
    }

    /// Is a packet still too young to be lost when the retransmission timer expires?
    pub fn is_young(&self, now: Instant, at: Instant) -> bool {
        self.remaining(now, at, 0) > 0
    }

    /// `tcp_rack_detect_loss`: marks what is lost, and says how long the rest of what was overtaken may still take.
    fn detect(&self, queue: &mut SentQueue, now: Instant, window: u64, in_order: bool) -> Option<u64> {
        let mut most = 0;
        for i in 0..queue.len() as usize {
            let Some(packet) = queue.get(i) else { break };
            if packet.sacked || !packet.listed {
                continue;
            }
            if !is_later(self.latest, (micros(packet.at), packet.end)) {
                if in_order {
                    break;
                }
                continue;
            }
            let left = self.remaining(now, packet.at, window);
            if left <= 0 {
                queue.lose(i);
                queue.unlist(i);
            } else {
                most = most.max(left as u64);
            }
        }
        (most > 0).then_some(most)
    }
}

impl Linux61 {
    /// Takes what has arrived by the last report or acknowledgment (`tcp_rack_advance`, `tcp_rate_skb_delivered`). Without SACK nothing is known of
    /// single packets.
    pub(super) fn take_arrivals(&mut self, tcb: &Tcb, now: Instant, acknowledged: bool) {
        for i in 0..self.packets.queue.arrived.len() {
            let packet = self.packets.queue.arrived[i];
            if let Some(rates) = &mut self.rates {
                rates.on_delivered(&packet);
            }
            let Some(rack) = &mut self.rack else { continue };
            // The echo of an acknowledgment may show that it is of an earlier copy (`tcp_skb_spurious_retrans`).
            let needless =
                acknowledged && packet.ever_resent && self.packets.is_echo_older(tcb.timestamp(packet.at));
            if !needless && tcb.marks.sack {
                rack.advance(now, &packet, tcb.least_rtt);
            }
            rack.note_told(&packet);
        }
        self.packets.queue.arrived.clear();
    }

    /// All that an acknowledgment tells has been taken.
    pub(super) fn settle_rack(&mut self) {
        if let Some(rack) = &mut self.rack {
            rack.update_window(self.delivered as u32);
        }
    }

    /// `tcp_rack_reo_wnd`: how late a packet may be.
    fn reordering_window(&self, tcb: &Tcb, rack: &Rack) -> u64 {
        if !rack.reordering_seen {
            let repairs = matches!(self.packets.phase, Phase::Recovery | Phase::Loss);
            if repairs || self.packets.sacked() >= self.packets.reordering {
                return 0;
            }
        }
        let least = tcb.least_rtt.as_nanos() / 1_000;
        let srtt = tcb.rtt.srtt().map_or(0, |srtt| srtt.as_nanos() / 1_000);
        ((least >> 2) * u64::from(rack.steps)).min(srtt)
    }

    /// Losses by time; how long the youngest of what was overtaken may still take.
    fn detect_losses(&mut self, tcb: &Tcb, now: Instant) -> Option<u64> {
        let rack = self.rack?;
        let window = self.reordering_window(tcb, &rack);
        let in_order = tcb.snd.una >= self.resent_below;
        rack.detect(&mut self.packets.queue, now, window, in_order)
    }

    /// `tcp_rack_mark_lost`: what an acknowledgment shows to be lost. True if a timer waits for the rest.
    pub(super) fn mark_by_time(&mut self, tcb: &mut Tcb, now: Instant) -> bool {
        let Some(rack) = self.rack.as_mut() else { return false };
        if !std::mem::take(&mut rack.advanced) {
            return false;
        }
        let Some(left) = self.detect_losses(tcb, now) else { return false };
        self.set_timer(tcb, now, RexmtFor::Reordering, Duration::from_micros(left) + LEAST_WAIT);
        true
    }

    /// `tcp_rack_reo_timeout`: time enough was given to what was overtaken.
    pub(super) fn on_reordering_timer(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.timers.rexmt = now; // It is pending until it is set for something else.
        let (before, losses) = (self.packets.in_flight(), self.packets.queue.losses);
        self.detect_losses(tcb, now);
        if self.packets.in_flight() != before {
            if !self.packets.in_recovery() {
                self.enter_counted_recovery(tcb, now, false);
                tcb.decision = tcb.decision.by_reordering_timer();
                self.reduce_cwnd(tcb, 1, self.packets.queue.losses > losses, false);
            } else {
                tcb.goes_on_by_reordering_timer();
            }
            self.resend_lost(tcb, now);
            if !tcb.decision.begins_recovery() {
                tcb.decision = Reason::New;
            }
        }
        // What was sent may have started the timer for itself.
        if tcb.timers.rexmt_for == RexmtFor::Reordering {
            self.rearm(tcb, now, RexmtFor::Reordering);
        }
    }
}

/// In microseconds, as the kernel's clock of packets is read.
pub(super) fn micros(at: Instant) -> u64 {
    at.as_nanos() / 1_000
}

/// `tcp_skb_sent_after`: of two that left at the same time the one with the higher number is later.
pub(super) fn is_later(one: (u64, SeqNumber), other: (u64, SeqNumber)) -> bool {
    one.0 > other.0 || (one.0 == other.0 && one.1 > other.1)
}
