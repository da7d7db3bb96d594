//! Time at a rate, and draws against a probability.

use proptest::prelude::*;
use rexmit_units::{Instant, Probability, Rate, TransmitClock};

fn rate(bps: u64) -> Rate {
    Rate::from_bits_per_second(bps).unwrap()
}

#[test]
fn ten_million_packets_at_an_odd_rate_end_at_the_exact_nanosecond() {
    let (packets, bytes, bps) = (10_000_000_u64, 1_500_u64, 999_983_u64);
    let mut clock = TransmitClock::default();
    let mut end = Instant::ZERO;
    for _ in 0..packets {
        end = clock.transmit(Instant::ZERO, bytes, rate(bps));
    }
    let exact = (u128::from(packets * bytes * 8) * 1_000_000_000).div_ceil(u128::from(bps));
    assert_eq!(u128::from(end.as_nanos()), exact);
}

#[test]
fn an_idle_transmitter_starts_anew() {
    let mut clock = TransmitClock::default();
    // 8 bits at 3 bit/s: 2,666,666,666.7 ns.
    assert_eq!(clock.transmit(Instant::ZERO, 1, rate(3)).as_nanos(), 2_666_666_667);
    assert_eq!(clock.free_at().as_nanos(), 2_666_666_666);
    assert_eq!(clock.transmit(Instant::from_nanos(5_000_000_000), 1, rate(3)).as_nanos(), 7_666_666_667);
}

#[test]
fn a_change_of_rate_keeps_less_than_a_nanosecond_over() {
    let mut clock = TransmitClock::default();
    // Leaves nearly a whole nanosecond, in units of the fast rate.
    let first = clock.transmit(Instant::ZERO, 1, rate(999_999_999));
    let second = clock.transmit(Instant::ZERO, 1, rate(1));
    assert!(second.as_nanos() - first.as_nanos() <= 8_000_000_000);
    assert!(second.as_nanos() >= 8_000_000_008);
}

#[test]
fn never_is_never_and_always_is_always() {
    for draw in [0, 1, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
        assert!(!Probability::ZERO.occurs(draw));
        assert!(Probability::ONE.occurs(draw));
    }
    assert_eq!(Probability::ZERO.threshold(), Some(0));
    assert_eq!(Probability::ONE.threshold(), None);
    assert_eq!("50 %".parse::<Probability>().unwrap().threshold(), Some(1 << 63));
}

proptest! {
    #[test]
    fn the_clock_agrees_with_exact_arithmetic(
        sizes in prop::collection::vec(0_u64..70_000, 1..200),
        bps in 1_u64..20_000_000_000,
    ) {
        let mut clock = TransmitClock::default();
        let mut bits: u128 = 0;
        for bytes in sizes {
            bits += u128::from(bytes) * 8;
            let end = clock.transmit(Instant::ZERO, bytes, rate(bps));
            prop_assert_eq!(u128::from(end.as_nanos()), (bits * 1_000_000_000).div_ceil(u128::from(bps)));
        }
    }

    #[test]
    fn the_threshold_is_where_draws_begin_to_miss(n in 0_u64..1_000_000_000_000) {
        let p = Probability::from_trillionths(n).unwrap();
        let threshold = p.threshold().unwrap();
        prop_assert!(!p.occurs(threshold));
        if threshold > 0 {
            prop_assert!(p.occurs(threshold - 1));
        }
    }

    #[test]
    fn larger_probabilities_hit_wherever_smaller_ones_do(a in 0_u64..=1_000_000_000_000, b in 0_u64..=1_000_000_000_000, draw in any::<u64>()) {
        let (low, high) = (a.min(b), a.max(b));
        let p = |n| Probability::from_trillionths(n).unwrap();
        prop_assert!(!p(low).occurs(draw) || p(high).occurs(draw));
    }
}
