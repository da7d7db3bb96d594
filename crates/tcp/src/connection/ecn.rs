//! Explicit congestion notification at both ends (RFC 3168), with the choices of Linux 6.1: tcp_input.c and tcp_output.c, whose
//! `tcp_ecn_...` functions stand at their counterparts; LK-ECN-1 to LK-ECN-7, LK-DCTCP-3.
//!
//! What an echo does to the window is here for recoveries that count bytes; Linux's state CWR is in `recovery/linux_6_1`.
//!
//! Not modelled: a window of a single segment, for which RFC 3168 section 6.1.2 waits for the timer (no rule for the
//! threshold here goes below two); accurate ECN (RFC 9768), which neither Linux 6.1 nor 6.12 has.

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::{Flags, SeqNumber, TcpSegment};

use super::{State, Tcb, Timers};
use crate::profile::{AckPolicy, EcnMode};
use crate::recovery::{LossRecovery, Phase};

/// The two bits of ECN in an IP header (RFC 3168 section 5).
const FIELD: u8 = 0b11;
/// ECN-capable, as senders of RFC 3168 mark it.
const ECT_0: u8 = 0b10;
/// Congestion experienced.
const CE: u8 = 0b11;

/// What an end keeps of it; nothing, where it neither asks for ECN nor was asked.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ecn {
    /// Both ends have agreed (`TCP_ECN_OK`).
    agreed: bool,
    /// Control wants every packet to be ECN-capable, SYN and ACK too (`tcp_ca_needs_ecn`).
    always: bool,
    /// ECN field of the packet that is being looked at.
    field: u8,
    /// ECE leaves with each segment (`TCP_ECN_DEMAND_CWR`).
    echoing: bool,
    /// CWR leaves with the next new data (`TCP_ECN_QUEUE_CWR`).
    owes_cwr: bool,
    /// An ECN-capable segment of data has come (`TCP_ECN_SEEN`).
    seen: bool,
    /// The segment that is being looked at made the window grow.
    grew: bool,
    /// It ends the stream, so that an answer is expected (`tcp_fin`, which comes after what is done here).
    ends: bool,
    /// Sent when the window was last lowered: echoes up to there are of that round.
    lowered_at: Option<SeqNumber>,
    /// DCTCP's receiver: the last data carried a mark, and what was expected after them (`dctcp_ece_ack_update`).
    marked: bool,
    expected: SeqNumber,
}

impl Ecn {
    /// For an end of this profile; `always`: as DCTCP wants it.
    pub fn new(mode: EcnMode, always: bool) -> Option<Box<Self>> {
        (mode != EcnMode::Off || always).then(|| Box::new(Self { always, ..Self::default() }))
    }

    /// A packet with this type of service arrives.
    pub fn arrives(&mut self, tos: u8) {
        (self.field, self.grew, self.ends) = (tos & FIELD, false, false);
    }
}

