//! Packets out of the blue (RFC 9260 section 8.4) and chunks of unknown types (section 3.2).

use rexmit_stack::Reason;
use rexmit_wire::sctp::{self, Chunk, kind};

use super::Association;
use super::handshake::Ends;

/// Error cause: unrecognised chunk type.
const UNRECOGNISED_CHUNK: u16 = 6;
/// Error cause: stale cookie.
const STALE_COOKIE: u16 = 3;

impl Association {
    /// A packet that belongs to no association.
    pub(super) fn on_out_of_the_blue(&mut self, ends: Ends, packet: &sctp::Packet) {
        self.faults.out_of_the_blue += 1;
        let silent = packet.chunks.iter().any(|chunk| match chunk {
            // Items 2, 6 and 7.
            Chunk::Abort { .. } | Chunk::ShutdownComplete { .. } | Chunk::CookieAck => true,
            Chunk::Error { causes } => causes.contains(&STALE_COOKIE),
            Chunk::Other { kind: kind::ERROR, .. } => true,
            _ => false,
        });
        if silent || packet.chunks.is_empty() {
            return;
        }
        // Item 5.
        if matches!(packet.chunks.first(), Some(Chunk::ShutdownAck)) {
            let chunk = Chunk::ShutdownComplete { reflected: true };
            self.answer(Reason::Control { backoff: 0 }, ends, packet.tag, chunk);
            return;
        }
        // Item 8.
        self.answer(Reason::Reset, ends, packet.tag, Chunk::Abort { reflected: true, causes: Vec::new() });
    }

    /// An INIT or cookie for an association that is over: ABORT (RFC 9260 section 8.4 items 3 and 4).
    pub(super) fn out_of_the_blue(&mut self, ends: Ends, tag: u32) {
        self.faults.out_of_the_blue += 1;
        self.answer(Reason::Reset, ends, tag, Chunk::Abort { reflected: false, causes: Vec::new() });
    }

    fn answer(&mut self, reason: Reason, ends: Ends, tag: u32, chunk: Chunk) {
        self.counters.pure_acks += 1;
        self.emit_to(reason, ends.back(), tag, vec![chunk]);
    }

    /// A chunk of unknown type: its high bits say whether the rest is looked at, and whether an ERROR tells the peer.
    pub(super) fn on_unknown(&mut self, ends: Ends, kind: u8, value: &[u8]) -> bool {
        self.faults.unknown_chunks += 1;
        if kind & 0x40 != 0 && self.peer.tag != 0 {
            let most = (self.mtu as usize).saturating_sub(64);
            let len = (4 + value.len()).min(most);
            let mut cause = UNRECOGNISED_CHUNK.to_be_bytes().to_vec();
            cause.extend((4 + len as u16).to_be_bytes());
            cause.extend([kind, 0]);
            cause.extend((4 + value.len() as u16).to_be_bytes());
            cause.extend(&value[..len - 4]);
            let chunk = Chunk::Other { kind: kind::ERROR, flags: 0, value: cause.into() };
            self.answer(Reason::Control { backoff: 0 }, ends, self.peer.tag, chunk);
        }
        kind & 0x80 != 0
    }
}
