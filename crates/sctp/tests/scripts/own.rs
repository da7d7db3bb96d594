//! A congestion control from outside: what it is told, and what becomes of its window and its rate.

use std::sync::{Arc, Mutex};

use rexmit_sctp::Role;
use rexmit_sctp::congestion::{
    Congestion, CongestionControl, EcnEcho, RateControl, RateSample, Sacked, SentData, Window,
};
use rexmit_stack::{Event, Reason};
use rexmit_units::{Instant, Rate};
use rexmit_wire::sctp::Chunk;
use serde_json::json;

use crate::common::{Script, config, gaps, init, rfc, sack};

/// A window of so many bytes whatever happens, and a rate.
#[derive(Clone, Debug)]
struct Fixed {
    window: u64,
    rate: Option<Rate>,
    heard: Arc<Mutex<Vec<String>>>,
}

impl Fixed {
    fn note(&self, text: String) {
        self.heard.lock().unwrap().push(text);
    }
}

impl CongestionControl for Fixed {
    fn on_sack(&mut self, window: &mut Window, sacked: &Sacked) {
        window.cwnd = self.window;
        self.note(format!("sack of {} of {}, recovering {}", sacked.acked, sacked.flight, sacked.recovering));
    }

    fn on_loss(&mut self, _window: &mut Window, _now: Instant, flight: u64) {
        self.note(format!("loss, {flight} left"));
    }

    fn on_timeout(&mut self, _window: &mut Window, _now: Instant) {
        self.note("timeout".into());
    }

    fn on_drained(&mut self) {
        self.note("drained".into());
    }

    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "fixed"
    }
}

impl RateControl<Window> for Fixed {
    fn on_sent(&mut self, _window: &mut Window, sent: &SentData) {
        let at = sent.now.as_nanos() / 1_000_000;
        let again = if sent.again { ", again" } else { "" };
        self.note(format!("{} at {at} behind {}{again}", sent.len, sent.in_flight));
    }

    fn on_rate_sample(&mut self, _window: &mut Window, sample: &RateSample) {
        self.note(format!("{} of {} bytes", sample.newly_delivered, sample.total_delivered));
    }

    fn on_ecn(&mut self, _window: &mut Window, echo: &EcnEcho) {
        self.note(format!("{} marked of {}", echo.marks, echo.in_flight));
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.rate
    }
}

/// An association that stands since the start, with this window and a chunk of 100 bytes each so many milliseconds.
fn up(window: u64, gap_ms: Option<u64>) -> (Script, Fixed) {
    let rate = gap_ms.and_then(|gap| Rate::from_bits_per_second(100 * 8 * 1000 / gap));
    let control = Fixed { window, rate, heard: Arc::default() };
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    t.assoc.set_congestion(Congestion::own(control.clone()));
    let mut answer = init();
    answer.cookie = Some([7; 8].into());
    t.connect().expect("INIT").recv(Chunk::InitAck(Box::new(answer)));
    t.expect("COOKIE-ECHO").recv(Chunk::CookieAck).expect_event(Event::Connected);
    (t, control)
}

/// Chunks wait for their time, whatever the window.
#[test]
fn chunks_leave_at_the_controller_s_rate() {
    let (mut t, control) = up(1 << 20, Some(10));
    t.writes(3, 100);
    t.expect("1:100");
    t.expect_at_ms(10, "2:100").expect_at_ms(20, "3:100");
    t.expect_nothing_until_ms(29);
    let heard = control.heard.lock().unwrap().clone();
    assert_eq!(heard, ["100 at 0 behind 0", "100 at 10 behind 100", "100 at 20 behind 200"]);
}

/// SACKs, losses, timeouts and marks are told; the window is the controller's.
#[test]
fn a_controller_is_told_of_all_that_concerns_it() {
    let (mut t, control) = up(3000, None);
    t.writes(6, 1000).drain();
    control.heard.lock().unwrap().clear();
    t.at_ms(10).recv(sack(1)).expect_cwnd(3000).drain();
    t.recv(gaps(1, &[(3, 3)])).drain();
    t.recv(gaps(1, &[(3, 4)])).drain();
    t.recv(gaps(1, &[(3, 5)]));
    t.expect_for("2:1000", Reason::Fast { duplicates: 3, sacked: 3 }).drain();
    t.expect_cwnd(3000);
    // ECNE with the lowest TSN that was marked; the longer form counts packets.
    t.recv(Chunk::Other { kind: 12, flags: 0, value: [0, 0, 3, 0xed].into() }).drain();
    t.recv(Chunk::Other { kind: 12, flags: 0, value: [0, 0, 3, 0xed, 0, 0, 0, 4].into() }).drain();
    t.at_ms(5_000).drain();
    let heard = control.heard.lock().unwrap().clone();
    for what in [
        "sack of 1000 of 5000, recovering false",
        "1000 of 1000 bytes",
        "loss, 1000 left",
        "1 marked of 2000",
        "4 marked of 2000",
        "timeout",
    ] {
        assert!(heard.iter().any(|h| h == what), "{what}: {heard:#?}");
    }
    assert!(heard.iter().any(|h| h.ends_with(", again")), "{heard:#?}");
    t.recv(sack(6)).drain();
    assert!(control.heard.lock().unwrap().iter().any(|h| h == "drained"));
}
