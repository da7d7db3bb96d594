//! How the clock of B runs against that of A.
//!
//! A packet from A to B shows `B - A = offset + delay`, one from B to A shows `B - A = offset - delay`; no delay is
//! below zero. So the clocks' difference lies under all that packets from A to B show, and above all that packets from B
//! to A show. Over time it is a line, as long as nobody sets a clock. Of the lines between the two clouds
//! (Moon, Skelly and Towsley, "Estimation and Removal of Clock Skew from Network Delay Measurements", 1999, have one
//! cloud) the one taken has the slope of the clouds' near edges, and runs in the middle between them. That says:
//! the smallest delays both ways are equal.
//!
//! Not told apart: a queue that grows for the whole capture, and a clock that drifts. Where the slopes of the two edges
//! differ, the smaller one is taken.

mod hull;

use rexmit_units::Instant;

use super::digest::{instant, signed};
use super::rows::{ClockMethod, ClockRow, ClockStep};
use crate::core::policy::PairPolicy;
use hull::{Edge, Slope, border, peak};

/// A packet that both captures hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sight {
    /// Its numbers in A and B.
    pub numbers: [u64; 2],
    /// Its times by A's clock and by B's.
    pub times: [i64; 2],
    /// It went from A to B.
    pub forth: bool,
}

/// The clocks of a pair of captures.
#[derive(Clone, Debug)]
pub(super) struct Clocks {
    policy: &'static PairPolicy,
    stretches: Vec<Stretch>,
    packets: [u64; 2],
    at: i64,
    same: bool,
}

/// A time during which both clocks ran undisturbed.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    /// Numbers of its first packets in A and B.
    from: [u64; 2],
    /// When it begins, by A's clock and by B's.
    times: [i64; 2],
    line: Line,
}

/// How much more B's clock shows than A's, nanoseconds.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    /// Time of A at which `offset` holds.
    at: i64,
    offset: i64,
    /// Nanoseconds a nanosecond.
    skew: f64,
    offsets: [Option<i64>; 2],
    skews: [Option<f64>; 2],
    round_trip: Option<i64>,
}

impl Clocks {
    /// Both captures were made by one clock.
    pub(super) fn same(policy: &'static PairPolicy) -> Self {
        let stretch = Stretch { from: [0, 0], times: [0, 0], line: Line::default() };
        Self { policy, stretches: vec![stretch], packets: [0, 0], at: 0, same: true }
    }

    /// Estimated from packets that both captures hold.
    pub(super) fn estimate(mut sights: Vec<Sight>, policy: &'static PairPolicy) -> Self {
        let packets = [true, false].map(|forth| sights.iter().filter(|s| s.forth == forth).count() as u64);
        sights.sort_unstable_by_key(|sight| sight.numbers);
        let mut stretches = stretches(&sights, policy);
        if stretches.len() > 1 {
            // Packets on their way when B's clock was set are in order at B only.
            sights.sort_unstable_by_key(|sight| (sight.numbers[1], sight.numbers[0]));
            let others = self::stretches(&sights, policy);
            if others.len() < stretches.len() {
                stretches = others;
            }
        }
        let at = stretches.first().map_or(0, |stretch: &Stretch| stretch.line.at);
        Self { policy, stretches, packets, at, same: false }
    }

    /// When B saw a packet that both captures hold, by A's clock. One that was on its way when a clock was set lies in
    /// one stretch at A and in another at B: the line counts by which it took the least time, and not less than none.
    pub(super) fn seen_at_b(&self, sight: &Sight) -> i64 {
        let [a, b] = [0, 1].map(|end| self.stretch(end, sight.numbers[end]));
        let is_near = |at: usize| {
            let start = self.stretches[at].times;
            (0..2).any(|end| (sight.times[end] - start[end]).abs() <= signed(self.policy.under_way))
        };
        let (mut from, mut to) = (a.min(b), a.max(b));
        if from > 0 && is_near(from) {
            from -= 1;
        }
        if to + 1 < self.stretches.len() && is_near(to + 1) {
            to += 1;
        }
        let lines = self.stretches.get(from..=to).unwrap_or_default().iter();
        let times = lines.map(|stretch| stretch.line.correct(sight.times[1]));
        let delay = |time: i64| if sight.forth { time - sight.times[0] } else { sight.times[0] - time };
        let slack = signed(self.policy.slack);
        times.min_by_key(|&time| (delay(time) < -slack, delay(time).abs())).unwrap_or(sight.times[1])
    }

    /// A time of capture `end` (0 for A) as A's clock tells it; `number` is the packet's that was seen then.
    pub(super) fn by_a(&self, end: usize, number: u64, time: i64) -> i64 {
        if end == 0 {
            return time;
        }
        match self.stretches.get(self.stretch(end, number)) {
            Some(stretch) => stretch.line.correct(time),
            None => time,
        }
    }

