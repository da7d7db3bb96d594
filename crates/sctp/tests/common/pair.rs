//! Two associations with delays between them, moved by events alone.

#[path = "../../../stack/test-support/under_way.rs"]
mod under_way;

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::Arc;

use rexmit_network::two_hosts::{HOSTS, by_host, choose, peer, server_and_client};
use rexmit_network::{ByHost, HostId};
use rexmit_sctp::{Association, AssociationConfig, Profile, Role, State};
use rexmit_stack::{Delivery, Endpoint, Event, Socket, Transmission};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, Transport, sctp};
use under_way::UnderWay;

use super::text::describe;

/// The active end and the passive one; each also names the direction in which it sends.
pub use rexmit_network::two_hosts::{CLIENT, SERVER};

/// A message to write.
#[derive(Clone, Copy, Debug)]
pub struct Message {
    pub len: u64,
    pub how: Delivery,
    /// Time before it is written.
    pub pause: Duration,
}

impl Message {
    pub fn new(len: u64) -> Self {
        Self { len, how: Delivery::default(), pause: Duration::ZERO }
    }
}

/// What an application does: writes messages; reads what comes; closes once it has written all and read what it expects.
#[derive(Clone, Debug)]
pub struct App {
    pub messages: Vec<Message>,
    /// Reads so much at a time; the next read follows `read_pause` later.
    pub read_size: u64,
    pub read_pause: Duration,
    /// It closes without waiting for what the peer writes.
    pub hasty: bool,
}

impl App {
    pub fn new(messages: Vec<Message>) -> Self {
        Self { messages, read_size: u64::MAX, read_pause: Duration::ZERO, hasty: false }
    }
}

/// What the channel does to a packet: when its copies arrive, counted from now. None: it is lost.
/// Arguments: now, the sending host, the packet's position in its direction, the packet.
pub type Channel = Box<dyn FnMut(Instant, HostId, u64, &Packet) -> Vec<Duration>>;

/// What the two ends are made from.
#[derive(Clone, Debug)]
pub struct Setup {
    pub tsns: ByHost<u32>,
    pub mtu: u32,
    pub phases: ByHost<Duration>,
    pub more: ByHost<Vec<IpAddr>>,
    /// Both open at the same time.
    pub both_active: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            tsns: server_and_client(super::TSN, super::PEER_TSN),
            mtu: 1500,
            phases: by_host(|_| Duration::ZERO),
            more: by_host(|_| Vec::new()),
            both_active: false,
        }
    }
}

/// One packet that a host sent.
#[derive(Clone, Debug)]
pub struct Sent {
    pub at: Instant,
    pub from: HostId,
    pub text: String,
    pub transmission: Transmission,
}

pub struct End {
    pub assoc: Association,
    pub app: App,
    /// Messages written, each with its offset; bytes written.
    pub written: Vec<(u64, Message)>,
    pub offset: u64,
    /// Bytes read in all.
    pub read: u64,
    /// Bytes read of each message of the peer by its offset.
    pub got: BTreeMap<u64, u64>,
    /// The order in which messages of the peer began to be read.
    pub order: Vec<u64>,
    pub events: Vec<Event>,
    next: usize,
    ready_at: Instant,
    closed: bool,
    connected: bool,
    next_read: Instant,
    expected: u64,
}

pub struct Pair {
    pub ends: ByHost<End>,
    pub sent: Vec<Sent>,
    tsns: ByHost<u32>,
    channel: Channel,
    under_way: UnderWay,
    positions: ByHost<u64>,
    /// The first thing that was read wrongly.
    pub wrong: Option<String>,
}

impl Pair {
    pub fn new(profiles: &ByHost<Arc<Profile>>, apps: &ByHost<App>, channel: Channel, setup: &Setup) -> Self {
        let addresses =
            server_and_client(super::LOCAL, super::REMOTE).map(|text| text.parse().expect("an address"));
        let ends = by_host(|host| {
            let active = host == CLIENT || setup.both_active;
            let assoc = Association::new(AssociationConfig {
                profile: profiles[host].clone(),
                local: addresses[host],
                remote: addresses[peer(host)],
                more_local: setup.more[host].clone(),
                more_remote: Vec::new(),
                mtu: setup.mtu,
                phase: setup.phases[host],
                role: if active { Role::Active } else { Role::Passive },
                tag: choose(host, 0x0101_0101, 0x0202_0202),
                initial_tsn: setup.tsns[host],
                secret: choose(host, 77, 78),
            });
            let expected = apps[peer(host)].messages.iter().map(|message| message.len).sum();
            End::new(assoc, apps[host].clone(), expected)
        });
        Self {
            ends,
            sent: Vec::new(),
            tsns: setup.tsns.clone(),
            channel,
            under_way: UnderWay::new(),
            positions: by_host(|_| 0),
            wrong: None,
        }
    }

    /// Runs until nothing is left to happen, or `limit`, or too many packets, or `look` (called after each event) says
    /// no. True if nothing was left.
    pub fn run(&mut self, limit: Duration, max_packets: usize, mut look: impl FnMut(&Self) -> bool) -> bool {
        for host in [CLIENT, SERVER] {
            if self.ends[host].assoc.state() == State::Closed {
                self.ends[host].assoc.connect(self.under_way.now);
                self.settle(host);
            }
        }
        while let Some(due) = self.under_way.due(self.timers()) {
            if due > Instant::ZERO + limit || self.sent.len() > max_packets {
                return false;
            }
            let timers = self.timers();
            let Some((host, what)) = self.under_way.next(timers) else { break };
            what.tell(&mut self.ends[host].assoc, self.under_way.now);
            self.settle(host);
            if self.wrong.is_some() || !look(self) {
                return false;
            }
        }
        true
    }

