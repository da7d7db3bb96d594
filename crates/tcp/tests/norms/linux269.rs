//! `linux-2.6.9`: the cycle of congestion avoidance of klaver-2005, chapter 4, segment by segment, and what else the
//! study's sender does (T-LX-..., LX-K-1).

use std::collections::{BTreeSet, VecDeque};

use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, expect_segments, sack, seg, server};

fn linux(changes: Value) -> std::sync::Arc<rexmit_tcp::Profile> {
    profile("linux-2.6.9", changes)
}

/// A window that never limits.
fn wide() -> Peer {
    Peer { wscale: Some(7), win: 65_535, ..Peer::default() }
}

/// A path that holds so many segments, the one at the bottleneck included, and drops what finds it full. A segment
/// that leaves it is acknowledged at once, and its ACK takes no time: the closed pipe of chapter 4.
struct Pipe {
    script: Script,
    room: usize,
    inside: VecDeque<u32>,
    /// Segments that have arrived beyond `next`, the first that has not.
    beyond: BTreeSet<u32>,
    next: u32,
    /// The highest that was sent.
    highest: u32,
}

/// What an ACK let out.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    segments: Vec<u32>,
    /// A segment left again.
    again: bool,
    /// The last segment found the path full.
    dropped: bool,
    cwnd: u64,
}

impl Pipe {
    fn new(room: usize, changes: Value) -> Self {
        let mut script = Script::server(linux(changes)).with_peer(wide());
        script.establish(20);
        script.write(2 << 20);
        let mut pipe =
            Self { script, room, inside: VecDeque::new(), beyond: BTreeSet::new(), next: 1, highest: 0 };
        pipe.collect();
        pipe
    }

    /// Takes what has left: which segments, whether one left again, whether one was dropped.
    fn collect(&mut self) -> (Vec<u32>, bool, bool) {
        let left: Vec<u32> =
            self.script.drain().iter().map(|(_, s)| (s.seq.unwrap() - 1) / MSS + 1).collect();
        let (mut again, mut dropped) = (false, false);
        for &n in &left {
            again |= n <= self.highest;
            self.highest = self.highest.max(n);
            if self.inside.len() < self.room {
                self.inside.push_back(n);
            } else {
                dropped = true;
            }
        }
        (left, again, dropped)
    }

    /// The segment at the head leaves the pipe; its ACK reaches the sender.
    fn step(&mut self) -> Step {
        self.script.advance_ms(1);
        let n = self.inside.pop_front().expect("the pipe is never empty");
        self.beyond.insert(n);
        while self.beyond.remove(&self.next) {
            self.next += 1;
        }
        let mut ack = ack(at(self.next)).win(65_535);
        if n > self.next {
            let first = (self.next..n).rev().take_while(|i| self.beyond.contains(i)).last().unwrap_or(n);
            let last = (n..).take_while(|i| self.beyond.contains(i)).last().expect("n itself");
            ack = ack.sack([(at(first), at(last + 1))]);
        }
        self.script.recv(ack);
        let (segments, again, dropped) = self.collect();
        self.script.write(2 << 20);
        self.script.expect_nothing();
        Step { segments, again, dropped, cwnd: self.script.snap().cwnd / u64::from(MSS) }
    }

    /// A cycle of the equilibrium: the steps from one drop, included, to the next, excluded.
    fn cycle(&mut self) -> Vec<Step> {
        let (mut drops, mut steps) = (0, Vec::new());
        loop {
            let step = self.step();
            drops += u32::from(step.dropped);
            match drops {
                0..4 => {}
                4 => steps.push(step),
                _ => return steps,
            }
        }
    }
}

/// A cycle with the greatest window `w`.
fn cycle(w: usize) -> Vec<Step> {
    let steps = Pipe::new(w - 1, json!({ "congestion": { "initial_ssthresh": 6 } })).cycle();
    assert_eq!(steps.iter().map(|s| s.cwnd).max(), Some(w as u64));
    steps
}

