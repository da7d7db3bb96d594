//! A sender and a receiver of a third party's code, packet by packet: the tests of adapters include this file.

use std::sync::Arc;

use rexmit_stack::quic::StreamPlaces;
use rexmit_stack::{Delivery, EndSettings, Event, Habits, Reason, Role, StackEnd};
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

/// The time of a packet from one end to the other.
const DELAY: Duration = Duration::from_millis(10);
/// Nothing takes longer.
const LIMIT: Instant = Instant::from_nanos(100_000_000_000);
/// Bytes of a message.
const MESSAGE: u64 = 1_000;

/// A sender, which connects, and a receiver. Packets with these numbers from the sender are lost.
pub struct Pair<E> {
    pub sender: E,
    pub receiver: E,
    /// What the sender has sent: how many packets, and why each.
    pub sent: usize,
    pub reasons: Vec<Reason>,
    pub now: Instant,
    /// Bytes that arrived.
    pub got: u64,
    /// What the ends have told their applications.
    pub told_sender: Vec<Event>,
    pub told_receiver: Vec<Event>,
    /// Everything that was sent, as bytes.
    pub wire: Vec<Vec<u8>>,
    on_way: Vec<(Instant, To, Box<Packet>)>,
    lost: Vec<usize>,
    left: u64,
    written: u64,
    /// The streams that messages take in turn; 0 for one write of all.
    streams: u16,
    stream: u16,
    /// Each message is a datagram.
    datagrams: bool,
    /// Bytes of a message, where there are streams or datagrams.
    pub message: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum To {
    Sender,
    Receiver,
}

impl<E: StackEnd> Pair<E> {
    /// A pair whose ends `make` makes from a seed and its settings, and `bytes` that the sender writes.
    pub fn new(make: impl Fn(u64, &EndSettings) -> E, bytes: u64, lost: &[usize]) -> Self {
        Self::of(make, bytes, lost, 0, false)
    }

    /// The same, in messages that are datagrams of QUIC.
    #[allow(dead_code, reason = "not every stack has them")]
    pub fn with_datagrams(make: impl Fn(u64, &EndSettings) -> E, bytes: u64, lost: &[usize]) -> Self {
        Self::of(make, bytes, lost, 1, true)
    }

    /// The same, in messages that take so many streams in turn.
    #[allow(dead_code, reason = "not every stack has them")]
    pub fn with_streams(
        make: impl Fn(u64, &EndSettings) -> E,
        bytes: u64,
        lost: &[usize],
        streams: u16,
    ) -> Self {
        Self::of(make, bytes, lost, streams, false)
    }

    fn of(
        make: impl Fn(u64, &EndSettings) -> E,
        bytes: u64,
        lost: &[usize],
        streams: u16,
        datagrams: bool,
    ) -> Self {
        let places = (streams > 1).then(Arc::<StreamPlaces>::default);
        let of = |local: &str, remote: &str, role| EndSettings {
            local: local.parse().unwrap(),
            remote: remote.parse().unwrap(),
            more_local: None,
            role,
            streams: streams.max(1),
            phase: Duration::ZERO,
            marks_places: false,
            places: places.clone(),
            datagrams,
            wish: None,
            habits: Habits::default(),
        };
        let (server, client) = ("10.0.2.1:5001", "10.0.1.1:10000");
        Self {
            sender: make(0, &of(server, client, Role::Active)),
            receiver: make(1, &of(client, server, Role::Passive)),
            sent: 0,
            reasons: Vec::new(),
            now: Instant::ZERO,
            got: 0,
            told_sender: Vec::new(),
            told_receiver: Vec::new(),
            wire: Vec::new(),
            on_way: Vec::new(),
            lost: lost.to_vec(),
            left: bytes,
            written: 0,
            streams,
            stream: 0,
            datagrams,
            message: MESSAGE,
        }
    }

    /// Until nothing happens any more.
    pub fn run(&mut self) -> &mut Self {
        self.sender.connect(self.now);
        self.drain();
        while let Some(at) = self.next().filter(|at| *at < LIMIT) {
            self.now = at;
            match self.on_way.iter().position(|(due, ..)| *due == at) {
                Some(place) => {
                    let (_, to, packet) = self.on_way.remove(place);
                    self.end(to).handle_packet(at, packet);
                }
                None => {
                    self.sender.handle_timer(at);
                    self.receiver.handle_timer(at);
                }
            }
            self.drain();
            let closed = |end: &E| end.snapshot().state == "CLOSED";
            if closed(&self.sender) && closed(&self.receiver) {
                break;
            }
        }
        self
    }

    fn end(&mut self, which: To) -> &mut E {
        match which {
            To::Sender => &mut self.sender,
            To::Receiver => &mut self.receiver,
        }
    }

    fn next(&self) -> Option<Instant> {
        let timers = [self.sender.poll_timer(), self.receiver.poll_timer()];
        timers.into_iter().flatten().chain(self.on_way.iter().map(|(at, ..)| *at)).min()
    }

    fn drain(&mut self) {
        loop {
            let mut acted = false;
            for from in [To::Sender, To::Receiver] {
                acted |= self.drain_end(from);
            }
            if self.told_sender.contains(&Event::Connected) && self.left > 0 {
                let taken = self.write();
                self.left -= taken;
                acted |= taken > 0;
                if self.left == 0 {
                    self.sender.close(self.now);
                }
            }
            // Nothing is expected there but the end.
            self.sender.read(self.now, u64::MAX);
            let got = self.receiver.read(self.now, u64::MAX);
            self.got += got;
            if self.told_receiver.last() == Some(&Event::EndOfStream) {
                self.receiver.close(self.now);
                self.told_receiver.push(Event::Writable);
                acted = true;
            }
            if !acted && got == 0 {
                return;
            }
        }
    }

    /// Takes what an end has to say; whether there was anything.
    fn drain_end(&mut self, from: To) -> bool {
        let (now, mut acted) = (self.now, false);
        while let Some(event) = self.end(from).poll_event() {
            let told = if from == To::Sender { &mut self.told_sender } else { &mut self.told_receiver };
            told.push(event);
            acted = true;
        }
        while let Some(sent) = self.end(from).poll_transmit(now) {
            acted = true;
            self.wire.push(sent.packet.emit());
            let mut to = To::Sender;
            if from == To::Sender {
                self.sent += 1;
                self.reasons.push(sent.reason);
                to = To::Receiver;
            }
            if from == To::Receiver || !self.lost.contains(&self.sent) {
                self.on_way.push((now + DELAY, to, sent.packet));
            }
        }
        acted
    }

    fn write(&mut self) -> u64 {
        if self.streams == 0 {
            return self.sender.write(self.now, self.left);
        }
        let piece = self.message - self.written % self.message;
        let how = Delivery { stream: self.stream, datagram: self.datagrams, ..Delivery::default() };
        let taken = self.sender.send(self.now, self.left.min(piece), how);
        self.written += taken;
        if taken == piece {
            self.stream = (self.stream + 1) % self.streams;
        }
        taken
    }
}
