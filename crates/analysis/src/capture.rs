//! A whole capture at once.

use std::io::Read;

use rexmit_capture::{ReadError, Reader, Record};

use crate::tracker::{Observation, Tracker};
use crate::tsg_rows::Connection;

/// What a capture holds.
#[derive(Debug)]
pub struct Found {
    /// Its TCP connections, in the order of their first packets.
    pub connections: Vec<Connection>,
    /// Packets that cannot be read: other protocols than IP, unknown link layers, malformed headers.
    pub unreadable: u64,
    /// Where and why the file breaks off, if it does; what stands before that is in `connections`.
    pub broken_off: Option<ReadError>,
}

/// Reads a capture to its end. One that breaks off gives what stands before that.
pub fn time_sequence<R: Read>(mut reader: Reader<R>) -> Found {
    let mut tracker = Tracker::new();
    let mut record = Record::default();
    let mut unreadable = 0;
    let broken_off = loop {
        match reader.read_into(&mut record) {
            Ok(true) => {}
            Ok(false) => break None,
            Err(error) => break Some(error),
        }
        match record.packet() {
            Ok(snapped) => tracker.push(&Observation {
                time: record.time,
                interface: record.interface,
                packet: &snapped.packet,
                payload_len: snapped.payload_len,
                note: record.comment.as_deref(),
            }),
            Err(_) => unreadable += 1,
        }
    };
    let mut connections = tracker.finish();
    for connection in &mut connections {
        let interface = reader.interfaces().get(connection.interface as usize);
        connection.interface_name = interface.and_then(|interface| interface.name.clone());
    }
    Found { connections, unreadable, broken_off }
}

#[cfg(test)]
mod tests;
