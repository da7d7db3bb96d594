//! FreeBSD 5.4 and 7.2 beside 6.0: twins of what differs (FB-54, FB-72), buffers that grow (FB-WIN-7, FB-WIN-8), and
//! `inflight` (FB-INF-1).

use std::sync::Arc;

use rexmit_tcp::Profile;
use serde_json::{Value, json};

use crate::common::*;

const MSS: u32 = 1448;

fn v72(changes: Value) -> Arc<Profile> {
    profile("freebsd-7.2", changes)
}

fn v54(changes: Value) -> Arc<Profile> {
    profile("freebsd-5.4", changes)
}

/// A window that never limits.
fn wide() -> Peer {
    Peer { wscale: Some(8), win: 65_535, ..Peer::default() }
}

/// The opener of a connection, established over a round trip of `rtt` ms.
fn client(profile: Arc<Profile>, peer: Peer, rtt: u64) -> Script {
    let mut t = Script::client(profile).with_peer(peer);
    t.establish(rtt);
    // The window of a SYN-ACK is not scaled: this one shows the whole.
    t.recv(ack(1));
    t
}

/// FB-72-1, FB-WIN-2, FB-WIN-4: the scale covers sb_max, the third segment is scaled; the SYN is four bytes shorter.
#[test]
fn fb_72_1_the_handshake_twin() {
    let scale = |profile| {
        let mut t = Script::client(profile);
        t.connect();
        t.drain()[0].1.wscale.flatten()
    };
    assert_eq!((scale(v72(json!({}))), scale(freebsd(json!({})))), (Some(3), Some(1)));
    let window = |profile| {
        let mut t = Script::server(profile);
        t.establish(10);
        t.snap().snd_wnd
    };
    assert_eq!((window(v72(json!({}))), window(freebsd(json!({})))), (66_608, 33_304));
}

/// FB-72-1: `rexmit_min` of 30 ms in place of 3, before the slop of 200.
#[test]
fn fb_72_1_the_least_timeout_twin() {
    // A sample of 2 ticks: 2 + 4 = 6 ticks, above 3 and below 30.
    let mut t = Script::server(v72(json!({})));
    t.establish(1).expect_rto_ms(230);
    let mut t = Script::server(freebsd(json!({})));
    t.establish(1).expect_rto_ms(206);
}

/// FB-CW-1: an increment that would round to nothing is one byte.
#[test]
fn fb_cw_1_at_least_a_byte_twin() {
    let grown = |profile: fn(Value) -> Arc<Profile>| {
        let changes = json!({
            "initial_window": 1500, "congestion": { "initial_ssthresh": 2 },
            "buffers": { "send": "4 MiB", "max": "8 MiB" },
        });
        let mut t = client(profile(changes), wide(), 10);
        t.write(3 << 20);
        t.drain();
        let before = t.snap().cwnd;
        t.recv(ack(1 + MSS).win(65_535));
        t.drain();
        t.snap().cwnd - before
    };
    assert_eq!((grown(v72), grown(freebsd)), (1, 0));
}

/// FB-WIN-7: the send buffer grows by 8192 at a time while it is seven eighths full, the peer's window and cwnd allow
/// more, up to eight ninths of sb_max (FB-BUF-5): 33304 and 24 steps.
#[test]
fn fb_win_7_the_send_buffer_grows() {
    let mut t = client(v72(json!({})), wide(), 10);
    assert_eq!(t.write(1_000_000), 33_304);
    assert_eq!(t.drain().len(), 3);
    let (mut una, mut greatest, mut steps) = (1, 33_304, Vec::new());
    for _ in 0..400 {
        let sent = t.flight() as u32;
        una += sent.min(2 * MSS);
        t.advance_ms(1).recv(ack(una).win(65_535));
        t.drain();
        t.write(1_000_000);
        t.drain();
        let size = t.snap().send_queue;
        if size > greatest {
            steps.push(size - greatest);
            greatest = size;
        }
    }
    assert_eq!(greatest, 33_304 + 24 * 8192);
    assert!(steps.iter().all(|s| s % 8192 == 0), "{steps:?}");
    // 6.0's stays.
    let mut t = client(freebsd(json!({})), wide(), 10);
    t.write(1_000_000);
    t.drain();
    t.recv(ack(1 + 2 * MSS).win(65_535));
    t.drain();
    t.write(1_000_000);
    t.drain();
    assert_eq!(t.snap().send_queue, 33_304);
}

