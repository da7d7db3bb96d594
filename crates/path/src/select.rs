//! A pattern at work: does it name this packet?

use rexmit_units::Instant;
use rexmit_wire::{Flags, QuicKinds};

use crate::flow::{FlowView, SegmentView};
use crate::pattern::{Data, Kind, Pattern, Positions, Rule, Scope, Times, in_period, time_in_period};
use crate::unreached::{Missed, Unreached};

/// One packet as patterns see it.
pub(crate) struct PacketView {
    pub now: Instant,
    /// Number in the direction, from 1.
    pub position: u64,
    /// Known only where a pattern needs it.
    pub flow: Option<FlowView>,
}

/// A pattern with its counters.
pub(crate) struct Selector {
    pattern: Pattern,
    /// As warnings name it: `path.down.drop`.
    name: String,
    /// One for each rule.
    counters: Vec<Counter>,
}

/// What a rule has counted.
#[derive(Clone, Default)]
struct Counter {
    /// Matches so far, by flow; the scope of a port has one.
    matches: Vec<u64>,
    /// Offset of the data watched, by flow, once known.
    offsets: Vec<Option<u64>>,
    /// The highest number that any packet had.
    highest: u64,
    /// When the last packet came; `None` before the first.
    latest: Option<Instant>,
    /// The rule has named a packet.
    met: bool,
}

impl Selector {
    pub fn new(pattern: Pattern, name: String) -> Self {
        let counters = vec![Counter::default(); pattern.rules.len()];
        Self { pattern, name, counters }
    }

    /// True if the pattern names the packet. To be asked once for every packet, in order.
    pub fn names(&mut self, seen: &PacketView) -> bool {
        let mut named = false;
        for (rule, counter) in self.pattern.rules.iter().zip(&mut self.counters) {
            let met = counter.names(rule, seen);
            counter.met |= met;
            named |= met;
        }
        named
    }

    /// True if the pattern names packets and none of them came. Position 0, which stands for no packet, names none.
    pub fn is_unmet(&self) -> bool {
        !self.counters.iter().any(|counter| counter.met) && self.unreached().next().is_some()
    }

    /// What the rules of the pattern name and no packet has matched.
    pub fn unreached(&self) -> impl Iterator<Item = Unreached> {
        let all = self.pattern.rules.iter().zip(&self.counters);
        all.filter_map(|(rule, counter)| {
            let (subject, missed, because) = counter.unreached(rule)?;
            Some(Unreached { pattern: self.name.clone(), subject, missed, because })
        })
    }
}

impl Counter {
    fn names(&mut self, rule: &Rule, seen: &PacketView) -> bool {
        match rule {
            Rule::Position { positions, period, scope } => {
                let number = match (scope, &seen.flow) {
                    (Scope::Direction, _) => seen.position,
                    (Scope::EachFlow, Some(flow)) => flow.position,
                    (Scope::Port(port), Some(flow)) if flow.has_port(*port) => self.count(0),
                    _ => return false,
                };
                self.highest = self.highest.max(number);
                positions.contains(in_period(number, *period))
            }
            Rule::Time { times, period } => {
                self.latest = Some(seen.now);
                times.contains(time_in_period(seen.now, *period))
            }
            Rule::Match { kind, nth, period, port } => {
                let Some((flow, segment)) = segment_of(seen, *port) else { return false };
                if !is(*kind, &segment) {
                    return false;
                }
                let Some(nth) = nth else {
                    self.highest += 1;
                    return true;
                };
                if *kind == Kind::Data && segment.number.is_none() {
                    return false;
                }
                let number = self.count(flow.index);
                nth.contains(in_period(number, *period))
            }
            Rule::Retransmission { of, nth, port } => {
                let Some((flow, segment)) = segment_of(seen, *port) else { return false };
                let Some(offset) = self.watched(*of, flow.index, &segment) else { return false };
                let holds = (segment.offset..segment.offset + u64::from(segment.len)).contains(&offset);
                if !holds || !segment.repeats {
                    return false;
                }
                let number = self.count(flow.index);
                nth.as_ref().is_none_or(|n| n.contains(number))
            }
        }
    }

    /// Counts one more in a flow and returns how many there are.
    fn count(&mut self, flow: usize) -> u64 {
        if self.matches.len() <= flow {
            self.matches.resize(flow + 1, 0);
        }
        self.matches[flow] += 1;
        self.highest = self.highest.max(self.matches[flow]);
        self.matches[flow]
    }

