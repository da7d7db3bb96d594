//! Two connections with delays between them, moved by events alone.

#[path = "../../../stack/test-support/under_way.rs"]
mod under_way;

use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_network::two_hosts::{HOSTS, by_host, peer, server_and_client};
use rexmit_network::{ByHost, HostId};
use rexmit_stack::{Endpoint, Event, Socket, Transmission};
use rexmit_tcp::{Connection, ConnectionConfig, Profile, Role, State};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Packet, Payload, SeqNumber, TcpSegment, Transport};
use under_way::UnderWay;

/// The active end and the passive one; each also names the direction in which it sends.
pub use rexmit_network::two_hosts::{CLIENT, SERVER};

/// What an application does: writes, then perhaps closes; reads what comes.
#[derive(Clone, Debug)]
pub struct App {
    /// Bytes to write, in order, once the connection stands.
    pub writes: Vec<u64>,
    /// Closes when the peer has closed (else as soon as all is written).
    pub close_after_peer: bool,
    /// Reads so much at a time; the next read follows `read_pause` later.
    pub read_size: u64,
    pub read_pause: Duration,
}

impl Default for App {
    fn default() -> Self {
        Self { writes: Vec::new(), close_after_peer: false, read_size: u64::MAX, read_pause: Duration::ZERO }
    }
}

/// What the channel does to a packet: when its copies arrive, counted from now. None: it is lost.
/// Arguments: now, the sending host, the packet's position in its direction.
pub type Channel = Box<dyn FnMut(Instant, HostId, u64, &TcpSegment) -> Vec<Duration>>;

/// What the two ends are made from.
#[derive(Clone, Debug)]
pub struct Setup {
    pub iss: ByHost<u32>,
    pub mtu: u32,
    /// The server connects as well: a simultaneous open.
    pub both_active: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { iss: server_and_client(1_000, 5_000), mtu: 1500, both_active: false }
    }
}

/// One packet that a host sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: HostId,
    /// 1 is the first packet of its direction.
    pub position: u64,
    pub ip_len: u64,
    pub segment: TcpSegment,
}

pub struct End {
    pub conn: Connection,
    iss: u32,
    pub app: App,
    pub written: u64,
    pub read: u64,
    pub events: Vec<Event>,
    left: Vec<u64>,
    closed: bool,
    connected: bool,
    peer_done: bool,
    next_read: Instant,
    /// When the end of the peer's stream was seen.
    pub end_of_stream: Option<Instant>,
}

pub struct Pair {
    pub ends: ByHost<End>,
    pub sent: Vec<Sent>,
    channel: Channel,
    under_way: UnderWay,
    positions: ByHost<u64>,
}

/// A link of `bits` per second and `delay` ms each way with an endless queue, that loses the packets at
/// `lost` (sending host, position).
pub fn link(bits: u64, delay: u64, lost: Vec<(HostId, u64)>) -> Channel {
    let mut free = by_host(|_| 0u64);
    Box::new(move |now, from, position, segment| {
        if lost.contains(&(from, position)) {
            return Vec::new();
        }
        let bytes = (20 + segment.header_len() + segment.payload.len() as usize) as u64;
        let now = now.as_nanos();
        let out = free[from].max(now) + bytes * 8 * 1_000_000_000 / bits;
        free[from] = out;
        vec![Duration::from_nanos(out - now + delay * 1_000_000)]
    })
}

impl Pair {
    pub fn new(profiles: &ByHost<Arc<Profile>>, apps: &ByHost<App>, channel: Channel) -> Self {
        Self::set_up(profiles, apps, channel, &Setup::default())
    }

    pub fn set_up(
        profiles: &ByHost<Arc<Profile>>,
        apps: &ByHost<App>,
        channel: Channel,
        setup: &Setup,
    ) -> Self {
        let address = |s: &str| s.parse::<SocketAddr>().expect("an address");
        let addresses = server_and_client(address(super::LOCAL), address(super::REMOTE));
        let ends = by_host(|host| {
            let conn = Connection::new(ConnectionConfig {
                profile: profiles[host].clone(),
                local: addresses[host],
                remote: addresses[peer(host)],
                iss: SeqNumber(setup.iss[host]),
                mtu: setup.mtu,
                phase: Duration::ZERO,
                host_cache: None,
                role: if host == SERVER && !setup.both_active { Role::Passive } else { Role::Active },
            });
            End::new(conn, setup.iss[host], apps[host].clone())
        });
        Self { ends, sent: Vec::new(), channel, under_way: UnderWay::new(), positions: by_host(|_| 0) }
    }

    /// Runs until nothing is left to happen, or `limit`, or too many packets, or `look` (called after
    /// each event) says no. True if nothing was left.
    pub fn run(&mut self, limit: Duration, max_packets: usize, mut look: impl FnMut(&Self) -> bool) -> bool {
        for host in [CLIENT, SERVER] {
            if self.ends[host].conn.state() == State::Closed {
                self.ends[host].conn.connect(self.under_way.now);
                self.settle(host);
            }
        }
        while let Some(due) = self.under_way.due(self.timers()) {
            if due > Instant::ZERO + limit || self.sent.len() > max_packets {
                return false;
            }
            let timers = self.timers();
            let Some((host, what)) = self.under_way.next(timers) else { break };
            what.tell(&mut self.ends[host].conn, self.under_way.now);
            self.settle(host);
            if !look(self) {
                return false;
            }
        }
        true
    }

