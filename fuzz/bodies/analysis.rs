//! Bytes as a capture that is analysed: no input panics, every record is judged or counted as skipped, and none causes
//! more work than its packets grant.

use rexmit_analysis::limits;
use rexmit_analysis::rows::Tables;
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::Reader;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(reader) = Reader::new(std::io::Cursor::new(data.to_vec())) else { return };
    let tables = Tables { segments: true, rtt: true, chunks: true };
    let analysis = Options { tables, ..Options::default() };
    let mut run = Run::new(reader, &RunOptions { analysis, filter: None });
    let mut steps = 0;
    while run.step(100).is_some() {
        steps = run.steps();
    }
    let summary = run.finish();
    let per_packet = 2 * limits::STEPS_PER_PACKET + limits::CHUNKS as u64 * (1 + 2 * limits::STEPS_PER_CHUNK);
    assert!(steps <= limits::STEPS + summary.packets * per_packet, "{steps} steps");
    assert_eq!(summary.tcp + summary.sctp + summary.skipped.records(), summary.packets);
}
