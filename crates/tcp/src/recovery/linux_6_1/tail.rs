//! Probes for a lost tail (RFC 8985 section 7): `tcp_schedule_loss_probe`, `tcp_send_loss_probe`, `tcp_process_tlp_ack`
//! (LK-TLP-1 to LK-TLP-3).

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::ack::Told;
use super::rack::LEAST_WAIT;
use super::{Linux61, Phase};
use crate::connection::device::Push;
use crate::connection::{RexmtFor, Tcb};

/// How long a receiver may wait with the acknowledgment of a single packet (`tcp_rto_min`).
const ACK_DELAY: Duration = Duration::from_millis(200);
/// Before there is a round trip (`TCP_TIMEOUT_INIT`).
const UNKNOWN: Duration = Duration::from_secs(1);

/// The probe that is out, if one is.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    /// One past all that was sent when it left (`tlp_high_seq`).
    end: Option<SeqNumber>,
    /// It was the last packet once more (`tlp_retrans`).
    again: bool,
}

impl Tail {
    /// A recovery has begun, which repairs what the probe was for.
    pub fn forget(&mut self) {
        self.end = None;
    }

    /// Whether `[left, right)` is the probe (`tcp_dsack_seen`).
    pub fn is_probe(&self, left: SeqNumber, right: SeqNumber, mss: u32) -> bool {
        self.end == Some(right) && right.diff(left) as u32 <= mss
    }
}

impl Linux61 {
    /// After data have left, or an acknowledgment of data (`advancing`): a probe is due after two round trips of silence, no
    /// later than the timeout. True if the timer was set for one.
    pub(super) fn schedule_tail_probe(&mut self, tcb: &mut Tcb, now: Instant, advancing: bool) -> bool {
        let out = self.packets.queue.len();
        let wanted = tcb.profile.recovery.tail_probe && tcb.marks.sack;
        if !wanted || out == 0 || !matches!(self.packets.phase, Phase::Open | Phase::Cwr) {
            return false;
        }
        let mut wait = match tcb.rtt.srtt() {
            Some(srtt) => {
                let twice = Duration::from_micros(srtt.as_nanos() * 2 / 1_000);
                twice + if out == 1 { ACK_DELAY } else { LEAST_WAIT }
            }
            None => UNKNOWN,
        };
        let rto = if advancing { tcb.rtt.rto() } else { micros(self.left_of_rto(tcb, now)) };
        if rto > Duration::ZERO {
            wait = wait.min(rto);
        }
        self.set_timer(tcb, now, RexmtFor::Probe, wait);
        true
    }

    /// The timer of the probe has expired: a packet of new data leaves, or else the last one again.
    pub(super) fn on_probe_timer(&mut self, tcb: &mut Tcb, now: Instant) {
        tcb.timers.rexmt = now; // It is pending until it is set for something else.
        if self.tail.end.is_some() {
            self.rearm(tcb, now, RexmtFor::Probe);
            return;
        }
        self.tail.again = false;
        tcb.decision = Reason::TailProbe;
        let out = self.packets.queue.len();
        let mut left = false;
        if self.may_push(tcb) {
            tcb.push(now, Push::Probe, self);
            left = self.packets.queue.len() > out;
        } else if let Some(last) = self.packets.queue.last().copied() {
            let start = last.start.max(tcb.snd.una);
            self.note_resend(tcb);
            tcb.begin_packet(true);
            tcb.send_as_it_was(now, start, last.end, self);
            self.packets.queue.probe_last(tcb.left_at(now));
            (self.tail.again, left) = (true, true);
        }
        tcb.decision = Reason::New;
        if left {
            self.tail.end = Some(tcb.snd.nxt);
            self.rearm(tcb, now, RexmtFor::Retransmission);
        } else {
            self.rearm(tcb, now, RexmtFor::Probe);
        }
    }

    /// New data wait, and the peer's window has room for a segment of them.
    fn may_push(&self, tcb: &Tcb) -> bool {
        let waiting = i64::from(tcb.buffer.len()) - tcb.off();
        let room = i64::from(tcb.snd.wnd) - tcb.off();
        waiting > 0 && room >= waiting.min(tcb.snd.mss.into())
    }

    /// An acknowledgment after a probe: what it repaired was a loss, which lowers the windows once.
    pub(super) fn settle_tail_probe(&mut self, tcb: &mut Tcb, now: Instant, told: &Told, not_dup: bool) {
        let Some(end) = self.tail.end.filter(|end| told.ack >= *end) else { return };
        let bare = !(told.advanced || not_dup || told.sacked);
        if !self.tail.again || told.probe_reported {
            self.tail.end = None;
        } else if told.ack > end {
            self.begin_reduction(tcb, now);
            self.take_ssthresh(tcb, now);
            self.keep_open(tcb);
        } else if bare {
            self.tail.end = None;
        }
    }
}

/// Microseconds, of which there may be none left.
fn micros(left: i64) -> Duration {
    Duration::from_micros(left.max(0) as u64)
}