    /// Index of the stretch in which a packet of capture `end` lies.
    fn stretch(&self, end: usize, number: u64) -> usize {
        self.stretches.partition_point(|stretch| stretch.from[end] <= number).saturating_sub(1)
    }

    /// The thresholds of pairs.
    pub(super) fn policy(&self) -> &'static PairPolicy {
        self.policy
    }

    /// Smallest delay there and back, nanoseconds.
    pub(super) fn round_trip(&self) -> Option<i64> {
        self.stretches.first().and_then(|stretch| stretch.line.round_trip)
    }

    /// As a row.
    pub(super) fn row(&self) -> ClockRow {
        let Some(first) = self.stretches.first() else { return ClockRow::default() };
        let line = &first.line;
        let method = match (self.same, self.packets) {
            (true, _) => ClockMethod::Same,
            (_, [0, _] | [_, 0]) => ClockMethod::OneWay,
            _ => ClockMethod::BothWays,
        };
        let steps = self.stretches.windows(2).map(|pair| {
            let start = pair[1].times[0];
            let size = pair[1].line.value(start) - pair[0].line.value(start);
            ClockStep { time: instant(start), size }
        });
        ClockRow {
            method,
            at: if self.same { Instant::ZERO } else { instant(self.at) },
            offset: line.offset,
            offset_low: line.offsets[0],
            offset_high: line.offsets[1],
            skew: line.skew * 1e6,
            skew_low: line.skews[0].map(|skew| skew * 1e6),
            skew_high: line.skews[1].map(|skew| skew * 1e6),
            round_trip: line.round_trip.map(|time| time.max(0) as u64),
            steps: steps.collect(),
            packets: self.packets,
        }
    }
}

impl Line {
    /// The line for packets of which [`is_possible`] holds; there is at least one.
    fn fit(sights: &[Sight], policy: &PairPolicy) -> Self {
        let resolution = policy.resolution.as_nanos() as f64;
        // The middle packet: a single time that is far off must not move it.
        let mut times: Vec<i64> = sights.iter().map(|sight| sight.times[0]).collect();
        let middle = times.len() / 2;
        let at = *times.select_nth_unstable(middle).1;
        let zero = sights[0].times[1] - sights[0].times[0];
        let round = |value: f64| zero + value.round() as i64;
        let [over, under] = edges(sights, at, zero);
        if under.is_empty() {
            let skew = over.slope(resolution).map_or(0.0, settled);
            let offset = round(over.below(skew));
            return Self { at, offset, skew, offsets: [None, Some(offset)], ..Self::default() };
        }
        if over.is_empty() {
            let skew = -under.slope(resolution).map_or(0.0, settled);
            let offset = round(-under.below(-skew));
            return Self { at, offset, skew, offsets: [Some(offset), None], ..Self::default() };
        }
        let (least, most) = slopes(&over, &under, policy).unwrap_or_default();
        let mirrored = |slope: Slope| Slope { value: -slope.value, ..slope };
        let is_known = least > 0.0 || most < 0.0 || most - least < LARGEST;
        let skew = if is_known {
            agreed(over.slope(resolution), under.slope(resolution).map(mirrored))
        } else {
            0.0
        };
        let skew = skew.clamp(least, most);
        let (top, bottom) = (over.below(skew), -under.below(-skew));
        let offset = round(f64::midpoint(top, bottom));
        let bounds =
            [round(-under.highest(-most, -least)).min(offset), round(over.highest(least, most)).max(offset)];
        Self {
            at,
            offset,
            skew,
            offsets: bounds.map(Some),
            skews: [Some(least), Some(most)],
            round_trip: Some((top - bottom).round() as i64),
        }
    }

    fn value(&self, time: i64) -> i64 {
        self.offset + (self.skew * (time - self.at) as f64).round() as i64
    }

    /// What a packet took by this line.
    fn delay(&self, sight: &Sight) -> i64 {
        let delay = self.correct(sight.times[1]) - sight.times[0];
        if sight.forth { delay } else { -delay }
    }

    /// The time of A at which B shows `time`.
    fn correct(&self, time: i64) -> i64 {
        let since = time - self.offset - self.at;
        // Of the skew's part only, so that no digit of the time is lost.
        let gained = self.skew / (1.0 + self.skew) * since as f64;
        self.at + since - gained.round() as i64
    }
}

