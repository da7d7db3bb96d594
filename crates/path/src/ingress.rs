//! Impairments as packets enter: what is to happen to each.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Instant, LineRate, Probability};

use crate::carried::Carried;
use crate::flow::FlowTracker;
use crate::pattern::{Pattern, Positions};
use crate::random::{JitterProcess, LossProcess};
use crate::select::{PacketView, Selector};
use crate::spec::{DirectionSpec, Impairments};
use crate::trace::{Column, TraceFile};
use crate::unreached::Unreached;
use crate::verdict::Fate;

/// Every impairment of a direction, with its state.
pub(crate) struct Ingress {
    flows: Option<FlowTracker>,
    drop: Option<Selector>,
    corrupt: Option<Selector>,
    mark: Option<Selector>,
    duplicate: Option<Selector>,
    hold: Option<(Selector, Duration, bool)>,
    reorder: Option<(Selector, u32, Duration)>,
    loss: Option<LossProcess>,
    /// Random loss as a trace says.
    traced_loss: Option<(Column<Probability>, Xoshiro256PlusPlus)>,
    jitter: Option<(JitterProcess, bool)>,
    /// Changes that a packet brings about.
    changes: Vec<(Selector, Option<LineRate>, Option<Duration>)>,
}

/// What is to happen to one packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Decision {
    /// A loss pattern names it.
    pub drop: bool,
    /// Random loss takes it.
    pub lost: bool,
    /// It gets a bit error.
    pub corrupt: bool,
    /// It is marked, where it is ECN-capable.
    pub mark: bool,
    /// It is doubled.
    pub duplicate: bool,
    /// Extra delay, and whether packets behind wait as well.
    pub hold: Option<(Duration, bool)>,
    /// Later packets that pass first, and the longest wait for them.
    pub reorder: Option<(u32, Duration)>,
    /// Variation of the delay, in ns.
    pub jitter: i64,
    /// Whether the variation lets it overtake others.
    pub overtakes: bool,
    /// The new rate from this packet on.
    pub rate: Option<LineRate>,
    /// The new delay from this packet on.
    pub delay: Option<Duration>,
}

impl Decision {
    /// Why it does not reach the queue, if so.
    #[inline]
    pub fn fate(&self, position: u64) -> Option<Fate> {
        if self.drop {
            return Some(Fate::DroppedByPattern { position });
        }
        self.lost.then_some(Fate::DroppedByLoss)
    }
}

impl Ingress {
    /// `None` where nothing is to be done to any packet.
    pub fn new(
        direction: &DirectionSpec,
        name: &str,
        streams: &mut dyn FnMut(&str) -> Xoshiro256PlusPlus,
        trace: Option<&TraceFile>,
    ) -> Option<Self> {
        let spec = &direction.impairments;
        let selector =
            |key: &str, pattern: &Pattern| Selector::new(pattern.clone(), format!("path.{name}.{key}"));
        let follow = spec.patterns().any(|(_, pattern)| pattern.needs_flows());
        let this = Self {
            flows: follow.then(FlowTracker::default),
            drop: spec.drop.as_ref().map(|p| selector("drop", p)),
            corrupt: spec.corrupt.as_ref().map(|p| selector("corrupt", p)),
            mark: spec.mark.as_ref().map(|p| selector("mark", p)),
            duplicate: spec.duplicate.as_ref().map(|p| selector("duplicate", p)),
            hold: spec.hold.as_ref().map(|h| (selector("hold", &h.pattern), h.by, h.keep_order)),
            reorder: spec.reorder.as_ref().map(|r| (selector("reorder", &r.pattern), r.past, r.within)),
            loss: spec.loss.as_ref().map(|l| LossProcess::new(l, streams(&format!("path.{name}.loss")))),
            traced_loss: traced_loss(direction, trace)
                .map(|loss| (loss, streams(&format!("path.{name}.trace")))),
            jitter: spec
                .jitter
                .as_ref()
                .map(|j| (JitterProcess::new(j, streams(&format!("path.{name}.jitter"))), j.reorder)),
            changes: changes(spec, &selector),
        };
        let by_pattern = spec.patterns().next().is_some() || !this.changes.is_empty();
        let random = this.loss.is_some() || this.traced_loss.is_some() || this.jitter.is_some();
        (by_pattern || random).then_some(this)
    }

