//! The tables of runs: how rows become columns, each described once.
//!
//! A row of a run is described where it is made ([`Row`], [`IntervalRow`](crate::IntervalRow),
//! [`MessageRow`](crate::MessageRow), [`RetransmissionRow`](crate::RetransmissionRow), [`ProgramRow`](crate::ProgramRow)); the tables of a single run
//! ([`states`], [`verdicts`], [`messages_of_run`]) are described here.

use rexmit_tables::{Block, Table, TableRow, bytes, ns, plain, table};

use rexmit_network::ConnectionId;
use rexmit_network::Network;
use rexmit_stack::Hold;

use crate::{Message, Row, StateRow, VerdictRow};

/// A row and the number of its run.
struct Numbered<'a, R> {
    run: u32,
    row: &'a R,
}

/// The table `runs`: runs numbered from `first`, this many `replications` of each combination of levels.
pub fn runs(first: u64, replications: u64, rows: &[Row]) -> Table {
    let numbered: Vec<_> = (first..).zip(rows).collect();
    table("runs", &numbered, |t: &mut Block<'_, (u64, &Row)>| {
        t.add("run", RUN, |(run, _)| *run as u32);
        t.add("replication", "number among the runs with the same levels, from 0", |(run, _)| {
            (run % replications.max(1)) as u32
        });
        Row::columns(t, |(_, row)| row);
    })
}

/// The tables of which runs numbered from `first` have several rows: `intervals`, `retransmissions`, `messages`,
/// `programs`, `transfers`, `links`, and the last two over time.
pub fn details(first: u64, rows: &[Row]) -> [Table; 8] {
    [
        detail("intervals", first, rows, |row| &row.intervals),
        detail("retransmissions", first, rows, |row| &row.retransmissions),
        detail("messages", first, rows, |row| &row.messages),
        detail("programs", first, rows, |row| &row.programs),
        detail("transfers", first, rows, |row| &row.transfers),
        detail("links", first, rows, |row| &row.links),
        detail("transfers_over_time", first, rows, |row| &row.transfers_over_time),
        detail("links_over_time", first, rows, |row| &row.links_over_time),
    ]
}

fn detail<R: TableRow>(name: &'static str, first: u64, rows: &[Row], get: fn(&Row) -> &Vec<R>) -> Table {
    let of_run = |(run, row)| get(row).iter().map(move |row| Numbered { run: run as u32, row });
    let all: Vec<_> = (first..).zip(rows).flat_map(of_run).collect();
    table(name, &all, |t: &mut Block<'_, Numbered<'_, R>>| {
        t.add("run", RUN, |r| r.run);
        R::columns(t, |r| r.row);
    })
}

const RUN: &str = "number of the run in the design, from 0";
const CONNECTION: &str = "number of the connection, from 0";

/// The table `state`: states of the hosts over time.
pub fn states(rows: &[StateRow], of: &Network) -> Table {
    table("state", rows, |t: &mut Block<'_, StateRow>| {
        let untold = "its kernel or library does not report it";
        t.add("time_ns", ns("time since the start of the run"), |r| r.time);
        t.add("host", "server or client: whose state it is", |r| of.host_name(r.host).as_ref());
        t.add("connection", CONNECTION, |r| r.connection.number());
        t.add("state", "of the connection, as RFC 9293 or RFC 9260 calls it, such as ESTABLISHED", |r| {
            r.state.state
        });
        t.add(
            "phase",
            "of the recovery: open, disorder, cwr (a mark of ECN lowers the window), recovery or loss",
            |r| r.state.phase,
        );
        t.add("cwnd", bytes("congestion window"), |r| r.state.cwnd);
        t.add(
            "ssthresh",
            bytes("slow-start threshold")
                .or_null("it is unlimited, or its kernel or library does not report it"),
            |r| r.state.ssthresh,
        );
        t.add("in_flight", bytes("bytes sent and not acknowledged cumulatively").or_null(untold), |r| {
            r.state.in_flight
        });
        t.add("snd_wnd", bytes("window that the peer allows"), |r| r.state.snd_wnd);
        t.add("send_queue", bytes("bytes in the send buffer, sent or not"), |r| r.state.send_queue);
        t.add("recv_queue", bytes("bytes in order that the application has not read").or_null(untold), |r| {
            r.state.recv_queue
        });
        t.add("srtt_ns", ns("smoothed round-trip time").or_null("nothing was timed yet"), |r| r.state.srtt);
        t.add("rttvar_ns", ns("its variation").or_null("nothing was timed yet"), |r| r.state.rttvar);
        t.add("rto_ns", ns("retransmission timeout as it would be set now").or_null(untold), |r| r.state.rto);
        t.add("retransmits", "segments with data sent again so far", |r| r.state.counters.retransmits);
        t.add("timeouts", plain("expiries of the retransmission timer so far").or_null(untold), |r| {
            r.state.counters.timeouts
        });
        t.add("fast_retransmits", plain("entries into fast recovery so far").or_null(untold), |r| {
            r.state.counters.fast_retransmits
        });
        let none = "it found none, or the host keeps no cache";
        t.add(
            "cached_ssthresh",
            bytes("slow-start threshold that the connection found in its host's cache, headers included")
                .or_null(none),
            |r| r.state.cached.ssthresh,
        );
        t.add("cached_rtt_ns", ns("smoothed round-trip time that it found there").or_null(none), |r| {
            r.state.cached.rtt
        });
        t.add("cached_cwnd", bytes("congestion window that it found there").or_null(none), |r| {
            r.state.cached.cwnd
        });
        t.add(
            "held_by",
            plain("what keeps it from sending more from then on: application, send-buffer, nagle, receive-window, \
                   congestion-window, recovery or pacing")
                .or_null("only the model of TCP tells, after the handshake"),
            |r| r.state.held.by.map(Hold::name),
        );
        let linux = "only Linux's TCP counts it";
        t.add(
            "busy_ns",
            ns("time so far with data outstanding or waiting (tcpi_busy_time)").or_null(linux),
            |r| r.state.held.busy,
        );
        t.add(
            "rwnd_limited_ns",
            ns("time of that in which the peer's window held it back (tcpi_rwnd_limited)").or_null(linux),
            |r| r.state.held.receive_window,
        );
        t.add(
            "sndbuf_limited_ns",
            ns("time of that in which its send buffer held it back (tcpi_sndbuf_limited)").or_null(linux),
            |r| r.state.held.send_buffer,
        );
    })
}

