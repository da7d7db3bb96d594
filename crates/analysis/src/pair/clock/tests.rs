use proptest::prelude::*;

use super::*;

/// Packets of both directions by turns, `step` ns apart.
struct Made {
    count: u64,
    step: i64,
    /// Smallest delay, nanoseconds.
    delay: i64,
    /// Mean of what is added to it.
    jitter: f64,
    offset: i64,
    /// Parts per million.
    skew: f64,
}

const START: i64 = 1_700_000_000_000_000_000;

impl Made {
    /// How much more B shows than A at a time of A.
    fn truth(&self, time: i64) -> i64 {
        self.offset + ((time - START) as f64 * self.skew / 1e6).round() as i64
    }

    fn sights(&self, random: &[f64]) -> Vec<Sight> {
        (0..self.count)
            .map(|n| {
                let delay = self.delay + (-self.jitter * (1.0 - random[n as usize]).ln()) as i64;
                let (forth, sent) = (n % 2 == 0, START + n as i64 * self.step);
                let at_a = if forth { sent } else { sent + delay };
                let at_b = if forth { sent + delay } else { sent };
                Sight { numbers: [n + 1, n + 1], times: [at_a, at_b + self.truth(at_b)], forth }
            })
            .collect()
    }
}

/// Numbers from 0 to 1 that look random.
fn random(count: u64) -> Vec<f64> {
    let mut state = 88_172_645_463_325_252_u64;
    let next = |_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    (0..count).map(next).collect()
}

proptest! {
    #[test]
    fn the_truth_lies_within_the_bounds(
        random in prop::collection::vec(0.0..1.0, 300),
        (count, step) in (2_u64..300, 1_000_i64..1_000_000_000),
        (delay, jitter) in (1_000_i64..200_000_000, 0.0..50e6),
        (offset, skew) in (-10_000_000_000_000_i64..10_000_000_000_000, -900.0..900.0),
    ) {
        let made = Made { count, step, delay, jitter, offset, skew };
        let row = Clocks::estimate(made.sights(&random), &crate::core::policy::PairPolicy::STANDARD).row();
        prop_assert_eq!(row.method, ClockMethod::BothWays);
        prop_assert!(row.steps.is_empty(), "{:?}", row);
        let truth = made.truth(row.at.as_nanos() as i64);
        // Times are in whole nanoseconds, on both sides.
        prop_assert!(row.offset_low.unwrap() - 2 <= truth, "{} {:?}", truth, row);
        prop_assert!(row.offset_high.unwrap() + 2 >= truth, "{} {:?}", truth, row);
        let skews = row.skew_low.unwrap() - 1e-6..=row.skew_high.unwrap() + 1e-6;
        prop_assert!(skews.contains(&skew), "{:?}", row);
        prop_assert!(row.offset_low <= Some(row.offset) && Some(row.offset) <= row.offset_high);
    }
}

#[test]
fn offset_and_skew_of_a_long_flow() {
    for skew in [-120.0, -3.0, 0.0, 0.5, 50.0, 700.0] {
        let made = Made {
            count: 4000,
            step: 50_000_000,
            delay: 20_000_000,
            jitter: 5e6,
            offset: -77_000_000_000,
            skew,
        };
        let clocks =
            Clocks::estimate(made.sights(&random(made.count)), &crate::core::policy::PairPolicy::STANDARD);
        let row = clocks.row();
        assert!((row.skew - skew).abs() < 0.2, "{skew}: {row:?}");
        let truth = made.truth(row.at.as_nanos() as i64);
        assert!((row.offset - truth).abs() < 20_000, "{skew}: {truth} {row:?}");
        let round_trip = row.round_trip.unwrap();
        assert!((40_000_000..40_100_000).contains(&round_trip), "{row:?}");
        assert_eq!(row.packets, [2000, 2000]);
    }
}

#[test]
fn the_uncertainty_is_half_the_smallest_round_trip() {
    // The way back takes 30 ms less: the offset is wrong by 15 ms, and the bounds say so.
    let mut sights =
        Made { count: 2000, step: 10_000_000, delay: 10_000_000, jitter: 0.0, offset: 0, skew: 0.0 }
            .sights(&random(2000));
    sights.iter_mut().filter(|sight| sight.forth).for_each(|sight| sight.times[1] += 30_000_000);
    let row = Clocks::estimate(sights, &crate::core::policy::PairPolicy::STANDARD).row();
    assert_eq!((row.offset, row.round_trip), (15_000_000, Some(50_000_000)));
    let half = |bound: Option<i64>| (bound.unwrap() - row.offset).abs();
    assert!((25_000_000..25_100_000).contains(&half(row.offset_low)), "{row:?}");
    assert!((25_000_000..25_100_000).contains(&half(row.offset_high)), "{row:?}");
}

