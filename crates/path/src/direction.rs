//! One direction of a path: impairments, queue, shaper, delay line.

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Instant, QueueLimit};
use rexmit_wire::Packet;

use crate::carried::Carried;
use crate::counters::{Counters, LogRow, Summary};
use crate::error::PathError;
use crate::ingress::{Decision, Ingress};
use crate::outlet::{Link, Outlet};
use crate::queue::Queue;
use crate::schedule::Schedule;
use crate::shaper::Shaper;
use crate::spec::DirectionSpec;
use crate::ticks::Ticks;
use crate::unreached::Unreached;
use crate::verdict::{Duplicated, Effects, Fate, Verdict};

/// One direction of a path.
///
/// Families of methods: *commands* [`send`](Self::send) puts a packet in; *poll*
/// [`poll_timer`](Self::poll_timer) says when to call [`poll_receive`](Self::poll_receive), which hands
/// packets out until it answers `None`; *getters* [`counters`](Self::counters), [`log`](Self::log),
/// [`unreached`](Self::unreached). Time never runs backwards between calls. Where a packet enters at the
/// instant at which another leaves the queue, the place is free.
pub struct Direction<P = Packet> {
    /// Nothing but queue, shaper and delay: done with a packet at once.
    plain: bool,
    overhead: u64,
    schedule: Schedule,
    queue: Queue,
    shaper: Shaper,
    outlet: Outlet<P>,
    /// When the last packet leaves the shaper.
    departed: Instant,
    counters: Counters,
    ingress: Option<Ingress>,
    first_link: Option<Link>,
    log: Option<Vec<LogRow>>,
}

impl<P: Carried> Direction<P> {
    /// A direction as `spec` says. `name` is `down` or `up`; `phase` is the time from the start of the run to
    /// the first tick of a shaper that works at ticks, shorter than its tick. `streams` gives the random
    /// stream of an impairment by its name, such as `path.down.loss`.
    ///
    /// # Errors
    /// Where `spec` contradicts itself or `phase` is too long.
    pub fn new(
        spec: &DirectionSpec,
        name: &str,
        phase: Duration,
        streams: &mut dyn FnMut(&str) -> Xoshiro256PlusPlus,
    ) -> Result<Self, PathError> {
        PathError::check(spec, name, phase)?;
        let ticks = Ticks::new(spec.tick, phase);
        let shaper = Shaper::new(spec.shaper, ticks);
        let (schedule, ingress) = (Schedule::new(spec), Ingress::new(&spec.impairments, name, streams));
        Ok(Self {
            plain: ingress.is_none() && schedule.is_fixed() && spec.link.is_none(),
            overhead: spec.overhead.as_u64(),
            schedule,
            queue: Queue::new(spec.queue, shaper.byte_rule(), spec.link.is_some()),
            shaper,
            outlet: Outlet::new(spec, ticks),
            departed: Instant::ZERO,
            counters: Counters::default(),
            ingress,
            first_link: Link::new(spec.link),
            log: None,
        })
    }

