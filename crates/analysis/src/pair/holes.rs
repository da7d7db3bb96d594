//! Times at which a capture was blind: what it should have seen then, it did not.
//!
//! A packet that the capture near its sender does not hold though the other one does was missed, or made on the way.
//! Where several in a row are so, and the capture holds nothing else between them, it was not recording. Then nothing
//! says of other packets that they were lost on their way to it.

use super::crossing::{Crossed, Crossing};
use super::rows::Fate;

/// Times between two packets that a capture holds, by its own clock.
#[derive(Debug, Default)]
pub(super) struct Holes {
    /// From the packet before each to the one after it.
    spans: Vec<(i64, i64)>,
}

impl Holes {
    /// The holes of the capture near the sender of `crossing`; `times` are those of all packets of the connection that
    /// it holds, in order.
    pub(super) fn of(times: &[i64], crossing: &Crossing<'_>, crossed: &Crossed) -> Self {
        let missed = crossed.parts.iter().zip(&crossed.fates).filter(|(_, fate)| **fate == Fate::NotSent);
        let sent = missed.filter_map(|(part, _)| crossing.usual_departure(part.got?));
        let mut gaps: Vec<usize> = sent.map(|time| times.partition_point(|seen| *seen <= time)).collect();
        gaps.sort_unstable();
        let blind = gaps.chunk_by(|a, b| a == b).filter(|gap| gap.len() >= FEW).map(|gap| gap[0]);
        let inside = blind.filter(|after| (1..times.len()).contains(after));
        Self { spans: inside.map(|after| (times[after - 1], times[after])).collect() }
    }

    /// Says of packets that would have arrived in a hole of the capture near the receiver that they cannot be compared.
    pub(super) fn excuse(&self, crossing: &Crossing<'_>, crossed: &mut Crossed) {
        for (part, fate) in crossed.parts.iter().zip(&mut crossed.fates).filter(|x| *x.1 == Fate::Lost) {
            let arrival = part.sent.and_then(|sent| crossing.usual_arrival(sent));
            let hidden = |time: i64| {
                // The first that does not end before.
                let at = self.spans.partition_point(|(_, to)| *to < time);
                self.spans.get(at).is_some_and(|(from, _)| *from <= time)
            };
            if arrival.is_some_and(hidden) {
                *fate = Fate::NotComparable;
            }
        }
    }
}

/// Fewer packets missed in a row may have been made on the way.
const FEW: usize = 3;
