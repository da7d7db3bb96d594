//! What the analysis says held a sender back, beside what the model knew at each moment.

use std::collections::BTreeMap;
use std::io::Cursor;

use rexmit_analysis::rows::{Confidence, ConnectionRow, Held, HeldRow, Rows, SideName, SideRow, Tables};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::{DEFAULT_EPOCH_NS, Reader};
use rexmit_network::{ConnectionId, HostId};
use rexmit_stack::{Hold, Reason};
use rexmit_units::Instant;

use super::ran::{Place, Ran};
use super::score::Side;
use super::view::view;

/// A time that was judged wrongly, in nanoseconds of virtual time at the sender.
#[derive(Clone, Debug)]
pub struct Miss {
    pub case: usize,
    pub side: Side,
    pub row: HeldRow,
    pub at: u64,
    pub nanos: u64,
    /// What the model says of it.
    pub truth: String,
}

/// Shares of transfers' times, each transfer counted as one.
#[derive(Clone, Debug, Default)]
pub struct HeldTally {
    /// By side and judgement: certain and right, certain and wrong, likely and right, likely and wrong.
    pub shares: BTreeMap<(Side, Held), [f64; 4]>,
    /// By side: transfers, and those whose greatest share is right for half of its time or more.
    pub first: BTreeMap<Side, (u64, u64)>,
    pub misses: Vec<Miss>,
}

impl HeldTally {
    pub fn add(&mut self, other: Self) {
        for (key, shares) in other.shares {
            let own = self.shares.entry(key).or_default();
            own.iter_mut().zip(shares).for_each(|(own, more)| *own += more);
        }
        for (side, (all, right)) in other.first {
            let own = self.first.entry(side).or_default();
            *own = (own.0 + all, own.1 + right);
        }
        self.misses.extend(other.misses);
    }

    /// Shares of all times at a side: certain and right, certain and wrong, likely and right, likely and wrong, unknown.
    pub fn of(&self, side: Side) -> [f64; 5] {
        let mut all = [0.0; 5];
        for ((own, by), shares) in &self.shares {
            if *own != side {
                continue;
            }
            if *by == Held::Unknown {
                all[4] += shares.iter().sum::<f64>();
            } else {
                all.iter_mut().zip(shares).for_each(|(all, share)| *all += share);
            }
        }
        let total = all.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        all.map(|share| share / total)
    }

    /// The table of the guide.
    pub fn table(&self) -> String {
        let mut text = String::from(
            "| | transfers | certain and right | certain and wrong | likely and right | likely and wrong | unknown | greatest share right |\n\
             |---|---:|---:|---:|---:|---:|---:|---:|\n",
        );
        for side in Side::ALL {
            let name = ["at the sender", "at the receiver", "on the way"][side as usize];
            let (count, right) = self.first.get(&side).copied().unwrap_or_default();
            let percent = |share: f64| format!("{:.1} %", 100.0 * share);
            let [certain, wrong, likely, likely_wrong, unknown] = self.of(side);
            let certain_wrong = if wrong == 0.0 { "0".into() } else { percent(wrong) };
            text += &format!(
                "| {name} | {count} | {} | {certain_wrong} | {} | {} | {} | {} |\n",
                percent(certain),
                percent(likely),
                percent(likely_wrong),
                percent(unknown),
                percent(right as f64 / count.max(1) as f64),
            );
        }
        text
    }

    /// By side and judgement, for whoever works on it.
    pub fn details(&self) -> String {
        let lines = self.shares.iter().map(|((side, by), shares)| {
            let [a, b, c, d] = shares.map(|share| format!("{share:9.2}"));
            format!("{side:?} {by:?}: certain {a} wrong {b}, likely {c} wrong {d}\n")
        });
        lines.collect()
    }
}

/// What the model knew from a moment on.
#[derive(Clone, Copy, Debug)]
struct Moment {
    at: u64,
    by: Option<Hold>,
    phase: &'static str,
    cwnd: u64,
    window: u64,
    flight: u64,
    queued: u64,
    una: i64,
}

/// One direction of a connection, as it was.
struct Truth {
    moments: Vec<Moment>,
    /// Waits for a timer.
    timers: Vec<(u64, u64)>,
    /// When its packets with data were sent, and whether they waited in a queue.
    queue: Vec<(u64, bool)>,
    mss: u64,
    rtt: u64,
}

