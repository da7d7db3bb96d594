//! Sequences computed by hand from the profiles' rules, then properties of all three estimators.

use proptest::prelude::*;
use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

use super::{EstimatorKind, RttConfig, RttConfigError, RttEstimator};

const UNA: SeqNumber = SeqNumber(1000);
const NXT: SeqNumber = SeqNumber(5000);

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn bsd() -> RttConfig {
    RttConfig {
        estimator: EstimatorKind::Bsd,
        tick: ms(1),
        initial_rto: ms(3_000),
        min_rto: ms(3),
        slop: ms(200),
        max_rto: ms(64_000),
        variance_floor: Duration::ZERO,
        rto_after_syn_loss: None,
        syn_backoff: vec![1, 1, 1, 1, 1, 2, 4, 8, 16, 32, 64, 64, 64],
        backoff: vec![1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 512, 512, 512],
    }
}

fn rfc6298() -> RttConfig {
    RttConfig {
        estimator: EstimatorKind::Rfc6298,
        initial_rto: ms(1_000),
        min_rto: ms(1_000),
        slop: Duration::ZERO,
        max_rto: ms(60_000),
        rto_after_syn_loss: Some(ms(3_000)),
        syn_backoff: Vec::new(),
        backoff: Vec::new(),
        ..bsd()
    }
}

fn linux(hz: u64) -> RttConfig {
    RttConfig {
        estimator: EstimatorKind::Linux,
        tick: Duration::from_nanos(1_000_000_000 / hz),
        min_rto: Duration::ZERO,
        slop: Duration::ZERO,
        max_rto: ms(120_000),
        variance_floor: ms(200),
        syn_backoff: Vec::new(),
        backoff: Vec::new(),
        ..bsd()
    }
}

/// Feeds one sample in milliseconds and returns the timeout in milliseconds.
fn after(e: &mut RttEstimator, rtt: u64) -> f64 {
    e.sample(ms(rtt), UNA, NXT);
    e.rto().as_millis_f64()
}

fn after_expiry(e: &mut RttEstimator) -> f64 {
    e.backoff();
    e.rto().as_millis_f64()
}

#[test]
fn bsd_first_timeout_is_three_samples_plus_slop() {
    // T-FB-2, and FB-RTO-1 for the whole range that the study meets.
    for r in 1..2_000 {
        let mut e = RttEstimator::new(&bsd());
        assert_eq!(after(&mut e, r), (3 * r + 200) as f64);
    }
    assert_eq!(after(&mut RttEstimator::new(&bsd()), 29), 287.0);
}

#[test]
fn bsd_later_samples_by_hand() {
    let mut e = RttEstimator::new(&bsd());
    // srtt 928, rttvar 232: (116 + 232) / 4 = 87.
    assert_eq!(after(&mut e, 29), 287.0);
    // d = 116 - 116 = 0; rttvar 232 - 58 = 174: (116 + 174) / 4 = 72.
    assert_eq!(after(&mut e, 30), 272.0);
    // d = 196 - 116 = 80; srtt 1008; rttvar 174 + 80 - 43 = 211: (126 + 211) / 4 = 84.
    assert_eq!(after(&mut e, 50), 284.0);
    // d = 36 - 126 = -90; srtt 918; rttvar 211 + 90 - 52 = 249: (114 + 249) / 4 = 90.
    assert_eq!(after(&mut e, 10), 290.0);
    assert_eq!(e.srtt().unwrap().as_nanos(), 918_000_000 / 32);
    assert_eq!(e.rttvar().unwrap().as_nanos(), 249_000_000 / 16);
    assert_eq!(e.half_srtt(), ms(14));
}

#[test]
fn bsd_timeout_is_never_less_than_the_sample_plus_two_ticks_nor_above_the_maximum() {
    let mut e = RttEstimator::new(&RttConfig { slop: Duration::ZERO, ..bsd() });
    for _ in 0..100 {
        after(&mut e, 101);
    }
    // rttvar has gone down to its last quarter ticks; the value alone would be 100.
    assert_eq!(e.rto(), ms(103));
    assert_eq!(after(&mut RttEstimator::new(&bsd()), 30_000), 64_000.0);
}

