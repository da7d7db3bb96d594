//! Rows as columns: a name, numpy's name of the type, the values as little-endian bytes.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use rexmit_network::two_hosts::{host_name, link_name};
use rexmit_sim::{
    IntervalRow, Message, MessageRow, RetransmissionRow, Row, StateRow, TransmissionRow, VerdictRow,
};
use rexmit_units::{Duration, Instant};

/// A table by columns.
pub type Columns = Vec<(&'static str, Values)>;

/// The values of a column.
#[derive(serde::Serialize)]
#[serde(untagged)]
pub enum Values {
    /// Truth values.
    Bool(Vec<bool>),
    /// Numbers of 32 bits.
    U32(Vec<u32>),
    /// Sequence numbers.
    I64(Vec<i64>),
    /// Times, counts, bytes.
    U64(Vec<u64>),
    /// The same where some are not known.
    Known(Vec<Option<u64>>),
    /// Means; what is not known is no number.
    F64(Vec<Option<f64>>),
    /// Text where there is any.
    Text(Vec<Option<String>>),
}

impl Values {
    fn into_bytes(self) -> (&'static str, Vec<u8>) {
        match self {
            Self::Bool(v) => ("|b1", v.into_iter().map(u8::from).collect()),
            Self::U32(v) => ("<u4", v.into_iter().flat_map(u32::to_le_bytes).collect()),
            Self::I64(v) => ("<i8", v.into_iter().flat_map(i64::to_le_bytes).collect()),
            Self::U64(v) => ("<u8", v.into_iter().flat_map(u64::to_le_bytes).collect()),
            Self::Known(v) => {
                let least = |n: Option<u64>| n.map_or(-1, |n| i64::try_from(n).unwrap_or(i64::MAX));
                (KNOWN, v.into_iter().flat_map(|n| least(n).to_le_bytes()).collect())
            }
            Self::F64(v) => {
                ("<f8", v.into_iter().flat_map(|n| n.unwrap_or(f64::NAN).to_le_bytes()).collect())
            }
            Self::Text(v) => ("utf8-json", serde_json::to_vec(&v).unwrap_or_default()),
        }
    }
}

/// Type name of signed numbers of 64 bits of which those below zero stand for nothing.
const KNOWN: &str = "<i8-known";

/// The columns as Python takes them: name to (type, bytes).
pub fn to_dict(py: Python<'_>, columns: Columns) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    for (name, values) in columns {
        let (kind, bytes) = values.into_bytes();
        dict.set_item(name, (kind, PyBytes::new(py, &bytes)))?;
    }
    Ok(dict)
}

type Getter = fn(&Row) -> u64;

/// The numbers of a row, in the order of the columns.
const NUMBERS: &[(&str, Getter)] = &[
    ("time_ns", |r| r.time_ns),
    ("bytes", |r| r.bytes),
    ("packets_down", |r| r.packets_down),
    ("packets_up", |r| r.packets_up),
    ("data_segments", |r| r.data_segments),
    ("retransmits", |r| r.retransmits),
    ("timeouts", |r| r.timeouts),
    ("timeouts_server", |r| r.timeouts_server),
    ("fast_retransmits", |r| r.fast_retransmits),
    ("drops_down", |r| r.drops_down),
    ("drops_up", |r| r.drops_up),
    ("unreached_down", |r| r.unreached_down),
    ("unreached_up", |r| r.unreached_up),
    ("deliveries", |r| r.deliveries),
    ("virtual_ns", |r| r.virtual_ns),
];

/// Rows of runs numbered from `start`.
pub fn rows(start: u64, replications: u64, rows: &[Row]) -> Columns {
    let runs = || start..start + rows.len() as u64;
    let mut columns = vec![
        ("run", Values::U32(runs().map(|n| n as u32).collect())),
        ("replication", Values::U32(runs().map(|n| (n % replications) as u32).collect())),
        ("completed", Values::Bool(rows.iter().map(|r| r.completed).collect())),
    ];
    columns.extend(NUMBERS.iter().map(|(name, get)| (*name, Values::U64(rows.iter().map(get).collect()))));
    columns.push(("error", Values::Text(rows.iter().map(|r| r.error.clone()).collect())));
    columns
}