/// FB-WIN-7: not while the peer's window is small, nor while cwnd holds data back.
#[test]
fn fb_win_7_what_keeps_the_send_buffer_small() {
    let small = Peer { wscale: Some(0), win: 20_000, ..Peer::default() };
    for (peer, window) in [(small, 10), (wide(), 2)] {
        let mut t = client(v72(json!({ "initial_window": window })), peer, 10);
        t.write(1_000_000);
        t.drain();
        t.recv(ack(1));
        t.write(1_000_000);
        t.drain();
        assert_eq!(t.snap().send_queue, 33_304);
    }
}

/// FB-WIN-8: 16384 bytes more after a round trip, told by the echo of a later timestamp than that of the ACK with which
/// it began, in which more than seven eighths of the buffer arrived.
#[test]
fn fb_win_8_the_receive_buffer_grows() {
    let play = |profile, per_round: u32| {
        let mut t =
            Script::server(profile).with_peer(Peer { wscale: Some(3), win: 8_000, ..Peer::default() });
        t.establish(20);
        let (mut next, mut windows) = (1, Vec::new());
        for _ in 0..5 {
            t.advance_ms(220);
            let mut most = 0;
            for _ in 0..per_round {
                t.recv(data(next..next + MSS));
                t.read(u64::from(MSS));
                most = t.drain().iter().filter_map(|(_, s)| s.win).fold(most, u16::max);
                next += MSS;
            }
            windows.push(most);
        }
        windows
    };
    let field = |bytes: u32| (bytes >> 3) as u16;
    let grown = field(66_608 + 16_384);
    assert_eq!(play(v72(json!({})), 45), [field(66_608), grown, grown, grown, grown]);
    // Too little in a round trip, or 6.0.
    assert_eq!(play(v72(json!({})), 39), [field(66_608); 5]);
    assert_eq!(play(freebsd(json!({})), 45), [(66_608_u32 >> 1) as u16; 5]);
}

/// FB-WIN-8: data out of order, which header prediction does not take, begin the count anew.
#[test]
fn fb_win_8_trouble_begins_the_count_anew() {
    let mut t =
        Script::server(v72(json!({}))).with_peer(Peer { wscale: Some(3), win: 8_000, ..Peer::default() });
    t.establish(20);
    let mut next = 1;
    for _ in 0..6 {
        t.advance_ms(20);
        for _ in 0..22 {
            // Two by two the other way round.
            t.recv(data(next + MSS..next + 2 * MSS));
            t.drain();
            t.recv(data(next..next + MSS));
            t.drain();
            t.read(u64::from(2 * MSS));
            t.drain();
            next += 2 * MSS;
        }
    }
    t.recv(data(next + MSS..next + 2 * MSS));
    assert_eq!(t.drain()[0].1.win, Some((66_608_u32 >> 3) as u16));
}

/// FB-54-1: the opener begins with one segment; every segment is acknowledged; no limited transmit.
#[test]
fn fb_54_1_the_defaults_of_the_script() {
    let mut t = client(v54(json!({})), wide(), 10);
    t.write(60_000);
    t.expect(data(1..1 + MSS)).expect_nothing();
    t.recv(data(1..1 + MSS)).expect(ack(1 + MSS));
    t.recv(data(1 + MSS..1 + 2 * MSS)).expect(ack(1 + 2 * MSS));

    let mut t = client(v54(json!({ "initial_window": 10 })), Peer { sack: false, ..wide() }, 10);
    t.write(60_000);
    t.drain();
    t.recv(ack(1)).expect_nothing();
    t.recv(ack(1)).expect_nothing();
    t.recv(ack(1)).expect(data(1..1 + MSS)).expect_phase("recovery");
    // FB-FR-11: the first ACK of new data ends it, though more is missing, and the window grows at once.
    t.recv(ack(1 + MSS)).expect_phase("open").expect_ssthresh(5 * 1448).expect_cwnd(6 * 1448);
    t.drain();
}

/// FB-54-2: writes of 4096 bytes with NODELAY leave as 1448, 1448, 1200, without timestamps as 1460, 1460, 1176.
#[test]
fn fb_54_2_segments_of_iperf() {
    let sizes = |changes: Value, ts: bool| {
        let mut t = client(v54(changes), Peer { ts, ..wide() }, 10);
        for _ in 0..3 {
            assert_eq!(t.write(4096), 4096);
        }
        t.drain().iter().map(|(_, s)| s.len.unwrap()).collect::<Vec<_>>()
    };
    let wide = json!({ "initial_window": 20 });
    assert_eq!(sizes(wide.clone(), true), [1448, 1448, 1200].repeat(3));
    assert_eq!(sizes(wide, false), [1460, 1460, 1176].repeat(3));
    // Where the window cuts, what waits joins.
    assert_eq!(sizes(json!({ "initial_window": 4 }), true), [1448, 1448, 1200, 1448]);
    // With Nagle's algorithm the first write ends with a short segment, since it began idle (FB-OUT-1), and no other.
    let nagle = json!({ "initial_window": 20, "output": { "nagle": "on" } });
    assert_eq!(sizes(nagle, true), [1448, 1448, 1200, 1448, 1448, 1448, 1448, 1448]);
}

