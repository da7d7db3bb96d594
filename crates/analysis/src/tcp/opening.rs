//! The opening of a connection: what it shows of the place of the capture.

use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, SeqNumber};

use crate::core::policy::TcpCopies;
use crate::core::side::{SideName, Sides};
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
    server_rtt: Option<Duration>,
    client_rtt: Option<Duration>,
    /// The same where SYN or SYN-ACK were sent more than once: from the last one.
    loops: Sides<Option<Duration>>,
    repeated: bool,
    over: bool,
    fresh: bool,
}

impl Opening {
    /// `from` sent `tcp`.
    pub(super) fn see(&mut self, now: Instant, from: SideName, tcp: &Tcp, policy: &TcpCopies) {
        if self.over {
            return;
        }
        let syn = tcp.flags.has(Flags::SYN);
        let (times, last) = match from {
            SideName::Client => (self.syns, self.syn_at),
            SideName::Server => (self.syn_acks, self.syn_ack_at),
        };
        if syn && times > 0 && now.saturating_since(last) <= policy.tap {
            return;
        }
        let ack = tcp.flags.has(Flags::ACK);
        match (from, syn, ack) {
            (SideName::Client, true, false) => {
                self.syns += 1;
                self.repeated |= self.syns > 1 && now.saturating_since(self.syn_at) > policy.syn_again;
                self.syn_at = now;
            }
            (SideName::Server, true, true) => {
                self.syn_acks += 1;
                self.syn_ack_at = now;
                self.syn_ack_seq = tcp.seq;
                if self.syns > 0 && self.syn_acks == 1 {
                    self.loops.server = Some(now.saturating_since(self.syn_at));
                    self.fresh = true;
                }
                if (self.syns, self.syn_acks) == (1, 1) {
                    self.server_rtt = self.loops.server;
                }
            }
            (SideName::Client, false, true) => {
                self.over = true;
                if self.syn_acks > 0 && tcp.ack == self.syn_ack_seq + 1 {
                    self.loops.client = Some(now.saturating_since(self.syn_ack_at));
                    self.fresh = true;
                }
                if self.syn_acks == 1 {
                    self.client_rtt = self.loops.client;
                }
            }
            (SideName::Server, false, _) => self.over = true,
            _ => {}
        }
    }

    /// From here to each side and back, and whether that is sure; if it has become known since the last call.
    pub(super) fn fresh_loops(&mut self) -> Option<(Sides<Option<Duration>>, bool)> {
        let sure = self.client_rtt.is_some() && self.server_rtt.is_some();
        std::mem::take(&mut self.fresh).then_some((self.loops, sure))
    }

    /// The client sent its SYN again, and no tap showed it twice.
    pub(super) fn is_repeated(&self) -> bool {
        self.repeated
    }

    /// For the row.
    pub(super) fn row(&self, fins: Sides<bool>, reset: bool) -> Handshake {
        Handshake {
            syn: self.syns > 0,
            syn_ack: self.syn_acks > 0,
            fins: fins.iter().map(|&fin| u8::from(fin)).sum(),
            reset,
            server_rtt: self.server_rtt.map(Duration::as_nanos),
            client_rtt: self.client_rtt.map(Duration::as_nanos),
        }
    }

    /// Where the capture seems to have been made.
    pub(super) fn vantage(&self) -> Vantage {
        let client_share = match (self.client_rtt, self.server_rtt) {
            (Some(client), Some(server)) if !(client + server).is_zero() => {
                let [client, server] = [client, server].map(|time| time.as_nanos() as f64);
                Some(client / (client + server))
            }
            _ => None,
        };
        Vantage { client_share }
    }
}
