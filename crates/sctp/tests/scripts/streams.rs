//! Streams, fragments, order, I-DATA, and messages given up (RFC 9260 sections 6.5 to 6.10; RFC 8260; RFC 3758).

use rexmit_stack::{Delivery, Event};
use rexmit_units::Duration;
use rexmit_wire::Payload;
use rexmit_wire::sctp::{Chunk, DataChunk, Extension, InitChunk, kind};
use serde_json::json;

use crate::common::{PEER_TSN, Script, data, gaps, init, rfc, sack};

fn up() -> Script {
    Script::up(rfc(json!({})))
}

/// An association with I-DATA.
fn interleaved() -> Script {
    let kinds = Extension::Chunks([kind::I_DATA, kind::I_FORWARD_TSN, kind::FORWARD_TSN].into());
    let answer = InitChunk { extensions: vec![kinds, Extension::ForwardTsn], ..init() };
    Script::up_with(rfc(json!({ "association": { "interleaving": true } })), answer)
}

fn on(stream: u16) -> Delivery {
    Delivery { stream, ..Delivery::default() }
}

/// A piece of a message of the peer: TSN, stream and number, begin and end, offset, length.
fn piece(
    tsn: u32,
    (stream, message): (u16, u32),
    (begin, end): (bool, bool),
    place: (u64, u32),
) -> DataChunk {
    DataChunk {
        stream,
        message,
        begin,
        end,
        payload: Payload::Stream { offset: place.0, len: place.1 },
        ..data(tsn, 1)
    }
}

/// RFC 9260 section 6.9: fragments fill packets, and the last one shares its with what follows.
#[test]
fn a_long_message_is_cut() {
    let mut t = up();
    t.write(3000).expect("1:1452 B").expect("2:1452 -").expect("3:96 E");
    let mut t = Script::up_from(
        rexmit_sctp::AssociationConfig {
            mtu: 576,
            ..crate::common::config(rfc(json!({})), rexmit_sctp::Role::Active)
        },
        init(),
    );
    t.write(1000).expect("1:528 B").expect("2:472 E");
}

/// RFC 9260 section 6.10: chunks share a packet as far as there is room.
#[test]
fn chunks_are_bundled() {
    let mut t = Script::up(rfc(json!({ "output": { "nagle": true } })));
    t.write(10).expect("1:10").write(700).write(600).expect_nothing();
    t.write(300).expect("2:700 + 3:600").recv(sack(3)).expect("4:300");
}

/// Each stream counts its own messages; an unordered one does not count.
#[test]
fn numbers_of_streams() {
    let mut t = up();
    t.send(10, on(1))
        .expect("1:10 s1#0")
        .send(10, on(2))
        .expect("2:10 s2#0")
        .send(10, on(1))
        .expect("3:10 s1#1");
    t.send(10, Delivery { unordered: true, ..on(1) }).drain();
    t.send(10, on(1)).expect("5:10 s1#2");
    assert_eq!(t.try_send(10, on(16)), 0, "16 streams were asked for");
}

/// RFC 9260 section 6.6: a stream waits for its own messages only.
#[test]
fn streams_do_not_wait_for_each_other() {
    let mut t = up();
    let whole = (true, true);
    t.recv(piece(2, (1, 0), whole, (10, 10))).drain();
    assert_eq!(t.read(99), (10, 10));
    t.recv(piece(4, (0, 1), whole, (30, 10))).drain();
    assert_eq!(t.read(99).1, 0);
    t.recv(DataChunk { unordered: true, ..piece(5, (0, 0), whole, (40, 10)) }).drain();
    assert_eq!(t.read(99), (40, 10));
    t.recv(piece(1, (0, 0), whole, (0, 10))).drain();
    assert_eq!((t.read(99), t.read(99)), ((0, 10), (30, 10)));
}

/// Fragments in any order.
#[test]
fn fragments_in_any_order() {
    for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1], [1, 3, 0, 2]] {
        let mut t = up();
        for n in order {
            let ends = (n == 0, n == 3);
            t.recv(piece(n + 1, (0, 0), ends, (u64::from(n) * 10, 10))).drain();
        }
        assert_eq!(t.read(99), (0, 40), "{order:?}");
    }
}

/// RFC 9260 section 6.9: a message that is larger than the buffer is read before it is whole, in order, and nothing
/// comes between.
#[test]
fn a_message_larger_than_the_buffer() {
    let mut t = Script::up(rfc(json!({ "buffers": { "receive": "3000 bytes" } })));
    t.recv(piece(1, (0, 0), (true, false), (0, 1400)))
        .recv(piece(2, (0, 0), (false, false), (1400, 1400)))
        .drain();
    t.expect_event(Event::Readable);
    assert_eq!((t.read(9999), t.read(9999)), ((0, 1400), (1400, 1400)));
    t.drain();
    t.recv(DataChunk { unordered: true, ..piece(4, (0, 0), (true, true), (4200, 10)) }).drain();
    assert_eq!(t.read(9999).1, 0);
    t.recv(piece(3, (0, 0), (false, true), (2800, 1400))).drain();
    assert_eq!((t.read(9999), t.read(9999)), ((2800, 1400), (4200, 10)));
}

