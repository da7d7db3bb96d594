//! Congestion control and recovery from outside the crate: AIMD through the shared body of operations and through packet
//! scripts, a controller by rate, and Tahoe. The how-to guide of the documentation quotes this file.

#[path = "../common/mod.rs"]
mod common;

mod aimd;
mod rate_based;
mod tahoe;
#[path = "../../../stack/tests/toys/rate_based.rs"]
mod toy;

use aimd::Aimd;
use common::*;
use rexmit_tcp::State;
use rexmit_tcp::congestion::bounds::{self, Bound, Step};
use rexmit_tcp::congestion::{Ack, Congestion, CongestionControl, Loss, Window};
use rexmit_tcp::recovery::OwnRecovery;
use rexmit_units::{Duration, Instant, Rate};
use serde_json::json;
use tahoe::Tahoe;
use toy::RateBased;

/// A full segment with timestamps.
const MSS: u32 = 1448;

// --8<-- [start:bounds]
proptest::proptest! {
    /// Whatever happens in whatever order.
    #[test]
    fn aimd_keeps_its_bounds(
        (increase, keep) in (1..5000_u32, 1..1000_u32),
        mss in 88..9_000_u32,
        random in proptest::collection::vec(proptest::num::u64::ANY, 1..300),
    ) {
        let steps = random.into_iter().map(Step::draw);
        if let Err(broken) = bounds::check(&mut Aimd::new(increase, keep), mss, steps) {
            proptest::prop_assert!(false, "{broken}");
        }
    }
}
// --8<-- [end:bounds]

// --8<-- [start:script]
/// A server with ten segments out, beyond slow start, whose second segment is lost.
#[test]
fn three_duplicates_leave_seven_eighths_of_the_flight() {
    let mut t = beyond_slow_start(Some(Aimd::new(310, 875)));
    t.at_ms(80).recv(ack(1 + MSS)).expect_cwnd(u64::from(10 * MSS));
    for n in 3..=5 {
        t.recv(ack(1 + MSS).sack([(1 + 2 * MSS, 1 + n * MSS)]));
    }
    // Nine segments were out.
    t.expect(data(1 + MSS..1 + 2 * MSS)).expect_ssthresh(u64::from(9 * MSS * 875 / 1000));
    t.at_ms(120).recv(ack(1 + 10 * MSS)).expect_cwnd(u64::from(9 * MSS * 875 / 1000));
}

/// The server of the scripts, a round trip of 40 ms after its handshake.
fn beyond_slow_start(own: Option<Aimd>) -> Script {
    let mut t = Script::server(profile("rfc-2014", json!({ "congestion": { "initial_ssthresh": 5 } })));
    if let Some(own) = own {
        t = t.with_congestion(Congestion::own(own));
    }
    t.establish(40);
    t.write(u64::from(10 * MSS));
    for n in 0..10 {
        t.expect(data(1 + n * MSS..1 + (n + 1) * MSS));
    }
    t
}
// --8<-- [end:script]

/// A timeout, by the name `reno` and by AIMD(1, 1/2): the same windows.
#[test]
fn a_timeout_is_repaired_as_with_reno() {
    let run = |own: Option<Aimd>| {
        let mut t = beyond_slow_start(own);
        t.at_ms(1_040).expect(data(1..1 + MSS)).expect_cwnd(u64::from(MSS));
        let mut windows = Vec::new();
        for n in 1..=10 {
            t.advance_ms(40).recv(ack(1 + n * MSS)).drain();
            windows.push((t.snap().cwnd, t.ssthresh()));
        }
        windows
    };
    let reno = run(None);
    assert_eq!(run(Some(Aimd::new(1000, 500))), reno);
    assert_ne!(run(Some(Aimd::new(310, 875))), reno);
}

/// A loss in slow start leaves half, whatever b is, and b where that is less.
#[test]
fn slow_start_ends_with_half() {
    let lost = |w: &Window, keep| {
        let loss = Loss { in_flight: 100 * MSS, snd_wnd: u32::MAX, now: Instant::ZERO };
        Aimd::new(1000, keep).ssthresh_on_loss(w, &loss) / MSS
    };
    let slow = Window { cwnd: 100 * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX };
    let avoiding = Window { ssthresh: 50 * MSS, ..slow };
    assert_eq!([875, 500, 250].map(|keep| lost(&slow, keep)), [50, 50, 25]);
    assert_eq!([870, 500, 250].map(|keep| lost(&avoiding, keep)), [87, 50, 25]);
}

/// A segment more for each window: at ten segments, after ten ACKs of one each; half as many for AIMD(2, b).
#[test]
fn growth_is_counted_in_bytes() {
    for (increase, acks) in [(1000, 10), (2000, 5), (500, 20)] {
        let mut control = Aimd::new(increase, 500);
        let mut w = Window { cwnd: 10 * MSS, ssthresh: 10 * MSS, mss: MSS, max: u32::MAX };
        for _ in 1..acks {
            control.on_ack(&mut w, &one_segment());
        }
        assert_eq!(w.cwnd, 10 * MSS, "AIMD({increase}, 500)");
        // What the application does not use up counts for nothing.
        control.on_ack(&mut w, &Ack { cwnd_limited: false, ..one_segment() });
        assert_eq!(w.cwnd, 10 * MSS, "AIMD({increase}, 500)");
        control.on_ack(&mut w, &one_segment());
        assert_eq!(w.cwnd, 11 * MSS, "AIMD({increase}, 500)");
    }
}

