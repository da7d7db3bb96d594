//! Packet scripts: one association under test, the test plays the peer, and the text reads as a protocol diagram.
//!
//! ```ignore
//! let mut t = Script::up(lksctp(json!({})));
//! t.write(100).expect("1:100");
//! t.at_ms(30).recv(sack(1));
//! ```
//!
//! TSNs are counted from 1 on each side. What leaves is text: `1:100` a DATA chunk with its TSN and length, `SACK 3 [2-4]
//! dup 1` a SACK with gap blocks and duplicates; chunks of one packet are joined by ` + `. Time stands still until the
//! test moves it. A packet that leaves and is not expected fails the test at the next step.

#![allow(dead_code, unused_imports, reason = "shared by several test programs; not each uses all")]

pub mod pair;
pub mod profiles;
pub mod text;

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rexmit_sctp::{Association, AssociationConfig, Profile, Role, State};
use rexmit_stack::{Delivery, Endpoint, Event, Reason, Snapshot, Socket, Transmission};
use rexmit_units::{Duration, Instant};
use rexmit_wire::sctp::{self, Chunk, DataChunk, Extension, Gap, InitChunk, SackChunk, kind};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

pub use profiles::{lksctp, profile, rfc};
pub use text::describe;

pub const LOCAL: &str = "10.0.0.1:5001";
pub const REMOTE: &str = "10.0.0.2:10000";
/// Tags and initial TSNs of the association and of the peer.
pub const TAG: u32 = 0x0a0a_0a0a;
pub const PEER_TAG: u32 = 0x0b0b_0b0b;
pub const TSN: u32 = 1_000;
pub const PEER_TSN: u32 = 5_000;
/// The window of the peer, unless a test says otherwise.
pub const WINDOW: u32 = 1 << 20;

/// A SACK of the peer: TSNs up to `cumulative`.
pub fn sack(cumulative: u32) -> SackChunk {
    let cumulative = TSN.wrapping_add(cumulative).wrapping_sub(1);
    SackChunk { cumulative, window: WINDOW, ..SackChunk::default() }
}

/// A SACK with gap blocks: first and last TSNs.
pub fn gaps(cumulative: u32, blocks: &[(u16, u16)]) -> SackChunk {
    let offset = |tsn: u16| tsn - cumulative as u16;
    let gaps = blocks.iter().map(|(first, last)| Gap { start: offset(*first), end: offset(*last) });
    SackChunk { gaps: gaps.collect(), ..sack(cumulative) }
}

/// A whole message of the peer: one DATA chunk on stream 0, whose bytes follow those of the TSNs before, each of `len`.
pub fn data(tsn: u32, len: u32) -> DataChunk {
    DataChunk {
        tsn: PEER_TSN.wrapping_add(tsn).wrapping_sub(1),
        message: tsn - 1,
        begin: true,
        end: true,
        payload: Payload::Stream { offset: u64::from(tsn - 1) * u64::from(len), len },
        ..DataChunk::default()
    }
}

/// The INIT, or INIT-ACK, of the peer.
pub fn init() -> InitChunk {
    InitChunk {
        initiate_tag: PEER_TAG,
        window: WINDOW,
        outbound_streams: 100,
        inbound_streams: 100,
        initial_tsn: PEER_TSN,
        addresses: Vec::new(),
        cookie: None,
        extensions: vec![Extension::ForwardTsn],
    }
}

/// Chunks of one packet.
pub trait Chunks {
    fn chunks(self) -> Vec<Chunk>;
}

impl Chunks for SackChunk {
    fn chunks(self) -> Vec<Chunk> {
        vec![Chunk::Sack(self)]
    }
}

impl Chunks for DataChunk {
    fn chunks(self) -> Vec<Chunk> {
        vec![Chunk::Data(self)]
    }
}

impl Chunks for Chunk {
    fn chunks(self) -> Vec<Chunk> {
        vec![self]
    }
}

impl Chunks for Vec<Chunk> {
    fn chunks(self) -> Vec<Chunk> {
        self
    }
}

