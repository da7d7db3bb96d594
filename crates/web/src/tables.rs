//! The tables that graphs are drawn from, as `rexmit.plot.trace` names them: what the server sent and heard.
//!
//! Why something was sent again is what the model itself says, not what its packets let one judge. What is not here: samples
//! of the round-trip time, which an analysis of packets takes.

use std::collections::BTreeMap;

use rexmit_network::LinkId;
use rexmit_network::two_hosts::{DOWN, SERVER, UP};
use rexmit_sim::{Earlier, Outcome, StateRow, TransmissionRow, VerdictRow};
use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, SeqNumber};
use serde_json::{Value, json};

use crate::block::{Column, Table, pack};
use crate::sacked::Sacked;
use crate::seen::Seen;

/// The connection's only view.
const VIEW: &str = "1-server";

/// The block of a run with one connection of TCP.
///
/// # Errors
/// One line, where the server sent nothing.
pub(crate) fn block_of(outcome: &Outcome, seen: &[Seen]) -> Result<Vec<u8>, String> {
    let Some(first) = seen.first() else { return Err("no packet reached or left the server".to_owned()) };
    let sent: Vec<&TransmissionRow> = outcome.transmissions.iter().filter(|row| row.host == SERVER).collect();
    let initial = seen.iter().find(|one| one.own).map(|one| one.segment.seq);
    let Some(initial) = initial.filter(|_| !sent.is_empty()) else {
        return Err("the server sent nothing: no SYN reached it before the client gave up".to_owned());
    };
    let clock = Clock { start: first.time };
    let (groups, group) = groups_of(&sent);
    let heard = Heard::of(seen, initial);
    let mut packets = packets(&sent, seen, &heard, &clock);
    packets.push(("group", Column::numbers(group.iter().map(|&at| at as f64))));
    packets.push(("lost", lost(&sent, &outcome.verdicts)));
    let tables = vec![
        (format!("{VIEW}.packets"), packets),
        (format!("{VIEW}.again"), again(&sent)),
        (format!("{VIEW}.state"), states(&outcome.states, &clock)),
        ("1-client.packets".to_owned(), heard.packets(&clock)),
        ("1-client.sacks".to_owned(), heard.sacks()),
        ("verdicts".to_owned(), verdicts(&outcome.verdicts, seen, initial)),
        ("queue-0".to_owned(), queue(&outcome.verdicts, DOWN)),
        ("queue-1".to_owned(), queue(&outcome.verdicts, UP)),
    ];
    Ok(pack(&head(outcome, &sent, &groups, (seen, &clock)), &tables))
}

/// Times from the first packet at the server.
struct Clock {
    start: Instant,
}

impl Clock {
    fn seconds(&self, time: Instant) -> f64 {
        (time.as_nanos() as f64 - self.start.as_nanos() as f64) / 1e9
    }
}

fn seconds(duration: Duration) -> f64 {
    duration.as_nanos() as f64 / 1e9
}

fn head(outcome: &Outcome, sent: &[&TransmissionRow], groups: &[Group], at: (&[Seen], &Clock)) -> Value {
    let (seen, clock) = at;
    let row = &outcome.row;
    let last = seen.last().map_or(0.0, |one| clock.seconds(one.time));
    let span = sent.last().map_or(0.0, |row| clock.seconds(row.time));
    let srtt = outcome.states.iter().rev().filter(|row| row.host == SERVER).find_map(|row| row.state.srtt);
    let groups: Vec<Value> = groups
        .iter()
        .map(|group| json!({ "cause": group.cause, "needed": group.needed, "again": group.cause.is_some() }))
        .collect();
    json!({
        "run": null,
        "title": "",
        "levels": {},
        "responses": {
            "time_ns": row.time_ns, "bytes": row.bytes, "retransmits": row.retransmits,
            "timeouts_server": row.timeouts_server, "drops_down": row.drops_down, "drops_up": row.drops_up,
            "packets_down": row.packets_down, "packets_up": row.packets_up,
        },
        "duration": last,
        "views": [{
            "key": VIEW, "protocol": "tcp", "connection": 1, "direction": "server", "title": "server to client",
            "facts": "", "groups": groups, "start": clock.start.as_nanos() as f64 / 1e9,
            "bytes": sent.iter().map(|row| u64::from(row.len)).sum::<u64>(),
            "interval": (span / 100.0).max(srtt.map_or(0.0, seconds)).max(1e-6),
        }],
        "remarks": [],
        "queues": [
            { "direction": "down", "title": "path, server to client" },
            { "direction": "up", "title": "path, client to server" },
        ],
    })
}

