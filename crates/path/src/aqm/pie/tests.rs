use super::*;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn after_update(controller: Controller) -> Controller {
    let mut controller = controller;
    controller.update(&Pie::default());
    controller
}

fn close(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-12
}

/// Section 4.2, by hand: 0.125 x (delay - 15 ms) + 1.25 x (delay - the one before), divided as the probability is small.
#[test]
fn the_probability_follows_delay_and_trend() {
    let of = |probability, delay, before| {
        let controller =
            Controller { probability, delay: ms(delay), delay_before: ms(before), ..Controller::default() };
        after_update(controller).probability
    };
    // 0.125 x 0.020 + 1.25 x 0.010 = 0.015, by 2048 from zero.
    assert!(close(of(0.0, 35, 25), 0.015 / 2048.0));
    for (probability, divisor) in
        [(5e-6, 512.0), (5e-5, 128.0), (5e-4, 32.0), (5e-3, 8.0), (0.05, 2.0), (0.2, 1.0)]
    {
        assert!(close(of(probability, 35, 25), probability + 0.015 / divisor), "{probability}");
    }
    // Below the target and falling: 0.125 x -0.010 + 1.25 x -0.015 = -0.02.
    assert!(close(of(0.5, 5, 20), 0.48));
    assert_eq!(of(0.01, 0, 400), 0.0);
    // Section 5.5: from 10 % on, at most 2 % at a time; below, no such bound.
    assert!(close(of(0.1, 200, 0), 0.12));
    assert!(close(of(0.09, 200, 0), 0.09 + (0.125 * 0.185 + 1.25 * 0.2) / 2.0));
    assert_eq!(of(0.99, 200, 190), 1.0);
    // Section 4.2: without delay twice, it decays as well.
    assert!(close(of(0.5, 0, 0), (0.5 - 0.125 * 0.015) * 0.98));
}

/// Section 4.4: the allowance falls with each update and is given again when there is no congestion.
#[test]
fn bursts_are_allowed_for() {
    let mut controller = Controller { burst_allowance: ms(40), ..Controller::default() };
    let left: Vec<Duration> = (0..4)
        .map(|_| {
            controller.update(&Pie::default());
            controller.burst_allowance
        })
        .collect();
    assert_eq!(left, [25, 10, 0, 0].map(ms));
    let calm = |probability, delay, delay_before| {
        let controller = Controller {
            probability,
            delay: ms(delay),
            delay_before: ms(delay_before),
            ..Controller::default()
        };
        controller.is_calm(&Pie::default())
    };
    assert!(calm(0.0, 7, 7) && !calm(0.0, 8, 7) && !calm(0.0, 7, 8) && !calm(1e-9, 0, 0));
}

/// Section 4.1: nothing is dropped while the delay was short and drops are rare, nor from a queue of two packets.
#[test]
fn safeguards() {
    let drops = |delay_before, probability, bytes| {
        let mut controller = Controller {
            probability,
            delay_before: ms(delay_before),
            accumulated: 8.0,
            ..Controller::default()
        };
        controller.drops_early(&Pie { derandomise: false, ..Pie::default() }, bytes, 0.1)
    };
    assert!(drops(8, 0.15, 3001));
    assert!(!drops(7, 0.15, 3001), "half the target");
    assert!(drops(7, 0.2, 3001), "drops are frequent");
    assert!(!drops(8, 0.15, 3000), "two packets");
    assert!(!drops(8, 0.1, 3001), "by chance");
}

/// Section 5.4: no drop before the probabilities add up to 0.85, one for certain at 8.5.
#[test]
fn drops_are_kept_apart() {
    let config = Pie::default();
    let run = |probability, draw| {
        let mut controller = Controller { probability, delay_before: ms(20), ..Controller::default() };
        (1..).find(|_| controller.drops_early(&config, 9000, draw))
    };
    assert_eq!(run(0.125, 0.0), Some(7), "7 x 0.125 is 0.875");
    assert_eq!(run(0.125, 0.9), Some(68), "68 x 0.125 is 8.5");
    let plain = Pie { derandomise: false, ..config };
    let mut controller = Controller { probability: 0.125, delay_before: ms(20), ..Controller::default() };
    assert!(controller.drops_early(&plain, 9000, 0.0));
}
