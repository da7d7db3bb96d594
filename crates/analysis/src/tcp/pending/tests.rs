use super::*;
use crate::rows::{Confidence, Evidence, SideName};

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A retransmission of 100 bytes, sent in its millisecond.
fn waiting(number: u64, seq: i64) -> Waiting {
    let row = RetransmissionRow {
        connection: 1,
        side: SideName::Client,
        number,
        time: at(number),
        seq,
        end: seq + 100,
        len: 100,
        transmission: 2,
        first_number: None,
        delay_first: None,
        delay_previous: None,
        cause: Cause::Timeout,
        confidence: Confidence::Likely,
        certain: None,
        need: Need::Unknown,
        proof: Proof::None,
        evidence: Evidence::default(),
    };
    let lost = Lost { order: 1, packets: 1, rtt: None };
    Waiting { row, tsval: 0, first: false, acked_at: None, lost, answered_in: None }
}

fn answer(pending: &mut Pending, ms: u64, ack: i64) {
    let news = News::default();
    pending.answer(&Answer { time: at(ms), ack, echo: None, news: &news });
}

/// Numbers of those that are released, and how each was judged.
fn released(pending: &mut Pending, ms: u64) -> Vec<(u64, Need)> {
    let mut out = Vec::new();
    pending.release(at(ms), Duration::from_millis(1), None, |waiting| {
        out.push((waiting.row.number, waiting.row.need))
    });
    out
}

#[test]
fn each_is_answered_once_by_the_first_acknowledgment_that_covers_it() {
    let mut pending = Pending::default();
    for (number, seq) in [(1, 201), (2, 1), (3, 101), (4, 1)] {
        pending.push(waiting(number, seq));
    }
    answer(&mut pending, 10, 101);
    let acked = |pending: &Pending| -> Vec<_> { pending.waiting.iter().map(|w| w.acked_at).collect() };
    assert_eq!(acked(&pending), [None, Some(at(10)), None, Some(at(10))]);
    answer(&mut pending, 20, 301);
    assert_eq!(acked(&pending), [Some(at(20)), Some(at(10)), Some(at(20)), Some(at(10))]);
    let all = [(1, Need::Needed), (2, Need::Needed), (3, Need::Needed), (4, Need::Needed)];
    assert_eq!(released(&mut pending, 30), all);
    assert!(pending.is_empty() && pending.open.is_empty());
}

#[test]
fn the_numbers_hold_after_a_release() {
    let mut pending = Pending::default();
    pending.push(waiting(1, 1));
    answer(&mut pending, 5, 101);
    pending.push(waiting(2, 101));
    assert_eq!(released(&mut pending, 10), [(1, Need::Needed)]);
    pending.push(waiting(3, 201));
    answer(&mut pending, 15, 301);
    assert_eq!(released(&mut pending, 20), [(2, Need::Needed), (3, Need::Needed)]);
}

#[test]
fn what_nobody_answers_is_closed_when_too_many_wait() {
    let mut pending = Pending::default();
    for number in 1..=WAITING_SEGMENTS as u64 + 2 {
        pending.push(waiting(number, 1));
    }
    assert_eq!(released(&mut pending, 0), [(1, Need::Unknown), (2, Need::Unknown)]);
    assert_eq!((pending.waiting.len(), pending.open.len()), (WAITING_SEGMENTS, WAITING_SEGMENTS));
    answer(&mut pending, 5_000, 101);
    assert_eq!(released(&mut pending, 6_000).len(), WAITING_SEGMENTS);
}
