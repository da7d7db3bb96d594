//! Windows (FB-WIN) and buffers (FB-BUF).

use rexmit_stack::Event;
use serde_json::json;

use crate::common::*;

fn small_receiver() -> Script {
    let mut t = Script::server(freebsd(json!({ "buffers": { "receive": "4344 bytes" } })))
        .with_peer(Peer { wscale: None, ..Peer::default() });
    t.establish(10);
    t
}

/// The free space, the right edge standing still; 0 where less than a segment and a quarter is left.
#[test]
fn fb_win_1_the_advertised_window() {
    let mut t = small_receiver();
    t.recv(data(1..1449));
    t.recv(data(1449..2897)).expect(ack(2897).win(1448));
    t.at_ms(50).recv(data(2897..4345)).expect_at_ms(150, ack(4345).win(0));
    // 1000 bytes are free: a silly window, so still 0 if asked. The probe's byte fits and is taken.
    assert_eq!(t.read(1000), 1000);
    t.recv(data(4345..4346)).expect(ack(4346).win(0));
}

/// A read sends an update at two segments or half the buffer, not before.
#[test]
fn fb_win_5_a_window_update() {
    let mut t = small_receiver();
    t.recv(data(1..1449));
    t.recv(data(1449..2897)).expect(ack(2897).win(1448));
    t.recv(data(2897..4345)).expect_at_ms(110, ack(4345).win(0));
    t.read(2171);
    t.expect_nothing();
    t.read(1);
    t.expect(ack(4345).win(2172));
    t.read(2172);
    t.expect(ack(4345).win(4344));
}

/// With a large buffer two segments are the measure.
#[test]
fn fb_win_5_two_segments() {
    let mut t = serve(json!({}));
    t.recv(data(1..1449));
    t.recv(data(1449..2897)).expect(ack(2897).win(31_856));
    t.read(2895);
    t.expect_nothing();
    t.read(1);
    t.expect(ack(2897).win(33_304));
}

fn scale_asked(changes: serde_json::Value) -> Option<u8> {
    let mut t = Script::client(freebsd(changes));
    t.connect();
    t.drain()[0].1.wscale.flatten()
}

/// 5.x and 6.x: the smallest shift with which 65535 covers the receive buffer.
#[test]
fn fb_win_2_the_scale_follows_the_receive_buffer() {
    for (bytes, shift) in
        [(65_536, 1), (65_535, 0), (262_140, 2), (1_048_560, 4), (4_194_240, 6), (16_776_960, 8)]
    {
        let buffers = json!({ "receive": format!("{bytes} bytes"), "max": "33554432 bytes" });
        assert_eq!(scale_asked(json!({ "buffers": buffers })), Some(shift), "{bytes}");
    }
}

/// 7.x: it covers the largest buffer.
#[test]
fn fb_win_2_twin_the_scale_follows_the_largest_buffer() {
    assert_eq!(scale_asked(json!({ "window": { "scale": "max-buffer" } })), Some(3));
    assert_eq!(scale_asked(json!({ "options": { "window_scaling": false } })), None);
}

/// SYN and SYN-ACK: unscaled, at most 65535; the next segment is scaled.
#[test]
fn fb_win_3_windows_of_syns_are_unscaled() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect();
    t.expect(syn().win(65_535).wscale(1));
    t.recv(syn_ack().mss(1460).wscale(4).sack_ok().win(30_000)).expect(ack(1).win(33_304));
    t.expect_snd_wnd(30_000);
    t.write(1448);
    t.expect(data(1..1449)).recv(ack(1449).win(1_000)).expect_snd_wnd(16_000);
}

/// 6.x takes the window of the handshake's third segment as it stands...
#[test]
fn fb_win_4_the_third_segment_is_taken_unscaled() {
    let mut t = serve(json!({}));
    t.expect_snd_wnd(33_304);
    t.write(5792);
    t.drain();
    // Same acknowledgment, scaled: a larger window, so no duplicate.
    t.recv(ack(1)).expect_snd_wnd(66_608);
    assert_eq!(t.snap().counters.dup_acks, 0);
}

/// ...7.x scales it.
#[test]
fn fb_win_4_twin_the_third_segment_is_scaled() {
    let mut t = serve(json!({ "window": { "third_segment_unscaled": false } }));
    t.expect_snd_wnd(66_608);
    t.write(5792);
    t.drain();
    t.recv(ack(1)).expect_snd_wnd(66_608);
    assert_eq!(t.snap().counters.dup_acks, 1);
}

/// A larger window with the same acknowledgment is taken and lets data go; a smaller one is not taken.
#[test]
fn fb_win_6_a_window_update_lets_data_go() {
    let mut t =
        Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, win: 1448, ..Peer::default() });
    t.establish(10);
    t.write(4344);
    t.expect(data(1..1449));
    t.recv(ack(1).win(2896)).expect(data(1449..2897)).expect_snd_wnd(2896);
    t.recv(ack(1).win(1448)).expect_snd_wnd(2896);
    // Newer by its acknowledgment: taken though smaller.
    t.recv(ack(1449).win(1448)).expect_snd_wnd(1448);
    // Newer by its sequence number.
    t.recv(data(1..11).ack(1449).win(4000)).expect(data(2897..4345)).expect_snd_wnd(4000);
}

