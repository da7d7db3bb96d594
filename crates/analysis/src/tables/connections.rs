//! The table of connections: a row of [`ConnectionRow`], and how often each cause stood in its retransmissions.

use std::collections::HashMap;

use rexmit_tables::{Block, Named, bit_s, bytes, ns, plain, share};

use crate::core::side::Sides;
use crate::rows::{Cause, ConnectionRow, Held, Need, RetransmissionRow, SideRow, Spread};

/// Number of causes.
const CAUSES: usize = Cause::NAMES.len();

/// Retransmissions of connections that have not ended, counted by what was judged of them.
#[derive(Debug, Default)]
pub struct Tally {
    open: HashMap<u32, Sides<Counts>>,
}

/// Retransmissions of one side.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    causes: [u64; CAUSES],
    spurious: u64,
    unnecessary: u64,
}

/// A connection and the counts of its sides.
pub(super) struct Counted<'a> {
    row: &'a ConnectionRow,
    client: Counts,
    server: Counts,
}

impl Tally {
    pub(super) fn count(&mut self, rows: &[RetransmissionRow]) {
        for row in rows {
            let sides = self.open.entry(row.connection).or_default();
            let counts = &mut sides[row.side];
            counts.causes[usize::from(row.cause.code())] += 1;
            counts.spurious += u64::from(row.need == Need::Spurious);
            counts.unnecessary += u64::from(row.need == Need::Unnecessary);
        }
    }

    /// Adds what was counted to connections that have ended, and forgets it.
    pub(super) fn join<'a>(&mut self, rows: &'a [ConnectionRow]) -> Vec<Counted<'a>> {
        let counted = |row: &'a ConnectionRow| {
            let Sides { client, server } = self.open.remove(&row.connection).unwrap_or_default();
            Counted { row, client, server }
        };
        rows.iter().map(counted).collect()
    }
}

pub(super) fn columns(table: &mut Block<'_, Counted<'_>>) {
    table.add("connection", "its number in the capture, from 1", |c| c.row.connection);
    table.add("interface", "number of the interface in the capture", |c| c.row.interface);
    table.add("start_ns", ns("time of its first packet, since 1970"), |c| c.row.start);
    table.add("end_ns", ns("time of its last packet, since 1970"), |c| c.row.end);
    table.add("packets", "packets of both sides, copies included", |c| c.row.packets);
    table.add("syn", "a SYN was seen", |c| c.row.handshake.syn);
    table.add("syn_ack", "a SYN-ACK was seen", |c| c.row.handshake.syn_ack);
    table.add("fins", "sides whose FIN was seen", |c| c.row.handshake.fins);
    table.add("reset", "a RST was seen", |c| c.row.handshake.reset);
    table.add("handshake_server_rtt_ns", ns("time from SYN to SYN-ACK, neither sent twice"), |c| {
        c.row.handshake.server_rtt
    });
    table.add("handshake_client_rtt_ns", ns("time from SYN-ACK to the client's ACK"), |c| {
        c.row.handshake.client_rtt
    });
    table.add(
        "vantage_client_share",
        share("share of the round-trip time between the place of the capture and the client"),
        |c| c.row.vantage.client_share,
    );
    side(table, "client_", |c| (&c.row.client, &c.client));
    side(table, "server_", |c| (&c.row.server, &c.server));
}

type Getter<'a> = for<'r> fn(&'r Counted<'a>) -> (&'r SideRow, &'r Counts);

/// Columns of a side, whose names begin with `$prefix`.
macro_rules! add {
    ($table:ident, $prefix:ident, $get:ident:
        $($name:literal, $meaning:expr, |$side:ident| $value:expr;)*) => {$(
        $table.add_to($prefix, $name, $meaning, |c| { let $side = $get(c).0; $value });
    )*};
}

