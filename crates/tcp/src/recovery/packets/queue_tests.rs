use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::{Room, SentQueue};

fn s(n: u32) -> SeqNumber {
    SeqNumber(n)
}

fn room(mss: u32, wnd_end: u32, fin: Option<u32>) -> Room {
    Room { una: s(0), wnd_end: s(wnd_end), mss, fin: fin.map(s) }
}

/// Ten packets of 100 bytes; packet n left at n ms.
fn ten() -> SentQueue {
    let mut q = SentQueue::default();
    for n in 0..10 {
        q.push(s(n * 100), s(n * 100 + 100), Instant::from_nanos(u64::from(n) * 1_000_000), true);
    }
    q
}

#[test]
fn reports_are_counted_once() {
    let mut q = ten();
    let news = q.report(&[(s(300), s(500))], s(0), s(1_000));
    assert_eq!((news.delivered, q.sacked, q.in_flight()), (2, 2, 8));
    assert_eq!(q.fack(), Some(s(500)));
    let news = q.report(&[(s(300), s(600))], s(0), s(1_000));
    assert_eq!((news.delivered, q.sacked), (1, 3));
    assert!(!q.report(&[(s(300), s(600))], s(0), s(1_000)).sacked);
    q.check();
}

#[test]
fn a_packet_that_is_reported_in_part_is_not_sacked() {
    let mut q = ten();
    assert!(!q.report(&[(s(350), s(399))], s(0), s(1_000)).sacked);
    assert_eq!(q.report(&[(s(350), s(500))], s(0), s(1_000)).delivered, 1);
}

/// `tcp_mark_head_lost`: with three reported above them, packets are lost.
#[test]
fn packets_below_the_threshold_are_lost_and_sent_again() {
    let mut q = ten();
    q.report(&[(s(200), s(300)), (s(400), s(700))], s(0), s(1_000));
    // Four are reported: those with one or none of them below are lost at a threshold of three.
    q.lose_below(q.sacked - 3);
    assert_eq!((q.lost, q.next_lost(0)), (3, Some(0)));
    for i in [0, 1, 3] {
        assert_eq!(q.next_lost(0), Some(i));
        q.send_again(i, s(100 * (i as u32 + 1)), Instant::from_nanos(50), s(1_000));
    }
    assert_eq!((q.resent, q.next_lost(0), q.in_flight()), (3, None, 6));
    q.lose_all();
    assert_eq!((q.resent, q.lost, q.in_flight()), (0, 6, 0));
    let news = q.acknowledge(s(400), s(1_000), true);
    assert_eq!((news.acked, news.delivered, news.resent, news.original), (4, 3, true, false));
    q.check();
}

/// A retransmission cut short leaves the rest as a packet of its own.
#[test]
fn a_packet_may_be_split() {
    let mut q = ten();
    q.lose(0);
    q.send_again(0, s(60), Instant::ZERO, s(1_000));
    assert_eq!((q.len(), q.lost, q.resent, q.next_lost(0)), (11, 2, 1, Some(1)));
    q.check();
}

/// A head that is SACKed shows that the receiver dropped what it had reported.
#[test]
fn a_reported_head_forgets_all_reports() {
    let mut q = ten();
    q.report(&[(s(100), s(300))], s(0), s(1_000));
    q.acknowledge(s(100), s(1_000), true);
    q.lose_all();
    assert_eq!((q.sacked, q.lost), (0, 9));
    q.check();
}

/// `tcp_timeout_mark_lost`: behind the head, what is too young stays.
#[test]
fn a_timeout_spares_what_is_young() {
    let mut q = ten();
    q.lose_all_but(|at| at.as_nanos() >= 7_000_000);
    assert_eq!((q.lost, q.in_flight()), (7, 3));
    let mut q = ten();
    q.lose_all_but(|_| true);
    assert_eq!(q.lost, 1);
    q.check();
}

/// `tcp_retrans_try_collapse`: what fits in behind a packet joins it, unless it is reported or beyond the peer's window.
#[test]
fn packets_that_fit_are_put_together() {
    let together = |mss: u32, window: u32, prepare: fn(&mut SentQueue)| {
        let mut q = ten();
        prepare(&mut q);
        q.put_together(0, &room(mss, window, None));
        q.check();
        (q.len(), q.head().unwrap().end)
    };
    assert_eq!(together(300, 1_000, |_| {}), (8, s(300)));
    assert_eq!(together(399, 1_000, |_| {}), (8, s(300)));
    assert_eq!(together(300, 250, |_| {}), (9, s(200)));
    assert_eq!(together(100, 1_000, |_| {}), (10, s(100)));
    let reported = |q: &mut SentQueue| {
        q.report(&[(s(200), s(300))], s(0), s(1_000));
    };
    assert_eq!(together(1_000, 1_000, reported), (9, s(200)));
    // What was lost and had left again leaves these counts with the packet that it joins.
    let lost = |q: &mut SentQueue| {
        q.lose(1);
        q.send_again(1, s(200), Instant::ZERO, s(1_000));
    };
    assert_eq!(together(200, 1_000, lost), (9, s(200)));
}

/// A bare FIN takes no room in a segment.
#[test]
fn a_bare_fin_fits_behind_a_full_segment_less_one_byte() {
    let mut q = SentQueue::default();
    q.push(s(0), s(99), Instant::ZERO, true);
    q.push(s(99), s(100), Instant::ZERO, true);
    q.put_together(0, &room(100, 1_000, Some(99)));
    assert_eq!(q.len(), 1);
    let mut q = SentQueue::default();
    q.push(s(0), s(100), Instant::ZERO, true);
    q.push(s(100), s(101), Instant::ZERO, true);
    q.put_together(0, &room(100, 1_000, Some(100)));
    assert_eq!(q.len(), 2, "a full segment is not looked at");
}
