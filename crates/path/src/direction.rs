//! One direction of a path: link, impairments, queue, shaper, delay line, link.

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Bytes, Duration, Instant, QueueLimit};
use rexmit_wire::Packet;

use crate::ahead::Ahead;
use crate::books::Books;
use crate::carried::Carried;
use crate::counters::{Counters, LogRow, Stay, Summary};
use crate::discipline::Discipline;
use crate::error::PathError;
use crate::ingress::{Decision, Ingress};
use crate::outlet::{Leaving, Link, Outlet};
use crate::schedule::Schedule;
use crate::shaper::{Bucket, Shaper};
use crate::spec::{Aqm, DirectionSpec};
use crate::station::{Around, Server, Slots, Station};
use crate::ticks::Ticks;
use crate::trace::{Opportunities, TUN_HEADER, TraceFile, TraceFormat};
use crate::unreached::Unreached;
use crate::verdict::{Duplicated, Effects, Fate, Verdict};
use crate::waiting::{Extra, Waiting};

/// One direction of a path.
///
/// Families of methods: *commands* [`send`](Self::send) puts a packet in, [`advance`](Self::advance) lets time pass;
/// *poll* [`poll_timer`](Self::poll_timer) says when to call [`poll_receive`](Self::poll_receive), which hands
/// packets out until it answers `None`, and [`poll_verdict`](Self::poll_verdict); *getters*
/// [`counters`](Self::counters), [`log`](Self::log), [`unreached`](Self::unreached). Time never runs backwards between
/// calls. Where a packet enters at the instant at which another leaves the queue, the place is free.
///
/// There are two kinds. Where nothing that comes later can matter to a packet that is inside (the shapers `exact`,
/// `dummynet` and `cisco` with a plain queue), its verdict is final at once and says when it comes out; that of a packet
/// that an outage without an end keeps remains undecided. Else (`tbf`,
/// active queue management, a trace of opportunities) the direction is served event by event: [`Self::poll_timer`] also names moments at which only something inside
/// happens and nothing comes out, and a verdict may be [`Fate::Undecided`] at first. Each of those becomes final once,
/// when its packet leaves the queue: in the log, in the counters, and, where they are asked for by
/// [`keep_late_verdicts`](Self::keep_late_verdicts), through [`Self::poll_verdict`]. Those of packets that are inside
/// at the end remain undecided.
///
/// What a plain link needs for a packet stands first, in whole lines of a cache: in a large network each hop is at a
/// link that the processor has not seen for long.
#[repr(C, align(64))]
pub struct Direction<P = Packet> {
    outlet: Outlet<P>,
    bottleneck: Bottleneck<P>,
    schedule: Schedule,
    overhead: u64,
    /// Nothing but queue, shaper and delay: done with a packet at once.
    plain: bool,
    books: Books,
    /// Few links of a large network have one, and it is larger than all the rest.
    ingress: Option<Box<Ingress>>,
    first_link: Option<Box<Link>>,
    /// The latest instant that was told; kept where it matters.
    now: Instant,
}

enum Bottleneck<P> {
    Ahead(Ahead),
    Station(Box<Station<P>>),
}

impl<P: Carried> Direction<P> {
    /// A direction as `spec` says. `name` is `down` or `up`; `phase` is the time from the start of the run to
    /// the first tick of a shaper that works at ticks, shorter than its tick. `streams` gives the random
    /// stream of an impairment by its name, such as `path.down.loss`.
    ///
    /// # Errors
    /// Where `spec` contradicts itself, follows a trace, or `phase` is too long.
    pub fn new(
        spec: &DirectionSpec,
        name: &str,
        phase: Duration,
        streams: &mut dyn FnMut(&str) -> Xoshiro256PlusPlus,
    ) -> Result<Self, PathError> {
        Self::with_trace(spec, name, phase, streams, None)
    }