/// FB-54-5, FB-WIN-2: what each bufspace makes of the window.
#[test]
fn fb_54_5_windows_of_each_bufspace() {
    for (bufspace, shift, field) in [
        (65_535_u32, 0, 65_535),
        (262_140, 2, 262_144_u32.next_multiple_of(MSS) >> 2),
        (1_048_560, 4, 1_048_560_u32.next_multiple_of(MSS) >> 4),
        (4_194_240, 6, 4_194_240_u32.next_multiple_of(MSS) >> 6),
        (16_776_960, 8, 65_535),
    ] {
        let text = |n: u32| format!("{n} bytes");
        let buffers = json!({ "send": text(bufspace), "receive": text(bufspace), "max": text(2 * bufspace) });
        let mut t = Script::client(v54(json!({ "buffers": buffers })));
        t.connect();
        t.expect(syn().win(65_535).wscale(shift));
        let field = field.min(65_535) as u16;
        t.recv(syn_ack().mss(1460).wscale(shift).win(65_535)).expect(ack(1).win(field));
    }
    // rfc1323=0: 44 segments of 1460 bytes.
    let off = json!({ "options": { "window_scaling": false, "timestamps": false }, "initial_window": 100 });
    let peer = Peer { ts: false, wscale: None, win: 65_535, ..Peer::default() };
    let mut t = client(v54(off), peer, 10);
    t.write(65_535);
    let left = t.drain();
    assert_eq!(left.iter().filter(|(_, s)| s.len == Some(1460)).count(), 44);
}

/// FB-54-3: a tick is half a millisecond, and the least timeout 3 ticks beside the slop: 2 ticks of the handshake and
/// one more make 3 x 3 + 200 ms.
#[test]
fn fb_54_3_half_milliseconds() {
    let mut t = Script::client(v54(json!({})));
    t.establish(1);
    assert_eq!(t.rto().as_nanos(), 204_500_000);
}

/// Each switch of the script turns what its sysctl turned.
#[test]
fn the_switches_of_deboer_2005() {
    let started = |changes: Value| {
        let mut t = client(v54(changes), wide(), 10);
        t.write(60_000);
        t.drain().len()
    };
    assert_eq!((started(json!({})), started(json!({ "initial_window": "rfc3390" }))), (1, 3));
    let limited = json!({ "initial_window": 10, "recovery": { "limited_transmit": 2 } });
    let mut t = client(v54(limited), wide(), 10);
    t.write(60_000);
    t.drain();
    t.recv(ack(1)).expect(data(1 + 10 * MSS..1 + 11 * MSS));
    let mut t = client(v54(json!({ "delayed_ack": { "policy": "timer-toggle" } })), wide(), 10);
    t.recv(data(1..1 + MSS)).expect_nothing();
    t.recv(data(1 + MSS..1 + 2 * MSS)).expect(ack(1 + 2 * MSS));
    // Also in the first window: what is acknowledged lies above the initial sequence number (RFC 6582 section 3.2).
    let newreno = json!({ "initial_window": 10, "recovery": { "plain": "new-reno" } });
    let mut t = client(v54(newreno), wide(), 10);
    t.write(60_000);
    t.drain();
    for _ in 0..3 {
        t.recv(ack(1));
    }
    t.expect(data(1..1 + MSS));
    t.recv(ack(1 + MSS)).expect(data(1 + MSS..1 + 2 * MSS)).expect_phase("recovery");
    let offered = |changes: Value| {
        let mut t = Script::client(v54(changes));
        t.connect();
        t.drain()[0].1.sack_ok
    };
    assert_eq!(offered(json!({})), Some(false));
    assert_eq!(offered(json!({ "options": { "sack": true } })), Some(true));
}

/// Ten segments are out, with SACK; nothing else waits.
fn ten_out(changes: Value) -> Script {
    let base = json!({ "initial_window": 10, "options": { "sack": true }, "recovery": changes });
    let mut t = client(v54(base), wide(), 10);
    t.write(u64::from(10 * MSS));
    assert_eq!(t.drain().len(), 10);
    t
}

