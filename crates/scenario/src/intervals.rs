//! Spans of time that are measured by themselves: what iperf reports every few seconds, or what happened while a
//! second transfer was under way.

use std::fmt;
use std::str::FromStr;

use rexmit_network::ConnectionId;
use rexmit_stack::{Snapshot, ToldCounters};
use rexmit_tables::row;
use rexmit_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::HostCell;

#[cfg(test)]
mod tests;

/// Spans of a run that are measured by themselves: every so often (`"5 s"`), or named spans, which may overlap
/// (`"0 s-150 s, 150 s-270 s"`). Each gives a row for each end that sends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub enum Intervals {
    /// One after another, each this long; the last ends with the run.
    Every(Duration),
    /// From a time to a time, the end excluded; what reaches beyond the run's end ends there.
    Spans(Vec<(Duration, Duration)>),
}

/// A shorter one would give more rows than packets.
const LEAST: Duration = Duration::from_micros(1);

impl FromStr for Intervals {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let allowed = "allowed: a time such as \"5 s\", or spans such as \"0 s-150 s, 150 s-270 s\"";
        if !text.contains('-') {
            return match text.parse() {
                Ok(every) if every >= LEAST => Ok(Self::Every(every)),
                Ok(_) => Err(format!("{text:?} is too short an interval; allowed: at least {LEAST}")),
                Err(_) => Err(format!("{text:?} is not an interval; {allowed}")),
            };
        }
        let span = |part: &str| {
            let (from, to) = part.split_once('-')?;
            Some((from.trim().parse().ok()?, to.trim().parse().ok()?))
        };
        let mut spans: Vec<(Duration, Duration)> = Vec::new();
        for part in text.split(',') {
            let (from, to) =
                span(part).ok_or_else(|| format!("{:?} is not a span of time; {allowed}", part.trim()))?;
            if to <= from {
                return Err(format!("{:?} ends before it has begun; {allowed}", part.trim()));
            }
            spans.push((from, to));
        }
        Ok(Self::Spans(spans))
    }
}

impl TryFrom<String> for Intervals {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Intervals> for String {
    fn from(intervals: Intervals) -> Self {
        intervals.to_string()
    }
}

impl fmt::Display for Intervals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Every(every) => every.fmt(f),
            Self::Spans(spans) => {
                for (n, (from, to)) in spans.iter().enumerate() {
                    write!(f, "{}{from}-{to}", if n > 0 { ", " } else { "" })?;
                }
                Ok(())
            }
        }
    }
}

row! {
    /// What one end sent in one interval, and how its windows and round-trip times were after its writes.
    ///
    /// The means are over the application's writes, each weighted by its bytes: those of a log that takes a line after
    /// each write of one size (merritt-2010 section 4.5). They are over throughput rather than over time.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct IntervalRow {
        interval: u32 = plain("number of the interval, from 0"),
        from_ns: u64 = ns("where it begins, from the start of the run"),
        to_ns: u64 = ns("where it ends, at the end of the run at the latest"),
        connection: u32 = plain("number of the connection, from 0"),
        host: HostCell = plain("server or client: who sends"),
        bytes: u64 = bytes("bytes that the other end's application read"),
        goodput_bit_s: Option<f64> =
            bit_s("bytes read, over the length of the interval") or "the interval has no length",
        written: u64 = bytes("bytes that the application wrote"),
        data_segments: u64 = packets("first transmissions of data"),
        retransmits: u64 = packets("segments with data sent again"),
        timeouts: Option<u64> =
            plain("expiries of retransmission timers") or "a kernel does not report it",
        fast_retransmits: Option<u64> =
            plain("entries into fast recovery") or "a kernel does not report it",
        cwnd_mean: Option<f64> =
            bytes("mean congestion window after writes, weighted by their bytes") or "nothing was written",
        cwnd_max: Option<u64> =
            bytes("greatest congestion window after a write") or "nothing was written",
        srtt_mean_ns: Option<f64> =
            ns("mean smoothed round-trip time after writes, likewise") or "nothing was written, or timed",
        srtt_sd_ns: Option<f64> =
            ns("its standard deviation, weighted likewise") or "nothing was written, or timed",
    }
}

/// What an end has done since the run began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    /// Bytes that its application wrote.
    pub written: u64,
    /// Bytes that the other end's application read.
    pub delivered: u64,
    /// Its connection's.
    pub counters: ToldCounters,
}

/// The intervals of a run as it goes on.
#[derive(Debug)]
pub struct IntervalLog {
    what: Intervals,
    senders: Vec<(ConnectionId, HostCell)>,
    /// Those that are still to begin, the last first.
    ahead: Vec<(u32, Instant, Instant)>,
    open: Vec<Open>,
    rows: Vec<IntervalRow>,
}

/// An interval under way.
#[derive(Debug)]
struct Open {
    number: u32,
    from: Instant,
    to: Instant,
    base: Vec<Tally>,
    writes: Vec<Writes>,
}

/// Sums over the writes of an end, weighted by their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Writes {
    bytes: f64,
    cwnd: f64,
    cwnd_max: u64,
    /// Weight of those with an estimate of the round-trip time.
    timed: f64,
    srtt_mean: f64,
    /// Sum of squared distances from the mean (West 1979).
    srtt_squares: f64,
}

