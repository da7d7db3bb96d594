//! What arrived: rules for whole packets (RFC 9260 section 8.5), then chunk by chunk.

use rexmit_stack::Event;
use rexmit_units::Instant;
use rexmit_wire::sctp::{self, Chunk, kind};

use super::handshake::Ends;
use super::output::Trigger;
use super::{Association, State};

/// Error cause: stale cookie (RFC 9260 section 3.3.10.3).
const STALE_COOKIE: u16 = 3;

/// A packet that has arrived, and what it has brought so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub ends: Ends,
    /// Its verification tag.
    pub tag: u32,
    /// DATA chunks, and how many of them for the first time.
    pub data: u32,
    pub new: u32,
    /// Its last DATA chunk had come before.
    pub last_again: bool,
    /// A SACK is due at once.
    pub at_once: bool,
}

impl Association {
    pub(super) fn on_packet(&mut self, now: Instant, ends: Ends, packet: sctp::Packet) {
        let ports = (packet.dst_port, packet.src_port);
        if ports != (self.local.port(), self.remote.port()) {
            self.faults.out_of_the_blue += 1;
            return;
        }
        if !self.is_for_us(ends, &packet) {
            return;
        }
        let mut seen = Arrival { ends, tag: packet.tag, data: 0, new: 0, last_again: false, at_once: false };
        for chunk in packet.chunks {
            if !self.on_chunk(now, chunk, &mut seen) {
                break;
            }
        }
        self.after_packet(now, &seen);
    }

    /// The verification tag, and packets that belong to no association (RFC 9260 sections 8.4 and 8.5).
    fn is_for_us(&mut self, ends: Ends, packet: &sctp::Packet) -> bool {
        if packet.chunks.iter().any(|chunk| matches!(chunk, Chunk::Init(_))) {
            let fits = packet.tag == 0 && packet.chunks.len() == 1;
            self.faults.bad_inits += u64::from(!fits);
            return fits;
        }
        // The cookie itself says which tag is right.
        if let Some(Chunk::CookieEcho(_)) = packet.chunks.first() {
            return true;
        }
        if self.state <= State::Listen {
            self.on_out_of_the_blue(ends, packet);
            return false;
        }
        let reflected = packet.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Abort { reflected, .. } | Chunk::ShutdownComplete { reflected } => Some(*reflected),
            _ => None,
        });
        if self.state <= State::CookieEchoed && matches!(packet.chunks.first(), Some(Chunk::ShutdownAck)) {
            // RFC 9260 section 8.5.1 E.
            self.on_out_of_the_blue(ends, packet);
            return false;
        }
        let expected = if reflected == Some(true) { self.peer.tag } else { self.tag };
        if packet.tag != expected || expected == 0 {
            self.faults.wrong_tags += 1;
            return false;
        }
        true
    }

    /// One chunk. False: the rest of the packet is not looked at.
    fn on_chunk(&mut self, now: Instant, chunk: Chunk, seen: &mut Arrival) -> bool {
        let ends = seen.ends;
        match chunk {
            Chunk::Data(data) => return self.on_data(&data, seen),
            Chunk::Sack(sack) => self.on_sack(now, ends.from, &sack),
            Chunk::Init(init) => self.on_init(now, ends, &init),
            Chunk::InitAck(init) => {
                self.on_init_ack(now, ends.from, &init);
                return false;
            }
            Chunk::CookieEcho(cookie) => return self.on_cookie_echo(now, ends, seen.tag, &cookie),
            Chunk::CookieAck => self.on_cookie_ack(now),
            Chunk::Heartbeat(info) => self.on_heartbeat(ends, info),
            Chunk::HeartbeatAck(info) => self.on_heartbeat_ack(now, ends.from, &info),
            Chunk::Abort { .. } => {
                self.on_abort();
                return false;
            }
            Chunk::Shutdown { cumulative } => self.on_shutdown(now, ends.from, cumulative),
            Chunk::ShutdownAck => self.on_shutdown_ack(ends.from),
            Chunk::ShutdownComplete { .. } => self.on_shutdown_complete(),
            Chunk::Error { causes } => self.on_error(now, &causes),
            Chunk::ForwardTsn { cumulative, skipped } => {
                let skipped = skipped.into_iter().map(|(stream, number)| (stream, false, u32::from(number)));
                self.on_forward_tsn(cumulative, skipped.collect(), false, seen);
            }
            Chunk::Other { kind, value, .. } => return self.on_other(now, kind, &value, seen),
        }
        self.state != State::Closed
    }

    fn on_other(&mut self, now: Instant, kind: u8, value: &[u8], seen: &mut Arrival) -> bool {
        match kind {
            kind::ERROR => {
                self.on_error(now, &causes(value));
                true
            }
            kind::I_FORWARD_TSN if self.peer.interleaving => self.on_i_forward_tsn(value, seen),
            // ECN is not offered, so these say nothing to RFC 9260's control.
            kind::ECNE => {
                self.on_marks(now, value);
                true
            }
            kind::CWR => true,
            kind if kind <= kind::SHUTDOWN_COMPLETE || kind == kind::I_DATA || kind == kind::FORWARD_TSN => {
                self.faults.malformed_chunks += 1;
                true
            }
            kind => self.on_unknown(seen.ends, kind, value),
        }
    }

    /// ABORT ends the association (RFC 9260 section 9.1).
    fn on_abort(&mut self) {
        self.enter_closed(Event::Reset);
    }

    fn on_error(&mut self, now: Instant, causes: &[u16]) {
        self.faults.errors += 1;
        if causes.contains(&STALE_COOKIE) {
            self.on_stale_cookie(now);
        }
    }

    /// What follows from the packet as a whole: SACKs and what may now be sent.
    fn after_packet(&mut self, now: Instant, seen: &Arrival) {
        if seen.data > 0 {
            self.after_data(now, seen);
        }
        if self.state.is_up() {
            self.flush(now, Trigger::Usual);
            self.go_on_shutting_down(now);
        }
    }
}

/// The codes of the causes of an ERROR that came as bytes.
fn causes(value: &[u8]) -> Vec<u16> {
    let mut codes = Vec::new();
    let mut rest = value;
    while let [a, b, c, d, ..] = rest {
        codes.push(u16::from_be_bytes([*a, *b]));
        let len = usize::from(u16::from_be_bytes([*c, *d])).max(4).next_multiple_of(4);
        rest = rest.get(len..).unwrap_or(&[]);
    }
    codes
}