/// What was measured by intervals in these rows of runs numbered from `start`.
pub fn intervals(start: u64, rows: &[Row]) -> Columns {
    let runs = rows.iter().enumerate();
    let all: Vec<_> =
        runs.flat_map(|(n, row)| row.intervals.iter().map(move |i| (start + n as u64, i))).collect();
    let small = |get: &dyn Fn(&IntervalRow) -> u32| Values::U32(all.iter().map(|(_, i)| get(i)).collect());
    let number = |get: &dyn Fn(&IntervalRow) -> u64| Values::U64(all.iter().map(|(_, i)| get(i)).collect());
    let known =
        |get: &dyn Fn(&IntervalRow) -> Option<u64>| Values::Known(all.iter().map(|(_, i)| get(i)).collect());
    let mean =
        |get: &dyn Fn(&IntervalRow) -> Option<f64>| Values::F64(all.iter().map(|(_, i)| get(i)).collect());
    vec![
        ("run", Values::U32(all.iter().map(|(run, _)| *run as u32).collect())),
        ("interval", small(&|i| i.interval)),
        ("from_ns", number(&|i| i.from_ns)),
        ("to_ns", number(&|i| i.to_ns)),
        ("connection", small(&|i| i.connection)),
        ("host", Values::Text(all.iter().map(|(_, i)| Some(i.host.clone())).collect())),
        ("bytes", number(&|i| i.bytes)),
        ("written", number(&|i| i.written)),
        ("data_segments", number(&|i| i.data_segments)),
        ("retransmits", number(&|i| i.retransmits)),
        ("timeouts", known(&|i| i.timeouts)),
        ("fast_retransmits", known(&|i| i.fast_retransmits)),
        ("cwnd_mean", mean(&|i| i.cwnd_mean)),
        ("cwnd_max", known(&|i| i.cwnd_max)),
        ("srtt_mean_ns", mean(&|i| i.srtt_mean_ns)),
        ("srtt_sd_ns", mean(&|i| i.srtt_sd_ns)),
    ]
}

/// What was sent again in these rows of runs numbered from `start`.
pub fn retransmissions(start: u64, rows: &[Row]) -> Columns {
    let runs = rows.iter().enumerate();
    let all: Vec<_> =
        runs.flat_map(|(n, row)| row.retransmissions.iter().map(move |r| (start + n as u64, r))).collect();
    let small =
        |get: &dyn Fn(&RetransmissionRow) -> u32| Values::U32(all.iter().map(|(_, r)| get(r)).collect());
    let number =
        |get: &dyn Fn(&RetransmissionRow) -> u64| Values::U64(all.iter().map(|(_, r)| get(r)).collect());
    let time = |get: &dyn Fn(&RetransmissionRow) -> f64| {
        Values::F64(all.iter().map(|(_, r)| Some(get(r))).collect())
    };
    let text = |get: &dyn Fn(&RetransmissionRow) -> &String| {
        Values::Text(all.iter().map(|(_, r)| Some(get(r).clone())).collect())
    };
    vec![
        ("run", Values::U32(all.iter().map(|(run, _)| *run as u32).collect())),
        ("connection", small(&|r| r.connection)),
        ("host", text(&|r| &r.host)),
        ("protocol", text(&|r| &r.protocol)),
        ("number", small(&|r| r.number)),
        ("class", text(&|r| &r.class)),
        ("count", number(&|r| r.count)),
        ("not_needed", number(&|r| r.not_needed)),
        ("bundled_in_fast", number(&|r| r.bundled_in_fast)),
        ("cumulative_min_ms", time(&|r| r.cumulative_min_ms)),
        ("cumulative_max_ms", time(&|r| r.cumulative_max_ms)),
        ("cumulative_mean_ms", time(&|r| r.cumulative_mean_ms)),
        ("cumulative_std_ms", time(&|r| r.cumulative_std_ms)),
        ("consecutive_min_ms", time(&|r| r.consecutive_min_ms)),
        ("consecutive_max_ms", time(&|r| r.consecutive_max_ms)),
        ("consecutive_mean_ms", time(&|r| r.consecutive_mean_ms)),
        ("consecutive_std_ms", time(&|r| r.consecutive_std_ms)),
    ]
}