#[test]
fn bsd_minimum_comes_before_the_slop() {
    let mut e = RttEstimator::new(&RttConfig { min_rto: ms(30), ..bsd() });
    assert_eq!(after(&mut e, 1), 230.0);
}

#[test]
fn bsd_backoff_adds_the_slop_once_and_gives_up_the_smoothed_time_at_the_fourth() {
    let mut e = RttEstimator::new(&bsd());
    after(&mut e, 29);
    // FB-RTO-6 with value 87.
    assert_eq!(after_expiry(&mut e), 374.0);
    assert_eq!(after_expiry(&mut e), 548.0);
    assert_eq!(after_expiry(&mut e), 896.0);
    assert!(e.srtt().is_some());
    assert_eq!(after_expiry(&mut e), 1_592.0);
    // rttvar 232 + 928 / 32 = 261, srtt 0: the value is 65 from here.
    assert_eq!(e.srtt(), None);
    assert_eq!(e.half_srtt(), Duration::ZERO);
    assert_eq!(after_expiry(&mut e), 2_280.0);
    assert_eq!(after_expiry(&mut e), 4_360.0);
    for _ in 7..=12 {
        after_expiry(&mut e);
    }
    assert_eq!((e.shift(), e.rto()), (12, ms(65 * 512 + 200)));
    // The next sample is a first one.
    assert_eq!(after(&mut e, 40), 320.0);
    assert_eq!(e.shift(), 0);
}

#[test]
fn bsd_syn_intervals() {
    // FB-SYN-1
    let mut e = RttEstimator::new(&bsd());
    let mut intervals = vec![e.rto().as_millis_f64()];
    for _ in 0..6 {
        e.backoff_syn();
        intervals.push(e.rto().as_millis_f64());
    }
    assert_eq!(intervals, [3000.0, 3200.0, 3200.0, 3200.0, 3200.0, 6200.0, 12_200.0]);
    e.reset_backoff();
    assert_eq!((e.rto(), e.shift()), (ms(3_000), 0));
}

#[test]
fn bsd_ticks_of_half_a_millisecond() {
    // FB-54-3: a sample of 58 ticks is 29 ms, and the slop is 400 ticks.
    let tick = Duration::from_micros(500);
    let mut e = RttEstimator::new(&RttConfig { tick, min_rto: tick * 3, ..bsd() });
    e.sample(tick * 58, UNA, NXT);
    assert_eq!(e.rto(), tick * (3 * 58 + 400));
}

#[test]
fn rfc6298_by_hand() {
    let mut e = RttEstimator::new(&RttConfig { min_rto: ms(1), ..rfc6298() });
    assert_eq!(e.rto(), ms(1_000));
    // Sections 2.2 and 2.3.
    assert_eq!(after(&mut e, 100), 300.0);
    assert_eq!(after(&mut e, 100), 250.0);
    assert_eq!(after(&mut e, 180), 302.5);
    assert_eq!((e.srtt(), e.rttvar()), (Some(ms(110)), Some(Duration::from_nanos(48_125_000))));
    // Section 5.5; the backoff lasts until the next sample.
    assert_eq!([after_expiry(&mut e), after_expiry(&mut e), after_expiry(&mut e)], [605.0, 1210.0, 2420.0]);
    assert_eq!(e.shift(), 3);
    e.reset_backoff();
    assert_eq!(e.rto().as_millis_f64(), 302.5);
}

