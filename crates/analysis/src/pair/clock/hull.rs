//! The near edge of a cloud of delays: its lower convex hull, and lines under it.

/// The lower edge of points (time, delay), nanoseconds from some origin.
#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    /// Corners of the lower hull, from left to right.
    corners: Vec<(f64, f64)>,
    mean: (f64, f64),
    count: usize,
}

/// A slope, and how far it may be wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Slope {
    pub value: f64,
    pub error: f64,
}

impl Edge {
    pub(super) fn new(mut points: Vec<(f64, f64)>) -> Self {
        let count = points.len();
        let sum = points.iter().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let mean = (sum.0 / count as f64, sum.1 / count as f64);
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for point in points {
            if corners.last().is_some_and(|last| last.0 == point.0) {
                continue;
            }
            while corners.len() >= 2
                && !turns_left(corners[corners.len() - 2], corners[corners.len() - 1], point)
            {
                corners.pop();
            }
            corners.push(point);
        }
        Self { corners, mean, count }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.corners.is_empty()
    }

    /// Where the highest line of this slope below all points crosses time zero.
    pub(super) fn below(&self, slope: f64) -> f64 {
        self.corners.iter().map(|(x, y)| y - slope * x).fold(f64::INFINITY, f64::min)
    }

    /// The highest crossing of time zero of all lines below the points with slopes in a range.
    pub(super) fn highest(&self, least: f64, most: f64) -> f64 {
        self.below(peak(least, most, |slope| self.below(slope)))
    }

    /// The slope of the line below all points from which these are least far away, summed up: the side of the hull
    /// that lies under their mean. `None` for too few points. What a clock
    /// shows at best, nanoseconds, is its `resolution`.
    pub(super) fn slope(&self, resolution: f64) -> Option<Slope> {
        if self.count < FEW || self.corners.len() < 2 {
            return None;
        }
        let at =
            self.corners.partition_point(|corner| corner.0 < self.mean.0).clamp(1, self.corners.len() - 1);
        let (from, to) = (self.corners[at - 1], self.corners[at]);
        let value = (to.1 - from.1) / (to.0 - from.0);
        // A cloud of this many points touches its edge in places that are so far off; the slope is that over the time.
        let far = self.mean.1 - value * self.mean.0 - self.below(value);
        let span = self.corners[self.corners.len() - 1].0 - self.corners[0].0;
        Some(Slope { value, error: (CHANCE * far / self.count as f64 + resolution) / (span / 2.0) })
    }
}

/// Where in a range a concave function is largest.
pub(super) fn peak(least: f64, most: f64, f: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (least, most);
    for _ in 0..STEPS {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if f(a) < f(b) { low = a } else { high = b }
    }
    f64::midpoint(low, high)
}

/// The end of those values from `yes` towards `no` for which something holds.
pub(super) fn border(yes: f64, no: f64, holds: impl Fn(f64) -> bool) -> f64 {
    if holds(no) {
        return no;
    }
    let (mut yes, mut no) = (yes, no);
    for _ in 0..STEPS {
        let middle = f64::midpoint(yes, no);
        if holds(middle) { yes = middle } else { no = middle }
    }
    yes
}

fn turns_left(a: (f64, f64), b: (f64, f64), c: (f64, f64)) -> bool {
    (b.0 - a.0) * (c.1 - a.1) - (b.1 - a.1) * (c.0 - a.0) > 0.0
}

/// Fewer points tell no slope.
const FEW: usize = 8;
/// Mean distances from the edge, over the number of points, by which chance tilts it.
const CHANCE: f64 = 8.0;
/// Halvings, or thirds: enough for every bit.
const STEPS: usize = 120;
