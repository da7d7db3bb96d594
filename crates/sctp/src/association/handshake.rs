//! The four-way handshake (RFC 9260 sections 5.1 and 5.2).

use std::net::IpAddr;

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Chunk, Extension, InitChunk, kind};

use super::output::Trigger;
use super::{Association, OFF, Role, State};
use crate::cookie::Cookie;
use crate::inbound::Inbound;
use crate::mac::mac;
use crate::outbound::Outbound;
use crate::path::Path;
use crate::profile::InitialSsthresh;

/// From where to where a packet goes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ends {
    pub from: IpAddr,
    pub to: IpAddr,
}

impl Ends {
    /// Those of an answer.
    pub(super) fn back(self) -> Self {
        Self { from: self.to, to: self.from }
    }
}

impl Association {
    /// Active open: the first INIT.
    pub(super) fn open(&mut self, now: Instant) {
        if self.state != State::Closed || self.role != Role::Active || self.peer.tag != 0 {
            return;
        }
        let mut remotes = vec![self.remote.ip()];
        remotes.extend(self.more_remote.clone());
        self.make_paths(&remotes);
        self.state = State::CookieWait;
        self.start_control(now);
        self.send_init();
    }

    /// The control timer runs with the first timeout.
    pub(super) fn start_control(&mut self, now: Instant) {
        self.control.expiries = 0;
        self.control.wait = self.paths.get(self.primary).map_or(self.profile.rto.initial, |p| p.rto.get());
        self.timers.control = self.clock.deadline(now, self.control.wait);
    }

    pub(super) fn send_init(&mut self) {
        let chunk = Chunk::Init(Box::new(self.init_chunk(self.tag, self.initial_tsn)));
        let backoff = self.control.expiries;
        let path = self.control_path();
        let ends = self.ends(path);
        self.counters.pure_acks += 1;
        self.emit_to(Reason::Control { backoff }, ends, 0, vec![chunk]);
    }

    /// What INIT and INIT-ACK say of this side.
    fn init_chunk(&self, tag: u32, initial_tsn: u32) -> InitChunk {
        let rules = &self.profile.association;
        let mut kinds = Vec::new();
        let mut extensions = Vec::new();
        if rules.interleaving {
            kinds.extend([kind::I_DATA, kind::I_FORWARD_TSN]);
        }
        if rules.partial_reliability {
            kinds.push(kind::FORWARD_TSN);
            extensions.push(Extension::ForwardTsn);
        }
        if !kinds.is_empty() {
            extensions.push(Extension::Chunks(kinds.into()));
        }
        // Only a host with several addresses lists them (RFC 9260 section 5.1.2 A).
        let mut addresses = Vec::new();
        if !self.more_local.is_empty() {
            addresses.push(self.local.ip());
            addresses.extend(&self.more_local);
        }
        InitChunk {
            initiate_tag: tag,
            window: self.profile.buffers.receive.0.min(u64::from(u32::MAX)) as u32,
            outbound_streams: rules.outbound_streams,
            inbound_streams: rules.inbound_streams,
            initial_tsn,
            addresses,
            cookie: None,
            extensions,
        }
    }

