//! CUBIC against the equations of RFC 9438.

use super::super::cubic::cube_root;
use super::*;

/// A sender whose window alone limits it: each round trip acknowledges the window segment by segment,
/// evenly spread, and every `period`th segment is lost.
struct Loop {
    control: Congestion,
    window: Window,
    now: Instant,
    rtt: Duration,
}

impl Loop {
    fn new(config: &CongestionConfig, segments: u32, rtt: Duration) -> Self {
        Self {
            control: Congestion::new(config),
            window: window(segments * MSS, 2 * MSS),
            now: Instant::ZERO,
            rtt,
        }
    }

    fn one_ack(&mut self) {
        self.now += Duration::from_nanos(self.rtt.as_nanos() * u64::from(MSS) / u64::from(self.window.cwnd));
        let srtt = Some(self.rtt);
        let in_flight = self.window.cwnd;
        self.control.on_ack(&mut self.window, &Ack { srtt, in_flight, ..ack(MSS, self.now) });
    }

    fn lose(&mut self) {
        self.window.ssthresh = self.control.ssthresh_on_loss(&self.window, &loss(self.window.cwnd));
        self.window.cwnd = self.window.ssthresh;
        self.control.on_recovery_exit(&self.window, self.now);
    }

    fn segments(&self) -> f64 {
        f64::from(self.window.cwnd) / f64::from(MSS)
    }

    /// The window averaged over time under one loss in `period` segments.
    fn average(&mut self, period: u32, losses: u32) -> f64 {
        let mut area = 0.0;
        let mut start = self.now;
        for lost in 0..losses {
            if lost == losses / 2 {
                (area, start) = (0.0, self.now);
            }
            for _ in 0..period {
                let from = self.now;
                self.one_ack();
                area += self.segments() * (self.now - from).as_nanos() as f64;
            }
            self.lose();
        }
        area / (self.now - start).as_nanos() as f64
    }
}

fn without_reno() -> CongestionConfig {
    let cubic_only = CubicConfig { reno_friendly: false, ..CubicConfig::default() };
    CongestionConfig { cubic: cubic_only, ..cubic() }
}

#[test]
fn a_loss_leaves_seven_tenths_of_the_flight() {
    let mut c = Congestion::new(&cubic());
    let w = window(100 * MSS, u32::MAX);
    assert_eq!(c.ssthresh_on_loss(&w, &loss(100 * MSS)), 101_360);
    assert_eq!(c.ssthresh_on_loss(&w, &loss(0)), 2 * MSS);
}

#[test]
fn seven_tenths_of_what_the_profile_says() {
    let w = window(100 * MSS, u32::MAX);
    let event = Loss { in_flight: 10 * MSS, snd_wnd: 50 * MSS, now: Instant::ZERO };
    for (ssthresh, segments) in
        [(SsthreshRule::FlightHalf, 7), (SsthreshRule::WindowHalf, 35), (SsthreshRule::CwndHalf, 70)]
    {
        let mut c = Congestion::new(&CongestionConfig { ssthresh, ..cubic() });
        assert_eq!(c.ssthresh_on_loss(&w, &event), segments * MSS);
    }
}

#[test]
fn one_ack_aims_at_half_as_much_again_at_most() {
    // Section 4.2: the function has run away during a long silence; the target is 1.5 cwnd, and one ACK
    // takes (target - cwnd) / cwnd = half a segment of it.
    let mut l = Loop::new(&without_reno(), 100, Duration::from_millis(20));
    l.one_ack();
    let before = l.window.cwnd;
    l.now += Duration::from_secs(1000);
    l.one_ack();
    assert_eq!(l.window.cwnd - before, MSS / 2);
}

#[test]
fn reno_friendly_growth_is_that_of_reno_beyond_the_last_window() {
    // Section 4.3: 0.529 segments a round trip up to the window before the reduction, then 1. The cubic
    // function gives next to nothing in the time that this takes.
    let mut l = Loop::new(&cubic(), 40, Duration::from_micros(100));
    l.lose();
    assert_eq!(l.window.cwnd / MSS, 28);
    let mut per_round = Vec::new();
    for _ in 0..40 {
        let (before, until) = (l.segments(), l.now + l.rtt);
        while l.now < until {
            l.one_ack();
        }
        per_round.push(l.segments() - before);
    }
    assert!((per_round[5] - 0.529).abs() < 0.05, "{per_round:?}");
    assert!((per_round[39] - 1.0).abs() < 0.1, "{per_round:?}");
    assert!(l.segments() > 43.0);
}

