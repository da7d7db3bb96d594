//! The life of a connection by RFC 9293: opening and closing in every order, resets, what comes late.

use rexmit_stack::{Event, Socket};
use rexmit_tcp::State;
use serde_json::json;

use crate::common::*;

fn closing(state: State) -> Script {
    let mut t = serve(json!({}));
    match state {
        State::Established => {}
        State::FinWait1 | State::FinWait2 | State::Closing | State::TimeWait => {
            t.close().expect(fin(1));
        }
        State::CloseWait | State::LastAck => {
            t.recv(fin(1)).expect(ack(2));
        }
        _ => panic!("no way to {state:?}"),
    }
    match state {
        State::FinWait2 => {
            t.recv(ack(2)).expect_nothing();
        }
        State::Closing => {
            // BSD: each ACK carries the FIN again until it is acknowledged.
            t.recv(fin(1).ack(1)).expect(fin(1).ack(2));
        }
        State::TimeWait => {
            t.recv(fin(1).ack(2)).expect(ack(2));
        }
        State::LastAck => {
            t.close().expect(fin(1).ack(2));
        }
        _ => {}
    }
    t.expect_state(state);
    t
}

const SYNCHRONISED: [State; 7] = [
    State::Established,
    State::FinWait1,
    State::FinWait2,
    State::CloseWait,
    State::Closing,
    State::LastAck,
    State::TimeWait,
];

/// Section 3.5, figure 7: both SYNs cross, both sides answer, one connection comes of it.
#[test]
fn simultaneous_open() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect().expect(syn());
    t.at_ms(5).recv(syn().mss(1460).wscale(1).sack_ok().win(65_535));
    t.expect(syn_ack().mss(1460).wscale(1).sack_ok()).expect_state(State::SynReceived);
    t.at_ms(10).recv(syn_ack().mss(1460).wscale(1).sack_ok().win(65_535)).expect(ack(1));
    t.expect_state(State::Established).expect_event(Event::Connected).expect_snd_wnd(65_535);
    t.write(100);
    t.expect(data(1..101));
    t.recv(data(1..101).ack(101)).expect_at_ms(110, ack(101));
}

/// The peer's SYN-ACK is lost; our own timer repairs it.
#[test]
fn simultaneous_open_with_a_loss() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect().expect(syn());
    t.expect_at_ms(3_000, syn());
    t.at_ms(3_005).recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.expect_at_ms(6_005, syn_ack()).expect_at_ms(12_005, syn_ack()).expect_at_ms(24_005, syn_ack());
    t.at_ms(24_010).recv(ack(1)).expect_state(State::Established);
}

/// A close in SYN-RECEIVED waits for the handshake; the SYN-ACK's timer goes on.
#[test]
fn close_before_the_handshake_is_complete() {
    let mut t = Script::server(freebsd(json!({})));
    t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.close().expect_nothing().expect_state(State::SynReceived);
    t.expect_at_ms(3_000, syn_ack());
    t.at_ms(3_010).recv(ack(1)).expect(fin(1)).expect_state(State::FinWait1);
}

/// Section 3.6, figure 13.
#[test]
fn simultaneous_close() {
    let mut t = serve(json!({}));
    t.close().expect(fin(1)).expect_state(State::FinWait1);
    t.recv(fin(1).ack(1)).expect(fin(1).ack(2)).expect_state(State::Closing);
    t.recv(ack(2)).expect_nothing().expect_state(State::TimeWait).expect_event(Event::Closed);
    t.expect_nothing_until_ms(10 + 59_999).expect_state(State::TimeWait);
    t.at_ms(10 + 60_000).expect_state(State::Closed);
}

/// Without BSD's habit the FIN is shown once.
#[test]
fn simultaneous_close_twin_a_plain_ack() {
    let mut t = serve(json!({ "output": { "fin_on_every_ack": false } }));
    t.close().expect(fin(1));
    t.recv(fin(1).ack(1)).expect(ack(2).seq(2)).expect_state(State::Closing);
    t.expect_at_ms(243, fin(1).ack(2));
    t.recv(ack(2)).expect_state(State::TimeWait);
}

/// Figure 12, the side that closes first: TIME-WAIT for 2 MSL, begun anew by a repeated FIN.
#[test]
fn normal_close_and_time_wait() {
    let mut t = serve(json!({}));
    t.write(100);
    t.expect(data(1..101));
    t.close().expect(fin(101));
    t.at_ms(20).recv(ack(102)).expect_state(State::FinWait2);
    t.at_ms(30).recv(fin(1)).expect(ack(2)).expect_state(State::TimeWait).expect_event(Event::Closed);
    t.at_ms(30_000).recv(fin(1)).expect(ack(2)).expect_state(State::TimeWait);
    t.expect_nothing_until_ms(89_999).expect_state(State::TimeWait);
    t.at_ms(90_000).expect_state(State::Closed);
}

