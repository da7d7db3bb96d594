//! Why smoltcp sent a packet: its log, laid beside the packets in the order in which its code wrote both.
//!
//! smoltcp 0.14 repairs in two ways, both in `Socket::dispatch`, and logs each just before the packet of the same call:
//!
//! - "retransmitting after rto": it sets its next sequence number back to the first byte that is not acknowledged, and
//!   sends on from there as if nothing of it had been sent;
//! - "retransmitting for fast-retransmit": it sends the first segment that is not acknowledged, and no other. It has no
//!   recovery after that: neither a partial ACK nor a SACK block makes it send anything.
//!
//! Nothing else moves the next sequence number back. So a segment below the highest number that was sent is the fast
//! retransmit if that line came since the packet before, the timeout's if it is the first one after the other line, and
//! else one that follows the timeout. A closed window holds either back after its line was logged: it is then the next
//! packet but a probe, whenever that leaves. [`Truth::sending`] panics if a segment is sent again without a line: a
//! release of smoltcp that does otherwise cannot be taken for this one.

use rexmit_wire::{Flags, TcpSegment};

use super::log::Line;
use crate::host::{Sending, Why};
use crate::numbers::{Numbered, Numbers};

/// What one sender has said and sent so far.
#[derive(Debug, Default)]
pub struct Truth {
    numbers: Numbers,
    /// The timer has expired at least once; true if nothing has left since.
    expired: Option<bool>,
    /// A fast retransmit is about to leave.
    fast: bool,
}

impl Truth {
    /// What the packet is that leaves after `lines` were logged; the sender has sent all packets before that were given
    /// here.
    pub fn sending(&mut self, lines: &[Line], segment: &TcpSegment) -> Sending {
        let probe = lines.contains(&Line::Probe);
        self.note(lines);
        let fast = !probe && std::mem::take(&mut self.fast);
        match self.numbers.take(segment, probe) {
            Numbered::New => return Sending::New,
            Numbered::AroundProbe => return Sending::AroundProbe,
            Numbered::ProbedAgain => return Sending::Again(Why::Probe),
            Numbered::Again => {}
        }
        if fast {
            return Sending::Again(Why::Fast);
        }
        let first = self.expired.replace(false).expect("a retransmission is logged before it leaves");
        Sending::Again(match first {
            _ if segment.flags.has(Flags::SYN.with(Flags::ACK)) => Why::SynAck,
            _ if segment.flags.has(Flags::SYN) => Why::Syn,
            true => Why::Timeout,
            false => Why::GoBackN,
        })
    }

    /// Takes what was logged of packets that are still to leave.
    pub fn note(&mut self, lines: &[Line]) {
        for line in lines {
            match line {
                Line::AfterRto => self.expired = Some(true),
                Line::FastRetransmit => self.fast = true,
                Line::Probe => {}
            }
        }
    }
}