fn transmissions(steps: &[Step]) -> usize {
    steps.iter().map(|s| s.segments.len()).sum()
}

/// What each ACK let out, in a line: how many new segments, `r` for the one that left again.
fn drawn(steps: &[Step]) -> String {
    steps.iter().map(|s| if s.again { "r".to_string() } else { s.segments.len().to_string() }).collect()
}

/// The line of a cycle as chapter 4 tells it: the ACK that raises cwnd to `w` lets out two segments, of which the
/// second is lost; `w - 1` more let out one each, the first two SACKs too, and the third the lost one. Of the `w - 2`
/// SACKs that follow every second one lets out a segment, and so does the ACK of the one that was lost. Then the steps of
/// cwnd: two segments for the ACK that raises it, one for each other.
fn told(w: usize) -> String {
    let recovery: String = "01".repeat(w).chars().take(w - 2).collect();
    let even = usize::from(w.is_multiple_of(2));
    let step = |x: usize| format!("2{}", "1".repeat(if x == w / 2 + 1 { x - even } else { x }));
    let steps: String = (w / 2 + 1..w).map(step).collect();
    format!("2{}11r{recovery}1{steps}", "1".repeat(w - 1))
}

/// T-LX-1, figure 4.1: W = 11, a pipe of 10 segments, 70 transmissions of which 69 arrive; every segment.
#[test]
fn t_lx_1_a_cycle_with_an_odd_window() {
    let steps = cycle(11);
    let line = "2111111111111r010101010121111112111111121111111121111111112111111111".to_string() + "1";
    assert_eq!((drawn(&steps), told(11)), (line.clone(), line));
    assert_eq!(transmissions(&steps), 70);
    let cwnd: Vec<u64> = steps.iter().map(|s| s.cwnd).collect();
    assert_eq!(cwnd[..14], [11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 11, 10]);
    assert_eq!(cwnd[14..25], [9, 9, 8, 8, 7, 7, 6, 6, 5, 5, 6]);
    holds_together(&steps);
}

/// T-LX-2, figure 4.2: W = 12, a pipe of 11 segments, 76 transmissions of which 75 arrive; every segment.
#[test]
fn t_lx_2_a_cycle_with_an_even_window() {
    let steps = cycle(12);
    let line = "21111111111111r01010101011211111121111111121111111112111111111121111111111".to_string() + "1";
    assert_eq!((drawn(&steps), told(12)), (line.clone(), line));
    assert_eq!(transmissions(&steps), 76);
    let cwnd: Vec<u64> = steps.iter().map(|s| s.cwnd).collect();
    assert_eq!(cwnd[..15], [12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 12, 11]);
    assert_eq!(cwnd[15..27], [10, 10, 9, 9, 8, 8, 7, 7, 6, 6, 6, 7]);
    holds_together(&steps);
}

/// New segments follow each other, and what leaves again is what was lost: the second that the first ACK let out.
fn holds_together(steps: &[Step]) {
    let lost = steps[0].segments[1];
    let mut next = steps[0].segments[0];
    for step in steps {
        for &n in &step.segments {
            assert_eq!(n, if step.again { lost } else { next });
            next += u32::from(!step.again);
        }
    }
}

/// LX-K-1: the formulas (4.3) and (4.4) and one, since a transmission that is dropped counts too.
#[test]
fn lx_k_1_transmissions_of_a_cycle() {
    let published = [
        (8, 39),
        (9, 51),
        (11, 70),
        (12, 76),
        (16, 125),
        (17, 145),
        (21, 210),
        (22, 221),
        (31, 425),
        (32, 441),
    ];
    for (w, count) in published {
        let steps = cycle(w);
        assert_eq!(transmissions(&steps), count, "W = {w}");
        assert_eq!(drawn(&steps), told(w), "W = {w}");
        let eighths = if w % 2 == 1 { 3 * w * w + 16 * w + 13 } else { 3 * w * w + 14 * w };
        assert_eq!(count, eighths / 8 + 1, "W = {w}");
    }
}

