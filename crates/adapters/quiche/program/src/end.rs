//! One end of a connection.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use quiche::{Connection, ConnectionId, Header, RecvInfo, Type};
use rexmitstack::{Data, End, Event, Field, How, Line, Opening, Reasons, Why, unwrap_udp, wrap_udp};

use crate::host::{self, Host};
use crate::led;
use crate::sealed::{self, Carries, Sealed};

/// The name of every server.
const SERVER: &str = "server";
/// How much the application writes before quiche has taken it, and on how many streams by turns.
const MOST: usize = 1 << 20;
const MOST_PIECES: usize = 256;
/// The alert `bad_certificate` of TLS as an error (RFC 9001 section 4.8).
const BAD_CERTIFICATE: u64 = 0x0100 + 42;

/// One end of a connection.
pub struct QuicheEnd {
    host: Rc<RefCell<Host>>,
    opening: Opening,
    connection: Option<Connection>,
    sealed: Sealed,
    secrets: Memory,
    log: Memory,
    /// A datagram that is made and waits until quiche wants it to leave.
    held: Option<Held>,
    buffer: Vec<u8>,
    /// A probe timer has expired in this call.
    probes: bool,
    /// So many have.
    timeouts: u64,
    own: Own,
    inbox: VecDeque<Vec<u8>>,
    told: Told,
}

struct Held {
    at: u64,
    packet: Vec<u8>,
    reasons: Reasons,
}

/// Streams of ours.
#[derive(Default)]
struct Own {
    /// So many are opened.
    count: u16,
    /// Bytes that the application has written, and ends of streams that quiche has taken.
    taken: u64,
    /// What waits until quiche takes it, in the order in which it was written.
    waiting: VecDeque<Piece>,
    /// Bytes of it.
    size: usize,
    /// A write was not taken.
    short: bool,
    /// The application writes no more; and so many streams know it.
    closing: bool,
    finished: u16,
    /// The connection is to be closed once all is acknowledged.
    parting: bool,
    parted: bool,
}

/// A part of a stream.
struct Piece {
    stream: u16,
    bytes: VecDeque<u8>,
}

