//! Why netstack sent a packet: the function of its sender that handed the packet over.
//!
//! `foreign/gvisor` looks at netstack's own stack of calls as a packet leaves, and at its counters. In netstack:
//!
//! - `retransmitTimerExpired` goes back to the first byte that is not acknowledged, sends the first segment, and leaves
//!   the rest to `sendData`, which is called when the window allows more. Nothing else makes `sendData` go back;
//! - `resendSegment` sends that first segment as a recovery begins (the counter of recoveries moves), or, without SACK,
//!   at a partial ACK. With RACK such a recovery begins also while what the timer went back to is being sent again;
//! - `rackControl.DoRecovery` and `sackRecovery.handleSACKRecovery` send what else is lost, in a recovery with SACK;
//! - `probeTimerExpired` sends new data, or the last segment again: a tail loss probe;
//! - `sendZeroWindowProbe` sends a byte that was acknowledged long ago.
//!
//! [`Truth::sending`] panics where a segment repeats something and its function does not say so, or the other way round:
//! a release of netstack that does otherwise cannot be taken for this one.

use rexmit_wire::{Flags, SeqNumber, TcpSegment};

use crate::host::{Sending, Why};

/// What sends a packet, as `foreign/gvisor/origin.go` numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    Window,
    HandshakeTimer,
    Timeout,
    WindowProbe,
    TailProbe,
    First,
    Recovery,
}

/// What is known of a packet as it leaves.
#[derive(Clone, Copy, Debug)]
pub struct Note {
    origin: Origin,
    /// netstack counts it as a retransmission.
    retransmitted: bool,
    /// A recovery has begun since the packet before.
    recovery_began: bool,
    /// The retransmission timer has expired since the packet before.
    expired: bool,
}

impl Note {
    /// As `foreign/gvisor/main.go` writes it.
    pub fn read([origin, retransmitted, recovery_began, expired]: [u8; 4]) -> Self {
        use Origin::{First, HandshakeTimer, Recovery, TailProbe, Timeout, Window, WindowProbe};
        let all = [Window, HandshakeTimer, Timeout, WindowProbe, TailProbe, First, Recovery];
        let flag = |byte| byte != 0;
        Self {
            origin: all[usize::from(origin)],
            retransmitted: flag(retransmitted),
            recovery_began: flag(recovery_began),
            expired: flag(expired),
        }
    }
}

/// What one host has sent so far.
#[derive(Debug, Default)]
pub struct Truth {
    /// One past the highest number sent.
    edge: Option<SeqNumber>,
    /// What was outstanding when the timer last expired went as far as this.
    expired_to: Option<SeqNumber>,
}

impl Truth {
    /// What the packet is that leaves with this note; the host has sent all packets before that were given here.
    pub fn sending(&mut self, note: Note, segment: &TcpSegment) -> Sending {
        if note.expired {
            self.expired_to = self.edge;
        }
        let control = [Flags::SYN, Flags::FIN].map(|flag| u32::from(segment.flags.has(flag)));
        let len = segment.payload.len() + control[0] + control[1];
        if len == 0 {
            assert!(!note.retransmitted, "nothing is repeated by {note:?}");
            return Sending::New;
        }
        let edge = *self.edge.get_or_insert(segment.seq);
        self.edge = Some(edge.max(segment.seq + len));
        let again = segment.seq < edge;
        let uncounted = matches!(note.origin, Origin::HandshakeTimer | Origin::WindowProbe);
        assert_eq!(again, note.retransmitted || uncounted, "{note:?} of {segment:?}");
        if !again {
            return Sending::New;
        }
        Sending::Again(match note.origin {
            Origin::HandshakeTimer if segment.flags.has(Flags::ACK) => Why::SynAck,
            Origin::HandshakeTimer => Why::Syn,
            Origin::Timeout => Why::Timeout,
            Origin::WindowProbe => Why::Probe,
            Origin::TailProbe => Why::TailProbe,
            Origin::First if note.recovery_began => {
                let in_loss = self.expired_to.is_some_and(|to| segment.seq < to);
                if in_loss { Why::FastInLoss } else { Why::FastByRack }
            }
            Origin::First => Why::PartialAck,
            Origin::Recovery => Why::SackRecovery,
            Origin::Window if self.expired_to.is_some() => Why::GoBackN,
            Origin::Window => panic!("only a timeout makes it go back: {segment:?}"),
        })
    }
}
