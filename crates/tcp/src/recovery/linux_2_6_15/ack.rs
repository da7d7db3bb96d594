//! An acknowledgment, in the order of `tcp_ack`: the window, SACK blocks, what left the queue, a round-trip
//! time, growth, the states, and what is sent again.

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{Linux2615, Phase};
use crate::congestion::{Ack, CongestionControl};
use crate::connection::Tcb;
use crate::recovery::Arrival;
use crate::recovery::packets::{self, Blocks, PacketReport};

/// What is known of an acknowledgment (the FLAG_ constants of tcp_input.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// una before it.
    pub prior_una: SeqNumber,
    /// una has moved.
    pub advanced: bool,
    /// New SACK reports.
    pub sacked: bool,
    /// It is a duplicate acknowledgment (RFC 5681 section 2, by the kernel's marks).
    pub dupack: bool,
    /// A report goes beyond the mark of the present episode.
    pub beyond: bool,
    /// Packets that it acknowledged.
    pub acked: u32,
}

impl Linux2615 {
    /// Takes an acknowledgment that is not above what was sent.
    pub(super) fn take_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) {
        let &Arrival { now, segment, window } = arrival;
        self.packets.begin_ack(tcb, now, segment);
        let mut told = Told { prior_una: tcb.snd.una, ..Told::default() };
        told.advanced = segment.ack > tcb.snd.una;
        let prior_out = self.packets.queue.len();
        let mut news_of_window = false;
        if segment.ack >= tcb.snd.una {
            news_of_window = self.packets.advance_una(tcb, now, segment, window);
        }
        self.take_blocks(tcb, segment, &mut told);
        if segment.ack < told.prior_una || prior_out == 0 {
            return;
        }
        let prior_in_flight = self.packets.in_flight();
        let (una, mark, sack) = (tcb.snd.una, self.packets.recover, tcb.marks.sack);
        let acked = self.packets.queue.acknowledge(una, mark, sack);
        sample(tcb, now, segment, &acked);
        if acked.acked > 0 && !sack {
            self.packets.use_up_duplicates(acked.acked);
            self.limit_duplicates(tcb, acked.acked);
        }
        let not_dup = !segment.payload.is_empty() || news_of_window || acked.acked > 0;
        // A report of a duplicate is one as well.
        told.dupack = !(not_dup || told.advanced);
        told.acked = acked.acked;
        self.grow(tcb, now, &told, prior_in_flight);
        let mut resends = false;
        if !not_dup || told.sacked || self.packets.phase != Phase::Open {
            tcb.counters.dup_acks += u64::from(told.dupack);
            resends = self.alert(tcb, now, &told);
        }
        if acked.acked > 0 {
            self.packets.rearm_rexmt(tcb, now);
        }
        self.send_after_ack(tcb, now, &told, resends);
    }

    /// An ACK of new data makes the window grow before anything else, but not in Recovery (LX-ST-3).
    fn grow(&mut self, tcb: &mut Tcb, now: Instant, told: &Told, prior_in_flight: u32) {
        if told.acked == 0 || self.packets.in_recovery() {
            return;
        }
        let acked = tcb.snd.una.diff(told.prior_una) as u32;
        let info = Ack {
            acked,
            now,
            srtt: tcb.rtt.srtt(),
            in_flight: prior_in_flight.saturating_mul(tcb.window.mss),
            cwnd_limited: prior_in_flight >= tcb.window.packets(),
            during: self.packets.phase.during(),
        };
        let undisturbed = self.packets.phase == Phase::Open && !told.sacked;
        for _ in 0..tcb.growth_steps(acked, undisturbed) {
            tcb.congestion.on_ack(&mut tcb.window, &info);
        }
    }

    /// `tcp_sacktag_write_queue`: duplicates, reports, copies that are lost, reordering.
    fn take_blocks(&mut self, tcb: &Tcb, segment: &TcpSegment, told: &mut Told) {
        let Some(blocks) = Blocks::of(tcb, segment, told.prior_una) else { return };
        if let Some(duplicate) = blocks.duplicate {
            self.take_duplicate(duplicate, told.prior_una);
        }
        let news = self.packets.queue.report(blocks.valid(), tcb.snd.una, self.packets.recover);
        told.sacked |= news.sacked;
        let Some(reported) = blocks.valid().iter().map(|b| b.1).reduce(SeqNumber::max) else { return };
        told.beyond = reported > self.packets.recover;
        if self.packets.in_recovery() && self.packets.queue.resent > 0 {
            let patience = (!self.uses_fack(tcb)).then_some(self.packets.reordering * tcb.snd.mss);
            told.sacked |= self.packets.queue.lose_copies(reported, patience);
        }
        if let Some(low) = news.lowest
            && self.packets.phase != Phase::Loss
        {
            let queue = &self.packets.queue;
            let (reach, place) = (queue.reach(), queue.place(low));
            if place < reach {
                self.note_reordering(tcb, reach + 1 - place);
            }
        }
    }

    /// The peer reports a duplicate (RFC 2883): one retransmission less that may have been needed.
    fn take_duplicate(&mut self, (left, right): (SeqNumber, SeqNumber), prior_una: SeqNumber) {
        let p = &mut self.packets;
        let resent = p.queue.report_duplicate(left, right);
        if p.undo_marker.is_some_and(|marker| right > marker) {
            p.undo_resent -= i64::from(u32::from(right <= prior_una) + resent);
        }
    }

    /// Lost packets and, with nothing new to send, others; in Disorder new data (RFC 3042), which cwnd allows because
    /// duplicates tell of packets that have left the network.
    fn send_after_ack(&mut self, tcb: &mut Tcb, now: Instant, told: &Told, resends: bool) {
        if resends {
            // Without SACK a partial acknowledgment is why the next packet leaves again.
            let partial = self.packets.in_recovery() && !tcb.marks.sack && told.advanced;
            if partial && tcb.decision == Reason::New {
                tcb.decision = Reason::PartialAck;
            }
            packets::resend_lost(self, tcb, now);
            self.resend_forward(tcb, now);
        }
        // Rate halving may leave no room for the segment that begins the recovery.
        let waits = self.packets.in_recovery() && tcb.decision.begins_recovery();
        if !waits {
            tcb.decision = Reason::New;
        }
        if self.packets.phase == Phase::Disorder && (told.dupack || told.sacked) {
            tcb.decision = Reason::LimitedTransmit;
            tcb.output(now, self);
            tcb.decision = Reason::New;
        }
    }
}

/// A sample for an ACK of new data: by the echo, else of what was sent once only (`tcp_ack_update_rtt`).
fn sample(tcb: &mut Tcb, now: Instant, segment: &TcpSegment, acked: &PacketReport) {
    if acked.acked == 0 {
        return;
    }
    let by_packets = || {
        let (first, _) = acked.times.filter(|_| !acked.resent)?;
        let ticks = tcb.clock.ticks(now).saturating_sub(tcb.clock.ticks(first));
        Some(tcb.clock.span(ticks.max(1)))
    };
    let rtt: Option<Duration> = tcb.rtt_by_echo(now, segment).or_else(by_packets);
    if let Some(rtt) = rtt {
        tcb.rtt.sample(rtt, tcb.snd.una, tcb.snd.nxt);
    }
}
