//! The retransmission timer (FB-RTO) and the window probes.

use rexmit_stack::Event;
use rexmit_tcp::State;
use serde_json::json;

use crate::common::*;

/// A first sample of 29 ticks: 287 ms.
fn sender(changes: serde_json::Value) -> Script {
    let mut t = Script::server(freebsd(changes));
    t.establish(28).expect_rto_ms(287);
    t.write(5792);
    t.drain();
    t
}

/// The slop of 200 ms is added, it is not a minimum; nor is there one of a second.
#[test]
fn fb_rto_1_and_2_the_slop_is_added() {
    for (rtt, rto) in [(0, 203), (9, 230), (99, 500), (600, 2003)] {
        let mut t = Script::server(freebsd(json!({})));
        t.establish(rtt).expect_rto_ms(rto);
    }
}

/// A sample clears the backoff.
#[test]
fn fb_rto_3_a_sample_clears_the_backoff() {
    let mut t = sender(json!({}));
    t.expect_at_ms(315, data(1..1449)).expect_at_ms(689, data(1..1449)).expect_rto_ms(548);
    t.at_ms(717).recv(ack(1449));
    assert!(t.rto().as_millis_f64() < 400.0);
    t.drain();
}

/// Before any sample: 3 s, for data as for a SYN.
#[test]
fn fb_rto_4_before_any_sample() {
    let mut t = Script::server(freebsd(json!({ "rtt_source": "segment" })))
        .with_peer(Peer { ts: false, ..Peer::default() });
    t.recv(syn().mss(1460).no_ts()).expect(syn_ack());
    t.recv(syn().mss(1460).no_ts()).expect(syn_ack());
    t.recv(ack(1)).expect_rto_ms(3_000);
}

/// 2, 4, 8, ... times the value, and the slop once.
#[test]
fn fb_rto_6_backoff() {
    let mut t = sender(json!({}));
    for at in [315, 689, 1_237, 2_133, 3_725, 6_005, 10_365] {
        t.expect_at_ms(at, data(1..1449));
    }
    t.expect_cwnd(1448).expect_ssthresh(2 * 1448);
}

/// The reductions of an expiry: at each (BSD), or at the first only (RFC 5681 section 3.1).
#[test]
fn fb_rto_6_twin_ssthresh_once() {
    for (once, want) in [(false, 2 * 1448), (true, 5 * 1448)] {
        let mut t = serve(json!({ "initial_window": 10, "recovery": { "ssthresh_once_per_segment": once } }));
        t.write(33_304);
        t.drain();
        t.expect_at_ms(243, data(1..1449)).expect_ssthresh(5 * 1448);
        t.at_ms(1_000).drain();
        t.expect_ssthresh(want);
    }
}

/// New data acknowledged within srtt / 2 of the first expiry: all is as before.
#[test]
fn t_fb_11_and_fb_rto_7_the_undo() {
    let mut t = sender(json!({}));
    t.expect_at_ms(315, data(1..1449)).expect_cwnd(1448);
    t.at_ms(328).recv(ack(1449)).expect_cwnd(5828 + 1448).expect_no_ssthresh().expect_phase("open");
    t.expect_nothing();
}

/// A tick later, without the rule, or after a second expiry: no undo.
#[test]
fn fb_rto_7_twins_no_undo() {
    let mut t = sender(json!({}));
    t.expect_at_ms(315, data(1..1449));
    t.at_ms(329).recv(ack(1449)).expect_cwnd(2896).expect_ssthresh(2896);
    t.drain();

    let mut t = sender(json!({ "recovery": { "bad_retransmit_undo": false } }));
    t.expect_at_ms(315, data(1..1449));
    t.at_ms(328).recv(ack(1449)).expect_cwnd(2896);
    t.drain();

    let mut t = sender(json!({}));
    t.expect_at_ms(315, data(1..1449)).expect_at_ms(689, data(1..1449));
    t.at_ms(690).recv(ack(1449)).expect_cwnd(2896);
    t.drain();
}

/// Back to una, and again in slow start.
#[test]
fn fb_rto_8_go_back_n() {
    let mut t = sender(json!({}));
    t.expect_at_ms(315, data(1..1449));
    t.at_ms(400).recv(ack(1449)).expect(data(1449..2897)).expect(data(2897..4345));
    t.at_ms(450).recv(ack(2897)).expect(data(4345..5793));
    t.at_ms(500).recv(ack(5793)).expect_nothing();
}