    /// Decides on the next packet. Every impairment looks at every packet, also at one that another drops.
    pub fn decide(&mut self, now: Instant, position: u64, packet: &impl Carried) -> Decision {
        let flow = self.flows.as_mut().map(|flows| flows.observe(&packet.packet()));
        let seen = PacketView { now, position, flow };
        let named = |s: &mut Option<Selector>| s.as_mut().is_some_and(|s| s.names(&seen));
        let (jitter, overtakes) = match &mut self.jitter {
            Some((process, reorder)) => (process.next_nanos(), *reorder),
            None => (0, false),
        };
        // Drawn for every packet, whatever the trace says of its moment.
        let traced_loss = self.traced_loss.as_mut().is_some_and(|(loss, stream)| {
            let draw = stream.next_u64();
            loss.from(now).0.is_some_and(|(_, loss)| loss.occurs(draw))
        });
        let (mut rate, mut delay) = (None, None);
        for (selector, new_rate, new_delay) in &mut self.changes {
            if selector.names(&seen) {
                rate = new_rate.or(rate);
                delay = new_delay.or(delay);
            }
        }
        Decision {
            drop: named(&mut self.drop),
            corrupt: named(&mut self.corrupt),
            mark: named(&mut self.mark),
            duplicate: named(&mut self.duplicate),
            hold: self.hold.as_mut().and_then(|(s, by, keep)| s.names(&seen).then_some((*by, *keep))),
            reorder: self.reorder.as_mut().and_then(|(s, n, within)| s.names(&seen).then_some((*n, *within))),
            lost: self.loss.as_mut().is_some_and(LossProcess::next_is_lost) | traced_loss,
            jitter,
            overtakes,
            rate,
            delay,
        }
    }

    /// What patterns name and no packet has matched.
    pub fn unreached(&self) -> Vec<Unreached> {
        self.selectors().flat_map(Selector::unreached).collect()
    }

    /// How many patterns name packets of which none has come.
    pub fn unmet(&self) -> u64 {
        self.selectors().filter(|selector| selector.is_unmet()).count() as u64
    }

    fn selectors(&self) -> impl Iterator<Item = &Selector> {
        let timed = [self.hold.as_ref().map(|h| &h.0), self.reorder.as_ref().map(|r| &r.0)];
        let plain = [self.drop.as_ref(), self.corrupt.as_ref(), self.mark.as_ref(), self.duplicate.as_ref()];
        let changes = self.changes.iter().map(|c| Some(&c.0));
        plain.into_iter().chain(timed).chain(changes).flatten()
    }
}

/// The loss of a trace that has some.
fn traced_loss(spec: &DirectionSpec, trace: Option<&TraceFile>) -> Option<Column<Probability>> {
    let (trace, followed) = (trace?, spec.trace.as_ref()?);
    let about = trace.about();
    about.loss?;
    Some(Column::new(trace, followed.trace.repeats(about.format), |row| row.loss))
}

/// The changes that a packet brings about; those at an instant need none.
fn changes(
    spec: &Impairments,
    selector: &dyn Fn(&str, &Pattern) -> Selector,
) -> Vec<(Selector, Option<LineRate>, Option<Duration>)> {
    let numbered = spec.changes.iter().enumerate();
    let by_packet = numbered.filter_map(|(i, change)| {
        let from_packet = change.packet.map(|n| Pattern::at(Positions::one(n)));
        let pattern = change.when.clone().or(from_packet)?;
        Some((selector(&format!("changes.{i}"), &pattern), change.rate, change.delay))
    });
    by_packet.collect()
}