/// What the body is for: a window that stays as it is after a timeout is found at the first one.
#[test]
fn a_fixed_window_breaks_the_bound_of_a_timeout() {
    #[derive(Clone, Debug)]
    struct Fixed;
    impl CongestionControl for Fixed {
        fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}
        fn ssthresh_on_loss(&mut self, window: &Window, _loss: &Loss) -> u32 {
            window.cwnd
        }
        fn on_timeout(&mut self, _window: &mut Window, _now: Instant) {}
        fn on_recovery_exit(&mut self, _window: &Window, _now: Instant) {}
        fn on_spurious(&mut self) {}
        fn name(&self) -> &'static str {
            "fixed"
        }
    }
    let broken = bounds::check(&mut Fixed, MSS, [Step::FastRetransmit, Step::Timeout]).unwrap_err();
    assert_eq!((broken.number, broken.bound), (1, Bound::LossWindow));
    assert!(broken.to_string().starts_with("step 1, Timeout: after a timeout the window is one segment"));
}

fn one_segment() -> Ack {
    let during = rexmit_tcp::congestion::During::Open;
    Ack { acked: MSS, now: Instant::ZERO, srtt: None, in_flight: 0, cwnd_limited: true, during }
}

/// A server that paces a segment of data each 10 ms, with its handshake done at 40 ms.
fn paced() -> (Script, RateBased) {
    let control = RateBased::new(Rate::from_bits_per_second(u64::from(MSS) * 8 * 100));
    let own = Congestion::own(control.clone());
    let mut t = Script::server(profile("rfc-2014", json!({}))).with_congestion(own);
    t.establish(40);
    (t, control)
}