/// The edges of what packets from A to B show, and of what packets from B to A show, this one upside down. Times are
/// counted from `at`, differences from `zero`.
fn edges(sights: &[Sight], at: i64, zero: i64) -> [Edge; 2] {
    [true, false].map(|forth| {
        let points = sights.iter().filter(|sight| sight.forth == forth).map(|sight| {
            let shown = (sight.times[1] - sight.times[0] - zero) as f64;
            ((sight.times[0] - at) as f64, if forth { shown } else { -shown })
        });
        Edge::new(points.collect())
    })
}

/// The least and the largest skew of a line between the edges; `None` if there is none.
fn slopes(over: &Edge, under: &Edge, policy: &PairPolicy) -> Option<(f64, f64)> {
    let tolerance = policy.tolerance.as_nanos() as f64;
    let room = |skew: f64| over.below(skew) + under.below(-skew);
    let best = peak(-LARGEST, LARGEST, room);
    let fits = |skew: f64| room(skew) >= -tolerance;
    fits(best).then(|| (border(best, -LARGEST, fits), border(best, LARGEST, fits)))
}

/// True if one line explains all packets.
fn is_possible(sights: &[Sight], policy: &PairPolicy) -> bool {
    let Some(first) = sights.first() else { return true };
    let [over, under] = edges(sights, first.times[0], first.times[1] - first.times[0]);
    over.is_empty() || under.is_empty() || slopes(&over, &under, policy).is_some()
}

/// How many packets one line explains, from the first one on.
fn longest_stretch(sights: &[Sight], policy: &PairPolicy) -> usize {
    // So that many short stretches take no longer than one long one, it is felt for the end from the beginning.
    let mut no = 2;
    while no < sights.len() && is_possible(&sights[..no], policy) {
        no *= 2;
    }
    if no >= sights.len() && is_possible(sights, policy) {
        return sights.len();
    }
    let (mut yes, mut no) = (no / 2, no.min(sights.len()));
    while no - yes > 1 {
        let middle = usize::midpoint(yes, no);
        if is_possible(&sights[..middle], policy) { yes = middle } else { no = middle }
    }
    yes
}

/// The times during which both clocks ran undisturbed, of packets in the order of one capture.
fn stretches(sights: &[Sight], policy: &PairPolicy) -> Vec<Stretch> {
    let mut found = Vec::new();
    let mut rest = sights;
    while !rest.is_empty() {
        let most = longest_stretch(rest, policy);
        let count = most - misplaced(&rest[..most], &rest[most..], policy);
        let line = Line::fit(&rest[..count], policy);
        found.push(Stretch { from: rest[0].numbers, times: rest[0].times, line });
        rest = &rest[count..];
    }
    found
}

/// How many of the last packets of a stretch belong to the next one. Where a clock is set, packets of one direction only
/// seem to take longer, and one line explains these; what ends the stretch is a packet of the other direction.
fn misplaced(stretch: &[Sight], rest: &[Sight], policy: &PairPolicy) -> usize {
    if rest.is_empty() || stretch.len() < 2 {
        return 0;
    }
    let next = Line::fit(&rest[..longest_stretch(rest, policy)], policy);
    // Those before the step, for certain: as far as the last one of the direction that ended the stretch.
    let sure = stretch.iter().rposition(|sight| sight.forth == rest[0].forth).map_or(1, |last| last + 1);
    let own = Line::fit(&stretch[..sure], policy);
    let tolerance = policy.tolerance.as_nanos() as f64;
    let last = stretch[sure..].iter().rev();
    let is_next = |sight: &&Sight| {
        let (here, there) = (own.delay(sight), next.delay(sight));
        (there as f64) >= -tolerance && there < here
    };
    last.take_while(is_next).count()
}

/// The slope of both edges: of two that agree the one that is known better, else the one nearer to zero.
fn agreed(a: Option<Slope>, b: Option<Slope>) -> f64 {
    match (a, b) {
        (Some(a), Some(b)) if (a.value - b.value).abs() <= a.error + b.error => {
            settled(if a.error <= b.error { a } else { b })
        }
        (Some(a), Some(b)) if a.value.signum() != b.value.signum() => 0.0,
        (Some(a), Some(b)) => settled(if a.value.abs() <= b.value.abs() { a } else { b }),
        (Some(only), None) | (None, Some(only)) => settled(only),
        (None, None) => 0.0,
    }
}

/// Zero, where the slope does not differ from it.
fn settled(slope: Slope) -> f64 {
    if slope.value.abs() <= slope.error { 0.0 } else { slope.value.clamp(-LARGEST, LARGEST) }
}

/// The range in which the slope of a clock is looked for: no clock that counts seconds is farther off (RFC 5905
/// appendix A, MAXFREQ, allows half of it, 500 ppm); more is a step.
const LARGEST: f64 = 1e-3;

#[cfg(test)]
mod tests;
