//! Packet scripts: one connection under test, the test plays the peer, and the text reads as a protocol
//! diagram.
//!
//! ```ignore
//! let mut t = Script::server(freebsd(json!({})));
//! t.establish(10);
//! t.write(1448);
//! t.expect(data(1..1449).psh());
//! t.at_ms(30).recv(ack(1449));
//! ```
//!
//! Time stands still until the test moves it. Packets are compared one by one; one that leaves and is not
//! expected fails the test at the next step, and a failure prints all that went before.

#![allow(dead_code, unused_imports, reason = "shared by several test programs; not each uses all")]

pub mod pair;
pub mod profiles;
pub mod seg;

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_stack::{Endpoint, Event, Snapshot, Socket, Transmission};
use rexmit_tcp::congestion::Congestion;
use rexmit_tcp::host_cache::SharedHostCache;
use rexmit_tcp::recovery::OwnRecovery;
use rexmit_tcp::{Connection, ConnectionConfig, Profile, Role, State};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{
    Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps, Transport,
};

pub use profiles::{freebsd, profile};
pub use seg::{Seg, ack, data, fin, rst, syn, syn_ack};

pub const LOCAL: &str = "10.0.0.1:5001";
pub const REMOTE: &str = "10.0.0.2:10000";
/// A window field that a FreeBSD client sends: 66608 >> 1.
pub const WIN: u16 = 33_304;

/// A server of FreeBSD 6.0 with `changes`, established over a round trip of 10 ms.
pub fn serve(changes: serde_json::Value) -> Script {
    let mut t = Script::server(freebsd(changes));
    t.establish(10);
    t
}

/// What the peer's SYN offers.
#[derive(Clone, Copy, Debug)]
pub struct Peer {
    pub mss: u16,
    pub wscale: Option<u8>,
    pub sack: bool,
    pub ts: bool,
    /// Window field of the SYN.
    pub syn_win: u16,
    /// Window field of all that follows.
    pub win: u16,
}

impl Default for Peer {
    fn default() -> Self {
        Self { mss: 1460, wscale: Some(1), sack: true, ts: true, syn_win: 65_535, win: WIN }
    }
}

/// A script under way.
pub struct Script {
    pub conn: Connection,
    now: Instant,
    sent: VecDeque<(Instant, Seg)>,
    events: Vec<Event>,
    log: Vec<String>,
    /// Initial sequence numbers of the connection and of the peer.
    iss: u32,
    irs: u32,
    peer: Peer,
    /// The peer's next sequence number and last acknowledgment.
    peer_nxt: u32,
    peer_ack: u32,
    /// Timestamps are in use; the last value that the connection sent.
    ts: bool,
    last_value: u32,
}

fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

impl Script {
    /// A passive connection in LISTEN.
    pub fn server(profile: Arc<Profile>) -> Self {
        Self::new(profile, Role::Passive, 1_000, 5_000)
    }

    /// An active connection, before connect().
    pub fn client(profile: Arc<Profile>) -> Self {
        Self::new(profile, Role::Active, 1_000, 5_000)
    }

    /// With chosen initial sequence numbers of the connection and of the peer.
    pub fn new(profile: Arc<Profile>, role: Role, iss: u32, irs: u32) -> Self {
        Self::at_host(profile, role, (iss, irs), None)
    }

    /// A connection whose host keeps what this cache holds.
    pub fn keeping(profile: Arc<Profile>, role: Role, cache: &SharedHostCache) -> Self {
        Self::at_host(profile, role, (1_000, 5_000), Some(cache.clone()))
    }

    fn at_host(
        profile: Arc<Profile>,
        role: Role,
        (iss, irs): (u32, u32),
        host_cache: Option<SharedHostCache>,
    ) -> Self {
        let address = |s: &str| s.parse::<SocketAddr>().expect("an address");
        let conn = Connection::new(ConnectionConfig {
            profile,
            local: address(LOCAL),
            remote: address(REMOTE),
            iss: SeqNumber(iss),
            mtu: 1500,
            phase: Duration::ZERO,
            role,
            host_cache,
        });
        Self {
            conn,
            now: Instant::ZERO,
            sent: VecDeque::new(),
            events: Vec::new(),
            log: Vec::new(),
            iss,
            irs,
            peer: Peer::default(),
            peer_nxt: 1,
            peer_ack: 1,
            ts: false,
            last_value: 0,
        }
    }