/// RFC 8260 section 2.2: I-DATA, its message numbers of 32 bits and its fragment numbers.
#[test]
fn interleaving() {
    let mut t = interleaved();
    t.write(2000).expect("1:1448 B f0").expect("2:552 E f1").send(10, on(1)).expect("3:10 s1#0 f0");
    let piece = |tsn, stream, fragment: u32, end, offset| DataChunk {
        fragment: Some(fragment),
        ..piece(tsn, (stream, 0), (fragment == 0, end), (offset, 10))
    };
    // Two messages, their fragments in turn.
    t.recv(piece(1, 0, 0, false, 0)).recv(piece(2, 1, 0, false, 20)).drain();
    t.recv(piece(3, 0, 1, true, 10)).recv(piece(4, 1, 1, true, 30)).drain();
    assert_eq!((t.read(99), t.read(99)), ((0, 20), (20, 20)));
    // RFC 8260 section 2.2.2: DATA means that the peer is at fault.
    t.recv(data(5, 10)).expect("ABORT 13").expect_event(Event::Closed);
}

/// RFC 7496 section 3.1: sent again so often at most; then the peer is told to wait no more.
#[test]
fn limited_retransmissions() {
    let mut t = up();
    t.send(100, Delivery { max_retransmits: Some(1), ..on(3) }).expect("1:100 s3#0").send(100, on(3)).drain();
    t.recv(gaps(0, &[(2, 2)]));
    t.expect_at_ms(1000, "1:100 s3#0").expect_at_ms(3000, "FORWARD-TSN 1 s3#0");
    // It is sent again by the timer until the peer has moved.
    t.expect_at_ms(7000, "FORWARD-TSN 1 s3#0").recv(sack(2)).expect_nothing_until_ms(25_000);
    assert_eq!(t.snap().send_queue, 0);
}

/// RFC 3758 section 4.1: given up by its age, before it leaves or when it would leave again; all of a long message.
#[test]
fn timed_reliability() {
    let mut t = up();
    let short = Delivery { lifetime: Some(Duration::from_millis(500)), ..on(0) };
    t.send(3000, short).drain();
    t.recv(gaps(0, &[(2, 2)]))
        .expect_at_ms(1000, "FORWARD-TSN 1 s0#0")
        .recv(sack(2))
        .expect("FORWARD-TSN 3 s0#0");
    t.recv(sack(3)).writes(4, 1400).drain();
    // One that never left takes no number.
    t.send(100, short).expect_nothing().advance_ms(600);
    t.drain();
    t.write(50).drain();
    t.recv(sack(5)).expect("6:1400").expect("7:1400").expect("8:50");
}

/// RFC 3758 section 3.6: the receiver passes over what was given up, delivers what waited behind it, and answers at once.
#[test]
fn passing_over() {
    let mut t = up();
    let whole = (true, true);
    t.recv(piece(1, (0, 0), (true, false), (0, 10)))
        .recv(piece(3, (0, 1), whole, (20, 10)))
        .expect("SACK 1 [3-3]");
    let cumulative = PEER_TSN + 1;
    t.recv(Chunk::ForwardTsn { cumulative, skipped: vec![(0, 0)] }).expect("SACK 3");
    assert_eq!(t.read(99), (20, 10));
    // One that says nothing new is answered too.
    t.recv(Chunk::ForwardTsn { cumulative, skipped: vec![(0, 0)] }).expect("SACK 3");
    t.recv(piece(4, (0, 2), whole, (30, 10))).drain();
    assert_eq!(t.read(99), (30, 10));
}

/// RFC 8260 section 2.3.1.
#[test]
fn passing_over_with_interleaving() {
    let mut t = interleaved();
    t.send(100, Delivery { max_retransmits: Some(0), ..on(3) }).drain();
    t.expect_at_ms(1000, "I-FORWARD-TSN 12");
    let mut peer = Script::up_with(
        rfc(json!({ "association": { "interleaving": true } })),
        InitChunk { extensions: vec![Extension::Chunks([kind::I_DATA, kind::FORWARD_TSN].into())], ..init() },
    );
    let mut value = PEER_TSN.to_be_bytes().to_vec();
    value.extend([0, 3, 0, 0, 0, 0, 0, 0]);
    let next = DataChunk { fragment: Some(0), ..piece(2, (3, 1), (true, true), (10, 10)) };
    peer.recv(next).expect("SACK 0 [2-2]");
    peer.recv(Chunk::Other { kind: kind::I_FORWARD_TSN, flags: 0, value: value.into() }).expect("SACK 2");
    assert_eq!(peer.read(99), (10, 10));
}

/// A message is taken whole or not at all; a longer one than the buffer once that is empty.
#[test]
fn the_send_buffer() {
    let mut t = Script::up(rfc(json!({ "buffers": { "send": "3000 bytes" } })));
    t.write(2000).drain();
    assert_eq!(t.try_send(1001, on(0)), 0);
    t.write(1000).drain();
    assert_eq!(t.try_send(5000, on(0)), 0);
    t.recv(sack(2)).expect_nothing();
    t.recv(sack(3)).expect_event(Event::Writable);
    t.write(5000).drain();
    assert_eq!(t.try_send(1, on(0)), 0);
}
