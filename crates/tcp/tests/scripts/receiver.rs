//! When the receiver acknowledges, and what its ACKs say (FB-ACK).

use serde_json::json;

use crate::common::*;

/// 90 ms apart: the second segment finds the timer running. 110 ms apart: each waits for the timer.
#[test]
fn t_fb_10_and_fb_ack_1_the_delayed_ack() {
    let mut t = serve(json!({}));
    t.at_ms(100).recv(data(1..1449)).expect_nothing_until_ms(189);
    t.at_ms(190).recv(data(1449..2897)).expect(ack(2897));
    t.at_ms(280).recv(data(2897..4345)).expect_nothing_until_ms(369);
    t.at_ms(370).recv(data(4345..5793)).expect(ack(5793)).expect_nothing_until_ms(600);

    let mut t = serve(json!({}));
    t.at_ms(100).recv(data(1..1449)).expect_at_ms(200, ack(1449));
    t.at_ms(210).recv(data(1449..2897)).expect_at_ms(310, ack(2897));
    t.at_ms(320).recv(data(2897..4345)).expect_at_ms(420, ack(4345));
}

/// The state is the timer, not a count of bytes: two short segments are a pair as well...
#[test]
fn fb_ack_1_short_segments_count() {
    let mut t = serve(json!({}));
    t.recv(data(1..11)).expect_nothing_until_ms(20);
    t.recv(data(11..21)).expect(ack(21));
}

/// ...but not with the RFC's rule of two full segments.
#[test]
fn fb_ack_1_twin_every_second_full_segment() {
    let mut t = serve(json!({ "delayed_ack": { "policy": "every-second" } }));
    t.recv(data(1..11)).expect_nothing_until_ms(20);
    t.recv(data(11..21)).expect_at_ms(110, ack(21));
    t.recv(data(21..1469)).expect_nothing_until_ms(150);
    t.recv(data(1469..2917)).expect(ack(2917));
}

#[test]
fn fb_ack_3_twin_delayed_acks_off() {
    let mut t = serve(json!({ "delayed_ack": { "policy": "immediate" } }));
    t.recv(data(1..11)).expect(ack(11));
    t.recv(data(11..21)).expect(ack(21));
}

/// Data that leave take the ACK along and stop the timer.
#[test]
fn fb_ack_2_any_ack_stops_the_timer() {
    let mut t = serve(json!({}));
    t.recv(data(1..1449)).at_ms(50);
    t.write(100);
    t.expect(data(1..101).ack(1449));
    t.at_ms(60).recv(ack(101)).expect_nothing_until_ms(1_000);
}

/// At once: out of order, filling a gap, old data, FIN.
#[test]
fn fb_ack_3_immediate_acks() {
    let mut t = serve(json!({}));
    t.recv(data(1449..2897)).expect(ack(1).sack([(1449, 2897)]));
    t.recv(data(4345..5793)).expect(ack(1).sack([(4345, 5793), (1449, 2897)]));
    // Fills one gap while the queue is not empty, then the other.
    t.recv(data(1..1449)).expect(ack(2897).sack([(4345, 5793)]));
    t.recv(data(2897..4345)).expect(ack(5793).no_sack());
    t.recv(data(1..1449)).expect(ack(5793).no_sack());
    t.recv(fin(5793)).expect(ack(5794));
}

/// The block with the newest segment first, then earlier ones, newest first; three beside timestamps.
#[test]
fn fb_ack_4_order_of_sack_blocks() {
    let mut t = serve(json!({}));
    t.recv(data(101..201)).expect(ack(1).sack([(101, 201)]));
    t.recv(data(301..401)).expect(ack(1).sack([(301, 401), (101, 201)]));
    t.recv(data(501..601)).expect(ack(1).sack([(501, 601), (301, 401), (101, 201)]));
    t.recv(data(701..801)).expect(ack(1).sack([(701, 801), (501, 601), (301, 401)]));
    t.recv(data(201..301)).expect(ack(1).sack([(101, 401), (701, 801), (501, 601)]));
    // A repeated segment is no news: the block that holds it comes first, and there is no D-SACK.
    t.recv(data(501..601)).expect(ack(1).sack([(501, 601), (101, 401), (701, 801)]));
    t.recv(data(1..101)).expect(ack(401).sack([(501, 601), (701, 801)]));
}

/// Without timestamps there is room for four.
#[test]
fn fb_ack_4_four_blocks_without_timestamps() {
    let mut t = Script::server(freebsd(json!({}))).with_peer(Peer { ts: false, ..Peer::default() });
    t.establish(10);
    for i in 0..4u32 {
        t.recv(data(200 * i + 101..200 * i + 201));
        t.drain();
    }
    t.recv(data(901..1001));
    assert_eq!(t.drain()[0].1.sack.as_ref().map(Vec::len), Some(4));
}

/// RFC 2883: the first block reports the duplicate.
#[test]
fn fb_ack_4_twin_dsack() {
    let mut t = serve(json!({ "options": { "dsack": true } }));
    t.recv(data(1..101)).recv(data(101..201)).expect(ack(201));
    t.recv(data(1..101)).expect(ack(201).sack([(1, 101)]));
    t.recv(data(301..401)).expect(ack(201).sack([(301, 401)]));
    t.recv(data(301..401)).expect(ack(201).sack([(301, 401), (301, 401)]));
    let mut t = serve(json!({}));
    t.recv(data(1..101)).recv(data(101..201)).expect(ack(201));
    t.recv(data(1..101)).expect(ack(201).no_sack());
}