/// A segment waits for its time, whatever the window; an ACK does not.
#[test]
fn data_leave_at_the_controller_s_rate() {
    let (mut t, control) = paced();
    t.write(u64::from(5 * MSS));
    t.expect(data(1..1 + MSS));
    for n in 1..4 {
        t.expect_at_ms(40 + 10 * u64::from(n), data(1 + n * MSS..1 + (n + 1) * MSS));
    }
    // Out of order: acknowledged at once, and reported in what leaves after it, which is shorter for that.
    t.at_ms(75).recv(data(1001..2001)).expect(ack(1));
    t.expect_at_ms(80, data(1 + 4 * MSS..1 + 5 * MSS - 12));
    t.expect_nothing_until_ms(89);
    let sent = control.heard.lock().unwrap().sent.clone();
    assert!(sent.iter().all(|s| !s.again));
    assert_eq!(sent.iter().map(|s| s.in_flight / u64::from(MSS)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
}

/// What is sent again in recovery is paced, too, and its ACKs are samples.
#[test]
fn recovery_is_paced_and_sampled() {
    for stack in ["rfc-2014", "freebsd-6.0", "linux-2.6.9", "linux-2.6.15", "linux-6.1", "linux-6.1-no-rack"]
    {
        let control = RateBased::new(Rate::from_bits_per_second(u64::from(MSS) * 8 * 100));
        let mut t = Script::server(profile(stack, json!({ "initial_window": 8 })))
            .with_congestion(Congestion::own(control.clone()));
        t.establish(40);
        t.write(u64::from(8 * MSS));
        t.at_ms(200).drain();
        // Of eight the first four are lost.
        for n in 6..=9 {
            t.recv_more(ack(1).sack([(1 + 4 * MSS, 1 + (n - 1) * MSS)]));
        }
        t.drain();
        for ms in 200..400 {
            t.at_ms(ms).drain();
        }
        let again: Vec<u64> = {
            let heard = control.heard.lock().unwrap();
            let again = heard.sent.iter().filter(|s| s.again);
            again.map(|s| s.now.as_nanos() / 1_000_000).collect()
        };
        assert!(again.len() >= 2, "{stack}: {again:?}");
        assert!(again.windows(2).all(|pair| pair[1] >= pair[0] + 10), "{stack}: {again:?}");
        let samples = control.heard.lock().unwrap().samples.len();
        assert_eq!(samples, 4, "{stack}");
    }
}

/// Ten segments leave 10 ms apart, and their ACKs come as they left: the sample is the rate of both.
#[test]
fn a_sample_is_the_rate_of_delivery() {
    let (mut t, control) = paced();
    t.write(u64::from(10 * MSS));
    t.drain();
    for n in 1..=10 {
        t.at_ms(60 + 10 * u64::from(n)).drain();
        t.recv(ack(1 + n * MSS)).drain();
    }
    let samples = control.heard.lock().unwrap().samples.clone();
    assert_eq!(samples.len(), 10);
    let last = samples.last().unwrap();
    // The last segment left at 130 ms, when six had arrived, the sixth at 120 ms; its ACK came at 160 ms.
    assert_eq!(last.rtt, Some(Duration::from_millis(30)));
    assert_eq!((last.delivered, last.interval), (u64::from(4 * MSS), Duration::from_millis(40)));
    assert_eq!(last.total_delivered, u64::from(10 * MSS));
    assert_eq!(last.rate(), control.fixed);
}

/// The echo of a mark reaches the controller with what it acknowledges, and nobody else.
#[test]
fn an_echo_of_a_mark_is_told() {
    let (mut t, control) = paced();
    t.write(u64::from(2 * MSS));
    t.expect(data(1..1 + MSS));
    t.at_ms(80).drain();
    t.recv(ack(1 + MSS).ece());
    t.recv(ack(1 + 2 * MSS));
    let echoes = control.heard.lock().unwrap().echoes.clone();
    let mss = u64::from(MSS);
    let told: Vec<_> = echoes.iter().map(|e| (e.acked, e.marks, e.in_flight)).collect();
    assert_eq!(told, [(mss, 1, 2 * mss)]);
}

/// A reset in the handshake sends a server back to LISTEN, and its controller with it.
#[test]
fn a_server_that_listens_again_keeps_its_controller() {
    let control = RateBased::new(Rate::from_bits_per_second(u64::from(MSS) * 8 * 100));
    let own = Congestion::own(control.clone());
    let mut t = Script::server(profile("rfc-2014", json!({}))).with_congestion(own);
    t.recv(syn()).expect(syn_ack());
    t.recv(rst(1)).expect_state(State::Listen);
    t.establish(40);
    t.write(u64::from(2 * MSS));
    t.expect(data(1..1 + MSS));
    t.expect_at_ms(t.now_ms() + 10, data(1 + MSS..1 + 2 * MSS));
    assert_eq!(control.heard.lock().unwrap().sent.len(), 2);
}

/// A server with ten segments out, without SACK, and two more to send.
fn ten_out(own: Option<&OwnRecovery>) -> Script {
    let mut t = Script::server(profile("rfc-2014", json!({ "options": { "sack": false } })));
    if let Some(own) = own {
        t = t.with_recovery(own);
    }
    t.establish(40);
    t.write(u64::from(12 * MSS));
    for n in 0..10 {
        t.expect(data(1 + n * MSS..1 + (n + 1) * MSS));
    }
    t.at_ms(80);
    t
}

/// Twins: the same duplicates make NewReno send new data and end at half the flight, and Tahoe begin anew with one
/// segment, silent until it is acknowledged.
#[test]
fn tahoe_and_newreno_answer_the_same_duplicates() {
    let mut t = ten_out(None);
    t.recv(ack(1)).expect(data(1 + 10 * MSS..1 + 11 * MSS));
    t.recv(ack(1)).expect(data(1 + 11 * MSS..1 + 12 * MSS));
    t.recv(ack(1)).expect(data(1..1 + MSS)).expect_ssthresh(u64::from(5 * MSS));
    t.expect_cwnd(u64::from(8 * MSS));
    t.recv(ack(1)).expect_cwnd(u64::from(9 * MSS));
    t.at_ms(120).recv(ack(1 + 12 * MSS)).expect_cwnd(u64::from(2 * MSS));

    let mut t = ten_out(Some(&OwnRecovery::new(Tahoe::new)));
    t.recv(ack(1)).recv(ack(1)).recv(ack(1));
    t.expect(data(1..1 + MSS)).expect_ssthresh(u64::from(5 * MSS)).expect_cwnd(u64::from(MSS));
    t.recv(ack(1)).expect_cwnd(u64::from(MSS));
    assert_eq!(t.snap().phase, "loss");
    t.at_ms(120).recv(ack(1 + 10 * MSS)).expect_cwnd(u64::from(2 * MSS));
    t.expect(data(1 + 10 * MSS..1 + 11 * MSS)).expect(data(1 + 11 * MSS..1 + 12 * MSS));
    assert_eq!(t.snap().phase, "open");
}

/// Its timer: everything goes again from the first segment on, as the windows allow.
#[test]
fn tahoe_goes_back_at_a_timeout() {
    let mut t = ten_out(Some(&OwnRecovery::new(Tahoe::new)));
    t.expect_at_ms(1_040, data(1..1 + MSS)).expect_cwnd(u64::from(MSS));
    t.advance_ms(40).recv(ack(1 + MSS));
    t.expect(data(1 + MSS..1 + 2 * MSS)).expect(data(1 + 2 * MSS..1 + 3 * MSS));
}

/// A reset in the handshake sends a server back to LISTEN, and its way to recover with it.
#[test]
fn a_server_that_listens_again_keeps_its_recovery() {
    let own = OwnRecovery::new(Tahoe::new);
    let mut t =
        Script::server(profile("rfc-2014", json!({ "options": { "sack": false } }))).with_recovery(&own);
    t.recv(syn()).expect(syn_ack());
    t.recv(rst(1)).expect_state(State::Listen);
    t.establish(40);
    t.write(u64::from(4 * MSS));
    t.drain();
    t.recv(ack(1)).recv(ack(1)).recv(ack(1)).expect(data(1..1 + MSS)).expect_cwnd(u64::from(MSS));
}