impl Truth {
    fn new(ran: &Ran, host: HostId, connection: ConnectionId) -> Self {
        let sent: Vec<_> =
            ran.rows().iter().filter(|row| (row.host, row.connection) == (host, connection)).collect();
        let (mut next, mut edge, mut una) = (0, 0, 0);
        let mut moments: Vec<Moment> = Vec::new();
        let states = &ran.outcome.states;
        for row in states.iter().filter(|row| (row.host, row.connection) == (host, connection)) {
            while let Some(packet) = sent.get(next).filter(|packet| packet.time <= row.time) {
                edge = edge.max(packet.end());
                next += 1;
            }
            let state = &row.state;
            let flight = state.in_flight.unwrap_or_default();
            una = una.max(edge - flight as i64);
            let moment = Moment {
                at: row.time.as_nanos(),
                by: state.held.by,
                phase: state.phase,
                cwnd: state.cwnd,
                window: state.snd_wnd,
                flight,
                queued: state.send_queue,
                una,
            };
            if moments.last().is_some_and(|last| last.at == moment.at) {
                moments.pop();
            }
            moments.push(moment);
        }
        let data = |row: &&&super::ran::Row| row.len > 0;
        let mss = sent.iter().map(|row| u64::from(row.len)).max().unwrap_or_default();
        let mut timers = Vec::new();
        let mut last_sent = 0;
        for row in sent.iter().filter(data) {
            let now = row.time.as_nanos();
            if matches!(row.reason, Reason::Timeout { .. } | Reason::TailProbe) {
                let before = moments.partition_point(|moment| moment.at < now);
                let una = moments[..before].last().map_or(0, |moment| moment.una);
                let first = moments.partition_point(|moment| moment.una < una);
                let advanced = moments.get(first).map_or(0, |moment| moment.at);
                timers.push((advanced.max(last_sent), now));
            }
            last_sent = now;
        }
        let queue = ran.waits(host, connection);
        let rtt = states
            .iter()
            .filter(|row| (row.host, row.connection) == (host, connection))
            .filter_map(|row| row.state.srtt)
            .map(|rtt| rtt.as_nanos())
            .max()
            .unwrap_or_default();
        Self { moments, timers, queue, mss, rtt }
    }

    /// The moments of a time, each with its end.
    fn moments(&self, from: u64, to: u64) -> impl Iterator<Item = (u64, u64, &Moment)> {
        let first = self.moments.partition_point(|moment| moment.at <= from).saturating_sub(1);
        let ends = self.moments.iter().skip(first + 1).map(|moment| moment.at).chain([u64::MAX]);
        let of_all = self.moments.iter().skip(first).zip(ends);
        of_all
            .map(move |(moment, end)| (moment.at.max(from), end.min(to), moment))
            .take_while(move |(start, _, _)| *start < to)
            .filter(|(start, end, _)| start < end)
    }

    fn is_queue_standing(&self, at: u64) -> bool {
        let end = self.queue.partition_point(|packet| packet.0 <= at);
        let start = self.queue.partition_point(|packet| packet.0 + self.rtt < at);
        let of = &self.queue[start.min(end)..end];
        !of.is_empty() && 2 * of.iter().filter(|packet| packet.1).count() >= of.len()
    }

    /// Nanoseconds of a time for which a judgement is right, and the first moment at which it is not.
    fn right(&self, by: Held, from: u64, to: u64) -> (u64, Option<(u64, &Moment)>) {
        let mut right = 0;
        let mut wrong = None;
        if by == Held::Timer {
            for (start, end) in &self.timers {
                right += (*end).min(to).saturating_sub((*start).max(from));
            }
            let missed = right + 1 < to - from;
            return (
                right.min(to - from),
                missed.then(|| self.moments(from, to).next()).flatten().map(|m| (m.0, m.2)),
            );
        }
        for (start, end, moment) in self.moments(from, to) {
            if self.fits(by, moment, start) {
                right += end - start;
            } else {
                wrong.get_or_insert((start, moment));
            }
        }
        (right, wrong)
    }

    fn fits(&self, by: Held, moment: &Moment, at: u64) -> bool {
        let Some(hold) = moment.by else { return false };
        // Where a writer waits for its buffer, a window may be full as well: then both hold the sender back.
        let unsent = moment.queued.saturating_sub(moment.flight);
        let waits = if hold == Hold::SendBuffer { self.mss } else { unsent };
        let full = |window: u64| waits > 0 && window < moment.flight + self.mss.min(waits);
        let own = matches!(hold, Hold::CongestionWindow | Hold::Recovery | Hold::Pacing) || full(moment.cwnd);
        let receiver = hold == Hold::ReceiveWindow || full(moment.window);
        match by {
            Held::Application => matches!(hold, Hold::Application | Hold::Nagle),
            Held::ReceiveWindow => receiver,
            Held::SendBuffer => hold == Hold::SendBuffer,
            Held::SlowStart | Held::AfterLoss | Held::IdleRestart => own,
            Held::PathRate => (own || receiver || hold == Hold::SendBuffer) && self.is_queue_standing(at),
            Held::Recovery => matches!(moment.phase, "recovery" | "loss"),
            Held::Timer | Held::Unknown => false,
        }
    }
}

