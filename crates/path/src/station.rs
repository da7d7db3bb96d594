//! A bottleneck that is served event by event, where what comes later may matter to what waits.
//!
//! Its events are packets that arrive from the first link and the moments at which its server looks for the next
//! packet. They are handled in order of time, the server before an arrival at the same instant; nobody need call at
//! each of them, as long as nobody looks in between.

use std::collections::{BTreeMap, VecDeque};

use rexmit_units::{Instant, QueueLimit};

use crate::books::Books;
use crate::carried::Carried;
use crate::counters::Stay;
use crate::discipline::{Discipline, Room};
use crate::outlet::{Leaving, Outlet};
use crate::schedule::Schedule;
use crate::shaper::{Bucket, Shaper};
use crate::trace::{OPPORTUNITY, Opportunities};
use crate::verdict::{Duplicated, Effects, Fate, Verdict};
use crate::waiting::{Dropped, Extra, Twin, Waiting};

/// Queue and server.
pub(crate) struct Station<P> {
    /// Packets on the first link, with the instants of their arrival.
    coming: VecDeque<(Instant, Waiting<P>)>,
    limit: QueueLimit,
    overhead: u64,
    discipline: Discipline<P>,
    server: Server<P>,
    /// Nothing has waited and nothing been sent since then.
    idle: Option<Instant>,
    /// Packets that have been dropped and not been judged yet.
    dropped: Dropped<P>,
    /// What is known of packets of which there are two, by position.
    twins: BTreeMap<u64, Twins>,
}

/// Who sends.
pub(crate) enum Server<P> {
    /// A shaper that knows the departure of a packet as it takes it.
    Timed {
        shaper: Shaper,
        /// When the packet that was taken last leaves.
        busy_until: Instant,
        /// Its bytes.
        bytes: u64,
    },
    /// A bucket, which holds the next packet until there are tokens.
    Bucket { bucket: Bucket, head: Option<Waiting<P>>, watchdog: Instant },
    /// Opportunities of a trace, each for this many bytes.
    Slots(Box<Slots<P>>),
}

#[derive(Default)]
struct Twins {
    original: Option<(Verdict, u64)>,
    copy: Option<Duplicated>,
}

/// What lies around a station.
pub(crate) struct Around<'a, P> {
    pub schedule: &'a mut Schedule,
    pub outlet: &'a mut Outlet<P>,
    pub books: &'a mut Books,
}

impl<P: Carried> Station<P> {
    pub fn new(limit: QueueLimit, overhead: u64, discipline: Discipline<P>, server: Server<P>) -> Self {
        Self {
            coming: VecDeque::new(),
            limit,
            overhead,
            discipline,
            server,
            idle: Some(Instant::ZERO),
            dropped: Vec::new(),
            twins: BTreeMap::new(),
        }
    }

    /// What the queue holds.
    pub fn limit(&self) -> QueueLimit {
        self.limit
    }

    /// Packets and bytes in the queue at `now`, up to which everything has been done; the packet being sent included.
    pub fn occupancy(&self, now: Instant) -> (u64, u64) {
        let (packets, bytes) = self.in_service(now);
        (packets + self.discipline.len(), bytes + self.discipline.bytes())
    }

    /// Packets inside that no outlet has.
    pub fn len(&self) -> usize {
        let head = match &self.server {
            Server::Timed { .. } => false,
            Server::Bucket { head, .. } => head.is_some(),
            Server::Slots(slots) => slots.head.is_some(),
        };
        self.coming.len() + self.discipline.len() as usize + usize::from(head)
    }

    /// When something happens to a packet inside, or `due` if that is before.
    #[inline(never)]
    pub fn next_event_or(&self, due: Option<Instant>) -> Option<Instant> {
        let service = match &self.server {
            Server::Timed { busy_until, .. } => (self.discipline.len() > 0).then_some(*busy_until),
            Server::Bucket { head, watchdog, .. } => head.as_ref().map(|_| *watchdog),
            Server::Slots(slots) => self.idle.is_none().then(|| slots.next()).flatten(),
        };
        let arrival = self.coming.front().map(|coming| coming.0);
        service.into_iter().chain(arrival).chain(due).min()
    }

    /// Takes a packet that comes to the queue at `at`, which may lie ahead. Everything before the present has been
    /// done.
    pub fn send(&mut self, now: Instant, at: Instant, packet: Waiting<P>, around: &mut Around<'_, P>) {
        if at <= now && self.coming.is_empty() {
            self.enter(at, packet, around);
        } else {
            self.coming.push_back((at, packet));
        }
    }

    /// Does what happens at or before `now`.
    pub fn advance(&mut self, now: Instant, around: &mut Around<'_, P>) {
        loop {
            let service = match &self.server {
                // Also where nothing waits: then a discipline learns that it is empty.
                Server::Timed { busy_until, .. } => self.idle.is_none().then_some(*busy_until),
                Server::Bucket { head, watchdog, .. } => head.as_ref().map(|_| *watchdog),
                Server::Slots(slots) => self.idle.is_none().then(|| slots.next()).flatten(),
            };
            let arrival = self.coming.front().map(|coming| coming.0);
            match (service.filter(|at| *at <= now), arrival.filter(|at| *at <= now)) {
                (Some(service), arrival) if arrival.is_none_or(|arrival| service <= arrival) => {
                    if matches!(self.server, Server::Slots(_)) {
                        self.use_opportunity(service, around);
                    } else {
                        self.serve(service, true, around);
                    }
                }
                (_, Some(_)) => {
                    let Some((at, packet)) = self.coming.pop_front() else { return };
                    self.enter(at, packet, around);
                }
                _ => return,
            }
        }
    }