/// How late messages were in these rows of runs numbered from `start`.
pub fn messages(start: u64, rows: &[Row]) -> Columns {
    let runs = rows.iter().enumerate();
    let all: Vec<_> =
        runs.flat_map(|(n, row)| row.messages.iter().map(move |m| (start + n as u64, m))).collect();
    let number = |get: &dyn Fn(&MessageRow) -> u64| Values::U64(all.iter().map(|(_, m)| get(m)).collect());
    let time =
        |get: &dyn Fn(&MessageRow) -> Option<f64>| Values::F64(all.iter().map(|(_, m)| get(m)).collect());
    vec![
        ("run", Values::U32(all.iter().map(|(run, _)| *run as u32).collect())),
        ("connection", Values::U32(all.iter().map(|(_, m)| m.connection).collect())),
        ("host", Values::Text(all.iter().map(|(_, m)| Some(m.host.clone())).collect())),
        ("written", number(&|m| m.written)),
        ("delivered", number(&|m| m.delivered)),
        ("latency_min_ms", time(&|m| m.latency_min_ms)),
        ("latency_mean_ms", time(&|m| m.latency_mean_ms)),
        ("latency_std_ms", time(&|m| m.latency_std_ms)),
        ("latency_max_ms", time(&|m| m.latency_max_ms)),
        ("latency_p50_ms", time(&|m| m.latency_p50_ms)),
        ("latency_p90_ms", time(&|m| m.latency_p90_ms)),
        ("latency_p95_ms", time(&|m| m.latency_p95_ms)),
        ("latency_p98_ms", time(&|m| m.latency_p98_ms)),
        ("latency_p99_ms", time(&|m| m.latency_p99_ms)),
        ("latency_p999_ms", time(&|m| m.latency_p999_ms)),
    ]
}

/// Every message of a run. What was never delivered has the largest number.
pub fn message_trace(rows: &[Message]) -> Columns {
    let number = |get: &dyn Fn(&Message) -> u64| Values::U64(rows.iter().map(get).collect());
    vec![
        ("connection", Values::U32(rows.iter().map(|m| m.connection.number()).collect())),
        ("host", Values::Text(rows.iter().map(|m| Some(host_name(m.host).to_string())).collect())),
        ("number", number(&|m| m.number)),
        ("written_ns", number(&|m| m.written.as_nanos())),
        ("bytes", number(&|m| m.len)),
        ("delivered_ns", number(&|m| m.delivered.map_or(u64::MAX, Instant::as_nanos))),
    ]
}

/// One row, name to value.
pub fn row_to_dict<'py>(py: Python<'py>, row: &Row) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("completed", row.completed)?;
    for (name, get) in NUMBERS {
        dict.set_item(name, get(row))?;
    }
    dict.set_item("error", row.error.as_deref())?;
    Ok(dict)
}

