//! Two ends of a third party's SCTP and a path in virtual time, message by message: the tests of adapters include this
//! file.

#![allow(dead_code, reason = "each test file uses a part of it")]

#[path = "under_way.rs"]
mod under_way;

use rexmit_network::two_hosts::{CLIENT, ORDER_OF_ENDS, by_host, peer};
use rexmit_network::{ByHost, HostId};
use rexmit_stack::{Delivery, Event, Reason, StackEnd};
use rexmit_units::{Duration, Instant};
use rexmit_wire::Transport;
use rexmit_wire::sctp::{Body, Header};
use under_way::UnderWay;

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
pub struct Pair<E, L = ()> {
    pub ends: ByHost<E>,
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
    /// Outlives the ends.
    library: L,
}

impl<E: StackEnd, L> Pair<E, L> {
    /// These ends, and what is to outlive them.
    pub fn of(ends: ByHost<E>, library: L) -> Self {
        Self {
            ends,
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