/// The table `verdicts`: what the path did to each packet.
pub fn verdicts(rows: &[VerdictRow], of: &Network) -> Table {
    table("verdicts", rows, |t: &mut Block<'_, VerdictRow>| {
        t.add("time_ns", ns("when the packet was offered to the path, since the start of the run"), |r| {
            r.row.time
        });
        t.add("direction", "down: server to client; up: client to server", |r| of.link_name(r.link).as_ref());
        t.add("position", "number of the packet in its direction, from 1", |r| r.row.verdict.position);
        t.add("connection", plain(CONNECTION).or_null("it belongs to no connection of the scenario"), |r| {
            r.connection.map(ConnectionId::number)
        });
        t.add("ip_bytes", bytes("length of the IP packet"), |r| u64::from(r.row.packet.ip_len));
        t.add("payload_bytes", bytes("bytes of data in it"), |r| u64::from(r.row.packet.payload));
        t.add("flags", FLAGS, |r| u64::from(r.row.packet.flags.0));
        t.add("seq", "of TCP: sequence number as the packet carries it", |r| u64::from(r.row.packet.seq));
        t.add("ack", "of TCP: acknowledgment number as the packet carries it", |r| {
            u64::from(r.row.packet.ack)
        });
        t.add("dropped", "true where the packet did not pass", |r| r.row.verdict.is_drop());
        t.add(
            "fate",
            "what became of it: delivered, dropped, or undecided where the run ended before",
            |r| r.row.verdict.fate.name(),
        );
        t.add("cause", plain(CAUSE).or_null("it just passed"), |r| {
            r.row.verdict.by().map(rexmit_path::By::name)
        });
        t.add("effects", plain(EFFECTS).or_null("nothing was"), |r| {
            let names: Vec<_> = r.row.verdict.effects.names().collect();
            (!names.is_empty()).then(|| names.join(" "))
        });
        t.add("verdict", "all of that in words, as captures have it in comments", |r| {
            r.row.verdict.to_string()
        });
        t.add(
            "entered_ns",
            ns("when it came into the queue, since the start of the run")
                .or_null("it never did: the queue was full, or it was dropped before it"),
            |r| r.row.stay.map(|stay| stay.entered),
        );
        t.add(
            "left_ns",
            ns("when its last bit was sent, or the queue's management dropped it from the queue")
                .or_null("it never came into the queue, or was still inside at the end"),
            |r| r.row.stay.and_then(|stay| stay.left),
        );
    })
}

const FLAGS: &str =
    "of TCP: the bits of its flags, FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128";
const CAUSE: &str = "what dropped it, or else changed it: pattern, random (loss), queue (full), aqm (the queue's \
                  management) or bucket (longer than the token bucket)";
const EFFECTS: &str = "what else was done to it, space-separated: damaged, duplicated, copy-dropped (duplicated, but \
                       the copy was dropped), delayed, reordered, marked";

/// The table `messages` of a single run: every message of an application.
pub fn messages_of_run(rows: &[Message], of: &Network) -> Table {
    table("messages", rows, |t: &mut Block<'_, Message>| {
        t.add("connection", CONNECTION, |m| m.connection.number());
        t.add("host", "server or client: who sends", |m| of.host_name(m.host).as_ref());
        t.add("number", "number of the message, from 0", |m| m.number);
        t.add("written_ns", ns("when the application wrote it, since the start of the run"), |m| m.written);
        t.add("bytes", bytes("its length"), |m| m.len);
        t.add("delivered_ns", ns("when the other application had read it").or_null("it never had"), |m| {
            m.delivered
        });
    })
}
