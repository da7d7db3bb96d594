//! Packets as Linux counts them: which are out, SACKed, lost, sent again. One set of marks serves connections with SACK
//! and without: without it, duplicates are counted as SACKed packets.
//!
//! What its versions make of these counts stands in [`super::linux_2_6_15`] and [`super::linux_6_1`]. The names of the
//! functions of net/ipv4/tcp_input.c and tcp_output.c stand at their counterparts.

mod queue;

use rexmit_units::Instant;
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{LossRecovery, Permit, Phase, Sent, Status};
use crate::connection::{RexmtFor, Tcb, Timers};
use queue::Room;
pub(super) use queue::{PacketReport, Sent as SentPacket, SentQueue};

/// What every version keeps in `struct tcp_sock`.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    pub phase: Phase,
    /// What was sent when the present state began (`high_seq`).
    pub recover: SeqNumber,
    pub queue: SentQueue,
    /// Without SACK: duplicates, each of them a packet that has arrived.
    pub duplicates: u32,
    /// Degree of reordering that is not taken for loss.
    pub reordering: u32,
    /// una when the windows were lowered, as long as that may be undone.
    pub undo_marker: Option<SeqNumber>,
    /// Packets sent again since then and not reported as duplicates; none: -1.
    pub undo_resent: i64,
    /// Timestamp of the first of them.
    pub first_resent: Option<u32>,
    /// Threshold before it was lowered, in packets; 0 forbids the undo.
    pub prior_ssthresh: u32,
    /// Expiries since una moved.
    pub timeouts: u32,
    /// Packets leave again as they were, or with those behind them that fit in; otherwise data are cut again.
    pub keeps_cuts: bool,
    /// Echo of the last timestamp.
    echo: Option<u32>,
}

impl Packets {
    pub fn new(tcb: &Tcb) -> Self {
        Self {
            phase: Phase::Open,
            recover: tcb.snd.una,
            queue: SentQueue::default(),
            duplicates: 0,
            reordering: tcb.dup_thresh(),
            undo_marker: None,
            undo_resent: 0,
            first_resent: None,
            prior_ssthresh: 0,
            timeouts: 0,
            keeps_cuts: false,
            echo: None,
        }
    }

    pub fn in_recovery(&self) -> bool {
        self.phase == Phase::Recovery
    }

    /// The window goes down over a round trip, for a loss or for a mark (`tcp_in_cwnd_reduction`).
    pub fn in_reduction(&self) -> bool {
        matches!(self.phase, Phase::Cwr | Phase::Recovery)
    }

    /// Packets that have arrived out of order (`sacked_out`).
    pub fn sacked(&self) -> u32 {
        self.queue.sacked + self.duplicates
    }

    /// `tcp_packets_in_flight`.
    pub fn in_flight(&self) -> u32 {
        self.queue.in_flight().saturating_sub(self.duplicates)
    }

    /// The state as others see it.
    pub fn status(&self) -> Status {
        Status {
            phase: self.phase,
            out: self.queue.len(),
            packets: self.queue.begun,
            in_flight: self.in_flight(),
            oldest: self.queue.head().map(|head| head.at),
            reordering: self.reordering,
        }
    }

    /// Three quarters of the window at least, where it is not going down (`tcp_current_ssthresh`).
    pub fn present_ssthresh(&self, tcb: &Tcb) -> u32 {
        let (cwnd, ssthresh) = (tcb.window.packets(), tcb.window.threshold_packets());
        if self.in_reduction() { ssthresh } else { ssthresh.max((cwnd >> 1) + (cwnd >> 2)) }
    }

    /// Does the echo show that what arrived was sent before anything was sent again?
    pub fn is_echo_older(&self, first_resent: u32) -> bool {
        self.echo.is_some_and(|echo| (echo.wrapping_sub(first_resent) as i32) < 0)
    }

    /// Notes the echo, and takes what acknowledges our SYN, which is not a packet of the queue.
    pub fn begin_ack(&mut self, tcb: &mut Tcb, now: Instant, segment: &TcpSegment) {
        if let Some(stamps) = segment.timestamps.filter(|_| tcb.marks.timestamps) {
            self.echo = (stamps.echo != 0).then_some(stamps.echo);
        }
        if !std::mem::replace(&mut tcb.marks.syn_acknowledged, true) {
            tcb.sample_rtt(now, segment);
            tcb.snd.una = tcb.snd.iss + 1;
            self.recover = tcb.snd.una;
            tcb.timers.rexmt = Timers::OFF;
        }
    }

