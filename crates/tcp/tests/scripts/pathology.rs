//! What takes two ends to see: flows of study 000 over a slow link (FB-APP, FB-BAD, FB-SYN-3).

use rexmit_network::HostId;
use rexmit_network::two_hosts::{by_host, server_and_client};
use rexmit_stack::Endpoint;
use rexmit_units::Duration;
use rexmit_wire::Flags;
use serde_json::{Value, json};

use crate::common::freebsd;
use crate::common::pair::{App, CLIENT, Pair, SERVER, Sent, link};

/// The server of study 000 (FB-APP-1, FB-APP-4) with `loops` loops, to its end.
fn flow(changes: Value, loops: usize, (bits, delay): (u64, u64), lost: Vec<(HostId, u64)>) -> Pair {
    let mut writes = vec![5000];
    writes.resize(loops - 1, 2500);
    let server = App { writes, ..App::default() };
    let client = App { close_after_peer: true, read_size: 50_000, ..App::default() };
    let profiles = by_host(|_| freebsd(changes.clone()));
    let mut pair = Pair::new(&profiles, &server_and_client(server, client), link(bits, delay, lost));
    assert!(pair.run(Duration::from_secs(1_000), 10_000, |_| true), "{}", pair.log());
    assert_eq!(pair.ends[CLIENT].read, 2500 * loops as u64);
    assert!(pair.ends.values().all(|e| e.is_over() && e.conn.misplaced_bytes() == 0));
    pair
}

fn sizes(pair: &Pair) -> Vec<u64> {
    pair.from(SERVER).map(|s| s.ip_len).collect()
}

/// From connect() to the end of the stream, in ms.
fn total(pair: &Pair) -> f64 {
    pair.ends[CLIENT].end_of_stream.expect("the end").as_nanos() as f64 / 1e6
}

fn data_less(pair: &Pair) -> usize {
    let is = |s: &&Sent| s.segment.payload.is_empty() && s.segment.flags == Flags::ACK;
    pair.from(SERVER).filter(is).count()
}

/// SYN-ACK of 64 bytes, then 1500, 1500, 1500, 708 back to back; 20 packets in all.
#[test]
fn t_fb_1_the_short_flow() {
    let pair = flow(json!({}), 10, (1_000_000, 10), vec![]);
    let sizes = sizes(&pair);
    assert_eq!(sizes[..5], [64, 1500, 1500, 1500, 708], "{}", pair.log());
    assert_eq!(sizes.len(), 20, "{}", pair.log());
    assert_eq!(*sizes.last().expect("20"), 52);
    let times: Vec<_> = pair.from(SERVER).skip(1).take(4).map(|s| s.at).collect();
    assert!(times.iter().all(|t| *t == times[0]));
    let pushed: Vec<_> =
        pair.from(SERVER).filter(|s| s.segment.flags.has(Flags::PSH)).map(|s| s.position).collect();
    assert!(pushed.contains(&5), "{pushed:?}");
    // The FIN rides on the last data (FB-OUT-8).
    let fin = pair.from(SERVER).find(|s| s.segment.flags.has(Flags::FIN)).expect("a FIN");
    assert!(!fin.segment.payload.is_empty() && fin.position == 19, "{}", pair.log());
}

#[test]
fn t_fb_12_the_long_flow_takes_100_packets() {
    for place in [(1_000_000, 10), (1_000_000, 100), (2_000_000, 300), (320_000, 20)] {
        let pair = flow(json!({}), 56, place, vec![]);
        assert_eq!(sizes(&pair).len(), 100, "{place:?}");
    }
}

/// The SYN-ACK lost: 3 s more; both ends' timers expire a one-way delay apart (FB-SYN-3).
#[test]
fn t_fb_9_a_lost_syn_ack_costs_3_s() {
    for place in [(1_000_000, 10), (1_000_000, 100), (320_000, 40)] {
        let (with, without) =
            (flow(json!({}), 10, place, vec![(SERVER, 1)]), flow(json!({}), 10, place, vec![]));
        let more = total(&with) - total(&without);
        assert!((2_990.0..3_320.0).contains(&more), "{place:?}: {more}\n{}", with.log());
        let syns = with.from(CLIENT).filter(|s| s.segment.flags.has(Flags::SYN)).count();
        assert_eq!(syns, 2);
    }
}

