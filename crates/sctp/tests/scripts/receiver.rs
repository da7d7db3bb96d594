//! When data are acknowledged, and what SACKs say (RFC 9260 section 6.2; SC-R-1 to SC-R-4).

use rexmit_stack::Event;
use rexmit_wire::sctp::{Chunk, DataChunk};
use serde_json::json;

use crate::common::{Script, data, lksctp, rfc, sack};

/// SC-R-1: the first at once, then each second, or after the delay.
#[test]
fn each_second_packet_or_a_delay() {
    let mut t = Script::up(lksctp(json!({})));
    t.recv(data(1, 100)).expect("SACK 1").recv(data(2, 100)).recv(data(3, 100)).expect("SACK 3");
    t.at_ms(100).recv(data(4, 100)).expect_at_ms(300, "SACK 4");
    // What the timer acknowledged counts no more.
    t.recv(data(5, 100)).expect_at_ms(500, "SACK 5");
    let mut t = Script::up(rfc(json!({})));
    t.recv(data(1, 100)).expect_nothing_until_ms(199).expect_at_ms(200, "SACK 1");
}

/// SC-R-2: at once with a gap, and for nothing but duplicates. SC-R-3: what fills the gap is a packet like others.
#[test]
fn at_once_with_a_gap_and_for_duplicates() {
    for profile in [lksctp(json!({})), rfc(json!({}))] {
        let mut t = Script::up(profile);
        t.recv(data(1, 100)).drain();
        t.recv(data(3, 100)).expect("SACK 1 [3-3]").recv(data(4, 100)).expect("SACK 1 [3-4]");
        t.recv(data(6, 100)).expect("SACK 1 [3-4 6-6]").recv(data(4, 100)).expect("SACK 1 [3-4 6-6] dup 4");
        t.recv(data(5, 100)).expect("SACK 1 [3-6]").at_ms(500).recv(data(2, 100)).expect_at_ms(700, "SACK 6");
        t.recv(data(2, 100)).expect("SACK 6 dup 2").recv(data(7, 100));
        t.recv(vec![Chunk::Data(data(7, 100)), Chunk::Data(data(8, 100))]).expect("SACK 8 dup 7");
    }
}

/// A bundle of a timeout that fills the gap and ends with what had come: lksctp answers at once, so that the next packet's
/// SACK waits. A bundle that ends with what is new is a packet like others.
#[test]
fn a_duplicate_at_the_end_of_a_packet_is_answered_at_once() {
    let bundle = |tsns: &[u32]| tsns.iter().map(|&tsn| Chunk::Data(data(tsn, 100))).collect::<Vec<_>>();
    for (at_once, profile) in [(true, lksctp(json!({}))), (false, rfc(json!({})))] {
        let mut t = Script::up(profile);
        t.recv(data(1, 100)).drain();
        t.recv(data(3, 100)).expect("SACK 1 [3-3]").recv(bundle(&[2, 3]));
        if at_once {
            t.expect("SACK 3 dup 3").recv(data(4, 100)).expect_at_ms(200, "SACK 4");
        } else {
            t.recv(data(4, 100)).expect("SACK 4 dup 3");
        }
        let delayed = if at_once { 400 } else { 200 };
        t.recv(bundle(&[4, 5])).expect_at_ms(delayed, "SACK 5 dup 4");
    }
}

/// RFC 9260 section 6.2: the I bit asks for a SACK at once.
#[test]
fn the_immediate_bit() {
    let asking = DataChunk { immediate: true, ..data(1, 100) };
    let mut t = Script::up(rfc(json!({})));
    t.recv(asking.clone()).expect("SACK 1");
    let mut t = Script::up(lksctp(json!({ "sack": { "first_at_once": false } })));
    t.recv(asking).expect_nothing_until_ms(199).expect_at_ms(200, "SACK 1");
}

/// A SACK that waits goes along with data that leave, where both fit.
#[test]
fn a_sack_goes_along_with_data() {
    let mut t = Script::up(rfc(json!({})));
    t.recv(data(1, 100)).write(100).expect("SACK 1 + 1:100").expect_nothing_until_ms(500);
    t.recv(data(2, 100)).write(1452).expect("SACK 2").expect("2:1452");
}

/// Messages are read one by one, and the offset tells where each began.
#[test]
fn a_read_ends_with_its_message() {
    let mut t = Script::up(rfc(json!({})));
    t.recv(data(1, 100)).recv(data(2, 100)).expect("SACK 2").expect_event(Event::Readable);
    assert_eq!(t.read(60), (0, 60));
    assert_eq!(t.read(u64::MAX), (60, 40));
    assert_eq!(t.read(u64::MAX), (100, 100));
    assert_eq!(t.read(u64::MAX).1, 0);
}

fn window(t: &Script) -> u32 {
    let packet = t.last.as_ref().and_then(|packet| packet.sctp()).expect("a packet");
    packet
        .chunks
        .iter()
        .find_map(|c| if let Chunk::Sack(s) = c { Some(s.window) } else { None })
        .expect("a SACK")
}

/// The window is what is free; once it is closed nothing beyond is taken, and a reader that makes room tells the peer.
#[test]
fn the_window_closes_and_opens() {
    let mut t = Script::up(rfc(json!({ "buffers": { "receive": "3000 bytes" } })));
    t.recv(data(1, 1000)).recv(data(2, 1000)).expect("SACK 2");
    assert_eq!(window(&t), 1000);
    t.recv(data(4, 1000)).expect("SACK 2 [4-4]");
    assert_eq!(window(&t), 0);
    t.recv(data(5, 1000)).expect("SACK 2 [4-4]");
    assert_eq!(t.assoc.faults().data_beyond_window, 1);
    // What is missing below is taken all the same (RFC 9260 section 6.2).
    t.recv(data(3, 1000)).expect_nothing();
    t.at_ms(100);
    // It is more than the buffer holds, by as much; an update is worth a packet.
    assert_eq!((t.read(1000), t.read(1000)), ((0, 1000), (1000, 1000)));
    t.expect_nothing();
    t.read(1000);
    t.expect("SACK 4");
    assert_eq!(window(&t), 2000);
}

/// A closed window is probed by one chunk while nothing is in flight (RFC 9260 section 6.1 A); answers keep the
/// association up for any time.
#[test]
fn a_closed_window_is_probed() {
    let mut t = Script::up(rfc(json!({})));
    t.write(100).expect("1:100");
    let closed = |tsn| rexmit_wire::sctp::SackChunk { window: 0, ..sack(tsn) };
    t.recv(closed(1)).writes(2, 100).expect("2:100").expect_nothing();
    let mut at = 0;
    for n in 1..20 {
        at += 1_000 * (1 << n.min(6)) / 2;
        at = at.min(60_000 * 20);
        while t.drain().is_empty() {
            t.advance_ms(500);
        }
        t.recv(closed(1)).expect_nothing();
    }
    t.recv(sack(2)).expect("3:100");
    assert!(t.now_ms() > 300_000 && at > 0);
}
