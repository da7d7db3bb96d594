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
    over: bool,
    fresh: bool,
}

impl Opening {
    /// The client (`from` is 0) or the server sent `tcp`.
    pub(super) fn see(&mut self, now: Instant, from: usize, tcp: &Tcp) {
        if self.over {
            return;
        }
        let syn = tcp.flags.has(Flags::SYN);
        let ack = tcp.flags.has(Flags::ACK);
        match (from, syn, ack) {
            (0, true, false) => {
                self.syns += 1;
                self.syn_at = now;
            }
            (1, true, true) => {
                self.syn_acks += 1;
                self.syn_ack_at = now;
                self.syn_ack_seq = tcp.seq;
                if (self.syns, self.syn_acks) == (1, 1) {
                    self.server_rtt = Some(now.saturating_since(self.syn_at).as_nanos());
                    self.fresh = true;
                }
            }
            (0, false, true) => {
                self.over = true;
                if self.syn_acks == 1 && tcp.ack == self.syn_ack_seq + 1 {
                    self.client_rtt = Some(now.saturating_since(self.syn_ack_at).as_nanos());
                    self.fresh = true;
                }
            }
            (1, false, _) => self.over = true,
            _ => {}
        }
    }

    /// From here to the client and back, and to the server and back, nanoseconds, if that has become known since the
    /// last call.
    pub(super) fn fresh_loops(&mut self) -> Option<(Option<u64>, Option<u64>)> {
        std::mem::take(&mut self.fresh).then_some((self.client_rtt, self.server_rtt))
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
            (Some(client), Some(server)) if client + server > 0 => {
                Some(client as f64 / (client + server) as f64)
            }
            _ => None,
        };
        Vantage { client_share }
    }
}
