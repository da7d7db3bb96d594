use rand_core::SeedableRng;
use rexmit_units::Rate;
use rexmit_wire::Packet;

use super::*;

fn red(config: Red, average: f64, count: i64) -> RedQueue<Packet> {
    let mut red = RedQueue::new(config, Xoshiro256PlusPlus::seed_from_u64(1));
    (red.average.0, red.count, red.max_packet) = (average, count, 1500);
    red
}

/// Section 4: the average moves by its weight times the distance; an idle time counts as empty queues that packets
/// could have found meanwhile.
#[test]
fn the_average_by_hand() {
    let mut average = Average(0.0);
    average.add(0.25, 8.0);
    average.add(0.25, 10.0);
    // 2, then 2 + 8 / 4.
    assert_eq!(average.0, 4.0);
    average.decay(0.5, 3.0);
    assert_eq!(average.0, 0.5);
    let second = |config: Red, idle: u64, rate| {
        let mut red = red(config, 8.0, -1);
        let now = Instant::from_nanos(5_000_000 + idle);
        red.measure(now, rate, Some(Instant::from_nanos(5_000_000)));
        red.average.0
    };
    // 500 bytes take 4 ms at 1 Mbit/s: 8 ms are two packets, each leaving half.
    let half = Red { weight: "50 %".parse().expect("a probability"), ..Red::default() };
    let rate = Rate::from_bits_per_second(1_000_000).map(LineRate::Rate);
    assert_eq!(second(half, 8_000_000, rate), 2.0);
    assert_eq!(second(half, 0, rate), 8.0);
    assert_eq!(second(half, 1, None), 0.0, "without a rate, any time is long");
}

/// Sections 4 and 7: the probability rises from 0 at `min` to its most at `max`, and with the packets since the last drop;
/// gentle on to 1 at twice `max`.
#[test]
fn the_probability_by_hand() {
    let config = Red { probability: "10 %".parse().expect("a probability"), ..Red::default() };
    let act = |average, count| red(config, average, count).act(1500);
    assert_eq!(act(4.99, 7), Act::Nothing);
    // Half way: 0.05; with the 4 before, 0.05 / (1 - 5 x 0.05).
    assert_eq!(act(10.0, -1), Act::Perhaps(0.05));
    assert_eq!(act(10.0, 4), Act::Perhaps(0.05 / (1.0 - 5.0 * 0.05)));
    assert_eq!(act(10.0, 19), Act::Perhaps(1.0));
    // 0.1 + 0.9 x 7.5 / 15.
    assert_eq!(act(22.5, -1), Act::PerhapsDrop(0.55));
    assert_eq!(act(30.0, -1), Act::Drop);
    let mut hard = red(Red { gentle: false, ..config }, 15.0, -1);
    assert_eq!(hard.act(1500), Act::Drop);
    // Below the lower threshold, counting starts again.
    let mut low = red(config, 1.0, 9);
    low.act(1500);
    assert_eq!(low.count, -1);
}

/// In bytes, a small packet is the less likely to go.
#[test]
fn bytes_scale_the_probability() {
    let (min, max) = (QueueLimit::Bytes(5000), QueueLimit::Bytes(15_000));
    let config = Red { min, max, probability: "10 %".parse().expect("a probability"), ..Red::default() };
    let act = |bytes| red(config, 10_000.0, -1).act(bytes);
    assert_eq!((act(1500), act(150)), (Act::Perhaps(0.05), Act::Perhaps(0.05 * 150.0 / 1500.0)));
}