    /// An INIT: it is answered and nothing is kept of it, whatever the state (RFC 9260 sections 5.1 and 5.2).
    pub(super) fn on_init(&mut self, now: Instant, ends: Ends, init: &InitChunk) {
        if init.initiate_tag == 0
            || init.outbound_streams == 0
            || init.inbound_streams == 0
            || u64::from(init.window) < 1_500
        {
            self.faults.malformed_chunks += 1;
            self.abort_init(ends, init.initiate_tag);
            return;
        }
        let (tag, tsn) = match self.state {
            State::Closed => {
                self.out_of_the_blue(ends, init.initiate_tag);
                return;
            }
            State::Listen => (self.tag, self.initial_tsn),
            // RFC 9260 section 5.2.1: the parameters of our own INIT.
            State::CookieWait | State::CookieEchoed => (self.tag, self.initial_tsn),
            State::ShutdownAckSent => {
                // RFC 9260 section 9.2: the SHUTDOWN-ACK again, and nothing else.
                self.faults.unexpected_inits += 1;
                self.send_shutdown_ack(now, 0);
                return;
            }
            // RFC 9260 section 5.2.2: a new tag, so that the cookies differ.
            _ => (self.make_tag(init.initiate_tag), self.make_tag(!init.initiate_tag)),
        };
        if self.state != State::Listen {
            self.faults.unexpected_inits += 1;
        }
        if self.state.is_up() && self.adds_addresses(ends.from, init) {
            // RFC 9260 section 5.2.2: a restart may not add addresses.
            self.abort_init(ends, init.initiate_tag);
            return;
        }
        let rules = &self.profile.association;
        let offers =
            |kind: u8| init.extensions.iter().any(|e| matches!(e, Extension::Chunks(k) if k.contains(&kind)));
        let forwards = init.extensions.contains(&Extension::ForwardTsn) || offers(kind::FORWARD_TSN);
        let cookie = Cookie {
            local_tag: tag,
            peer_tag: init.initiate_tag,
            local_tsn: tsn,
            peer_tsn: init.initial_tsn,
            window: init.window,
            outbound_streams: rules.outbound_streams.min(init.inbound_streams),
            inbound_streams: rules.inbound_streams.min(init.outbound_streams),
            partial_reliability: rules.partial_reliability && forwards,
            interleaving: rules.interleaving && offers(kind::I_DATA),
            ties: if self.state > State::Listen { [self.tag, self.peer.tag] } else { [0; 2] },
            created: now,
            life: rules.cookie_life,
            addresses: init.addresses.iter().filter(|a| **a != ends.from).copied().collect(),
        };
        let mut answer = self.init_chunk(tag, tsn);
        answer.cookie = Some(cookie.seal(self.secret));
        self.counters.pure_acks += 1;
        let reason = Reason::Control { backoff: 0 };
        self.emit_to(reason, ends.back(), init.initiate_tag, vec![Chunk::InitAck(Box::new(answer))]);
    }

    fn adds_addresses(&self, from: IpAddr, init: &InitChunk) -> bool {
        let mut all = init.addresses.iter().chain([&from]);
        all.any(|address| self.paths.iter().all(|path| path.remote != *address))
    }

    fn abort_init(&mut self, ends: Ends, tag: u32) {
        self.counters.pure_acks += 1;
        // Invalid mandatory parameter (RFC 9260 section 3.3.10.7).
        let chunk = Chunk::Abort { reflected: false, causes: vec![7] };
        self.emit_to(Reason::Reset, ends.back(), tag, vec![chunk]);
    }

    /// A tag or TSN that nobody can guess and that is not given twice.
    fn make_tag(&mut self, salt: u32) -> u32 {
        self.tags_made += 1;
        let text = [salt.to_be_bytes(), self.tags_made.to_be_bytes()].concat();
        (mac(!self.secret, &text) as u32).max(1)
    }

    /// An INIT-ACK in COOKIE-WAIT; elsewhere it means nothing (RFC 9260 section 5.2.3).
    pub(super) fn on_init_ack(&mut self, now: Instant, from: IpAddr, init: &InitChunk) {
        if self.state != State::CookieWait {
            self.faults.unexpected_init_acks += 1;
            return;
        }
        let whole = init.initiate_tag != 0 && init.outbound_streams > 0 && init.inbound_streams > 0;
        let Some(cookie) = init.cookie.as_ref().filter(|_| whole) else {
            self.faults.malformed_chunks += 1;
            self.enter_closed(Event::Closed);
            return;
        };
        let rules = &self.profile.association;
        let offers =
            |kind: u8| init.extensions.iter().any(|e| matches!(e, Extension::Chunks(k) if k.contains(&kind)));
        let forwards = init.extensions.contains(&Extension::ForwardTsn) || offers(kind::FORWARD_TSN);
        self.peer.tag = init.initiate_tag;
        self.peer.partial_reliability = rules.partial_reliability && forwards;
        self.peer.interleaving = rules.interleaving && offers(kind::I_DATA);
        self.streams_out = rules.outbound_streams.min(init.inbound_streams);
        self.streams_in = rules.inbound_streams.min(init.outbound_streams);
        self.learn(init.initial_tsn, init.window);
        let mut addresses: Vec<IpAddr> = self.paths.iter().map(|path| path.remote).collect();
        addresses.push(from);
        addresses.extend(&init.addresses);
        self.make_paths(&addresses);
        self.control.cookie = cookie.clone();
        self.state = State::CookieEchoed;
        self.start_control(now);
        self.send_cookie_echo();
    }

