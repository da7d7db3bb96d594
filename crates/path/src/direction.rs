//! One direction of a path: impairments, queue, shaper, delay line.

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Instant, QueueLimit, Rate};
use rexmit_wire::Packet;

use crate::carried::Carried;
use crate::counters::{Counters, LogRow, Summary};
use crate::error::PathError;
use crate::ingress::{Decision, Ingress};
use crate::line::Line;
use crate::queue::Queue;
use crate::schedule::Schedule;
use crate::shaper::Shaper;
use crate::spec::DirectionSpec;
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
    rate: Option<Rate>,
    delay: Duration,
    schedule: Option<Schedule>,
    ingress: Option<Ingress>,
    queue: Queue,
    shaper: Shaper,
    line: Line<P>,
    /// When the last packet leaves the shaper.
    departed: Instant,
    /// No packet that keeps its order comes out before.
    floor: Instant,
    counters: Counters,
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
        let effects = &spec.impairments;
        let overtakes = effects.hold.as_ref().is_some_and(|h| !h.keep_order)
            || effects.reorder.is_some()
            || effects.jitter.as_ref().is_some_and(|j| j.reorder);
        let shaper = Shaper::new(spec.shaper, spec.tick, phase);
        Ok(Self {
            rate: spec.rate,
            delay: spec.delay,
            schedule: Schedule::new(spec),
            ingress: Ingress::new(effects, name, streams),
            queue: Queue::new(spec.queue, shaper.byte_rule()),
            shaper,
            line: if overtakes { Line::sorted() } else { Line::fifo() },
            departed: Instant::ZERO,
            floor: Instant::ZERO,
            counters: Counters::default(),
            log: None,
        })
    }

    /// Keeps a log of verdicts from now on.
    #[must_use]
    pub fn with_log(mut self) -> Self {
        self.log = Some(Vec::new());
        self
    }

    /// Takes a packet at `now` and says at once what becomes of it.
    #[inline]
    pub fn send(&mut self, now: Instant, packet: P) -> Verdict {
        let len = packet.ip_len();
        self.counters.packets += 1;
        self.counters.bytes += len;
        if self.ingress.is_some() || self.schedule.is_some() || self.log.is_some() {
            return self.send_impaired(now, packet, len);
        }
        let position = self.counters.packets;
        let effects = Effects::default();
        let Some(departure) = self.admit(now, len) else {
            self.counters.queue_full += 1;
            self.counters.dropped_bytes += len;
            return Verdict { position, fate: Fate::QueueFull { limit: self.queue.limit() }, effects };
        };
        let due = self.shaper.arrive(departure, self.delay);
        self.line.push(due, packet);
        Verdict { position, fate: Fate::Delivered { at: Some(due) }, effects }
    }

    /// When the next packet comes out; `None` if none is on its way.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        self.line.next_due()
    }

    /// The next packet that is due at or before `now`. Packets due at the same instant come out in the order
    /// in which they were sent.
    #[inline]
    pub fn poll_receive(&mut self, now: Instant) -> Option<P> {
        let packet = self.line.pop(now)?;
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
        self.line.len()
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
        if !self.queue.admits(now, len) {
            return None;
        }
        let rate = match &self.schedule {
            None => self.rate,
            Some(schedule) => schedule.rate(self.shaper.starts(now)),
        };
        let departure = self.shaper.depart(now, len, rate).max(self.departed);
        self.departed = departure;
        self.queue.push(departure, len);
        Some(departure)
    }

    #[inline]
    fn send_impaired(&mut self, now: Instant, packet: P, len: u64) -> Verdict {
        let position = self.counters.packets;
        let decision =
            self.ingress.as_mut().map_or_else(Decision::default, |i| i.decide(now, position, &packet));
        if let Some(schedule) = &mut self.schedule {
            schedule.change(now, decision.rate, decision.delay);
        }
        let summary = self.log.is_some().then(|| Summary::from(&*packet.packet()));
        let verdict = self.judge(now, packet, len, decision);
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
        let at = self.propagate(departure, packet, &decision);
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
                self.propagate(departure, copy, &Decision::default());
                Duplicated::Delivered
            }
        }
    }

    /// Puts a packet that leaves the shaper at `departure` into the delay line; returns when it comes out, if
    /// that is known.
    #[inline]
    fn propagate(&mut self, departure: Instant, packet: P, decision: &Decision) -> Option<Instant> {
        let delay = self.schedule.as_ref().map_or(self.delay, |s| s.delay(departure));
        let mut due = vary(self.shaper.arrive(departure, delay), decision.jitter, departure);
        let mut in_order = !decision.overtakes;
        if let Some((by, keep_order)) = decision.hold {
            due += by;
            in_order &= keep_order;
        }
        if decision.reorder.is_none() {
            if in_order {
                // Where a delay gets shorter, packets wait for those before them.
                due = due.max(self.floor);
                self.floor = due;
            } else if decision.hold.is_some() {
                // Held behind those before it; those after it are free to overtake.
                due = due.max(self.floor);
            }
        }
        match (&mut self.line, decision.reorder) {
            (Line::Sorted(sorted), Some((past, within))) => {
                sorted.push_back_past(due, due + within, past, packet);
                None
            }
            (line, _) => {
                line.push(due, packet);
                if let Line::Sorted(sorted) = line {
                    sorted.passed(due);
                }
                Some(due)
            }
        }
    }
}

/// `due` with a variation in ns, never before `earliest`.
fn vary(due: Instant, nanos: i64, earliest: Instant) -> Instant {
    Instant::from_nanos(due.as_nanos().saturating_add_signed(nanos)).max(earliest)
}
