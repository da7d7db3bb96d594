use std::collections::BTreeSet;

use super::*;

#[test]
fn each_limit_has_a_name_and_says_in_a_line_what_it_did() {
    assert_eq!(Limit::Interfaces.told(12), "12 interfaces were passed over; a capture may have 4,096");
    assert_eq!(Limit::Chunks.told(1), "1 SCTP chunk is not judged; a packet may have 4,096");
    let names: BTreeSet<&str> = Limit::ALL.iter().map(|limit| limit.name()).collect();
    assert_eq!(names.len(), Limit::ALL.len());
    for limit in Limit::ALL {
        let line = limit.told(1_234_567);
        assert!(line.starts_with("1,234,567 ") && !line.contains('\n') && !line.contains("  "), "{line}");
    }
}

#[test]
fn counts_tell_what_acted_in_the_order_of_limits() {
    let mut counts = Counts::default();
    counts.add(Limit::Steps, 2);
    let mut more = Counts::default();
    more.add(Limit::Names, 1);
    more.add(Limit::Steps, 3);
    counts.merge(&more);
    assert_eq!(counts.acted().collect::<Vec<_>>(), [(Limit::Names, 1), (Limit::Steps, 5)]);
    for (at, limit) in Limit::ALL.into_iter().enumerate() {
        assert_eq!(limit as usize, at);
    }
}

#[test]
fn work_beyond_what_is_granted_draws_on_the_pool() {
    let mut steps = Steps { pool: 100, spent: 0 };
    let mut work = Work::default();
    work.begin(10, steps.pool);
    assert!(work.spend(10) && work.spend(60) && !work.spend(41) && work.spend(40) && !work.spend(1));
    work.end(&mut steps);
    assert_eq!((steps.pool, steps.spent), (0, 110));
    // What is granted can be spent still, and is kept up to a bound.
    for _ in 0..3 {
        work.begin(STEPS_KEPT, steps.pool);
    }
    assert!(work.spend(STEPS_KEPT) && !work.spend(1));
}