    /// The peer has these options and windows.
    pub fn with_peer(mut self, peer: Peer) -> Self {
        self.peer = peer;
        self
    }

    /// The connection has this congestion control in place of its profile's.
    pub fn with_congestion(mut self, congestion: Congestion) -> Self {
        self.conn.set_congestion(congestion);
        self
    }

    /// The connection has this way to recover in place of its profile's.
    pub fn with_recovery(mut self, recovery: &OwnRecovery) -> Self {
        self.conn.set_recovery(recovery);
        self
    }

    fn syn_of_peer(&self) -> Seg {
        let mut s = syn().mss(self.peer.mss).win(self.peer.syn_win);
        s.wscale = Some(self.peer.wscale);
        s.sack_ok = Some(self.peer.sack);
        if !self.peer.ts {
            s = s.no_ts();
        }
        s
    }

    /// Completes the handshake from the present instant on, with a round trip of `rtt` milliseconds.
    pub fn establish(&mut self, rtt: u64) -> &mut Self {
        let s = self.syn_of_peer();
        if self.conn.state() == State::Listen {
            self.recv(s).expect(syn_ack());
            self.advance_ms(rtt).recv(ack(1));
        } else {
            self.connect();
            self.expect(syn());
            self.advance_ms(rtt).recv(s.ack(1)).expect(ack(1));
        }
        let state = self.conn.state();
        self.check(state == State::Established, &format!("ESTABLISHED expected, {}", state.name()));
        self
    }

    // Time.

    /// Moves to `at`; timers fire at their due time.
    pub fn at_ms(&mut self, at: u64) -> &mut Self {
        self.run_until(ms(at));
        self
    }

    pub fn advance_ms(&mut self, by: u64) -> &mut Self {
        self.run_until(self.now + Duration::from_millis(by));
        self
    }

    pub fn now_ms(&self) -> u64 {
        self.now.as_nanos() / 1_000_000
    }

    fn run_until(&mut self, to: Instant) {
        while let Some(due) = self.conn.poll_timer().filter(|due| *due <= to) {
            self.fire(due);
        }
        self.now = self.now.max(to);
    }

    fn fire(&mut self, due: Instant) {
        self.now = self.now.max(due);
        self.log.push(format!("{:>10.3}      timer", self.now.as_nanos() as f64 / 1e6));
        self.conn.handle_timer(self.now);
        let again = self.conn.poll_timer();
        self.collect();
        self.check(again.is_none_or(|next| next > due), "a timer that fired is due again at once");
    }

    // The wire.

    /// The peer sends `s`; what is not stated follows from what was sent before.
    pub fn recv(&mut self, s: Seg) -> &mut Self {
        self.expect_nothing();
        self.recv_more(s)
    }

    /// As [`Self::recv`], while packets of the connection may still wait to be expected.
    pub fn recv_more(&mut self, s: Seg) -> &mut Self {
        let segment = self.segment(&s);
        self.log.push(format!("{:>10.3} ---> {s}", self.now.as_nanos() as f64 / 1e6));
        let packet = Packet {
            src: self.address(REMOTE).ip(),
            dst: self.address(LOCAL).ip(),
            ip: IpFields { tos: s.ecn.unwrap_or(0), ..IpFields::default() },
            transport: Transport::Tcp(segment),
            damaged: false,
        };
        self.conn.handle_packet(self.now, Box::new(packet));
        self.collect();
        self
    }