/// LX-ST-1 to LX-ST-14: in full segments it is all the same whether packets are counted, as the kernel does, or bytes.
#[test]
fn lx_k_1_twin_packets_counted() {
    for w in [8, 9, 11, 12, 21, 22] {
        let changes = json!({
            "congestion": { "initial_ssthresh": 6 },
            "recovery": { "sack": "counted-halving", "plain": "counted-duplicates", "max_reordering": 127 },
            "output": { "probe": "old-sequence" },
        });
        let steps = Pipe::new(w - 1, changes).cycle();
        assert_eq!(drawn(&steps), told(w), "W = {w}");
        let cwnd = |steps: &[Step]| steps.iter().map(|s| s.cwnd).collect::<Vec<_>>();
        assert_eq!(cwnd(&steps), cwnd(&cycle(w)), "W = {w}");
    }
}

/// The twins: with equation 3 of RFC 5681 in place of the counter, or without the step of slow start at ssthresh, a
/// cycle is another.
#[test]
fn lx_k_1_twin_other_ways_to_grow() {
    for changes in [json!({ "growth": "per-ack" }), json!({ "slow_start": "below-ssthresh" })] {
        let mut congestion = changes;
        congestion["initial_ssthresh"] = json!(6);
        let steps = Pipe::new(10, json!({ "congestion": congestion })).cycle();
        assert_ne!(transmissions(&steps), 70);
    }
}

/// Segments 1 to 6 are out and acknowledged one by one; cwnd is 6, above ssthresh, and the counter at 0.
fn six_above_ssthresh(changes: Value) -> Script {
    let mut t = Script::server(linux(changes)).with_peer(wide());
    t.establish(20);
    t.write(u64::from(200 * MSS));
    t.drain();
    t
}

/// T-LX-3, LX-ST-12: the comparison precedes the increment, so seven ACKs make 6 of 7.
#[test]
fn t_lx_3_seven_acks_from_six_to_seven() {
    let mut t = six_above_ssthresh(json!({ "initial_window": 6, "congestion": { "initial_ssthresh": 5 } }));
    t.expect_cwnd(6 * 1448);
    for n in 2..=7 {
        t.recv(ack(at(n)).win(65_535)).expect(seg(n + 5)).expect_cwnd(6 * 1448);
    }
    t.recv(ack(at(8)).win(65_535)).expect(seg(13)).expect(seg(14)).expect_cwnd(7 * 1448);
}

/// T-LX-4, LX-ST-13: rate halving leaves its mark in the counter, so the first step after an even W takes an ACK less.
#[test]
fn t_lx_4_the_counter_that_an_even_window_leaves() {
    let acks_of_first_step = |w: usize| {
        let steps = cycle(w);
        let again = steps.iter().position(|s| s.again).expect("a retransmission");
        // The SACKs and the ACK of the lost segment, then slow start's step.
        let from = again + w;
        let low = (w / 2 + 1) as u64;
        assert_eq!((steps[from - 1].cwnd, steps[from].cwnd), (low - 1, low));
        steps[from..].iter().take_while(|s| s.cwnd == low).count()
    };
    // cwnd + 1 after an odd W, cwnd after an even one.
    assert_eq!([11, 21, 31].map(acks_of_first_step), [6 + 1, 11 + 1, 16 + 1]);
    assert_eq!([12, 22, 32].map(acks_of_first_step), [7, 12, 17]);
}

/// T-LX-6, LX-RTO-7.
#[test]
fn t_lx_6_the_interval_doubles() {
    let mut t = server(linux(json!({})), Peer::default(), 1, 1);
    t.expect_rto_ms(220);
    t.expect_at_ms(20 + 220, seg(1));
    t.expect_at_ms(20 + 220 + 440, seg(1));
    t.expect_at_ms(20 + 220 + 440 + 880, seg(1));
}

