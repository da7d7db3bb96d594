//! What a capture of SCTP holds, each packet joined with its rows of the truth.

use std::collections::HashMap;

use rexmit_capture::{DEFAULT_EPOCH_NS, Reader};
use rexmit_network::HostId;
use rexmit_network::two_hosts::by_host;
use rexmit_units::Instant;
use rexmit_wire::{Transport, sctp};

use crate::lab::Ran;

/// A packet of a capture.
pub struct Sighting {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Virtual time.
    pub time: Instant,
    /// Who sent it.
    pub host: HostId,
    /// Its rows of the truth: one for each DATA chunk, or one.
    pub rows: Vec<usize>,
    /// The path made it: the same transmission was seen before.
    pub copy: bool,
    pub damaged: bool,
    /// One past the highest TSN of its sender that this capture held before it.
    pub high: i64,
    pub packet: sctp::Packet,
}

/// The packets of a capture in order. The runs have one association, of fewer packets than identifications.
pub fn view(ran: &Ran, capture: &[u8]) -> Vec<Sighting> {
    let mut sent: HashMap<(HostId, u16), Vec<usize>> = HashMap::new();
    for (i, row) in ran.rows().iter().enumerate() {
        assert_eq!(row.connection.number(), 0, "{}: one association", ran.name);
        assert!(row.position < 65_000, "{}: too many packets", ran.name);
        sent.entry((row.host, row.ident)).or_default().push(i);
    }
    let mut seen = vec![false; ran.rows().len()];
    let mut highest = by_host(|_| 0_i64);
    let reader = Reader::new(capture).expect("a capture of ours");
    (1..)
        .zip(reader)
        .map(|(number, record)| {
            let record = record.expect("a whole capture");
            let time = Instant::from_nanos(record.time.as_nanos() - DEFAULT_EPOCH_NS);
            let packet = record.packet().expect("a packet of ours").packet;
            let host = ran.host_of(packet.src);
            let rows = sent.get(&(host, packet.ip.ident)).cloned();
            let rows = rows.unwrap_or_else(|| panic!("{}: nobody sent packet {number}", ran.name));
            let copy = std::mem::replace(&mut seen[rows[0]], true);
            let high = highest[host];
            for row in rows.iter().map(|i| &ran.rows()[*i]).filter(|r| r.chunk.is_some() && !packet.damaged) {
                highest[host] = highest[host].max(row.end());
            }
            let damaged = packet.damaged;
            Sighting { number, time, host, rows, copy, damaged, high, packet: chunks(&packet.transport) }
        })
        .collect()
}

fn chunks(transport: &Transport) -> sctp::Packet {
    let Transport::Other { payload, .. } = transport else { panic!("SCTP alone is sent") };
    sctp::Packet::parse(&payload.bytes()).expect("a packet of ours")
}
