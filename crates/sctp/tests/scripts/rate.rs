//! Samples of the rate of delivery, against arithmetic by hand (draft-cheng-iccrg-delivery-rate-estimation-02).

#[path = "rate_based.rs"]
mod rate_based;
#[path = "../../../stack/tests/toys/rate_based.rs"]
mod toy;

use rexmit_sctp::Role;
use rexmit_sctp::congestion::{Congestion, EcnEcho, RateSample};
use rexmit_stack::{Event, Reason};
use rexmit_units::{Duration, Instant, Rate};
use rexmit_wire::sctp::{Chunk, InitChunk};
use serde_json::json;

use toy::RateBased;

use super::paths::{ip, two_with};
use crate::common::{Script, TSN, config, gaps, init, rfc, sack};

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// An association that stands since the start, with such a controller.
fn up(fixed: Option<Rate>) -> (Script, RateBased) {
    let control = RateBased::new(fixed);
    let mut t = Script::new(config(rfc(json!({})), Role::Active));
    t.assoc.set_congestion(Congestion::own(control.clone()));
    let answer = InitChunk { cookie: Some([7; 8].into()), ..init() };
    t.connect().expect("INIT").recv(Chunk::InitAck(Box::new(answer)));
    t.expect("COOKIE-ECHO").recv(Chunk::CookieAck).expect_event(Event::Connected);
    (t, control)
}

fn last(control: &RateBased) -> RateSample {
    *control.heard.lock().unwrap().samples.last().expect("a sample")
}

/// Five chunks leave at once, and the second is lost: each report is a sample over the time since they left; that of the
/// retransmission begins where the third was reported, and gives no round-trip time.
#[test]
fn a_retransmission_is_sampled() {
    let (mut t, control) = up(None);
    t.writes(5, 1000).drain();
    t.at_ms(10).recv(sack(1));
    let sample = last(&control);
    assert_eq!((sample.delivered, sample.interval, sample.rtt), (1000, ms(10), Some(ms(10))));
    assert_eq!((sample.prior_delivered, sample.total_delivered, sample.in_flight), (0, 1000, 4000));
    for (time, top) in [(20, 3), (21, 4)] {
        t.at_ms(time).recv(gaps(1, &[(3, top)]));
        let sample = last(&control);
        assert_eq!((sample.newly_delivered, sample.interval), (1000, ms(time)));
        assert_eq!(sample.delivered, sample.total_delivered);
    }
    t.at_ms(22).recv(gaps(1, &[(3, 5)]));
    assert_eq!((last(&control).total_delivered, last(&control).in_flight), (4000, 1000));
    t.expect_for("2:1000", Reason::Fast { duplicates: 3, sacked: 3 });
    t.at_ms(40).recv(sack(5));
    let sample = last(&control);
    // 4000 bytes had been delivered when it left at 22 ms. Those of the interval left from 0 to 22 ms and were
    // acknowledged from 22 to 40 ms.
    assert_eq!((sample.prior_delivered, sample.prior_delivered_at), (4000, at(22)));
    assert_eq!((sample.delivered, sample.total_delivered, sample.interval), (1000, 5000, ms(22)));
    assert_eq!((sample.rtt, sample.is_retransmit, sample.in_flight), (None, true, 0));
    let heard = control.heard.lock().unwrap();
    assert_eq!(heard.samples.iter().filter(|sample| sample.is_retransmit).count(), 1);
    assert_eq!((heard.samples.len(), heard.losses, heard.timeouts), (5, 1, 0));
}

/// What leaves while more waits for its time is not a lower bound; what leaves when nothing waits is.
#[test]
fn an_application_that_has_no_more_is_told_of() {
    let (mut t, control) = up(Rate::from_bits_per_second(100 * 8 * 100));
    t.writes(6, 100);
    t.expect("1:100").expect_at_ms(10, "2:100").expect_at_ms(20, "3:100");
    t.at_ms(25).recv(sack(2));
    assert!(last(&control).app_limited, "the first write left when no other had been written");
    t.expect_at_ms(30, "4:100").expect_at_ms(40, "5:100").expect_at_ms(50, "6:100");
    t.at_ms(80).recv(sack(6));
    let sample = last(&control);
    // The sixth left at 50 ms, when two had been delivered, at 25 ms; the second had left at 10 ms.
    assert_eq!((sample.newly_delivered, sample.delivered, sample.prior_delivered), (400, 400, 200));
    assert_eq!((sample.interval, sample.rtt, sample.app_limited), (ms(55), Some(ms(30)), false));
    t.at_ms(100).write(100).expect("7:100");
    t.at_ms(130).recv(sack(7));
    let sample = last(&control);
    // Nothing was out: its interval begins with it.
    assert_eq!((sample.delivered, sample.interval, sample.app_limited), (100, ms(30), true));
}

/// A report that is taken back and comes again delivers nothing more.
#[test]
fn a_report_counts_once() {
    let (mut t, control) = up(None);
    t.writes(3, 100).drain();
    t.at_ms(10).recv(gaps(0, &[(3, 3)]));
    t.at_ms(11).recv(sack(1));
    t.at_ms(12).recv(gaps(1, &[(3, 3)]));
    t.at_ms(13).recv(sack(3));
    let heard = control.heard.lock().unwrap();
    let told: Vec<_> = heard.samples.iter().map(|sample| (sample.newly_delivered, sample.now)).collect();
    assert_eq!(told, [(100, at(10)), (100, at(11)), (100, at(13))]);
}

/// Each path has samples of its own: of what left on it last.
#[test]
fn paths_are_sampled_apart() {
    let control = RateBased::new(None);
    let mut t = two_with(json!({}), Some(Congestion::own(control.clone())));
    t.write(100).expect("1:100");
    t.at_ms(30).recv(sack(1));
    assert_eq!((last(&control).total_delivered, last(&control).rtt), (100, Some(ms(30))));
    t.write(50).expect("2:50");
    // T3 moves it to the other path, on which nothing has been delivered.
    let sent = loop {
        t.advance_ms(1);
        if let Some((sent, _)) = t.drain().first() {
            break *sent;
        }
    };
    assert_eq!(t.last.as_ref().map(|packet| packet.dst), Some(ip("10.1.0.2")));
    t.advance_ms(40).recv(sack(2));
    let sample = last(&control);
    assert_eq!((sample.prior_delivered, sample.delivered, sample.total_delivered), (0, 50, 50));
    assert_eq!((sample.now.as_nanos() / 1_000_000, sample.interval), (sent + 40, ms(40)));
    assert_eq!((sample.rtt, sample.is_retransmit), (None, true));
    assert_eq!(control.heard.lock().unwrap().timeouts, 1);
}

/// A mark concerns the path on which the marked chunk left.
#[test]
fn a_mark_is_told_to_its_path() {
    let control = RateBased::new(None);
    let mut t = two_with(json!({}), Some(Congestion::own(control.clone())));
    t.writes(3, 100).drain();
    let marked = |tsn: u32, count: u32| {
        let value = [(TSN + tsn - 1).to_be_bytes(), count.to_be_bytes()].concat();
        Chunk::Other { kind: 12, flags: 0, value: value.into() }
    };
    t.at_ms(20).recv(vec![marked(2, 2), Chunk::Sack(sack(2))]);
    let echoes = control.heard.lock().unwrap().echoes.clone();
    assert_eq!(echoes, [EcnEcho { now: at(20), acked: 0, marks: 2, in_flight: 300 }]);
}
