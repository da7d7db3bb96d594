//! Reno's named choices.

use super::*;

#[test]
fn freebsd_grows_per_ack_and_still_slowly_at_the_threshold() {
    // FB-IW-1, FB-IW-2: 4380 bytes, and one more segment for the ACK that completes the handshake.
    let mut c = Congestion::new(&freebsd());
    let mut w = window(4380, u32::MAX);
    assert_eq!(grow(&mut c, &mut w, &[1, 2896, 1448, 656]), [5828, 7276, 8724, 10_172]);
    // FB-CW-1: equality is slow start; above it 1448 x 1448 / cwnd, rounded down.
    let mut w = window(4 * MSS, 4 * MSS);
    assert_eq!(grow(&mut c, &mut w, &[MSS; 4]), [7240, 7529, 7807, 8075]);
}

#[test]
fn below_the_threshold_is_the_other_reading() {
    let below = CongestionConfig { slow_start: SlowStartCondition::BelowSsthresh, ..freebsd() };
    let mut c = Congestion::new(&below);
    let mut w = window(4 * MSS, 4 * MSS);
    // 2096704 / 5792 = 362 at once.
    assert_eq!(grow(&mut c, &mut w, &[MSS]), [5792 + 362]);
}

#[test]
fn an_increment_of_nothing_is_one_byte_where_chosen() {
    // 88 x 88 / 65535 = 0.
    let small = Window { mss: 88, ..window(65_535, 1000) };
    let mut w = small;
    assert_eq!(grow(&mut Congestion::new(&freebsd()), &mut w, &[88]), [65_535]);
    let mut w = small;
    let seven = CongestionConfig { at_least_one: true, ..freebsd() };
    assert_eq!(grow(&mut Congestion::new(&seven), &mut w, &[88]), [65_536]);
}

#[test]
fn growth_stops_at_the_largest_window() {
    let mut c = Congestion::new(&freebsd());
    let mut w = Window { max: 65_535, ..window(64_800, u32::MAX) };
    assert_eq!(grow(&mut c, &mut w, &[MSS, MSS]), [65_535, 65_535]);
    // The limit fell below the window (a smaller scale): no growth, and no shrinking either.
    w.cwnd = 70_000;
    assert_eq!(grow(&mut c, &mut w, &[MSS]), [70_000]);
}

#[test]
fn bytes_count_up_to_the_limit_in_slow_start() {
    // RFC 3465 section 2.2: min(bytes, L x mss).
    let mut c = Congestion::new(&rfc());
    let mut w = window(10 * MSS, u32::MAX);
    assert_eq!(
        grow(&mut c, &mut w, &[MSS, 2 * MSS, 3 * MSS, 100]),
        [11 * MSS, 13 * MSS, 15 * MSS, 15 * MSS + 100]
    );
    // RFC 5681 equation 2.
    let mut c = Congestion::new(&CongestionConfig { abc_limit: 1, ..rfc() });
    let mut w = window(10 * MSS, u32::MAX);
    assert_eq!(grow(&mut c, &mut w, &[2 * MSS, 700]), [11 * MSS, 11 * MSS + 700]);
}

#[test]
fn after_a_timeout_the_limit_is_one_segment_until_slow_start_is_over() {
    let mut c = Congestion::new(&rfc());
    let mut w = window(20 * MSS, u32::MAX);
    w.ssthresh = c.ssthresh_on_loss(&w, &loss(8 * MSS));
    c.on_timeout(&mut w, Instant::ZERO);
    assert_eq!((w.cwnd, w.ssthresh), (MSS, 4 * MSS));
    assert_eq!(grow(&mut c, &mut w, &[9 * MSS; 3]), [2 * MSS, 3 * MSS, 4 * MSS]);
    // Congestion avoidance, then slow start again with two segments an ACK.
    grow(&mut c, &mut w, &[MSS]);
    w.ssthresh = u32::MAX;
    assert_eq!(grow(&mut c, &mut w, &[9 * MSS]), [6 * MSS]);
}

