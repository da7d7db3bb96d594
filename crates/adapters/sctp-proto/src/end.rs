//! One end of an association: an endpoint of its own with one association.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use rexmit_stack::{
    Counters, EndSettings, Endpoint, Event, RandomStream, Role, SctpArrival, SctpGained, SctpReasons,
    Snapshot, StackEnd, Transmission,
};
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::kind;
use rexmit_wire::{IpFields, PROTOCOL_SCTP, Packet, Payload, SeqNumber, Transport};
use sctp_proto::{
    Association, AssociationHandle, ClientConfig, DatagramEvent, EndpointConfig, Event as TheirEvent,
    ServerConfig, StreamEvent, StreamId, TransportConfig,
};

use crate::boundary::Boundary;
use crate::clock::Clock;
use crate::config::SctpProtoConfig;
use crate::inbox::Inbox;
use crate::places::Places;

mod socket;

/// The common header, and that of a DATA chunk: what the library has beside user data in a packet.
const HEADERS: u32 = 28;

/// What has made it act.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Cause {
    Packet,
    Timer,
    Application,
}

/// One end of an association of sctp-proto's.
pub(crate) struct SctpEnd {
    endpoint: sctp_proto::Endpoint,
    association: Option<(AssociationHandle, Association)>,
    settings: EndSettings,
    config: SctpProtoConfig,
    transport: Arc<TransportConfig>,
    /// The longest packet without the IP header.
    most: usize,
    clock: Clock,
    boundary: Boundary,
    reasons: SctpReasons,
    places: Places,
    inbox: Inbox,
    out: VecDeque<Transmission>,
    events: VecDeque<Event>,
    state: State,
    /// The library's counters of expiries of T3 and of chunks in fast retransmits, as they were.
    counted: [u64; 2],
    /// The application has called it since it was last polled.
    called: bool,
    now: Instant,
    next: Option<Instant>,
    /// Streams that it has sent on.
    own: Vec<StreamId>,
    written: u64,
    /// Bytes that are written and not acknowledged.
    buffered: u64,
    told: Told,
    failure: Option<String>,
}

/// What the application has said and been told.
#[derive(Clone, Copy, Debug, Default)]
struct Told {
    /// A write waits for room.
    blocked: bool,
    closing: bool,
    end: bool,
}

/// Where the association is, by the names of RFC 9260 section 4.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Listening,
    CookieWait,
    CookieEchoed,
    Established,
    ShutdownPending,
    ShutdownSent,
    ShutdownReceived,
    ShutdownAckSent,
    Over,
}

impl State {
    fn name(self) -> &'static str {
        match self {
            Self::Idle | Self::Over => "CLOSED",
            Self::Listening => "LISTEN",
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
        }
    }

    /// The handshake is over, and the association is not.
    fn is_up(self) -> bool {
        !matches!(self, Self::Idle | Self::Listening | Self::CookieWait | Self::CookieEchoed | Self::Over)
    }
}

impl std::fmt::Debug for SctpEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SctpEnd")
            .field("state", &self.state)
            .field("told", &self.told)
            .finish_non_exhaustive()
    }
}

