use super::super::script::play;
use super::*;

/// A timer of 1000 ms twice for one chunk, once for another, each with a chunk in flight.
const SCRIPT: &str = "0 c data 1
    600 c data 2
    1000 c data 1; data 2
    3000 c data 1; data 2
    3100 s sack 2
    4000 c data 3
    4900 c data 4
    5200 c data 3; data 4
    5300 s sack 4";

fn table(delay: Delay) -> Vec<(u32, &'static str, u64, f64, f64, f64)> {
    delays(play(SCRIPT).retransmissions.iter(), delay)
        .into_iter()
        .map(|row| {
            let d = row.delay;
            (row.retransmission, row.group.name(), d.count, d.min / 1e6, d.mean / 1e6, d.max / 1e6)
        })
        .collect()
}

#[test]
fn by_number_and_class() {
    assert_eq!(
        table(Delay::Cumulative),
        [
            (1, "timeout", 2, 1000.0, 1100.0, 1200.0),
            (1, "bundled-in-flight", 2, 300.0, 350.0, 400.0),
            (1, "fast-and-timeout", 2, 1000.0, 1100.0, 1200.0),
            (1, "all", 4, 300.0, 725.0, 1200.0),
            (2, "timeout", 1, 3000.0, 3000.0, 3000.0),
            (2, "bundled-in-flight", 1, 2400.0, 2400.0, 2400.0),
            (2, "fast-and-timeout", 1, 3000.0, 3000.0, 3000.0),
            (2, "all", 2, 2400.0, 2700.0, 3000.0)
        ]
    );
}

#[test]
fn consecutive_delays_count_from_the_transmission_before() {
    let second: Vec<_> = table(Delay::Consecutive).into_iter().filter(|row| row.0 == 2).collect();
    assert_eq!(second[0], (2, "timeout", 1, 2000.0, 2000.0, 2000.0));
    assert_eq!(second[1], (2, "bundled-in-flight", 1, 2000.0, 2000.0, 2000.0));
}

#[test]
fn figures_are_exact() {
    let spread = spread(&[1, 2, 3, 4, 100]);
    assert_eq!((spread.p50, spread.p95, spread.min, spread.max, spread.mean), (3.0, 100.0, 1.0, 100.0, 22.0));
    assert!((spread.sd - 1902.5_f64.sqrt()).abs() < 1e-9);
    assert!(delays([].into_iter(), Delay::Cumulative).is_empty());
}