/// FB-FR-5a: before the first report 5.4 counts from una, so that a short flight lets the window grow to ssthresh; 6.0
/// does not let it grow. With reports both say the same.
#[test]
fn fb_fr_5a_where_the_pipe_begins_twin() {
    let grown = |pipe: &str| {
        let mut t = ten_out(json!({ "bsd_pipe": pipe }));
        t.recv(ack(1 + 7 * MSS));
        for _ in 0..3 {
            t.recv(ack(1 + 7 * MSS));
        }
        t.expect_phase("recovery").expect_cwnd(1448).expect_ssthresh(5 * 1448);
        (0..6).map(|_| t.recv(ack(1 + 7 * MSS)).snap().cwnd / 1448).collect::<Vec<_>>()
    };
    assert_eq!(grown("highest-report"), [1, 1, 1, 1, 1, 1]);
    assert_eq!(grown("una"), [2, 3, 4, 5, 5, 5]);
    let cwnd = |pipe: &str| {
        let mut t = ten_out(json!({ "bsd_pipe": pipe }));
        (2..=10)
            .map(|last| {
                t.recv(ack(1).sack([(1 + MSS, 1 + last * MSS)]));
                t.drain();
                t.snap().cwnd / 1448
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(cwnd("una"), [10, 10, 1, 1, 1, 2, 3, 4, 5]);
    assert_eq!(cwnd("highest-report"), cwnd("una"));
}

/// FB-FR-6: 5.4 lets a partial ACK raise cwnd above ssthresh: one segment sent again, new ones, and two more.
#[test]
fn fb_fr_6_the_cap_of_partial_acks_twin() {
    let cwnd = |uncapped: bool| {
        let changes = json!({
            "initial_window": 10, "options": { "sack": true }, "recovery": { "partial_ack_uncapped": uncapped },
        });
        let mut t = client(v54(changes), wide(), 10);
        t.write(60_000);
        t.drain();
        let block = |left: u32, right: u32| (1 + (left - 1) * MSS, 1 + right * MSS);
        // The first and the sixth of ten are missing.
        for last in 2..=5 {
            t.recv(ack(1).sack([block(2, last)]));
            t.drain();
        }
        for last in 7..=12 {
            t.recv(ack(1).sack([block(7, last), block(2, 5)]));
            t.drain();
        }
        t.expect_phase("recovery").expect_cwnd(5 * 1448).expect_ssthresh(5 * 1448);
        t.recv(ack(1 + 5 * MSS).sack([block(7, 12)]));
        t.drain();
        t.snap().cwnd / 1448
    };
    assert_eq!((cwnd(false), cwnd(true)), (5, 6));
}

/// Data that one side sends and the other acknowledges every 20 ms, `rate` segments at a time; the window that `inflight`
/// leaves shows in what is out.
fn flights(changes: Value, rtt: u64) -> Vec<u32> {
    let mut base =
        json!({ "initial_window": 40, "buffers": { "send": "262140 bytes", "max": "524280 bytes" } });
    base["congestion"] = json!({ "inflight": changes });
    let mut t = client(v54(base), wide(), rtt);
    t.write(1 << 20);
    t.drain();
    let (mut una, mut out) = (1, Vec::new());
    for _ in 0..200 {
        // Two segments each 5 ms: 579200 bytes a second, whatever is out.
        t.advance_ms(5);
        una += 2 * MSS;
        let stamp = 1 + 2 * t.now_ms().saturating_sub(rtt) as u32;
        t.recv(ack(una).ts_val(100_000 + t.now_ms() as u32, stamp).win(65_535));
        t.write(1 << 20);
        t.drain();
        out.push(t.flight() as u32);
    }
    out
}

/// FB-INF-1, FB-OUT-4: bandwidth times round-trip time and two segments, once the average has come near: 579200 bytes a
/// second x 40 ms + 2896 = 26064 bytes, 18 segments. Off, it limits nothing.
#[test]
fn fb_inf_1_the_window_by_bandwidth() {
    assert_eq!(*flights(json!({ "on": true }), 40).last().unwrap(), 18 * MSS);
    assert!(*flights(json!({}), 40).last().unwrap() > 100 * MSS);
}

/// FB-INF-1: no limit while the least round trip is below 10 ms; the least window; more slop.
#[test]
fn fb_inf_1_its_constants() {
    assert!(*flights(json!({ "on": true }), 9).last().unwrap() > 100 * MSS);
    let end = |changes: Value| *flights(changes, 40).last().unwrap();
    let usual = end(json!({ "on": true }));
    assert_eq!(end(json!({ "on": true, "stab": 60 })), usual + 4 * MSS);
    let least = end(json!({ "on": true, "least": "57920 bytes" }));
    assert_eq!(least, 40 * MSS);
    assert_eq!(end(json!({ "on": true, "most": "14480 bytes" })), 10 * MSS);
}
