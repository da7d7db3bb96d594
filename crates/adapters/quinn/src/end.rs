//! One end of a connection: an endpoint of its own with one connection.

use std::collections::VecDeque;
use std::sync::{Arc, LazyLock};

use bytes::BytesMut;
use quinn_proto::{
    ClientConfig, Connection, ConnectionError, ConnectionHandle, DatagramEvent, EcnCodepoint, EndpointConfig,
    Event as QuinnEvent, ServerConfig, StreamEvent, StreamId, Transmit, VarInt,
};
use rexmit_stack::quic::{DatagramInbox, QuicCarries, QuicReasons, StreamReader, StreamWriter};
use rexmit_stack::{
    Counters, EndSettings, Endpoint, Event, RandomStream, Reason, Role, Snapshot, Socket, StackEnd,
    Transmission,
};
use rexmit_tls::AtWork;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{IpFields, Packet, Payload, Transport, UdpDatagram};

mod datagrams;
mod socket;

/// quinn's times are those of the system's clock, of which it asks for differences alone.
static BEGIN: LazyLock<std::time::Instant> = LazyLock::new(std::time::Instant::now);

/// What a host's ends have in common.
#[derive(Clone)]
pub(crate) struct Shared {
    /// The host's name, for messages.
    pub host: Arc<str>,
    pub endpoint: Arc<EndpointConfig>,
    pub client: ClientConfig,
    pub server: Arc<ServerConfig>,
    pub mtu: u32,
    pub mtu_discovery: bool,
}

/// What has made it act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Packet,
    Timer {
        /// Something was not acknowledged yet, so that it may have been the probe's.
        awaits: bool,
    },
    Application,
}

/// One end of a connection of quinn's.
pub(crate) struct QuinnEnd {
    endpoint: quinn_proto::Endpoint,
    client: Option<ClientConfig>,
    connection: Option<(ConnectionHandle, Connection)>,
    settings: EndSettings,
    work: Option<AtWork>,
    buffer: Vec<u8>,
    out: VecDeque<Transmission>,
    events: VecDeque<Event>,
    writer: StreamWriter,
    reader: StreamReader,
    /// Datagrams that have arrived.
    inbox: DatagramInbox,
    /// The space of quinn's queue of datagrams while none waits.
    empty_queue: Option<usize>,
    /// Its own streams, by number.
    own: Vec<StreamId>,
    /// Streams of the peer's that are not over.
    open: VecDeque<StreamId>,
    /// The application has called it since it was last polled.
    called: bool,
    now: Instant,
    next: Option<Instant>,
    told: Told,
    /// Losses that quinn had found.
    lost: u64,
    reasons: QuicReasons,
    failure: Option<String>,
    /// The name of its host.
    host: Arc<str>,
}

/// What the application has said and been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    connected: bool,
    closing: bool,
    end: bool,
    closed: bool,
    /// Own streams whose end is not acknowledged.
    unfinished: usize,
}

impl std::fmt::Debug for QuinnEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QuinnEnd").field("told", &self.told).finish_non_exhaustive()
    }
}

impl QuinnEnd {
    /// An end with these settings, whose random numbers come from this stream.
    pub fn new(shared: &Shared, random: RandomStream, settings: &EndSettings) -> Self {
        let mut work = Some(AtWork::new(random));
        let active = settings.role == Role::Active;
        let server = (!active).then(|| shared.server.clone());
        let endpoint = rexmit_tls::with(&mut work, Instant::ZERO, || {
            let mut seed = [0; 32];
            rexmit_tls::fill(&mut seed).unwrap_or_default();
            quinn_proto::Endpoint::new(shared.endpoint.clone(), server, shared.mtu_discovery, Some(seed))
        });
        Self {
            endpoint,
            client: active.then(|| shared.client.clone()),
            connection: None,
            work,
            buffer: Vec::with_capacity(shared.mtu as usize),
            out: VecDeque::new(),
            events: VecDeque::new(),
            writer: StreamWriter::new(settings.role, settings.places.clone()),
            reader: StreamReader::new(settings.role, settings.places.clone()),
            inbox: DatagramInbox::default(),
            empty_queue: None,
            own: Vec::new(),
            open: VecDeque::new(),
            called: false,
            now: Instant::ZERO,
            next: None,
            told: Told::default(),
            lost: 0,
            reasons: QuicReasons::default(),
            failure: None,
            host: shared.host.clone(),
            settings: settings.clone(),
        }
    }

    /// Does something with quinn, whose random numbers and time are this end's.
    fn with<T>(&mut self, now: Instant, act: impl FnOnce(&mut Self) -> T) -> T {
        let mut work = self.work.take();
        let result = rexmit_tls::with(&mut work, now, || act(self));
        self.work = work;
        result
    }

