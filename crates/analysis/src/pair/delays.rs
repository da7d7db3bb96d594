//! How long the packets of a lane take, as its anchors show it; by both clocks, uncorrected.

/// Delays of packets that are one only, in the order of sending.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    /// Time of sending and delay, nanoseconds.
    seen: Vec<(i64, i64)>,
}

/// What packets of about the same time took, nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Usual {
    pub low: i64,
    /// Between those just before and just after.
    pub mid: i64,
    pub high: i64,
}

impl Delays {
    pub(super) fn new(mut seen: Vec<(i64, i64)>) -> Self {
        seen.sort_unstable();
        Self { seen }
    }

    /// What the first anchor took.
    pub(super) fn any(&self) -> Option<i64> {
        self.seen.first().map(|seen| seen.1)
    }

    /// What the packets sent about `time` took; `None` for no anchors.
    pub(super) fn around(&self, time: i64) -> Option<Usual> {
        let at = self.seen.partition_point(|(sent, _)| *sent < time);
        let near = &self.seen[at.saturating_sub(NEAR)..(at + NEAR).min(self.seen.len())];
        let low = near.iter().map(|seen| seen.1).min()?;
        let high = near.iter().map(|seen| seen.1).max()?;
        let before = at.checked_sub(1).map(|i| self.seen[i]);
        let mid = match (before, self.seen.get(at)) {
            (Some(before), Some(&after)) => between(before, after, time),
            (Some(only), None) => only.1,
            (None, Some(only)) => only.1,
            (None, None) => return None,
        };
        Some(Usual { low, mid, high })
    }
}

fn between(before: (i64, i64), after: (i64, i64), time: i64) -> i64 {
    let span = after.0 - before.0;
    if span == 0 {
        return before.1;
    }
    let part = (time - before.0) as f64 / span as f64;
    before.1 + ((after.1 - before.1) as f64 * part) as i64
}

/// Anchors that are looked at on either side.
const NEAR: usize = 64;
