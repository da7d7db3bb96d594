//! The tables of SCTP.

use std::fmt;

use rexmit_tables::{Block, Joined, bit_s, bytes, ns, plain, share};

use super::connections::spread;
use crate::rows::Certain;
use crate::sctp::{
    AssociationRow, ChunkRow, ControlRow, PathRow, SctpRetransmissionRow, SctpRttRow, SctpSackRow,
    SctpSideRow, StreamRow, TsnBlock,
};

pub(super) fn associations(table: &mut Block<'_, AssociationRow>) {
    table.add("association", "its number in the capture, from 1", |r| r.association);
    table.add("interface", "number of the interface in the capture", |r| r.interface);
    table.add("start_ns", ns("time of its first packet, since 1970"), |r| r.start);
    table.add("end_ns", ns("time of its last packet, since 1970"), |r| r.end);
    table.add("packets", "packets of both sides, copies included", |r| r.packets);
    table.add("init", "an INIT was seen", |r| r.handshake.init);
    table.add("init_ack", "an INIT-ACK was seen", |r| r.handshake.init_ack);
    table.add("cookie_echo", "a COOKIE-ECHO was seen", |r| r.handshake.cookie_echo);
    table.add("cookie_ack", "a COOKIE-ACK was seen", |r| r.handshake.cookie_ack);
    table.add("shutdown", "a SHUTDOWN was seen", |r| r.handshake.shutdown);
    table.add("shutdown_complete", "a SHUTDOWN-COMPLETE was seen", |r| r.handshake.shutdown_complete);
    table.add("abort", "an ABORT was seen", |r| r.handshake.abort);
    table.add("handshake_init_rtt_ns", ns("time from INIT to INIT-ACK, neither sent twice"), |r| {
        r.handshake.init_rtt
    });
    table.add("handshake_client_rtt_ns", ns("time from INIT-ACK to COOKIE-ECHO"), |r| r.handshake.client_rtt);
    table.add("handshake_cookie_rtt_ns", ns("time from COOKIE-ECHO to COOKIE-ACK"), |r| {
        r.handshake.cookie_rtt
    });
    table.add(
        "vantage_client_share",
        share("share of the round-trip time between the place of the capture and the client"),
        |r| r.client_share,
    );
    side(table, "client_", |r| &r.client);
    side(table, "server_", |r| &r.server);
}

impl fmt::Display for TsnBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