    /// The same for one that follows this trace where `spec` names one.
    ///
    /// # Errors
    /// As [`Self::new`], and where the trace does not fit or is missing.
    pub fn with_trace(
        spec: &DirectionSpec,
        name: &str,
        phase: Duration,
        streams: &mut dyn FnMut(&str) -> Xoshiro256PlusPlus,
        trace: Option<&TraceFile>,
    ) -> Result<Self, PathError> {
        let key = format!("path.{name}");
        PathError::check(spec, &key, phase)?;
        let trace = PathError::check_trace(spec, &key, trace)?;
        let counted = trace.and_then(|trace| of_opportunities(spec, trace));
        let spec = counted.as_ref().unwrap_or(spec);
        let ticks = Ticks::new(spec.tick, phase);
        let (schedule, ingress) =
            (Schedule::new(spec, trace), Ingress::new(spec, name, streams, trace).map(Box::new));
        let bottleneck = Bottleneck::new(spec, ticks, trace, || streams(&format!("path.{name}.aqm")));
        let is_ahead = matches!(bottleneck, Bottleneck::Ahead(_));
        Ok(Self {
            plain: is_ahead && ingress.is_none() && schedule.is_fixed() && spec.link.is_none(),
            overhead: spec.overhead.as_u64(),
            schedule,
            bottleneck,
            outlet: Outlet::new(spec, ticks),
            books: Books::default(),
            ingress,
            first_link: Link::new(spec.link).map(Box::new),
            now: Instant::ZERO,
        })
    }