/// A script under way.
pub struct Script {
    pub assoc: Association,
    pub now: Instant,
    sent: VecDeque<(Instant, String, Reason)>,
    /// The last packet that left, as it was.
    pub last: Option<Box<Packet>>,
    events: Vec<Event>,
    log: Vec<String>,
    /// Tags that the next packets of the peer carry, and the one it expects.
    pub tag: u32,
    /// The peer's address from which packets come, and ours to which they go.
    pub from: IpAddr,
    pub to: IpAddr,
}

pub fn config(profile: Arc<Profile>, role: Role) -> AssociationConfig {
    AssociationConfig {
        profile,
        local: LOCAL.parse().expect("an address"),
        remote: REMOTE.parse().expect("an address"),
        more_local: Vec::new(),
        more_remote: Vec::new(),
        mtu: 1500,
        phase: Duration::ZERO,
        role,
        tag: TAG,
        initial_tsn: TSN,
        secret: 0x5eed,
    }
}

fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

impl Script {
    /// Before the handshake.
    pub fn new(config: AssociationConfig) -> Self {
        let (from, to) = (config.remote.ip(), config.local.ip());
        Self {
            assoc: Association::new(config),
            now: Instant::ZERO,
            sent: VecDeque::new(),
            last: None,
            events: Vec::new(),
            log: Vec::new(),
            tag: TAG,
            from,
            to,
        }
    }

    /// An active association that stands since the start.
    pub fn up(profile: Arc<Profile>) -> Self {
        Self::up_with(profile, init())
    }

    /// The same, with this INIT-ACK of the peer.
    pub fn up_with(profile: Arc<Profile>, answer: InitChunk) -> Self {
        Self::up_from(config(profile, Role::Active), answer)
    }

    pub fn up_from(config: AssociationConfig, mut answer: InitChunk) -> Self {
        let mut t = Self::new(config);
        answer.cookie = Some([7; 8].into());
        t.connect().expect("INIT").recv(Chunk::InitAck(Box::new(answer)));
        t.expect("COOKIE-ECHO").recv(Chunk::CookieAck).expect_event(Event::Connected);
        t
    }

    // Time.

    /// Moves to `at`; timers fire at their due time.
    pub fn at_ms(&mut self, at: u64) -> &mut Self {
        self.run_until(ms(at))
    }

    pub fn advance_ms(&mut self, by: u64) -> &mut Self {
        self.run_until(self.now + Duration::from_millis(by))
    }

    pub fn now_ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    fn run_until(&mut self, to: Instant) -> &mut Self {
        while let Some(due) = self.assoc.poll_timer().filter(|due| *due <= to) {
            self.fire(due);
        }
        self.now = self.now.max(to);
        self
    }

    fn fire(&mut self, due: Instant) {
        self.now = self.now.max(due);
        self.note("     timer");
        self.assoc.handle_timer(self.now);
        let again = self.assoc.poll_timer();
        self.collect();
        self.check(again.is_none_or(|next| next > due), "a timer that fired is due again at once");
    }

    fn note(&mut self, text: &str) {
        self.log.push(format!("{:>10.3} {text}", self.now.as_nanos() as f64 / 1e6));
    }

    // The wire.

    /// The peer sends a packet.
    pub fn recv(&mut self, chunks: impl Chunks) -> &mut Self {
        self.expect_nothing();
        self.recv_more(chunks)
    }

    /// As [`Self::recv`], while packets of the association may still wait to be expected.
    pub fn recv_more(&mut self, chunks: impl Chunks) -> &mut Self {
        let chunks = chunks.chunks();
        let tag = if matches!(chunks[0], Chunk::Init(_)) { 0 } else { self.tag };
        self.recv_packet(tag, chunks)
    }

