//! Probes for a lost tail (RFC 8985 section 7).
//!
//! Not modelled: RACK, which finds what the report on a probe shows. Here that is the business of the usual rules:
//! the threshold of duplicates, FACK, early retransmit.

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{SeqNumber, TcpSegment};

use super::{Permit, Phase};
use crate::Connection;
use crate::congestion::{CongestionControl, Loss};
use crate::connection::Timers;

/// What a receiver may wait with the ACK of a single segment (TLP.max_ack_delay).
const ACK_DELAY: Duration = Duration::from_millis(200);
/// Before there is a round-trip time.
const UNKNOWN: Duration = Duration::from_millis(1_000);

/// A probe that has left and is not settled.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Probe {
    /// One past all that was sent (TLP.end_seq).
    end: SeqNumber,
    /// It repeated the last segment (TLP.is_retrans).
    again: bool,
}

impl Connection {
    /// After new data have left, or an ACK of new data: a probe is due after two round trips of silence (section 7.2).
    pub(crate) fn schedule_probe(&mut self, now: Instant) {
        if !self.profile.recovery.tail_probe {
            return;
        }
        let out = self.segments_out();
        if !self.marks.sack || self.recovery.phase != Phase::Open || out == 0 || self.recovery.probe.is_some()
        {
            self.timers.probe = Timers::OFF;
            return;
        }
        let mut wait = self.rtt.srtt().map_or(UNKNOWN, |srtt| srtt * 2);
        if out == 1 {
            wait += ACK_DELAY;
        }
        // No later than the timer, in whose place it then leaves; the timer runs anew from there.
        self.timers.probe = self.clock.deadline(now, wait).min(self.timers.rexmt);
    }

    /// Section 7.3: new data if there are any and the peer's window has room, else the last segment.
    pub(crate) fn on_probe_timer(&mut self, now: Instant) {
        let Some(last) = self.outstanding_segments.last().filter(|s| s.end > self.snd.una) else { return };
        let max = self.snd.max;
        self.recovery.decision = Reason::TailProbe;
        let waiting = i64::from(self.buffer.len()) - self.off();
        if waiting > 0 && i64::from(self.snd.wnd) > self.off() && self.snd.nxt == max {
            self.marks.probing = true;
            self.output(now);
            self.marks.probing = false;
        }
        let again = self.snd.max == max;
        if again {
            self.resend_last(now, (last.start, last.end));
        }
        self.recovery.decision = Reason::New;
        self.recovery.probe = Some(Probe { end: self.snd.max, again });
        self.timers.probe = Timers::OFF;
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
    }

    fn resend_last(&mut self, now: Instant, (start, end): (SeqNumber, SeqNumber)) {
        if self.counts_packets() {
            self.resend_last_packet(now);
        } else {
            let start = start.max(self.snd.una);
            self.send_hole(now, start, end.diff(start) as u32);
        }
    }

    /// While a probe is to leave, one segment of new data may, whatever cwnd.
    pub(crate) fn permit_probe(&self) -> Permit {
        let waiting = i64::from(self.buffer.len().min(self.snd.wnd)) - self.off();
        let sent = self.recovery.decision != Reason::TailProbe;
        Permit::Next { len: if sent { 0 } else { waiting.clamp(0, i64::from(self.snd.mss)) } }
    }

    /// An ACK has been taken (section 7.4): a probe that was needed had repaired a loss, which lowers the window once.
    pub(crate) fn settle_probe(&mut self, now: Instant, segment: &TcpSegment, advanced: bool) {
        let Some(probe) = self.recovery.probe else { return };
        if matches!(self.recovery.phase, Phase::Recovery | Phase::Loss) {
            self.recovery.probe = None;
            return;
        }
        if segment.ack < probe.end {
            return;
        }
        let blocks = segment.sack.as_slice();
        let reported = blocks.first().is_some_and(|b| b.0 < segment.ack);
        let bare = !advanced && segment.ack == probe.end && blocks.is_empty();
        if probe.again && !reported && !bare {
            if segment.ack == probe.end {
                return; // The original may have arrived as well.
            }
            let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
            self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
        self.recovery.probe = None;
    }
}