impl IntervalLog {
    /// The log of a run with these senders, in whose order tallies are given.
    pub fn new(what: &Intervals, senders: Vec<(ConnectionId, HostCell)>) -> Self {
        let mut ahead: Vec<_> = match what {
            Intervals::Every(every) => vec![(0, Instant::ZERO, Instant::ZERO + *every)],
            Intervals::Spans(spans) => {
                let all = spans.iter().enumerate();
                all.map(|(n, (from, to))| (n as u32, Instant::ZERO + *from, Instant::ZERO + *to)).collect()
            }
        };
        ahead.sort_by_key(|(number, from, _)| std::cmp::Reverse((*from, *number)));
        Self { what: what.clone(), senders, ahead, open: Vec::new(), rows: Vec::new() }
    }

    /// When an interval next begins or ends: [`Self::pass`] is to be called before what happens then.
    pub fn due(&self) -> Instant {
        let begins = self.ahead.last().map_or(Instant::FAR_FUTURE, |next| next.1);
        self.open.iter().map(|open| open.to).fold(begins, Instant::min)
    }

    /// Begins and ends what is due at or before `now`; `tallies` are those of the senders, in order, and nothing has
    /// happened at `now` yet.
    pub fn pass(&mut self, now: Instant, tallies: &[Tally]) {
        loop {
            let due = self.due();
            if due > now {
                return;
            }
            let mut over: Vec<Open> = Vec::new();
            let mut at = 0;
            while at < self.open.len() {
                if self.open[at].to <= due { over.push(self.open.remove(at)) } else { at += 1 }
            }
            for open in over {
                let to = open.to;
                self.close(&open, to, tallies);
            }
            while let Some(&(number, from, to)) = self.ahead.last().filter(|next| next.1 <= due) {
                self.ahead.pop();
                let writes = vec![Writes::default(); self.senders.len()];
                self.open.push(Open { number, from, to, base: tallies.to_vec(), writes });
                if let Intervals::Every(every) = self.what {
                    self.ahead.push((number + 1, to, to + every));
                }
            }
        }
    }

    /// Sender number `n` has written this many bytes, and this is its state after it.
    pub fn wrote(&mut self, n: usize, bytes: u64, state: &Snapshot) {
        for open in &mut self.open {
            open.writes[n].add(bytes, state);
        }
    }

    /// Ends what is open: the run is over.
    pub fn finish(mut self, now: Instant, tallies: &[Tally]) -> Vec<IntervalRow> {
        self.pass(now, tallies);
        for open in std::mem::take(&mut self.open) {
            if open.from < now {
                self.close(&open, now, tallies);
            }
        }
        self.rows.sort_by_key(|row| (row.interval, row.connection));
        self.rows
    }

    fn close(&mut self, open: &Open, to: Instant, tallies: &[Tally]) {
        for (n, (connection, host)) in self.senders.iter().enumerate() {
            let (before, after) = (&open.base[n], &tallies[n]);
            let (first, last) = (&before.counters, &after.counters);
            let known = |from: Option<u64>, to: Option<u64>| Some(to?.saturating_sub(from.unwrap_or(0)));
            let mut row = IntervalRow {
                interval: open.number,
                from_ns: open.from.as_nanos(),
                to_ns: to.as_nanos(),
                connection: connection.number(),
                host: host.clone(),
                bytes: after.delivered - before.delivered,
                goodput_bit_s: goodput(
                    after.delivered - before.delivered,
                    to.as_nanos() - open.from.as_nanos(),
                ),
                written: after.written - before.written,
                data_segments: last.data_segments.saturating_sub(first.data_segments),
                retransmits: last.retransmits.saturating_sub(first.retransmits),
                timeouts: known(first.timeouts, last.timeouts),
                fast_retransmits: known(first.fast_retransmits, last.fast_retransmits),
                ..IntervalRow::default()
            };
            open.writes[n].fill(&mut row);
            self.rows.push(row);
        }
    }
}

/// Bytes over a length in nanoseconds, in bit/s; `None` over no time.
pub fn goodput(bytes: u64, length: u64) -> Option<f64> {
    (length > 0).then(|| bytes as f64 * 8e9 / length as f64)
}

impl Writes {
    fn add(&mut self, bytes: u64, state: &Snapshot) {
        let weight = bytes as f64;
        self.bytes += weight;
        self.cwnd += weight * state.cwnd as f64;
        self.cwnd_max = self.cwnd_max.max(state.cwnd);
        if let Some(srtt) = state.srtt {
            let srtt = srtt.as_nanos() as f64;
            self.timed += weight;
            let distance = srtt - self.srtt_mean;
            self.srtt_mean += distance * weight / self.timed;
            self.srtt_squares += weight * distance * (srtt - self.srtt_mean);
        }
    }

    fn fill(&self, row: &mut IntervalRow) {
        if self.bytes > 0.0 {
            row.cwnd_mean = Some(self.cwnd / self.bytes);
            row.cwnd_max = Some(self.cwnd_max);
        }
        if self.timed > 0.0 {
            row.srtt_mean_ns = Some(self.srtt_mean);
            row.srtt_sd_ns = Some((self.srtt_squares / self.timed).max(0.0).sqrt());
        }
    }
}