    /// The peer sends a packet with this tag.
    pub fn recv_packet(&mut self, tag: u32, chunks: Vec<Chunk>) -> &mut Self {
        let port = |text: &str| text.parse::<SocketAddr>().expect("an address").port();
        let packet = sctp::Packet { src_port: port(REMOTE), dst_port: port(LOCAL), tag, chunks };
        self.note(&format!("---> {}", describe(&packet, PEER_TSN, TSN)));
        self.handle(Transport::Sctp(packet))
    }

    /// The peer sends these bytes.
    pub fn recv_bytes(&mut self, bytes: &[u8]) -> &mut Self {
        self.note("---> bytes");
        self.handle(Transport::Other { protocol: 132, payload: Payload::Bytes(bytes.into()) })
    }

    fn handle(&mut self, transport: Transport) -> &mut Self {
        let packet =
            Packet { src: self.from, dst: self.to, ip: IpFields::default(), transport, damaged: false };
        self.assoc.handle_packet(self.now, Box::new(packet));
        self.collect();
        self
    }

    fn collect(&mut self) {
        while let Some(Transmission { packet, reason }) = self.assoc.poll_transmit(self.now) {
            let Transport::Sctp(p) = &packet.transport else { panic!("no SCTP") };
            let text = describe(p, TSN, PEER_TSN);
            assert!(packet.ip_len() <= 1500, "{text}: {} bytes", packet.ip_len());
            // What the model sends is what its bytes say.
            let bytes = p.emit();
            let read = sctp::Packet::parse(&bytes).expect("a legal packet");
            // (Of causes, values keep the codes only.)
            assert!(read.emit() == bytes || text.starts_with("ERROR"), "{text}");
            self.note(&format!("<--- {text}"));
            self.sent.push_back((self.now, text, reason));
            self.last = Some(packet);
        }
        while let Some(event) = self.assoc.poll_event() {
            self.note(&format!("     {event:?}"));
            self.events.push(event);
        }
        let wrong = self.assoc.misplaced_bytes();
        self.check(wrong == 0, &format!("{wrong} bytes misplaced"));
    }

    // Expectations.

    /// The next packet left at this instant and is `want`.
    pub fn expect(&mut self, want: &str) -> &mut Self {
        self.take(want);
        self
    }

    /// The same, for this reason.
    pub fn expect_for(&mut self, want: &str, reason: Reason) -> &mut Self {
        let got = self.take(want);
        self.check(got == reason, &format!("{want}: {reason:?} expected, {got:?}"));
        self
    }

    fn take(&mut self, want: &str) -> Reason {
        let Some((at, got, reason)) = self.sent.pop_front() else {
            self.fail(&format!("expected {want}\n     got nothing"));
        };
        self.check(want == got, &format!("expected {want}\n     got {got}"));
        self.check(at == self.now, &format!("{got} left at {:.3} ms already", at.as_nanos() as f64 / 1e6));
        reason
    }

    /// The next packet leaves at `at` ms, not before, and is `want`.
    pub fn expect_at_ms(&mut self, at: u64, want: &str) -> &mut Self {
        self.expect_nothing();
        while self.sent.is_empty() {
            match self.assoc.poll_timer().filter(|due| *due <= ms(at)) {
                Some(due) => self.fire(due),
                None => self.fail(&format!("expected {want} at {at} ms\n     got nothing")),
            }
        }
        let left = self.now;
        self.check(left == ms(at), &format!("a packet left at {:.3} ms", left.as_nanos() as f64 / 1e6));
        self.expect(want)
    }

    /// Nothing has left that was not expected.
    pub fn expect_nothing(&mut self) -> &mut Self {
        if let Some((at, got, _)) = self.sent.front() {
            let text = format!("unexpected {got} at {:.3} ms", at.as_nanos() as f64 / 1e6);
            self.fail(&text);
        }
        self
    }

    /// Nothing leaves up to and including `at` ms.
    pub fn expect_nothing_until_ms(&mut self, at: u64) -> &mut Self {
        self.expect_nothing();
        self.at_ms(at);
        self.expect_nothing()
    }

    /// Forgets what has left so far; returns it with its times in ms.
    pub fn drain(&mut self) -> Vec<(u64, String)> {
        self.sent.drain(..).map(|(at, text, _)| (at.as_nanos() / 1_000_000, text)).collect()
    }

