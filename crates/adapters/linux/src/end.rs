//! One end of a connection, and the host that it shares with others.
//!
//! What the kernel must answer at once is asked at once: how much of a write it takes. All else waits for the end of what
//! happens at an instant, and then is one step of the guest.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;
use std::rc::Rc;

use rexmit_stack::{
    Counters, Delivery, EndSettings, Endpoint, Event, Outbox, Role, Snapshot, Socket, StackEnd, Transmission,
};
use rexmit_units::Instant;
use rexmit_wire::{Packet, SeqNumber};

use crate::error::GuestError;
use crate::guest::Guest;
use crate::pool::{self, Kernel};
use crate::protocol::{Act, Answer, Begin, Bytes, Counted, EVENTS, News, Opening, Request, Step, Stepped};
use crate::traffic::Traffic;

/// A host in its guest.
#[derive(Debug)]
pub(crate) struct Host {
    /// Absent once it has failed.
    guest: Option<Guest>,
    failure: Option<String>,
    now: Instant,
    /// What is to be done with the next step.
    acts: Vec<Act>,
    next: Option<Instant>,
    counted: Counted,
    /// Where the last read began, of messages.
    read_at: Option<u64>,
    ends: BTreeMap<u32, Told>,
    /// The end between an address of its own and one of a peer's.
    numbers: HashMap<[SocketAddr; 2], u32>,
    /// What its ends have sent, in order.
    out: VecDeque<Transmission>,
}

/// What is known of an end.
#[derive(Debug)]
struct Told {
    events: VecDeque<Event>,
    readable: u64,
    misplaced: u64,
    traffic: Traffic,
}

impl Host {
    /// Makes the host of a run in a guest with this kernel.
    pub fn begin(kernel: &Kernel, begin: &Begin) -> Result<Self, GuestError> {
        let mut guest = pool::take(kernel)?;
        match guest.ask(&Request::Begin(Box::new(begin.clone())))? {
            Answer::Ready => Ok(Self {
                guest: Some(guest),
                failure: None,
                now: Instant::ZERO,
                acts: Vec::new(),
                next: None,
                counted: Counted::default(),
                read_at: None,
                ends: BTreeMap::new(),
                numbers: HashMap::new(),
                out: VecDeque::new(),
            }),
            _ => Err(GuestError::Garbled(kernel.version.clone())),
        }
    }

    /// Lets the guest do what waits, and at `now` what is due, on behalf of the end `by`, and takes what it tells; what each act
    /// gave that counts.
    fn step(&mut self, by: u32, now: Instant, timers_first: bool) -> Vec<u64> {
        self.now = self.now.max(now);
        let acts = std::mem::take(&mut self.acts);
        let request = Request::Step(Step { now: self.now.as_nanos(), timers_first, acts });
        let Some(guest) = &mut self.guest else { return Vec::new() };
        let stepped = match guest.ask(&request) {
            Ok(Answer::Stepped(stepped)) => stepped,
            Ok(_) => {
                let error = GuestError::Garbled(guest.kernel().version.clone());
                self.fail(&error);
                return Vec::new();
            }
            Err(error) => {
                self.fail(&error);
                return Vec::new();
            }
        };
        self.take(by, stepped)
    }

    fn take(&mut self, by: u32, stepped: Stepped) -> Vec<u64> {
        let Stepped { next, counts, read_at, packets, lengths, ends, counted, failure } = stepped;
        self.read_at = read_at.or(self.read_at);
        self.next = next.map(Instant::from_nanos);
        self.failure = self.failure.take().or(failure);
        let gained = counted.since(self.counted);
        self.counted = counted;
        if let Some(acting) = self.ends.get_mut(&by) {
            acting.traffic.counted(gained);
        }
        let mut rest = &packets.0[..];
        for len in lengths {
            let (bytes, others) = rest.split_at((len as usize).min(rest.len()));
            rest = others;
            self.send(bytes, gained);
        }
        for News { end, events, readable, misplaced } in ends {
            let Some(told) = self.ends.get_mut(&end) else { continue };
            (told.readable, told.misplaced) = (readable, misplaced);
            told.events.extend(events.iter().filter_map(|number| EVENTS.get(usize::from(*number))));
        }
        counts
    }

    /// Takes a packet that the host has sent.
    fn send(&mut self, bytes: &[u8], gained: Counted) {
        // What is not a packet of the run's protocols is none of the run's: nobody would take it.
        let Ok(mut packet) = Packet::parse(bytes) else { return };
        let Some((local, remote)) = packet.ports() else { return };
        let ends = [SocketAddr::new(packet.src, local), SocketAddr::new(packet.dst, remote)];
        let Some(told) = self.numbers.get(&ends).and_then(|number| self.ends.get_mut(number)) else { return };
        let reason = told.traffic.leaves(&mut packet, gained);
        self.out.push_back(Transmission { packet: Box::new(packet), reason });
    }

    fn fail(&mut self, error: &GuestError) {
        self.failure.get_or_insert(error.to_string());
        self.guest = None;
        self.acts.clear();
        // Nothing of it happens any more.
        self.next = None;
    }

    /// Brings what is known of the guest up to date.
    fn settle(&mut self, by: u32) {
        if !self.acts.is_empty() {
            self.step(by, self.now, false);
        }
    }
}

impl Drop for Host {
    fn drop(&mut self) {
        if let Some(mut guest) = self.guest.take()
            && matches!(guest.ask(&Request::End), Ok(Answer::Ended))
        {
            pool::put(guest);
        }
    }
}