#[test]
fn the_window_is_back_at_its_maximum_after_k() {
    // Equation 2: K = cbrt((100 - 70) / 0.4) = 4.217 s, whatever the round-trip time.
    for rtt in [5, 20, 80] {
        let mut l = Loop::new(&without_reno(), 100, Duration::from_millis(rtt));
        l.one_ack();
        l.window.cwnd = 100 * MSS;
        l.lose();
        assert_eq!(l.window.cwnd, 101_360);
        let start = l.now;
        let mut at_half = 0.0;
        while (l.now - start).as_nanos() < 4_217_000_000 {
            l.one_ack();
            if (l.now - start).as_nanos() < 2_108_000_000 {
                at_half = l.segments();
            }
        }
        // W(K/2) = 100 - 0.4 x 2.1085^3 = 96.25.
        assert!((at_half - 96.25).abs() < 0.5, "{rtt} ms: {at_half}");
        assert!((l.segments() - 100.0).abs() < 0.25, "{rtt} ms: {}", l.segments());
        // Convex from there: W(2 K) = 130.
        while (l.now - start).as_nanos() < 8_434_000_000 {
            l.one_ack();
        }
        assert!((l.segments() - 130.0).abs() < 1.5, "{rtt} ms: {}", l.segments());
    }
}

#[test]
fn response_function_of_the_cubic_region() {
    // Equation 6 with C = 0.4, beta = 0.7: 1.054 x RTT^0.75 / p^0.75 segments.
    for (rtt_ms, period) in [(100_u64, 10_000_u32), (100, 1_000), (20, 10_000)] {
        let mut l = Loop::new(&without_reno(), 50, Duration::from_millis(rtt_ms));
        let seen = l.average(period, 200);
        let expected = 1.054 * (rtt_ms as f64 / 1e3 * f64::from(period)).powf(0.75);
        assert!((seen / expected - 1.0).abs() < 0.05, "{rtt_ms} ms, 1/{period}: {seen}, not {expected}");
    }
}

#[test]
fn response_function_of_the_reno_friendly_region() {
    // Section 4.3: the average window of AIMD(3 (1 - beta) / (1 + beta), beta) is that of Reno, sqrt(1.5 / p).
    for period in [100_u32, 400, 1_000] {
        let mut l = Loop::new(&cubic(), 10, Duration::from_millis(4));
        let seen = l.average(period, 400);
        let expected = (1.5 * f64::from(period)).sqrt();
        assert!((seen / expected - 1.0).abs() < 0.08, "1/{period}: {seen}, not {expected}");
    }
}

#[test]
fn fast_convergence_gives_up_some_of_the_window() {
    let mut l = Loop::new(&without_reno(), 100, Duration::from_millis(20));
    l.lose();
    // 70 segments are below the former maximum of 100: the new one is 70 x 1.7 / 2 = 59.5, not 70.
    l.lose();
    assert_eq!(l.window.cwnd, 70_952);
    let start = l.now;
    // K = cbrt((59.5 - 49) / 0.4) = 2.972 s.
    while (l.now - start).as_nanos() < 2_972_000_000 {
        l.one_ack();
    }
    assert!((l.segments() - 59.5).abs() < 0.25, "{}", l.segments());

    let keeps = CubicConfig { fast_convergence: false, reno_friendly: false, ..CubicConfig::default() };
    let mut l = Loop::new(&CongestionConfig { cubic: keeps, ..cubic() }, 100, Duration::from_millis(20));
    l.lose();
    l.lose();
    let start = l.now;
    // K = cbrt((70 - 49) / 0.4) = 3.744 s.
    while (l.now - start).as_nanos() < 3_744_000_000 {
        l.one_ack();
    }
    assert!((l.segments() - 70.0).abs() < 0.25, "{}", l.segments());
}

#[test]
fn after_a_timeout_the_function_starts_at_its_plateau() {
    // Section 4.8: K = 0 and W_max is the window at the start of congestion avoidance.
    let mut l = Loop::new(&without_reno(), 100, Duration::from_millis(20));
    l.window.ssthresh = l.control.ssthresh_on_loss(&l.window, &loss(100 * MSS));
    for event in ["timeout", "a later timeout of the same segment, which leaves the threshold"] {
        l.control.on_timeout(&mut l.window, l.now);
        assert_eq!(l.window.cwnd, MSS);
        while l.window.cwnd < l.window.ssthresh {
            l.one_ack();
        }
        let start = l.now;
        while (l.now - start).as_nanos() < 3_000_000_000 {
            l.one_ack();
        }
        // 70 + 0.4 x 3^3 = 80.8.
        assert!((l.segments() - 80.8).abs() < 0.7, "{event}: {}", l.segments());
    }
}

#[test]
fn time_without_growth_is_no_part_of_the_stage() {
    let run = |pause: u64| {
        let mut l = Loop::new(&without_reno(), 100, Duration::from_millis(20));
        l.lose();
        for _ in 0..200 {
            l.one_ack();
        }
        l.now += Duration::from_secs(pause);
        let idle = Ack { cwnd_limited: false, ..ack(MSS, l.now) };
        l.control.on_ack(&mut l.window, &idle);
        for _ in 0..200 {
            l.one_ack();
        }
        l.window.cwnd
    };
    assert_eq!(run(0), run(30));
}

#[test]
fn cube_roots() {
    assert_eq!(cube_root(0.0), 0.0);
    let mut x = 1e-6;
    while x < 1e12 {
        let y = cube_root(x);
        assert!((y * y * y / x - 1.0).abs() < 1e-14, "{x}: {y}");
        x *= 1.37;
    }
    for n in 1..1000_u32 {
        let n = f64::from(n);
        assert!((cube_root(n * n * n) - n).abs() < n * 1e-15, "{n}");
    }
}
