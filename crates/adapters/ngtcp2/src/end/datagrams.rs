//! What leaves an end: datagrams that the library makes, when it lets them.

use rexmit_stack::quic::QuicCarries;
use rexmit_stack::{Reason, Transmission};
use rexmit_units::Instant;
use rexmit_wire::{IpFields, Packet, Payload, Transport, UdpDatagram};

use super::Ngtcp2End;
use crate::connection::{Connection, Failed, Wrote};
use crate::ffi::answer;
use crate::hooks;
use crate::streams::Next;

impl Ngtcp2End {
    /// Sends what the library lets out at this instant: at most a burst, after which its pace lets it wait, as its example
    /// programs do it.
    pub(super) fn let_out(&mut self, now: Instant, probes: bool) {
        let Some(burst) = self.connection.as_ref().map(Connection::burst) else { return };
        let mut sent = 0;
        while sent + self.buffer.len() <= burst.max(self.buffer.len()) {
            let (mut ecn, mut buffer) = (0, std::mem::take(&mut self.buffer));
            let wrote = self.with(now, |end| {
                let connection = end.connection.as_mut()?;
                Some(datagram(connection, &mut buffer, &mut ecn, now.as_nanos()))
            });
            let code = wrote.unwrap_or(0);
            let bytes = usize::try_from(code).ok().filter(|len| *len > 0).map(|len| buffer[..len].to_vec());
            self.buffer = buffer;
            let Some(bytes) = bytes else {
                if code < 0 {
                    self.judge(now, Err(Failed(code as i32)));
                }
                break;
            };
            sent += bytes.len();
            self.leaves(bytes, ecn, probes);
        }
        if let Some(connection) = &mut self.connection {
            connection.sent(now.as_nanos());
        }
    }

    /// A datagram is complete.
    fn leaves(&mut self, bytes: Vec<u8>, ecn: u8, probes: bool) {
        let Some(work) = &mut self.work else { return };
        let ident = work.packets.counters.packets as u16 + 1;
        let carries = work.packets.leaves();
        if std::mem::take(&mut work.acknowledged) {
            self.reasons.acknowledged();
        }
        let reason = self.reasons.of(&mut work.packets.counters, &carries, probes);
        self.put_out(bytes, IpFields { tos: ecn, ident, ..IpFields::default() }, &carries, reason);
    }

    fn put_out(&mut self, bytes: Vec<u8>, ip: IpFields, carries: &QuicCarries, reason: Reason) {
        let packet = Packet {
            src: self.local.ip(),
            dst: self.remote.ip(),
            ip,
            transport: Transport::Udp(UdpDatagram {
                src_port: self.local.port(),
                dst_port: self.remote.port(),
                payload: Payload::Bytes(bytes.into()),
                sealed: Some(carries.content()),
            }),
            damaged: false,
        };
        self.out.push_back(Transmission { packet: Box::new(packet), reason });
    }

    /// Closes the connection, with a code of the application's or for what the library has answered.
    pub(super) fn shut(&mut self, now: Instant, why: Result<u64, Failed>) {
        if std::mem::replace(&mut self.farewell.over, true) {
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        let len = self.with(now, |end| {
            end.connection.as_mut().map_or(0, |connection| connection.close(&mut buffer, why, now.as_nanos()))
        });
        self.farewell.packet = buffer[..len].to_vec();
        self.farewell.answers_at = 1;
        self.buffer = buffer;
        self.take_failure();
        if len > 0 {
            self.leaves(self.farewell.packet.clone(), 0, false);
        }
        self.next = None;
    }

    /// The other side has not heard that the connection is closed.
    pub(super) fn say_again(&mut self) {
        self.farewell.arrived += 1;
        let packet = self.farewell.packet.clone();
        if self.farewell.arrived < self.farewell.answers_at || packet.is_empty() {
            return;
        }
        self.farewell.arrived = 0;
        self.farewell.answers_at *= 2;
        let Some(work) = &mut self.work else { return };
        let ident = work.packets.counters.packets as u16 + 1;
        work.packets.leaves();
        let carries = QuicCarries { close: true, ..QuicCarries::default() };
        let ip = IpFields { ident, ..IpFields::default() };
        self.put_out(packet, ip, &carries, Reason::Control { backoff: 0 });
    }
}

/// Makes one datagram: its length, or an answer of the library's. DATAGRAM frames go first.
fn datagram(connection: &mut Connection, buffer: &mut [u8], ecn: &mut u8, now: u64) -> isize {
    while let Some(bytes) = hooks::with(|talk| talk.datagrams.take()).flatten() {
        let wrote = connection.write_datagram(buffer, &bytes, ecn, now);
        if wrote.taken < 0 {
            hooks::with(|talk| talk.datagrams.put_back(bytes));
        }
        if wrote.code != answer::WRITE_MORE {
            return wrote.code;
        }
    }
    loop {
        let next =
            if connection.window() > 0 { hooks::with(|talk| talk.sending.next()).flatten() } else { None };
        let wrote = write(connection, next.as_ref(), buffer, ecn, now);
        if let Some(next) = &next {
            hooks::with(|talk| match wrote.code {
                // What its end says of a stream, it has said by a frame of it.
                _ if wrote.taken >= 0 => talk.sending.sent(next, wrote.taken as usize),
                answer::STREAM_DATA_BLOCKED | answer::STREAM_SHUT | answer::STREAM_NOT_FOUND => {
                    talk.sending.block(next);
                }
                _ => {}
            });
        }
        match wrote.code {
            answer::WRITE_MORE
            | answer::STREAM_DATA_BLOCKED
            | answer::STREAM_SHUT
            | answer::STREAM_NOT_FOUND
                if next.is_some() => {}
            code => return code,
        }
    }
}

#[allow(unsafe_code, reason = "the library keeps what it is given to write")]
fn write(
    connection: &mut Connection,
    next: Option<&Next>,
    buffer: &mut [u8],
    ecn: &mut u8,
    now: u64,
) -> Wrote {
    let what = next.map_or((-1, &[][..], false), |next| (next.id, next.pieces(), next.fin));
    // SAFETY: `Sending` keeps bytes where they are until they are acknowledged, and lives as long as the connection's end.
    unsafe { connection.write(buffer, what, ecn, now) }
}