fn side(
    table: &mut Block<'_, AssociationRow>,
    prefix: &str,
    get: for<'r> fn(&'r AssociationRow) -> &'r SctpSideRow,
) {
    macro_rules! add {
        ($($name:literal, $meaning:expr, |$side:ident| $value:expr;)*) => {$(
            table.add_to(prefix, $name, $meaning, |r| { let $side = get(r); $value });
        )*};
    }
    add! {
        "address", "address and port in the first packet", |s| s.address;
        "addresses", "all its addresses, apart by blanks", |s| Joined(&s.addresses);
        "tag", "verification tag of packets to it", |s| s.tag;
        "initial_tsn", "initial TSN as sent, or the first that was seen", |s| s.initial_tsn;
        "initial_tsn_known", "the initial TSN comes from INIT or INIT-ACK", |s| s.initial_tsn_known;
        "outbound_streams", "streams that it asked to send on", |s| s.outbound_streams;
        "inbound_streams", "streams that it accepts", |s| s.inbound_streams;
        "interleaving", "it offered I-DATA (RFC 8260)", |s| s.interleaving;
        "partial_reliability", "it offered FORWARD-TSN (RFC 3758)", |s| s.partial_reliability;
        "packets", "packets that it sent, copies not counted", |s| s.packets;
        "data_packets", "packets with DATA", |s| s.data_packets;
        "chunks", "DATA chunks, retransmissions included", |s| s.chunks;
        "unique_chunks", "DATA chunks, each TSN counted once", |s| s.unique_chunks;
        "messages", "messages: chunks with the end bit, each counted once", |s| s.messages;
        "bytes", bytes("bytes of user data, retransmissions included"), |s| s.bytes;
        "unique_bytes", bytes("bytes of user data, each TSN counted once"), |s| s.unique_bytes;
        "acked_bytes", bytes("bytes delivered for sure: acknowledged"), |s| s.acked_bytes;
        "retransmitted_chunks", "DATA chunks sent again", |s| s.retransmitted_chunks;
        "retransmitted_bytes", bytes("bytes of user data sent again"), |s| s.retransmitted_bytes;
        "reordered_chunks", "DATA chunks that were overtaken on their way here", |s| s.reordered_chunks;
        "copies", "the same packet again: duplicated on the path, or captured twice", |s| s.copies;
        "damaged", "packets that were damaged on the path", |s| s.damaged;
        "cut", "packets that the capture cut through, so that chunks may be missing", |s| s.cut;
        "unseen_chunks", "TSNs that were acknowledged and that the capture does not hold",
            |s| s.unseen_chunks;
        "abandoned_chunks", "TSNs that it gave up by FORWARD-TSN", |s| s.abandoned_chunks;
        "first_data_ns", ns("time of its first DATA, since 1970").or_null("it sent none"), |s| s.first_data;
        "last_data_ns", ns("time of its last DATA, since 1970").or_null("it sent none"), |s| s.last_data;
        "last_acked_ns", ns("time at which its data was last acknowledged further, since 1970")
            .or_null("none was acknowledged"),
            |s| s.last_acked;
        "goodput_bit_s", bit_s("acknowledged bytes, from the first DATA to the last acknowledgment"),
            |s| s.goodput;
        "throughput_bit_s", bit_s("all bytes of data, from the first to the last packet with DATA"),
            |s| s.throughput;
        "max_outstanding", bytes("most bytes outstanding"), |s| s.max_outstanding;
        "cause_fast", "retransmissions of this cause", |s| s.causes.fast;
        "cause_fast_again", "retransmissions of this cause", |s| s.causes.fast_again;
        "cause_timeout", "retransmissions of this cause", |s| s.causes.timeout;
        "cause_after_timeout", "retransmissions of this cause", |s| s.causes.after_timeout;
        "cause_bundled_reported_missing", "retransmissions of this cause", |s| s.causes.bundled_missing;
        "cause_bundled_in_flight", "retransmissions of this cause", |s| s.causes.bundled_in_flight;
        "cause_with_new_data", "retransmissions of this cause", |s| s.causes.with_new;
        "cause_with_cookie", "retransmissions of this cause", |s| s.causes.with_cookie;
        "cause_window_probe", "retransmissions of this cause", |s| s.causes.window_probe;
        "cause_unknown", "retransmissions of this cause", |s| s.causes.unknown;
        "not_needed", "retransmissions that were spurious or unnecessary", |s| s.not_needed;
        "control_retransmissions", "control chunks sent again", |s| s.control_retransmissions;
        "heartbeats", "HEARTBEATs that it sent", |s| s.heartbeats;
        "heartbeat_acks", "HEARTBEAT-ACKs that it sent", |s| s.heartbeat_acks;
        "sacks", "SACKs that it sent", |s| s.sacks;
        "gap_sacks", "SACKs with gap blocks", |s| s.gap_sacks;
        "duplicate_tsns", "duplicate TSNs that its SACKs report", |s| s.duplicate_tsns;
        "reneged", "SACKs that took back a gap block", |s| s.reneged;
        "min_window", bytes("smallest window that it advertised"), |s| s.min_window;
        "max_window", bytes("largest window that it advertised"), |s| s.max_window;
        "zero_windows", "times at which it closed its window", |s| s.zero_windows;
        "zero_window_ns", ns("time for which its window was closed"), |s| s.zero_window_time;
        "packets_per_sack", plain("packets with DATA of the other side for each SACK")
            .or_null("it sent no SACK"),
            |s| s.packets_per_sack;
    }
    spread(table, &format!("{prefix}rtt_"), |r| &get(r).rtt);
    spread(table, &format!("{prefix}rtt_heartbeat_"), |r| &get(r).rtt_heartbeat);
    spread(table, &format!("{prefix}sack_delay_"), |r| &get(r).sack_delay);
}

