//! Samples and pauses against arithmetic by hand.

use super::*;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

/// Ten at once, whose ACKs come 1 ms apart after 20 ms: the first sample spans the round trip, the later ones grow
/// towards the rate at which ACKs come.
#[test]
fn acks_a_millisecond_apart_tell_of_a_segment_a_millisecond() {
    let mut rate = DeliveryRate::new();
    let stamps: Vec<_> = (0..10).map(|n| rate.on_sent(at(0), n == 0, false)).collect();
    rate.on_delivered(at(20), &stamps[0], 1000);
    let sample = rate.sample(at(20), 9000).unwrap();
    assert_eq!((sample.delivered, sample.interval), (1000, Duration::from_millis(20)));
    assert_eq!((sample.rtt, sample.in_flight), (Some(Duration::from_millis(20)), 9000));
    // What leaves now is answered after twenty more segments of time: its sample begins at this ACK.
    let last = rate.on_sent(at(20), false, false);
    for (ms, stamp) in (21..).zip(&stamps[1..]) {
        rate.on_delivered(at(ms), stamp, 1000);
        rate.sample(at(ms), 0).unwrap();
    }
    rate.on_delivered(at(40), &last, 1000);
    let sample = rate.sample(at(40), 0).unwrap();
    assert_eq!((sample.prior_delivered, sample.total_delivered), (1000, 11_000));
    assert_eq!((sample.prior_delivered_at, sample.newly_delivered), (at(20), 1000));
    assert_eq!((sample.delivered, sample.interval), (10_000, Duration::from_millis(20)));
    assert_eq!(sample.rate().unwrap().bits_per_second(), 4_000_000);
}

/// Of several that one acknowledgment reports, the one that left last is the sample's; one that was sent again gives no
/// round-trip time.
#[test]
fn the_newest_of_several_counts() {
    let mut rate = DeliveryRate::new();
    let [first, second] = [0, 10].map(|ms| rate.on_sent(at(ms), ms == 0, false));
    rate.on_delivered(at(30), &second, 500);
    rate.on_delivered(at(30), &first, 1000);
    let sample = rate.sample(at(30), 0).unwrap();
    assert_eq!((sample.newly_delivered, sample.rtt), (1500, Some(Duration::from_millis(20))));
    assert_eq!(rate.sample(at(31), 0), None);
    let again = rate.on_sent(at(40), true, true);
    rate.on_delivered(at(60), &again, 700);
    let sample = rate.sample(at(60), 0).unwrap();
    assert_eq!((sample.newly_delivered, sample.rtt, sample.is_retransmit), (700, None, true));
    assert_eq!((sample.delivered, sample.interval), (700, Duration::from_millis(20)));
}

/// ACKs that come faster than their segments left do not raise the rate.
#[test]
fn no_faster_than_it_was_sent() {
    let mut rate = DeliveryRate::new();
    let stamps = [0, 10, 20, 30, 40].map(|ms| rate.on_sent(at(ms), ms == 0, false));
    for stamp in &stamps {
        rate.on_delivered(at(45), stamp, 1000);
    }
    let sample = rate.sample(at(45), 0).unwrap();
    // Sent over 40 ms, acknowledged 45 ms after the first left.
    assert_eq!((sample.delivered, sample.interval), (5000, Duration::from_millis(45)));
}

/// Samples of what left while nothing waited say so, until all that was out then has arrived.
#[test]
fn an_application_that_has_no_more_is_told_of() {
    let mut rate = DeliveryRate::new();
    let first = rate.on_sent(at(0), true, false);
    rate.on_app_limited(1000);
    let second = rate.on_sent(at(5), false, false);
    let limited = |rate: &mut DeliveryRate, ms, stamp| {
        rate.on_delivered(at(ms), &stamp, 1000);
        rate.sample(at(ms), 0).unwrap().app_limited
    };
    assert!(!limited(&mut rate, 20, first));
    assert!(limited(&mut rate, 25, second));
    let third = rate.on_sent(at(30), true, false);
    assert!(!limited(&mut rate, 50, third));
}

/// 1000 bytes at 80 kbit/s take 100 ms, counted from when they left, or from when they might have.
#[test]
fn data_wait_as_long_as_those_before_take() {
    let (mut pace, rate) = (Pace::new(), Rate::from_bits_per_second(80_000).unwrap());
    assert_eq!(pace.waits_until(at(0)), None);
    pace.on_sent(at(50), 1000, rate);
    pace.on_sent(at(50), 500, rate);
    assert_eq!((pace.waits_until(at(199)), pace.waits_until(at(200))), (Some(at(200)), None));
    pace.on_sent(at(1_000), 1000, rate);
    assert_eq!(pace.waits_until(at(1_000)), Some(at(1_100)));
}
