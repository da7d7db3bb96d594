//! An acknowledgment, in the order of `tcp_ack`: the window, SACK blocks, what left the queue, a round-trip
//! time, the states, cwnd, and what is sent again.

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{Linux61, Phase};
use crate::congestion::{Ack, CongestionControl, Note};
use crate::connection::Tcb;
use crate::recovery::Arrival;
use crate::recovery::packets::{Blocks, PacketReport};

/// What is known of an acknowledgment (the FLAG_ constants of tcp_input.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// una before it, and what it acknowledges.
    pub prior_una: SeqNumber,
    pub ack: SeqNumber,
    /// una has moved.
    pub advanced: bool,
    /// New SACK reports.
    pub sacked: bool,
    /// It tells of a mark of ECN (`FLAG_ECE`).
    pub echo: bool,
    /// It reports a duplicate (RFC 2883), which is that of a probe for a lost tail.
    pub duplicate_reported: bool,
    pub probe_reported: bool,
    /// A packet that was sent once only, before the present episode, has arrived.
    pub original: bool,
    /// It is a duplicate acknowledgment (RFC 5681 section 2, by the kernel's marks).
    pub dupack: bool,
    /// Packets that it acknowledged, and packets that have arrived by what it says.
    pub acked: u32,
    pub delivered: u32,
    /// Packets that were taken for lost.
    pub lost: u32,
    /// The timer is to restart (`FLAG_SET_XMIT_TIMER`).
    pub rearms: bool,
    /// A copy that was on its way was taken for lost (`FLAG_LOST_RETRANS`).
    pub copy_lost: bool,
    /// Round-trip time of the last packet that it tells of.
    pub rtt: Option<Duration>,
    /// The peer may have waited with it (`FLAG_ACK_MAYBE_DELAYED`), if no other packet was under way.
    pub may_be_delayed: bool,
}

/// What is to be sent after an acknowledgment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Resend {
    Nothing,
    /// Lost packets.
    Lost,
    /// New data, for F-RTO.
    New,
}