/// What the application was told.
#[derive(Default)]
struct Told {
    /// The server has shown its certificate.
    shown: bool,
    connected: bool,
    over: bool,
    readable: u64,
    due: Option<u64>,
    state: State,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
struct State {
    name: &'static str,
    cwnd: u64,
    rtt: Option<(u64, u64)>,
    timeouts: u64,
    queue: u64,
}

/// Lines of secrets, and a log, as quiche writes them.
#[derive(Clone, Default)]
struct Memory(Arc<Mutex<Vec<u8>>>);

impl Memory {
    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl io::Write for Memory {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Own {
    /// It takes another write.
    fn has_room(&self) -> bool {
        self.size < MOST && self.waiting.len() < MOST_PIECES
    }
}

impl QuicheEnd {
    /// An end that does nothing yet.
    pub fn new(host: Rc<RefCell<Host>>, opening: Opening) -> Self {
        let buffer = vec![0; host.borrow().room(&opening)];
        Self {
            host,
            opening,
            connection: None,
            sealed: Sealed::default(),
            secrets: Memory::default(),
            log: Memory::default(),
            held: None,
            buffer,
            probes: false,
            timeouts: 0,
            own: Own::default(),
            inbox: VecDeque::new(),
            told: Told::default(),
        }
    }

    fn take(&mut self, now: u64, made: quiche::Result<Connection>) {
        if let Ok(mut connection) = made {
            connection.set_keylog(Box::new(self.secrets.clone()));
            if self.host.borrow().qlog {
                let title = if self.opening.active { "client" } else { "server" };
                // Its times count from now, which is the begin of the run.
                led::set_now(0);
                connection.set_qlog(Box::new(self.log.clone()), title.into(), "quiche in rexmit".into());
                led::set_now(now);
            }
            self.connection = Some(connection);
        }
    }

    /// Takes the peer's connection, where this is its first packet.
    fn accept(&mut self, now: u64, datagram: &mut [u8]) {
        let Ok(header) = Header::from_slice(datagram, quiche::MAX_CONN_ID_LEN) else { return };
        if header.ty != Type::Initial || !quiche::version_is_supported(header.version) {
            return;
        }
        let Opening { local, remote, .. } = self.opening;
        let mut host = self.host.borrow_mut();
        let scid = name(&mut host);
        let made =
            quiche::accept(&ConnectionId::from_ref(&scid), None, local, remote, host.config(&self.opening));
        drop(host);
        self.take(now, made);
    }

    /// Does what must be done behind each call.
    fn settle(&mut self, now: u64, line: &mut Line) {
        if self.connection.is_some() {
            self.feed();
            self.finish();
            self.pump(now, line);
            if self.opening.datagrams {
                // The last of them may have left: then the stream ends that says so.
                self.finish();
                self.pump(now, line);
            }
            self.tell(line);
            if self.part() {
                self.pump(now, line);
            }
            self.tell_fate(line);
            self.tell_state(line);
            self.tell_timer(now, line);
        }
        self.probes = false;
        let (secrets, log) = (self.secrets.take(), self.log.take());
        if !secrets.is_empty() {
            line.add_secrets(&String::from_utf8_lossy(&secrets));
        }
        if !log.is_empty() {
            line.add_qlog(&log);
        }
    }

    /// Lets datagrams leave that may do so now.
    fn pump(&mut self, now: u64, line: &mut Line) {
        let Some(connection) = &mut self.connection else { return };
        loop {
            match self.held.take() {
                Some(held) if held.at > now => {
                    self.held = Some(held);
                    return;
                }
                Some(held) => line.send(&held.packet, held.reasons),
                None => {}
            }
            self.sealed.carries = Carries::default();
            let Ok((len, info)) = sealed::with(&mut self.sealed, || connection.send(&mut self.buffer)) else {
                return;
            };
            let packet = wrap_udp(&self.opening, &self.buffer[..len]);
            let reasons = reasons(self.sealed.carries, self.probes);
            self.held = Some(Held { at: since(self.host.borrow().begin, info.at), packet, reasons });
        }
    }

    /// Gives quiche what waits, as far as it takes it.
    fn feed(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        // What one stream has no room for, others may not wait for.
        let mut full = Vec::new();
        for piece in &mut self.own.waiting {
            while !piece.bytes.is_empty() && !full.contains(&piece.stream) {
                let (front, _) = piece.bytes.as_slices();
                match connection.stream_send(stream(&self.opening, piece.stream), front, false) {
                    Ok(taken) if taken > 0 => {
                        piece.bytes.drain(..taken);
                        self.own.size -= taken;
                    }
                    _ => full.push(piece.stream),
                }
            }
        }
        self.own.waiting.retain(|piece| !piece.bytes.is_empty());
    }

    /// Puts a datagram into quiche's queue, whole or, while that is full, not at all.
    fn write_datagram(&mut self, bytes: &[u8], line: &mut Line) -> usize {
        let Some(connection) = &mut self.connection else { return 0 };
        let most = connection.dgram_max_writable_len().unwrap_or(0);
        if bytes.len() > most {
            line.set_limit(most as u32);
            return 0;
        }
        if connection.dgram_send(bytes).is_err() {
            self.own.short = true;
            return 0;
        }
        bytes.len()
    }

    /// Ends the streams of ours, as far as quiche takes it, once the application writes no more.
    fn finish(&mut self) {
        let Some(connection) = &mut self.connection else { return };
        let wait = !self.own.waiting.is_empty() || connection.dgram_send_queue_len() > 0;
        if !self.own.closing || !self.told.connected || wait {
            return;
        }
        self.own.count = self.own.count.max(1);
        while self.own.finished < self.own.count {
            if connection.stream_send(stream(&self.opening, self.own.finished), &[], true).is_err() {
                return;
            }
            self.own.finished += 1;
            self.own.taken += 1;
        }
    }

    /// Closes the connection where it is time to.
    fn part(&mut self) -> bool {
        let Some(connection) = &mut self.connection else { return false };
        let all = self.own.finished == self.own.count && self.sealed.acknowledged() >= self.own.taken;
        let now = self.own.parting && !self.own.parted && all;
        if now {
            self.own.parted = true;
            let _ = connection.close(true, 0, b"");
        }
        now
    }

    fn tell(&mut self, line: &mut Line) {
        let Some(connection) = &mut self.connection else { return };
        if self.opening.active
            && connection.is_established()
            && !std::mem::replace(&mut self.told.shown, true)
        {
            let known = connection.is_resumed()
                || host::is_known(&self.host.borrow().settings, connection.peer_cert());
            if !known {
                let _ = connection.close(false, BAD_CERTIFICATE, b"not the certificate of rexmit's servers");
                return;
            }
        }
        if !self.told.connected && (connection.is_established() || connection.is_in_early_data()) {
            self.told.connected = true;
            line.tell(Event::Connected);
        }
        if self.opening.active
            && let Some(session) = connection.session()
        {
            let mut host = self.host.borrow_mut();
            if host.settings.zero_rtt && !host.sessions.contains_key(&self.opening.remote.ip()) {
                host.sessions.insert(self.opening.remote.ip(), session.to_vec());
            }
        }
        while let Ok(datagram) = connection.dgram_recv_buf() {
            self.inbox.push_back(datagram.into());
        }
        let mut waiting = self.inbox.iter().map(|datagram| datagram.len() as u64).sum();
        for stream in connection.readable() {
            let len = connection.stream_readable_len(stream, usize::MAX);
            if len == 0 && matches!(connection.stream_recv(stream, &mut []), Ok((0, true))) {
                line.tell(Event::EndOfStream);
            }
            waiting += len as u64;
        }
        if waiting != self.told.readable {
            self.told.readable = waiting;
            line.set_readable(waiting);
            if waiting > 0 {
                line.tell(Event::Readable);
            }
        }
        if self.own.short
            && self.told.connected
            && self.own.has_room()
            && !connection.is_dgram_send_queue_full()
        {
            self.own.short = false;
            line.tell(Event::Writable);
        }
    }

    fn tell_fate(&mut self, line: &mut Line) {
        let Some(connection) = &self.connection else { return };
        if self.told.over || !connection.is_draining() && !connection.is_closed() {
            return;
        }
        self.told.over = true;
        let fine = |error: &quiche::ConnectionError| error.is_app && error.error_code == 0;
        let error = connection.local_error().or(connection.peer_error());
        line.tell(match error {
            _ if connection.is_timed_out() => Event::TimedOut,
            Some(error) if fine(error) => Event::Closed,
            _ => Event::Reset,
        });
    }

    fn tell_state(&mut self, line: &mut Line) {
        let Some(connection) = &self.connection else { return };
        let Some(path) = connection.path_stats().find(|path| path.active) else { return };
        let nanoseconds = |time: std::time::Duration| time.as_nanos() as u64;
        let state = State {
            name: match (self.told.over, self.told.connected) {
                (true, _) => "CLOSED",
                (_, true) => "ESTABLISHED",
                _ => "HANDSHAKE",
            },
            cwnd: path.cwnd as u64,
            rtt: path.min_rtt.map(|_| (nanoseconds(path.rtt), nanoseconds(path.rttvar))),
            timeouts: self.timeouts,
            queue: self.own.taken.saturating_sub(self.sealed.acknowledged())
                + connection.dgram_send_queue_byte_size() as u64,
        };
        if state == self.told.state {
            return;
        }
        self.told.state = state;
        let mut values = vec![
            (Field::Cwnd, state.cwnd),
            (Field::Timeouts, state.timeouts),
            (Field::SendQueue, state.queue),
        ];
        if let Some((srtt, rttvar)) = state.rtt {
            values.extend([(Field::Srtt, srtt), (Field::Rttvar, rttvar)]);
        }
        line.set_state(state.name, &values);
    }

    fn tell_timer(&mut self, now: u64, line: &mut Line) {
        let Some(connection) = &self.connection else { return };
        let begin = self.host.borrow().begin;
        let due = connection.timeout_instant().map(|at| since(begin, at));
        let due = due.into_iter().chain(self.held.as_ref().map(|held| held.at)).min().map(|at| at.max(now));
        if due != self.told.due {
            self.told.due = due;
            match due {
                Some(at) => line.set_timer(at),
                None => line.stop_timer(),
            }
        }
    }

    /// Expiries of the timer of loss detection, and packets that are lost.
    ///
    /// quiche counts an expiry as one of the probe timer (PTO) also where it has only made packets lost for their age (RFC 9002
    /// section 6.1.2).
    fn expiries(&self) -> (usize, usize) {
        let paths = self.connection.iter().flat_map(Connection::path_stats);
        paths.fold((0, 0), |(expired, lost), path| (expired + path.total_pto_count, lost + path.lost))
    }
}

/// The identifier of stream `number` of ours (RFC 9000 section 2.1).
fn stream(opening: &Opening, number: u16) -> u64 {
    4 * u64::from(number) + if opening.active { 2 } else { 3 }
}

/// A connection identifier of the run's.
fn name(host: &mut Host) -> [u8; 16] {
    let mut name = [0; 16];
    host.random.fill(&mut name);
    name
}

fn since(begin: Instant, at: Instant) -> u64 {
    at.saturating_duration_since(begin).as_nanos() as u64
}

/// For what a datagram leaves.
fn reasons(carries: Carries, probes: bool) -> Reasons {
    let why = match carries {
        Carries { fresh: false, again: false, others: false, datagram: false, acks: true } => Why::Ack,
        _ if probes && !carries.datagram => Why::Probe,
        Carries { again: true, .. } => Why::Loss,
        Carries { fresh: true, .. } | Carries { datagram: true, .. } => Why::New,
        _ => Why::Control,
    };
    Reasons { why, new_data: carries.fresh, repeats: carries.again, datagram: carries.datagram }
}

impl End for QuicheEnd {
    fn connect(&mut self, now: u64, line: &mut Line) {
        led::set_now(now);
        let Opening { local, remote, .. } = self.opening;
        let mut host = self.host.borrow_mut();
        let scid = name(&mut host);
        let session = host.sessions.get(&remote.ip()).cloned();
        let config = host.config(&self.opening);
        let made = quiche::connect(Some(SERVER), &ConnectionId::from_ref(&scid), local, remote, config);
        drop(host);
        self.take(now, made);
        if let (Some(connection), Some(session)) = (&mut self.connection, session) {
            // One that does not fit any more is passed over.
            let _ = connection.set_session(&session);
        }
        self.settle(now, line);
    }

    fn packet(&mut self, now: u64, packet: &[u8], line: &mut Line) {
        led::set_now(now);
        let Some(datagram) = unwrap_udp(packet) else { return };
        let mut datagram = datagram.to_vec();
        if self.connection.is_none() && !self.opening.active {
            self.accept(now, &mut datagram);
        }
        let Some(connection) = &mut self.connection else { return };
        let info = RecvInfo { from: self.opening.remote, to: self.opening.local };
        // What is wrong with it, quiche answers in its packets.
        let _ = sealed::with(&mut self.sealed, || connection.recv(&mut datagram, info));
        self.settle(now, line);
    }

    fn timer(&mut self, now: u64, line: &mut Line) {
        led::set_now(now);
        self.told.due = None;
        let before = self.expiries();
        let Some(connection) = &mut self.connection else { return };
        if connection.timeout().is_some_and(|left| left.is_zero()) {
            connection.on_timeout();
        }
        let (expired, lost) = self.expiries();
        self.probes = expired > before.0 && lost == before.1;
        self.timeouts += u64::from(self.probes);
        self.settle(now, line);
    }

    fn write(&mut self, now: u64, bytes: &[u8], how: How, line: &mut Line) -> usize {
        led::set_now(now);
        if self.connection.is_none() || !self.told.connected || self.own.closing || !self.own.has_room() {
            self.own.short = true;
            return 0;
        }
        if how.datagram {
            let taken = self.write_datagram(bytes, line);
            self.settle(now, line);
            return taken;
        }
        match self.own.waiting.back_mut().filter(|piece| piece.stream == how.stream) {
            Some(piece) => piece.bytes.extend(bytes),
            None => self
                .own
                .waiting
                .push_back(Piece { stream: how.stream, bytes: bytes.iter().copied().collect() }),
        }
        self.own.count = self.own.count.max(how.stream + 1);
        self.own.taken += bytes.len() as u64;
        self.own.size += bytes.len();
        self.settle(now, line);
        bytes.len()
    }

    fn read(&mut self, now: u64, most: usize, line: &mut Line) -> Option<Data> {
        led::set_now(now);
        if let Some(bytes) = self.inbox.pop_front() {
            self.settle(now, line);
            return Some(Data { datagram: true, bytes, ..Data::default() });
        }
        let connection = self.connection.as_mut()?;
        let waits = |stream: u64| {
            Some((stream, connection.stream_readable_len(stream, most))).filter(|(_, len)| *len > 0)
        };
        let (stream, len) = connection.readable().find_map(waits)?;
        let mut bytes = vec![0; most.min(len)];
        let (len, ends) = connection.stream_recv(stream, &mut bytes).ok()?;
        bytes.truncate(len);
        self.settle(now, line);
        Some(Data { stream: (stream / 4) as u16, ends, bytes, ..Data::default() })
    }

    fn close(&mut self, now: u64, line: &mut Line) {
        led::set_now(now);
        self.own.parting = self.own.closing;
        self.own.closing = true;
        self.settle(now, line);
    }

    fn abort(&mut self, now: u64, line: &mut Line) {
        led::set_now(now);
        if let Some(connection) = &mut self.connection {
            let _ = connection.close(true, 1, b"");
        }
        self.settle(now, line);
    }
}