    /// The receiver begins before the peer's first TSN, and the sender knows the peer's window.
    fn learn(&mut self, peer_tsn: u32, window: u32) {
        self.peer.initial_tsn = peer_tsn;
        let reads_marks = self.inb.reads_marks;
        self.inb = Inbound::new(peer_tsn);
        self.inb.reads_marks = reads_marks;
        self.out.peer_window = window.into();
        self.owed.window = self.profile.buffers.receive.0;
    }

    pub(super) fn send_cookie_echo(&mut self) {
        let backoff = self.control.expiries;
        let chunk = Chunk::CookieEcho(self.control.cookie.clone());
        let path = self.control_path();
        self.emit_control(Reason::Control { backoff }, path, vec![chunk]);
    }

    /// A COOKIE-ECHO (RFC 9260 sections 5.1.5 and 5.2.4). True: the rest of its packet may be looked at.
    pub(super) fn on_cookie_echo(&mut self, now: Instant, ends: Ends, tag: u32, bytes: &[u8]) -> bool {
        let Some((cookie, stale)) = Cookie::open(self.secret, now, bytes) else {
            self.faults.bad_cookies += 1;
            return false;
        };
        if tag != cookie.local_tag {
            self.faults.wrong_tags += 1;
            return false;
        }
        let known = self.state > State::Listen;
        let (ours, theirs) = (cookie.local_tag == self.tag, cookie.peer_tag == self.peer.tag);
        if stale.is_some() && !(known && ours && theirs) {
            self.faults.stale_cookies += 1;
            let over = stale.map_or(0, |over| (over.as_nanos() / 1_000).min(u64::from(u32::MAX)) as u32);
            self.refuse_stale(ends, cookie.peer_tag, over);
            return false;
        }
        match (self.state, ours, theirs) {
            (State::Closed, ..) => {
                self.out_of_the_blue(ends, cookie.peer_tag);
                return false;
            }
            (State::Listen, ..) => self.establish_from(now, ends.from, &cookie),
            // Action D: our COOKIE-ACK was lost, or both opened.
            (_, true, true) => {
                if self.state == State::CookieEchoed {
                    self.become_established(now);
                }
            }
            // Action B: both opened at the same time.
            (_, true, false) if self.state <= State::CookieEchoed => {
                self.establish_from(now, ends.from, &cookie)
            }
            // Action A: the peer restarted.
            (_, false, false) if cookie.ties == [self.tag, self.peer.tag] && self.state.is_up() => {
                self.faults.restarts += 1;
                if self.state == State::ShutdownAckSent {
                    self.send_shutdown_ack(now, 0);
                    return false;
                }
                self.restart_from(now, ends.from, &cookie);
            }
            // Action C, and all that the table does not have.
            _ => {
                self.faults.unexpected_cookies += 1;
                return false;
            }
        }
        let path = self.path_of(ends.from).unwrap_or(self.primary);
        self.emit_control(Reason::Control { backoff: 0 }, path, vec![Chunk::CookieAck]);
        true
    }

    /// Stale cookie error, with how much too old it is in microseconds (RFC 9260 section 3.3.10.3).
    fn refuse_stale(&mut self, ends: Ends, tag: u32, over: u32) {
        let mut value = vec![0, 3, 0, 8];
        value.extend(over.to_be_bytes());
        let chunk = Chunk::Other { kind: kind::ERROR, flags: 0, value: value.into() };
        self.counters.pure_acks += 1;
        self.emit_to(Reason::Control { backoff: 0 }, ends.back(), tag, vec![chunk]);
    }

    fn establish_from(&mut self, now: Instant, from: IpAddr, cookie: &Cookie) {
        self.tag = cookie.local_tag;
        self.peer.tag = cookie.peer_tag;
        self.peer.partial_reliability = cookie.partial_reliability;
        self.peer.interleaving = cookie.interleaving;
        self.streams_out = cookie.outbound_streams;
        self.streams_in = cookie.inbound_streams;
        self.learn(cookie.peer_tsn, cookie.window);
        let mut addresses: Vec<IpAddr> = self.paths.iter().map(|path| path.remote).collect();
        addresses.push(from);
        addresses.extend(&cookie.addresses);
        self.make_paths(&addresses);
        self.become_established(now);
    }

