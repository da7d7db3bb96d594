//! Counts of retransmissions by number and class, and their sums.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use crate::core::side::Sides;
use crate::rows::{Cause, Need, RetransmissionRow, Rows, SideName};
use crate::run::Run;
use crate::sctp::{SctpRetransmissionRow, TraceClass};

/// Retransmissions so far. Give it every [`Rows`] of an analysis.
#[derive(Debug, Default)]
pub struct Repeats {
    counts: BTreeMap<(Flow, SideName, u32, Class), Counts>,
    ends: BTreeMap<Flow, Sides<SocketAddr>>,
    /// By flow and side: the last packet that carried retransmitted chunks, and the class of its first one.
    leads: BTreeMap<(Flow, SideName), (u64, TraceClass)>,
}

/// Retransmissions of one number and class of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Repeated {
    /// Who sent them.
    pub from: SocketAddr,
    /// To whom.
    pub to: SocketAddr,
    /// 1 for the first retransmission of a segment or chunk.
    pub number: u32,
    /// What caused them, or what sctp_trace calls them.
    pub class: Class,
    /// How many there are, and how late.
    pub counts: Counts,
}

/// What retransmissions are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// The cause of a segment of TCP.
    Tcp(Cause),
    /// The class that sctp_trace gives a chunk of SCTP (pedersen-2006 section 3.2).
    Sctp(TraceClass),
}

/// Counts that can be added to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Retransmitted segments or chunks.
    pub count: u64,
    /// Of these, those that were not needed: spurious, or acknowledged before.
    pub not_needed: u64,
    /// Of these, further chunks in a packet whose first retransmitted chunk is a fast retransmit. sctp_trace calls
    /// them fast retransmits too; with a threshold of 1, those that no SACK has reported are in flight (pedersen-2006
    /// table 5.3).
    pub bundled_in_fast: u64,
    /// Times since the first transmission: the cumulative delays of pedersen-2006.
    pub cumulative: Sums,
    /// Times since the transmission before: the consecutive delays, as tcptrace has them.
    pub consecutive: Sums,
}

/// Sums of times in whole nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    count: u64,
    min: u64,
    max: u64,
    sum: u128,
    squares: u128,
}

/// A connection or association by its number; the two are counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Flow {
    Tcp(u32),
    Sctp(u32),
}

impl Repeats {
    /// Those of a whole capture.
    pub fn of(mut run: Run) -> Vec<Repeated> {
        let mut repeats = Self::default();
        while let Some(rows) = run.step(PACKETS) {
            repeats.take(&rows);
        }
        repeats.finish()
    }

    /// Counts the rows that have become final.
    pub fn take(&mut self, rows: &Rows) {
        rows.retransmissions.iter().for_each(|row| self.segment(row));
        rows.sctp.retransmissions.iter().for_each(|row| self.chunk(row));
        for row in &rows.connections {
            let ends = Sides { client: row.client.address, server: row.server.address };
            self.ends.insert(Flow::Tcp(row.connection), ends);
        }
        for row in &rows.sctp.associations {
            let ends = Sides { client: row.client.address, server: row.server.address };
            self.ends.insert(Flow::Sctp(row.association), ends);
        }
    }

    /// The counts, by flow, side, number and class.
    pub fn finish(self) -> Vec<Repeated> {
        let of = |((flow, side, number, class), counts): (_, Counts)| {
            let ends: &Sides<SocketAddr> = self.ends.get(&flow)?;
            Some(Repeated { from: ends[side], to: ends[side.other()], number, class, counts })
        };
        self.counts.into_iter().filter_map(of).collect()
    }

    fn segment(&mut self, row: &RetransmissionRow) {
        let Some((first, previous)) = row.delay_first.zip(row.delay_previous) else { return };
        let key = (Flow::Tcp(row.connection), row.side, row.transmission - 1, Class::Tcp(row.cause));
        self.counts.entry(key).or_default().add(first, previous, row.need, false);
    }

    fn chunk(&mut self, row: &SctpRetransmissionRow) {
        let (flow, side) = (Flow::Sctp(row.association), row.side);
        if row.position == 0 {
            self.leads.insert((flow, side), (row.number, row.class));
        }
        let bundled = row.position > 0
            && self.leads.get(&(flow, side)).is_some_and(|lead| *lead == (row.number, TraceClass::Fast));
        let Some((first, previous)) = row.delay_first.zip(row.delay_previous) else { return };
        let key = (flow, side, row.retransmission, Class::Sctp(row.class));
        self.counts.entry(key).or_default().add(first, previous, row.need, bundled);
    }
}

impl Class {
    /// `tcp` or `sctp`.
    pub fn protocol(self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Sctp(_) => "sctp",
        }
    }

    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tcp(cause) => cause.name(),
            Self::Sctp(class) => class.name(),
        }
    }
}

impl Counts {
    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.not_needed += other.not_needed;
        self.bundled_in_fast += other.bundled_in_fast;
        self.cumulative.merge(&other.cumulative);
        self.consecutive.merge(&other.consecutive);
    }

    fn add(&mut self, first: u64, previous: u64, need: Need, bundled: bool) {
        self.count += 1;
        self.not_needed += u64::from(matches!(need, Need::Spurious | Need::Unnecessary));
        self.bundled_in_fast += u64::from(bundled);
        self.cumulative.add(first);
        self.consecutive.add(previous);
    }
}

impl Sums {
    /// Adds a time, nanoseconds.
    pub fn add(&mut self, time: u64) {
        let (wide, square) = (u128::from(time), u128::from(time).pow(2));
        self.merge(&Self { count: 1, min: time, max: time, sum: wide, squares: square });
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        self.min = if self.count == 0 { other.min } else { self.min.min(other.min) };
        self.max = self.max.max(other.max);
        self.count += other.count;
        self.sum += other.sum;
        self.squares += other.squares;
    }

    /// The smallest and the largest, nanoseconds; 0 if there are none.
    pub fn range(&self) -> (u64, u64) {
        (self.min, self.max)
    }

    /// The mean, nanoseconds; 0 if there are none.
    pub fn mean(&self) -> f64 {
        if self.count == 0 { 0.0 } else { self.sum as f64 / self.count as f64 }
    }

    /// The standard deviation of the sample (n - 1), nanoseconds, as tcptrace's; 0 of one. tcptrace gives 0 of two as
    /// well [tcptrace output.c, Stdev].
    pub fn deviation(&self) -> f64 {
        if self.count < 2 {
            return 0.0;
        }
        let count = u128::from(self.count);
        // n times the sum of squared distances from the mean: whole numbers, so that no digit is lost.
        let spread = (count * self.squares).saturating_sub(self.sum * self.sum);
        (spread as f64 / (count * (count - 1)) as f64).sqrt()
    }
}

/// Packets judged between two looks at the rows.
const PACKETS: u64 = 1 << 14;

#[cfg(test)]
mod tests;