pub(super) fn paths(table: &mut Block<'_, PathRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent on it", |r| r.side);
    table.add("src", "from", |r| r.src);
    table.add("dst", "to", |r| r.dst);
    table.add("start_ns", ns("time of the first packet, since 1970"), |r| r.start);
    table.add("end_ns", ns("time of the last packet, since 1970"), |r| r.end);
    table.add("packets", "packets, copies not counted", |r| r.packets);
    table.add("chunks", "DATA chunks, retransmissions included", |r| r.chunks);
    table.add("bytes", bytes("bytes of user data, retransmissions included"), |r| r.bytes);
    table.add("retransmitted_chunks", "DATA chunks sent again on this path", |r| r.retransmitted_chunks);
    table.add("retransmitted_bytes", bytes("bytes of them"), |r| r.retransmitted_bytes);
    table.add("moved_chunks", "of these, chunks that had taken another path before", |r| r.moved_chunks);
    table.add("timeouts", "timeouts of DATA on this path", |r| r.timeouts);
    table.add("heartbeats", "HEARTBEATs", |r| r.heartbeats);
    table.add("heartbeats_answered", "HEARTBEATs that were answered", |r| r.heartbeats_answered);
    spread(table, "rtt_", |r| &r.rtt);
    spread(table, "rtt_heartbeat_", |r| &r.rtt_heartbeat);
}

pub(super) fn streams(table: &mut Block<'_, StreamRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent on it", |r| r.side);
    table.add("stream", "stream identifier", |r| r.stream);
    table.add("chunks", "DATA chunks, retransmissions included", |r| r.chunks);
    table.add("unique_chunks", "DATA chunks, each TSN counted once", |r| r.unique_chunks);
    table.add("messages", "messages, each counted once", |r| r.messages);
    table.add("unordered", "of these, unordered ones", |r| r.unordered);
    table.add("unique_bytes", bytes("bytes of user data, each TSN counted once"), |r| r.unique_bytes);
}

