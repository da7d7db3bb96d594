//! What comes after the shaper: the propagation delay, the second link, extra delay, and the order of arrival.

use rexmit_units::{Duration, Instant, Rate, TransmitClock};

use crate::ingress::Decision;
use crate::line::Line;
use crate::schedule::Schedule;
use crate::spec::{DelayRule, DirectionSpec, ShaperKind};
use crate::ticks::Ticks;

/// A link that packets pass in order, one after the other. Those that wait for it are not limited.
pub(crate) struct Link {
    rate: Rate,
    clock: TransmitClock,
}

impl Link {
    /// `None` where there is none.
    pub fn new(rate: Option<Rate>) -> Option<Self> {
        rate.map(|rate| Self { rate, clock: TransmitClock::default() })
    }

    /// When the last bit of a packet of this many bytes, there from `now` on, has left.
    pub fn pass(&mut self, now: Instant, bytes: u64) -> Instant {
        self.clock.transmit(now, bytes, self.rate)
    }
}

/// Packets past the shaper.
pub(crate) struct Outlet<P> {
    /// Packets on their way; a caller may put in those that meet nothing but the delay.
    pub line: Line<P>,
    /// What a plain delay does not have.
    more: Option<Box<More>>,
    /// No packet that keeps its order comes out before.
    floor: Instant,
}

/// What few links have after their shaper.
struct More {
    /// Where the delay is cut to whole ticks (EM-DN-5), and how many more it takes (EM-NE-2).
    ticks: Option<(Ticks, u64)>,
    link: Option<Link>,
}

/// A packet at the end of the shaper.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Leaving {
    /// When its last bit leaves the shaper.
    pub departure: Instant,
    /// Its bytes, those of the link layer included.
    pub bytes: u64,
}

impl<P> Outlet<P> {
    pub fn new(spec: &DirectionSpec, ticks: Ticks) -> Self {
        let effects = &spec.impairments;
        let overtakes = effects.hold.as_ref().is_some_and(|h| !h.keep_order)
            || effects.reorder.is_some()
            || effects.jitter.as_ref().is_some_and(|j| j.reorder);
        let ticks = match (spec.shaper, spec.delay_rule) {
            (ShaperKind::Dummynet, _) => Some((ticks, 0)),
            (_, DelayRule::Netem26) => Some((ticks, 1)),
            (_, DelayRule::Exact) => None,
        };
        let link = Link::new(spec.link);
        Self {
            more: (ticks.is_some() || link.is_some()).then(|| Box::new(More { ticks, link })),
            line: if overtakes { Line::sorted() } else { Line::fifo() },
            floor: Instant::ZERO,
        }
    }

    /// When the next packet comes out.
    #[inline]
    pub fn next_due(&self) -> Option<Instant> {
        self.line.next_due()
    }

    /// The next packet, if it is due at `now`.
    #[inline]
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        self.line.pop(now)
    }

    /// How many packets are on their way.
    pub fn len(&self) -> usize {
        self.line.len()
    }

    /// Puts a packet in that leaves the shaper; returns when it comes out, if that is known.
    #[inline]
    pub fn propagate(
        &mut self,
        packet: P,
        Leaving { departure, bytes }: Leaving,
        schedule: &Schedule,
        decision: &Decision,
    ) -> Option<Instant> {
        let arrival = self.propagated(departure, schedule.delay(departure));
        // The second link: its order is that of departures, also where the delay gets shorter.
        let link = self.more.as_mut().and_then(|more| more.link.as_mut());
        let out = link.map_or(arrival, |link| link.pass(arrival, bytes));
        // What varies is the delay, which does not fall below zero.
        let mut due = vary(out, decision.jitter, departure + out.saturating_since(arrival));
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

    /// When a packet that leaves the shaper at `departure` has propagated.
    #[inline]
    pub fn propagated(&self, departure: Instant, delay: Duration) -> Instant {
        match self.more.as_ref().and_then(|more| more.ticks.as_ref()) {
            None => departure + delay,
            Some((_, more)) if *more > 0 && delay.is_zero() => departure,
            Some((ticks, more)) => ticks.after(departure, delay, *more),
        }
    }
}

/// `due` with a variation in ns, never before `earliest`.
fn vary(due: Instant, nanos: i64, earliest: Instant) -> Instant {
    Instant::from_nanos(due.as_nanos().saturating_add_signed(nanos)).max(earliest)
}