#[test]
fn rfc6298_granularity_minimum_and_maximum() {
    let mut e = RttEstimator::new(&RttConfig { tick: ms(10), min_rto: ms(1), ..rfc6298() });
    for _ in 0..100 {
        after(&mut e, 100);
    }
    assert_eq!(e.rto(), ms(110), "K x RTTVAR is below the clock granularity");
    let mut e = RttEstimator::new(&rfc6298());
    assert_eq!(after(&mut e, 10), 1_000.0);
    for _ in 0..80 {
        e.backoff();
    }
    assert_eq!(e.rto(), ms(60_000));
}

#[test]
fn rfc6298_after_a_lost_syn() {
    let mut e = RttEstimator::new(&rfc6298());
    e.backoff_syn();
    assert_eq!(e.rto(), ms(2_000));
    e.handshake_complete();
    assert_eq!((e.rto(), e.shift()), (ms(3_000), 0));
    let mut e = RttEstimator::new(&rfc6298());
    e.handshake_complete();
    assert_eq!(e.rto(), ms(1_000), "no SYN was lost");
    let mut e = RttEstimator::new(&rfc6298());
    e.backoff_syn();
    e.sample(ms(400), UNA, NXT);
    e.handshake_complete();
    assert_eq!(e.rto(), ms(1_200), "a sample from the handshake is better than 3 s");
}

#[test]
fn linux_low_samples_widen_the_variance_by_an_eighth_only() {
    let mut e = RttEstimator::new(&linux(1000));
    // srtt 832, mdev 208 = rttvar.
    assert_eq!(after(&mut e, 104), 312.0);
    // e = -64: srtt 768; 64 - 52 = 12, an eighth of it is 1: mdev 209.
    assert_eq!(after(&mut e, 40), 305.0);
    // e = 104: srtt 872; 104 - 52 = 52: mdev 261.
    assert_eq!(after(&mut e, 200), 370.0);
    assert_eq!(e.rttvar().unwrap().as_nanos(), 261_000_000 / 4);
}

#[test]
fn linux_variance_falls_once_a_round_trip_and_sticks_above_its_floor() {
    let mut e = RttEstimator::new(&linux(1000));
    let mut una = UNA;
    let mut timeouts = Vec::new();
    for _ in 0..9 {
        e.sample(ms(104), una, una + 4000);
        timeouts.push(e.rto().as_millis_f64());
        // An ACK within the same round trip changes nothing in the timeout.
        e.sample(ms(104), una, una + 4000);
        assert_eq!(e.rto().as_millis_f64(), *timeouts.last().unwrap());
        una += 4001;
    }
    // LX-RTO-4, LX-RTO-5: 208, then (208 - 200) / 4 = 2, 1, 1, 1, and 3 / 4 = 0 from there.
    assert_eq!(timeouts, [312.0, 312.0, 310.0, 309.0, 308.0, 307.0, 307.0, 307.0, 307.0]);
}

#[test]
fn linux_round_trip_goes_on_while_the_number_noted_is_only_reached() {
    let mut e = RttEstimator::new(&linux(1000));
    assert_eq!(after(&mut e, 104), 312.0);
    // Reached, not passed: had the round ended here, the maximum of the next one would be 200, and its end
    // would lower the term to 206.
    e.sample(ms(104), NXT, NXT + 1);
    e.sample(ms(104), NXT + 1, NXT + 9);
    assert_eq!(e.rto(), ms(312));
    e.sample(ms(104), NXT + 10, NXT + 19);
    assert_eq!(e.rto(), ms(310));
}

#[test]
fn linux_round_trip_ends_beyond_the_number_noted_and_a_new_maximum_never_lowers_the_term() {
    let mut e = RttEstimator::new(&linux(1000));
    assert_eq!(after(&mut e, 104), 312.0);
    // e = 196: srtt 1028; 196 - 52 = 144: mdev 352, and with it the term.
    assert_eq!(after(&mut e, 300), 128.0 + 352.0);
    // e = 0: mdev 264. The number noted is acknowledged, but not passed: the maximum of 352 stands.
    e.sample(ms(128), NXT, NXT + 9);
    // e = 0: mdev 198. Passed now: the maximum is 200 again.
    e.sample(ms(128), NXT + 1, NXT + 9);
    assert_eq!(e.rto(), ms(480));
    // e = 72: srtt 1100; 72 - 49 = 23: mdev 221, more than 200 and less than 352.
    e.sample(ms(200), NXT + 2, NXT + 9);
    assert_eq!(e.rto(), ms(137 + 352));
    // e = 0, mdev 166; passed: (352 - 221) / 4 = 32.
    e.sample(ms(137), NXT + 10, NXT + 20);
    assert_eq!(e.rto(), ms(137 + 320));
}