/// Packets that look alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Group {
    /// Why they were sent again, as an analysis calls it; none where they were not.
    cause: Option<&'static str>,
    needed: bool,
}

/// The groups, and which one each packet is of.
fn groups_of(sent: &[&TransmissionRow]) -> (Vec<Group>, Vec<usize>) {
    let mut groups = vec![Group { cause: None, needed: true }];
    let which = sent
        .iter()
        .map(|row| {
            let group = Group { cause: cause(row), needed: cause(row).is_none() || is_needed(row) };
            groups.iter().position(|known| *known == group).unwrap_or_else(|| {
                groups.push(group);
                groups.len() - 1
            })
        })
        .collect();
    (groups, which)
}

/// Whether the receiver lacked some of it for good.
fn is_needed(row: &TransmissionRow) -> bool {
    matches!(row.earlier, Earlier::None | Earlier::Lost)
}

/// Why it was sent again, in the words of `rexmit.analyse.words.CAUSES`; none for what was not.
fn cause(row: &TransmissionRow) -> Option<&'static str> {
    if row.transmission < 2 {
        return None;
    }
    Some(match row.reason {
        Reason::Syn { .. } => "syn",
        Reason::SynAck { .. } | Reason::SynAckAnswer => "syn-ack",
        _ if row.len == 0 && row.flags.has(Flags::FIN) => "fin",
        Reason::Timeout { .. } => "timeout",
        Reason::GoBackN | Reason::Age => "go-back-n",
        Reason::Fast { .. } => "fast",
        Reason::ReorderingTimer { .. } => "reordering-timer",
        Reason::PartialAck => "partial-ack",
        Reason::SackRecovery | Reason::Rescue => "sack-recovery",
        Reason::TailProbe => "tail-probe",
        Reason::WindowProbe => "window-probe",
        _ => "unknown",
    })
}

/// The reason as a sentence.
fn why(row: &TransmissionRow) -> String {
    let reason = match row.reason {
        Reason::Timeout { backoff } | Reason::Syn { backoff } | Reason::SynAck { backoff } => {
            format!("the timer expired, expiry {backoff} in a row")
        }
        Reason::SynAckAnswer => "the client's SYN came again".to_owned(),
        Reason::GoBackN => "after a timeout, of what was outstanding then".to_owned(),
        Reason::Age => "in recovery, out for longer than the timeout".to_owned(),
        Reason::Fast { duplicates, sacked: 0 } => format!("after {duplicates} duplicate ACKs"),
        Reason::Fast { duplicates, sacked } => {
            format!("after {duplicates} duplicate ACKs and {sacked} segments above it reported by SACK")
        }
        Reason::ReorderingTimer { .. } => {
            "what was sent after it has arrived, and it has had time to follow".to_owned()
        }
        Reason::PartialAck => "in recovery, after an ACK that stopped before it".to_owned(),
        Reason::SackRecovery => "in recovery, a further hole".to_owned(),
        Reason::Rescue => "in recovery, the last segment outstanding".to_owned(),
        Reason::TailProbe => "nothing came back: a probe for a lost tail".to_owned(),
        Reason::WindowProbe => "the window was closed".to_owned(),
        other => other.name().to_owned(),
    };
    match row.earlier {
        Earlier::None | Earlier::Lost => reason,
        Earlier::OnItsWay => format!("{reason}; not needed: the original was on its way"),
        Earlier::There => format!("{reason}; not needed: the receiver had it"),
    }
}

fn packets(sent: &[&TransmissionRow], seen: &[Seen], heard: &Heard, clock: &Clock) -> Table {
    let numbers: Vec<usize> = (0..seen.len()).filter(|&n| seen[n].own).collect();
    let mut highest = 0;
    let jumps: Vec<f64> = sent
        .iter()
        .map(|row| {
            let jump = row.seq - highest;
            highest = highest.max(row.end());
            jump as f64
        })
        .collect();
    vec![
        ("t", Column::numbers(sent.iter().map(|row| clock.seconds(row.time)))),
        ("number", Column::numbers(numbers.iter().map(|&n| n as f64 + 1.0))),
        ("jump", Column::Numbers(jumps)),
        ("span", Column::numbers(sent.iter().map(|row| (row.end() - row.seq) as f64))),
        ("flags", Column::numbers(sent.iter().map(|row| f64::from(row.flags.0)))),
        ("less", Column::numbers(numbers.iter().map(|&n| heard.reported_before(n) as f64))),
    ]
}

/// The verdict on each packet that the path dropped.
fn lost(sent: &[&TransmissionRow], verdicts: &[VerdictRow]) -> Column {
    let dropped: BTreeMap<u64, String> = verdicts
        .iter()
        .filter(|row| row.link == DOWN && row.row.verdict.is_drop())
        .map(|row| (row.row.verdict.position, row.row.verdict.to_string()))
        .collect();
    Column::texts(sent.iter().map(|row| dropped.get(&row.position).cloned()))
}

