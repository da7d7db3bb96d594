//! Handshake, shutdown, abort (RFC 9260 sections 5 and 9).

use rexmit_sctp::{Role, State};
use rexmit_stack::{Event, Reason};
use rexmit_wire::sctp::{Chunk, InitChunk};
use serde_json::json;

use crate::common::{PEER_TAG, PEER_TSN, Script, TAG, TSN, config, data, gaps, init, lksctp, rfc, sack};

pub fn shutdown(own: u32) -> Chunk {
    Chunk::Shutdown { cumulative: TSN + own - 1 }
}

/// A passive association, and the cookie that it gives to the peer's INIT.
pub fn passive() -> Script {
    Script::new(config(rfc(json!({})), Role::Passive))
}

pub fn cookie(t: &mut Script, init: InitChunk) -> Box<[u8]> {
    t.recv(Chunk::Init(Box::new(init))).expect("INIT-ACK");
    let packet = t.last.as_ref().and_then(|packet| packet.sctp()).expect("a packet").clone();
    assert_eq!(packet.tag, PEER_TAG);
    let Chunk::InitAck(answer) = &packet.chunks[0] else { panic!("{packet:?}") };
    t.tag = answer.initiate_tag;
    answer.cookie.clone().expect("a cookie")
}

/// Nothing is kept of INITs; the cookie brings all back. Data may come with it.
#[test]
fn passive_open() {
    let mut t = passive();
    for _ in 0..3 {
        cookie(&mut t, init());
        t.expect_state(State::Listen);
    }
    let cookie = cookie(&mut t, init());
    t.recv(vec![Chunk::CookieEcho(cookie), Chunk::Data(data(1, 100))]).expect("COOKIE-ACK");
    t.expect_state(State::Established).expect_event(Event::Connected);
    assert_eq!(t.read(999), (0, 100));
    t.write(100).expect("SACK 1 + 1:100");
    assert_eq!(t.last.as_ref().and_then(|p| p.sctp()).map(|p| p.tag), Some(PEER_TAG));
}

/// T1-init and T1-cookie, each doubled and bounded (RFC 9260 sections 5.1.6 and 4).
#[test]
fn lost_inits_and_cookies() {
    let mut t =
        Script::new(config(rfc(json!({ "association": { "max_init_retransmits": 3 } })), Role::Active));
    t.connect().expect_for("INIT", Reason::Control { backoff: 0 });
    t.at_ms(999).expect_nothing().at_ms(1000).expect_for("INIT", Reason::Control { backoff: 1 });
    t.at_ms(1500).recv(Chunk::InitAck(Box::new(InitChunk { cookie: Some([1; 4].into()), ..init() })));
    t.expect("COOKIE-ECHO").expect_state(State::CookieEchoed);
    t.expect_at_ms(2500, "COOKIE-ECHO").expect_at_ms(4500, "COOKIE-ECHO").expect_at_ms(8500, "COOKIE-ECHO");
    t.expect_nothing_until_ms(16_499).at_ms(16_500).expect_event(Event::TimedOut).expect_state(State::Closed);
    let mut t = Script::new(config(lksctp(json!({})), Role::Active));
    t.connect().expect("INIT").expect_at_ms(3000, "INIT").expect_at_ms(9000, "INIT");
}

/// RFC 9260 section 9.2: SHUTDOWN once all is acknowledged.
#[test]
fn a_shutdown_waits_for_data() {
    let mut t = Script::up(rfc(json!({})));
    t.writes(5, 1452).drain();
    t.close().expect_nothing().expect_state(State::ShutdownPending);
    assert_eq!(t.try_send(1, Default::default()), 0);
    t.at_ms(10).recv(sack(4)).expect("5:1452 I").recv(sack(5)).expect("SHUTDOWN 0");
    t.expect_state(State::ShutdownSent);
    // Data of the peer are still taken, and answered at once.
    t.recv(data(1, 10)).expect("SACK 1 + SHUTDOWN 1");
    assert_eq!(t.read(99), (0, 10));
    t.recv(Chunk::ShutdownAck)
        .expect("SHUTDOWN-COMPLETE")
        .expect_event(Event::Closed)
        .expect_state(State::Closed);
}