#[test]
fn the_last_factor_of_a_table_holds_for_all_later_expiries() {
    for config in [rfc6298(), linux(1000), RttConfig { slop: Duration::ZERO, ..bsd() }] {
        let mut e = RttEstimator::new(&RttConfig { backoff: vec![1, 3], ..config });
        let before = e.rto();
        for _ in 0..9 {
            e.backoff();
            assert_eq!(e.rto(), before * 3);
        }
    }
}

#[test]
fn linux_timeout_at_250_hz_settles_in_the_published_range() {
    // T-LX-5
    let mut e = RttEstimator::new(&linux(250));
    let mut una = UNA;
    for _ in 0..100 {
        e.sample(ms(104), una, una + 4000);
        una += 4001;
    }
    assert!((304.0..=316.0).contains(&e.rto().as_millis_f64()), "{:?}", e.rto());
}

#[test]
fn linux_doubles_up_to_two_minutes_and_counts_zero_as_one_jiffy() {
    let mut e = RttEstimator::new(&linux(1000));
    assert_eq!(e.rto(), ms(3_000));
    assert_eq!(after(&mut e, 0), 201.0);
    // T-LX-6
    assert_eq!([after_expiry(&mut e), after_expiry(&mut e)], [402.0, 804.0]);
    for _ in 0..60 {
        e.backoff();
    }
    assert_eq!(e.rto(), ms(120_000));
}

#[test]
fn configurations_that_do_not_fit_are_refused() {
    assert_eq!(bsd().check(), Ok(()));
    assert_eq!(rfc6298().check(), Ok(()));
    assert_eq!(linux(250).check(), Ok(()));
    let wrong = RttConfig { tick: Duration::ZERO, ..bsd() };
    assert_eq!(wrong.check(), Err(RttConfigError::Zero("tick")));
    let wrong = RttConfig { slop: Duration::from_micros(1_500), ..bsd() };
    assert_eq!(wrong.check(), Err(RttConfigError::PartOfTick("slop")));
    let wrong = RttConfig { min_rto: ms(65_000), ..bsd() };
    assert_eq!(wrong.check(), Err(RttConfigError::MinAboveMax));
    let wrong = RttConfig { backoff: vec![1; 17], ..bsd() };
    assert_eq!(wrong.check(), Err(RttConfigError::TooManySteps("backoff")));
    let wrong = RttConfig { syn_backoff: vec![1, 4, 2], ..bsd() };
    assert_eq!(wrong.check(), Err(RttConfigError::BadSteps("syn_backoff")));
}

#[test]
fn a_configuration_survives_its_text() {
    for config in [bsd(), rfc6298(), linux(250)] {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<RttConfig>(&text).unwrap(), config);
    }
    let unknown = serde_json::to_string(&bsd()).unwrap().replace("\"slop\"", "\"slopp\"");
    assert!(serde_json::from_str::<RttConfig>(&unknown).unwrap_err().to_string().contains("slopp"));
}

#[derive(Clone, Debug)]
enum Step {
    Sample(u64),
    Expire,
    ExpireSyn,
    Reset,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u64..200_000).prop_map(Step::Sample),
        1 => (0_u64..u64::MAX).prop_map(Step::Sample),
        4 => Just(Step::Expire),
        1 => Just(Step::ExpireSyn),
        1 => Just(Step::Reset),
    ]
}