#[test]
fn few_packets_tell_no_skew() {
    let made = Made { count: 6, step: 30_000_000, delay: 10_000_000, jitter: 3e6, offset: 5, skew: 0.0 };
    let row = Clocks::estimate(made.sights(&random(6)), &crate::core::policy::PairPolicy::STANDARD).row();
    assert_eq!(row.skew, 0.0);
    assert!(row.skew_low.unwrap() < -100.0 && row.skew_high.unwrap() > 100.0, "{row:?}");
}

#[test]
fn a_queue_that_grows_one_way_is_no_skew() {
    let made = Made { count: 4000, step: 1_000_000, delay: 10_000_000, jitter: 1e5, offset: 0, skew: 0.0 };
    let mut sights = made.sights(&random(4000));
    for (sight, n) in sights.iter_mut().zip(0..) {
        if sight.forth {
            sight.times[1] += n * 200;
        }
    }
    let row = Clocks::estimate(sights, &crate::core::policy::PairPolicy::STANDARD).row();
    assert!(row.skew.abs() < 1.0, "{row:?}");
}

#[test]
fn a_clock_that_is_set_is_told() {
    let made =
        Made { count: 4000, step: 10_000_000, delay: 15_000_000, jitter: 2e6, offset: 3_000_000, skew: 20.0 };
    let mut sights = made.sights(&random(4000));
    let at = sights[1500].times[0];
    sights[1500..].iter_mut().for_each(|sight| sight.times[1] -= 2_000_000_000);
    let clocks = Clocks::estimate(sights, &crate::core::policy::PairPolicy::STANDARD);
    let row = clocks.row();
    let [step] = row.steps[..] else { panic!("one step: {row:?}") };
    assert!((step.time.as_nanos() as i64 - at).abs() < 50_000_000, "{row:?}");
    assert!((step.size + 2_000_000_000).abs() < 1_000_000, "{row:?}");
    // Both stretches are corrected by their own line.
    for (number, forward) in [(100, 0), (3000, -2_000_000_000)] {
        let time = START + number * 10_000_000;
        let shown = time + made.truth(time) + forward;
        let corrected = clocks.by_a(1, number as u64 + 1, shown);
        assert!((corrected - time).abs() < 200_000, "{number}: {}", corrected - time);
    }
}

#[test]
fn packets_of_one_direction_bound_one_side() {
    let made = Made { count: 2000, step: 50_000_000, delay: 15_000_000, jitter: 2e6, offset: 40, skew: 30.0 };
    let mut sights = made.sights(&random(2000));
    sights.retain(|sight| sight.forth);
    let row = Clocks::estimate(sights, &crate::core::policy::PairPolicy::STANDARD).row();
    assert_eq!((row.method, row.offset_low, row.round_trip), (ClockMethod::OneWay, None, None));
    assert_eq!(row.offset_high, Some(row.offset));
    // A thousand packets touch the edge within some 2 us, over half of 100 s.
    assert!((row.skew - 30.0).abs() < 0.3, "{row:?}");
}

/// Half a second of packets says nothing of a slope that a few of them seem to have.
#[test]
fn a_slope_of_a_short_capture_is_not_known() {
    let made = Made { count: 400, step: 2_500_000, delay: 25_000_000, jitter: 1e5, offset: 7, skew: 0.0 };
    let mut sights = made.sights(&random(400));
    // The edges of both directions lean the same way, by 300 us in a second.
    for (sight, n) in sights.iter_mut().zip(0..) {
        sight.times[1] += n * 750;
    }
    let row = Clocks::estimate(sights, &crate::core::policy::PairPolicy::STANDARD).row();
    assert_eq!((row.skew, row.skew_low, row.skew_high), (0.0, Some(-1000.0), Some(1000.0)));
}

/// A clock that is set while packets are on their way, forwards or backwards, at either end.
#[test]
fn a_step_moves_no_delay() {
    for (end, size) in
        [(0, 10_000_000_000_i64), (0, -10_000_000_000), (1, 5_000_000_000), (1, -5_000_000_000)]
    {
        let made = Made { count: 400, step: 2_500_000, delay: 25_000_000, jitter: 1e5, offset: 7, skew: 0.0 };
        let mut sights = made.sights(&random(400));
        let set_at = START + 500_000_000;
        // Each capture numbers what it sees, in its order.
        for at in [0, 1] {
            let mut order: Vec<usize> = (0..sights.len()).collect();
            order.sort_by_key(|i| sights[*i].times[at]);
            for (place, number) in order.into_iter().zip(1..) {
                sights[place].numbers[at] = number;
            }
        }
        sights
            .iter_mut()
            .filter(|sight| sight.times[end] >= set_at)
            .for_each(|sight| sight.times[end] += size);
        let clocks = Clocks::estimate(sights.clone(), &crate::core::policy::PairPolicy::STANDARD);
        assert_eq!(clocks.row().steps.len(), 1, "{end} {size}: {:?}", clocks.row());
        for sight in &sights {
            let delay = clocks.seen_at_b(sight) - sight.times[0];
            let delay = if sight.forth { delay } else { -delay };
            assert!((24_000_000..27_000_000).contains(&delay), "{end} {size}: {delay} {sight:?}");
        }
    }
}