    /// Everything starts over; what was written and not acknowledged is lost (RFC 9260 section 5.2.4 A).
    fn restart_from(&mut self, now: Instant, from: IpAddr, cookie: &Cookie) {
        self.out = Outbound { marks_places: self.out.marks_places, ..Outbound::new(cookie.local_tsn) };
        self.departures = self.departures.take().map(|_| Box::default());
        self.initial_tsn = cookie.local_tsn;
        self.forwarded = SeqNumber(cookie.local_tsn) - 1;
        self.recovery_exit = None;
        self.in_flight = Default::default();
        self.owed = Default::default();
        self.closing = false;
        self.timers = super::Timers { control: OFF, sack: OFF, guard: OFF };
        self.paths.clear();
        self.state = State::CookieEchoed;
        self.establish_from(now, from, cookie);
        self.wake_writer();
    }

    /// A COOKIE-ACK (RFC 9260 section 5.1 E).
    pub(super) fn on_cookie_ack(&mut self, now: Instant) {
        if self.state == State::CookieEchoed {
            self.become_established(now);
        } else {
            self.faults.unexpected_chunks += 1;
        }
    }

    fn become_established(&mut self, now: Instant) {
        self.state = State::Established;
        self.timers.control = OFF;
        self.errors = 0;
        self.control.cookie = Box::default();
        for path in &mut self.paths {
            path.last_data = now;
            if self.profile.congestion.initial_ssthresh == InitialSsthresh::PeerWindow {
                path.window.ssthresh = self.out.peer_window;
            }
        }
        if let Some(path) = self.paths.get_mut(self.primary) {
            path.confirmed = true;
        }
        self.begin_heartbeats(now);
        self.raise(Event::Connected);
        if self.closing {
            self.closing = false;
            self.shut(now);
        }
        self.flush(now, Trigger::Usual);
    }

    /// T1 has run out (RFC 9260 sections 4 and 5.1).
    pub(super) fn on_t1(&mut self, now: Instant) {
        self.counters.timeouts += 1;
        if self.control.expiries >= self.profile.association.max_init_retransmits {
            self.enter_closed(Event::TimedOut);
            return;
        }
        self.back_off_control(now);
        match self.state {
            State::CookieWait => self.send_init(),
            _ => self.send_cookie_echo(),
        }
    }

    pub(super) fn back_off_control(&mut self, now: Instant) {
        self.control.expiries += 1;
        self.control.wait = (self.control.wait * 2).min(self.profile.rto.max);
        self.timers.control = self.clock.deadline(now, self.control.wait);
    }

    /// The cookie was too old: a new one is asked for (RFC 9260 section 5.2.6, first choice).
    pub(super) fn on_stale_cookie(&mut self, now: Instant) {
        if self.state == State::CookieEchoed {
            self.state = State::CookieWait;
            let expiries = self.control.expiries;
            self.start_control(now);
            self.control.expiries = expiries + 1;
            self.send_init();
        }
    }

    /// Paths to these addresses, each once; existing ones stay as they are.
    fn make_paths(&mut self, remotes: &[IpAddr]) {
        for remote in remotes {
            let known = self.paths.iter().any(|path| path.remote == *remote);
            if known || self.paths.len() == usize::from(u8::MAX) {
                continue;
            }
            let Some(local) = self.local_for(*remote, self.paths.len()) else { continue };
            let congestion = self.congestion.clone();
            self.paths.push(Path::new(&self.profile, local, *remote, self.mtu, congestion));
        }
        let header = if self.peer.interleaving { 20 } else { 16 };
        let room = self.paths.iter().map(|path| path.room).min().unwrap_or(self.mtu);
        self.fragment = (((room - 12) & !3).saturating_sub(header)).max(4);
    }

    /// Our address towards the peer's address number `place`: of the same family, and of the same place if there is one.
    fn local_for(&self, remote: IpAddr, place: usize) -> Option<IpAddr> {
        let mine: Vec<IpAddr> = [self.local.ip()]
            .into_iter()
            .chain(self.more_local.iter().copied())
            .filter(|address| address.is_ipv4() == remote.is_ipv4())
            .collect();
        mine.get(place).or(mine.first()).copied()
    }

    /// The path to an address of the peer.
    pub(super) fn path_of(&self, remote: IpAddr) -> Option<usize> {
        self.paths.iter().position(|path| path.remote == remote)
    }

    /// Where INIT and COOKIE-ECHO go: each expiry tries the next address.
    fn control_path(&self) -> usize {
        (self.primary + self.control.expiries as usize) % self.paths.len().max(1)
    }
}
