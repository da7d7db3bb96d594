//! Time at a rate, and draws against a probability.

use proptest::prelude::*;
use rexmit_units::{Bytes, Duration, Instant, Probability, Rate, TransmitClock};

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

#[test]
fn numbers_for_people_are_in_their_units() {
    assert_eq!("25 %".parse::<Probability>().unwrap().as_f64(), 0.25);
    assert_eq!(Duration::from_micros(2_500).as_millis_f64(), 2.5);
    assert_eq!(Duration::from_millis(2_500).as_secs_f64(), 2.5);
    let instant = Instant::ZERO + Duration::from_secs(2) + Duration::from_millis(500);
    assert_eq!((instant.as_secs_f64(), instant.to_string().as_str()), (2.5, "2.5 s"));
    assert_eq!(format!("{:>8}", Duration::from_millis(5)), "    5 ms");
}

#[test]
fn sums_stop_at_the_ends() {
    let (a, b) = (Duration::from_nanos(7), Duration::from_nanos(3));
    assert_eq!([a, b].into_iter().sum::<Duration>(), Duration::from_nanos(10));
    assert_eq!((a * 2, a / 2, a.saturating_sub(b)), (Duration::from_nanos(14), b, Duration::from_nanos(4)));
    assert_eq!(b.saturating_sub(a), Duration::ZERO);
    assert!(Duration::ZERO.is_zero() && !b.is_zero());
    let (early, late) = (Instant::from_nanos(3), Instant::from_nanos(7));
    assert_eq!(
        (late - early, late.saturating_since(early)),
        (Duration::from_nanos(4), Duration::from_nanos(4))
    );
    assert_eq!(early.saturating_since(late), Duration::ZERO);
    assert_eq!(Instant::FAR_FUTURE + a, Instant::FAR_FUTURE);
    let mut at = early;
    at += a;
    let mut length = a;
    length += b;
    assert_eq!((at.as_nanos(), length.as_nanos()), (10, 10));

    let mut total: Bytes = [Bytes(7), Bytes(3)].into_iter().sum();
    total += Bytes(5);
    assert_eq!(total.as_u64(), 15);
    assert_eq!(Bytes(u64::MAX) + total, Bytes(u64::MAX));
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