    /// The offset that a rule watches; `None` while it is not known, and for the packet that makes it known
    /// (which is the first transmission).
    fn watched(&mut self, of: Data, flow: usize, segment: &SegmentView) -> Option<u64> {
        let wanted = match of {
            Data::Offset(offset) => return Some(offset),
            Data::Segment(wanted) => wanted,
        };
        if self.offsets.len() <= flow {
            self.offsets.resize(flow + 1, None);
        }
        let known = self.offsets[flow];
        if segment.number == Some(wanted) {
            self.offsets[flow] = Some(segment.offset);
        }
        known
    }

    /// Subject, numbers and reason of a rule that was not reached.
    fn unreached(&self, rule: &Rule) -> Option<(String, Missed, String)> {
        let highest = self.highest;
        let numbers = |subject: String, never, because| Some((subject, Missed::Numbers(never), because));
        match rule {
            Rule::Position { positions, period, scope } => {
                let whose = match scope {
                    Scope::Direction => "",
                    Scope::EachFlow => " in any flow",
                    Scope::Port(_) => " at that port",
                };
                let never = self.never(positions, *period)?;
                numbers("position".into(), never, format!("{highest} packets came{whose}"))
            }
            Rule::Time { times, .. } => self.never_at(times),
            Rule::Match { kind, nth: None, .. } if self.highest == 0 => {
                Some((format!("no packet was a {}", kind.name()), Missed::All, String::new()))
            }
            Rule::Match { nth: None, .. } => None,
            Rule::Match { kind, nth: Some(nth), period, .. } => {
                let never = self.never(nth, *period)?;
                numbers(format!("{} number", kind.name()), never, format!("at most {highest} in a flow"))
            }
            Rule::Retransmission { nth: None, .. } if self.highest == 0 => {
                Some(("the data was never retransmitted".into(), Missed::All, String::new()))
            }
            Rule::Retransmission { nth: None, .. } => None,
            Rule::Retransmission { nth: Some(nth), .. } => {
                let never = self.never(nth, None)?;
                numbers("retransmission".into(), never, format!("there were {highest}"))
            }
        }
    }

    /// The numbers beyond those seen. A range without end is reached with its start.
    fn never(&self, numbers: &Positions, period: Option<u64>) -> Option<Positions> {
        let closed = numbers.ranges().iter().map(|&(a, b)| (a, if b == u64::MAX { a } else { b }));
        let mut beyond = Positions::from_ranges(closed).above(self.highest);
        if let Some(period) = period.filter(|p| self.highest >= *p) {
            beyond = beyond.above(period);
        }
        (!beyond.is_empty()).then_some(beyond)
    }

    fn never_at(&self, times: &Times) -> Option<(String, Missed, String)> {
        let start = times.last_start()?;
        if self.latest.is_some_and(|latest| latest >= start) {
            return (!self.met).then(|| ("no packet came at its times".into(), Missed::All, String::new()));
        }
        let latest = self.latest.unwrap_or(Instant::ZERO);
        Some(("time".into(), Missed::Time(start), format!("the last packet came at {latest}")))
    }
}

fn segment_of(seen: &PacketView, port: Option<u16>) -> Option<(&FlowView, SegmentView)> {
    let flow = seen.flow.as_ref()?;
    if port.is_some_and(|p| !flow.has_port(p)) {
        return None;
    }
    flow.segment.map(|segment| (flow, segment))
}

fn is(kind: Kind, segment: &SegmentView) -> bool {
    let flags = segment.flags;
    match kind {
        Kind::Syn => flags.has(Flags::SYN) && !flags.has(Flags::ACK),
        Kind::SynAck => flags.has(Flags::SYN.with(Flags::ACK)),
        Kind::Fin => flags.has(Flags::FIN),
        Kind::Rst => flags.has(Flags::RST),
        Kind::PureAck => {
            let control = Flags::SYN.with(Flags::FIN).with(Flags::RST);
            flags.has(Flags::ACK) && !flags.any(control) && segment.len == 0
        }
        Kind::Data => segment.len > 0,
        Kind::Retransmission => segment.repeats,
        Kind::Initial => segment.quic.has(QuicKinds::INITIAL),
        Kind::ZeroRtt => segment.quic.has(QuicKinds::ZERO_RTT),
        Kind::Handshake => segment.quic.has(QuicKinds::HANDSHAKE),
        Kind::OneRtt => segment.quic.has(QuicKinds::ONE_RTT),
        Kind::Datagram => segment.datagram,
    }
}