    /// A packet comes to the queue.
    fn enter(&mut self, now: Instant, mut waiting: Waiting<P>, around: &mut Around<'_, P>) {
        waiting.entered = now;
        let mut duplicate = false;
        if let Some(extra) = &mut waiting.extra {
            let decision = &extra.decision;
            around.schedule.change(now, decision.rate, decision.delay);
            if let (Some(_), Server::Bucket { bucket, .. }) = (decision.rate, &mut self.server) {
                bucket.fill(now);
            }
            if decision.corrupt {
                waiting.packet.damage();
            }
            extra.marked = decision.mark && waiting.packet.mark();
            duplicate = decision.duplicate;
            if duplicate {
                extra.twin = Twin::Original;
            }
        }
        if !duplicate {
            self.queue(now, waiting, around);
            return;
        }
        let extra = Some(Box::new(Extra { twin: Twin::Copy, ..Extra::default() }));
        let copy = Waiting { packet: waiting.packet.clone(), extra, ..waiting };
        self.twins.insert(copy.position, Twins::default());
        self.queue(now, waiting, around);
        // Where the first of the two is dropped at once, there is no second.
        let dropped = |twins: &Twins| twins.original.is_some_and(|(verdict, _)| verdict.is_drop());
        if self.twins.get(&copy.position).is_some_and(dropped) {
            if let Some((verdict, len)) = self.twins.remove(&copy.position).and_then(|twins| twins.original) {
                around.books.settle(verdict, len);
            }
        } else {
            self.queue(now, copy, around);
        }
    }

    /// Puts a packet into the queue, and lets the server look.
    fn queue(&mut self, now: Instant, waiting: Waiting<P>, around: &mut Around<'_, P>) {
        if let Server::Bucket { bucket, .. } = &self.server
            && !bucket.holds(waiting.bytes.into())
        {
            let fate = Fate::TooLong { bytes: waiting.bytes.into() };
            self.dropped.push((waiting, fate));
        } else {
            stays(&waiting, None, around.books);
            let rate = around.schedule.rates().at(now);
            let room = Room { limit: self.limit, in_service: self.in_service(now), idle: self.idle, rate };
            self.discipline.enqueue(now, waiting, &room, &mut self.dropped);
        }
        self.judge_dropped(now, around);
        if let Server::Slots(slots) = &mut self.server {
            // What could have been sent until now has gone by.
            if self.discipline.len() > 0 && self.idle.take().is_some() {
                slots.opportunities.pass_until(now);
            }
            return;
        }
        // As Linux, whose queues are run for every packet, also for one that was dropped.
        if self.idle.is_some() || matches!(self.server, Server::Bucket { .. }) {
            self.serve(now, false, around);
        }
    }

    /// An opportunity of a trace: packets leave until its bytes are used or nothing waits. What is left of one goes on at
    /// the next; what is left of the opportunity is lost.
    fn use_opportunity(&mut self, now: Instant, around: &mut Around<'_, P>) {
        let mut bytes = OPPORTUNITY;
        if let Server::Slots(slots) = &mut self.server {
            slots.opportunities.pass();
        }
        while bytes > 0 {
            let Server::Slots(slots) = &mut self.server else { return };
            let head = slots.head.take().or_else(|| {
                let next = self.discipline.dequeue(now, &mut self.dropped)?;
                Some((next.bytes, next))
            });
            self.judge_dropped(now, around);
            let Some((left, packet)) = head else { break };
            let sent = left.min(bytes);
            bytes -= sent;
            if sent == left {
                self.release(packet, now, around);
            } else if let Server::Slots(slots) = &mut self.server {
                slots.head = Some((left - sent, packet));
            }
        }
        let Server::Slots(slots) = &self.server else { return };
        if slots.head.is_none() && self.discipline.len() == 0 {
            self.idle = Some(now);
        }
    }

    /// The server looks for packets to send; it `continues` where it was sending until now.
    fn serve(&mut self, now: Instant, continues: bool, around: &mut Around<'_, P>) {
        let mut continues = continues;
        loop {
            let head = match &mut self.server {
                Server::Bucket { head, .. } => head.take(),
                Server::Timed { .. } | Server::Slots(_) => None,
            };
            let next = head.or_else(|| self.discipline.dequeue(now, &mut self.dropped));
            self.judge_dropped(now, around);
            let Some(next) = next else {
                self.idle.get_or_insert(now);
                return;
            };
            self.idle = None;
            match &mut self.server {
                Server::Timed { shaper, busy_until, bytes } => {
                    let from = if continues { shaper.resumes(now) } else { now };
                    let departure = shaper.depart(from, next.bytes.into(), around.schedule.rates()).max(now);
                    (*busy_until, *bytes) = (departure, next.bytes.into());
                    self.release(next, departure, around);
                    if departure > now {
                        return;
                    }
                    continues = true;
                }
                Server::Bucket { bucket, head, watchdog } => {
                    if let Err(at) = bucket.take(now, next.bytes.into(), around.schedule.rates()) {
                        (*head, *watchdog) = (Some(next), at);
                        return;
                    }
                    self.release(next, now, around);
                }
                // It has been served by its trace: `Self::use_opportunity`.
                Server::Slots(slots) => {
                    slots.head = Some((next.bytes, next));
                    return;
                }
            }
        }
    }

