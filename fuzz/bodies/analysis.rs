//! Bytes as a capture that is analysed: no input panics, every record is judged or counted as skipped, and none causes
//! more work than its packets grant. What held a side back adds up.

use rexmit_analysis::limits;
use std::collections::HashMap;

use rexmit_analysis::rows::{Held, Rows, SideName, Tables};
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::Reader;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(reader) = Reader::new(std::io::Cursor::new(data.to_vec())) else { return };
    let tables = Tables { segments: true, rtt: true, chunks: true, held: true };
    let analysis = Options { tables, ..Options::default() };
    let mut run = Run::new(reader, &RunOptions { analysis, filter: None });
    let mut steps = 0;
    let mut held = Waits::new();
    while let Some(rows) = run.step(100) {
        steps = run.steps();
        check_held(&rows, &mut held);
    }
    let summary = run.finish();
    let per_packet = 2 * limits::STEPS_PER_PACKET + limits::CHUNKS as u64 * (1 + 2 * limits::STEPS_PER_CHUNK);
    assert!(steps <= limits::STEPS + summary.packets * per_packet, "{steps} steps");
    assert_eq!(summary.tcp + summary.sctp + summary.skipped.records(), summary.packets);
}

/// By connection and side, nanoseconds by what held it back, and where they end.
type Waits = HashMap<(u32, SideName), (HashMap<Held, u64>, u64)>;

fn check_held(rows: &Rows, waits: &mut Waits) {
    for row in &rows.held {
        let (times, until) =
            waits.entry((row.connection, row.side)).or_insert_with(|| (HashMap::new(), row.start.as_nanos()));
        assert_eq!(row.start.as_nanos(), *until, "{row:?}");
        assert!(row.end >= row.start, "{row:?}");
        *until = row.end.as_nanos();
        *times.entry(row.by).or_default() += row.end.as_nanos() - row.start.as_nanos();
    }
    for connection in &rows.connections {
        for (name, side) in [(SideName::Client, &connection.client), (SideName::Server, &connection.server)] {
            let times = waits.remove(&(connection.connection, name)).unwrap_or_default().0;
            for by in Held::ALL {
                assert_eq!(times.get(&by).copied().unwrap_or_default(), side.held.of(by), "{connection:?}");
            }
        }
    }
}