fn again(sent: &[&TransmissionRow]) -> Table {
    let rows: Vec<usize> = (0..sent.len()).filter(|&row| cause(sent[row]).is_some()).collect();
    // When the first byte of each left before: the first time, and the last.
    let before = |row: usize| {
        let first = sent[row].seq;
        sent[..row].iter().filter(move |one| one.seq <= first && first < one.end()).map(|one| one.time)
    };
    let since = |row: usize, then: Option<Instant>| {
        then.map_or(-1.0, |then| (sent[row].time.as_nanos() - then.as_nanos()) as f64 / 1e9)
    };
    vec![
        ("row", Column::numbers(rows.iter().map(|&row| row as f64))),
        ("confidence", Column::texts(rows.iter().map(|_| Some("known")))),
        ("why", Column::texts(rows.iter().map(|&row| Some(why(sent[row]))))),
        ("first", Column::numbers(rows.iter().map(|&row| since(row, before(row).next())))),
        ("previous", Column::numbers(rows.iter().map(|&row| since(row, before(row).next_back())))),
    ]
}

fn states(states: &[StateRow], clock: &Clock) -> Table {
    let own: Vec<&StateRow> = states.iter().filter(|row| row.host == SERVER && row.state.cwnd > 0).collect();
    let known = |get: &dyn Fn(&StateRow) -> Option<f64>| {
        Column::numbers(own.iter().map(|row| get(row).unwrap_or(-1.0)))
    };
    vec![
        ("t", Column::numbers(own.iter().map(|row| clock.seconds(row.time).max(0.0)))),
        ("cwnd", known(&|row| Some(row.state.cwnd as f64))),
        ("ssthresh", known(&|row| row.state.ssthresh.map(|bytes| bytes as f64))),
        ("srtt", known(&|row| row.state.srtt.map(|time| 1e3 * seconds(time)))),
        ("rto", known(&|row| row.state.rto.map(|time| 1e3 * seconds(time)))),
        ("phase", Column::texts(own.iter().map(|row| Some(row.state.phase)))),
    ]
}

fn verdicts(rows: &[VerdictRow], seen: &[Seen], initial: SeqNumber) -> Table {
    // Numbers of the client count from its own SYN.
    let other = seen.iter().find(|one| !one.own).map_or(SeqNumber(0), |one| one.segment.seq);
    let of = |row: &VerdictRow| if row.link == DOWN { (initial, other) } else { (other, initial) };
    let number = |get: &dyn Fn(&VerdictRow) -> f64| Column::numbers(rows.iter().map(get));
    vec![
        ("t", number(&|row| row.row.time.as_nanos() as f64 / 1e9)),
        (
            "direction",
            Column::texts(rows.iter().map(|row| Some(if row.link == DOWN { "down" } else { "up" }))),
        ),
        ("position", number(&|row| row.row.verdict.position as f64)),
        ("bytes", number(&|row| f64::from(row.row.packet.ip_len))),
        ("payload", number(&|row| f64::from(row.row.packet.payload))),
        ("flags", number(&|row| f64::from(row.row.packet.flags.0))),
        ("dropped", number(&|row| f64::from(u8::from(row.row.verdict.is_drop())))),
        ("verdict", Column::texts(rows.iter().map(|row| Some(row.row.verdict.to_string())))),
        ("seq", number(&|row| f64::from(row.row.packet.seq.wrapping_sub(of(row).0.0)))),
        (
            "ack",
            number(&|row| {
                let acks = row.row.packet.flags.has(Flags::ACK);
                if acks { f64::from(row.row.packet.ack.wrapping_sub(of(row).1.0)) } else { -1.0 }
            }),
        ),
    ]
}

/// A row for each packet of a link; `web/src/trace/queue.ts` says what `place` is.
fn queue(rows: &[VerdictRow], link: LinkId) -> Table {
    let own: Vec<&VerdictRow> = rows.iter().filter(|row| row.link == link).collect();
    let number = |get: &dyn Fn(&VerdictRow) -> f64| Column::numbers(own.iter().map(|row| get(row)));
    let left = |row: &VerdictRow| row.row.stay.and_then(|stay| Some((stay.entered, stay.left?)));
    vec![
        ("entered", number(&|row| row.row.stay.map_or(0.0, |stay| seconds(stay.entered - row.row.time)))),
        ("stay", number(&|row| left(row).map_or(0.0, |(entered, left)| seconds(left - entered)))),
        (
            "place",
            number(&|row| match row.row.stay {
                None => 1.0,
                Some(stay) if stay.left.is_none() => 2.0,
                Some(_) => 0.0,
            }),
        ),
    ]
}