fn side<'a>(table: &mut Block<'_, Counted<'a>>, prefix: &str, get: Getter<'a>) {
    sent(table, prefix, get);
    measured(table, prefix, get);
    spread(table, &format!("{prefix}rtt_"), |c| &get(c).0.rtt);
    spread(table, &format!("{prefix}rtt_timestamps_"), |c| &get(c).0.rtt_timestamps);
    spread(table, &format!("{prefix}rtt_sack_"), |c| &get(c).0.rtt_sack);
    spread(table, &format!("{prefix}ack_delay_"), |c| &get(c).0.ack_delay);
    table.add_to(
        prefix,
        "held_ns",
        ns("time from its first to its last packet with data; the next columns share it out"),
        |c| get(c).0.held.total(),
    );
    for (by, name) in Held::ALL.into_iter().zip(Held::NAMES) {
        let column = format!("held_{}", name.replace('-', "_"));
        table.add_to(prefix, &format!("{column}_ns"), ns(held(by)), |c| get(c).0.held.of(by));
        table.add_to(prefix, &format!("{column}_certain_ns"), ns("time of that which is certain"), |c| {
            get(c).0.held.certain(by)
        });
    }
    for (at, name) in Cause::NAMES.iter().enumerate() {
        table.add_to(
            prefix,
            &format!("cause_{}", name.replace('-', "_")),
            "retransmissions of this cause",
            |c| get(c).1.causes[at],
        );
    }
    table.add_to(prefix, "spurious", "retransmissions whose original had arrived", |c| get(c).1.spurious);
    table.add_to(prefix, "unnecessary", "retransmissions of what was acknowledged before", |c| {
        get(c).1.unnecessary
    });
}

/// What a side offered and sent.
fn sent<'a>(table: &mut Block<'_, Counted<'a>>, prefix: &str, get: Getter<'a>) {
    add! { table, prefix, get:
        "address", "address and port", |s| s.address;
        "syn_seen", "its SYN was seen; if not, what it offered is what its packets show", |s| s.offered.syn;
        "mss", bytes("maximum segment size that its SYN offered")
            .or_null("its SYN offered none, or was not seen"),
            |s| s.offered.mss;
        "window_scale", plain("window scale that its SYN offered, a shift count")
            .or_null("its SYN offered none, or was not seen"),
            |s| s.offered.window_scale;
        "sack_permitted", "its SYN permitted SACK", |s| s.offered.sack_permitted;
        "timestamps", "its packets may carry timestamps", |s| s.offered.timestamps;
        "ecn", "ECN was asked for or granted", |s| s.offered.ecn;
        "packets", "packets that it sent, copies not counted", |s| s.packets;
        "pure_acks", "of these, without data, SYN, FIN and RST", |s| s.pure_acks;
        "data_packets", "packets with data, retransmissions included; a super-packet is one",
            |s| s.data_packets;
        "wire_data_packets", "the same, a super-packet counted as the packets of one MSS on the wire",
            |s| s.wire_data_packets;
        "bytes", bytes("bytes of data, retransmissions included"), |s| s.bytes;
        "unique_bytes", bytes("bytes of data, each counted once"), |s| s.unique_bytes;
        "acked_bytes", bytes("bytes delivered for sure: acknowledged"), |s| s.acked_bytes;
        "retransmitted_packets", "packets with data that were retransmissions", |s| s.retransmitted_packets;
        "retransmitted_bytes", bytes("bytes of data sent again"), |s| s.retransmitted_bytes;
        "reordered_packets", "packets that were overtaken on their way here", |s| s.reordered_packets;
        "copies", "the same packet again: duplicated on the path, or captured twice", |s| s.copies;
        "damaged", "packets that were damaged on the path", |s| s.damaged;
        "unseen_bytes", bytes("bytes that were acknowledged and that the capture does not hold"),
            |s| s.unseen_bytes;
        "first_data_ns", ns("time of its first data, since 1970").or_null("it sent none"), |s| s.first_data;
        "last_data_ns", ns("time of its last packet with data, since 1970").or_null("it sent none"),
            |s| s.last_data;
        "last_acked_ns", ns("time at which its data was last acknowledged further, since 1970")
            .or_null("none was acknowledged"),
            |s| s.last_acked;
    }
}