    /// Lets it act until it does nothing more.
    fn run(&mut self, now: Instant, cause: Cause) {
        (self.called, self.now) = (false, now);
        let mut first = true;
        loop {
            let sent = self.with(now, |end| end.turn(now));
            let Some((transmit, bytes)) = sent else { break };
            let carries = self.work.as_mut().map(|work| work.packets.leaves()).unwrap_or_default();
            let packet = self.packet(&transmit, bytes, &carries);
            let reason = self.reason(&carries, cause, &mut first);
            self.out.push_back(Transmission { packet: Box::new(packet), reason });
        }
        self.with(now, Self::hear);
        self.finish_datagrams();
        self.end_streams();
        self.settle_close(now);
        let due = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        self.next = due.map(virtual_time);
    }

    /// One datagram of the connection, after what its endpoint has to say.
    fn turn(&mut self, now: Instant) -> Option<(Transmit, Vec<u8>)> {
        let (handle, connection) = self.connection.as_mut()?;
        loop {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            self.buffer.clear();
            if let Some(transmit) = connection.poll_transmit(real_time(now), 1, &mut self.buffer) {
                let bytes = self.buffer[..transmit.size].to_vec();
                return Some((transmit, bytes));
            }
            let event = connection.poll_endpoint_events()?;
            if let Some(event) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(event);
            }
        }
    }

    /// An answer of the endpoint's own, which is of no connection.
    fn answer(&mut self, transmit: &Transmit) {
        let bytes = self.buffer[..transmit.size].to_vec();
        let carries = self.work.as_mut().map(|work| work.packets.leaves()).unwrap_or_default();
        let packet = self.packet(transmit, bytes, &carries);
        self.out.push_back(Transmission { packet: Box::new(packet), reason: Reason::Control { backoff: 0 } });
    }

    fn packet(&self, transmit: &Transmit, bytes: Vec<u8>, carries: &QuicCarries) -> Packet {
        let (local, remote) = (self.settings.local, self.settings.remote);
        let ident = self.counters().packets as u16;
        Packet {
            src: local.ip(),
            dst: remote.ip(),
            ip: IpFields { tos: transmit.ecn.map_or(0, |ecn| ecn as u8), ident, ..IpFields::default() },
            transport: Transport::Udp(UdpDatagram {
                src_port: local.port(),
                dst_port: remote.port(),
                payload: Payload::Bytes(bytes.into()),
                sealed: Some(carries.content()),
            }),
            damaged: false,
        }
    }

    /// Why a datagram leaves, as it and what came before show.
    fn reason(&mut self, carries: &QuicCarries, cause: Cause, first: &mut bool) -> Reason {
        let lost = self.connection.as_ref().map_or(0, |(_, connection)| connection.stats().path.lost_packets);
        let found = lost > std::mem::replace(&mut self.lost, lost);
        let Some(work) = &mut self.work else { return Reason::New };
        if std::mem::take(&mut work.acknowledged) {
            self.reasons.acknowledged();
        }
        let counters = &mut work.packets.counters;
        // A timer that finds no loss, and lets out no new data, was the probe's.
        let probes = cause == Cause::Timer { awaits: true } && !found;
        // It may send two datagrams (RFC 9002 section 6.2.4).
        if probes && QuicReasons::may_probe(carries) && std::mem::take(first) {
            self.reasons.expired(counters);
        }
        self.reasons.of(counters, carries, probes)
    }

    /// Takes what the connection tells.
    fn hear(&mut self) {
        while let Some(event) = self.connection.as_mut().and_then(|(_, connection)| connection.poll()) {
            match event {
                QuinnEvent::Connected => self.connected(),
                QuinnEvent::ConnectionLost { reason } => self.lost(&reason),
                QuinnEvent::Stream(event) => self.stream(&event),
                QuinnEvent::DatagramReceived => self.take_datagrams(),
                QuinnEvent::DatagramsUnblocked => self.events.push_back(Event::Writable),
                QuinnEvent::HandshakeDataReady => {}
            }
        }
    }

    fn connected(&mut self) {
        if !std::mem::replace(&mut self.told.connected, true) {
            self.events.push_back(Event::Connected);
        }
    }

    fn lost(&mut self, reason: &ConnectionError) {
        if std::mem::replace(&mut self.told.closed, true) {
            return;
        }
        self.events.push_back(match reason {
            ConnectionError::TimedOut => Event::TimedOut,
            ConnectionError::ApplicationClosed(_) if self.told.end => Event::Closed,
            ConnectionError::LocallyClosed => Event::Closed,
            _ => Event::Reset,
        });
    }

    fn stream(&mut self, event: &StreamEvent) {
        match event {
            StreamEvent::Opened { dir } => {
                let Some((_, connection)) = &mut self.connection else { return };
                while let Some(id) = connection.streams().accept(*dir) {
                    self.open.push_back(id);
                }
                self.events.push_back(Event::Readable);
            }
            StreamEvent::Readable { .. } => self.events.push_back(Event::Readable),
            StreamEvent::Writable { .. } | StreamEvent::Available { .. } => {
                self.events.push_back(Event::Writable);
            }
            StreamEvent::Finished { .. } => {
                self.told.unfinished = self.told.unfinished.saturating_sub(1);
            }
            StreamEvent::Stopped { .. } => {}
        }
    }

    /// Both directions may be over.
    fn settle_close(&mut self, now: Instant) {
        let told = self.told;
        if told.closed || !told.closing || !told.end || told.unfinished > 0 || self.own.is_empty() {
            return;
        }
        self.told.closed = true;
        self.events.push_back(Event::Closed);
        if self.settings.role == Role::Active {
            self.shut(now, 0);
        }
    }

    fn shut(&mut self, now: Instant, code: u32) {
        self.with(now, |end| {
            if let Some((_, connection)) = &mut end.connection {
                connection.close(real_time(now), VarInt::from_u32(code), bytes::Bytes::new());
            }
        });
        (self.called, self.now) = (true, now);
    }

    /// Acts on what the application has called.
    fn settle(&mut self, now: Instant) {
        if self.called {
            self.run(now, Cause::Application);
        }
    }
}

