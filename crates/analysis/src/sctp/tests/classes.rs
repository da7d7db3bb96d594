//! The classes of sctp_trace, rule by rule.

use super::super::script::{play, play_with};
use super::super::{SctpRows, TraceClass};
use super::OPENING;

fn classes(rows: &SctpRows) -> Vec<(i64, u32, TraceClass)> {
    rows.retransmissions.iter().map(|row| (row.tsn, row.class_reports, row.class)).collect()
}

/// Chunks 0 to 9, of which 0 and 5 are reported missing `reports` times before they are sent again in one packet.
fn reported(reports: usize, last: &str) -> String {
    let sack = "300 s sack 99 101-104,106-109\n".repeat(reports);
    let data: String = (100..110).map(|tsn| format!("200 c data {tsn}\n")).collect();
    format!("{OPENING}{data}{sack}{last}")
}

#[test]
fn the_first_chunk_decides_by_the_number_of_reports() {
    use TraceClass::{BundledMissing, Fast, Timeout};
    for (reports, lead, further) in [
        (0, Timeout, TraceClass::BundledInFlight),
        (3, Timeout, BundledMissing),
        (4, Fast, Fast),
        (9, Fast, Fast),
    ] {
        let rows = play(&reported(reports, "1300 c data 100; data 105"));
        let reports = reports as u32;
        assert_eq!(classes(&rows), [(0, reports, lead), (5, reports, further)]);
    }
}

#[test]
fn new_chunks_in_front_do_not_make_a_chunk_a_further_one() {
    let rows = play(&reported(4, "1300 c data 110; data 100; data 105"));
    assert_eq!(classes(&rows), [(0, 4, TraceClass::Fast), (5, 4, TraceClass::Fast)]);
}

#[test]
fn the_counter_starts_again_at_each_retransmission() {
    let script = "1300 c data 100\n1301 s sack 99 101-104,106-109\n1302 c data 100\n";
    let rows = play(&reported(4, script));
    assert_eq!(classes(&rows), [(0, 4, TraceClass::Fast), (0, 1, TraceClass::Timeout)]);
}

/// The loop over blocks runs from one past the block before to one before the block's end: it counts TSNs inside too,
/// all but the last of each block.
#[test]
fn chunks_inside_a_block_are_counted_but_for_its_last() {
    let again: String = (100..110).map(|tsn| format!("{} c data {tsn}\n", 1300 + tsn)).collect();
    let rows = play(&reported(2, &again));
    let counts: Vec<u32> = rows.retransmissions.iter().map(|row| row.class_reports).collect();
    assert_eq!(counts, [2, 2, 2, 2, 0, 2, 2, 2, 2, 0]);
}

/// SACKs without blocks, and blocks below the chunk, report nothing.
#[test]
fn only_blocks_above_report() {
    let script = "300 s sack 99\n301 s sack 99 101-104\n302 s sack 99 101-104\n1300 c data 100; data 105";
    let rows = play(&reported(0, script));
    assert_eq!(classes(&rows), [(0, 2, TraceClass::Timeout), (5, 0, TraceClass::BundledInFlight)]);
}

/// Appendix B.1, `handle_chunk_mod_retransmission`: one report is enough, a further chunk with one is a fast retransmit
/// even after a timeout, and the counter never starts again.
#[test]
fn the_rules_for_the_modified_protocol() {
    use TraceClass::{BundledInFlight, Fast, Timeout};
    let script = "200.5 c data 110\n300 s sack 99 101-104,106-109\n
        301 c data 100; data 105; data 110
        600 c data 100
        700 c data 110; data 105; data 100";
    let rows = play_with(&reported(0, script), 1);
    assert_eq!(
        classes(&rows),
        [
            (0, 1, Fast),
            (5, 1, Fast),
            (10, 0, BundledInFlight),
            (0, 1, Fast),
            (10, 0, Timeout),
            (5, 1, Fast),
            (0, 1, Fast)
        ]
    );
}