    fn timers(&self) -> [(HostId, Option<Instant>); 2] {
        HOSTS.map(|host| (host, self.ends[host].assoc.poll_timer()))
    }

    /// Lets the application act and moves what the association sends into the channel.
    fn settle(&mut self, host: HostId) {
        loop {
            self.ship(host);
            let peer = self.ends[peer(host)].written.clone();
            let wake = self.ends[host].act(self.under_way.now, &peer).unwrap_or_else(|text| {
                self.wrong.get_or_insert(text);
                None
            });
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
        while let Some(transmission) = self.ends[host].assoc.poll_transmit(self.under_way.now) {
            any = true;
            self.positions[host] += 1;
            let packet = transmission.packet.clone();
            let Transport::Sctp(p) = &packet.transport else { panic!("no SCTP") };
            let text = describe(p, self.tsns[host], self.tsns[peer(host)]);
            let arrivals = (self.channel)(self.under_way.now, host, self.positions[host], &packet);
            self.sent.push(Sent { at: self.under_way.now, from: host, text, transmission });
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

    /// One line a packet: the last `most`.
    pub fn log(&self, most: usize) -> String {
        let line = |s: &Sent| {
            let arrow = if s.from == SERVER { "<---" } else { "--->" };
            let at = s.at.as_nanos() as f64 / 1e6;
            format!("{at:>12.3} {arrow} {} ({})\n", s.text, s.transmission.reason.name())
        };
        self.sent[self.sent.len().saturating_sub(most)..].iter().map(line).collect()
    }
}

impl End {
    fn new(assoc: Association, app: App, expected: u64) -> Self {
        Self {
            assoc,
            app,
            written: Vec::new(),
            offset: 0,
            read: 0,
            got: BTreeMap::new(),
            order: Vec::new(),
            events: Vec::new(),
            next: 0,
            ready_at: Instant::ZERO,
            closed: false,
            connected: false,
            next_read: Instant::ZERO,
            expected,
        }
    }

    /// All that the application does now; when it wants to be woken.
    fn act(&mut self, now: Instant, peer: &[(u64, Message)]) -> Result<Option<Instant>, String> {
        while let Some(event) = self.assoc.poll_event() {
            self.events.push(event);
            if event == Event::Connected {
                self.connected = true;
                self.ready_at = now + self.app.messages.first().map_or(Duration::ZERO, |m| m.pause);
            }
        }
        let mut wake = self.read_some(now, peer)?;
        if self.connected && !self.closed {
            while let Some(message) = self.app.messages.get(self.next).copied() {
                if now < self.ready_at {
                    wake = Some(wake.map_or(self.ready_at, |at| at.min(self.ready_at)));
                    break;
                }
                if self.assoc.send(now, message.len, message.how) != message.len {
                    break;
                }
                self.written.push((self.offset, message));
                self.offset += message.len;
                self.next += 1;
                self.ready_at = now + self.app.messages.get(self.next).map_or(Duration::ZERO, |m| m.pause);
            }
            let done = self.app.hasty || self.read == self.expected;
            if self.next == self.app.messages.len() && done {
                self.closed = true;
                self.assoc.close(now);
            }
        }
        Ok(wake)
    }

    fn read_some(&mut self, now: Instant, peer: &[(u64, Message)]) -> Result<Option<Instant>, String> {
        while self.assoc.readable() > 0 {
            if now < self.next_read {
                return Ok(Some(self.next_read));
            }
            let len = self.assoc.read(now, self.app.read_size);
            let offset = self.assoc.read_offset().expect("SCTP tells");
            self.note_read(offset, len, peer)?;
            if !self.app.read_pause.is_zero() {
                self.next_read = now + self.app.read_pause;
            }
        }
        Ok(None)
    }

    /// The bytes are the next of one message, which is the next of its stream.
    fn note_read(&mut self, offset: u64, len: u64, peer: &[(u64, Message)]) -> Result<(), String> {
        let at = peer.partition_point(|(begin, _)| *begin <= offset);
        let (begin, message) = peer[..at].last().ok_or("nothing was written")?;
        if offset + len > begin + message.len {
            return Err(format!("{len} bytes at {offset}: beyond the message at {begin}"));
        }
        let got = self.got.entry(*begin).or_insert(0);
        if begin + *got != offset {
            return Err(format!("{len} bytes at {offset}: {got} of the message at {begin} were read"));
        }
        if *got == 0 {
            self.order.push(*begin);
            let how = message.how;
            let same = |other: &&u64| {
                let at = peer.partition_point(|(begin, _)| begin < other);
                peer[at].1.how.stream == how.stream && !peer[at].1.how.unordered
            };
            let before = self.order[..self.order.len() - 1].iter().rev().find(same);
            if !how.unordered && before.is_some_and(|before| before > begin) {
                return Err(format!("the message at {begin} comes after the one at {before:?}"));
            }
        }
        *got += len;
        self.read += len;
        Ok(())
    }
}
