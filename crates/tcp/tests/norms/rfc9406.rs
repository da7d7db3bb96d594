//! HyStart++ (RFC 9406): slow start whose round trip grows by 30 ms in the third round.

use serde_json::json;

use super::common::*;
use super::{MSS, at, server};

/// Rounds of ACKs, one for each segment, `rtt` ms after their segments left; returns the window in segments after each.
fn rounds(t: &mut Script, rtts: &[u64]) -> Vec<u64> {
    rounds_from(t, 0, rtts)
}

/// The same where so many segments have been acknowledged.
fn rounds_from(t: &mut Script, mut acked: u32, rtts: &[u64]) -> Vec<u64> {
    let mut windows = Vec::new();
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
    let changes = json!({ "congestion": { "hystart": hystart }, "recovery": { "tail_probe": false } });
    server(profile("rfc", changes), Peer { wscale: Some(7), ..Peer::default() }, 2_000, 10)
}

/// RF-HS-1, RF-HS-2, RF-HS-4: the pace falls to a quarter in the first round that is 16 ms longer as a whole, and in the
/// fifth round from there slow start ends. A round begins with the last ACK of the one before, and so a few samples early.
#[test]
fn a_growing_round_trip_ends_slow_start_twin() {
    let rtts = [100, 100, 130, 130, 130, 130, 130, 130];
    let mut t = start("rfc9406");
    // From the eighth sample on: 80 + 2 + 78 / 4, and then a quarter more each time.
    assert_eq!(rounds(&mut t, &rtts[..7]), [20, 40, 80, 101, 126, 158, 197]);
    t.expect_no_ssthresh();
    let last = rounds_from(&mut t, 10 + 20 + 40 + 80 + 101 + 126 + 158, &rtts[7..]);
    let over = t.ssthresh().expect("slow start is over") / u64::from(MSS);
    assert!((197..=last[0]).contains(&over), "{over} {last:?}");
    let mut t = start("off");
    assert_eq!(rounds(&mut t, &rtts[..4]), [20, 40, 80, 160]);
    t.expect_no_ssthresh();
}

/// RF-HS-3: where the round trip falls below what it was when the pace fell, slow start goes on.
#[test]
fn a_round_trip_that_falls_again_resumes_slow_start() {
    let mut t = start("rfc9406");
    let windows = rounds(&mut t, &[100, 100, 130, 130, 100, 100]);
    assert_eq!(windows[3], 101);
    assert!(windows[4] > 180, "{windows:?}");
    assert_eq!(windows[5], 2 * windows[4], "{windows:?}");
    t.expect_no_ssthresh();
}

/// RF-HS-2: an eighth of the round trip, but never less than 4 ms.
#[test]
fn small_growth_is_none() {
    let mut t = start("rfc9406");
    assert_eq!(rounds(&mut t, &[20, 20, 23, 23]), [20, 40, 80, 160]);
}