#[test]
fn bytes_of_one_window_give_one_segment() {
    let mut c = Congestion::new(&rfc());
    let mut w = window(4 * MSS, 2 * MSS);
    let delayed = grow(&mut c, &mut w, &[2 * MSS; 5]);
    // 4 segments are reached at the second ACK; the fifth completes ten, of which 4 + 5 are used up.
    assert_eq!(delayed, [4 * MSS, 5 * MSS, 5 * MSS, 5 * MSS, 6 * MSS]);
}

#[test]
fn bytes_beyond_a_window_count_towards_the_next() {
    let mut c = Congestion::new(&rfc());
    let mut w = window(4 * MSS, 2 * MSS);
    // 3; 6, of which 2 are left; 5.
    assert_eq!(grow(&mut c, &mut w, &[3 * MSS; 3]), [4 * MSS, 5 * MSS, 6 * MSS]);
}

#[test]
fn a_congestion_event_clears_what_was_counted() {
    let Congestion::Reno(mut c) = Congestion::new(&rfc()) else { unreachable!() };
    let mut w = window(4 * MSS, 2 * MSS);
    c.on_ack(&mut w, &ack(3 * MSS, Instant::ZERO));
    assert_eq!(c.credit(), 3 * MSS);
    c.ssthresh_on_loss(&w, &loss(4 * MSS));
    assert_eq!(c.credit(), 0);
    c.set_credit(7);
    c.on_timeout(&mut w, Instant::ZERO);
    assert_eq!(c.credit(), 0);
}

#[test]
fn linux_compares_before_it_counts() {
    // T-LX-3: cwnd 6 above the threshold, counter 0: seven ACKs.
    let mut c = Congestion::new(&linux());
    let mut w = window(6 * MSS, 3 * MSS);
    let seen: Vec<u32> = grow(&mut c, &mut w, &[MSS; 15]).iter().map(|b| b / MSS).collect();
    assert_eq!(seen, [6, 6, 6, 6, 6, 6, 7, 7, 7, 7, 7, 7, 7, 7, 8]);
}

#[test]
fn linux_keeps_the_counter_that_recovery_left() {
    // T-LX-4, LX-ST-13: after an even window it is 1, so the step takes one ACK less.
    let Congestion::Reno(mut c) = Congestion::new(&linux()) else { unreachable!() };
    let mut w = window(6 * MSS, 3 * MSS);
    c.set_credit(1);
    let mut acks = 0;
    while w.cwnd == 6 * MSS {
        c.on_ack(&mut w, &ack(MSS, Instant::ZERO));
        acks += 1;
    }
    assert_eq!((acks, c.credit()), (6, 0));
}

#[test]
fn a_sender_that_its_application_limits_does_not_grow_where_chosen() {
    let idle = Ack { cwnd_limited: false, ..ack(MSS, Instant::ZERO) };
    let mut w = window(4380, u32::MAX);
    Congestion::new(&rfc()).on_ack(&mut w, &idle);
    assert_eq!(w.cwnd, 4380);
    // FB-CW-2
    Congestion::new(&freebsd()).on_ack(&mut w, &idle);
    assert_eq!(w.cwnd, 4380 + MSS);
}

#[test]
fn three_rules_for_the_threshold() {
    let w = window(10 * MSS + 700, u32::MAX);
    let event = Loss { in_flight: 7 * MSS + 100, snd_wnd: 9 * MSS + 1400, now: Instant::ZERO };
    // FB-FR-2: whole segments of half the smaller window.
    assert_eq!(Congestion::new(&freebsd()).ssthresh_on_loss(&w, &event), 4 * MSS);
    // LX-ST-6
    assert_eq!(Congestion::new(&linux()).ssthresh_on_loss(&w, &event), 5 * MSS);
    // RFC 5681 equation 4.
    assert_eq!(Congestion::new(&rfc()).ssthresh_on_loss(&w, &event), (7 * MSS + 100) / 2);
    let nothing = Loss { in_flight: 0, snd_wnd: 0, now: Instant::ZERO };
    for config in [freebsd(), linux(), rfc()] {
        assert_eq!(Congestion::new(&config).ssthresh_on_loss(&window(MSS, MSS), &nothing), 2 * MSS);
    }
}