/// The echo is that of the first of the two segments: the sender's sample includes the delay.
#[test]
fn fb_ack_5_the_first_of_a_pair_is_echoed() {
    let mut t = serve(json!({}));
    t.at_ms(50).recv(data(1..1449).ts_val(700_000, 0));
    t.at_ms(90).recv(data(1449..2897).ts_val(700_040, 0)).expect(ack(2897).ts_val(91, 700_000));
    // Out of order: the echo stays; the segment that fills the gap brings its own.
    t.at_ms(95).recv(data(4345..5793).ts_val(700_045, 0)).expect(ack(2897).ts_val(96, 700_000));
    t.at_ms(99).recv(data(2897..4345).ts_val(700_049, 0)).expect(ack(5793).ts_val(100, 700_049));
}

/// An old segment sent again changes no echo (BSD records it after cutting what is old).
#[test]
fn fb_ack_5_an_old_duplicate_is_not_echoed() {
    let mut t = serve(json!({}));
    t.recv(data(1..101).ts_val(700_000, 0)).recv(data(101..201).ts_val(700_001, 0)).expect(ack(201));
    t.recv(data(1..101).ts_val(700_009, 0)).expect(ack(201).ts_val(11, 700_000));
}

/// The ACK of a pair is built before the reader runs: 66608 - 1448. An out-of-order segment's shows the
/// whole window again: same acknowledgment, larger window.
#[test]
fn fb_ack_6_and_7_the_windows_of_two_acks() {
    let mut t = serve(json!({}));
    t.recv(data(1..1449));
    assert_eq!(t.read(2000), 1448);
    t.recv(data(1449..2897)).expect(ack(2897).win(32_580));
    assert_eq!(t.read(2000), 1448);
    t.expect_nothing();
    t.recv(data(4345..5793)).expect(ack(2897).win(33_304).sack([(4345, 5793)]));
}

/// From the timer the ACK comes after the reader: no fluctuation.
#[test]
fn fb_ack_7_twin_acks_of_the_timer_show_the_whole_window() {
    let mut t = serve(json!({}));
    t.recv(data(1..1449));
    assert_eq!(t.read(2000), 1448);
    t.expect_at_ms(110, ack(1449).win(33_304));
    t.recv(data(2897..4345)).expect(ack(1449).win(33_304));
}

/// 48 segments wait out of order; the next is dropped, and answered. One that fills the gap is taken.
#[test]
fn fb_ack_8_the_limit_of_the_reassembly_queue() {
    let mut t = serve(json!({}));
    for i in 1..=48u32 {
        t.recv(data(100 * i + 1..100 * i + 101)).expect(ack(1).sack([(101, 100 * i + 101)]));
    }
    t.recv(data(4901..5001)).expect(ack(1).sack([(101, 4901)]));
    t.recv(data(1..101)).expect(ack(4901).no_sack());
    t.recv(data(4901..5001)).expect_at_ms(110, ack(5001));
}

#[test]
fn fb_ack_8_twin_no_limit() {
    let mut t = serve(json!({ "buffers": { "reassembly_limit": 100 } }));
    for i in 1..=49u32 {
        t.recv(data(100 * i + 1..100 * i + 101)).expect(ack(1).sack([(101, 100 * i + 101)]));
    }
    t.recv(data(1..101)).expect(ack(5001));
}

/// PAWS: data with an older timestamp are dropped and answered; an ACK that was overtaken is dropped.
#[test]
fn paws_drops_what_is_older_than_the_last() {
    let mut t = serve(json!({}));
    t.recv(data(1..101).ts_val(700_000, 0)).recv(data(101..201).ts_val(700_001, 0)).expect(ack(201));
    t.recv(data(201..301).ts_val(699_999, 0)).expect(ack(201));
    t.recv(ack(1).ts_val(699_999, 0)).expect_nothing();
    t.recv(data(201..301).ts_val(700_000, 0)).expect_at_ms(110, ack(301));
    assert_eq!(t.read(1_000), 300);
}

/// An echo of what was never sent gives no sample.
#[test]
fn an_echo_from_the_future_is_no_sample() {
    let mut t = serve(json!({}));
    t.write(100);
    t.expect(data(1..101));
    let srtt = t.snap().srtt;
    t.at_ms(40).recv(ack(101).ts_val(100_040, 4_000));
    assert_eq!(t.snap().srtt, srtt);
}

/// Segments that overlap in every way; each byte counts once.
#[test]
fn overlapping_segments_are_cut() {
    let mut t = serve(json!({}));
    t.recv(data(51..151)).expect(ack(1).sack([(51, 151)]));
    t.recv(data(101..251)).expect(ack(1).sack([(51, 251)]));
    t.recv(data(1..101)).expect(ack(251));
    t.recv(data(201..301)).expect(ack(301));
    assert_eq!(t.read(1_000), 300);
}