/// What came to the server.
struct Heard<'a> {
    /// With their numbers among all packets, from 0.
    packets: Vec<(usize, &'a Seen)>,
    initial: SeqNumber,
    /// By which the windows of packets after the handshake are shifted.
    scale: u8,
    /// Bytes that SACK has reported above the last acknowledgment, after the packet of this number.
    reported: BTreeMap<usize, i64>,
}

impl<'a> Heard<'a> {
    fn of(seen: &'a [Seen], initial: SeqNumber) -> Self {
        let packets: Vec<_> = seen.iter().enumerate().filter(|(_, one)| !one.own).collect();
        let scale_of = |own: bool| {
            let syn = seen.iter().find(|one| one.own == own && one.segment.flags.has(Flags::SYN));
            syn.and_then(|one| one.segment.window_scale)
        };
        // RFC 7323 section 2.2: both SYNs must have the option.
        let scale = scale_of(true).and(scale_of(false)).unwrap_or(0);
        let mut heard = Self { packets, initial, scale, reported: BTreeMap::new() };
        let mut sacked = Sacked::default();
        for n in 0..heard.packets.len() {
            let (number, one) = heard.packets[n];
            let Some(ack) = heard.ack(one) else { continue };
            for (left, right) in one.segment.sack.as_slice() {
                sacked.add(heard.place(*left), heard.place(*right));
            }
            sacked.acknowledge(ack);
            heard.reported.insert(number, sacked.bytes());
        }
        heard
    }

    fn place(&self, number: SeqNumber) -> i64 {
        i64::from(number.diff(self.initial))
    }

    /// What a packet acknowledges, if anything.
    fn ack(&self, one: &Seen) -> Option<i64> {
        one.segment.flags.has(Flags::ACK).then(|| self.place(one.segment.ack))
    }

    /// Bytes that SACK had reported before the packet of this number.
    fn reported_before(&self, number: usize) -> i64 {
        self.reported.range(..number).next_back().map_or(0, |(_, bytes)| *bytes)
    }

    fn window(&self, one: &Seen) -> u32 {
        let shift = if one.segment.flags.has(Flags::SYN) { 0 } else { self.scale };
        u32::from(one.segment.window) << shift
    }

    fn packets(&self, clock: &Clock) -> Table {
        let number =
            |get: &dyn Fn(&Seen) -> f64| Column::numbers(self.packets.iter().map(|(_, one)| get(one)));
        let duplicate = self.packets.iter().enumerate().map(|(n, (_, one))| {
            let before = n.checked_sub(1).map(|n| self.packets[n].1);
            // RFC 5681 section 2: no data, no SYN or FIN, and nothing new; SACK tells of it, too.
            let repeats = before.is_some_and(|before| {
                self.ack(before).is_some()
                    && self.ack(before) == self.ack(one)
                    && (self.window(before) == self.window(one) || !one.segment.sack.is_empty())
            });
            f64::from(u8::from(repeats && one.segment.seq_len() == 0))
        });
        vec![
            ("t", number(&|one| clock.seconds(one.time))),
            ("number", Column::numbers(self.packets.iter().map(|(n, _)| *n as f64 + 1.0))),
            ("flags", number(&|one| f64::from(one.segment.flags.0))),
            ("ack", number(&|one| self.ack(one).map_or(-1.0, |ack| ack as f64))),
            ("window", number(&|one| f64::from(self.window(one)))),
            ("duplicate", Column::numbers(duplicate)),
        ]
    }

    fn sacks(&self) -> Table {
        let mut columns = [const { Vec::new() }; 4];
        for (row, (_, one)) in self.packets.iter().enumerate() {
            let Some(ack) = self.ack(one) else { continue };
            let blocks = one.segment.sack.as_slice();
            for (n, block) in blocks.iter().enumerate() {
                let (left, right) = (self.place(block.0), self.place(block.1));
                // RFC 2883 section 4: the first block, below the acknowledgment or inside the second one.
                let inside = blocks
                    .get(1)
                    .is_some_and(|next| self.place(next.0) <= left && right <= self.place(next.1));
                let duplicate = n == 0 && (right <= ack || inside);
                let values =
                    [row as f64, (left - ack) as f64, (right - ack) as f64, f64::from(u8::from(duplicate))];
                for (column, value) in columns.iter_mut().zip(values) {
                    column.push(value);
                }
            }
        }
        ["row", "left", "right", "duplicate"].into_iter().zip(columns.map(Column::Numbers)).collect()
    }
}