impl SctpEnd {
    /// An end with these settings, whose random numbers come from this stream.
    pub fn new(config: &SctpProtoConfig, mtu: u32, mut random: RandomStream, settings: &EndSettings) -> Self {
        let most = mtu - if settings.local.is_ipv4() { 20 } else { 40 };
        let mut own = EndpointConfig::new();
        // A chunk that is padded fits as well.
        own.max_payload_size((most - HEADERS) / 4 * 4);
        let transport = Arc::new(transport(config, settings));
        let mut server = ServerConfig::new();
        server.transport = transport.clone();
        let mut endpoint = sctp_proto::Endpoint::new(Arc::new(own), Some(Arc::new(server)));
        let active = settings.role == Role::Active;
        if active {
            endpoint.reject_new_associations();
        }
        Self {
            endpoint,
            association: None,
            settings: settings.clone(),
            config: config.clone(),
            transport,
            most: most as usize,
            clock: Clock::new(),
            boundary: Boundary::new(&mut random, config.mend_closing),
            reasons: SctpReasons::default(),
            places: Places::default(),
            inbox: Inbox::default(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            state: if active { State::Idle } else { State::Listening },
            counted: [0; 2],
            called: false,
            now: Instant::ZERO,
            next: None,
            own: Vec::new(),
            written: 0,
            buffered: 0,
            told: Told::default(),
            failure: None,
        }
    }

    /// Opens the association.
    fn begin(&mut self, now: Instant) {
        let mut config = ClientConfig::new();
        config.transport = self.transport.clone();
        match self.endpoint.connect(config, self.settings.remote) {
            Ok((handle, association)) => {
                // It reads the system's clock here and starts its first timer by it: that is the run's present.
                if let Some(due) = association.poll_timeout() {
                    let wait = std::time::Duration::from_nanos(self.config.rto_initial.as_nanos());
                    self.clock = Clock::of(now, due - wait);
                }
                self.association = Some((handle, association));
                self.state = State::CookieWait;
            }
            Err(error) => self.failure = Some(format!("sctp-proto cannot connect: {error}")),
        }
    }

    /// Hands a packet to the library.
    fn take(&mut self, now: Instant, mut bytes: Vec<u8>) {
        self.boundary.arrives(&mut bytes);
        let (at, remote) = (self.clock.theirs(now), self.settings.remote);
        match self.endpoint.handle(at, remote, Some(self.settings.local.ip()), None, Bytes::from(bytes)) {
            Some((_, DatagramEvent::AssociationEvent(event))) => {
                if let Some((_, association)) = &mut self.association {
                    association.handle_event(event);
                }
            }
            Some((handle, DatagramEvent::NewAssociation(association))) => {
                self.endpoint.reject_new_associations();
                self.association = Some((handle, association));
            }
            None => {}
        }
    }

    /// Lets it act until it does nothing more.
    fn run(&mut self, now: Instant, cause: Cause, arrival: SctpArrival) {
        (self.called, self.now) = (false, now);
        self.hear(arrival);
        self.send_all(now, cause);
        self.release();
        if self.shuts_down() {
            self.send_all(now, cause);
        }
        let due = self.association.as_ref().and_then(|(_, association)| association.poll_timeout());
        self.next = due.map(|due| self.clock.ours(due));
    }

    /// Takes what the library sends.
    fn send_all(&mut self, now: Instant, cause: Cause) {
        let Some((_, association)) = &mut self.association else { return };
        let mut packets = Vec::new();
        while let Some(sent) = association.poll_transmit(self.clock.theirs(now)) {
            let sctp_proto::Payload::RawEncode(several) = sent.payload else { continue };
            for packet in several {
                packets.extend(self.boundary.leaves(now, packet.into(), self.most, &mut self.places));
            }
        }
        let mut stats = association.stats();
        let counts = [stats.get_num_t3timeouts(), stats.get_num_fast_retrans()];
        let before = std::mem::replace(&mut self.counted, counts);
        let by_timer = |packet: &&Vec<u8>| {
            let first = packet.get(12).copied().unwrap_or_default();
            matches!(first, kind::INIT | kind::COOKIE_ECHO | kind::SHUTDOWN | kind::SHUTDOWN_ACK)
        };
        let control = if cause == Cause::Timer { packets.iter().filter(by_timer).count() } else { 0 };
        let gained = SctpGained {
            data_timeouts: (counts[0] - before[0]) as u32,
            control_timeouts: control as u32,
            fast: (counts[1] - before[1]) as u32,
        };
        self.reasons.counted(gained);
        for packet in packets {
            self.follow(packet.get(12).copied());
            let (reason, _) = self.reasons.leaves(&packet, gained);
            let packet = Box::new(self.packet(packet));
            self.out.push_back(Transmission { packet, reason });
        }
    }

    /// What the first chunk of a packet that leaves says of the association's state.
    fn follow(&mut self, chunk: Option<u8>) {
        match chunk {
            Some(kind::COOKIE_ECHO) if self.state == State::CookieWait => self.state = State::CookieEchoed,
            Some(kind::SHUTDOWN) => self.state = State::ShutdownSent,
            Some(kind::SHUTDOWN_ACK) => self.state = State::ShutdownAckSent,
            Some(kind::SHUTDOWN_COMPLETE) => self.over(Event::Closed),
            _ => {}
        }
    }

    fn packet(&self, bytes: Vec<u8>) -> Packet {
        let ident = self.reasons.counters().packets as u16;
        Packet {
            src: self.settings.local.ip(),
            dst: self.settings.remote.ip(),
            ip: IpFields { ident, ..IpFields::default() },
            transport: Transport::Other { protocol: PROTOCOL_SCTP, payload: Payload::Bytes(bytes.into()) },
            damaged: false,
        }
    }

    /// Takes what the library tells.
    fn hear(&mut self, arrival: SctpArrival) {
        if arrival.closing
            && matches!(self.state, State::Established | State::ShutdownPending)
            && !arrival.abort
        {
            self.state = State::ShutdownReceived;
            self.end_of_stream();
        }
        let mut readable = false;
        while let Some(event) = self.association.as_mut().and_then(|(_, association)| association.poll()) {
            match event {
                TheirEvent::Connected => {
                    self.state = State::Established;
                    self.events.push_back(Event::Connected);
                }
                TheirEvent::HandshakeFailed { .. } => self.over(Event::TimedOut),
                TheirEvent::AssociationLost { .. } => {
                    let orderly = self.state == State::ShutdownAckSent && !arrival.abort;
                    self.over(if orderly { Event::Closed } else { Event::Reset });
                }
                TheirEvent::Stream(StreamEvent::Readable { id }) => {
                    self.inbox.readable(id);
                    readable = true;
                }
                _ => {}
            }
        }
        if readable {
            self.events.push_back(Event::Readable);
        }
    }

    fn end_of_stream(&mut self) {
        if !std::mem::replace(&mut self.told.end, true) {
            self.events.push_back(Event::EndOfStream);
        }
    }

    fn over(&mut self, how: Event) {
        if self.state == State::Over {
            return;
        }
        if how == Event::Closed {
            self.end_of_stream();
        }
        self.state = State::Over;
        self.events.push_back(how);
    }

    /// Counts what is still in the send buffer.
    fn release(&mut self) {
        let Some((_, association)) = &mut self.association else { return };
        let of =
            |id: &StreamId| association.stream(*id).ok().and_then(|stream| stream.buffered_amount().ok());
        self.buffered = self.own.iter().filter_map(of).sum::<usize>() as u64;
        if self.told.blocked && self.buffered < self.config.send_buffer.0 && self.state.is_up() {
            self.told.blocked = false;
            self.events.push_back(Event::Writable);
        }
    }

    /// Begins the shutdown that the application has asked for, once everything is acknowledged; true if it does.
    fn shuts_down(&mut self) -> bool {
        let waits = self.buffered > 0 || self.reasons.in_flight() > 0;
        if !self.told.closing || waits || !matches!(self.state, State::Established | State::ShutdownPending) {
            return false;
        }
        self.association.as_mut().is_some_and(|(_, association)| association.shutdown().is_ok())
    }

    /// Acts on what the application has called.
    fn settle(&mut self, now: Instant) {
        if self.called {
            self.run(now, Cause::Application, SctpArrival::default());
        }
    }
}

impl Endpoint for SctpEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.settle(now);
        let bytes = match &packet.transport {
            Transport::Other { protocol: PROTOCOL_SCTP, payload } => payload.bytes().into_owned(),
            Transport::Sctp(typed) => {
                let mut bytes = Vec::with_capacity(typed.len());
                typed.emit_unsummed_into(&mut bytes);
                bytes
            }
            _ => return,
        };
        let seen = self.reasons.seen();
        self.inbox.arrives(&bytes, |tsn| seen.has_received(SeqNumber(tsn)));
        let arrival = self.reasons.arrived(&bytes);
        if let Some(cumulative) = arrival.acknowledges {
            self.places.acknowledge(cumulative);
        }
        if arrival.closing
            && let Some((_, association)) = &mut self.association
        {
            // An association that ends takes along what has not been read.
            self.inbox.take(association, true);
        }
        self.take(now, bytes);
        self.run(now, Cause::Packet, arrival);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.settle(now);
        if self.state == State::Over || self.next.is_none_or(|due| due > now) {
            return;
        }
        let at = self.clock.theirs(now);
        if let Some((_, association)) = &mut self.association {
            association.handle_timeout(at);
        }
        self.run(now, Cause::Timer, SctpArrival::default());
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        self.settle(now);
        self.out.pop_front()
    }

    /// The library's timers of an association that is over are asleep, but it answers what still comes.
    fn poll_timer(&self) -> Option<Instant> {
        if self.called {
            return Some(self.now);
        }
        self.next.filter(|_| self.state != State::Over)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.settle(self.now);
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        let association = self.association.as_ref().filter(|_| self.state.is_up());
        let phase = self.reasons.phase();
        // What it calls the RTT is the timeout without its backoff.
        let rto = association.filter(|_| phase != "loss").map(|(_, association)| association.rtt());
        Snapshot {
            state: self.state.name(),
            phase,
            in_flight: Some(self.reasons.in_flight()),
            send_queue: self.buffered,
            rto: rto.map(|rto| Duration::from_nanos(rto.as_nanos() as u64)),
            counters: (*self.reasons.counters()).into(),
            ..Snapshot::default()
        }
    }
}

