//! Two hosts, a path of two hops between them, and what a capture at each place holds.

use std::borrow::Cow;
use std::sync::Arc;

use rexmit_capture::Writer;
use rexmit_path::{Carried, Direction, FlowKey};
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

use crate::host::{Host, Sending, Sent};
use crate::scenario::Scenario;

/// Where a capture is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// At the sender of the data.
    Sender,
    /// Between the two hops, behind the bottleneck's queue.
    Middle,
    /// At the receiver.
    Receiver,
}

impl Place {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Sender, Self::Middle, Self::Receiver];

    /// The same as seen from the host that sends a packet, which is the sender of the data or not.
    #[must_use]
    pub fn seen_from(self, by_sender: bool) -> Self {
        match self {
            Self::Sender if !by_sender => Self::Receiver,
            Self::Receiver if !by_sender => Self::Sender,
            place => place,
        }
    }

    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sender => "sender",
            Self::Middle => "middle",
            Self::Receiver => "receiver",
        }
    }
}

/// A packet that a host sent, and what it is to that host.
#[derive(Clone, Debug)]
pub struct Truth {
    /// The sender of the data sent it.
    pub by_sender: bool,
    /// What it is.
    pub sending: Sending,
    /// Its headers.
    pub packet: Packet,
}

/// Something for the sender of the data and for its receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ends<T> {
    /// The sender's.
    pub sender: T,
    /// The receiver's.
    pub receiver: T,
}

impl<T> Ends<T> {
    /// What is for the end that sent a packet, and what is for its peer.
    pub fn of_packet(&mut self, truth: &Truth) -> (&mut T, &mut T) {
        if truth.by_sender {
            (&mut self.sender, &mut self.receiver)
        } else {
            (&mut self.receiver, &mut self.sender)
        }
    }
}

/// What a run came to.
#[derive(Debug)]
pub struct Ran {
    /// Every packet that was sent, in order.
    pub truths: Vec<Truth>,
    /// Of each place, the packets that passed it, as indices of `truths`.
    pub passed: [Vec<usize>; 3],
    /// The same as captures.
    pub captures: [Vec<u8>; 3],
    /// A fault of the sender's ended it; what was captured before counts.
    pub broken_off: bool,
}

/// A run ends here, whatever is left.
const LIMIT: Instant = Instant::from_nanos(600_000_000_000);
/// And with so many packets.
const PACKETS: usize = 60_000;

/// Runs a scenario: its hosts are the sender of the data and the receiver.
///
/// # Panics
/// If a host contradicts itself: what it logs does not explain what it sends.
pub fn run(scenario: &Scenario, hosts: [&mut dyn Host; 2]) -> Ran {
    let mut index = 0;
    let links = scenario.links().map(|spec| {
        index += 1;
        let mut streams = |name: &str| scenario.stream(&format!("{index} {name}"));
        Direction::new(&spec, "down", Duration::ZERO, &mut streams).expect("a link as scenarios draw it")
    });
    let taps = Place::ALL.map(|place| Writer::new(Vec::new(), place.name()).expect("memory"));
    let mut world =
        World { hosts, links, taps, truths: Vec::new(), passed: Default::default(), sent: Vec::new() };
    while let Some(now) = world.next().filter(|now| *now <= LIMIT && world.truths.len() < PACKETS) {
        world.step(now);
    }
    Ran {
        truths: world.truths,
        passed: world.passed,
        captures: world.taps.map(|tap| tap.finish().expect("memory")),
        broken_off: false,
    }
}

struct World<'a> {
    /// The sender of the data and the receiver.
    hosts: [&'a mut dyn Host; 2],
    links: [Direction<Parcel>; 4],
    taps: [Writer<Vec<u8>>; 3],
    truths: Vec<Truth>,
    passed: [Vec<usize>; 3],
    /// What a host sends as it is called.
    sent: Vec<Sent>,
}

/// Where a link leads.
#[derive(Clone, Copy)]
enum To {
    /// To the middle, and from there into this link.
    Middle(usize),
    /// To this host.
    Host(usize),
}

/// The links' ends, as [`Scenario::links`] orders them.
const ENDS: [To; 4] = [To::Middle(1), To::Host(1), To::Middle(3), To::Host(0)];
/// The link that a host sends into.
const FIRST: [usize; 2] = [0, 2];
/// Where its capture is.
const TAP: [Place; 2] = [Place::Sender, Place::Receiver];

impl World<'_> {
    fn next(&mut self) -> Option<Instant> {
        let now = Instant::ZERO;
        let links = self.links.iter().filter_map(Direction::poll_timer).min();
        let hosts = self.hosts.iter_mut().filter_map(|host| host.next(now)).min();
        [links, hosts].into_iter().flatten().min()
    }

    /// All that happens at `now`: arrivals in the order of links, then timers.
    fn step(&mut self, now: Instant) {
        for (link, end) in ENDS.into_iter().enumerate() {
            while let Some(parcel) = self.links[link].poll_receive(now) {
                match end {
                    To::Middle(next) => {
                        self.pass(Place::Middle, now, &parcel);
                        self.links[next].send(now, parcel);
                    }
                    To::Host(host) => {
                        self.pass(TAP[host], now, &parcel);
                        self.hosts[host].receive(now, &parcel.bytes, &mut self.sent);
                        self.leave(host, now);
                    }
                }
            }
        }
        for host in 0..self.hosts.len() {
            if self.hosts[host].next(now).is_some_and(|at| at <= now) {
                self.hosts[host].wake(now, &mut self.sent);
                self.leave(host, now);
            }
        }
    }

    fn leave(&mut self, host: usize, now: Instant) {
        for sent in std::mem::take(&mut self.sent) {
            let packet = Packet::parse(&sent.bytes).expect("hosts send whole packets");
            let parcel = Parcel { bytes: sent.bytes.into(), number: self.truths.len() };
            self.truths.push(Truth { by_sender: host == 0, sending: sent.sending, packet });
            self.pass(TAP[host], now, &parcel);
            self.links[FIRST[host]].send(now, parcel);
        }
    }

    fn pass(&mut self, place: Place, now: Instant, parcel: &Parcel) {
        self.taps[place as usize].write_bytes(now, &parcel.bytes, None, None).expect("memory");
        self.passed[place as usize].push(parcel.number);
    }
}

/// A packet under way.
#[derive(Clone)]
struct Parcel {
    bytes: Arc<[u8]>,
    /// Its place among all that were sent.
    number: usize,
}

impl Carried for Parcel {
    fn ip_len(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn packet(&self) -> Cow<'_, Packet> {
        Cow::Owned(Packet::parse(&self.bytes).expect("hosts send whole packets"))
    }

    fn flow(&self) -> FlowKey {
        self.packet().flow()
    }

    fn damage(&mut self) {
        unreachable!("no scenario damages packets");
    }

    fn mark(&mut self) -> bool {
        unreachable!("no scenario marks packets");
    }
}
