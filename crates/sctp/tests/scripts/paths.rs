//! Several addresses (RFC 9260 sections 5.1.2, 5.4, 6.4 and 8).

use std::net::IpAddr;

use rexmit_sctp::congestion::Congestion;
use rexmit_sctp::{AssociationConfig, Role, State};
use rexmit_stack::Event;
use rexmit_wire::sctp::{Chunk, InitChunk};
use serde_json::{Value, json};

use crate::common::{Script, config, init, rfc, sack};

pub fn ip(text: &str) -> IpAddr {
    text.parse().expect("an address")
}

/// Two addresses at each end, both confirmed.
fn two(changes: Value) -> Script {
    two_with(changes, None)
}

/// The same, with this congestion control.
pub fn two_with(changes: Value, own: Option<Congestion>) -> Script {
    let more_local = vec![ip("10.1.0.1")];
    let config = AssociationConfig { more_local, ..config(rfc(changes), Role::Active) };
    let mut t = Script::new(config);
    if let Some(own) = own {
        t.assoc.set_congestion(own);
    }
    let addresses = vec![ip("10.0.0.2"), ip("10.1.0.2")];
    let answer = InitChunk { addresses, cookie: Some([7; 8].into()), ..init() };
    t.connect().expect("INIT");
    let Some(Chunk::Init(sent)) = t.last.as_ref().and_then(|p| p.sctp()).map(|p| p.chunks[0].clone()) else {
        panic!("no INIT")
    };
    assert_eq!(sent.addresses, [ip("10.0.0.1"), ip("10.1.0.1")]);
    t.recv(Chunk::InitAck(Box::new(answer))).expect("COOKIE-ECHO").recv(Chunk::CookieAck).at_ms(0);
    t.expect("HEARTBEAT");
    assert_eq!(ends(&t), (ip("10.1.0.1"), ip("10.1.0.2")));
    let heartbeat = info(&t);
    t.from = ip("10.1.0.2");
    t.recv(Chunk::HeartbeatAck(heartbeat));
    t.from = ip("10.0.0.2");
    t.expect_event(Event::Connected);
    t
}

fn info(t: &Script) -> Box<[u8]> {
    match &t.last.as_ref().and_then(|p| p.sctp()).expect("a packet").chunks[0] {
        Chunk::Heartbeat(info) => info.clone(),
        other => panic!("{other:?}"),
    }
}

/// From where to where the last packet went.
fn ends(t: &Script) -> (IpAddr, IpAddr) {
    let packet = t.last.as_ref().expect("a packet");
    (packet.src, packet.dst)
}

/// Section 5.4: an address that the peer only names is probed, and no data go there before it answers.
#[test]
fn an_unconfirmed_address() {
    let addresses = vec![ip("10.0.0.2"), ip("10.1.0.2")];
    let mut t = Script::up_with(rfc(json!({})), InitChunk { addresses, ..init() });
    t.at_ms(0).expect("HEARTBEAT").write(100).expect("1:100");
    t.at_ms(999).expect_nothing().at_ms(1000);
    let sent = t.drain();
    assert!(sent.iter().any(|(_, text)| text == "1:100"), "{sent:?}");
    assert!(t.assoc.counters().timeouts == 1);
    // A wrong nonce, or one from elsewhere, confirms nothing.
    t.recv(Chunk::HeartbeatAck([0; 20].into()));
    assert_eq!(t.assoc.faults().bad_heartbeat_acks, 1);
}

/// Section 6.4.1: a timeout sends to the other address; fast retransmits and new data go on to the first.
#[test]
fn a_timeout_tries_the_other_address() {
    let mut t = two(json!({}));
    t.write(100).expect("1:100");
    assert_eq!(ends(&t).1, ip("10.0.0.2"));
    t.expect_at_ms(1000, "1:100");
    assert_eq!(ends(&t), (ip("10.1.0.1"), ip("10.1.0.2")));
    t.write(100).expect("2:100");
    assert_eq!(ends(&t).1, ip("10.0.0.2"));
    t.recv(sack(2)).expect_flight(0);
}

/// Section 8.2: after too many errors new data leave on the other path; heartbeats bring the first one back.
#[test]
fn a_path_fails_and_comes_back() {
    let changes = json!({
        "association": { "path_max_retransmits": 1 },
        "heartbeat": { "jitter": false, "interval": "10 s" },
    });
    let mut t = two(changes);
    // On the first path nothing arrives; on the second all.
    for n in 1..3 {
        t.write(100).expect(&format!("{n}:100"));
        assert_eq!(ends(&t).1, ip("10.0.0.2"), "{n}");
        while t.drain().is_empty() {
            t.advance_ms(500);
        }
        assert_eq!(ends(&t).1, ip("10.1.0.2"), "{n}");
        t.from = ip("10.1.0.2");
        t.recv(sack(n)).drain();
    }
    t.write(100).expect("3:100");
    assert_eq!(ends(&t).1, ip("10.1.0.2"));
    t.recv(sack(3)).expect_nothing();
    // Its heartbeat is answered.
    let mut answered = false;
    while !answered {
        t.advance_ms(100);
        answered = !t.drain().is_empty() && ends(&t).1 == ip("10.0.0.2");
        assert!(t.now_ms() < 60_000);
    }
    let heartbeat = info(&t);
    t.from = ip("10.0.0.2");
    t.recv(Chunk::HeartbeatAck(heartbeat)).write(100).expect("4:100");
    assert_eq!(ends(&t).1, ip("10.0.0.2"));
}

/// Section 8.3: an idle path is probed each interval and timeout; data are a probe of their own.
#[test]
fn heartbeats_of_an_idle_path() {
    let mut t = Script::up(rfc(json!({ "heartbeat": { "jitter": false } })));
    t.at_ms(20_000).write(100).expect("1:100").recv(sack(1)).expect_at_ms(51_000, "HEARTBEAT");
    t.at_ms(51_080);
    let heartbeat = info(&t);
    t.recv(Chunk::HeartbeatAck(heartbeat)).expect_nothing_until_ms(82_000);
    assert_eq!(t.snap().srtt.map(|rtt| rtt.as_nanos() / 1_000_000), Some(10));
    t.recv(Chunk::Heartbeat([1, 2, 3].into())).expect("HEARTBEAT-ACK");
}

/// Section 8.1: heartbeats that are not answered end the association too.
#[test]
fn a_dead_peer_is_found_by_heartbeats() {
    let mut t =
        Script::up(rfc(json!({ "association": { "max_retransmits": 2 }, "heartbeat": { "jitter": false } })));
    t.expect_at_ms(31_000, "HEARTBEAT").expect_at_ms(62_000, "HEARTBEAT").expect_at_ms(94_000, "HEARTBEAT");
    t.advance_ms(60_000).expect_state(State::Closed).expect_event(Event::TimedOut).expect_nothing();
}
