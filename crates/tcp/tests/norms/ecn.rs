//! ECN (RFC 3168) and DCTCP (RFC 8257): LK-ECN-1 to LK-ECN-7, LK-DCTCP-1 to LK-DCTCP-3 of `linux-6.1`, and of `rfc` what the RFCs
//! leave to it.

use std::sync::Arc;

use rexmit_tcp::Profile;
use serde_json::{Value, json};

use super::common::*;
use super::{MSS, at, sack, seg};

fn linux(ecn: Value, algorithm: &str) -> Arc<Profile> {
    profile("linux-6.1", json!({ "ecn": ecn, "congestion": { "algorithm": algorithm } }))
}

fn reno() -> Arc<Profile> {
    linux(json!({ "mode": "on" }), "reno")
}

fn peer() -> Peer {
    Peer { wscale: Some(7), win: 4_000, ..Peer::default() }
}

fn setup() -> Seg {
    syn().mss(1460).wscale(7).sack_ok().win(65_535).ece().cwr()
}

/// A server whose peer asked for ECN, 20 ms after its SYN-ACK.
fn server(profile: Arc<Profile>) -> Script {
    let mut t = Script::server(profile).with_peer(peer());
    t.recv(setup()).expect(syn_ack().ece().no_cwr().not_ect());
    t.at_ms(20).recv(ack(1));
    t
}

/// A client whose peer granted it.
fn client(profile: Arc<Profile>) -> Script {
    let mut t = Script::client(profile).with_peer(peer());
    t.connect();
    t.expect(syn().ece().cwr());
    t.at_ms(20).recv(setup().ack(1).no_cwr());
    t.expect(ack(1).no_ece().no_cwr());
    t
}

/// So many segments written and sent.
fn out(t: &mut Script, segments: u32, sent: u32) {
    t.write(u64::from(segments * MSS));
    for n in 1..=sent {
        t.expect(seg(n).ect().no_cwr());
    }
    t.expect_nothing();
}

/// LK-ECN-1: who asks, and who grants.
#[test]
fn lk_ecn_1_the_handshake() {
    for (mode, asks) in [("off", false), ("grant", false), ("on", true)] {
        let mut t = Script::client(linux(json!({ "mode": mode }), "reno"));
        t.connect();
        let s = syn().not_ect();
        t.expect(if asks { s.ece().cwr() } else { s.no_ece().no_cwr() });
    }
    for (mode, grants) in [("off", false), ("grant", true), ("on", true)] {
        let mut t = Script::server(linux(json!({ "mode": mode }), "reno")).with_peer(peer());
        let s = syn_ack().no_cwr().not_ect();
        t.recv(setup()).expect(if grants { s.ece() } else { s.no_ece() });
        t.at_ms(20).recv(ack(1));
        t.write(1448);
        t.expect(if grants { seg(1).ect() } else { seg(1).not_ect() });
    }
}

/// LK-ECN-1: a SYN that is ECN-capable itself, or has but one of the flags, is granted nothing.
#[test]
fn lk_ecn_1_what_is_no_request() {
    for s in [setup().ect(), setup().no_cwr(), setup().no_ece()] {
        let mut t = Script::server(reno()).with_peer(peer());
        t.recv(s).expect(syn_ack().no_ece());
    }
    // Nor is a SYN-ACK with both of them an answer.
    for (answer, agreed) in [(setup().ack(1), false), (setup().ack(1).no_cwr(), true)] {
        let mut t = Script::client(reno()).with_peer(peer());
        t.connect();
        t.expect(syn());
        t.at_ms(20).recv(answer).expect(ack(1));
        t.write(1448);
        t.expect(if agreed { seg(1).ect() } else { seg(1).not_ect() });
    }
}

/// LK-ECN-1, RFC 3168 section 6.1.1.1: the second SYN asks no more, and the answer to the first still counts.
#[test]
fn lk_ecn_1_the_fallback() {
    for fallback in [true, false] {
        let mut t = Script::client(linux(json!({ "mode": "on", "fallback": fallback }), "reno"));
        t = t.with_peer(peer());
        t.connect();
        t.expect(syn().ece().cwr());
        let again = if fallback { syn().no_ece().no_cwr() } else { syn().ece().cwr() };
        t.at_ms(1_100);
        let sent = t.drain();
        assert!(sent.len() == 1 && again.accepts(&sent[0].1), "{sent:?}");
        t.at_ms(1_200).recv(setup().ack(1).no_cwr()).expect(ack(1));
        t.write(1448);
        t.expect(seg(1).ect());
    }
}