/// The rates, windows and acknowledgments of a side.
fn measured<'a>(table: &mut Block<'_, Counted<'a>>, prefix: &str, get: Getter<'a>) {
    add! { table, prefix, get:
        "goodput_bit_s", bit_s("acknowledged bytes, from the first data to the last acknowledgment"),
            |s| s.goodput;
        "throughput_bit_s", bit_s("all bytes of data, from the first to the last packet with data"),
            |s| s.throughput;
        "initial_window", bytes("bytes sent before the first acknowledgment of data"), |s| s.initial_window;
        "max_outstanding", bytes("most bytes outstanding"), |s| s.max_outstanding;
        "mean_outstanding", bytes("time average of the bytes outstanding while any were"),
            |s| s.mean_outstanding;
        "f_avg", "mean outstanding segments when unambiguously timed segments were sent (klaver-2005)",
            |s| s.f_avg;
        "min_window", bytes("smallest window that it advertised after the handshake")
            .or_null("it advertised none after the handshake"),
            |s| s.min_window;
        "max_window", bytes("largest window that it advertised").or_null("its scale is not known"),
            |s| s.max_window;
        "zero_windows", "times at which it closed its window", |s| s.zero_windows;
        "zero_window_ns", ns("time for which its window was closed"), |s| s.zero_window_time;
        "window_limited_ns", ns("time for which less than one MSS of the other side's window was left to it"),
            |s| s.window_limited_time;
        "duplicate_acks", "duplicate acknowledgments that it sent", |s| s.duplicate_acks;
        "sack_acks", "acknowledgments with SACK blocks that it sent", |s| s.sack_acks;
        "dsacks", "duplicate SACK blocks that it sent", |s| s.dsacks;
        "packets_per_ack", plain("data packets of the other side for each acknowledgment that moved forward")
            .or_null("no acknowledgment moved forward"),
            |s| s.packets_per_ack;
        "ack_timer_ns", ns("estimate of its delayed-ACK timer").or_null("the capture is not at this side"),
            |s| s.ack_timer;
        "idle_periods", "times in which it had nothing outstanding and sent nothing, and then sent more",
            |s| s.idle_periods;
        "idle_ns", ns("their length together"), |s| s.idle_time;
        "ambiguous_retransmitted", "acknowledgments without RTT sample: a segment was sent twice",
            |s| s.ambiguous_retransmitted;
        "ambiguous_missing", "acknowledgments without RTT sample: data had been missing",
            |s| s.ambiguous_missing;
        "loss_events", "loss events", |s| s.loss_events;
        "lost_segments", "segments judged lost", |s| s.lost_segments;
        "loss_rate", "lost segments for each data packet on the wire", |s| s.loss_rate;
        "loss_event_rate", "loss events for each data packet on the wire (p of klaver-2005)",
            |s| s.loss_event_rate;
        "reneged", "times at which the receiver took back what it had reported by SACK", |s| s.reneged;
    }
}

/// The figures of a distribution, their names beginning with `prefix`.
pub(super) fn spread<R>(table: &mut Block<'_, R>, prefix: &str, get: impl Fn(&R) -> &Spread) {
    // Without samples there is no value.
    let some = |spread: &Spread, value: f64| (spread.count > 0).then_some(value);
    table.add_to(prefix, "count", "samples", |c| get(c).count);
    table.add_to(prefix, "min_ns", ns("smallest"), |c| some(get(c), get(c).min));
    table.add_to(prefix, "mean_ns", ns("mean"), |c| some(get(c), get(c).mean));
    table.add_to(prefix, "sd_ns", ns("standard deviation (n - 1)"), |c| some(get(c), get(c).sd));
    table.add_to(prefix, "p50_ns", ns("median"), |c| some(get(c), get(c).p50));
    table.add_to(prefix, "p95_ns", ns("95th percentile"), |c| some(get(c), get(c).p95));
    table.add_to(prefix, "p99_ns", ns("99th percentile"), |c| some(get(c), get(c).p99));
    table.add_to(prefix, "max_ns", ns("largest"), |c| some(get(c), get(c).max));
}

/// The meaning of a column of times.
fn held(by: Held) -> &'static str {
    match by {
        Held::Application => "time in which its application had nothing for it to send",
        Held::ReceiveWindow => "time in which the other side's window was full",
        Held::SendBuffer => {
            "time in which a limit of its own that did not grow was full, as a rule its send buffer"
        }
        Held::SlowStart => "time in which its congestion window was full, before any loss",
        Held::AfterLoss => "time in which its congestion window was full, which a loss had lowered",
        Held::IdleRestart => "time in which its congestion window was full, which an idle period had lowered",
        Held::PathRate => "time in which a window was full while a queue stood on the path",
        Held::Recovery => "time in which it repaired losses",
        Held::Timer => "time in which it waited for a retransmission timer",
        Held::Unknown => "time that the packets do not explain",
    }
}