/// Three acknowledgments of a segment each: cwnd 6, segments 4 to 9 out, of which the first is lost.
fn six_out(changes: Value) -> Script {
    let mut t = server(linux(changes), Peer::default(), 40, 3);
    t.at_ms(40);
    for n in 2..=4 {
        t.recv(ack(at(n)));
        expect_segments(&mut t, 2 * n..=2 * n + 1);
    }
    t.expect_cwnd(6 * 1448);
    t
}

/// T-LX-7, LX-ST-4, LX-ST-5 (b): two new segments on the first two reports, the lost one on the third.
#[test]
fn t_lx_7_one_loss() {
    let mut t = six_out(json!({}));
    t.at_ms(60).recv(sack(4, 5, 5)).expect(seg(10)).expect_phase("disorder").expect_cwnd(6 * 1448);
    t.recv(sack(4, 5, 6)).expect(seg(11)).expect_cwnd(6 * 1448);
    t.recv(sack(4, 5, 7))
        .expect(seg(4))
        .expect_phase("recovery")
        .expect_ssthresh(3 * 1448)
        .expect_cwnd(5 * 1448);
}

/// T-LX-10, LX-IW-1; ssthresh has no limit.
#[test]
fn t_lx_10_the_first_windows() {
    let t = server(linux(json!({})), Peer::default(), 10, 3);
    assert_eq!((t.snap().cwnd, t.ssthresh()), (3 * 1448, None));
}

/// Segment 4, taken for lost, is only late: it arrives before what was sent again, which leaves at 60 ms.
fn late(changes: Value) -> Script {
    let mut t = six_out(changes);
    t.at_ms(60).recv(sack(4, 5, 5)).recv_more(sack(4, 5, 6)).recv_more(sack(4, 5, 7));
    assert_eq!(t.drain().len(), 3);
    t.expect_phase("recovery").expect_ssthresh(3 * 1448);
    t
}

/// T-LX-11, LX-ST-11: the duplicate of the retransmission, reported after recovery has ended, restores cwnd to twice the
/// lowered ssthresh, which is the former one where that was even, and ssthresh to three quarters of cwnd at least.
#[test]
fn t_lx_11_a_duplicate_report_takes_the_reduction_back() {
    let mut t = late(json!({}));
    // The echo is younger than the retransmission: timestamps say nothing.
    t.at_ms(80).recv(ack(at(12))).expect_phase("open").expect_cwnd(3 * 1448).expect_ssthresh(3 * 1448);
    t.drain();
    t.recv(ack(at(12)).sack([(at(4), at(5))])).expect_cwnd(6 * 1448).expect_no_ssthresh();
    assert_eq!(t.drain().len(), 3);
    // Without the rule nothing is taken back.
    let mut t = late(json!({ "recovery": { "reduction_undo": false } }));
    t.at_ms(80).recv(ack(at(12)));
    t.drain();
    t.recv(ack(at(12)).sack([(at(4), at(5))]))
        .expect_cwnd(3 * 1448)
        .expect_ssthresh(3 * 1448)
        .expect_nothing();
}

/// LX-ST-11: so does an echo from before the retransmission, at once.
#[test]
fn lx_st_11_an_old_echo_takes_the_reduction_back() {
    let mut t = late(json!({}));
    // In recovery cwnd alone: twice ssthresh again, then rate halving: one beyond what is out (8 to 11).
    t.at_ms(61).recv(ack(at(8)).ts_val(100_061, 41)).expect(seg(12)).expect_phase("recovery");
    t.expect_cwnd(5 * 1448).expect_ssthresh(3 * 1448);
    // At its end ssthresh too, and a burst of three is what cwnd allows: `tcp_moderate_cwnd`.
    t.recv(ack(at(12)).ts_val(100_061, 41)).expect_phase("open").expect_no_ssthresh();
    t.expect_cwnd(4 * 1448);
    assert_eq!(t.drain().len(), 3);
    // An echo of the retransmission's own time proves nothing.
    let mut t = late(json!({}));
    t.at_ms(61).recv(ack(at(12)).ts_val(100_061, 61)).expect_ssthresh(3 * 1448);
    t.drain();
}