/// LK-ECN-2: new data are ECN-capable; an ACK, a bare FIN and what leaves again are not.
#[test]
fn lk_ecn_2_what_is_capable() {
    let mut t = server(reno());
    t.recv(data(1..101).ack(1)).expect(ack(101).not_ect());
    out(&mut t, 10, 10);
    t.at_ms(40).recv(sack(1, 2, 4).seq(101));
    t.expect(seg(1).not_ect());
    t.at_ms(60).recv(ack(at(11)).seq(101));
    t.close();
    t.expect(fin(at(11)).not_ect());
}

/// LK-ECN-5: the echo takes half of the window over a round trip, tells so with the next new data, once, and ends above the mark.
#[test]
fn lk_ecn_5_the_state_cwr() {
    let mut t = server(reno());
    out(&mut t, 60, 10);
    t.at_ms(40).recv(ack(at(2)).ece()).expect_phase("cwr");
    t.expect_ssthresh(u64::from(5 * MSS));
    // Proportional rate reduction: half as many leave as arrive, the first of them at once.
    t.expect(seg(11).ect().cwr());
    t.recv(ack(at(3)).ece()).expect_nothing();
    // Of five that arrived three may leave; two of them leave as one packet.
    t.recv(ack(at(6)).ece());
    t.expect(seg(12).ect().no_cwr());
    t.expect(seg(13).no_cwr());
    // It is held until something above the mark is acknowledged.
    t.at_ms(60).recv(ack(at(11))).expect_phase("cwr");
    t.drain();
    t.recv(ack(at(12))).expect_phase("open").expect_window(5);
    t.drain();
}

/// LK-ECN-6: a loss within CWR begins no second reduction, and an echo forbids to undo.
#[test]
fn lk_ecn_6_a_loss_in_cwr() {
    let mut t = server(reno());
    out(&mut t, 60, 10);
    t.at_ms(40).recv(ack(at(2)).ece()).expect_phase("cwr");
    t.drain();
    t.recv(sack(2, 3, 5).ece()).expect_phase("recovery");
    t.expect_ssthresh(u64::from(5 * MSS));
    assert!(t.drain().iter().any(|(_, s)| s.seq == Some(at(2)) && s.ecn == Some(0)));
}

/// LK-ECN-3: each ACK has the echo until CWR comes, which is answered at once.
#[test]
fn lk_ecn_3_the_echo() {
    let mut t = client(reno());
    t.recv(seg(1).ack(1).ect()).expect(ack(at(2)).no_ece());
    t.recv(seg(2).ce()).expect(ack(at(3)).ece().not_ect());
    t.recv(seg(3).ect()).expect(ack(at(4)).ece());
    t.recv(seg(4).ect().cwr()).expect(ack(at(5)).no_ece());
    t.recv(seg(5).ect()).expect(ack(at(6)).no_ece());
}

/// LK-ECN-4: the first mark gives a credit of two immediate ACKs, as do data that are not ECN-capable; data with CWR are acknowledged
/// at once. Twin without these rules.
#[test]
fn lk_ecn_4_immediate_acknowledgments() {
    let play = |ecn: Value, s: fn(Seg) -> Seg| {
        let mut t = client(linux(ecn, "reno"));
        let mut n = 1;
        while n < 18 {
            t.recv_more(seg(n).ack(1).ect());
            n += 1;
        }
        t.drain();
        t.recv(seg(n).ect());
        t.drain();
        t.recv(s(seg(n + 1)));
        t.drain().len()
    };
    let on = || json!({ "mode": "on" });
    let off = || json!({ "mode": "on", "quick_acks": 0, "cwr_answered": false });
    assert_eq!(play(on(), Seg::ect), 0);
    for s in [Seg::ce, Seg::not_ect, |s: Seg| s.ect().cwr()] {
        assert_eq!((play(on(), s), play(off(), s)), (1, 0));
    }
}

/// LK-ECN-7: a timeout tells of CWR too.
#[test]
fn lk_ecn_7_a_timeout_is_told() {
    let reno = json!({ "ecn": { "mode": "on" }, "congestion": { "algorithm": "reno" } });
    let mut t = server(profile("linux-6.1-no-rack", reno));
    out(&mut t, 20, 10);
    t.at_ms(300);
    assert!(t.drain().iter().all(|(_, s)| s.cwr == Some(false) && s.ecn == Some(0)));
    // F-RTO asks with new data.
    t.recv(ack(at(2)));
    let sent = t.drain();
    assert_eq!((sent[0].1.cwr, sent[1].1.cwr), (Some(true), Some(false)));
}

