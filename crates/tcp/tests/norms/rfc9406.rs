//! HyStart++ (RFC 9406): slow start whose round trip grows by 30 ms in the third round.

use serde_json::json;

use super::common::*;
use super::{MSS, at, server};

/// Rounds of ACKs, one for each segment, `rtt` ms after their segments left; returns the window in segments after each.
fn rounds(t: &mut Script, rtts: &[u64]) -> Vec<u64> {
    let (mut acked, mut windows) = (0, Vec::new());
    for &rtt in rtts {
        t.advance_ms(rtt);
        let out = (t.flight() / u64::from(MSS)) as u32;
        for _ in 0..out {
            acked += 1;
            t.recv_more(ack(at(acked + 1)));
        }
        t.drain();
        windows.push(t.snap().cwnd / u64::from(MSS));
    }
    windows
}

fn start(hystart: &str) -> Script {
    server(profile("rfc", json!({ "congestion": { "hystart": hystart } })), Peer::default(), 2_000, 10)
}

/// RF-HS-1, RF-HS-2, RF-HS-4: the round whose least round trip is 16 ms longer goes on at a quarter of the pace; five rounds
/// later slow start is over.
#[test]
fn a_growing_round_trip_ends_slow_start_twin() {
    let rtts = [100, 100, 130, 130, 130, 130, 130, 130];
    let mut t = start("rfc9406");
    let windows = rounds(&mut t, &rtts);
    assert_eq!(windows[..2], [20, 40]);
    // Eight ACKs at full pace, the rest at a quarter: 40 + 8 + 32 / 4.
    assert_eq!(windows[2], 56, "{windows:?}");
    assert_eq!(windows[3], 56 + 56 / 4, "{windows:?}");
    let over = t.ssthresh().expect("slow start is over");
    assert!(over / u64::from(MSS) < 150, "{windows:?} {over}");
    let mut t = start("off");
    assert_eq!(rounds(&mut t, &rtts[..4]), [20, 40, 80, 160]);
    t.expect_no_ssthresh();
}

/// RF-HS-3: where the round trip falls below what it was when the pace fell, slow start goes on.
#[test]
fn a_round_trip_that_falls_again_resumes_slow_start() {
    let mut t = start("rfc9406");
    let windows = rounds(&mut t, &[100, 100, 130, 100, 100]);
    assert_eq!(windows[2], 56);
    assert!(windows[3] > 56 + 40, "{windows:?}");
    assert_eq!(windows[4], 2 * windows[3], "{windows:?}");
    t.expect_no_ssthresh();
}

/// RF-HS-2: an eighth of the round trip, but never less than 4 ms.
#[test]
fn small_growth_is_none() {
    let mut t = start("rfc9406");
    assert_eq!(rounds(&mut t, &[20, 20, 23, 23]), [20, 40, 80, 160]);
}
