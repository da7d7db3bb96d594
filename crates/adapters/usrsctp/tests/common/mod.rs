//! Two ends and a path in virtual time.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[path = "../../../../stack/test-support/under_way.rs"]
mod under_way;

use std::sync::Arc;

use rexmit_network::two_hosts::{ORDER_OF_ENDS, by_host, peer, server_and_client};
use rexmit_network::{ByHost, HostId};
use rexmit_stack::{Delivery, Endpoint, Event, Reason, Socket};
use rexmit_units::{Duration, Instant};
use rexmit_usrsctp::{Association, AssociationConfig, Role, Usrsctp, UsrsctpConfig};
use rexmit_wire::Transport;
use rexmit_wire::sctp::{Body, Header};
use under_way::UnderWay;

pub use rexmit_network::two_hosts::{CLIENT, SERVER};

/// A packet that an end sent.
#[derive(Clone, Debug, PartialEq)]
pub struct Sent {
    pub at: Instant,
    pub from: HostId,
    pub bytes: Vec<u8>,
    pub reason: Reason,
    pub lost: bool,
}

impl Sent {
    pub fn chunks(&self) -> Vec<Body<'_>> {
        let header = Header::new(&self.bytes, self.bytes.len()).expect("the library sends whole packets");
        header.chunks().map(|chunk| chunk.body()).collect()
    }

    pub fn tsns(&self) -> Vec<u32> {
        let tsn = |body: &Body<'_>| if let Body::Data(data) = body { Some(data.tsn()) } else { None };
        self.chunks().iter().filter_map(tsn).collect()
    }
}

/// Whether the path loses a packet: by its sender and its number there, from 0.
pub type Loses = Box<dyn FnMut(HostId, usize, &Sent) -> bool>;

/// Client and server with a delay between them.
pub struct Pair {
    pub ends: ByHost<Association>,
    pub delay: Duration,
    /// Which packets the path loses.
    pub loses: Loses,
    pub log: Vec<Sent>,
    pub events: ByHost<Vec<(Instant, Event)>>,
    /// What each end has read: place and length, one a read.
    pub reads: ByHost<Vec<(u64, u64)>>,
    /// What each end still has to write: messages, in order.
    pub to_write: ByHost<Vec<(u64, Delivery)>>,
    /// An end closes when the other has.
    pub polite: bool,
    under_way: UnderWay,
    counts: ByHost<usize>,
    library: Usrsctp,
}

pub fn config(role: Role, settings: &UsrsctpConfig) -> AssociationConfig {
    let (client, server) = ("10.0.0.2:40000".parse().unwrap(), "10.0.0.1:5001".parse().unwrap());
    let active = role == Role::Active;
    AssociationConfig {
        settings: Arc::new(settings.clone()),
        local: if active { client } else { server },
        remote: if active { server } else { client },
        mtu: 1500,
        role,
        seed: if active { 1 } else { 2 },
    }
}

/// What both ends are made from.
pub fn configs(settings: &UsrsctpConfig) -> ByHost<AssociationConfig> {
    server_and_client(config(Role::Passive, settings), config(Role::Active, settings))
}

impl Pair {
    pub fn new(settings: &UsrsctpConfig) -> Self {
        Self::with(Duration::ZERO, &configs(settings))
    }

    pub fn with(phase: Duration, configs: &ByHost<AssociationConfig>) -> Self {
        let library = Usrsctp::start(phase).expect("the library is there");
        let [client, server] =
            ORDER_OF_ENDS.map(|host| library.association(configs[host].clone()).expect("good settings"));
        Self {
            ends: server_and_client(server, client),
            delay: Duration::from_millis(50),
            loses: Box::new(|_, _, _| false),
            log: Vec::new(),
            events: by_host(|_| Vec::new()),
            reads: by_host(|_| Vec::new()),
            to_write: by_host(|_| Vec::new()),
            polite: true,
            under_way: UnderWay::new(),
            counts: by_host(|_| 0),
            library,
        }
    }

    /// Connects, and goes on until the association is up.
    pub fn connect(&mut self) {
        let now = self.under_way.now;
        self.ends[CLIENT].connect(now);
        self.settle(CLIENT);
        while self.events.values().any(|events| !events.iter().any(|(_, event)| *event == Event::Connected)) {
            assert!(self.step(), "both ends connect");
        }
    }

    /// One packet or timer; false if there is none.
    pub fn step(&mut self) -> bool {
        let timers = self.timers();
        let due = self.under_way.due(timers);
        assert!(due.is_none_or(|due| due >= self.under_way.now), "time goes on");
        let Some((end, what)) = self.under_way.next(timers) else { return false };
        what.tell(&mut self.ends[end], self.under_way.now);
        self.settle(end);
        true
    }

    pub fn run_until(&mut self, end: Instant) {
        while self.under_way.due(self.timers()).is_some_and(|next| next <= end) {
            self.step();
        }
        self.under_way.now = end;
    }

    fn timers(&self) -> [(HostId, Option<Instant>); 2] {
        ORDER_OF_ENDS.map(|end| (end, self.ends[end].poll_timer()))
    }

    pub fn now(&self) -> Instant {
        self.under_way.now
    }

    /// Writes what is to be written as far as it is taken.
    pub fn write(&mut self, end: HostId) {
        while let Some((len, how)) = self.to_write[end].first().copied() {
            let taken = self.ends[end].send(self.under_way.now, len, how);
            assert!(taken == len || taken == 0, "whole or not at all");
            if taken == 0 {
                break;
            }
            self.to_write[end].remove(0);
        }
        self.settle(end);
    }

    pub fn close(&mut self, end: HostId) {
        self.ends[end].close(self.under_way.now);
        self.settle(end);
    }

    /// Lets the application react, and hands out what leaves.
    pub fn settle(&mut self, end: HostId) {
        while let Some(event) = self.ends[end].poll_event() {
            self.events[end].push((self.under_way.now, event));
            match event {
                Event::Readable => self.read(end),
                Event::EndOfStream => {
                    self.read(end);
                    if self.polite {
                        self.ends[end].close(self.under_way.now);
                    }
                }
                Event::Writable => self.write(end),
                _ => {}
            }
        }
        while let Some(sent) = self.ends[end].poll_transmit(self.under_way.now) {
            let Transport::Other { protocol: 132, payload } = &sent.packet.transport else {
                panic!("an SCTP packet");
            };
            let bytes = payload.bytes().into_owned();
            let mut record =
                Sent { at: self.under_way.now, from: end, bytes, reason: sent.reason, lost: false };
            record.lost = (self.loses)(end, self.counts[end], &record);
            self.counts[end] += 1;
            if !record.lost {
                self.under_way.send(peer(end), self.delay, sent.packet);
            }
            self.log.push(record);
        }
    }

    fn read(&mut self, end: HostId) {
        while self.ends[end].readable() > 0 {
            let got = self.ends[end].read(self.under_way.now, u64::MAX);
            assert!(got > 0, "what is readable can be read");
            self.reads[end].push((self.ends[end].read_offset().expect("messages have places"), got));
        }
    }

    pub fn has(&self, end: HostId, event: Event) -> bool {
        self.events[end].iter().any(|(_, known)| *known == event)
    }

    pub fn bytes_read(&self, end: HostId) -> u64 {
        self.reads[end].iter().map(|(_, len)| len).sum()
    }
}
