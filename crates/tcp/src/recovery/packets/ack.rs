//! An acknowledgment, in the order of `tcp_ack`: the window, SACK blocks, what left the queue, a round-trip
//! time, the states, cwnd, and what is sent again.

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{News, Phase};
use crate::Connection;
use crate::congestion::{Ack, CongestionControl, Note};
use crate::connection::Timers;

/// What is known of an acknowledgment (the FLAG_ constants of tcp_input.c).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// una before it.
    pub prior_una: SeqNumber,
    /// una has moved.
    pub advanced: bool,
    /// New SACK reports.
    pub sacked: bool,
    /// It reports a duplicate (RFC 2883).
    pub duplicate_reported: bool,
    /// A packet that was sent once only, before the present episode, has arrived.
    pub original: bool,
    /// It is a duplicate acknowledgment (RFC 5681 section 2, by the kernel's marks).
    pub dupack: bool,
    /// A report goes beyond the mark of the present episode.
    pub beyond: bool,
    /// Packets that it acknowledged.
    pub acked: u32,
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

impl Connection {
    /// Takes an acknowledgment that is not above what was sent. `window` is its window in bytes.
    pub(crate) fn on_counted_ack(&mut self, now: Instant, segment: &TcpSegment, window: u32) {
        let mut told = Told { prior_una: self.snd.una, ..Told::default() };
        if let Some(stamps) = segment.timestamps.filter(|_| self.marks.timestamps) {
            self.packets.echo = (stamps.echo != 0).then_some(stamps.echo);
        }
        if !std::mem::replace(&mut self.marks.syn_acknowledged, true) {
            self.take_syn_acknowledged(now, segment);
            told.prior_una = self.snd.una;
        }
        told.advanced = segment.ack > self.snd.una;
        let delivered = self.packets.delivered;
        let losses = self.packets.queue.losses;
        let prior_fack = self.packets.queue.fack();
        let prior_out = self.packets.queue.len();
        let mut news_of_window = false;
        if segment.ack >= self.snd.una {
            news_of_window = self.advance_una(now, segment, window);
        }
        let sacked = self.take_blocks(segment, &mut told);
        if segment.ack < told.prior_una {
            // An old one: its reports may be news, and nothing else (`old_ack`).
            if !segment.sack.is_empty() && !self.halves_packets() {
                let resend = self.alert(now, &told);
                self.send_after_ack(now, &told, resend);
            }
            return;
        }
        if prior_out == 0 {
            if told.duplicate_reported && !self.halves_packets() {
                self.alert(now, &told);
            }
            return;
        }
        let prior_in_flight = self.packets.in_flight();
        let (una, mark, sack) = (self.snd.una, self.recovery.recover, self.marks.sack);
        let acked = self.packets.queue.acknowledge(una, mark, sack);
        let sampled = self.sample_packets(now, segment, (&acked, &sacked));
        self.packets.delivered += u64::from(acked.delivered);
        told.original |= acked.original && (sack || !acked.resent);
        let rearm = self.settle_queue(&acked, prior_fack, (sampled, &sacked));
        let not_dup = !segment.payload.is_empty() || news_of_window || acked.acked > 0;
        told.dupack = !(not_dup || told.advanced || told.duplicate_reported);
        told.acked = acked.acked;
        if self.halves_packets() {
            // A report of a duplicate is one for 2.6.
            told.dupack = !(not_dup || told.advanced);
            self.grow_before_alert(now, &told, prior_in_flight);
        }
        let mut resend = Resend::Nothing;
        if !not_dup || told.sacked || self.recovery.phase != Phase::Open {
            self.counters.dup_acks += u64::from(told.dupack);
            resend =
                if self.halves_packets() { self.alert_halving(now, &told) } else { self.alert(now, &told) };
        }
        if rearm {
            self.rearm_rexmt(now);
        }
        if !self.halves_packets() {
            let delivered = (self.packets.delivered - delivered) as u32;
            let lost = self.packets.queue.losses > losses;
            self.control_cwnd(now, (delivered, lost), acked.acked, &told);
        }
        self.send_after_ack(now, &told, resend);
    }

    /// Our SYN takes a number and no packet of the queue.
    fn take_syn_acknowledged(&mut self, now: Instant, segment: &TcpSegment) {
        self.sample_rtt(now, segment);
        self.snd.una = self.snd.iss + 1;
        self.recovery.recover = self.snd.una;
        self.timers.rexmt = Timers::OFF;
    }