impl Tcb {
    fn asks_for_ecn(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.always || self.profile.ecn.mode == EcnMode::On)
    }

    /// Flags of a SYN that asks for ECN (`tcp_ecn_send_syn`); one that is sent again may no longer ask
    /// (`tcp_ecn_clear_syn`).
    pub(super) fn syn_flags(&self) -> Flags {
        let again = self.snd.max != self.snd.iss;
        if !self.asks_for_ecn() || (again && self.profile.ecn.fallback) {
            return Flags::SYN;
        }
        Flags::SYN.with(Flags::ECE).with(Flags::CWR)
    }

    /// Flags of a SYN-ACK (`tcp_ecn_make_synack`).
    pub(super) fn syn_ack_flags(&self) -> Flags {
        let flags = Flags::SYN.with(Flags::ACK);
        if self.is_ecn_agreed() { flags.with(Flags::ECE) } else { flags }
    }

    /// The listener grants what a SYN asks for; one that is ECN-capable itself is a test of something else, except for
    /// DCTCP (`tcp_ecn_create_request`).
    pub(super) fn grant_ecn(&mut self, syn: &TcpSegment) {
        if let Some(ecn) = &mut self.ecn {
            let asked = syn.flags.has(Flags::ECE.with(Flags::CWR));
            ecn.agreed = asked && (ecn.always || ecn.field == 0);
        }
    }

    /// The opener reads the answer: a SYN-ACK, or the SYN of an end that opens at the same time (`tcp_ecn_rcv_synack`,
    /// `tcp_ecn_rcv_syn`).
    pub(super) fn read_ecn_answer(&mut self, answer: &TcpSegment) {
        let asked = self.asks_for_ecn();
        let flags = answer.flags;
        let granted = flags.has(Flags::ECE) && flags.has(Flags::CWR) != flags.has(Flags::ACK);
        if let Some(ecn) = &mut self.ecn {
            ecn.agreed = asked && granted;
        }
    }

    /// The handshake is over: an end without the other's consent forgets ECN, and DCTCP becomes Reno (`dctcp_init`).
    pub(super) fn settle_ecn(&mut self) {
        let Some(ecn) = &mut self.ecn else { return };
        if ecn.agreed {
            ecn.expected = self.rcv.nxt;
            return;
        }
        self.ecn = None;
        if let Some(dctcp) = self.congestion.dctcp() {
            dctcp.fall_back();
        }
    }

    #[inline]
    pub(crate) fn is_ecn_agreed(&self) -> bool {
        self.ecn.as_ref().is_some_and(|ecn| ecn.agreed)
    }

    /// Does this acknowledgment tell of a mark (`tcp_ecn_rcv_ecn_echo`)?
    #[inline]
    pub(crate) fn hears_echo(&self, segment: &TcpSegment) -> bool {
        self.is_ecn_agreed() && segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN)
    }

    /// The windows have been lowered, which the peer is to know (`tcp_ecn_queue_cwr`; RFC 3168 section 6.1.2).
    #[inline]
    pub(crate) fn owe_cwr(&mut self) {
        let sent = self.snd.max;
        if let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.agreed) {
            (ecn.owes_cwr, ecn.lowered_at) = (true, Some(sent));
        }
    }

    /// They have been raised again before it was told (`tcp_ecn_withdraw_cwr`).
    pub(crate) fn withdraw_cwr(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.owes_cwr = false;
        }
    }

    /// Marks a segment that is about to leave, and gives its type of service (`tcp_ecn_send`). `new`: it has data that have
    /// not left before, and is not a probe; neither ACKs nor retransmissions are ECN-capable.
    #[cold]
    pub(super) fn mark_segment(&mut self, segment: &mut TcpSegment, new: bool) -> u8 {
        let closed = self.state == State::Closed;
        let Some(ecn) = &mut self.ecn else { return 0 };
        if !segment.flags.has(Flags::SYN) && !closed && ecn.agreed {
            if new && std::mem::take(&mut ecn.owes_cwr) {
                segment.flags = segment.flags.with(Flags::CWR);
            }
            if ecn.echoing {
                segment.flags = segment.flags.with(Flags::ECE);
            }
        }
        if ecn.always || (new && ecn.agreed) { ECT_0 } else { 0 }
    }

    /// The peer has lowered its window: the echo ends, and data that say so are acknowledged at once (`tcp_ecn_accept_cwr`).
    /// An acknowledgment that was overtaken does not count.
    #[cold]
    pub(super) fn take_cwr(&mut self, segment: &TcpSegment) {
        if !segment.flags.has(Flags::CWR) || segment.ack < self.snd.una {
            return;
        }
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.agreed) else { return };
        ecn.echoing = false;
        self.marks.ack_now |= self.profile.ecn.cwr_answered && segment.seq_len() > 0;
    }

    /// The segment that arrives ends the stream.
    #[inline]
    pub(super) fn note_end_with_ecn(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.ends = true;
        }
    }

    /// Data that arrive made the window grow.
    #[inline]
    pub(super) fn note_growth_with_ecn(&mut self) {
        if let Some(ecn) = &mut self.ecn {
            ecn.grew = true;
        }
    }

    /// The ECN field of data that have arrived (`tcp_ecn_check_ce`). `next`: what is expected after them.
    #[cold]
    pub(super) fn take_mark(&mut self, now: Instant, next: SeqNumber) {
        let Some(ecn) = self.ecn.as_mut().filter(|ecn| ecn.agreed) else { return };
        let (field, after) = (ecn.field, (ecn.grew, ecn.ends));
        if field == 0 {
            // Likely a retransmission.
            if ecn.seen {
                self.hurry(after);
            }
            return;
        }
        ecn.seen = true;
        if ecn.always {
            self.follow_mark(now, field == CE, next);
        } else if field == CE && !std::mem::replace(&mut ecn.echoing, true) {
            // The sender's window may be small by now.
            self.hurry(after);
        }
    }

    /// A few ACKs leave at once (`tcp_enter_quickack_mode`). What comes after it in the kernel holds on: the window `grew`, the
    /// stream `ends`.
    fn hurry(&mut self, (grew, ends): (bool, bool)) {
        let most = self.profile.ecn.quick_acks;
        if most == 0 || self.profile.delayed_ack.policy != AckPolicy::QuickAck {
            return;
        }
        let window = self.last_window();
        self.rcv.quick.hurry(&self.profile.delayed_ack, most, window);
        if grew {
            self.rcv.quick.on_window_growth();
        }
        if ends {
            self.rcv.quick.on_fin();
        }
    }

    /// DCTCP: each ACK says whether what it acknowledges was marked (RFC 8257 section 3.2; `dctcp_ece_ack_update`). Where
    /// that changes, what waits is acknowledged as it was, and the segment at once.
    fn follow_mark(&mut self, now: Instant, marked: bool, next: SeqNumber) {
        let waits = self.timers.delack != Timers::OFF;
        let Some(ecn) = &mut self.ecn else { return };
        let (before, expected) = (ecn.marked, ecn.expected);
        if before != marked {
            if waits {
                ecn.echoing = before;
                self.acknowledge_as_expected(now, expected, next);
            }
            self.marks.ack_now = true;
        }
        if let Some(ecn) = &mut self.ecn {
            (ecn.marked, ecn.expected, ecn.echoing) = (marked, next, marked);
        }
    }

    /// An ACK up to `expected`, with the window of one up to `next` (`__tcp_send_ack`). Where both are the same it is the ACK
    /// that was owed.
    fn acknowledge_as_expected(&mut self, now: Instant, expected: SeqNumber, next: SeqNumber) {
        let nxt = std::mem::replace(&mut self.rcv.nxt, next);
        let window = self.advertised_window();
        let mut segment = self.segment(now, self.snd.max, (0, false), window);
        self.rcv.nxt = nxt;
        segment.sack = self.sack_option();
        segment.ack = expected;
        self.count(0, false);
        if expected == next {
            let window = self.advertised_window();
            self.after_ack_sent(segment.window, window);
        } else {
            self.rcv.compressed.on_ack_sent();
            self.timers.compressed = Timers::OFF;
        }
        self.emit(Reason::Ack, segment);
    }

    /// An echo to a sender whose recovery counts bytes: the windows as after a loss, once for what was out, and no growth
    /// (RFC 3168 section 6.1.2). `before`: cwnd before the acknowledgment was taken, and bytes in flight.
    #[cold]
    pub(super) fn react_to_echo<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        (cwnd, in_flight): (u32, u32),
        recovery: &R,
    ) {
        if !matches!(recovery.status().phase, Phase::Open | Phase::Disorder) {
            return; // Lowered already, for a loss.
        }
        let una = self.snd.una;
        let fresh = self.ecn.as_ref().is_some_and(|ecn| ecn.lowered_at.is_none_or(|mark| una > mark));
        if self.by_rate.is_some() {
            // The controller has heard it, and lowers what it will.
            if fresh {
                self.owe_cwr();
            }
            return;
        }
        self.window.cwnd = self.window.cwnd.min(cwnd);
        if fresh {
            self.lower_ssthresh(now, in_flight);
            self.window.cwnd = self.window.cwnd.min(self.window.ssthresh);
        }
    }
}