/// The side that closes last.
#[test]
fn passive_close() {
    let mut t = serve(json!({}));
    t.recv(fin(1)).expect(ack(2)).expect_state(State::CloseWait).expect_event(Event::EndOfStream);
    t.close().expect(fin(1).ack(2)).expect_state(State::LastAck);
    t.recv(ack(2)).expect_state(State::Closed).expect_event(Event::Closed);
}

/// After a half-close data still arrive and are acknowledged.
#[test]
fn half_close_with_data_the_other_way() {
    let mut t = serve(json!({}));
    t.close().expect(fin(1));
    t.recv(ack(2)).expect_state(State::FinWait2);
    assert_eq!(t.write(10), 0);
    t.recv(data(1..1449)).recv(data(1449..2897)).expect(ack(2897));
    assert_eq!(t.read(10_000), 2896);
    t.expect(ack(2897).win(33_304));
    t.recv(data(2897..2907).fin()).expect(ack(2908)).expect_state(State::TimeWait);
    assert_eq!(t.conn.readable(), 10);
    assert_eq!(t.read(10_000), 10);
}

/// The other half: in CLOSE-WAIT this side still sends, and recovers what is lost.
#[test]
fn half_close_and_data_from_this_side() {
    let mut t = serve(json!({}));
    t.recv(fin(1)).expect(ack(2));
    t.write(1448);
    t.expect(data(1..1449).ack(2));
    t.expect_at_ms(243, data(1..1449).ack(2));
    t.at_ms(300).recv(ack(1449)).expect_state(State::CloseWait);
}

/// A lost FIN is sent again, backed off, and with the data that it rode on.
#[test]
fn a_fin_is_retransmitted() {
    let mut t = serve(json!({}));
    t.close().expect(fin(1)).expect_at_ms(243, fin(1)).expect_at_ms(243 + 266, fin(1));
    t.at_ms(600).recv(ack(2)).expect_state(State::FinWait2);
    let mut t = serve(json!({}));
    t.write(100);
    t.expect(data(1..101));
    t.at_ms(20).recv(ack(101));
    t.write(50);
    t.expect(data(101..151));
    t.close().expect(fin(151));
    let due = t.snap().rexmt_due.expect("runs").as_nanos() / 1_000_000;
    t.expect_at_ms(due, data(101..151).fin());
}

/// A FIN that comes before its data waits for them.
#[test]
fn a_fin_out_of_order() {
    let mut t = serve(json!({}));
    t.recv(data(1449..2897).fin()).expect(ack(1).sack([(1449, 2897)])).expect_state(State::Established);
    t.recv(data(1..1449)).expect(ack(2898)).expect_state(State::CloseWait);
    assert_eq!(t.read(10_000), 2896);
}

/// A reset in the window ends the connection in every synchronised state.
#[test]
fn a_reset_in_each_state() {
    for state in SYNCHRONISED {
        let mut t = closing(state);
        let seq = if matches!(state, State::Established | State::FinWait1 | State::FinWait2) { 1 } else { 2 };
        t.recv(rst(seq)).expect_nothing().expect_state(State::Closed).expect_event(Event::Reset);
    }
}

/// One outside the window is ignored.
#[test]
fn a_reset_outside_the_window() {
    for state in SYNCHRONISED {
        let mut t = closing(state);
        t.recv(rst(70_000)).recv(rst(0x8000_0000)).expect_nothing().expect_state(state);
    }
}

/// SYN-SENT: only a reset that acknowledges the SYN counts (section 3.10.7.3).
#[test]
fn a_reset_in_syn_sent() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect().expect(syn());
    t.recv(rst(0)).recv(rst(0).ack(7)).expect_nothing().expect_state(State::SynSent);
    t.recv(rst(0).ack(1)).expect_nothing().expect_state(State::Closed).expect_event(Event::Reset);
}

/// SYN-RECEIVED: a passive open listens again (section 3.10.7.4; figure 9, an old duplicate SYN).
#[test]
fn a_reset_in_syn_received() {
    let mut t = Script::server(freebsd(json!({})));
    t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.recv(rst(1)).expect_nothing().expect_state(State::Listen);
    t.recv(syn().mss(1460)).expect(syn_ack().no_sack_ok().no_wscale());
    t.recv(ack(1)).expect_state(State::Established);
}

/// LISTEN: a reset is nothing, an ACK is refused, anything else is nothing.
#[test]
fn what_listen_answers() {
    let mut t = Script::server(freebsd(json!({})));
    t.recv(rst(5)).expect_nothing().expect_state(State::Listen);
    t.recv(ack(77)).expect(rst(77)).expect_state(State::Listen);
    t.recv(syn_ack()).expect(rst(1)).expect_state(State::Listen);
}

/// CLOSED refuses all but resets.
#[test]
fn what_closed_answers() {
    let mut t = Script::client(freebsd(json!({})));
    t.recv(rst(5)).expect_nothing();
    t.recv(ack(77)).expect(rst(77));
    t.recv(syn().seq(9)).expect(Seg { rst: true, ack: Some(10), ..Seg::default() });
}