/// One end of a connection of the kernel's.
#[derive(Debug)]
pub(crate) struct LinuxEnd {
    host: Rc<RefCell<Host>>,
    number: u32,
    /// It keeps messages apart.
    messages: bool,
    /// Where the last read began.
    read_at: Option<u64>,
    /// Kept here, since whoever asks wants a reference.
    counters: Counters,
}

impl LinuxEnd {
    /// Makes an end at this host, of a connection or, with `messages`, of an association.
    pub fn open(
        host: Rc<RefCell<Host>>,
        number: u32,
        messages: bool,
        settings: &EndSettings,
    ) -> Result<Self, GuestError> {
        let mut at = host.borrow_mut();
        let told =
            Told { events: VecDeque::new(), readable: 0, misplaced: 0, traffic: Traffic::new(messages) };
        if at.numbers.insert([settings.local, settings.remote], number).is_some() {
            let text =
                "more connections between two hosts than there are ports: what leaves could be of either";
            return Err(GuestError::Refused(text.to_string()));
        }
        at.ends.insert(number, told);
        at.acts.push(Act::Open(Opening {
            end: number,
            local: settings.local,
            remote: settings.remote,
            active: settings.role == Role::Active,
            streams: settings.streams,
            wish: settings
                .wish
                .as_deref()
                .and_then(|wish| serde_json::to_string(wish).ok())
                .unwrap_or_default(),
        }));
        at.step(number, Instant::ZERO, false);
        if let Some(failure) = &at.failure {
            return Err(GuestError::Refused(failure.clone()));
        }
        drop(at);
        Ok(Self { host, number, messages, read_at: None, counters: Counters::default() })
    }

    /// Asks for an act with the next step.
    fn wish(&self, now: Instant, act: Act) {
        let mut host = self.host.borrow_mut();
        host.now = host.now.max(now);
        host.acts.push(act);
    }

    /// Does an act at once, and all that waits before it; what it gave that counts.
    fn act(&self, now: Instant, act: Act) -> u64 {
        self.wish(now, act);
        // The only one of the acts whose answer matters is the last.
        self.host.borrow_mut().step(self.number, now, false).last().copied().unwrap_or(0)
    }

    fn told<T>(&self, what: impl FnOnce(&mut Told) -> T) -> Option<T> {
        self.host.borrow_mut().ends.get_mut(&self.number).map(what)
    }
}

impl Endpoint for LinuxEnd {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        self.told(|told| told.traffic.arrives(&packet));
        let mut host = self.host.borrow_mut();
        host.acts.push(Act::Packet(Bytes(packet.emit())));
        host.step(self.number, now, false);
    }

    fn handle_timer(&mut self, now: Instant) {
        self.host.borrow_mut().step(self.number, now, true);
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        let mut host = self.host.borrow_mut();
        if host.now <= now {
            host.settle(self.number);
        }
        // Those of the host's other ends as well: they were sent at this instant, and nobody else will ask now.
        host.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        let mut host = self.host.borrow_mut();
        host.settle(self.number);
        let told = host.ends.get(&self.number);
        let waits = !host.out.is_empty() || told.is_some_and(|told| !told.events.is_empty());
        if waits { Some(host.now) } else { host.next }
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.told(|told| told.events.pop_front()).flatten()
    }

    fn snapshot(&self) -> Snapshot {
        let mut host = self.host.borrow_mut();
        host.settle(self.number);
        let looked = host.guest.as_mut().map(|guest| guest.ask(&Request::Look(self.number)));
        match looked {
            Some(Ok(Answer::Looked(Some(looked)))) => (&*looked).into(),
            Some(Err(error)) => {
                host.fail(&error);
                Snapshot::default()
            }
            _ => Snapshot { state: "CLOSED", phase: "open", ..Snapshot::default() },
        }
    }
}

impl Socket for LinuxEnd {
    fn connect(&mut self, now: Instant) {
        self.wish(now, Act::Connect(self.number));
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }

    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        self.act(now, Act::Write(self.number, len, how.into()))
    }

    fn read_offset(&self) -> Option<u64> {
        self.read_at
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        if self.messages {
            // Which message is the next, the kernel alone knows.
            let got = self.act(now, Act::Read(self.number, max));
            self.read_at = self.host.borrow_mut().read_at.take();
            return got;
        }
        let got = self.told(|told| {
            let got = told.readable.min(max);
            told.readable -= got;
            got
        });
        let got = got.unwrap_or(0);
        if got > 0 {
            self.wish(now, Act::Read(self.number, got));
        }
        got
    }

    fn readable(&self) -> u64 {
        self.told(|told| told.readable).unwrap_or(0)
    }

    fn close(&mut self, now: Instant) {
        self.wish(now, Act::Close(self.number));
    }

    fn abort(&mut self, now: Instant) {
        self.wish(now, Act::Abort(self.number));
    }
}

impl StackEnd for LinuxEnd {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn misplaced_bytes(&self) -> u64 {
        self.told(|told| told.misplaced).unwrap_or(0)
    }

    fn is_of_messages(&self) -> bool {
        self.messages
    }

    fn swap_outbox(&mut self, now: Instant, outbox: &mut Outbox) {
        while let Some(sent) = self.poll_transmit(now) {
            outbox.push(sent);
        }
        self.counters = self.told(|told| *told.traffic.counters()).unwrap_or(self.counters);
    }

    fn initial_number(&self) -> Option<SeqNumber> {
        self.told(|told| told.traffic.first()).flatten()
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.told(|told| told.traffic.has_received(from, end)).unwrap_or(false)
    }

    fn failure(&self) -> Option<String> {
        self.host.borrow().failure.clone()
    }
}