    /// Keeps a log of verdicts from now on.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log = Some(Vec::new());
        self.plain = false;
        self
    }

    /// Takes a packet at `now` and says at once what becomes of it.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: P) -> Verdict {
        let len = packet.ip_len();
        self.counters.packets += 1;
        self.counters.bytes += len;
        if !self.plain {
            return self.send_impaired(now, packet, len);
        }
        let position = self.counters.packets;
        let effects = Effects::default();
        let Some(departure) = self.admit(now, len) else {
            self.counters.queue_full += 1;
            self.counters.dropped_bytes += len;
            return Verdict { position, fate: Fate::QueueFull { limit: self.queue.limit() }, effects };
        };
        let due = self.outlet.pass(departure, self.schedule.delay(departure), packet);
        Verdict { position, fate: Fate::Delivered { at: Some(due) }, effects }
    }

    /// When the next packet comes out; `None` if none is on its way.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        self.outlet.next_due()
    }

    /// The next packet that is due at or before `now`. Packets due at the same instant come out in the order
    /// in which they were sent.
    #[inline]
    pub fn poll_receive(&mut self, now: Instant) -> Option<P> {
        let packet = self.outlet.pop(now)?;
        self.counters.received += 1;
        Some(packet)
    }

    /// What the direction has done so far.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The log, empty unless asked for by [`with_log`](Self::with_log).
    pub fn log(&self) -> &[LogRow] {
        self.log.as_deref().unwrap_or_default()
    }

    /// Packets on their way: queued, being sent and propagating.
    pub fn in_transit(&self) -> usize {
        self.outlet.len()
    }

    /// Packets and bytes in the queue at `now`, the packet being sent included.
    pub fn queued(&mut self, now: Instant) -> (u64, u64) {
        self.queue.occupancy(now)
    }

    /// What the queue holds.
    pub fn queue_limit(&self) -> QueueLimit {
        self.queue.limit()
    }

    /// What patterns name and no packet has been so far; to be asked at the end of a run.
    pub fn unreached(&self) -> Vec<Unreached> {
        self.ingress.as_ref().map(Ingress::unreached).unwrap_or_default()
    }

    /// The departure of a packet that enters the queue at `now`; `None` if it is full.
    #[inline]
    fn admit(&mut self, now: Instant, len: u64) -> Option<Instant> {
        let len = len + self.overhead;
        if !self.queue.admits(now, len) {
            return None;
        }
        let rate = self.schedule.rate(|| self.shaper.starts(now));
        let departure = self.shaper.depart(now, len, rate).max(self.departed);
        self.departed = departure;
        self.queue.push(now, departure, len);
        Some(departure)
    }

    #[inline]
    fn send_impaired(&mut self, now: Instant, packet: P, len: u64) -> Verdict {
        let position = self.counters.packets;
        let bytes = len + self.overhead;
        self.queue.forget(now);
        let entry = self.first_link.as_mut().map_or(now, |link| link.pass(now, bytes));
        let decision =
            self.ingress.as_mut().map_or_else(Decision::default, |i| i.decide(entry, position, &packet));
        self.schedule.change(entry, decision.rate, decision.delay);
        let summary = self.log.is_some().then(|| Summary::from(&*packet.packet()));
        let verdict = self.judge(entry, packet, len, decision);
        self.counters.count(&verdict, len);
        if let (Some(log), Some(packet)) = (&mut self.log, summary) {
            log.push(LogRow { time: now, packet, verdict });
        }
        verdict
    }

    #[inline]
    fn judge(&mut self, now: Instant, mut packet: P, len: u64, decision: Decision) -> Verdict {
        let position = self.counters.packets;
        let dropped = |fate| Verdict { position, fate, effects: Effects::default() };
        if decision.drop {
            return dropped(Fate::DroppedByPattern { position });
        }
        if decision.lost {
            return dropped(Fate::DroppedByLoss);
        }
        let Some(departure) = self.admit(now, len) else {
            return dropped(Fate::QueueFull { limit: self.queue.limit() });
        };
        if decision.corrupt {
            packet.damage();
        }
        let marked = decision.mark && packet.mark();
        let copy = decision.duplicate.then(|| packet.clone());
        let at = self.propagate(departure, packet, len, &decision);
        let duplicated = match copy {
            None => Duplicated::No,
            Some(copy) => self.send_copy(now, copy, len),
        };
        let effects = Effects {
            corrupted: decision.corrupt,
            duplicated,
            held: decision.hold.map(|h| h.0),
            reordered: decision.reorder.map(|r| r.0),
            marked,
        };
        Verdict { position, fate: Fate::Delivered { at }, effects }
    }

    /// Puts a copy into the queue; no other impairment looks at it.
    fn send_copy(&mut self, now: Instant, copy: P, len: u64) -> Duplicated {
        match self.admit(now, len) {
            None => Duplicated::CopyDropped,
            Some(departure) => {
                self.propagate(departure, copy, len, &Decision::default());
                Duplicated::Delivered
            }
        }
    }

    #[inline]
    fn propagate(&mut self, departure: Instant, packet: P, len: u64, decision: &Decision) -> Option<Instant> {
        let bytes = len + self.overhead;
        self.outlet.propagate((departure, &self.schedule), (packet, bytes), decision)
    }
}