    fn address(&self, text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    fn segment(&mut self, s: &Seg) -> TcpSegment {
        let len = s.len.unwrap_or(0);
        let seq = s.seq.unwrap_or(self.peer_nxt);
        if s.syn {
            self.ts = s.ts != Some(None) && self.peer.ts;
        } else if !s.rst {
            let end = seq.wrapping_add(len).wrapping_add(u32::from(s.fin));
            self.peer_nxt = self.peer_nxt.max(end);
        }
        let flags = s.flags();
        if let Some(n) = s.ack {
            self.peer_ack = n;
        }
        let number = if flags.has(Flags::ACK) { self.iss.wrapping_add(self.peer_ack) } else { 0 };
        let stamps = match s.ts {
            Some(given) => given,
            None if self.ts => Some((100_000 + self.now_ms() as u32, self.last_value)),
            None => None,
        };
        let mut sack = SackBlocks::default();
        for (left, right) in s.sack.iter().flatten() {
            let at = |n: &u32| SeqNumber(self.iss.wrapping_add(*n));
            assert!(sack.push(at(left), at(right)), "too many blocks");
        }
        let offset = u64::from(seq.wrapping_sub(1));
        TcpSegment {
            src_port: self.address(REMOTE).port(),
            dst_port: self.address(LOCAL).port(),
            seq: SeqNumber(self.irs.wrapping_add(seq)),
            ack: SeqNumber(number),
            flags,
            window: s.win.unwrap_or(self.peer.win),
            urgent: 0,
            mss: s.mss,
            window_scale: s.wscale.flatten(),
            sack_permitted: s.sack_ok == Some(true),
            sack_before_timestamps: false,
            timestamps: stamps.map(|(value, echo)| Timestamps { value, echo }),
            sack,
            unknown_options: None,
            payload: if len == 0 { Payload::EMPTY } else { Payload::Stream { offset, len } },
        }
    }

    fn collect(&mut self) {
        while let Some(Transmission { packet, .. }) = self.conn.poll_transmit(self.now) {
            let Transport::Tcp(t) = packet.transport else { panic!("no TCP") };
            let got = Seg { ecn: Some(packet.ip.tos & 3), ..self.describe(&t) };
            self.log.push(format!("{:>10.3} <--- {got}", self.now.as_nanos() as f64 / 1e6));
            self.sent.push_back((self.now, got));
        }
        while let Some(event) = self.conn.poll_event() {
            self.log.push(format!("{:>10.3}      {event:?}", self.now.as_nanos() as f64 / 1e6));
            self.events.push(event);
        }
        let wrong = self.conn.misplaced_bytes();
        self.check(wrong == 0, &format!("{wrong} bytes misplaced"));
    }

    fn describe(&mut self, t: &TcpSegment) -> Seg {
        if let Some(stamps) = t.timestamps {
            self.last_value = stamps.value;
        }
        let rel = |n: SeqNumber| n.0.wrapping_sub(self.iss);
        let len = t.payload.len();
        if let Payload::Stream { offset, len } = t.payload {
            let seq = rel(t.seq).wrapping_sub(1);
            assert!(len == 0 || offset as u32 == seq, "payload at {offset}, sequence number {seq}");
        }
        Seg {
            syn: t.flags.has(Flags::SYN),
            fin: t.flags.has(Flags::FIN),
            rst: t.flags.has(Flags::RST),
            ece: Some(t.flags.has(Flags::ECE)),
            cwr: Some(t.flags.has(Flags::CWR)),
            ecn: None,
            psh: Some(t.flags.has(Flags::PSH)),
            seq: Some(rel(t.seq)),
            len: Some(len),
            ack: t.flags.has(Flags::ACK).then(|| t.ack.0.wrapping_sub(self.irs)),
            win: Some(t.window),
            mss: t.mss,
            wscale: Some(t.window_scale),
            sack_ok: Some(t.sack_permitted),
            ts: Some(t.timestamps.map(|s| (s.value, s.echo))),
            has_ts: Some(t.timestamps.is_some()),
            sack: Some(
                t.sack
                    .as_slice()
                    .iter()
                    .map(|(l, r)| (l.0.wrapping_sub(self.irs), r.0.wrapping_sub(self.irs)))
                    .collect(),
            ),
        }
    }

    // Expectations.

    /// The next packet left at this instant and is `want`.
    pub fn expect(&mut self, want: Seg) -> &mut Self {
        let Some((at, got)) = self.sent.pop_front() else {
            self.fail(&format!("expected {want}\n     got nothing"));
        };
        self.check(want.accepts(&got), &format!("expected {want}\n     got {got}"));
        self.check(at == self.now, &format!("{got} left at {:.3} ms already", at.as_nanos() as f64 / 1e6));
        self
    }

    /// The next packet leaves at `at` ms, not before, and is `want`.
    pub fn expect_at_ms(&mut self, at: u64, want: Seg) -> &mut Self {
        self.expect_nothing();
        while self.sent.is_empty() {
            match self.conn.poll_timer().filter(|due| *due <= ms(at)) {
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
        if let Some((at, got)) = self.sent.front() {
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
    pub fn drain(&mut self) -> Vec<(u64, Seg)> {
        self.sent.drain(..).map(|(at, seg)| (at.as_nanos() / 1_000_000, seg)).collect()
    }

    pub fn expect_state(&mut self, want: State) -> &mut Self {
        let state = self.conn.state();
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

    /// Whether the event has been raised since the last call.
    pub fn was_told(&mut self, event: Event) -> bool {
        std::mem::take(&mut self.events).contains(&event)
    }

    pub fn expect_cwnd(&mut self, want: u64) -> &mut Self {
        let cwnd = self.snap().cwnd;
        self.check(cwnd == want, &format!("cwnd {want} expected, {cwnd}"));
        self
    }

    /// cwnd is so many full segments of 1448 bytes.
    pub fn expect_window(&self, want: u64) {
        let cwnd = self.snap().cwnd / 1448;
        self.check(cwnd == want, &format!("cwnd of {want} segments expected, {cwnd}"));
    }

    pub fn expect_ssthresh(&mut self, want: u64) -> &mut Self {
        let ssthresh = self.ssthresh();
        self.check(ssthresh == Some(want), &format!("ssthresh {want} expected, {ssthresh:?}"));
        self
    }

    /// The slow-start threshold is unlimited.
    pub fn expect_no_ssthresh(&mut self) -> &mut Self {
        let ssthresh = self.ssthresh();
        self.check(ssthresh.is_none(), &format!("no ssthresh expected, {ssthresh:?}"));
        self
    }

    pub fn expect_phase(&mut self, want: &str) -> &mut Self {
        let phase = self.snap().phase;
        self.check(phase == want, &format!("phase {want} expected, {phase}"));
        self
    }

    pub fn expect_rto_ms(&mut self, want: u64) -> &mut Self {
        let rto = self.rto();
        self.check(rto == Duration::from_millis(want), &format!("RTO {want} ms expected, {rto:?}"));
        self
    }

    /// The timeout in whole milliseconds.
    pub fn snd_rto(&self) -> u64 {
        self.rto().as_nanos() / 1_000_000
    }

    pub fn expect_snd_wnd(&mut self, want: u64) -> &mut Self {
        let wnd = self.snap().snd_wnd;
        self.check(wnd == want, &format!("snd_wnd {want} expected, {wnd}"));
        self
    }

    /// The retransmission timeout as it would be set now.
    pub fn rto(&self) -> Duration {
        self.snap().rto.expect("a model tells its own")
    }

    /// Bytes in flight.
    pub fn flight(&self) -> u64 {
        self.snap().in_flight.expect("a model tells its own")
    }

    /// The slow-start threshold; `None` while unlimited.
    pub fn ssthresh(&self) -> Option<u64> {
        self.snap().ssthresh
    }

    pub fn snap(&self) -> Snapshot {
        self.conn.snapshot()
    }

    fn check(&self, holds: bool, text: &str) {
        if !holds {
            self.fail(text);
        }
    }

    fn fail(&self, text: &str) -> ! {
        let log = self.log.join("\n");
        panic!(
            "at {:.3} ms:\n{text}\n\nso far (<--- connection, ---> peer):\n{log}",
            self.now.as_nanos() as f64 / 1e6
        );
    }

    // The application.

    pub fn connect(&mut self) -> &mut Self {
        self.conn.connect(self.now);
        self.collect();
        self
    }

    /// Writes; returns how much was taken.
    pub fn write(&mut self, len: u64) -> u64 {
        self.log.push(format!("{:>10.3}      write({len})", self.now.as_nanos() as f64 / 1e6));
        let taken = self.conn.write(self.now, len);
        self.collect();
        taken
    }

    /// Reads; returns how much there was.
    pub fn read(&mut self, max: u64) -> u64 {
        self.log.push(format!("{:>10.3}      read({max})", self.now.as_nanos() as f64 / 1e6));
        let n = self.conn.read(self.now, max);
        self.collect();
        n
    }

    pub fn close(&mut self) -> &mut Self {
        self.log.push(format!("{:>10.3}      close()", self.now.as_nanos() as f64 / 1e6));
        self.conn.close(self.now);
        self.collect();
        self
    }

    pub fn abort(&mut self) -> &mut Self {
        self.conn.abort(self.now);
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