/// Twelve retransmissions, then the connection is given up.
#[test]
fn the_sender_gives_up() {
    let mut t = sender(json!({}));
    t.at_ms(2_000_000);
    assert_eq!(t.drain().len(), 12);
    t.expect_state(State::Closed).expect_event(Event::TimedOut);
}

/// So does the client after twelve SYNs more.
#[test]
fn the_client_gives_up() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect().at_ms(2_000_000);
    assert_eq!(t.drain().len(), 13);
    t.expect_state(State::Closed).expect_event(Event::TimedOut);
}

/// A zero window is probed with a byte: 5 s, then further apart, up to 60 s.
#[test]
fn persist_probes() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449)).at_ms(20).recv(ack(1449).win(0));
    t.write(100);
    t.expect_nothing_until_ms(5_019);
    let (mut last, mut gaps) = (20, Vec::new());
    for _ in 0..14 {
        let start = t.now_ms();
        let at = (start..).find(|at| {
            t.at_ms(*at);
            let sent = t.drain();
            sent.iter().for_each(|(_, s)| assert!(data(1449..1450).accepts(s), "{s}"));
            !sent.is_empty()
        });
        let at = at.expect("a probe");
        gaps.push(at - last);
        last = at;
        t.recv(ack(1449).win(0));
    }
    assert!(gaps.windows(2).all(|w| w[0] <= w[1]), "{gaps:?}");
    assert_eq!((gaps[0], gaps[13]), (5_000, 60_000), "{gaps:?}");
    t.recv(ack(1449)).expect(data(1449..1549));
}

/// The update that was lost is made good by the answer to a probe.
#[test]
fn a_probe_finds_the_window_open() {
    let mut t = serve(json!({}));
    t.write(1448);
    t.expect(data(1..1449)).at_ms(20).recv(ack(1449).win(0));
    t.write(3000);
    t.expect_at_ms(5_020, data(1449..1450));
    // The receiver has room again and takes the byte.
    t.at_ms(5_030).recv(ack(1450)).expect(data(1450..2898)).expect(data(2898..4346));
    t.at_ms(5_040).recv(ack(4346)).expect(data(4346..4449));
}

/// The window closes over data in flight: the flight is given up, and una probed.
#[test]
fn the_window_closes_over_the_flight() {
    let mut t = serve(json!({}));
    t.write(5792);
    t.drain();
    t.at_ms(20).recv(ack(1449).win(0));
    assert_eq!(t.snap().rexmt_due, None);
    t.expect_at_ms(5_020, data(1449..1450));
    t.at_ms(5_030).recv(ack(4345)).expect(data(4345..5793));
}

/// Only an ACK leaves while the window is closed: the timer must run all the same. Found by the property
/// test: the peer's window update was lost, and both waited for ever.
#[test]
fn an_ack_alone_leaves_the_persist_timer_running() {
    let mut t =
        Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, win: 1448, ..Peer::default() });
    t.establish(10);
    t.write(1500);
    t.expect(data(1..1449));
    t.at_ms(20).recv(fin(1).ack(1449).win(0)).expect(ack(2));
    t.expect_at_ms(5_020, data(1449..1450).ack(2));
}

/// The peer shrinks its window below the flight: nothing new leaves, and what is resent fits.
#[test]
fn the_window_shrinks() {
    let mut t = Script::server(freebsd(json!({}))).with_peer(Peer { wscale: None, ..Peer::default() });
    t.establish(10);
    t.write(10_000);
    assert_eq!(t.drain().len(), 4);
    t.at_ms(20).recv(ack(1449).win(2000)).expect_nothing().expect_snd_wnd(2000);
    let due = t.snap().rexmt_due.expect("runs").as_nanos() / 1_000_000;
    t.expect_at_ms(due, data(1449..2897));
    // A retransmission may be short (FB-OUT-7).
    t.advance_ms(200).recv(ack(2897).win(2000)).expect(data(2897..4345)).expect(data(4345..4897));
    t.recv(ack(4345).win(20_000)).expect(data(4897..6345)).expect(data(6345..7793));
}
