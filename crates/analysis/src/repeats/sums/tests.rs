//! What is counted of judged packets.

use super::{Class, Counts, Repeated, Repeats, Sums};
use crate::rows::Rows;
use crate::sctp::TraceClass;
use crate::sctp::script::play_with;

fn counted(script: &str, missing_reports: u32) -> Vec<Repeated> {
    let mut repeats = Repeats::default();
    repeats.take(&Rows { sctp: play_with(script, missing_reports), ..Rows::default() });
    repeats.finish()
}

/// A line for each count: class, number, count, of these bundled into fast retransmits and not needed.
fn lines(found: &[Repeated]) -> Vec<String> {
    let line = |one: &Repeated| {
        let Counts { count, bundled_in_fast, not_needed, .. } = one.counts;
        format!("{} R{} {count} {bundled_in_fast} {not_needed}", one.class.name(), one.number)
    };
    found.iter().map(line).collect()
}

/// Chunk 3 is reported four times and sent again with chunk 8, which was in flight.
const BUNDLED: &str = "
    0 c init 1
    100 s initack 1
    100.1 c cookie
    200 s cookieack
    300 c data 1
    400 s sack 1
    500 c data 2; data 3
    600 s sack 2
    610 c data 4
    620 c data 5
    630 c data 6
    640 c data 7
    700 c data 8
    710 s sack 2 4-4
    720 s sack 2 4-5
    730 s sack 2 4-6
    740 s sack 2 4-7
    740.1 c data 3; data 8
    840 s sack 8";

#[test]
fn a_chunk_bundled_into_a_fast_retransmit_is_counted_by_itself() {
    // sctp_trace calls it a fast retransmit, and with a threshold of 1 in flight.
    assert_eq!(lines(&counted(BUNDLED, 4)), ["fast R1 2 1 0"]);
    assert_eq!(lines(&counted(BUNDLED, 1)), ["fast R1 1 0 0", "bundled-in-flight R1 1 1 0"]);
    // With one of 5 the packet is a timeout's.
    let slow = counted(BUNDLED, 5);
    assert_eq!(lines(&slow), ["timeout R1 1 0 0", "bundled-in-flight R1 1 0 0"]);
    let [lead, further] = slow.as_slice() else { panic!("{slow:?}") };
    assert_eq!(lead.counts.cumulative.range(), (240_100_000, 240_100_000));
    assert_eq!(further.counts.consecutive.mean(), 40_100_000.0);
    assert!(lead.from.port() != lead.to.port() && lead.class == Class::Sctp(TraceClass::Timeout));
}

#[test]
fn delays_have_their_numbers_apart() {
    let script = "
        0 c data 1
        1000 c data 1
        1100 c data 2
        3000 c data 1
        3100 s sack 2
        4000 c data 3
        5000 c data 3
        5100 s sack 3";
    let found = counted(script, 4);
    assert_eq!(lines(&found), ["timeout R1 2 0 0", "timeout R2 1 0 0"]);
    assert_eq!(found[0].counts.cumulative.mean(), 1e9);
    assert_eq!(found[1].counts.cumulative.range().1, 3_000_000_000);
    assert_eq!(found[1].counts.consecutive.range().1, 2_000_000_000);
}

#[test]
fn a_chunk_whose_first_transmission_was_not_seen_is_not_counted() {
    let script = "
        0 c data 10
        100 s sack 7
        1000 c data 8; data 10
        1100 s sack 10";
    assert_eq!(lines(&counted(script, 4)), ["bundled-in-flight R1 1 0 0"]);
}

/// In whole numbers, a small deviation on a large mean keeps its digits, in any order.
#[test]
fn sums_are_exact_in_any_order() {
    let times = [1_800_000_000_001, 1_800_000_000_003, 1_800_000_000_002, 1_800_000_000_002];
    let of = |times: &[u64]| {
        let mut sums = Sums::default();
        times.iter().for_each(|time| sums.add(*time));
        sums
    };
    let all = of(&times);
    assert_eq!(all.mean(), 1_800_000_000_002.0);
    assert!((all.deviation() - (2.0_f64 / 3.0).sqrt()).abs() < 1e-12, "{}", all.deviation());
    for split in 0..=times.len() {
        let (left, right) = times.split_at(split);
        let mut parts = of(right);
        parts.merge(&of(left));
        assert_eq!(parts, all);
    }
    assert_eq!(of(&times[..1]).deviation(), 0.0);
    assert_eq!((Sums::default().mean(), Sums::default().range()), (0.0, (0, 0)));
}