    /// una, the send buffer and the peer's window move; true if the window was taken.
    fn advance_una(&mut self, now: Instant, segment: &TcpSegment, window: u32) -> bool {
        let acked = segment.ack.diff(self.snd.una) as u32;
        if acked > 0 {
            self.packets.timeouts = 0;
            self.take_acknowledged(acked, segment);
            self.snd.una = segment.ack;
            self.snd.nxt = self.snd.nxt.max(segment.ack);
            // Kept near, or they would seem to lie ahead after 2 GiB.
            self.snd.short_end = self.snd.short_end.max(segment.ack);
            if segment.ack.diff(self.recovery.recover) > 1 << 30 {
                self.recovery.recover = segment.ack;
            }
            self.after_our_fin(now, segment.ack);
            self.wake_writer();
        }
        self.update_window(segment, window)
    }

    /// `tcp_sacktag_write_queue`, with the duplicate's block first (`tcp_check_dsack`).
    fn take_blocks(&mut self, segment: &TcpSegment, told: &mut Told) -> News {
        if !self.marks.sack || segment.sack.is_empty() {
            return News::default();
        }
        let blocks = segment.sack.as_slice();
        let (una, max) = (told.prior_una, self.snd.max);
        let first = blocks[0];
        let inside = blocks.get(1).is_some_and(|b| b.0 <= first.0 && first.1 <= b.1);
        let mut rest = blocks;
        if first.0 < segment.ack || inside {
            rest = &blocks[1..];
            self.take_duplicate(first, told);
        }
        let valid = |b: &&(SeqNumber, SeqNumber)| b.0 < b.1 && b.1 <= max && b.1 > una;
        let mut fits = [(una, una); 4];
        let mut n = 0;
        for block in rest.iter().filter(valid).take(4) {
            fits[n] = *block;
            n += 1;
        }
        let news = self.packets.queue.report(&fits[..n], self.snd.una, self.recovery.recover);
        self.packets.delivered += u64::from(news.delivered);
        told.sacked |= news.sacked;
        told.original |= news.original;
        if self.halves_packets() {
            self.take_blocks_halving(&fits[..n], &news, told);
        } else if let Some(low) = news.lowest {
            self.learn_reordering(low);
        }
        news
    }

