//! The tables of pedersen-2006: delays of retransmissions by their number and class.

use super::rows::{SctpRetransmissionRow, TraceClass};
use crate::core::spread::Spread;

/// Which delay of a retransmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delay {
    /// Since the first transmission.
    Cumulative,
    /// Since the transmission before.
    Consecutive,
}

/// Which retransmissions a row of the table takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Group {
    /// One class.
    Class(TraceClass),
    /// "FR + RTO": timeouts and fast retransmits together.
    FastAndTimeout,
    /// All of them: the thick streams of the study, whose classes cannot be told apart.
    All,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DelayRow {
    /// Number of the retransmission, from 1.
    pub retransmission: u32,
    /// Which ones.
    pub group: Group,
    /// Their delays, nanoseconds; percentiles are exact.
    pub delay: Spread,
}

impl Group {
    /// In the order of the study's tables.
    pub const ALL: [Self; 6] = [
        Self::Class(TraceClass::Timeout),
        Self::Class(TraceClass::Fast),
        Self::Class(TraceClass::BundledMissing),
        Self::Class(TraceClass::BundledInFlight),
        Self::FastAndTimeout,
        Self::All,
    ];

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Class(class) => class.name(),
            Self::FastAndTimeout => "fast-and-timeout",
            Self::All => "all",
        }
    }

    /// Whether it takes `class`.
    pub fn takes(self, class: TraceClass) -> bool {
        match self {
            Self::Class(own) => own == class,
            Self::FastAndTimeout => matches!(class, TraceClass::Timeout | TraceClass::Fast),
            Self::All => true,
        }
    }
}

/// The table of `rows`, by number of retransmission and then by group; groups without any are left out, and
/// retransmissions without a delay (their first transmission was not seen) are not counted.
pub fn delays<'a>(rows: impl Iterator<Item = &'a SctpRetransmissionRow>, delay: Delay) -> Vec<DelayRow> {
    let mut samples: Vec<(u32, TraceClass, u64)> = rows
        .filter_map(|row| {
            let time = match delay {
                Delay::Cumulative => row.delay_first,
                Delay::Consecutive => row.delay_previous,
            };
            Some((row.retransmission, row.class, time?))
        })
        .collect();
    samples.sort_unstable_by_key(|(number, _, time)| (*number, *time));
    samples.chunk_by(|a, b| a.0 == b.0).flat_map(rows_of_number).collect()
}

fn rows_of_number(samples: &[(u32, TraceClass, u64)]) -> impl Iterator<Item = DelayRow> {
    Group::ALL.into_iter().filter_map(|group| {
        let times: Vec<u64> =
            samples.iter().filter(|(_, class, _)| group.takes(*class)).map(|(_, _, time)| *time).collect();
        let retransmission = samples[0].0;
        (!times.is_empty()).then(|| DelayRow { retransmission, group, delay: spread(&times) })
    })
}

/// The figures of sorted, non-empty `times`.
fn spread(times: &[u64]) -> Spread {
    let count = times.len();
    let mean = times.iter().map(|time| *time as f64).sum::<f64>() / count as f64;
    let squares: f64 = times.iter().map(|time| (*time as f64 - mean).powi(2)).sum();
    let sd = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
    // The smallest time that at least this share does not exceed.
    let at = |share: f64| times[((share * count as f64).ceil() as usize).max(1) - 1] as f64;
    Spread {
        count: count as u64,
        min: times[0] as f64,
        mean,
        sd,
        p50: at(0.5),
        p95: at(0.95),
        p99: at(0.99),
        max: times[count - 1] as f64,
    }
}

#[cfg(test)]
mod tests;