    fn timers(&self) -> [(HostId, Option<Instant>); 2] {
        HOSTS.map(|host| (host, self.ends[host].conn.poll_timer()))
    }

    /// Lets the application act and moves what the connection sends into the channel.
    fn settle(&mut self, host: HostId) {
        loop {
            self.ship(host);
            let wake = self.ends[host].act(self.under_way.now);
            if let Some(at) = wake {
                self.under_way.wake(host, at);
            }
            if !self.ship(host) {
                return;
            }
        }
    }

    fn ship(&mut self, host: HostId) -> bool {
        let mut any = false;
        while let Some(Transmission { packet, .. }) = self.ends[host].conn.poll_transmit(self.under_way.now) {
            any = true;
            self.positions[host] += 1;
            let Transport::Tcp(segment) = packet.transport.clone() else { panic!("no TCP") };
            if let Payload::Stream { offset, len } = segment.payload {
                let place = segment.seq.0.wrapping_sub(self.ends[host].iss).wrapping_sub(1);
                let log = || self.log();
                assert!(len == 0 || offset as u32 == place, "{offset} at {place}\n{}", log());
            }
            let arrivals = (self.channel)(self.under_way.now, host, self.positions[host], &segment);
            self.sent.push(Sent {
                at: self.under_way.now,
                from: host,
                position: self.positions[host],
                ip_len: packet.ip_len(),
                segment,
            });
            for wait in arrivals {
                self.under_way.send(peer(host), wait, packet.clone());
            }
        }
        any
    }

    pub fn now(&self) -> Instant {
        self.under_way.now
    }

    pub fn from(&self, host: HostId) -> impl Iterator<Item = &Sent> {
        self.sent.iter().filter(move |s| s.from == host)
    }

    /// One line a packet.
    pub fn log(&self) -> String {
        let line = |s: &Sent| {
            let base = |host: HostId| self.ends[host].iss;
            let t = &s.segment;
            let rel = |n: SeqNumber, host: HostId| n.0.wrapping_sub(base(host));
            let sack: Vec<_> = t
                .sack
                .as_slice()
                .iter()
                .map(|(l, r)| (rel(*l, peer(s.from)), rel(*r, peer(s.from))))
                .collect();
            format!(
                "{:>12.3} {} {:>3} {}{}{}{}..{} ack {} win {} {:?} {:?}",
                s.at.as_nanos() as f64 / 1e6,
                if s.from == SERVER { "<---" } else { "--->" },
                s.position,
                if t.flags.has(Flags::SYN) { "S " } else { "" },
                if t.flags.has(Flags::FIN) { "F " } else { "" },
                if t.flags.has(Flags::RST) { "R " } else { "" },
                rel(t.seq, s.from),
                rel(t.seq + t.payload.len(), s.from),
                rel(t.ack, peer(s.from)),
                t.window,
                sack,
                t.timestamps.map(|t| (t.value, t.echo)),
            )
        };
        self.sent.iter().map(|s| line(s) + "\n").collect()
    }
}

impl End {
    fn new(conn: Connection, iss: u32, app: App) -> Self {
        let left = app.writes.iter().rev().copied().collect();
        Self {
            conn,
            iss,
            app,
            written: 0,
            read: 0,
            events: Vec::new(),
            left,
            closed: false,
            connected: false,
            peer_done: false,
            next_read: Instant::ZERO,
            end_of_stream: None,
        }
    }

    /// All that the application does now; when it wants to be woken.
    fn act(&mut self, now: Instant) -> Option<Instant> {
        while let Some(event) = self.conn.poll_event() {
            self.events.push(event);
            match event {
                Event::Connected => self.connected = true,
                Event::EndOfStream => {
                    self.peer_done = true;
                    self.end_of_stream = Some(now);
                }
                _ => {}
            }
        }
        let wake = self.read_some(now);
        if self.connected && !self.closed {
            while let Some(n) = self.left.pop() {
                let taken = self.conn.write(now, n);
                self.written += taken;
                if taken < n {
                    self.left.push(n - taken);
                    break;
                }
            }
            if self.left.is_empty() && (self.peer_done || !self.app.close_after_peer) {
                self.closed = true;
                self.conn.close(now);
            }
        }
        wake
    }

    fn read_some(&mut self, now: Instant) -> Option<Instant> {
        while self.conn.readable() > 0 {
            if now < self.next_read {
                return Some(self.next_read);
            }
            self.read += self.conn.read(now, self.app.read_size);
            if !self.app.read_pause.is_zero() {
                self.next_read = now + self.app.read_pause;
            }
        }
        None
    }

    /// CLOSED or TIME-WAIT.
    pub fn is_over(&self) -> bool {
        matches!(self.conn.state(), State::Closed | State::TimeWait)
    }
}