impl Linux61 {
    /// Takes an acknowledgment that is not above what was sent.
    pub(super) fn take_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) {
        let &Arrival { now, segment, window } = arrival;
        // Control begins when that has been acknowledged.
        let opening = !tcb.marks.syn_acknowledged;
        self.packets.begin_ack(tcb, now, segment);
        let mut told = Told { prior_una: tcb.snd.una, ack: segment.ack, ..Told::default() };
        told.advanced = segment.ack > tcb.snd.una;
        let delivered = self.delivered;
        let losses = self.packets.queue.losses;
        let prior_fack = self.packets.queue.fack();
        let prior_out = self.packets.queue.len();
        let prior_sacked = self.packets.sacked();
        if let Some(rates) = &mut self.rates {
            rates.begin_ack(self.packets.in_flight());
        }
        let mut news_of_window = false;
        if segment.ack >= tcb.snd.una {
            news_of_window = self.packets.advance_una(tcb, now, segment, window);
        }
        let sacked = self.take_blocks(tcb, now, segment, &mut told);
        if segment.ack < told.prior_una {
            // An old one: its reports may be news, and nothing else (`old_ack`).
            if let Some(rack) = &mut self.rack {
                rack.forget_told();
            }
            if !segment.sack.is_empty() {
                let resend = self.alert(tcb, now, &mut told);
                self.send_after_ack(tcb, now, &told, resend);
            }
            return;
        }
        told.echo = tcb.hears_echo(segment);
        if prior_out == 0 {
            self.begin_rates(tcb, now);
            if !opening {
                self.tell_of_marks(tcb, self.delivered - delivered, told.echo);
            }
            if told.duplicate_reported {
                self.alert(tcb, now, &mut told);
            }
            self.settle_tail_probe(tcb, now, &told, !segment.payload.is_empty() || news_of_window);
            return;
        }
        let (una, mark, sack) = (tcb.snd.una, self.packets.recover, tcb.marks.sack);
        let acked = self.packets.queue.acknowledge(una, mark, sack);
        self.take_arrivals(tcb, now, true);
        self.delivered += u64::from(acked.delivered);
        let (sampled, rtt) = self.sample_packets(tcb, arrival, &acked, &sacked);
        told.rtt = rtt;
        told.may_be_delayed = acked.acked == 1
            && prior_sacked == 0
            && !(told.sacked || told.duplicate_reported || acked.resent);
        told.original |= acked.original && (sack || !acked.resent);
        told.rearms = if acked.acked > 0 {
            self.settle_queue(tcb, &acked, prior_fack);
            true
        } else {
            // A report of data that left after the head: the timer does not run from then.
            let newer = |at: Instant| self.packets.queue.head().is_some_and(|head| head.at > at);
            sampled && sacked.times.is_some_and(|(first, _)| newer(first))
        };
        self.settle_rack();
        let arrived = self.delivered - delivered;
        self.tell_of_marks(tcb, arrived, told.echo);
        let not_dup = !segment.payload.is_empty() || news_of_window || acked.acked > 0;
        told.dupack = !(not_dup || told.advanced || told.duplicate_reported);
        self.settle_tail_probe(tcb, now, &told, not_dup);
        let mut resend = Resend::Nothing;
        if !not_dup || told.sacked || told.echo || self.packets.phase != Phase::Open {
            tcb.counters.dup_acks += u64::from(told.dupack);
            resend = self.alert(tcb, now, &mut told);
            // Without SACK what arrived shows only now.
            self.count_marks(tcb, self.delivered - delivered - arrived, told.echo);
        }
        if told.rearms && !self.schedule_tail_probe(tcb, now, true) {
            let was = tcb.timers.rexmt_for;
            self.rearm(tcb, now, was);
        }
        told.acked = acked.acked;
        told.delivered = (self.delivered - delivered) as u32;
        told.lost = (self.packets.queue.losses - losses) as u32;
        self.control_cwnd(tcb, now, &told);
        tcb.note_usual_rate(self.packets.queue.len());
        self.send_after_ack(tcb, now, &told, resend);
    }

    /// `tcp_sacktag_write_queue`.
    fn take_blocks(
        &mut self,
        tcb: &Tcb,
        now: Instant,
        segment: &TcpSegment,
        told: &mut Told,
    ) -> PacketReport {
        let Some(blocks) = Blocks::of(tcb, segment, told.prior_una).map(Blocks::in_order) else {
            return PacketReport::default();
        };
        if let Some(duplicate) = blocks.duplicate {
            self.take_duplicate(tcb, duplicate, told);
        }
        let news = self.packets.queue.report(blocks.valid(), tcb.snd.una, self.packets.recover);
        self.take_arrivals(tcb, now, false);
        self.delivered += u64::from(news.delivered);
        told.sacked |= news.sacked;
        told.original |= news.original;
        if let Some(low) = news.lowest {
            self.learn_reordering(tcb, low);
        }
        news
    }

    /// A duplicate that the peer reported; more of them than packets were sent again are not believed.
    fn take_duplicate(&mut self, tcb: &Tcb, (left, right): (SeqNumber, SeqNumber), told: &mut Told) {
        let segments = (right.diff(left) as u32).div_ceil(tcb.snd.mss).max(1);
        told.probe_reported = self.tail.is_probe(left, right, tcb.snd.mss);
        self.reported += u64::from(segments);
        if self.reported > self.resends {
            return;
        }
        told.duplicate_reported = true;
        self.delivered += u64::from(segments);
        if let Some(rack) = &mut self.rack {
            rack.note_duplicate(told.probe_reported);
        }
        let p = &mut self.packets;
        let Some(marker) = p.undo_marker else {
            p.queue.report_duplicate(left, right);
            return;
        };
        let mut less = 0;
        if p.undo_resent > 0 && right <= told.prior_una && right > marker {
            less = segments;
        }
        less += p.queue.report_duplicate(left, right);
        if p.undo_resent > 0 {
            p.undo_resent = (p.undo_resent - i64::from(less)).max(0);
        }
    }

    /// A sample from the times at which packets left, else from the echoed timestamp
    /// (`tcp_ack_update_rtt`). Whether there was one, and that of the last packet.
    fn sample_packets(
        &self,
        tcb: &mut Tcb,
        arrival: &Arrival<'_>,
        acked: &PacketReport,
        sacked: &PacketReport,
    ) -> (bool, Option<Duration>) {
        let &Arrival { now, segment, .. } = arrival;
        let (una, nxt) = (tcb.snd.una, tcb.snd.nxt);
        let micros = |from: Instant| Duration::from_micros(now.as_nanos() / 1_000 - from.as_nanos() / 1_000);
        let by_sequence = acked.times.filter(|_| !acked.resent);
        let mut last = by_sequence.map(|(_, last)| micros(last));
        let mut rtt = by_sequence.map(|(first, _)| micros(first));
        if let Some((first, newest)) = sacked.times {
            rtt = rtt.or(Some(micros(first)));
            last = Some(micros(newest));
        }
        if rtt.is_none() && acked.acked > 0 {
            rtt = tcb.rtt_by_echo(now, segment);
            last = rtt;
        }
        if let Some(rtt) = rtt {
            tcb.rtt.sample(rtt, una, nxt);
            tcb.note_rtt(last.unwrap_or(rtt));
        }
        let paced = tcb.pacing.is_some();
        tcb.congestion.note(&mut tcb.window, &Note::Sample { now, rtt: last, una, nxt, paced });
        (rtt.is_some(), last)
    }

    /// The end of `tcp_clean_rtx_queue`: duplicates are used up, reordering is noticed.
    fn settle_queue(&mut self, tcb: &Tcb, acked: &PacketReport, prior_fack: Option<SeqNumber>) {
        if !tcb.marks.sack {
            self.delivered += u64::from(self.packets.use_up_duplicates(acked.acked));
            self.limit_duplicates(tcb, acked.acked);
        } else if let (Some(low), Some(fack)) = (acked.lowest, prior_fack)
            && low < fack
        {
            self.learn_reordering(tcb, low);
        }
    }

    /// More duplicates than packets out tell of reordering, which is what they say.
    pub(super) fn limit_duplicates(&mut self, tcb: &Tcb, addend: u32) {
        if let Some(seen) = self.packets.limit_duplicates(addend) {
            self.packets.reordering = seen.min(tcb.profile.recovery.max_reordering);
        }
    }

    /// DCTCP counts what has arrived, and once a round trip looks at the share of marks (`tcp_in_ack_event`).
    fn tell_of_marks(&mut self, tcb: &mut Tcb, arrived: u64, echo: bool) {
        if !self.counts_marks {
            return;
        }
        self.count_marks(tcb, arrived, echo);
        let (una, nxt) = (tcb.snd.una, tcb.snd.nxt);
        if let Some(dctcp) = tcb.congestion.dctcp() {
            dctcp.update(una, nxt);
        }
    }

    fn count_marks(&self, tcb: &mut Tcb, arrived: u64, echo: bool) {
        if let Some(dctcp) = tcb.congestion.dctcp() {
            dctcp.count(arrived as u32, echo);
        }
    }

    /// `tcp_cong_control`: proportional rate reduction in recovery and CWR, growth outside them.
    fn control_cwnd(&mut self, tcb: &mut Tcb, now: Instant, told: &Told) {
        if self.rates.is_some() {
            self.control_by_model(tcb, now, told);
            return;
        }
        if self.packets.in_reduction() {
            self.reduce_cwnd(tcb, told.delivered, told.lost > 0, told.advanced);
            return;
        }
        let reordered = self.packets.reordering > tcb.dup_thresh();
        if told.acked > 0 || (reordered && told.sacked) {
            let info = Ack {
                acked: told.delivered.saturating_mul(tcb.window.mss),
                now,
                srtt: tcb.rtt.srtt(),
                in_flight: self.packets.in_flight() * tcb.window.mss,
                cwnd_limited: self.is_cwnd_limited(tcb),
                during: self.packets.phase.during(),
            };
            tcb.congestion.on_ack(&mut tcb.window, &info);
            self.limited.since = now; // whether or not cwnd has grown (`tcp_cong_avoid`)
        }
    }

    /// Proportional rate reduction (`tcp_cwnd_reduction`; RFC 6937 section 3): above ssthresh, as many leave
    /// as the ratio of the windows allows of those that arrived; below it, as many as arrived, and one more
    /// where una moved without a new loss.
    pub(super) fn reduce_cwnd(&mut self, tcb: &mut Tcb, delivered: u32, lost: bool, advanced: bool) {
        if delivered == 0 || self.rates.is_some() {
            return;
        }
        let in_flight = i64::from(self.packets.in_flight());
        let ssthresh = i64::from(tcb.window.threshold_packets());
        self.prr_delivered += delivered;
        let (arrived, out) = (i64::from(self.prr_delivered), i64::from(self.prr_out));
        let prior = i64::from(self.prior_cwnd.max(1));
        let delta = ssthresh - in_flight;
        let mut count = if delta < 0 {
            (ssthresh * arrived + prior - 1) / prior - out
        } else {
            let more = i64::from(advanced && !lost);
            delta.min((arrived - out).max(i64::from(delivered)) + more)
        };
        count = count.max(i64::from(self.prr_out == 0));
        tcb.window.set_packets((in_flight + count).max(0) as u32);
    }

    /// `tcp_xmit_recovery`, and in Disorder new data (RFC 3042), which cwnd allows because duplicates tell
    /// of packets that have left the network.
    fn send_after_ack(&mut self, tcb: &mut Tcb, now: Instant, told: &Told, resend: Resend) {
        match resend {
            Resend::Nothing => {}
            Resend::Lost => {
                // Without SACK a partial acknowledgment is why the next packet leaves again.
                let partial = self.packets.in_recovery() && !tcb.marks.sack && told.advanced;
                if partial && tcb.decision == Reason::New {
                    tcb.decision = Reason::PartialAck;
                }
                self.resend_lost(tcb, now);
            }
            Resend::New => {
                tcb.output(now, self);
                if tcb.snd.nxt <= self.packets.recover {
                    self.frto = false;
                    self.resend_lost(tcb, now);
                }
            }
        }
        // There may be no room for the segment that begins the recovery.
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