/// LK-DCTCP-3: all is ECN-capable; where the mark changes, what waits is acknowledged as it was, and the segment at once.
#[test]
fn lk_dctcp_3_the_receiver() {
    let mut t = Script::client(linux(json!({}), "dctcp")).with_peer(peer());
    t.connect();
    t.expect(syn().ece().cwr().ect());
    t.at_ms(20).recv(setup().ack(1).no_cwr()).expect(ack(1).ect());
    for n in 1..=16 {
        t.recv(seg(n).ack(1).ect()).expect(ack(at(n + 1)).no_ece().ect());
        t.read(1448);
    }
    t.recv(seg(17).ect()).expect_nothing();
    t.read(1448);
    t.recv(seg(18).ce());
    t.expect(ack(at(18)).no_ece());
    t.expect(ack(at(19)).ece());
    t.read(1448);
    t.recv(seg(19).ce()).expect_nothing();
    t.read(1448);
    t.recv(seg(20).ce()).expect(ack(at(21)).ece());
    t.recv(seg(21).ect()).expect(ack(at(22)).no_ece());
}

/// LK-DCTCP-1, LK-DCTCP-2: alpha is 960 / 1024 after the first round trip, so 10 packets become 6; Reno's are 5.
#[test]
fn lk_dctcp_2_the_window_follows_the_share() {
    let play = |algorithm: &str| {
        let profile = linux(json!({ "mode": "on" }), algorithm);
        let mut t = Script::server(profile).with_peer(peer());
        t.recv(setup()).expect(syn_ack().ece());
        t.at_ms(20).recv(ack(1));
        out(&mut t, 60, 10);
        t.at_ms(40).recv(ack(at(2)));
        t.drain();
        t.recv(ack(at(3)).ece()).expect_phase("cwr");
        t.drain();
        t.ssthresh().map(|bytes| bytes / u64::from(MSS))
    };
    assert_eq!(play("reno"), Some(5));
    // 11 or 12 packets, less 960 / 2048 of them.
    assert_eq!(play("dctcp"), Some(6));
}

/// LK-DCTCP-2: without the peer's consent it is Reno, and nothing more is ECN-capable.
#[test]
fn lk_dctcp_2_the_fallback() {
    let mut t = Script::client(linux(json!({}), "dctcp")).with_peer(peer());
    t.connect();
    t.expect(syn().ece().cwr().ect());
    t.at_ms(20).recv(setup().ack(1).no_ece().no_cwr()).expect(ack(1).not_ect());
    t.write(1448);
    t.expect(seg(1).not_ect());
}

/// RFC 3168 section 6.1.2 for recoveries in bytes: half at once, once for what was out, and CWR with the next new data.
#[test]
fn rfc_3168_6_1_2_half_the_window_once_a_round_trip() {
    let rfc = |changes: Value| {
        let mut t = Script::server(profile("rfc", changes)).with_peer(peer());
        t.recv(setup()).expect(syn_ack().ece());
        t.at_ms(20).recv(ack(1));
        out(&mut t, 60, 10);
        t.at_ms(40);
        t
    };
    for changes in [json!({}), json!({ "congestion": { "algorithm": "cubic" } })] {
        let mut t = rfc(changes);
        t.recv(ack(at(3)).ece());
        let half = t.ssthresh().expect("a threshold");
        assert!((5 * 1448..=7 * 1448).contains(&half), "{half}");
        t.expect_cwnd(half).expect_nothing();
        t.recv(ack(at(5)).ece()).expect_cwnd(half);
        t.recv_more(ack(at(11)).ece()).expect_ssthresh(half);
        let sent = t.drain();
        assert!(sent.len() > 1);
        assert_eq!(sent.iter().filter(|(_, s)| s.cwr == Some(true)).count(), 1);
        assert!(sent[0].1.cwr == Some(true));
    }
}

/// A kernel whose state CWR is not modelled says so.
#[test]
fn old_kernels_refuse_it() {
    let told = profile("linux-2.6.15", json!({ "ecn": { "mode": "on" } })).check().unwrap_err();
    assert_eq!(told.0, "ecn.mode");
    let told = profile("rfc", json!({ "congestion": { "algorithm": "dctcp" } })).check().unwrap_err();
    assert!(told.1.contains("inherit `linux-6.1`"), "{}", told.1);
}

/// LK-ECN-7: BBR tells of CWR and keeps its window.
#[test]
fn lk_ecn_7_bbr_keeps_its_window() {
    let mut t = server(linux(json!({ "mode": "on" }), "bbr"));
    t.write(u64::from(60 * MSS));
    t.at_ms(40).drain();
    let before = t.snap().cwnd;
    t.recv(ack(at(3)).ece()).expect_phase("cwr").expect_no_ssthresh();
    t.at_ms(60);
    let told = t.drain().iter().filter(|(_, s)| s.cwr == Some(true)).count();
    assert_eq!(told, 1);
    assert!(t.snap().cwnd >= before);
}