    pub fn expect_state(&mut self, want: State) -> &mut Self {
        let state = self.assoc.state();
        self.check(state == want, &format!("{} expected, {}", want.name(), state.name()));
        self
    }

    /// The event has been raised since the last call.
    pub fn expect_event(&mut self, want: Event) -> &mut Self {
        let found = self.events.contains(&want);
        self.check(found, &format!("{want:?} expected, {:?}", self.events));
        self.events.clear();
        self
    }

    pub fn expect_cwnd(&mut self, want: u64) -> &mut Self {
        let cwnd = self.snap().cwnd;
        self.check(cwnd == want, &format!("cwnd {want} expected, {cwnd}"));
        self
    }

    pub fn expect_ssthresh(&mut self, want: u64) -> &mut Self {
        let ssthresh = self.snap().ssthresh;
        self.check(ssthresh == Some(want), &format!("ssthresh {want} expected, {ssthresh:?}"));
        self
    }

    /// The slow-start threshold is unlimited.
    pub fn expect_no_ssthresh(&mut self) -> &mut Self {
        let ssthresh = self.snap().ssthresh;
        self.check(ssthresh.is_none(), &format!("no ssthresh expected, {ssthresh:?}"));
        self
    }

    pub fn expect_rto_ms(&mut self, want: u64) -> &mut Self {
        let rto = self.snap().rto;
        self.check(rto == Some(Duration::from_millis(want)), &format!("RTO {want} ms expected, {rto:?}"));
        self
    }

    pub fn expect_flight(&mut self, want: u64) -> &mut Self {
        let flight = self.snap().in_flight;
        self.check(flight == Some(want), &format!("{want} in flight expected, {flight:?}"));
        self
    }

    pub fn snap(&self) -> Snapshot {
        self.assoc.snapshot()
    }

    pub fn check(&self, holds: bool, text: &str) {
        if !holds {
            self.fail(text);
        }
    }

    pub fn fail(&self, text: &str) -> ! {
        let log = self.log.join("\n");
        panic!(
            "at {:.3} ms:\n{text}\n\nso far (<--- association, ---> peer):\n{log}",
            self.now.as_nanos() as f64 / 1e6
        );
    }

    // The application.

    pub fn connect(&mut self) -> &mut Self {
        self.assoc.connect(self.now);
        self.collect();
        self
    }

    /// Writes a message, which must be taken.
    pub fn write(&mut self, len: u64) -> &mut Self {
        let taken = self.try_send(len, Delivery::default());
        self.check(taken == len, &format!("write({len}) took {taken}"));
        self
    }

    /// `count` messages of `len` bytes.
    pub fn writes(&mut self, count: usize, len: u64) -> &mut Self {
        for _ in 0..count {
            self.write(len);
        }
        self
    }

    /// Writes a message to be delivered so; it must be taken.
    pub fn send(&mut self, len: u64, how: Delivery) -> &mut Self {
        let taken = self.try_send(len, how);
        self.check(taken == len, &format!("send({len}) took {taken}"));
        self
    }

    pub fn try_send(&mut self, len: u64, how: Delivery) -> u64 {
        self.note(&format!("     write({len})"));
        let taken = self.assoc.send(self.now, len, how);
        self.collect();
        taken
    }

    /// Reads; returns where it began and how much there was.
    pub fn read(&mut self, max: u64) -> (u64, u64) {
        self.note(&format!("     read({max})"));
        let len = self.assoc.read(self.now, max);
        self.collect();
        (self.assoc.read_offset().unwrap_or(0), len)
    }

    pub fn close(&mut self) -> &mut Self {
        self.note("     close()");
        self.assoc.close(self.now);
        self.collect();
        self
    }

    pub fn abort(&mut self) -> &mut Self {
        self.assoc.abort(self.now);
        self.collect();
        self
    }
}

impl Drop for Script {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.expect_nothing();
        }
    }
}
