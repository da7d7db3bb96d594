//! Bad input: each kind has its rule of RFC 9260, its counter, and no effect beyond that rule.

use rexmit_sctp::{Faults, Role, State};
use rexmit_stack::Event;
use rexmit_wire::sctp::{Chunk, DataChunk, Gap, InitChunk, SackChunk, kind};
use serde_json::json;

use crate::common::{PEER_TAG, PEER_TSN, Script, TAG, TSN, config, data, gaps, init, rfc, sack};
use crate::life::{cookie, passive};

fn up() -> Script {
    Script::up(rfc(json!({})))
}

fn other(kind: u8, value: &[u8]) -> Chunk {
    Chunk::Other { kind, flags: 0, value: value.into() }
}

fn tag_of_last(t: &Script) -> u32 {
    t.last.as_ref().and_then(|packet| packet.sctp()).expect("a packet").tag
}

/// Section 8.5: nothing but the right tag, or the reflected one.
#[test]
fn wrong_tags() {
    let mut t = up();
    t.recv_packet(TAG ^ 1, vec![Chunk::Data(data(1, 10))]).expect_nothing();
    t.recv_packet(0, vec![Chunk::Abort { reflected: false, causes: vec![] }]);
    t.recv_packet(TAG, vec![Chunk::Abort { reflected: true, causes: vec![] }]);
    t.recv_packet(TAG ^ 1, vec![Chunk::ShutdownAck]).expect_state(State::Established).expect_nothing();
    assert_eq!(*t.assoc.faults(), Faults { wrong_tags: 4, ..Faults::default() });
}

/// Section 3.2: bytes that are not a packet, chunks that lie about their length.
#[test]
fn malformed_bytes() {
    let mut t = up();
    let head = [PEER_TAG, TAG].map(u32::to_be_bytes);
    let mut bytes = vec![0x27, 0x10, 0x13, 0x89];
    bytes.extend(head[1]);
    bytes.extend([0; 4]);
    t.recv_bytes(&bytes[..8]).recv_bytes(&[&bytes[..], &[3, 0, 0, 0]].concat());
    t.recv_bytes(&[&bytes[..], &[3, 0, 0, 90, 1]].concat()).expect_nothing();
    assert_eq!(t.assoc.faults().malformed_packets, 3);
    // A SACK that is too short, a HEARTBEAT without information.
    t.recv_bytes(&[&bytes[..], &[3, 0, 0, 8, 1, 2, 3, 4], &[4, 0, 0, 4]].concat()).expect_nothing();
    assert_eq!(t.assoc.faults().malformed_chunks, 2);
    t.expect_state(State::Established);
}

/// Section 3.2: the two high bits of an unknown type.
#[test]
fn unknown_chunks() {
    for (kind, answer, goes_on) in
        [(0x3f, false, false), (0x7f, true, false), (0xbf, false, true), (0xff, true, true)]
    {
        let mut t = up();
        t.recv(vec![other(kind, &[1, 2]), Chunk::Heartbeat([5].into())]);
        if answer {
            t.expect("ERROR 6");
        }
        if goes_on {
            t.expect("HEARTBEAT-ACK");
        }
        t.expect_nothing();
        assert_eq!(t.assoc.faults().unknown_chunks, 1);
    }
}

/// Section 8.4: what an endpoint without association answers to.
#[test]
fn out_of_the_blue() {
    let mut t = passive();
    let blue = 0x7777;
    t.recv_packet(blue, vec![Chunk::Data(data(1, 10))]).expect("ABORT T");
    assert_eq!(tag_of_last(&t), blue);
    t.recv_packet(blue, vec![Chunk::ShutdownAck]).expect("SHUTDOWN-COMPLETE T");
    assert_eq!(tag_of_last(&t), blue);
    for silent in [
        Chunk::Abort { reflected: false, causes: vec![] },
        Chunk::ShutdownComplete { reflected: false },
        Chunk::CookieAck,
        Chunk::Error { causes: vec![3] },
    ] {
        t.recv_packet(blue, vec![silent]).expect_nothing();
    }
    t.recv_packet(blue, vec![Chunk::CookieEcho([1; 60].into())]).expect_nothing();
    assert_eq!((t.assoc.faults().out_of_the_blue, t.assoc.faults().bad_cookies), (6, 1));
    t.expect_state(State::Listen);
    // In COOKIE-WAIT too (section 8.5.1 E).
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    t.connect().expect("INIT").recv_packet(TAG, vec![Chunk::ShutdownAck]).expect("SHUTDOWN-COMPLETE T");
}