pub(super) fn chunks(table: &mut Block<'_, ChunkRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent it", |r| r.side);
    table.add("number", "number of the packet in the capture, from 1", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("src", "from", |r| r.src);
    table.add("dst", "to", |r| r.dst);
    table.add("tsn", "TSN, 0 for the initial one", |r| r.tsn);
    table.add("stream", "stream identifier", |r| r.stream);
    table.add("message", "stream sequence number of DATA, message identifier of I-DATA", |r| r.message);
    table.add("begin", "it begins a message", |r| r.begin);
    table.add("end", "it ends a message", |r| r.end);
    table.add("unordered", "it is delivered without order", |r| r.unordered);
    table.add("interleaved", "it is I-DATA", |r| r.interleaved);
    table.add("len", bytes("bytes of user data"), |r| r.len);
    table.add("kind", "what it is", |r| r.kind);
    table.add("transmission", "how often this TSN has been sent, this time included", |r| r.transmission);
    table
        .add("outstanding", bytes("bytes of its side that are not acknowledged after it"), |r| r.outstanding);
}

pub(super) fn sacks(table: &mut Block<'_, SctpSackRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent it", |r| r.side);
    table.add("number", "number of the packet in the capture, from 1", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("cumulative", "cumulative TSN, 0 for the initial one of the other side", |r| r.cumulative);
    table.add("gaps", "gap ack blocks as FIRST-LAST, apart by blanks", |r| Joined(&r.gaps));
    table.add("duplicates", "TSNs that arrived again, apart by blanks", |r| Joined(&r.duplicates));
    table.add("window", bytes("window that it advertises"), |r| r.window);
}

pub(super) fn retransmissions(table: &mut Block<'_, SctpRetransmissionRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent it", |r| r.side);
    table.add("number", "number of the packet in the capture", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("src", "from", |r| r.src);
    table.add("dst", "to", |r| r.dst);
    table.add("tsn", "TSN, 0 for the initial one", |r| r.tsn);
    table.add("stream", "stream identifier", |r| r.stream);
    table.add("len", bytes("bytes of user data"), |r| r.len);
    table.add("position", "its place among the retransmitted chunks of its packet, from 0", |r| r.position);
    table.add("retransmission", "number of the retransmission of this TSN, from 1", |r| r.retransmission);
    table.add(
        "first_number",
        plain("number of the packet that first carried it").or_null("the capture does not hold it"),
        |r| r.first_number,
    );
    table.add(
        "delay_first_ns",
        ns("time since its first transmission (cumulative delay)").or_null("the capture does not hold it"),
        |r| r.delay_first,
    );
    table.add(
        "delay_previous_ns",
        ns("time since the transmission before (consecutive delay)").or_null("the capture does not hold it"),
        |r| r.delay_previous,
    );
    table.add("class", "what sctp_trace calls it (pedersen-2006)", |r| r.class);
    table.add("class_reports", "the missing reports that sctp_trace counts", |r| r.class_reports);
    table.add("cause", "what made the sender send it", |r| r.cause);
    table.add("confidence", "how sure that is", |r| r.confidence);
    table.add("excluded", "where it is certain, what excludes each other reading", |r| {
        r.certain.as_ref().map(Certain::words)
    });
    table.add("need", "whether it was needed; one capture says `needed` where nothing disproves it", |r| {
        r.need
    });
    table.add("proof", "what proves that it was not", |r| r.proof);
    table.add("moved", "it took another path than the transmission before", |r| r.moved);
    table.add("reports", "SACKs with gap blocks above it since it was last sent", |r| r.evidence.reports);
    table.add("strikes", "of these, those that acknowledged something above it for the first time", |r| {
        r.evidence.strikes
    });
    table.add("outstanding", bytes("bytes outstanding when it was sent"), |r| r.evidence.outstanding);
    table.add("since_sack_ns", ns("time since the sender last saw a SACK"), |r| r.evidence.since_sack);
    table.add("since_timer_ns", ns("time since T3 was last started"), |r| r.evidence.since_timer);
    table.add("rto_ns", ns("retransmission timeout as estimated then, before doubling"), |r| r.evidence.rto);
    table.add("backoff", "expiries of the timer in a row, 0 where no timer did it", |r| r.evidence.backoff);
    table.add("sender_loop_ns", ns("time from here to the sender and back"), |r| r.evidence.sender_loop);
    table.add("window", bytes("the window that the other side had last advertised"), |r| r.evidence.window);
}

pub(super) fn controls(table: &mut Block<'_, ControlRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent it", |r| r.side);
    table.add("number", "number of the packet in the capture", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("src", "from", |r| r.src);
    table.add("dst", "to", |r| r.dst);
    table.add("chunk", "which chunk", |r| r.chunk);
    table.add("retransmission", "number of the retransmission, from 1", |r| r.retransmission);
    table.add(
        "delay_first_ns",
        ns("time since its first transmission").or_null("the capture does not hold it"),
        |r| r.delay_first,
    );
    table.add(
        "delay_previous_ns",
        ns("time since the transmission before").or_null("the capture does not hold it"),
        |r| r.delay_previous,
    );
}

pub(super) fn rtt(table: &mut Block<'_, SctpRttRow>) {
    table.add("association", "number of the association", |r| r.association);
    table.add("side", "who sent the chunk", |r| r.side);
    table.add("number", "number of the packet that ends it", |r| r.number);
    table.add("time_ns", ns("when it ended, since 1970"), |r| r.time);
    table.add("rtt_ns", ns("its length"), |r| r.rtt);
    table.add("method", "how it was taken", |r| r.method);
    table.add("dst", "where the chunk went", |r| r.dst);
    table.add("tsn", "the timed TSN", |r| r.tsn);
}
