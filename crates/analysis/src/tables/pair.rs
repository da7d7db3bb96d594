//! The tables of two captures of the same flows.

use rexmit_tables::{Block, bytes, ns, plain};

use super::connections::spread;
use super::tcp::judged;
use crate::pair::{CrossingRow, PairRetransmissionRow, PairSummary};

pub(super) fn pairs(table: &mut Block<'_, PairSummary>) {
    table.add("pair", "number of the pair of connections, from 1", |r| r.pair);
    table.add("connection_a", "number of the connection in the first capture", |r| r.connection_a);
    table.add("connection_b", "number of the connection in the second capture", |r| r.connection_b);
    table.add("translated", "the captures show different addresses", |r| r.translated);
    table.add("side", "who sent the packets of this row", |r| r.side);
    table.add("near_sender", "the capture that sees these packets first", |r| r.near_sender);
    table.add("near_by", "how that is known", |r| r.near_by);
    table.add(
        "packets",
        "packets that the capture near the sender holds, a super-packet as its segments",
        |r| r.packets,
    );
    table.add("arrived", "of these, those that arrived at the other capture undamaged", |r| r.arrived);
    table.add("lost", "packets lost between the captures", |r| r.lost);
    table.add("damaged", "packets that arrived damaged", |r| r.damaged);
    table.add("not_comparable", "packets of which it cannot be said", |r| r.not_comparable);
    table.add("not_sent", "packets that only the capture near the receiver holds", |r| r.not_sent);
    table.add("duplicated", "copies that the network made", |r| r.duplicated);
    table.add("reordered", "arrivals that a packet sent later overtook", |r| r.reordered);
    table.add("loss_rate", "lost and damaged packets for each that can be compared", |r| r.loss_rate);
    spread(table, "delay_", |r| &r.delay);
    table.add("lost_before", "retransmissions of what was lost before the capture near the sender", |r| {
        r.lost_before
    });
    table.add("lost_between", "retransmissions of what was lost between the captures", |r| r.lost_between);
    table.add("lost_after", "retransmissions of what was lost after the capture near the receiver", |r| {
        r.lost_after
    });
    table.add("spurious", "retransmissions of what had arrived, or was on its way", |r| r.spurious);
}

pub(super) fn retransmissions(table: &mut Block<'_, PairRetransmissionRow>) {
    table.add("pair", "number of the pair of connections", |r| r.pair);
    table.add("seen_at", "the capture whose numbers and times these are", |r| r.seen_at);
    table.add(
        "number_received",
        plain("its number in the other capture, where it arrived").or_null("it did not arrive"),
        |r| r.number_received,
    );
    table.add(
        "time_received_ns",
        ns("when it arrived there, by the first capture's clock").or_null("it did not arrive"),
        |r| r.time_received,
    );
    table.add("lost_at", "where earlier transmissions of it were lost", |r| r.lost_at);
    judged(table, |r| &r.judged);
}

pub(super) fn crossings(table: &mut Block<'_, CrossingRow>) {
    table.add("pair", "number of the pair of connections", |r| r.pair);
    table.add("side", "who sent it", |r| r.side);
    table.add("number_sent", "its number in the capture near its sender", |r| r.number_sent);
    table.add(
        "number_received",
        plain("its number in the other capture").or_null("it did not arrive"),
        |r| r.number_received,
    );
    table.add("time_sent_ns", ns("when the capture near its sender saw it, since 1970"), |r| r.time_sent);
    table.add(
        "time_received_ns",
        ns("when the other one did, by the first one's clock").or_null("it did not arrive"),
        |r| r.time_received,
    );
    table.add("delay_ns", ns("time between these"), |r| r.delay);
    table.add("seq", "first sequence number, 0 for the SYN", |r| r.seq);
    table.add("len", bytes("bytes of data"), |r| r.len);
    table.add("fate", "what became of it", |r| r.fate);
    table.add("duplicate", "it had arrived already", |r| r.duplicate);
    table.add("reordered", "a packet that was sent later arrived before it", |r| r.reordered);
}