/// The pathology of 40 kbit/s: all four first segments are sent again after a timeout that was not due, the
/// duplicates of which start a recovery with nothing to repair, and data-less ACKs leave.
#[test]
fn fb_bad_1_and_3_spurious_timeouts_at_40_kbit() {
    for delay in [5, 10, 20] {
        let pair = flow(json!({}), 10, (40_000, delay), vec![]);
        let c = pair.ends[SERVER].conn.counters();
        assert!(c.timeouts >= 1 && c.retransmits >= 4, "{delay}: {c:?}");
        assert!(c.fast_retransmits >= 1, "{delay}: {c:?}");
        assert!(data_less(&pair) > 1, "{delay}: {}", pair.log());
        let start = |n: u32| {
            pair.from(SERVER)
                .filter(|s| s.segment.seq.0 == 1_001 + n && !s.segment.payload.is_empty())
                .count()
        };
        assert!([0, 1448, 2896, 4344].into_iter().all(|n| start(n) == 2), "{delay}\n{}", pair.log());
    }
}

/// The threshold lies between delays of 20 and 40 ms...
#[test]
fn fb_bad_2_none_from_40_ms_on() {
    for delay in [40, 60, 100] {
        let pair = flow(json!({}), 10, (40_000, delay), vec![]);
        assert_eq!(pair.ends[SERVER].conn.counters().timeouts, 0, "{delay}");
        assert_eq!(sizes(&pair).len(), 20);
    }
}

/// ...because of the delayed ACK: without it 20 ms shows none.
#[test]
fn fb_bad_2_twin_without_delayed_acks() {
    let pair = flow(json!({ "delayed_ack": { "policy": "immediate" } }), 10, (40_000, 20), vec![]);
    assert_eq!(pair.ends[SERVER].conn.counters().timeouts, 0, "{}", pair.log());
}

/// Without SACK the guard of RFC 6582 stops the recovery after the spurious timeout; without the answers fewer
/// data-less ACKs leave.
#[test]
fn fb_bad_3_twins() {
    let guarded = flow(json!({ "options": { "sack": false } }), 10, (40_000, 5), vec![]);
    assert_eq!(guarded.ends[SERVER].conn.counters().fast_retransmits, 0);
    let silent = flow(json!({ "recovery": { "partial_ack_answers": false } }), 10, (40_000, 5), vec![]);
    assert!(data_less(&silent) < data_less(&flow(json!({}), 10, (40_000, 5), vec![])));
}

/// Extra packets shift the positions: 20 is not the last one here, and its loss is felt. In a normal run it
/// is the ACK of the client's FIN, and costs nothing.
#[test]
fn fb_bad_4_position_20() {
    let slow = |lost| total(&flow(json!({}), 10, (40_000, 5), lost));
    assert!(slow(vec![(SERVER, 20)]) > slow(vec![]) + 100.0);
    let fast = |lost| total(&flow(json!({}), 10, (1_000_000, 10), lost));
    assert_eq!(fast(vec![(SERVER, 20)]), fast(vec![]));
}

/// A loss at 14 waits for a timeout, one at 13 does not.
#[test]
fn fb_bad_3_the_peak_at_14() {
    let at = |position| flow(json!({}), 10, (40_000, 5), vec![(SERVER, position)]);
    assert!(total(&at(14)) > total(&at(13)) + 500.0, "{}", at(14).log());
}

/// Receive-buffer fluctuation: from 160 kbit/s on at low delay one duplicate does not count, so the inhibited
/// end begins at 16; at 80 kbit/s, where ACKs come from the timer, at 17.
#[test]
fn fb_ack_7_the_inhibited_end() {
    let timeouts = |bits, position| {
        let pair = flow(json!({}), 10, (bits, 5), vec![(SERVER, position)]);
        pair.ends[SERVER].conn.counters().timeouts
    };
    assert_eq!([15, 16, 17, 18, 19].map(|p| timeouts(160_000, p)), [0, 1, 1, 1, 1]);
    assert_eq!([15, 16, 17, 18, 19].map(|p| timeouts(80_000, p)), [0, 0, 1, 1, 1]);
}

/// Limited by its buffer, the sender leaves recovery with one segment: slow start (FB-FR-10).
#[test]
fn fb_fr_10_slow_start_after_recovery_of_a_long_flow() {
    let mut least = u64::MAX;
    let mut writes = vec![5000];
    writes.resize(55, 2500);
    let server = App { writes, ..App::default() };
    let client = App { close_after_peer: true, ..App::default() };
    let profiles = by_host(|_| freebsd(json!({})));
    let mut pair =
        Pair::new(&profiles, &server_and_client(server, client), link(2_000_000, 100, vec![(SERVER, 50)]));
    let mut recovered = false;
    pair.run(Duration::from_secs(100), 10_000, |p| {
        let s = p.ends[SERVER].conn.snapshot();
        recovered |= s.phase == "recovery";
        if recovered && s.phase == "open" {
            least = least.min(s.cwnd);
        }
        true
    });
    assert!(recovered);
    assert_eq!(least, 1448);
    assert_eq!(pair.ends[SERVER].conn.counters().timeouts, 0);
}