    /// Keeps a log of verdicts from now on.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.keep_log();
        self
    }

    /// The same for one that is in its place.
    pub fn keep_log(&mut self) {
        self.books.keep_log();
        self.plain = false;
    }

    /// Keeps verdicts that are not known at once, from now on, for [`Self::poll_verdict`], which is to be asked for
    /// them then.
    pub fn keep_late_verdicts(&mut self) {
        self.books.keep_late();
    }

    /// Takes a packet at `now` and says at once what becomes of it, or that it is undecided.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: P) -> Verdict {
        let len = packet.ip_len();
        self.books.counters.packets += 1;
        self.books.counters.bytes += len;
        match &mut self.bottleneck {
            Bottleneck::Ahead(ahead) if self.plain => {
                let position = self.books.counters.packets;
                let effects = Effects::default();
                let Some(departure) = ahead.admit(now, len + self.overhead, &self.schedule) else {
                    self.books.counters.queue_full += 1;
                    self.books.counters.dropped_bytes += len;
                    return Verdict { position, fate: Fate::QueueFull { limit: ahead.limit() }, effects };
                };
                let due = self.outlet.propagated(departure, self.schedule.delay(departure));
                self.outlet.line.push(due, packet);
                Verdict { position, fate: Fate::Delivered { at: Some(due) }, effects }
            }
            Bottleneck::Ahead(_) => self.send_impaired(now, packet, len),
            Bottleneck::Station(_) => self.send_lazily(now, packet, len),
        }
    }

    /// When something happens next; `None` if no packet is inside.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        let due = self.outlet.next_due();
        match &self.bottleneck {
            Bottleneck::Ahead(_) => due,
            Bottleneck::Station(station) => station.next_event_or(due),
        }
    }

    /// The next packet that is due at or before `now`. Packets due at the same instant come out in the order
    /// in which they were sent.
    #[inline]
    pub fn poll_receive(&mut self, now: Instant) -> Option<P> {
        self.advance(now);
        let packet = self.outlet.pop(now)?;
        self.books.counters.received += 1;
        self.books.counters.received_bytes += packet.ip_len();
        Some(packet)
    }

    /// Does what happens inside at or before `now`. After that, [`Self::poll_timer`] names a moment at or before `now`
    /// only where a packet comes out then.
    #[inline]
    pub fn advance(&mut self, now: Instant) {
        if matches!(self.bottleneck, Bottleneck::Station(_)) {
            self.advance_station(now);
        }
    }

    #[inline(never)]
    fn advance_station(&mut self, now: Instant) {
        let Bottleneck::Station(station) = &mut self.bottleneck else { return };
        self.now = self.now.max(now);
        let (schedule, outlet, books) = (&mut self.schedule, &mut self.outlet, &mut self.books);
        station.advance(self.now, &mut Around { schedule, outlet, books });
    }

    /// A verdict that was undecided and is final now, one for each such packet, in the order in which they become known.
    /// None for a packet whose verdict was final when [`Self::send`] answered.
    #[inline]
    pub fn poll_verdict(&mut self) -> Option<Verdict> {
        self.books.next_late()
    }

    /// What the direction has done so far.
    pub fn counters(&self) -> &Counters {
        &self.books.counters
    }

    /// The log, empty unless asked for by [`with_log`](Self::with_log).
    pub fn log(&self) -> &[LogRow] {
        self.books.log()
    }

    /// Packets on their way: on the first link, queued, being sent and propagating.
    pub fn in_transit(&self) -> usize {
        let waiting = match &self.bottleneck {
            Bottleneck::Ahead(_) => 0,
            Bottleneck::Station(station) => station.len(),
        };
        self.outlet.len() + waiting
    }

    /// Packets and bytes in the queue at `now`, the packet being sent and the overhead included.
    pub fn queued(&mut self, now: Instant) -> (u64, u64) {
        self.advance(now);
        match &mut self.bottleneck {
            Bottleneck::Ahead(ahead) => ahead.occupancy(now),
            Bottleneck::Station(station) => station.occupancy(self.now),
        }
    }

    /// What the queue holds.
    pub fn queue_limit(&self) -> QueueLimit {
        match &self.bottleneck {
            Bottleneck::Ahead(ahead) => ahead.limit(),
            Bottleneck::Station(station) => station.limit(),
        }
    }

    /// What patterns name and no packet has matched so far; ask at the end of a run.
    pub fn unreached(&self) -> Vec<Unreached> {
        self.ingress.as_deref().map(Ingress::unreached).unwrap_or_default()
    }

    /// How many patterns have met no packet so far: what they stand for has not happened. To be asked at the end of a
    /// run, as [`Self::unreached`], which has a line for each.
    pub fn unmet(&self) -> u64 {
        self.ingress.as_deref().map_or(0, Ingress::unmet)
    }

    /// A packet for a bottleneck that is served event by event.
    #[inline(never)]
    fn send_lazily(&mut self, now: Instant, packet: P, len: u64) -> Verdict {
        self.advance(now);
        let (now, position, bytes) = (self.now, self.books.counters.packets, len + self.overhead);
        let entry = self.first_link.as_mut().map_or(now, |link| link.pass(now, bytes));
        let decision = self.ingress.as_mut().map(|ingress| ingress.decide(entry, position, &packet));
        let fate = decision.as_ref().and_then(|decision| decision.fate(position));
        let undecided = Verdict { position, fate: Fate::Undecided, effects: Effects::default() };
        let summary = self.books.has_log().then(|| Summary::from(&*packet.packet()));
        self.books.note(now, summary, undecided, None);
        self.books.send(position);
        let Bottleneck::Station(station) = &mut self.bottleneck else { return undecided };
        if let Some(fate) = fate {
            self.books.settle(Verdict { fate, ..undecided }, len);
        } else {
            let extra = decision.map(|decision| Box::new(Extra { decision, ..Extra::default() }));
            let waiting =
                Waiting { packet, bytes: bytes as u32, position, entered: entry, marked: false, extra };
            let (schedule, outlet, books) = (&mut self.schedule, &mut self.outlet, &mut self.books);
            station.send(now, entry, waiting, &mut Around { schedule, outlet, books });
        }
        self.books.sent().unwrap_or(undecided)
    }

    #[inline]
    fn send_impaired(&mut self, now: Instant, packet: P, len: u64) -> Verdict {
        let Bottleneck::Ahead(ahead) = &mut self.bottleneck else {
            return self.send_lazily(now, packet, len);
        };
        let position = self.books.counters.packets;
        ahead.forget(now);
        let bytes = len + self.overhead;
        let entry = self.first_link.as_mut().map_or(now, |link| link.pass(now, bytes));
        let decision =
            self.ingress.as_mut().map_or_else(Decision::default, |i| i.decide(entry, position, &packet));
        self.schedule.change(entry, decision.rate, decision.delay);
        let summary = self.books.has_log().then(|| Summary::from(&*packet.packet()));
        let mut way = Way { ahead, schedule: &self.schedule, outlet: &mut self.outlet };
        let (verdict, stay) = way.admit(packet, Arrival { at: entry, position, bytes }, &decision);
        self.books.counters.count(&verdict, len);
        self.books.note(now, summary, verdict, stay);
        verdict
    }
}