    /// A packet leaves the shaper at `departure`.
    fn release(&mut self, waiting: Waiting<P>, departure: Instant, around: &mut Around<'_, P>) {
        let (position, twin, bytes) = (waiting.position, waiting.twin(), u64::from(waiting.bytes));
        let leaves = departure < Instant::FAR_FUTURE;
        stays(&waiting, leaves.then_some(departure), around.books);
        let extra = waiting.extra.map_or_else(Extra::default, |extra| *extra);
        let decision = extra.decision;
        // A mark from before it entered stays a pattern's.
        let marked_by = self.discipline.algorithm().filter(|_| waiting.marked && !extra.marked);
        let leaving = Leaving { departure, bytes };
        let at = around.outlet.propagate(waiting.packet, leaving, around.schedule, &decision);
        let effects = Effects {
            corrupted: decision.corrupt,
            duplicated: Duplicated::No,
            held: decision.hold.map(|h| h.0),
            reordered: decision.reorder.map(|r| r.0),
            marked: extra.marked || marked_by.is_some(),
            marked_by,
        };
        // Behind an outage without an end it stays undecided.
        if leaves {
            let verdict = Verdict { position, fate: Fate::Delivered { at }, effects };
            self.judge(verdict, bytes - self.overhead, twin, around.books);
        }
    }

    fn judge_dropped(&mut self, now: Instant, around: &mut Around<'_, P>) {
        if self.dropped.is_empty() {
            return;
        }
        let mut dropped = std::mem::take(&mut self.dropped);
        for (waiting, fate) in dropped.drain(..) {
            if waiting.twin() != Twin::Copy {
                let stay = Stay { entered: waiting.entered, left: Some(now) };
                let inside = waiting.entered < now || matches!(fate, Fate::DroppedFromQueue { .. });
                around.books.stay(waiting.position, inside.then_some(stay));
            }
            let verdict = Verdict { position: waiting.position, fate, effects: Effects::default() };
            self.judge(verdict, u64::from(waiting.bytes) - self.overhead, waiting.twin(), around.books);
        }
        self.dropped = dropped;
    }

    /// A packet's fate is known. Of two, both are waited for.
    fn judge(&mut self, verdict: Verdict, len: u64, twin: Twin, books: &mut Books) {
        if twin == Twin::No {
            books.settle(verdict, len);
            return;
        }
        let Some(twins) = self.twins.get_mut(&verdict.position) else { return };
        if twin == Twin::Original {
            twins.original = Some((verdict, len));
        } else {
            twins.copy = Some(match verdict.fate {
                Fate::Delivered { .. } => Duplicated::Delivered,
                Fate::DroppedOnArrival { by } | Fate::DroppedFromQueue { by, .. } => {
                    Duplicated::CopyDroppedByAqm { by }
                }
                _ => Duplicated::CopyDropped,
            });
        }
        if let (Some((mut verdict, len)), Some(copy)) = (twins.original, twins.copy) {
            self.twins.remove(&verdict.position);
            verdict.effects.duplicated = copy;
            books.settle(verdict, len);
        }
    }

    /// Packets and bytes that have left the discipline and still hold a place.
    fn in_service(&self, now: Instant) -> (u64, u64) {
        match &self.server {
            Server::Timed { busy_until, bytes, .. } if *busy_until > now => (1, *bytes),
            Server::Bucket { head: Some(head), .. } => (1, head.bytes.into()),
            Server::Slots(slots) => slots.head.as_ref().map_or((0, 0), |(_, head)| (1, head.bytes.into())),
            _ => (0, 0),
        }
    }
}

/// Writes down that a packet is in the queue, until it leaves.
fn stays<P>(waiting: &Waiting<P>, left: Option<Instant>, books: &mut Books) {
    if waiting.twin() != Twin::Copy {
        books.stay(waiting.position, Some(Stay { entered: waiting.entered, left }));
    }
}

/// Who sends at the opportunities of a trace.
pub(crate) struct Slots<P> {
    opportunities: Opportunities,
    /// A packet of which a part has left, and its bytes that have not.
    head: Option<(u32, Waiting<P>)>,
}

impl<P> Slots<P> {
    pub fn new(opportunities: Opportunities) -> Self {
        Self { opportunities, head: None }
    }

    /// When the next opportunity is, if there is one.
    fn next(&self) -> Option<Instant> {
        Some(self.opportunities.next()).filter(|next| *next < Instant::FAR_FUTURE)
    }
}
