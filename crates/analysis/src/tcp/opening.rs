//! The opening of a connection: what it shows of the place of the capture.

use rexmit_units::Instant;
use rexmit_wire::{Flags, SeqNumber};

use crate::packet::Tcp;
use crate::rows::{Handshake, Vantage};

/// What was seen of SYN, SYN-ACK and the ACK that ends the opening.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Opening {
    syns: u32,
    syn_at: Instant,
    syn_acks: u32,
    syn_ack_at: Instant,
    syn_ack_seq: SeqNumber,
    server_rtt: Option<u64>,
    client_rtt: Option<u64>,
    /// The same where SYN or SYN-ACK were sent more than once: from the last one.
    loops: [Option<u64>; 2],
    repeated: bool,
    over: bool,
    fresh: bool,
}

/// Two ports of a tap show the same packet within that, nanoseconds.
const COPY: u64 = 1_000_000;

/// No host sends its SYN again sooner, nanoseconds.
const SOONEST: u64 = 100_000_000;

impl Opening {
    /// The client (`from` is 0) or the server sent `tcp`.
    pub(super) fn see(&mut self, now: Instant, from: usize, tcp: &Tcp) {
        if self.over {
            return;
        }
        let syn = tcp.flags.has(Flags::SYN);
        let last = if from == 0 { (self.syns, self.syn_at) } else { (self.syn_acks, self.syn_ack_at) };
        if syn && last.0 > 0 && now.saturating_since(last.1).as_nanos() <= COPY {
            return;
        }
        let ack = tcp.flags.has(Flags::ACK);
        match (from, syn, ack) {
            (0, true, false) => {
                self.syns += 1;
                self.repeated |= self.syns > 1 && now.saturating_since(self.syn_at).as_nanos() > SOONEST;
                self.syn_at = now;
            }
            (1, true, true) => {
                self.syn_acks += 1;
                self.syn_ack_at = now;
                self.syn_ack_seq = tcp.seq;
                if self.syns > 0 && self.syn_acks == 1 {
                    self.loops[1] = Some(now.saturating_since(self.syn_at).as_nanos());
                    self.fresh = true;
                }
                if (self.syns, self.syn_acks) == (1, 1) {
                    self.server_rtt = self.loops[1];
                }
            }
            (0, false, true) => {
                self.over = true;
                if self.syn_acks > 0 && tcp.ack == self.syn_ack_seq + 1 {
                    self.loops[0] = Some(now.saturating_since(self.syn_ack_at).as_nanos());
                    self.fresh = true;
                }
                if self.syn_acks == 1 {
                    self.client_rtt = self.loops[0];
                }
            }
            (1, false, _) => self.over = true,
            _ => {}
        }
    }

    /// From here to the client and back, and to the server and back, nanoseconds, and whether that is sure; if it has
    /// become known since the last call.
    pub(super) fn fresh_loops(&mut self) -> Option<([Option<u64>; 2], bool)> {
        let sure = self.client_rtt.is_some() && self.server_rtt.is_some();
        std::mem::take(&mut self.fresh).then_some((self.loops, sure))
    }

    /// The client sent its SYN again, and no tap showed it twice.
    pub(super) fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// For the row.
    pub(super) fn row(&self, fins: [bool; 2], reset: bool) -> Handshake {
        Handshake {
            syn: self.syns > 0,
            syn_ack: self.syn_acks > 0,
            fins: fins.iter().map(|&fin| u8::from(fin)).sum(),
            reset,
            server_rtt: self.server_rtt,
            client_rtt: self.client_rtt,
        }
    }

    /// Where the capture seems to have been made.
    pub(super) fn vantage(&self) -> Vantage {
        let client_share = match (self.client_rtt, self.server_rtt) {
            (Some(client), Some(server)) if client > 0 || server > 0 => {
                Some(client as f64 / (client as f64 + server as f64))
            }
            _ => None,
        };
        Vantage { client_share }
    }
}