fn any_config() -> impl Strategy<Value = RttConfig> {
    prop_oneof![
        Just(bsd()),
        Just(RttConfig { slop: Duration::ZERO, ..bsd() }),
        Just(rfc6298()),
        Just(linux(100)),
        Just(linux(1000)),
    ]
}

proptest! {
    /// The timeout stays within its bounds whatever happens, and a sample always clears the backoff.
    #[test]
    fn timeout_stays_within_its_bounds(config in any_config(), steps in prop::collection::vec(step(), 1..200)) {
        let mut e = RttEstimator::new(&config);
        let mut una = UNA;
        for step in steps {
            match step {
                Step::Sample(ticks) => {
                    una += 1448;
                    e.sample(Duration::from_nanos(config.tick.as_nanos().saturating_mul(ticks)), una, una + 10_000);
                    prop_assert_eq!(e.shift(), 0);
                    prop_assert!(e.srtt().is_some() && e.rttvar().is_some());
                }
                Step::Expire => e.backoff(),
                Step::ExpireSyn => e.backoff_syn(),
                Step::Reset => e.reset_backoff(),
            }
            prop_assert!(e.rto() <= config.max_rto, "{:?}", e);
            prop_assert!(e.rto() >= config.min_rto, "{:?}", e);
            prop_assert!(!e.rto().is_zero());
        }
    }

    /// Each expiry lengthens the interval or leaves it. The one exception is the fifth of BSD, whose value
    /// has lost its smoothed time (FB-RTO-6).
    #[test]
    fn backoff_is_monotone(config in any_config(), samples in prop::collection::vec(1_u64..5_000, 0..20)) {
        let mut e = RttEstimator::new(&config);
        for ticks in samples {
            e.sample(config.tick * ticks, UNA, NXT);
        }
        let sampled = e.srtt().is_some();
        for expiry in 1..=14 {
            let before = e.rto();
            e.backoff();
            let quirk = config.estimator == EstimatorKind::Bsd && sampled && expiry == 5;
            prop_assert!(quirk || e.rto() >= before, "expiry {}: {:?} after {:?}", expiry, e.rto(), before);
            prop_assert_eq!(e.shift(), expiry);
        }
    }

    /// A constant round-trip time ends in a timeout above it.
    #[test]
    fn constant_rtt_converges_from_above(config in any_config(), ticks in 2_u64..10_000) {
        let mut e = RttEstimator::new(&config);
        for i in 0..300_u32 {
            e.sample(config.tick * ticks, UNA + i * 5_000, UNA + (i + 1) * 5_000 - 1);
        }
        let rtt = config.tick * ticks;
        prop_assert!(e.rto() > rtt.min(config.max_rto.saturating_sub(config.tick)));
        let extra = config.min_rto + config.slop + config.variance_floor + config.tick * 5;
        prop_assert!(e.rto() <= rtt + extra, "{:?} for {:?}", e.rto(), rtt);
    }
}

#[test]
fn bsd_begins_from_what_an_earlier_connection_left() {
    // FB-HC-5: 10 ms, varying by 5 ms, in 1/32 and 1/16 of a tick: (320/4 + 80)/2 ticks, and 200 of slop.
    let mut e = RttEstimator::new(&bsd());
    e.begin_from(320, 80);
    assert_eq!((e.srtt(), e.rttvar(), e.rto()), (Some(ms(10)), Some(ms(5)), ms(280)));
    // The first sample is not the first (FB-RTT-3): 11 - 1 ticks are what was expected.
    e.sample(ms(11), UNA, NXT);
    assert_eq!((e.fixed_point(), e.rto(), e.samples()), ((320, 60), ms(225), 1));
    // Without a variation: one round trip.
    let mut e = RttEstimator::new(&bsd());
    e.begin_from(320, 0);
    assert_eq!((e.rttvar(), e.rto()), (Some(ms(10)), ms(320)));
}