impl Endpoint for QuinnEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.settle(now);
        let Transport::Udp(datagram) = &packet.transport else { return };
        let bytes = BytesMut::from(&datagram.payload.bytes()[..]);
        let ecn = EcnCodepoint::from_bits(packet.ip.tos & 3);
        let remote = self.settings.remote;
        let local = self.settings.local.ip();
        let answer = self.with(now, |end| {
            end.buffer.clear();
            let at = real_time(now);
            match end.endpoint.handle(at, remote, Some(local), ecn, bytes, &mut end.buffer)? {
                DatagramEvent::ConnectionEvent(_, event) => {
                    if let Some((_, connection)) = &mut end.connection {
                        connection.handle_event(event);
                    }
                    None
                }
                DatagramEvent::NewConnection(incoming) => {
                    match end.endpoint.accept(incoming, at, &mut end.buffer, None) {
                        Ok(connection) => {
                            end.connection = Some(connection);
                            None
                        }
                        Err(error) => error.response,
                    }
                }
                DatagramEvent::Response(transmit) => Some(transmit),
            }
        });
        if let Some(transmit) = answer {
            self.answer(&transmit);
        }
        self.run(now, Cause::Packet);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.settle(now);
        if self.next.is_none_or(|due| due > now) {
            return;
        }
        let awaits = !self.told.connected || self.work.as_ref().is_some_and(|work| work.packets.awaits());
        self.with(now, |end| {
            if let Some((_, connection)) = &mut end.connection {
                connection.handle_timeout(real_time(now));
            }
        });
        self.run(now, Cause::Timer { awaits });
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.settle(now);
        self.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        if self.called { Some(self.now) } else { self.next }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if self.called {
            self.run(self.now, Cause::Application);
        }
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let counters = (*self.counters()).into();
        let Some((_, connection)) = &self.connection else {
            let state = if self.settings.role == Role::Passive { "LISTEN" } else { "CLOSED" };
            return Snapshot { state, phase: "open", counters, ..Snapshot::default() };
        };
        let closed = connection.is_closed() || connection.is_drained();
        let state = match (closed, connection.is_handshaking()) {
            (true, _) => "CLOSED",
            (_, true) => "HANDSHAKE",
            _ => "ESTABLISHED",
        };
        let path = connection.stats().path;
        let packets = self.work.as_ref().map(|work| &work.packets);
        // A datagram that has left is never sent again.
        let done = packets.map_or(0, |packets| packets.acked() + packets.datagrams_sent());
        let metrics = connection.congestion_state().metrics();
        let sampled = self.told.connected.then(|| Duration::from_nanos(path.rtt.as_nanos() as u64));
        Snapshot {
            state,
            phase: self.reasons.phase(),
            cwnd: path.cwnd,
            ssthresh: metrics.ssthresh.filter(|threshold| *threshold < u64::MAX / 2),
            recv_queue: Some(Socket::readable(self)),
            send_queue: self.writer.written().saturating_sub(done),
            srtt: sampled,
            counters,
            ..Snapshot::default()
        }
    }
}

impl StackEnd for QuinnEnd {
    fn counters(&self) -> &Counters {
        self.work.as_ref().map_or(&Counters::NONE, |work| &work.packets.counters)
    }

    fn misplaced_bytes(&self) -> u64 {
        self.reader.misplaced() + self.inbox.misplaced()
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn take_secrets(&mut self) -> Option<String> {
        self.work.as_mut()?.take_secrets()
    }
}

/// quinn's time of a time of the run.
pub(crate) fn real_time(time: Instant) -> std::time::Instant {
    *BEGIN + std::time::Duration::from_nanos(time.as_nanos())
}

fn virtual_time(time: std::time::Instant) -> Instant {
    Instant::from_nanos(time.saturating_duration_since(*BEGIN).as_nanos() as u64)
}