    /// una, the send buffer and the peer's window move; true if the window was taken.
    pub fn advance_una(&mut self, tcb: &mut Tcb, now: Instant, segment: &TcpSegment, window: u32) -> bool {
        let acked = segment.ack.diff(tcb.snd.una) as u32;
        if acked > 0 {
            self.timeouts = 0;
            tcb.take_acknowledged(acked, segment);
            tcb.snd.una = segment.ack;
            tcb.snd.nxt = tcb.snd.nxt.max(segment.ack);
            // Kept near, or they would seem to lie ahead after 2 GiB.
            tcb.snd.short_end = tcb.snd.short_end.max(segment.ack);
            if segment.ack.diff(self.recover) > 1 << 30 {
                self.recover = segment.ack;
            }
            tcb.after_our_fin(now, segment.ack);
            tcb.wake_writer();
        }
        tcb.update_window(segment, window)
    }

    /// `tcp_rearm_rto`.
    pub fn rearm_rexmt(&self, tcb: &mut Tcb, now: Instant) {
        tcb.timers.rexmt = match self.queue.len() {
            0 => Timers::OFF,
            _ => tcb.restarted_rexmt(now, tcb.snd.una),
        };
        tcb.timers.rexmt_for = RexmtFor::Retransmission;
    }

    /// Duplicates are used up by `acked` packets: one filled the hole, the others had made duplicates
    /// (`tcp_remove_reno_sacks`). Returns how many arrivals were not known.
    pub fn use_up_duplicates(&mut self, acked: u32) -> u32 {
        let fresh = acked.saturating_sub(self.duplicates).max(1);
        self.duplicates = self.duplicates.saturating_sub(acked - 1);
        fresh
    }

    /// More duplicates than packets out tell of reordering (`tcp_check_reno_reordering`): the packets of which it
    /// tells, before any limit.
    pub fn limit_duplicates(&mut self, addend: u32) -> Option<u32> {
        let out = self.queue.len();
        let holes = self.queue.lost.max(1).min(out);
        if self.duplicates + holes <= out {
            return None;
        }
        self.duplicates = out - holes;
        Some(out + addend)
    }

    /// New data, as far as the window in packets allows (`tcp_cwnd_test`, `tcp_snd_wnd_test`): a packet that
    /// the peer's window cannot take whole waits for its probe. A last packet with a FIN is not held back by cwnd.
    pub fn permit(&self, tcb: &Tcb) -> Permit {
        let quota = tcb.window.packets().saturating_sub(self.in_flight());
        let (mss, off) = (i64::from(tcb.snd.mss), tcb.off());
        let waiting = (i64::from(tcb.buffer.len()) - off).max(0);
        let room = (i64::from(tcb.snd.wnd) - off).max(0);
        let fits = match room {
            _ if room >= waiting => waiting,
            // A probe, or half of the largest window (`tcp_write_wakeup`, `tcp_bound_to_half_wnd`).
            _ if tcb.marks.force || (room < mss && 2 * room >= i64::from(tcb.snd.max_wnd)) => room,
            _ => room - room % mss,
        };
        let last = tcb.state.wants_fin() && waiting <= mss && fits == waiting;
        let quota = quota.max(u32::from(last));
        // What may follow a full window is asked for again.
        Permit::Next { len: fits.min(i64::from(quota) * mss), again: true }
    }

    /// Is there new data that the windows let go (`tcp_may_send_now`)?
    pub fn may_send_new(&self, tcb: &Tcb) -> bool {
        tcb.has_unsent() && matches!(self.permit(tcb), Permit::Next { len, .. } if len > 0)
    }

    /// A segment leaves. Is it a new packet?
    pub fn note_sent(&mut self, tcb: &Tcb, now: Instant, sent: &Sent) -> bool {
        let new = !sent.hole && sent.is_new && sent.space() > 0;
        if new {
            let begins = sent.len == 0 || tcb.device.as_ref().is_none_or(|device| device.begins());
            self.queue.push(sent.seq, sent.seq + sent.space(), now, begins);
        }
        new
    }
}

/// A way to recover that counts packets.
pub(super) trait Counting: LossRecovery {
    fn packets(&mut self) -> &mut Packets;

    /// A packet that left last at `at` is about to leave again.
    fn before_resend(&mut self, tcb: &mut Tcb, now: Instant, at: Instant);
}

