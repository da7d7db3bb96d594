//! An association of the kernel's SCTP, as a one-to-one socket: each write is a message (RFC 6458 section 4).

use std::net::SocketAddr;
use std::rc::Rc;

use rexmit_stack::{Delivery, Event, Snapshot, ToldCounters};
use rexmit_units::Duration;
use rexmit_wire::Payload;

use super::letters::{Marks, Names, Place};
use super::{Common, Sent, with_room};
use crate::sys::poll::Readiness;
use crate::sys::sctp::{self, STATES, Sending, Status, Until};
use crate::sys::sock_diag::SockDiag;

/// Whom to ask about the associations of a host.
#[derive(Clone, Debug, Default)]
pub struct Host {
    /// More than its sockets tell, where the kernel has that.
    pub diag: Option<Rc<SockDiag>>,
    /// Ticks of its clock a second, where they are known.
    pub hz: Option<u32>,
}

/// One end of an association.
#[derive(Debug)]
pub struct SctpSocket {
    pub(super) common: Common,
    host: Host,
    local: SocketAddr,
    /// The other end has connected to it.
    accepted: bool,
    names: Names,
    /// The message that is being read.
    reading: Option<Reading>,
    /// Where the bytes of the last read began.
    read_at: u64,
    /// What the kernel told last; it forgets with the association.
    counters: ToldCounters,
}

/// A message of which a part has been read.
#[derive(Clone, Copy, Debug)]
struct Reading {
    ppid: Option<u32>,
    /// Where its next byte stands, and how many are left.
    rest: Place,
}

impl SctpSocket {
    pub(super) fn pair([one, other]: [(SocketAddr, &Host); 2]) -> [Self; 2] {
        let [ones, others] = Names::pair();
        [Self::new(one, other.0, ones), Self::new(other, one.0, others)]
    }

    /// An end whose peer is elsewhere: messages say their places.
    pub(super) fn alone(local: (SocketAddr, &Host), remote: SocketAddr) -> Self {
        Self::new(local, remote, Names::Marks(Marks::default()))
    }

    fn new((local, host): (SocketAddr, &Host), remote: SocketAddr, names: Names) -> Self {
        Self {
            common: Common::new(remote),
            host: host.clone(),
            local,
            accepted: false,
            names,
            reading: None,
            read_at: 0,
            counters: ToldCounters::default(),
        }
    }

    pub(super) fn take(&mut self, socket: socket2::Socket, accepted: bool) {
        self.accepted = accepted;
        self.common.socket = Some(socket);
    }

    /// The association, if there is one.
    fn status(&self) -> Option<Status> {
        sctp::status(self.common.fd()?).ok()
    }

    pub(super) fn look(&mut self) {
        if !self.common.over
            && let Some(found) = self.statistics()
        {
            self.counters = found;
        }
    }

    /// What it has done, in chunks where not said otherwise.
    fn statistics(&self) -> Option<ToldCounters> {
        let found = sctp::statistics(self.common.fd()?).ok()?;
        Some(ToldCounters {
            data_segments: found.oodchunks + found.ouodchunks,
            retransmits: found.rtxchunks,
            packets: found.opackets,
            dup_acks: found.gapcnt,
            // Linux 6.1 counts timeouts and fast retransmits for the host, not for an association.
            ..ToldCounters::default()
        })
    }

    /// The primary path stands for the association.
    pub(super) fn snapshot(&self) -> Option<Snapshot> {
        let status = self.status()?;
        let diag = self.host.diag.as_ref();
        let more = diag.and_then(|diag| diag.path(self.local, self.common.remote));
        let path = status.primary;
        let state = usize::try_from(status.state).ok().and_then(|n| STATES.get(n)).copied();
        let phase = match more {
            None => "unknown",
            Some(more) if more.errors > 0 => "loss",
            Some(_) => "open",
        };
        let fd = self.common.fd()?;
        Some(Snapshot {
            state: state.unwrap_or("UNKNOWN"),
            phase,
            cwnd: path.cwnd.into(),
            ssthresh: more.map(|more| more.ssthresh.into()),
            in_flight: more.map(|more| more.flight.into()),
            snd_wnd: status.rwnd.into(),
            send_queue: sctp::queued(fd).unwrap_or(0),
            recv_queue: Some(self.common.readable()),
            srtt: self.host.hz.filter(|_| path.srtt > 0).map(|hz| ticks(path.srtt, hz)),
            rttvar: None,
            rto: Some(Duration::from_millis(path.rto.into())),
            rexmt_due: None,
            counters: self.statistics().unwrap_or(self.counters),
            ..Snapshot::default()
        })
    }