/// States over time. Unknown times and an unlimited threshold are the largest number.
pub fn states(rows: &[StateRow]) -> Columns {
    let number = |get: &dyn Fn(&StateRow) -> u64| Values::U64(rows.iter().map(get).collect());
    let text = |get: &dyn Fn(&StateRow) -> &'static str| {
        Values::Text(rows.iter().map(|r| Some(get(r).to_string())).collect())
    };
    let ns = |time: Option<Duration>| time.map_or(u64::MAX, Duration::as_nanos);
    vec![
        ("time_ns", number(&|r| r.time.as_nanos())),
        ("host", text(&|r| host_name(r.host))),
        ("connection", Values::U32(rows.iter().map(|r| r.connection.number()).collect())),
        ("state", text(&|r| r.state.state)),
        ("phase", text(&|r| r.state.phase)),
        ("cwnd", number(&|r| r.state.cwnd)),
        ("ssthresh", number(&|r| r.state.ssthresh)),
        ("in_flight", number(&|r| r.state.in_flight)),
        ("snd_wnd", number(&|r| r.state.snd_wnd)),
        ("send_queue", number(&|r| r.state.send_queue)),
        ("recv_queue", number(&|r| r.state.recv_queue)),
        ("srtt_ns", number(&|r| ns(r.state.srtt))),
        ("rttvar_ns", number(&|r| ns(r.state.rttvar))),
        ("rto_ns", number(&|r| r.state.rto.as_nanos())),
        ("retransmits", number(&|r| r.state.counters.retransmits)),
        ("timeouts", number(&|r| r.state.counters.timeouts)),
        ("fast_retransmits", number(&|r| r.state.counters.fast_retransmits)),
    ]
}

/// Verdicts of the path.
pub fn verdicts(rows: &[VerdictRow]) -> Columns {
    let number = |get: &dyn Fn(&VerdictRow) -> u64| Values::U64(rows.iter().map(get).collect());
    let text =
        |get: &dyn Fn(&VerdictRow) -> String| Values::Text(rows.iter().map(|r| Some(get(r))).collect());
    vec![
        ("time_ns", number(&|r| r.row.time.as_nanos())),
        ("direction", text(&|r| link_name(r.link).to_string())),
        ("position", number(&|r| r.row.verdict.position)),
        ("ip_bytes", number(&|r| u64::from(r.row.packet.ip_len))),
        ("payload_bytes", number(&|r| u64::from(r.row.packet.payload))),
        ("flags", number(&|r| u64::from(r.row.packet.flags.0))),
        ("seq", number(&|r| u64::from(r.row.packet.seq))),
        ("ack", number(&|r| u64::from(r.row.packet.ack))),
        ("dropped", Values::Bool(rows.iter().map(|r| r.row.verdict.is_drop()).collect())),
        ("verdict", text(&|r| r.row.verdict.to_string())),
    ]
}

/// Every packet that a TCP sent and every DATA chunk of an SCTP, and why. An unknown arrival is the largest number.
pub fn transmissions(rows: &[TransmissionRow]) -> Columns {
    let number = |get: &dyn Fn(&TransmissionRow) -> u64| Values::U64(rows.iter().map(get).collect());
    let small = |get: &dyn Fn(&TransmissionRow) -> u32| Values::U32(rows.iter().map(get).collect());
    let text = |get: &dyn Fn(&TransmissionRow) -> &'static str| {
        Values::Text(rows.iter().map(|r| Some(get(r).to_string())).collect())
    };
    vec![
        ("time_ns", number(&|r| r.time.as_nanos())),
        ("host", text(&|r| host_name(r.host))),
        ("connection", small(&|r| r.connection.number())),
        ("position", number(&|r| r.position)),
        ("ident", small(&|r| r.ident.into())),
        ("seq", Values::I64(rows.iter().map(|r| r.seq).collect())),
        ("chunk", Values::Known(rows.iter().map(|r| r.chunk.map(u64::from)).collect())),
        ("payload_bytes", small(&|r| r.len)),
        ("flags", small(&|r| r.flags.0.into())),
        ("reason", text(&|r| r.reason.name())),
        ("backoff", small(&|r| r.reason.backoff())),
        ("duplicates", small(&|r| r.reason.duplicates())),
        ("transmission", small(&|r| r.transmission)),
        ("earlier", text(&|r| r.earlier.name())),
        ("arrived_ns", number(&|r| r.arrived.map_or(u64::MAX, Instant::as_nanos))),
    ]
}
