use super::*;

#[test]
fn few_samples_are_exact() {
    let mut samples = Samples::default();
    [4, 1, 3, 2].into_iter().for_each(|value| samples.add(value));
    let spread = samples.spread();
    assert_eq!((spread.count, spread.min, spread.p50, spread.p95, spread.max), (4, 1.0, 2.0, 4.0, 4.0));
    assert_eq!(spread.mean, 2.5);
    assert!((spread.sd - (5.0_f64 / 3.0).sqrt()).abs() < 1e-12);
    assert_eq!(Samples::default().spread(), Spread::default());
}

#[test]
fn one_sample_has_no_deviation() {
    let mut samples = Samples::default();
    samples.add(7);
    let spread = samples.spread();
    assert_eq!((spread.count, spread.sd, spread.p99), (1, 0.0, 7.0));
}

#[test]
fn many_samples_are_within_half_a_hundredth() {
    // A permutation of 1..=100003 (a prime), so that the smallest comes late.
    let mut samples = Samples::default();
    (1..=100_003_u64).for_each(|n| samples.add(n * 50_021 % 100_003 * 1_000 + 1_000));
    let spread = samples.spread();
    for (got, want) in [(spread.p50, 5e7), (spread.p95, 9.5e7), (spread.p99, 9.9e7)] {
        assert!((got / want - 1.0_f64).abs() < 0.004, "{got} of {want}");
    }
    assert_eq!((spread.min, spread.max), (1e3, 100_003e3));
    assert!((spread.mean / 50_002e3 - 1.0).abs() < 1e-9, "{}", spread.mean);
}

#[test]
fn the_deviation_keeps_its_digits_beside_a_large_mean() {
    let mut samples = Samples::default();
    (0..10_000).for_each(|n| samples.add(3_600_000_000_000 + n % 2));
    assert!((samples.spread().sd - 0.500_025).abs() < 1e-6, "{}", samples.spread().sd);
}

#[test]
fn steps_are_in_order_and_near_their_values() {
    let mut last = 0;
    for value in (0..5_000).chain([u64::MAX / 3, u64::MAX]) {
        let step = step(value);
        assert!(step >= last, "{value}");
        last = step;
        assert!((middle(step) - value as f64).abs() <= value as f64 * 0.004, "{value}: {}", middle(step));
    }
}

#[test]
fn all_equal_samples_give_that_value() {
    let mut samples = Samples::default();
    (0..5_000).for_each(|_| samples.add(20_000_000));
    let spread = samples.spread();
    assert_eq!((spread.p50, spread.p99, spread.sd), (2e7, 2e7, 0.0));
}