/// Sections 5.1.5 and 5.2.6: a cookie that was changed, that is too old, that was echoed under another tag.
#[test]
fn bad_cookies() {
    let mut t = passive();
    let good = cookie(&mut t, init());
    let mut bad = good.clone();
    bad[20] ^= 1;
    t.recv(Chunk::CookieEcho(bad))
        .expect_nothing()
        .recv_packet(TAG ^ 1, vec![Chunk::CookieEcho(good.clone())]);
    t.expect_nothing()
        .at_ms(60_001)
        .recv(Chunk::CookieEcho(good))
        .expect("ERROR 3")
        .expect_state(State::Listen);
    assert_eq!(
        *t.assoc.faults(),
        Faults { bad_cookies: 1, wrong_tags: 1, stale_cookies: 1, ..Faults::default() }
    );
    assert_eq!(tag_of_last(&t), PEER_TAG);
    // The other side asks for a new one.
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    let answer = || Chunk::InitAck(Box::new(InitChunk { cookie: Some([1; 4].into()), ..init() }));
    t.connect().expect("INIT").recv(answer()).expect("COOKIE-ECHO");
    t.recv(Chunk::Error { causes: vec![3] }).expect("INIT").expect_state(State::CookieWait);
    t.recv(answer()).expect("COOKIE-ECHO").recv(other(kind::ERROR, &[0, 3, 0, 8, 0, 0, 0, 1])).expect("INIT");
}

/// A flood of INITs leaves nothing behind (section 5.1).
#[test]
fn a_flood_of_inits() {
    let mut t = passive();
    for n in 1..1000 {
        t.recv(Chunk::Init(Box::new(InitChunk { initiate_tag: n, ..init() }))).expect("INIT-ACK");
    }
    t.expect_state(State::Listen).expect_nothing_until_ms(1_000_000);
    assert_eq!(rexmit_stack::Endpoint::poll_timer(&t.assoc), None);
}

/// Sections 3.3.2 and 8.5.1: INITs that no peer may send.
#[test]
fn impossible_inits() {
    for broken in [
        InitChunk { initiate_tag: 0, ..init() },
        InitChunk { outbound_streams: 0, ..init() },
        InitChunk { inbound_streams: 0, ..init() },
        InitChunk { window: 1499, ..init() },
    ] {
        let mut t = passive();
        t.recv(Chunk::Init(Box::new(broken))).expect("ABORT 7").expect_state(State::Listen);
    }
    let mut t = passive();
    let chunk = || Chunk::Init(Box::new(init()));
    t.recv_packet(1, vec![chunk()]).recv_packet(0, vec![chunk(), chunk()]).expect_nothing();
    assert_eq!((t.assoc.faults().malformed_chunks, t.assoc.faults().bad_inits), (0, 2));
    // An INIT-ACK without cookie ends the attempt (section 3.3.3).
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    t.connect().drain();
    t.recv(Chunk::InitAck(Box::new(init()))).expect_state(State::Closed).expect_event(Event::Closed);
}

/// Section 5.2.2, and D of 5.2.4: an INIT that came twice changes nothing, nor does its cookie.
#[test]
fn duplicate_inits_and_cookies() {
    let mut t = passive();
    let first = cookie(&mut t, init());
    t.recv(Chunk::CookieEcho(first.clone())).expect("COOKIE-ACK").write(100).expect("1:100");
    let tag = t.tag;
    cookie(&mut t, init());
    assert_ne!(t.tag, tag, "another tag for what may be a restart");
    t.tag = tag;
    t.recv(Chunk::CookieEcho(first)).expect("COOKIE-ACK").expect_state(State::Established).expect_flight(100);
    t.recv(sack(1)).expect_flight(0);
    assert_eq!((t.assoc.faults().unexpected_inits, t.assoc.faults().restarts), (1, 0));
    // An INIT-ACK out of place is dropped (section 5.2.3).
    t.recv(Chunk::InitAck(Box::new(init()))).expect_nothing();
    assert_eq!(t.assoc.faults().unexpected_init_acks, 1);
}