    /// A duplicate that the peer reported; more of them than packets were sent again are not believed.
    fn take_duplicate(&mut self, (left, right): (SeqNumber, SeqNumber), told: &mut Told) {
        if left >= right || right > self.snd.max {
            return;
        }
        if self.halves_packets() {
            self.take_duplicate_halving((left, right), told);
            return;
        }
        let p = &mut self.packets;
        let segments = (right.diff(left) as u32).div_ceil(self.snd.mss).max(1);
        p.reported += u64::from(segments);
        if p.reported > p.resends {
            return;
        }
        told.duplicate_reported = true;
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
    /// (`tcp_ack_update_rtt`). True if there was one.
    fn sample_packets(
        &mut self,
        now: Instant,
        segment: &TcpSegment,
        (acked, sacked): (&News, &News),
    ) -> bool {
        if self.halves_packets() {
            return self.sample_in_ticks(now, segment, acked);
        }
        let (una, nxt) = (self.snd.una, self.snd.nxt);
        let micros = |from: Instant| Duration::from_micros(now.as_nanos() / 1_000 - from.as_nanos() / 1_000);
        let by_sequence = acked.times.filter(|_| !acked.resent);
        let mut last = by_sequence.map(|(_, last)| micros(last));
        let mut rtt = by_sequence.map(|(first, _)| micros(first));
        if let Some((first, newest)) = sacked.times {
            rtt = rtt.or(Some(micros(first)));
            last = Some(micros(newest));
        }
        if rtt.is_none() && acked.acked > 0 {
            rtt = self.rtt_by_echo(now, segment);
            last = rtt;
        }
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt, una, nxt);
            self.packets.note_rtt(rtt);
        }
        self.congestion.note(&mut self.window, &Note::Sample { now, rtt: last, una, nxt });
        rtt.is_some()
    }

    /// Now less the echo, one unit at least.
    pub(super) fn rtt_by_echo(&self, now: Instant, segment: &TcpSegment) -> Option<Duration> {
        let stamps = segment.timestamps.filter(|t| self.marks.timestamps && t.echo != 0)?;
        let units = self.timestamp(now).wrapping_sub(stamps.echo);
        (units as i32 >= 0).then(|| self.profile.clock.timestamp_unit * u64::from(units.max(1)))
    }

    /// The end of `tcp_clean_rtx_queue`: duplicates are used up, reordering is noticed. True if the timer is
    /// to be started anew.
    fn settle_queue(
        &mut self,
        acked: &News,
        prior_fack: Option<SeqNumber>,
        (sampled, sacked): (bool, &News),
    ) -> bool {
        if acked.acked == 0 {
            // A report of data that left after the head: the timer does not run from then.
            let newer = |at: Instant| self.packets.queue.head().is_some_and(|head| head.at > at);
            return sampled && sacked.times.is_some_and(|(first, _)| newer(first));
        }
        if !self.marks.sack {
            self.use_up_duplicates(acked.acked);
        } else if let (Some(low), Some(fack), false) = (acked.lowest, prior_fack, self.halves_packets())
            && low < fack
        {
            self.learn_reordering(low);
        }
        true
    }

    /// `tcp_remove_reno_sacks`: one packet filled the hole, the others had made duplicates.
    fn use_up_duplicates(&mut self, acked: u32) {
        let p = &mut self.packets;
        p.delivered += u64::from(acked.saturating_sub(p.duplicates).max(1));
        p.duplicates = p.duplicates.saturating_sub(acked - 1);
        self.limit_duplicates(acked);
    }

    /// More duplicates than packets out tell of reordering (`tcp_check_reno_reordering`).
    pub(super) fn limit_duplicates(&mut self, addend: u32) {
        let p = &mut self.packets;
        let out = p.queue.len();
        let holes = p.queue.lost.max(1).min(out);
        if p.duplicates + holes > out {
            p.duplicates = out - holes;
            let seen = (out + addend).min(self.profile.recovery.max_reordering);
            if self.profile.recovery.sack == crate::profile::SackRecovery::Prr || seen > p.reordering {
                p.reordering = seen;
            }
        }
    }

    /// `tcp_rearm_rto`.
    fn rearm_rexmt(&mut self, now: Instant) {
        self.timers.rexmt = match self.packets.queue.len() {
            0 => Timers::OFF,
            _ => self.restarted_rexmt(now, self.snd.una),
        };
    }

    /// `tcp_cong_control`: proportional rate reduction in recovery, growth outside it.
    fn control_cwnd(&mut self, now: Instant, (delivered, lost): (u32, bool), acked: u32, told: &Told) {
        if self.in_recovery() {
            self.reduce_cwnd(delivered, lost, told.advanced);
            return;
        }
        let reordered = self.packets.reordering > self.profile.recovery.dupack_threshold;
        if acked > 0 || (reordered && told.sacked) {
            let info = Ack {
                acked: delivered.saturating_mul(self.window.mss),
                now,
                srtt: self.rtt.srtt(),
                in_flight: self.packets.in_flight() * self.window.mss,
                cwnd_limited: self.is_cwnd_limited(),
                during: self.recovery.phase.during(),
            };
            self.congestion.on_ack(&mut self.window, &info);
        }
    }

    /// Proportional rate reduction (`tcp_cwnd_reduction`; RFC 6937 section 3): above ssthresh, as many leave
    /// as the ratio of the windows allows of those that arrived; below it, as many as arrived, and one more
    /// where una moved without a new loss.
    fn reduce_cwnd(&mut self, delivered: u32, lost: bool, advanced: bool) {
        if delivered == 0 {
            return;
        }
        let in_flight = i64::from(self.packets.in_flight());
        let ssthresh = i64::from(self.ssthresh_packets());
        let p = &mut self.packets;
        p.prr_delivered += delivered;
        let (arrived, out) = (i64::from(p.prr_delivered), i64::from(p.prr_out));
        let prior = i64::from(p.prior_cwnd.max(1));
        let delta = ssthresh - in_flight;
        let mut count = if delta < 0 {
            (ssthresh * arrived + prior - 1) / prior - out
        } else {
            let more = i64::from(advanced && !lost);
            delta.min((arrived - out).max(i64::from(delivered)) + more)
        };
        count = count.max(i64::from(p.prr_out == 0));
        self.set_cwnd_packets((in_flight + count).max(0) as u32);
    }

    /// `tcp_xmit_recovery`, and in Disorder new data (RFC 3042), which cwnd allows because duplicates tell
    /// of packets that have left the network.
    fn send_after_ack(&mut self, now: Instant, told: &Told, resend: Resend) {
        match resend {
            Resend::Nothing => {}
            Resend::Lost => {
                self.name_resends(told.advanced);
                self.resend_lost(now);
                if self.halves_packets() {
                    self.resend_forward(now);
                }
            }
            Resend::New => {
                self.output(now);
                if self.snd.nxt <= self.recovery.recover {
                    self.packets.frto = false;
                    self.resend_lost(now);
                }
            }
        }
        // Rate halving may leave no room for the segment that begins the recovery.
        let waits = self.in_recovery() && matches!(self.recovery.decision, Reason::Fast { .. });
        if !waits {
            self.recovery.decision = Reason::New;
        }
        if self.recovery.phase == Phase::Disorder && (told.dupack || told.sacked) {
            self.recovery.decision = Reason::LimitedTransmit;
            self.output(now);
            self.recovery.decision = Reason::New;
        }
    }
}