/// The other side: what it has is sent, then SHUTDOWN-ACK.
#[test]
fn a_shutdown_is_answered_once_all_is_acknowledged() {
    let mut t = Script::up(rfc(json!({})));
    t.writes(2, 100).drain();
    t.recv(shutdown(1))
        .expect_event(Event::EndOfStream)
        .expect_state(State::ShutdownReceived)
        .expect_nothing();
    assert_eq!(t.try_send(1, Default::default()), 0);
    t.recv(shutdown(2)).expect("SHUTDOWN-ACK").expect_state(State::ShutdownAckSent);
    t.recv(Chunk::ShutdownComplete { reflected: false })
        .expect_event(Event::Closed)
        .expect_state(State::Closed);
}

/// T2-shutdown; both closing at once; T5.
#[test]
fn shutdown_timers() {
    let mut t = Script::up(rfc(json!({})));
    t.close().expect("SHUTDOWN 0").at_ms(1000).expect_for("SHUTDOWN 0", Reason::Control { backoff: 1 });
    t.expect_at_ms(3000, "SHUTDOWN 0")
        .recv(shutdown(0))
        .expect("SHUTDOWN-ACK")
        .expect_at_ms(4000, "SHUTDOWN-ACK");
    t.recv(Chunk::ShutdownAck).expect("SHUTDOWN-COMPLETE").expect_event(Event::Closed);
    // T5: the peer answers each SHUTDOWN with data, so that T2 never runs out.
    let mut t = Script::up(rfc(json!({ "association": { "shutdown_guard": "5 s" } })));
    t.close().expect("SHUTDOWN 0");
    for tsn in 1..10 {
        t.advance_ms(500).recv(data(tsn, 10)).drain();
    }
    t.at_ms(4999).drain();
    t.at_ms(5000).expect("ABORT").expect_event(Event::TimedOut).expect_state(State::Closed);
}

/// RFC 9260 section 9.1.
#[test]
fn aborts() {
    let mut t = Script::up(rfc(json!({})));
    t.write(100).drain();
    t.abort().expect_for("ABORT 12", Reason::Reset).expect_state(State::Closed).expect_event(Event::Closed);
    let abort = |reflected| Chunk::Abort { reflected, causes: Vec::new() };
    let mut t = Script::up(rfc(json!({})));
    t.recv(abort(false)).expect_event(Event::Reset).expect_state(State::Closed);
    // The T bit: the tag that we send.
    let mut t = Script::up(rfc(json!({})));
    t.recv(abort(true)).expect_state(State::Established).recv_packet(PEER_TAG, vec![abort(true)]);
    t.expect_state(State::Closed);
    assert_eq!(t.assoc.faults().wrong_tags, 1);
}

/// RFC 9260 section 8.1: after so many expiries in a row the peer is given up.
#[test]
fn a_silent_peer() {
    let mut t =
        Script::up(rfc(json!({ "association": { "max_retransmits": 3, "path_max_retransmits": 9 } })));
    t.write(100).expect("1:100").expect_at_ms(1000, "1:100").expect_at_ms(3000, "1:100");
    t.expect_at_ms(7000, "1:100").expect_nothing_until_ms(14_999);
    t.at_ms(15_000)
        .expect_event(Event::TimedOut)
        .expect_state(State::Closed)
        .expect_nothing_until_ms(900_000);
    assert_eq!((t.assoc.counters().timeouts, PEER_TSN, TAG), (4, 5_000, 0x0a0a_0a0a));
}

/// RFC 9260 section 9.2: a SHUTDOWN acknowledges cumulatively, and takes no block back.
#[test]
fn a_shutdown_takes_nothing_back() {
    let mut t = Script::up(rfc(json!({})));
    t.writes(4, 100).drain();
    t.recv(gaps(0, &[(3, 4)])).expect_flight(200).recv(shutdown(1)).expect_flight(100).expect_nothing();
    assert_eq!(t.assoc.faults().reneged, 0);
    t.expect_at_ms(1000, "2:100 I");
}
