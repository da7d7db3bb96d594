//! A connection of the kernel's TCP.

use std::io::{self, Read, Write};
use std::net::SocketAddr;

use rexmit_stack::{Cached, Event, HeldBack, Snapshot, ToldCounters};
use rexmit_units::Duration;

use super::{Common, PIECE, Sent, stream_bytes, with_room};
use crate::sys::inside;
use crate::sys::poll::Readiness;
use crate::sys::tcp_info::{self, PHASES, STATES, TcpInfo};

/// One end of a TCP connection.
#[derive(Debug)]
pub struct TcpSocket {
    pub(super) common: Common,
    read: u64,
}

impl TcpSocket {
    pub(super) fn new(remote: SocketAddr) -> Self {
        Self { common: Common::new(remote), read: 0 }
    }

    fn info(&self) -> Option<TcpInfo> {
        tcp_info::tcp_info(self.common.fd()?).ok()
    }

    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let (info, fd) = (self.info()?, self.common.fd()?);
        let unacknowledged = tcp_info::unacknowledged(fd).unwrap_or(0);
        Some(snapshot(&info, unacknowledged, self.common.readable()))
    }

    pub(super) fn sent(&self) -> Sent {
        Sent { data: self.info().map_or(0, |i| u64::from(i.data_segs_out)), again: 0 }
    }

    /// Its state and its error, which is then forgotten.
    fn state(&self) -> Option<(u8, Option<io::Error>)> {
        let socket = self.common.socket.as_ref()?;
        if let Some(look) = inside::look(socket) {
            let error = (look.error != 0).then(|| io::Error::from_raw_os_error(look.error));
            return Some((look.state as u8, error));
        }
        Some((self.info()?.state, socket.take_error().ok().flatten()))
    }

    pub(super) fn events(&mut self, ready: Readiness) -> Vec<Event> {
        let Some((state, error)) = self.state() else { return Vec::new() };
        let mut events = self.common.changes(ready, synchronised(state), error.as_ref());
        let closed = state == tcp_info::CLOSE && self.common.connected;
        if !self.common.over && (error.is_some() || closed) {
            events.push(self.common.end(error.as_ref()));
        }
        events
    }

    pub(super) fn write(&mut self, len: u64) -> u64 {
        let common = &mut self.common;
        let mut taken = 0;
        while taken < len {
            let bytes = stream_bytes(common.written, (len - taken).min(PIECE as u64) as usize);
            let Some(socket) = &common.socket else { return taken };
            let done = (&*socket).write(bytes);
            let Some(n) = common.note(done).filter(|n| *n > 0) else { break };
            taken += n as u64;
            common.written += n as u64;
        }
        common.blocked = taken < len;
        taken
    }

    pub(super) fn read(&mut self, max: u64) -> u64 {
        let common = &mut self.common;
        let got = with_room(max, |room| {
            let done = common.socket.as_ref().map_or(Ok(0), |socket| { socket }.read(room));
            let got = common.note(done).unwrap_or(0);
            common.check(self.read, &room[..got]);
            got as u64
        });
        self.read += got;
        got
    }
}

/// The handshake is complete in this state.
fn synchronised(state: u8) -> bool {
    // All states but SYN-SENT, SYN-RECEIVED, CLOSED and LISTEN.
    !matches!(state, 2 | 3 | 7 | 10 | 12)
}

/// What the kernel tells, in the model's words. It counts segments where the model counts bytes.
fn snapshot(info: &TcpInfo, send_queue: u64, recv_queue: u64) -> Snapshot {
    /// TCP_INFINITE_SSTHRESH.
    const INFINITE: u32 = 0x7fff_ffff;
    let bytes = |segments: u32| u64::from(segments) * u64::from(info.snd_mss);
    let measured = info.rtt > 0;
    Snapshot {
        state: STATES.get(usize::from(info.state)).copied().unwrap_or(STATES[0]),
        phase: PHASES.get(usize::from(info.ca_state)).copied().unwrap_or(PHASES[0]),
        cwnd: bytes(info.snd_cwnd),
        ssthresh: (info.snd_ssthresh < INFINITE).then(|| bytes(info.snd_ssthresh)),
        in_flight: Some(bytes(info.unacked)),
        snd_wnd: info.snd_wnd.into(),
        send_queue,
        recv_queue: Some(recv_queue),
        srtt: measured.then(|| Duration::from_micros(info.rtt.into())),
        rttvar: measured.then(|| Duration::from_micros(info.rttvar.into())),
        rto: Some(Duration::from_micros(info.rto.into())),
        rexmt_due: None,
        counters: ToldCounters {
            data_segments: u64::from(info.data_segs_out.saturating_sub(info.total_retrans)),
            retransmits: info.total_retrans.into(),
            packets: info.segs_out.into(),
            // Linux 6.1 counts timeouts and fast retransmits for the host, not for a socket.
            ..ToldCounters::default()
        },
        cached: Cached::default(),
        held: HeldBack {
            by: None,
            busy: Some(Duration::from_micros(info.busy_time)),
            receive_window: Some(Duration::from_micros(info.rwnd_limited)),
            send_buffer: Some(Duration::from_micros(info.sndbuf_limited)),
        },
    }
}