/// Judges all captures of a run.
pub fn judge(ran: &Ran, case: usize) -> HeldTally {
    let mut tally = HeldTally::default();
    for place in Place::ALL {
        let Some(capture) = ran.capture(place) else { continue };
        let rows = analyse(&capture);
        let seen = view(ran, &capture);
        let way = |number: u64| {
            let sighting = &seen[number as usize - 1];
            sighting.time.as_nanos() - ran.rows()[sighting.row].time.as_nanos()
        };
        for connection in &rows.connections {
            for (name, side) in
                [(SideName::Client, &connection.client), (SideName::Server, &connection.server)]
            {
                check_sums(connection, name, side, &rows.held, &ran.name);
                if side.held.total() == 0 {
                    continue;
                }
                let host = ran.host_of(side.address.ip());
                let port = connection.client.address.port().max(connection.server.address.port());
                let truth = Truth::new(ran, host, ConnectionId::new(u32::from(port) - 10_000));
                let at = Side::of(place, host);
                let total = side.held.total() as f64;
                let mut first = BTreeMap::<Held, (u64, u64)>::new();
                let own = |row: &&HeldRow| row.connection == connection.connection && row.side == name;
                for row in rows.held.iter().filter(own) {
                    let time = |time: Instant, number| time.as_nanos() - DEFAULT_EPOCH_NS - way(number);
                    let (from, to) = if at == Side::Sender {
                        (time(row.start, row.first_number), time(row.end, row.last_number))
                    } else {
                        let from = time(row.start, row.first_number);
                        (from, time(row.end, row.last_number).max(from + 1))
                    };
                    let (right, wrong) = truth.right(row.by, from, to);
                    let length = row.end.saturating_since(row.start).as_nanos() as f64;
                    let share = length / total;
                    let good = share * right as f64 / (to - from).max(1) as f64;
                    let shares = tally.shares.entry((at, row.by)).or_default();
                    let certain = row.confidence == Confidence::Certain;
                    let place = if certain { 0 } else { 2 };
                    shares[place] += good;
                    shares[place + 1] += (share - good).max(0.0);
                    let of = first.entry(row.by).or_default();
                    of.0 += length as u64;
                    of.1 += (length * right as f64 / (to - from).max(1) as f64) as u64;
                    if let Some((start, moment)) = wrong.filter(|_| row.by != Held::Unknown) {
                        let nanos = (to - from).saturating_sub(right);
                        let truth = format!("{moment:?}");
                        tally.misses.push(Miss { case, side: at, row: *row, at: start, nanos, truth });
                    }
                }
                let most = first.iter().max_by_key(|(_, times)| times.0);
                let good = most.is_some_and(|(_, (all, right))| 2 * right >= *all);
                let count = tally.first.entry(at).or_default();
                *count = (count.0 + 1, count.1 + u64::from(good));
            }
        }
    }
    for ((_, by), shares) in &mut tally.shares {
        // Rounding is not wrong.
        if *by != Held::Unknown && shares[1] < 1e-9 {
            shares[1] = 0.0;
        }
    }
    tally
}

/// The rows follow each other without gaps and say what the connection's row says, from the first to the last data.
fn check_sums(connection: &ConnectionRow, name: SideName, side: &SideRow, rows: &[HeldRow], case: &str) {
    let own = rows.iter().filter(|row| row.connection == connection.connection && row.side == name);
    let mut at = side.first_data;
    let mut by = BTreeMap::<Held, u64>::new();
    for row in own {
        assert_eq!(Some(row.start), at, "{case}: {row:?}");
        at = Some(row.end);
        *by.entry(row.by).or_default() += row.end.saturating_since(row.start).as_nanos();
    }
    for held in Held::ALL {
        assert_eq!(by.get(&held).copied().unwrap_or_default(), side.held.of(held), "{case}: {held:?}");
    }
    if side.held.total() > 0 {
        assert!(at <= side.last_data, "{case}: {at:?} is after {:?}", side.last_data);
    }
}

fn analyse(capture: &[u8]) -> Rows {
    let reader = Reader::new(Cursor::new(capture.to_vec())).expect("a capture of ours");
    let tables = Tables { segments: false, rtt: false, chunks: false, held: true };
    let analysis = Options { tables, ..Options::default() };
    let mut run = Run::new(reader, &RunOptions { analysis, filter: None });
    let mut all = Rows::default();
    while let Some(rows) = run.step(u64::MAX) {
        all.connections.extend(rows.connections);
        all.held.extend(rows.held);
    }
    all
}
