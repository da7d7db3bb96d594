//! The tables of TCP that have one row per packet, sample or event.

use rexmit_tables::{Block, bytes, ns, plain};

use crate::rows::{Certain, HeldRow, LossEventRow, RetransmissionRow, RttRow, SackRow, SegmentRow};

pub(super) fn segments(table: &mut Block<'_, SegmentRow>) {
    table.add("connection", "number of the connection", |r| r.connection);
    table.add("side", "who sent it", |r| r.side);
    table.add("number", "number of the packet in the capture, from 1", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("seq", "first sequence number, 0 for the SYN", |r| r.seq);
    table.add("end", "one past the last sequence number, SYN and FIN counted", |r| r.end);
    table.add("len", bytes("bytes of data"), |r| r.len);
    table.add("flags", "control bits: FIN 1, SYN 2, RST 4, PSH 8, ACK 16, URG 32, ECE 64, CWR 128", |r| {
        r.flags.0
    });
    table.add("kind", "what its data are", |r| r.kind);
    table.add("transmission", "how often its most repeated byte has been sent, this time included", |r| {
        r.transmission
    });
    table
        .add("outstanding", bytes("bytes of its side that are not acknowledged after it"), |r| r.outstanding);
    table.add(
        "ack",
        plain("acknowledgment number, relative to the other side's initial one")
            .or_null("it acknowledges nothing"),
        |r| r.ack,
    );
    table.add("window", bytes("bytes that it offers as the window, scaled"), |r| r.window);
    table.add("duplicate", "0, or its number among duplicate acknowledgments in a row", |r| r.duplicate);
    table.add("urgent", "the urgent pointer field where URG is not set", |r| r.urgent);
    table.add("damaged", "its checksum says that the path damaged it", |r| r.damaged);
    table.add("note", plain("comment of the capture").or_null("it has none"), |r| r.note.as_deref());
}

pub(super) fn sacks(table: &mut Block<'_, SackRow>) {
    table.add("connection", "number of the connection", |r| r.connection);
    table.add("side", "who sent the block; its data are the other side's", |r| r.side);
    table.add("number", "number of the packet in the capture", |r| r.number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| r.time);
    table.add("left", "first sequence number", |r| r.left);
    table.add("right", "one past the last sequence number", |r| r.right);
    table.add("duplicate", "it reports a duplicate (RFC 2883)", |r| r.duplicate);
}

pub(super) fn retransmissions(table: &mut Block<'_, RetransmissionRow>) {
    judged(table, |r| r);
}

/// The columns of a judged retransmission, which `get` finds in a row.
pub(super) fn judged<R>(table: &mut Block<'_, R>, get: impl Fn(&R) -> &RetransmissionRow + Copy) {
    table.add("connection", "number of the connection", |r| get(r).connection);
    table.add("side", "who sent it", |r| get(r).side);
    table.add("number", "number of the packet in the capture", |r| get(r).number);
    table.add("time_ns", ns("when it was seen, since 1970"), |r| get(r).time);
    table.add("seq", "first sequence number, 0 for the SYN", |r| get(r).seq);
    table.add("end", "one past the last sequence number, SYN and FIN counted", |r| get(r).end);
    table.add("len", bytes("bytes of data"), |r| get(r).len);
    table.add("transmission", "2 for the first retransmission of its most repeated byte", |r| {
        get(r).transmission
    });
    table.add(
        "first_number",
        plain("number of the packet that first carried its first byte")
            .or_null("the capture does not hold it"),
        |r| get(r).first_number,
    );
    table.add(
        "delay_first_ns",
        ns("time since its first transmission (cumulative delay)").or_null("the capture does not hold it"),
        |r| get(r).delay_first,
    );
    table.add(
        "delay_previous_ns",
        ns("time since the transmission before (consecutive delay)").or_null("the capture does not hold it"),
        |r| get(r).delay_previous,
    );
    table.add("cause", "what made the sender send it", |r| get(r).cause);
    table.add("confidence", "how sure that is", |r| get(r).confidence);
    table.add(
        "excluded",
        plain("what excludes each other reading").or_null("the cause is not certain"),
        |r| get(r).certain.as_ref().map(Certain::words),
    );
    table.add("need", "whether it was needed; one capture says `needed` where nothing disproves it", |r| {
        get(r).need
    });
    table.add("proof", "what proves that it was not", |r| get(r).proof);
    table.add("duplicates", "duplicate acknowledgments in a row that the sender had seen", |r| {
        get(r).evidence.duplicates
    });
    table.add("sacked", "segments above it that the sender had seen reported by SACK", |r| {
        get(r).evidence.sacked
    });
    table.add("outstanding", bytes("bytes outstanding when it was sent"), |r| get(r).evidence.outstanding);
    table.add("since_ack_ns", ns("time since the sender last saw an acknowledgment"), |r| {
        get(r).evidence.since_ack
    });
    table.add("since_sent_ns", ns("time since the sender last sent data"), |r| get(r).evidence.since_sent);
    table.add("rto_ns", ns("retransmission timeout as estimated then"), |r| get(r).evidence.rto);
    table.add("backoff", "expiries of the timer in a row, 0 where no timer did it", |r| {
        get(r).evidence.backoff
    });
    table
        .add("recover", "highest sequence number sent when this recovery began", |r| get(r).evidence.recover);
}

pub(super) fn rtt(table: &mut Block<'_, RttRow>) {
    table.add("connection", "number of the connection or association", |r| r.connection);
    table.add("side", "who sent the data", |r| r.side);
    table.add("number", "number of the packet that ends it", |r| r.number);
    table.add("time_ns", ns("when it ended, since 1970"), |r| r.time);
    table.add("rtt_ns", ns("its length"), |r| r.rtt);
    table.add("method", "how it was taken", |r| r.method);
    table.add("end", "one past the last sequence number of the timed segment", |r| r.end);
}

pub(super) fn loss_events(table: &mut Block<'_, LossEventRow>) {
    table.add("connection", "number of the connection", |r| r.connection);
    table.add("side", "whose data were lost", |r| r.side);
    table.add("number", "number of the first retransmission in the capture", |r| r.number);
    table.add("time_ns", ns("when the first lost segment was first sent, since 1970"), |r| r.time);
    table.add("seq", "first lost sequence number", |r| r.seq);
    table.add("lost", "segments lost", |r| r.lost);
    table.add("rtt_ns", ns("the RTT that was taken for it"), |r| r.rtt);
    table.add("interval", "segments sent since the last loss event, this one's first included", |r| {
        r.interval
    });
    table.add("timeout", "a timeout was among the causes of its retransmissions", |r| r.timeout);
}

pub(super) fn held(table: &mut Block<'_, HeldRow>) {
    table.add("connection", "number of the connection", |r| r.connection);
    table.add("side", "who was held back", |r| r.side);
    table.add("start_ns", ns("from when, since 1970"), |r| r.start);
    table.add("end_ns", ns("until when, since 1970"), |r| r.end);
    table.add("by", "what kept it from sending its next data", |r| r.by);
    table.add("confidence", "how sure that is", |r| r.confidence);
    table.add("bytes", bytes("bytes of data that it sent in that time"), |r| r.bytes);
    table.add("first_number", "number of the packet with data before it", |r| r.first_number);
    table.add("last_number", "number of the packet with data that ended it", |r| r.last_number);
}