impl StackEnd for SctpEnd {
    fn counters(&self) -> &Counters {
        self.reasons.counters()
    }

    fn misplaced_bytes(&self) -> u64 {
        self.inbox.misplaced
    }

    fn failure(&self) -> Option<String> {
        self.failure.clone()
    }

    fn is_of_messages(&self) -> bool {
        true
    }

    fn initial_number(&self) -> Option<SeqNumber> {
        self.reasons.seen().initial()
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.reasons.seen().has_received_all(from, end)
    }
}

/// The library's own settings of an end.
fn transport(config: &SctpProtoConfig, end: &EndSettings) -> TransportConfig {
    let ms = |time: Duration| time.as_nanos() / 1_000_000;
    let size = |bytes: rexmit_units::Bytes| u32::try_from(bytes.0).unwrap_or(u32::MAX);
    TransportConfig::default()
        .with_max_receive_buffer_size(size(config.receive_buffer))
        // Who receives has no other limit: there is nobody to agree with on one, as WebRTC has in SDP.
        .with_max_receive_message_size(size(config.receive_buffer))
        .with_max_send_message_size(size(config.max_message))
        .with_max_num_outbound_streams(config.streams.max(end.streams))
        .with_max_init_retransmits(Some(config.init_retransmits.into()))
        .with_rto_initial_ms(ms(config.rto_initial))
        .with_rto_min_ms(ms(config.rto_min))
        .with_rto_max_ms(ms(config.rto_max))
        .with_local_port(end.local.port())
        .with_remote_port(end.remote.port())
}
