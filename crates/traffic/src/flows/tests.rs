//! Distributions of sizes: the published ones, and what lies between points.

use rand_core::SeedableRng;

use super::cdf::Cdf;
use super::*;

fn stream(seed: u64) -> Xoshiro256PlusPlus {
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

fn sizes(text: &str) -> Sizes {
    text.parse::<FlowSizes>().unwrap().resolve(&mut |_| unreachable!()).unwrap()
}

#[test]
fn published_means_are_those_of_their_points() {
    // 57049/50 and 25583/5 packets of 1460 bytes, computed by hand. The published scripts count on 1138 and 5117.
    for (name, packets) in [("web-search", 1140.98), ("data-mining", 5116.6)] {
        let mean = sizes(name).mean().unwrap();
        assert!((mean / (packets * 1460.0) - 1.0).abs() < 1e-15, "{name}: {mean} bytes");
    }
}

#[test]
fn published_sizes_are_drawn_with_their_shares() {
    for (name, packets, share) in [
        ("web-search", 6, 0.15),
        ("web-search", 53, 0.53),
        ("web-search", 6667, 0.97),
        ("web-search", 20_000, 1.0),
        ("data-mining", 1, 0.5),
        ("data-mining", 7, 0.8),
        ("data-mining", 66_667, 0.99),
        ("data-mining", 666_667, 1.0),
    ] {
        let (sizes, mut stream) = (sizes(name), stream(1));
        let below = (0..100_000).filter(|_| sizes.draw(&mut stream) <= packets * 1460).count();
        assert!((below as f64 / 1e5 - share).abs() < 0.005, "{name}: {below} of 100000, not {share}");
    }
}

#[test]
fn drawn_sizes_have_the_mean_that_a_load_counts_on() {
    let cdf = Cdf::read("size (kB),probability\n1,0.25\n3,0.75\n10,0.75\n20,1\n").unwrap();
    // A quarter of 1 kB, a half around 2 kB, a quarter around 15 kB; between 3 and 10 kB lies nothing.
    assert_eq!(cdf.mean(), 250.0 + 1000.0 + 0.25 * 15_000.0);
    let mut stream = stream(2);
    let drawn: Vec<u64> = (0..100_000).map(|_| cdf.draw(&mut stream)).collect();
    let mean = drawn.iter().sum::<u64>() as f64 / 1e5;
    assert!((mean / cdf.mean() - 1.0).abs() < 0.01, "{mean} bytes");
    assert!(drawn.iter().all(|size| (1000..=3000).contains(size) || (10_000..=20_000).contains(size)));
    let least = drawn.iter().filter(|size| **size == 1000).count();
    assert!((least as f64 / 1e5 - 0.25).abs() < 0.01, "{least} of 100000");
}

#[test]
fn a_drawn_size_is_at_least_a_byte_and_at_most_what_a_flow_carries() {
    let mut stream = stream(3);
    let tiny = sizes("exponential 1 byte");
    let huge = sizes("pareto 1 GiB 0.1");
    for _ in 0..10_000 {
        assert!(tiny.draw(&mut stream) >= 1);
        assert!(huge.draw(&mut stream) <= 1 << 40);
    }
}
