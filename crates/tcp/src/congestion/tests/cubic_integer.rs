use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::super::{
    Ack, AlgorithmKind, BicConfig, CongestionConfig, CongestionControl, CubicArithmetic, CubicConfig, During,
    Growth, GrowthCondition, GrowthCount, HystartConfig, LinuxControl, Loss, Note, SlowStartCondition,
    SsthreshRule, Window,
};
use super::{CubicInteger, cubic_root};

const MSS: u32 = 1_448;

fn cubic() -> CubicInteger {
    let hystart =
        HystartConfig { train: true, delay: true, low_window: 16, spacing: Duration::from_millis(2) };
    CubicInteger::new(&CongestionConfig {
        counts: GrowthCount::Acks,
        inflight: crate::congestion::InflightConfig::default(),
        algorithm: AlgorithmKind::Cubic,
        growth: Growth::PerPacket,
        at_least_one: false,
        abc_limit: 2,
        slow_start: SlowStartCondition::BelowSsthresh,
        hystart: crate::congestion::HystartRule::Off,
        grows: GrowthCondition::WhenLimited,
        ssthresh: SsthreshRule::CwndHalf,
        initial_ssthresh: None,
        cubic: CubicConfig {
            arithmetic: CubicArithmetic::Integer,
            hystart: Some(hystart),
            ..CubicConfig::default()
        },
        bic: BicConfig::default(),
        bbr: crate::congestion::BbrConfig::default(),
    })
}

fn at(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

fn ack(now: Instant) -> Ack {
    let srtt = Some(Duration::from_millis(100));
    Ack { acked: MSS, now, srtt, in_flight: 0, cwnd_limited: true, during: During::Open }
}

/// Within a tenth of the true root, and exact for small cubes.
#[test]
fn the_table_and_one_step_give_the_root() {
    for (a, root) in [(0, 0), (1, 1), (8, 2), (27, 3), (64, 4)] {
        assert_eq!(cubic_root(a), root, "{a}");
    }
    let mut a = 1_000u64;
    while a < 1 << 60 {
        let exact = (a as f64).cbrt();
        assert!((cubic_root(a) as f64 / exact - 1.0).abs() < 0.1, "{a}: {} {exact}", cubic_root(a));
        a = a * 7 / 3;
    }
}

/// LK-CUBIC-3: 717/1024 of 100 is 70; a second loss at 90 remembers 1741/2048 of it.
#[test]
fn a_loss_leaves_seven_tenths_and_remembers_the_maximum() {
    let mut c = cubic();
    let mut w = Window { cwnd: 100 * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX };
    let loss = Loss { in_flight: 0, snd_wnd: u32::MAX, now: at(0) };
    assert_eq!(c.ssthresh_on_loss(&w, &loss), 70 * MSS);
    w.cwnd = 90 * MSS;
    assert_eq!(c.ssthresh_on_loss(&w, &loss), 63 * MSS);
    assert_eq!(c.state.last_max, 76);
}

/// LK-CUBIC-1: from 70 the window is back at 100 after about cbrt(30 / 0.4) = 4.2 s, and stays a while.
#[test]
fn the_function_returns_to_the_maximum() {
    let mut c = cubic();
    let mut w = Window { cwnd: 100 * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX };
    w.ssthresh = c.ssthresh_on_loss(&w, &Loss { in_flight: 0, snd_wnd: u32::MAX, now: at(0) });
    w.cwnd = w.ssthresh;
    let mut reached = [0; 2];
    for ms in 0..12_000 {
        c.on_ack(&mut w, &ack(at(ms)));
        for (time, packets) in reached.iter_mut().zip([97, 105]) {
            if *time == 0 && w.cwnd >= packets * MSS {
                *time = ms;
            }
        }
    }
    assert!((1_000..4_500).contains(&reached[0]) && reached[1] > 4_200, "{reached:?}");
}

/// LK-CUBIC-5: a round trip that grows by more than an eighth ends slow start after eight samples.
#[test]
fn a_growing_round_trip_ends_slow_start() {
    let mut c = cubic();
    let mut w = Window { cwnd: 20 * MSS, ssthresh: u32::MAX, mss: MSS, max: u32::MAX };
    let mut sample = |ms: u64, rtt: u64, una: u32| {
        let rtt = Some(Duration::from_millis(rtt));
        let nxt = SeqNumber(if una < 1_000 { 1_000 } else { 2_000 });
        c.note(&mut w, &Note::Sample { now: at(ms), rtt, una: SeqNumber(una), nxt, paced: false });
        w.ssthresh
    };
    assert_eq!(sample(0, 40, 10), u32::MAX);
    // A new round: eight samples are gathered, the ninth decides.
    for n in 0..8 {
        assert_eq!(sample(1_000 + 5 * n, 46, 1_001 + n as u32), u32::MAX, "{n}");
    }
    assert_eq!(sample(1_045, 46, 1_010), 20 * MSS);
}

/// LK-CUBIC-1: the tick that is looked at is the host's, whose clock has a phase.
#[test]
fn a_tick_is_that_of_the_hosts_clock() {
    let mut cubic = cubic();
    let micros = |us: u64| Instant::from_nanos(us * 1_000);
    assert_eq!((cubic.ticks(micros(999)), cubic.ticks(micros(1_000))), (0, 1));
    cubic.set_phase(Duration::from_micros(600));
    assert_eq!((cubic.ticks(micros(399)), cubic.ticks(micros(400)), cubic.ticks(micros(1_399))), (0, 1, 1));
}