/// An old duplicate's window is no news, even if it is larger.
#[test]
fn fb_win_6_an_old_duplicate_brings_no_window() {
    let mut t = Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, ..Peer::default() });
    t.establish(10);
    t.recv(data(1..101).win(9_000));
    t.recv(data(101..201).win(8_000)).expect(ack(201));
    t.expect_snd_wnd(8_000);
    t.recv(data(1..51).win(9_500)).expect(ack(201));
    t.expect_snd_wnd(8_000);
}

/// Rounded up to whole segments: 23 and 46 of them.
#[test]
fn fb_buf_1_buffers_are_whole_segments() {
    let mut t = serve(json!({}));
    assert_eq!(t.write(100_000), 33_304);
    t.drain();
    let mut t = serve(json!({ "buffers": { "round_to_mss": false } }));
    assert_eq!(t.write(100_000), 32_768);
    t.drain();
    // The receiving side: 66608 >> 1 after the handshake.
    let mut t = serve(json!({}));
    t.recv(data(1..2)).expect_at_ms(110, ack(2).win(33_303));
}

#[test]
fn t_fb_8_the_flight_never_exceeds_33304_bytes() {
    let mut t = serve(json!({ "initial_window": 40 }));
    t.write(33_304);
    t.drain();
    assert_eq!(t.flight(), 33_304);
    let mut una = 1;
    for _ in 0..30 {
        una += 2896;
        t.advance_ms(1).recv(ack(una));
        t.write(100_000);
        t.drain();
        assert!(t.flight() <= 33_304);
    }
    assert!(t.snap().cwnd > 2 * 33_304 - 2896);
}

/// Bytes leave the buffer when they are acknowledged; a writer sleeps until 2048 are free.
#[test]
fn fb_buf_2_and_3_a_blocked_writer_is_woken_at_the_low_water_mark() {
    let mut t = serve(json!({ "initial_window": 40 }));
    assert_eq!(t.write(40_000), 33_304);
    t.drain();
    t.expect_event(Event::Connected);
    t.advance_ms(10).recv(ack(1449));
    t.recv(ack(1449 + 600));
    t.expect_event(Event::Writable);
    t.drain();
    assert_eq!(t.snap().send_queue, 33_304 - 2048);
    assert_eq!(t.write(40_000 - 33_304), 2048);
    t.drain();
}

/// The writer's last bytes need no more room than they have.
#[test]
fn fb_buf_3_less_than_the_low_water_mark_is_taken_if_it_is_all() {
    let mut t = serve(json!({ "initial_window": 40 }));
    assert_eq!(t.write(33_000), 33_000);
    assert_eq!(t.write(305), 0);
    assert_eq!(t.write(304), 304);
    t.drain();
}

/// A buffer below the low-water mark does not put the writer to sleep for ever.
#[test]
fn fb_buf_3_a_buffer_smaller_than_the_mark() {
    let mut t = serve(json!({ "buffers": { "send": "1000 bytes" } }));
    assert_eq!(t.write(1500), 1000);
    t.expect(data(1..1001)).recv(ack(1001));
    t.expect_event(Event::Writable);
    assert_eq!(t.write(500), 500);
    t.expect(data(1001..1501));
}

/// 5000 bytes in pieces of 2048 with "more to come": 1448, 1448, 1448, 656 (FB-APP-2).
#[test]
fn fb_buf_4_a_write_is_handed_down_in_pieces() {
    let mut t = serve(json!({}));
    assert_eq!(t.write(5000), 5000);
    t.expect(data(1..1449).no_psh()).expect(data(1449..2897).no_psh());
    t.expect(data(2897..4345).no_psh()).expect(data(4345..5001).psh());
}

/// Without "more to come" between the pieces the short rests would leave: each piece is a write of its own.
#[test]
fn fb_buf_4_twin_three_writes() {
    let mut t = serve(json!({ "output": { "nagle": "off" } }));
    for n in [2048, 2048, 904] {
        t.write(n);
    }
    t.expect(data(1..1449)).expect(data(1449..2049)).expect(data(2049..3497)).expect(data(3497..4097));
    t.expect(data(4097..5001));
}

/// 1 window beyond which nothing is kept: what lies to the right is cut off.
#[test]
fn data_beyond_the_window_are_not_kept() {
    let mut t = small_receiver();
    t.recv(data(1449..5793)).expect(ack(1).sack([(1449, 4345)]));
    t.recv(data(1..1449)).expect(ack(4345).win(0).no_sack());
    assert_eq!(t.read(10_000), 4344);
    t.expect(ack(4345).win(4344));
    // Wholly beyond: answered and dropped.
    t.recv(data(8689..8789)).expect(ack(4345).no_sack());
}