/// Packet `i` leaves again (`tcp_retransmit_skb`).
///
/// `alone`: what is before it does not leave with it, as one packet of the send queue.
pub(super) fn resend(way: &mut impl Counting, tcb: &mut Tcb, now: Instant, i: usize, alone: bool) {
    let packets = way.packets();
    if packets.keeps_cuts && alone {
        let fin = tcb.marks.sent_fin.then(|| tcb.snd.max - 1);
        let (una, mss) = (tcb.snd.una, tcb.snd.mss);
        packets.queue.put_together(i, &Room { una, wnd_end: una + tcb.snd.wnd, mss, fin });
    }
    let (keeps_cuts, Some(packet)) = (packets.keeps_cuts, packets.queue.get(i).copied()) else { return };
    way.before_resend(tcb, now, packet.at);
    tcb.begin_packet(alone);
    let seq = packet.start.max(tcb.snd.una);
    let sent = match keeps_cuts {
        true => tcb.send_as_it_was(now, seq, packet.end, way),
        false => tcb.send_hole(now, seq, packet.end.diff(seq) as u32, way),
    };
    let p = way.packets();
    p.queue.send_again(i, seq + sent, tcb.left_at(now), tcb.snd.max);
    p.undo_resent = p.undo_resent.max(0) + 1;
    p.first_resent.get_or_insert_with(|| tcb.timestamp(now));
}

/// Lost packets leave again, as cwnd allows (`tcp_xmit_retransmit_queue`); returns how many.
pub(super) fn resend_lost(way: &mut impl Counting, tcb: &mut Tcb, now: Instant) -> u32 {
    resend_each(way, tcb, now, SentQueue::next_lost)
}

/// Packets that `next` finds from a place on leave again, as cwnd allows.
pub(super) fn resend_each(
    way: &mut impl Counting,
    tcb: &mut Tcb,
    now: Instant,
    next: fn(&SentQueue, usize) -> Option<usize>,
) -> u32 {
    let (mut from, mut n, mut before) = (0, 0, None);
    while way.packets().in_flight() < tcb.window.packets() && !tcb.waits_for_pace(now) {
        let Some(i) = next(&way.packets().queue, from) else { break };
        let begins = way.packets().queue.get(i).is_none_or(|packet| packet.begins);
        let alone = begins || before.is_none_or(|before| before + 1 != i);
        if alone && tcb.waits_for_turn(now) {
            break;
        }
        resend(way, tcb, now, i, alone);
        before = Some(i);
        n += 1;
        // A timer that waits for what was overtaken goes on.
        if i == 0 && tcb.timers.rexmt_for != RexmtFor::Reordering {
            tcb.restart_rexmt(now);
        }
        from = i + 1;
    }
    if n > 0 {
        way.packets().queue.cut(from);
    }
    n
}

/// The last packet that is out leaves again, as a probe (`tcp_send_loss_probe`).
pub(super) fn resend_last(way: &mut impl Counting, tcb: &mut Tcb, now: Instant) {
    if let Some(last) = way.packets().queue.len().checked_sub(1) {
        resend(way, tcb, now, last as usize, true);
    }
}

/// The SACK blocks of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// The first one, where it reports a duplicate (RFC 2883; `tcp_check_dsack`).
    pub duplicate: Option<(SeqNumber, SeqNumber)>,
    valid: [(SeqNumber, SeqNumber); 4],
    n: usize,
}

impl Blocks {
    /// Those of `segment`, of which none is news that ends at `una` or before; `None`: it has none.
    pub fn of(tcb: &Tcb, segment: &TcpSegment, una: SeqNumber) -> Option<Self> {
        let blocks = segment.sack.as_slice();
        let first = *blocks.first().filter(|_| tcb.marks.sack)?;
        let inside = blocks.get(1).is_some_and(|b| b.0 <= first.0 && first.1 <= b.1);
        let reports = first.0 < segment.ack || inside;
        let duplicate = (reports && first.0 < first.1 && first.1 <= tcb.snd.max).then_some(first);
        let mut of = Self { duplicate, valid: [(una, una); 4], n: 0 };
        for block in &blocks[usize::from(reports)..] {
            if block.0 < block.1 && block.1 <= tcb.snd.max && block.1 > una && of.n < 4 {
                of.valid[of.n] = *block;
                of.n += 1;
            }
        }
        Some(of)
    }

    /// In the order of their numbers, as later kernels take them.
    pub fn in_order(mut self) -> Self {
        self.valid[..self.n].sort_unstable_by(|a, b| a.0.diff(b.0).cmp(&0));
        self
    }

    pub fn valid(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.valid[..self.n]
    }
}