/// A half-open connection is found (section 3.5.1): an acknowledgment of what was never sent is refused.
#[test]
fn unacceptable_acks_in_the_handshake() {
    let mut t = Script::client(freebsd(json!({})));
    t.connect().expect(syn());
    t.recv(ack(500).seq(300)).expect(rst(500)).expect_state(State::SynSent);
    t.recv(syn_ack().ack(2).mss(1460)).expect(rst(2)).expect_state(State::SynSent);
    let mut t = Script::server(freebsd(json!({})));
    t.recv(syn().mss(1460).wscale(1).sack_ok()).expect(syn_ack());
    t.recv(ack(2)).expect(rst(2)).expect_state(State::SynReceived);
    t.recv(ack(1)).expect_state(State::Established);
}

/// A repeated SYN-ACK says that our ACK was lost: it is sent again.
#[test]
fn a_repeated_syn_ack_is_acknowledged() {
    let mut t = Script::client(freebsd(json!({})));
    t.establish(10);
    t.at_ms(3_000).recv(syn_ack().mss(1460).wscale(1).sack_ok()).expect(ack(1));
    t.expect_state(State::Established).expect_snd_wnd(33_304);
}

/// A SYN in the window is challenged (RFC 5961 section 4.2), an old one acknowledged.
#[test]
fn syns_in_synchronised_states() {
    let mut t = serve(json!({}));
    t.recv(syn().seq(500)).expect(ack(1)).expect_state(State::Established);
    t.recv(syn()).expect(ack(1)).expect_state(State::Established);
}

/// Old duplicates are answered and change nothing.
#[test]
fn old_duplicates() {
    let mut t = serve(json!({}));
    t.recv(data(1..1449)).recv(data(1449..2897)).expect(ack(2897));
    assert_eq!(t.read(10_000), 2896);
    t.expect(ack(2897));
    t.at_ms(500).recv(data(1..1449)).expect(ack(2897));
    t.recv(data(1449..2897).fin().seq(1449)).expect(ack(2898));
    t.recv(data(1..101).fin()).expect(ack(2898)).expect_state(State::CloseWait);
    assert_eq!(t.conn.readable(), 0);
}

/// abort(): RST, and all is over.
#[test]
fn abort_sends_a_reset() {
    for state in [State::Established, State::FinWait2, State::CloseWait] {
        let mut t = closing(state);
        t.abort();
        let got = t.drain();
        assert!(got.len() == 1 && got[0].1.rst, "{state:?}");
        t.expect_state(State::Closed);
    }
    let mut t = closing(State::TimeWait);
    t.abort().expect_nothing().expect_state(State::Closed);
}

/// close() before anything: CLOSED at once.
#[test]
fn close_before_connecting() {
    let mut t = Script::server(freebsd(json!({})));
    t.close().expect_state(State::Closed);
    let mut t = Script::client(freebsd(json!({})));
    t.connect().expect(syn());
    t.close().expect_state(State::Closed).expect_nothing_until_ms(10_000);
}

/// A segment for a connection that has ended is refused.
#[test]
fn a_late_segment_is_refused() {
    let mut t = closing(State::LastAck);
    t.recv(ack(2)).expect_state(State::Closed);
    t.recv(ack(2).seq(2)).expect(rst(2));
}

/// Sequence numbers wrap for the sender, with a loss on the wrap.
#[test]
fn the_senders_numbers_wrap() {
    for before in [0u32, 1, 1447, 1448, 1449, 3000, 5791] {
        let iss = u32::MAX - before;
        let mut t = Script::new(freebsd(json!({})), rexmit_tcp::Role::Passive, iss, 5_000);
        t.establish(10);
        t.write(5792);
        t.expect(data(1..1449)).expect(data(1449..2897)).expect(data(2897..4345)).expect(data(4345..5793));
        t.at_ms(30).recv(ack(1449));
        t.recv(ack(1449).sack([(2897, 4345)])).recv(ack(1449).sack([(2897, 5793)])).expect_nothing();
        t.recv(ack(1449).sack([(2897, 5793)])).expect(data(1449..2897));
        t.at_ms(50).recv(ack(5793)).expect_phase("open");
        t.write(100);
        t.expect(data(5793..5893));
        t.close().expect(fin(5893));
        t.recv(ack(5894)).expect_state(State::FinWait2);
    }
}

/// And for the receiver.
#[test]
fn the_receivers_numbers_wrap() {
    for before in [0u32, 1, 1447, 1448, 1449, 3000, 5791] {
        let irs = u32::MAX - before;
        let mut t = Script::new(freebsd(json!({})), rexmit_tcp::Role::Passive, 1_000, irs);
        t.establish(10);
        t.recv(data(1449..2897)).expect(ack(1).sack([(1449, 2897)]));
        t.recv(data(4345..5793)).expect(ack(1).sack([(4345, 5793), (1449, 2897)]));
        t.recv(data(1..1449)).expect(ack(2897).sack([(4345, 5793)]));
        t.recv(data(2897..4345)).expect(ack(5793));
        assert_eq!(t.read(10_000), 5792);
        t.drain();
        t.recv(data(1..1449)).expect(ack(5793));
        t.recv(fin(5793)).expect(ack(5794)).expect_state(State::CloseWait);
    }
}
