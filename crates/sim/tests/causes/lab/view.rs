//! What a capture holds, each packet joined with its row of the truth.

use std::collections::HashMap;
use std::net::IpAddr;

use rexmit_capture::{DEFAULT_EPOCH_NS, Reader};
use rexmit_network::{ConnectionId, HostId};
use rexmit_units::Instant;
use rexmit_wire::{Packet, Payload, TcpSegment};

use super::Ran;

/// A packet of a capture.
pub struct Sighting {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Virtual time.
    pub time: Instant,
    /// Who sent it.
    pub host: HostId,
    pub connection: ConnectionId,
    /// Its row of the truth.
    pub row: usize,
    /// The path made it: the same transmission was seen before.
    pub copy: bool,
    /// An analysis of this capture can know that this was sent before: it repeats something seen here, or fills a
    /// gap below something seen here.
    pub visible: bool,
    pub damaged: bool,
    /// Without its data.
    pub segment: TcpSegment,
}

/// The packets of a capture in order.
pub fn view(ran: &Ran, capture: &[u8]) -> Vec<Sighting> {
    let mut sightings = Vec::new();
    let mut seen = vec![false; ran.rows().len()];
    // By host and connection: one past the highest sequence number seen.
    let mut highest = HashMap::new();
    for (number, seen_at, packet) in packets(capture) {
        let host = ran.host_of(packet.src);
        let segment = without_data(&packet);
        let connection = connection_of(&segment);
        let row = match packet.src {
            IpAddr::V4(_) => ran.row_of((host, connection), packet.ip.ident, seen_at),
            IpAddr::V6(_) => ran.row_like(host, &packet, seen_at, &seen),
        };
        let row = row.unwrap_or_else(|| panic!("{}: nobody sent packet {number}", ran.name));
        let truth = &ran.rows()[row];
        let high = highest.entry((host, connection)).or_insert(i64::MIN);
        let visible = truth.seq < *high;
        if truth.end() > truth.seq && !packet.damaged {
            *high = (*high).max(truth.end());
        }
        let copy = std::mem::replace(&mut seen[row], true);
        let damaged = packet.damaged;
        sightings.push(Sighting {
            number,
            time: seen_at,
            host,
            connection,
            row,
            copy,
            visible,
            damaged,
            segment,
        });
    }
    sightings
}

/// The packets of a capture, each with its number and virtual time.
pub fn packets(capture: &[u8]) -> impl Iterator<Item = (u64, Instant, Packet)> {
    let reader = Reader::new(capture).expect("a capture of ours");
    (1..).zip(reader).map(|(number, record)| {
        let record = record.expect("a whole capture");
        let time = Instant::from_nanos(record.time.as_nanos() - DEFAULT_EPOCH_NS);
        (number, time, record.packet().expect("a packet of ours").packet)
    })
}

/// The segment of a packet without its data.
pub fn without_data(packet: &Packet) -> TcpSegment {
    let segment = packet.tcp().expect("TCP alone is sent").clone();
    TcpSegment { payload: Payload::EMPTY, ..segment }
}

/// The connection that a segment is of.
pub fn connection_of(segment: &TcpSegment) -> ConnectionId {
    ConnectionId::new(u32::from(segment.src_port.max(segment.dst_port)) - 10_000)
}