/// LX-ST-11: a timeout that came too early is taken back by the ACK of what it had not to send again.
#[test]
fn lx_st_11_a_timeout_is_taken_back() {
    let mut t = server(linux(json!({ "initial_window": 5 })), Peer::default(), 40, 5);
    t.expect_at_ms(240, seg(1)).expect_phase("loss").expect_cwnd(1448);
    // The echo is that of the first transmission, at 20 ms.
    t.at_ms(250).recv(ack(at(2)).ts_val(100_250, 21)).expect_phase("open").expect_no_ssthresh();
    // Of five, four are out: ssthresh was 2, and twice that is no more than what is out.
    t.expect_nothing().expect_cwnd(4 * 1448);
    t.recv(ack(at(6))).expect_phase("open");
    assert!(t.drain().iter().all(|(_, s)| s.seq.unwrap() >= at(6)), "nothing leaves again");
}

/// LX-ACK-5: an ACK of two segments counts twice, one of a part for a whole; with `acks` each counts once. So does one in
/// the round trip after a recovery, which takes the disturbed path (LX-ST-2, LX-ST-10).
#[test]
fn lx_ack_5_segments_are_counted() {
    let grown = |counts: &str| {
        let congestion = json!({ "initial_ssthresh": 5, "counts": counts });
        let mut t = six_above_ssthresh(json!({ "initial_window": 6, "congestion": congestion }));
        let mut acks = 0;
        let mut una = 1;
        while t.snap().cwnd == 6 * 1448 {
            una += 2 * MSS - 100;
            t.recv(ack(una).win(65_535));
            t.drain();
            acks += 1;
        }
        acks
    };
    assert_eq!((grown("segments"), grown("acks")), (4, 7));

    let mut t = late(json!({}));
    t.at_ms(80).recv(ack(at(12))).expect_cwnd(3 * 1448);
    t.drain();
    // Up to all that was out at the end of the recovery (11): once for two segments.
    t.recv(ack(at(14))).expect_cwnd(4 * 1448);
    t.drain();
}

/// The study's second patch: the window, in segments, where nobody looks; not on a SYN.
#[test]
fn the_urgent_pointer_shows_the_window() {
    use rexmit_stack::{Endpoint, Socket, Transmission};
    use rexmit_units::Instant;
    use rexmit_wire::Transport;
    let shown = |changes: Value| {
        let mut t = Script::server(linux(changes));
        t.establish(20);
        t.conn.write(Instant::from_nanos(20_000_000), 1448);
        let Some(Transmission { packet, .. }) = t.conn.poll_transmit(Instant::from_nanos(20_000_000)) else {
            panic!("a segment")
        };
        let Transport::Tcp(segment) = packet.transport else { panic!("of TCP") };
        assert!(!segment.flags.has(rexmit_wire::Flags::URG));
        segment.urgent
    };
    assert_eq!(shown(json!({})), 3);
    assert_eq!(shown(json!({ "initial_window": 9 })), 9);
    assert_eq!(shown(json!({ "output": { "cwnd_in_urgent_pointer": false } })), 0);
}

/// LX-ST-7: with BIC, 2.6.9 halves down to half of its ssthresh, 2.6.15 down to ssthresh.
#[test]
fn lx_st_7_how_far_a_recovery_halves() {
    let least = |floor: &str| {
        let changes = json!({
            "initial_window": 20, "congestion": { "algorithm": "bic", "growth": "counted-bytes", "counts": "acks" },
            "recovery": { "halving_floor": floor },
        });
        let mut t = server(linux(changes), wide(), 200, 20);
        t.at_ms(40);
        for last in 4..=20 {
            t.recv(sack(1, 2, last).win(65_535));
            t.drain();
        }
        t.snap().cwnd / 1448
    };
    assert_eq!(least("algorithm"), 15);
    assert!(least("half-ssthresh") < 15);
}
