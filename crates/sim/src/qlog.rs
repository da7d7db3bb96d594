//! Logs that QUIC stacks write of their connections (qlog), in files beside the captures: a JSON text sequence (RFC 7464) for
//! each end.
//!
//! What a stack logs is kept as it is except for the times of its events: stacks count them from the first packet of a
//! connection, some in whole milliseconds, and here they are those of the run.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use rexmit_files::Whole;
use rexmit_network::{ByHost, EndId};
use rexmit_units::Instant;

/// What begins a record (RFC 7464 section 2.1).
const SEPARATOR: u8 = 0x1e;
/// How a record of an event begins; that of the file's head begins differently.
const EVENT: &[u8] = b"{\"time\":";

/// The files of a run. One is there once its end has logged something.
#[derive(Debug)]
pub(crate) struct Qlogs {
    /// By host, how their names begin.
    places: ByHost<Option<PathBuf>>,
    files: HashMap<EndId, BufWriter<Whole>>,
}

impl Qlogs {
    pub fn new(places: ByHost<Option<PathBuf>>) -> Self {
        Self { places, files: HashMap::new() }
    }

    /// Writes records that an end has logged at `now`.
    pub fn write(&mut self, end: EndId, now: Instant, records: &[u8]) -> io::Result<()> {
        let Some(Some(place)) = self.places.get(end.host) else { return Ok(()) };
        let file = match self.files.entry(end) {
            std::collections::hash_map::Entry::Occupied(entry) => entry.into_mut(),
            std::collections::hash_map::Entry::Vacant(entry) => {
                let mut name = OsString::from(place);
                name.push(format!("-{}.sqlog", end.connection.number()));
                entry.insert(BufWriter::new(Whole::create(name.as_ref())?))
            }
        };
        at_time(file, now, records)
    }

    /// Gives the files their names.
    pub fn finish(self) -> io::Result<()> {
        for file in self.files.into_values() {
            file.into_inner().map_err(io::IntoInnerError::into_error)?.keep()?;
        }
        Ok(())
    }
}

/// Writes records, whose events get this time: milliseconds since the run began.
fn at_time(out: &mut impl Write, now: Instant, records: &[u8]) -> io::Result<()> {
    let nanos = now.as_nanos();
    for (n, record) in records.split(|byte| *byte == SEPARATOR).enumerate() {
        if n > 0 {
            out.write_all(&[SEPARATOR])?;
        }
        let event = record.strip_prefix(EVENT).and_then(|rest| {
            let end = rest.iter().position(|byte| *byte == b',')?;
            Some(&rest[end..])
        });
        match event {
            Some(rest) => {
                out.write_all(EVENT)?;
                write!(out, "{}.{:06}", nanos / 1_000_000, nanos % 1_000_000)?;
                out.write_all(rest)?;
            }
            None => out.write_all(record)?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_get_the_time_of_the_run_and_nothing_else_changes() {
        let head = "\u{1e}{\"qlog_format\":\"JSON-SEQ\",\"time\":1}\n";
        let event = |time: &str| {
            format!("\u{1e}{{\"time\":{time},\"name\":\"transport:packet_sent\",\"data\":{{\"time\":5}}}}\n")
        };
        let logged = [head.to_string(), event("3"), event("3.125e1")].concat();
        let mut out = Vec::new();
        at_time(&mut out, Instant::from_nanos(2_052_092_800), logged.as_bytes()).unwrap();
        let expected = [head.to_string(), event("2052.092800"), event("2052.092800")].concat();
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
