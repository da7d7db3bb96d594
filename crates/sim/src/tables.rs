//! The tables of runs: those of every backend, and what a model alone knows.

use rexmit_network::Network;
use rexmit_tables::{Block, Table, bytes, ns, plain, table};

pub use rexmit_scenario::tables::*;

use crate::truth::TransmissionRow;

/// The table `transmissions`: every packet that a TCP sent and every DATA chunk of an SCTP, and why.
pub fn transmissions(rows: &[TransmissionRow], of: &Network) -> Table {
    table("transmissions", rows, |t: &mut Block<'_, TransmissionRow>| {
        t.add("time_ns", ns("when it was sent, since the start of the run"), |r| r.time);
        t.add("host", "server or client: who sent it", |r| of.host_name(r.host).as_ref());
        t.add("connection", "number of the connection, from 0", |r| r.connection.number());
        t.add("position", "number of the packet in its direction, from 1", |r| r.position);
        t.add(
            "ident",
            "IP identification: number of the packet in its connection and direction, its low 16 bits",
            |r| u32::from(r.ident),
        );
        t.add(
            "seq",
            "first sequence number, from the SYN, which is 0; of a chunk its TSN, from the initial one",
            |r| r.seq,
        );
        t.add(
            "chunk",
            plain("of SCTP: place among the DATA chunks of its packet, from 0").or_null("of TCP"),
            |r| r.chunk,
        );
        t.add("payload_bytes", bytes("bytes of data"), |r| r.len);
        t.add("flags", "of TCP: the bits of its flags, as in verdicts", |r| u32::from(r.flags.0));
        t.add("reason", "why it was sent: new, timeout, fast, tail-probe, sack-recovery and others", |r| {
            r.reason.name()
        });
        t.add("backoff", "of a timeout, SYN or SYN-ACK: expiries of the timer in a row", |r| {
            r.reason.backoff()
        });
        t.add(
            "duplicates",
            "of a fast retransmit: duplicate acknowledgments in a row, or missing reports",
            |r| r.reason.duplicates(),
        );
        t.add(
            "transmission",
            "how often its most repeated byte had been sent, this time included: 1 is new",
            |r| r.transmission,
        );
        t.add(
            "earlier",
            "what became of earlier copies: none (it is the first), lost, on-its-way, there",
            |r| r.earlier.name(),
        );
        t.add("arrived_ns", ns("when it arrived first").or_null("it did not"), |r| r.arrived);
    })
}