impl<P: Carried> Bottleneck<P> {
    fn new(
        spec: &DirectionSpec,
        ticks: Ticks,
        trace: Option<&TraceFile>,
        stream: impl FnOnce() -> Xoshiro256PlusPlus,
    ) -> Self {
        let overhead = spec.overhead.as_u64();
        let slots = trace.filter(|trace| trace.about().format == TraceFormat::Mahimahi);
        let server = match (slots, Shaper::new(spec.shaper, ticks, overhead)) {
            (Some(trace), _) => {
                let repeats = spec.trace.as_ref().is_none_or(|one| one.trace.repeats(TraceFormat::Mahimahi));
                Server::Slots(Box::new(Slots::new(Opportunities::new(trace, repeats))))
            }
            (None, Some(shaper)) if spec.aqm == Aqm::None => {
                return Self::Ahead(Ahead::new(spec.queue_limit(), shaper, spec.link.is_some()));
            }
            (None, Some(shaper)) => Server::Timed { shaper, busy_until: Instant::ZERO, bytes: 0 },
            (None, None) => {
                let bucket = Bucket::new(ticks, spec.burst.map_or(0, |burst| burst.as_u64()));
                Server::Bucket { bucket, head: None, watchdog: Instant::ZERO }
            }
        };
        let discipline = Discipline::new(&spec.aqm, stream);
        Self::Station(Box::new(Station::new(spec.queue_limit(), overhead, discipline, server)))
    }
}

/// A direction whose trace counts bytes besides those of IP, where nothing else is said.
fn of_opportunities(spec: &DirectionSpec, trace: &TraceFile) -> Option<DirectionSpec> {
    let counts = trace.about().format == TraceFormat::Mahimahi && !spec.has_own_overhead;
    counts.then(|| DirectionSpec { overhead: Bytes(TUN_HEADER), ..spec.clone() })
}

/// A packet that arrives at the queue.
#[derive(Clone, Copy, Debug)]
struct Arrival {
    at: Instant,
    /// Its number in the direction, from 1.
    position: u64,
    /// Those of the link layer included.
    bytes: u64,
}

/// A bottleneck whose departures are known on arrival, and what is behind it.
struct Way<'a, P> {
    ahead: &'a mut Ahead,
    schedule: &'a Schedule,
    outlet: &'a mut Outlet<P>,
}

impl<P: Carried> Way<'_, P> {
    /// What becomes of a packet, and its time in the queue.
    #[inline]
    fn admit(&mut self, mut packet: P, arrival: Arrival, decision: &Decision) -> (Verdict, Option<Stay>) {
        let Arrival { at: entered, position, bytes } = arrival;
        let dropped = |fate| (Verdict { position, fate, effects: Effects::default() }, None);
        if let Some(fate) = decision.fate(position) {
            return dropped(fate);
        }
        let Some(departure) = self.queue(arrival) else {
            return dropped(Fate::QueueFull { limit: self.ahead.limit() });
        };
        if decision.corrupt {
            packet.damage();
        }
        let marked = decision.mark && packet.mark();
        let copy = decision.duplicate.then(|| packet.clone());
        let at = self.outlet.propagate(packet, Leaving { departure, bytes }, self.schedule, decision);
        // A copy enters right behind; no other impairment looks at it.
        let duplicated = match copy.map(|copy| (copy, self.queue(arrival))) {
            None => Duplicated::No,
            Some((_, None)) => Duplicated::CopyDropped,
            Some((copy, Some(departure))) => {
                let leaving = Leaving { departure, bytes };
                self.outlet.propagate(copy, leaving, self.schedule, &Decision::default());
                Duplicated::Delivered
            }
        };
        let effects = Effects {
            corrupted: decision.corrupt,
            duplicated,
            held: decision.hold.map(|h| h.0),
            reordered: decision.reorder.map(|r| r.0),
            marked,
            marked_by: None,
        };
        let leaves = departure < Instant::FAR_FUTURE;
        let fate = if leaves { Fate::Delivered { at } } else { Fate::Undecided };
        (Verdict { position, fate, effects }, Some(Stay { entered, left: leaves.then_some(departure) }))
    }

    /// When the packet leaves the shaper; `None` where the queue is full.
    #[inline]
    fn queue(&mut self, arrival: Arrival) -> Option<Instant> {
        self.ahead.admit(arrival.at, arrival.bytes, self.schedule)
    }
}
