//! Heartbeats (RFC 9260 sections 8.3 and 5.4).

use std::net::IpAddr;

use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::Chunk;

use super::handshake::Ends;
use super::{Association, OFF};
use crate::mac::mac;

impl Association {
    /// The association stands: addresses that are not confirmed are probed at once, the others once they are idle.
    pub(super) fn begin_heartbeats(&mut self, now: Instant) {
        for path in 0..self.paths.len() {
            let wait = if self.paths[path].confirmed { self.heartbeat_wait(path) } else { Duration::ZERO };
            let probed = self.profile.heartbeat.enabled || !self.paths[path].confirmed;
            self.paths[path].heartbeat_due = if probed { self.clock.deadline(now, wait) } else { OFF };
        }
    }

    /// The interval and the timeout, which varies by half of itself.
    fn heartbeat_wait(&self, path: usize) -> Duration {
        let rto = self.paths[path].rto.get();
        let vary = if self.profile.heartbeat.jitter {
            let text = [self.counters.packets.to_be_bytes(), (path as u64).to_be_bytes()].concat();
            let half = rto.as_nanos() / 2;
            Duration::from_nanos(half + mac(self.secret, &text) % (2 * half + 1))
        } else {
            rto
        };
        let path = &self.paths[path];
        // An address that nobody has confirmed is probed each timeout.
        if path.confirmed { self.profile.heartbeat.interval + vary } else { rto }
    }

    /// A path may have been idle for long enough.
    pub(super) fn on_heartbeat_due(&mut self, now: Instant, path: usize) {
        self.paths[path].heartbeat_due = OFF;
        if !self.state.is_up() {
            return;
        }
        let wait = self.heartbeat_wait(path);
        // Data since then are a probe of their own.
        let idle = self.paths[path].last_data + self.profile.heartbeat.interval;
        if self.paths[path].confirmed && self.paths[path].heartbeat.is_none() && idle > now {
            self.paths[path].heartbeat_due = self.clock.deadline(self.paths[path].last_data, wait);
            return;
        }
        if self.paths[path].heartbeat.is_some() {
            if !self.note_error(path) {
                return;
            }
            self.paths[path].rto.back_off();
        }
        if !self.paths[path].confirmed && !self.paths[path].active {
            return;
        }
        let remote = self.paths[path].remote;
        let nonce =
            mac(self.secret, &[text(remote, now), self.counters.packets.to_be_bytes().to_vec()].concat());
        self.paths[path].heartbeat = Some((nonce, now));
        let info = [nonce.to_be_bytes().to_vec(), text(remote, now)].concat();
        let wait = self.heartbeat_wait(path);
        self.paths[path].heartbeat_due = self.clock.deadline(now, wait);
        self.emit_control(Reason::Control { backoff: 0 }, path, vec![Chunk::Heartbeat(info.into())]);
    }

    /// A heartbeat is answered to where it came from.
    pub(super) fn on_heartbeat(&mut self, ends: Ends, info: Box<[u8]>) {
        self.counters.pure_acks += 1;
        let reason = Reason::Control { backoff: 0 };
        self.emit_to(reason, ends.back(), self.peer.tag, vec![Chunk::HeartbeatAck(info)]);
    }

    /// An answer with the right nonce: the path works, and its round-trip time is known.
    pub(super) fn on_heartbeat_ack(&mut self, now: Instant, from: IpAddr, info: &[u8]) {
        let nonce = info.first_chunk().map(|nonce| u64::from_be_bytes(*nonce));
        let asked = self.paths.iter().position(|path| {
            path.heartbeat.is_some_and(|(given, at)| {
                nonce == Some(given) && info[8..] == text(path.remote, at)[..] && path.remote == from
            })
        });
        let Some(at) = asked else {
            self.faults.bad_heartbeat_acks += 1;
            return;
        };
        let least = self.least_rto();
        let tick = self.profile.clock.tick;
        let (now_ticks, enabled) = (self.clock.ticks(now), self.profile.heartbeat.enabled);
        let path = &mut self.paths[at];
        let Some((_, sent_at)) = path.heartbeat.take() else { return };
        path.rto.sample(self.clock.span(now_ticks - self.clock.ticks(sent_at)), least, tick);
        path.errors = 0;
        path.active = true;
        path.confirmed = true;
        self.errors = 0;
        let wait = self.heartbeat_wait(at);
        self.paths[at].heartbeat_due = if enabled { self.clock.deadline(now, wait) } else { OFF };
    }
}

/// The address and the time, which the answer brings back.
fn text(remote: IpAddr, at: Instant) -> Vec<u8> {
    let mut out = at.as_nanos().to_be_bytes().to_vec();
    match remote {
        IpAddr::V4(address) => out.extend(address.octets()),
        IpAddr::V6(address) => out.extend(address.octets()),
    }
    out
}