    pub(super) fn sent(&self) -> Sent {
        Sent { data: self.counters.data_segments, again: self.counters.retransmits }
    }

    pub(super) fn events(&mut self, ready: Readiness) -> Vec<Event> {
        if self.common.socket.is_none() {
            return Vec::new();
        }
        self.look();
        let live = self.status().is_some();
        let error = self.common.socket.as_ref().and_then(|s| s.take_error().ok().flatten());
        // One that was accepted has been connected, even if it no longer exists.
        let mut events = self.common.changes(ready, live || self.accepted, error.as_ref());
        if !self.common.over && (error.is_some() || (self.common.connected && !live)) {
            events.push(self.common.end(error.as_ref()));
        }
        events
    }

    /// One message, whole or not at all.
    pub(super) fn send(&mut self, len: u64, how: Delivery) -> u64 {
        let common = &mut self.common;
        let Some(fd) = common.socket.as_ref() else { return 0 };
        let place = Place { offset: common.written, len: Some(len) };
        let bytes = Payload::Stream { offset: place.offset % 10, len: len as u32 };
        let ppid = self.names.next(place.offset);
        let sending = Sending { stream: how.stream, unordered: how.unordered, ppid, until: until(&how) };
        let done = sctp::send(fd, &bytes.bytes(), &sending);
        common.blocked = common.note(done).is_none();
        if common.blocked {
            return 0;
        }
        self.names.sent(place);
        common.written += len;
        len
    }

    pub(super) fn read_offset(&self) -> Option<u64> {
        Some(self.read_at)
    }

    pub(super) fn read(&mut self, max: u64) -> u64 {
        with_room(max, |room| self.read_into(room))
    }

    fn read_into(&mut self, room: &mut [u8]) -> u64 {
        let common = &mut self.common;
        let done = match &common.socket {
            Some(socket) => sctp::receive(socket, room).map(Some),
            None => Ok(None),
        };
        let Some(got) = common.note(done).flatten() else { return 0 };
        let len = got.len as u64;
        // One that was given up while it was being read has no end: another follows.
        let reading =
            self.reading.take().filter(|reading| reading.ppid == got.ppid).map(|reading| reading.rest);
        let place = reading.or_else(|| self.names.come(got.ppid?, len));
        let Some(place) = place else {
            common.misplaced += len;
            return len;
        };
        self.read_at = place.offset;
        common.check(place.offset, &room[..got.len]);
        if got.whole {
            // What a message lacks, or has too much, is not at its place either.
            common.misplaced += place.len.map_or(0, |whole| whole.abs_diff(len));
        } else {
            let left = place.len.map(|whole| whole.saturating_sub(len));
            let rest = Place { offset: place.offset + len, len: left };
            self.reading = Some(Reading { ppid: got.ppid, rest });
        }
        len
    }
}

/// lksctp tells the smoothed RTT in ticks of its clock, and only that.
fn ticks(n: u32, hz: u32) -> Duration {
    Duration::from_nanos(u64::from(n) * 1_000_000_000 / u64::from(hz.max(1)))
}

/// When a message is given up, in the kernel's units: it takes one of the two limits, which is checked before a run.
fn until(how: &Delivery) -> Option<Until> {
    let age = how.lifetime.map(|time| Until::Age(milliseconds(time)));
    age.or(how.max_retransmits.map(Until::Retransmissions))
}

/// Whole milliseconds, at least 1: 0 would be no limit.
fn milliseconds(time: Duration) -> u32 {
    u32::try_from(time.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX).max(1)
}
