//! Bytes as a capture that is analysed: no input panics, and every record is judged or counted as skipped.

use rexmit_analysis::rows::Tables;
use rexmit_analysis::{Options, Run, RunOptions};
use rexmit_capture::Reader;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(reader) = Reader::new(std::io::Cursor::new(data.to_vec())) else { return };
    let tables = Tables { segments: true, rtt: true, chunks: true };
    let analysis = Options { tables, ..Options::default() };
    let mut run = Run::new(reader, &RunOptions { analysis, filter: None });
    while run.step(100).is_some() {}
    let summary = run.finish();
    assert_eq!(summary.tcp + summary.sctp + summary.skipped.records(), summary.packets);
}
