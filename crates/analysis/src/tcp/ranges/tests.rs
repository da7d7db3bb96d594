use proptest::prelude::*;

use super::*;

proptest! {
    #[test]
    fn ranges_hold_what_a_set_of_numbers_holds(
        steps in proptest::collection::vec((0_i64..60, 0_i64..12, any::<bool>()), 1..40),
    ) {
        let mut ranges = Ranges::default();
        let mut numbers = std::collections::BTreeSet::new();
        for (start, len, trim) in steps {
            if trim && len == 0 {
                let before = numbers.len();
                numbers = numbers.split_off(&start);
                prop_assert_eq!(ranges.trim(start), (before - numbers.len()) as i64);
            } else {
                let expected: Vec<i64> = (start..start + len).filter(|n| !numbers.contains(n)).collect();
                let mut fresh = Vec::new();
                ranges.add(start..start + len, |part| fresh.extend(part));
                prop_assert_eq!(fresh, expected);
                numbers.extend(start..start + len);
            }
            prop_assert_eq!(ranges.ranges.iter().cloned().flatten().collect::<Vec<_>>(), numbers.iter().copied().collect::<Vec<_>>());
            prop_assert!(ranges.ranges.windows(2).all(|pair| pair[0].end < pair[1].start));
            prop_assert_eq!(ranges.bytes_above(start), numbers.range(start..).count() as i64);
            prop_assert_eq!(ranges.highest(), numbers.last().map(|n| n + 1));
            prop_assert_eq!(ranges.around(start).is_some(), numbers.contains(&start));
        }
    }
}

#[test]
fn a_range_is_covered_where_all_of_it_is_there() {
    let mut ranges = Ranges::default();
    ranges.add(10..20, |_| {});
    ranges.add(30..40, |_| {});
    assert!(ranges.covers(&(10..20)) && ranges.covers(&(32..35)));
    assert!(!ranges.covers(&(15..25)) && !ranges.covers(&(10..40)));
}

#[test]
fn there_are_no_more_than_can_be_handled() {
    let mut ranges = Ranges::default();
    let most = RANGES as i64;
    let mut bytes = 0;
    for n in (0..most + 100).rev() {
        ranges.add(n * 10..n * 10 + 5, |part| bytes += part.end - part.start);
    }
    assert_eq!((ranges.ranges.len() as i64, bytes), (most, most * 5));
    // What fills a hole is still taken.
    let top = (most + 99) * 10;
    ranges.add(top - 5..top, |part| bytes += part.end - part.start);
    assert_eq!((ranges.ranges.len() as i64, bytes), (most - 1, most * 5 + 5));
    assert_eq!(ranges.trim(i64::MAX), bytes);
}
