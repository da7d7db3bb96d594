//! What a capture holds, each packet joined with its row of the truth.

use rexmit_capture::{DEFAULT_EPOCH_NS, Reader};
use rexmit_units::Instant;
use rexmit_wire::{Payload, TcpSegment};

use super::Ran;

/// A packet of a capture.
pub struct Sighting {
    /// Its number in the capture, from 1.
    pub number: u64,
    /// Virtual time.
    pub time: Instant,
    /// Who sent it: 0 for the server.
    pub host: usize,
    pub connection: u32,
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
    let mut highest = std::collections::HashMap::new();
    let reader = Reader::new(capture).expect("a capture of ours");
    for (record, number) in reader.zip(1..) {
        let record = record.expect("a whole capture");
        let time = Instant::from_nanos(record.time.as_nanos() - DEFAULT_EPOCH_NS);
        let packet = record.packet().expect("a packet of ours").packet;
        let host = ran.host_of(packet.src);
        let mut segment = packet.tcp().expect("TCP alone is sent").clone();
        segment.payload = Payload::EMPTY;
        let connection = u32::from(segment.src_port.max(segment.dst_port)) - 10_000;
        let row = ran.row_of(host, connection, packet.ip.ident, time);
        let row = row.unwrap_or_else(|| panic!("{}: nobody sent packet {number}", ran.name));
        let truth = &ran.rows()[row];
        let high = highest.entry((host, connection)).or_insert(i64::MIN);
        let visible = truth.seq < *high;
        if truth.end() > truth.seq && !packet.damaged {
            *high = (*high).max(truth.end());
        }
        let copy = std::mem::replace(&mut seen[row], true);
        let damaged = packet.damaged;
        sightings.push(Sighting { number, time, host, connection, row, copy, visible, damaged, segment });
    }
    sightings
}