/// A of section 5.2.4: the peer began anew. What was outstanding is lost, and all numbers begin again.
#[test]
fn a_restart() {
    let mut t = passive();
    let first = cookie(&mut t, init());
    t.recv(Chunk::CookieEcho(first)).expect("COOKIE-ACK").write(100).expect("1:100");
    t.recv(data(1, 10)).drain();
    let anew = InitChunk { initiate_tag: PEER_TAG + 1, initial_tsn: PEER_TSN + 70_000, ..init() };
    t.recv(Chunk::Init(Box::new(anew))).expect("INIT-ACK");
    let packet = t.last.as_ref().and_then(|packet| packet.sctp()).expect("a packet").clone();
    let Chunk::InitAck(answer) = &packet.chunks[0] else { panic!("{packet:?}") };
    t.tag = answer.initiate_tag;
    t.recv(Chunk::CookieEcho(answer.cookie.clone().unwrap())).expect("COOKIE-ACK").expect_flight(0);
    assert_eq!((tag_of_last(&t), t.assoc.faults().restarts), (PEER_TAG + 1, 1));
    let next = DataChunk { tsn: PEER_TSN + 70_000, ..data(1, 10) };
    t.recv(next).expect_nothing().write(10);
    let packet = t.last.as_ref().and_then(|packet| packet.sctp()).expect("a packet").clone();
    let Chunk::Data(sent) = &packet.chunks[1] else { panic!("{packet:?}") };
    assert_eq!((sent.tsn, sent.message), (answer.initial_tsn, 0));
    t.drain();
    // It may not bring new addresses (section 5.2.2).
    let mut t = up();
    let elsewhere = InitChunk { addresses: vec![[10, 9, 9, 9].into()], ..init() };
    t.recv(Chunk::Init(Box::new(elsewhere))).expect("ABORT 7").expect_state(State::Established);
}

/// Both open at the same time (sections 5.2.1 and 5.2.4 B).
#[test]
fn a_collision() {
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    t.connect().expect("INIT");
    let theirs = cookie(&mut t, init());
    assert_eq!(t.tag, TAG, "the tag of our own INIT");
    t.recv(Chunk::CookieEcho(theirs)).expect("COOKIE-ACK").expect_state(State::Established);
    t.recv(Chunk::InitAck(Box::new(InitChunk { cookie: Some([1; 4].into()), ..init() }))).expect_nothing();
    t.write(10).expect("1:10").recv(sack(1)).expect_flight(0);
}

/// SACKs for what was never sent, that are old, whose blocks contradict themselves.
#[test]
fn lying_sacks() {
    let mut t = up();
    t.writes(4, 100).drain();
    t.recv(sack(5)).expect_flight(400);
    t.recv(SackChunk { cumulative: TSN.wrapping_add(1 << 31), ..sack(1) }).expect_flight(400);
    t.recv(gaps(1, &[(3, 9)])).expect_flight(300);
    t.recv(sack(0)).expect_flight(300);
    let block = |start, end| Gap { start, end };
    t.recv(SackChunk { gaps: vec![block(0, 1), block(3, 2)], ..sack(1) }).expect_flight(300);
    // Blocks that overlap and descend are taken for what they cover.
    t.recv(SackChunk { gaps: vec![block(3, 3), block(2, 3)], ..sack(1) }).expect_flight(100);
    t.recv(sack(1)).expect_flight(300);
    let f = *t.assoc.faults();
    assert_eq!((f.sacks_of_unsent + f.old_sacks, f.bad_gaps, f.reneged), (4, 3, 2));
    t.recv(sack(4)).expect_flight(0);
}

/// A block that is taken back: the chunk is outstanding again, and T3 runs (section 6.2.1 D iii, 6.3.2 R4).
#[test]
fn reneging() {
    let mut t = up();
    t.writes(2, 100).drain();
    t.recv(gaps(0, &[(1, 2)])).expect_flight(0);
    assert_eq!(t.snap().rexmt_due, None);
    t.at_ms(500).recv(sack(0)).expect_flight(200).expect_at_ms(1500, "1:100 + 2:100");
}

/// Data that are not data: without bytes, on streams that there are not, beyond all blocks, with an old number.
#[test]
fn impossible_data() {
    let mut t = up();
    t.recv(DataChunk { stream: 16, ..data(1, 10) }).expect("ERROR 1");
    t.recv(data(70_000, 1)).expect("SACK 1");
    t.recv(DataChunk { message: 40_000, ..data(2, 10) }).drain();
    assert_eq!(t.read(99).1, 0);
    let f = *t.assoc.faults();
    assert_eq!((f.bad_streams, f.data_beyond_window, f.misordered_data), (1, 1, 1));
    t.recv(DataChunk { payload: Default::default(), ..data(3, 10) }).expect("ABORT 9");
    t.expect_state(State::Closed);
}
