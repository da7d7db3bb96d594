use super::*;

const MSS: u32 = 100;

fn n(i: u32) -> SeqNumber {
    SeqNumber(u32::MAX - 250).add_segments(i)
}

trait AddSegments {
    fn add_segments(self, i: u32) -> Self;
}

impl AddSegments for SeqNumber {
    fn add_segments(self, i: u32) -> Self {
        self + i * MSS
    }
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// Ten segments that left 1 ms apart; their numbers wrap.
fn ten() -> Segments {
    let mut segments = Segments::default();
    for i in 0..10 {
        segments.note(n(i), n(i + 1), at(i.into()));
    }
    segments
}

fn blocks(of: &[(u32, u32)]) -> SackBlocks {
    let mut sack = SackBlocks::default();
    for &(left, right) in of {
        assert!(sack.push(n(left), n(right)));
    }
    sack
}

/// Totals are those of the entries, and neighbours that were reported are one.
fn check(segments: &Segments) {
    let sum =
        |keep: fn(&Segment) -> bool| segments.list.iter().filter(|s| keep(s)).map(Segment::len).sum::<u32>();
    assert_eq!(segments.bytes, sum(|_| true));
    assert_eq!(segments.sacked, sum(|s| s.sacked));
    assert_eq!(segments.lost, sum(|s| s.lost));
    for (a, b) in segments.list.iter().zip(segments.list.iter().skip(1)) {
        assert_eq!(a.end, b.start);
        assert!(!(a.sacked && b.sacked), "{a:?} {b:?}");
    }
}

#[test]
fn reports_join_and_an_acknowledgment_takes_them() {
    let mut s = ten();
    s.take(n(0), n(0), &blocks(&[(6, 7), (2, 4)]), n(10));
    check(&s);
    // In the order of sequence numbers, each as it was.
    let starts: Vec<_> = s.arrived.iter().map(|a| (a.start, a.sacked, a.at)).collect();
    assert_eq!(starts, [(n(2), false, at(2)), (n(3), false, at(3)), (n(6), false, at(6))]);
    assert_eq!((s.sacked(), s.sacked_segments(), s.in_flight()), (300, 3, 700));
    s.take(n(0), n(0), &blocks(&[(2, 7)]), n(10));
    check(&s);
    assert_eq!(s.arrived.len(), 2);
    assert_eq!((s.sacked_segments(), s.list.len()), (5, 6));
    assert_eq!(s.highest_report(), Some(n(7)));
    // All up to 8: what was reported before has not arrived again.
    s.take(n(0), n(8), &blocks(&[]), n(10));
    check(&s);
    assert_eq!(s.arrived.iter().map(|a| a.start).collect::<Vec<_>>(), [n(0), n(1), n(7)]);
    assert_eq!((s.sacked(), s.sacked_segments(), s.in_flight()), (0, 0, 200));
}

#[test]
fn a_report_may_end_within_a_segment() {
    let mut s = ten();
    let mut sack = SackBlocks::default();
    assert!(sack.push(n(2) + 50, n(3) + 50));
    s.take(n(0), n(0), &sack, n(10));
    check(&s);
    assert_eq!((s.sacked(), s.in_flight()), (100, 900));
    // What stays of both is out as before.
    assert_eq!(s.iter().filter(|one| !one.sacked && one.len() == 50).count(), 2);
}

#[test]
fn lost_segments_leave_again_in_order() {
    let mut s = ten();
    s.take(n(0), n(0), &blocks(&[(4, 5)]), n(10));
    let marked = s.mark(|one, _| if one.start < n(4) { Verdict::Lost } else { Verdict::Enough });
    assert_eq!(marked, Marked { some: true, retransmission: None });
    check(&s);
    assert_eq!(s.in_flight(), 500);
    let first = s.first_lost().expect("one is lost");
    s.note(first.start, first.end, at(20));
    check(&s);
    assert_eq!((first.start, s.first_lost().map(|l| l.start), s.in_flight()), (n(0), Some(n(1)), 600));
    // A part of one leaves: the rest waits.
    s.note(n(1), n(1) + 40, at(21));
    check(&s);
    assert_eq!(s.first_lost().map(|l| l.start), Some(n(1) + 40));
    // Marked once more, it is a retransmission.
    let marked = s.mark(|one, _| if one.start == n(0) { Verdict::Lost } else { Verdict::Keep });
    assert_eq!(marked, Marked { some: true, retransmission: Some(at(20)) });
    assert_eq!(s.first_lost().map(|l| l.start), Some(n(0)));
    s.forgive();
    check(&s);
    assert_eq!((s.in_flight(), s.first_lost()), (900, None));
}

#[test]
fn what_was_never_overtaken_is_plain() {
    let mut s = ten();
    assert!(s.is_plain());
    s.note(n(9), n(10), at(30));
    assert!(!s.is_plain());
    s.take(n(0), n(10), &blocks(&[]), n(10));
    assert!(s.is_plain());
    check(&s);
}

/// RFC 6675's IsLost: three ranges, or more than two segments' worth.
#[test]
fn lost_by_the_number_of_reports() {
    let mut s = ten();
    assert_eq!(s.lost_below(3, MSS), None);
    s.take(n(0), n(0), &blocks(&[(2, 3), (4, 5)]), n(10));
    assert_eq!(s.lost_below(3, MSS), None);
    s.take(n(0), n(0), &blocks(&[(6, 7)]), n(10));
    assert_eq!(s.lost_below(3, MSS), Some(n(2)));
    let mut s = ten();
    s.take(n(0), n(0), &blocks(&[(5, 8)]), n(10));
    assert_eq!(s.lost_below(3, MSS), Some(n(5)));
}
