//! One model of random operations for every controller.

use proptest::prelude::*;

use super::super::bounds::{Bound, Step, check};
use super::*;

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        20 => (0_u32..200, any::<bool>(), any::<bool>())
            .prop_map(|(segments, limited, sampled)| Step::Ack { segments, limited, sampled }),
        2 => Just(Step::FastRetransmit),
        1 => Just(Step::Timeout),
        1 => Just(Step::Spurious),
        2 => (0_u64..100_000).prop_map(Step::Wait),
        1 => (0_u64..1 << 40).prop_map(Step::Wait),
    ]
}

fn any_config() -> impl Strategy<Value = CongestionConfig> {
    let growth = prop_oneof![
        Just(Growth::PerAck),
        Just(Growth::PerByte),
        Just(Growth::Counter),
        Just(Growth::CountedBytes)
    ];
    let algorithm =
        prop_oneof![Just(AlgorithmKind::Reno), Just(AlgorithmKind::Cubic), Just(AlgorithmKind::Bic)];
    let rule = prop_oneof![
        Just(SsthreshRule::WindowHalf),
        Just(SsthreshRule::CwndHalf),
        Just(SsthreshRule::FlightHalf)
    ];
    (any::<[bool; 6]>(), algorithm, growth, rule, 1_u32..10).prop_map(
        |(flags, algorithm, growth, ssthresh, abc_limit)| CongestionConfig {
            counts: GrowthCount::Acks,
            inflight: InflightConfig::default(),
            algorithm,
            growth,
            at_least_one: flags[1],
            abc_limit,
            slow_start: match flags[2] {
                true => SlowStartCondition::UpToSsthresh,
                false => SlowStartCondition::BelowSsthresh,
            },
            hystart: match growth == Growth::PerByte && algorithm != AlgorithmKind::Bic && flags[5] {
                true => HystartRule::Rfc9406,
                false => HystartRule::Off,
            },
            grows: if flags[3] { GrowthCondition::Always } else { GrowthCondition::WhenLimited },
            ssthresh,
            cubic: CubicConfig {
                fast_convergence: flags[4],
                reno_friendly: flags[5],
                ..CubicConfig::default()
            },
            initial_ssthresh: None,
            bic: BicConfig { fast_convergence: flags[0], ..BicConfig::default() },
            bbr: crate::congestion::BbrConfig::default(),
        },
    )
}

proptest! {
    #[test]
    fn every_controller_keeps_its_bounds(
        config in any_config(),
        mss in 88_u32..9_000,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        prop_assert_eq!(config.check(), Ok(()));
        if let Err(broken) = check(&mut Congestion::new(&config), mss, steps) {
            prop_assert!(false, "{broken}");
        }
    }

    /// A reduction that proves needless leaves no trace: the growth that follows is as if it had not been.
    #[test]
    fn undo_restores_growth(acks in 1_usize..50, later in 1_usize..50) {
        let mut c = Congestion::new(&cubic());
        let mut w = Window { cwnd: 70 * MSS, ssthresh: 2 * MSS, mss: MSS, max: 65_535 << 14 };
        let at = |i: usize| Instant::from_nanos(i as u64 * 10_000_000);
        for i in 0..acks {
            c.on_ack(&mut w, &ack(MSS, at(i)));
        }
        let (mut undone, mut same) = (c.clone(), w);
        undone.ssthresh_on_loss(&same, &loss(70 * MSS));
        undone.on_spurious();
        for i in acks..acks + later {
            c.on_ack(&mut w, &ack(MSS, at(i)));
            undone.on_ack(&mut same, &ack(MSS, at(i)));
            prop_assert_eq!(w, same);
        }
    }
}

#[test]
fn names_and_configurations_survive_their_text() {
    for config in [freebsd(), rfc(), linux(), cubic()] {
        let text = serde_json::to_string(&config).unwrap();
        assert_eq!(serde_json::from_str::<CongestionConfig>(&text).unwrap(), config);
        let c = Congestion::new(&config);
        assert!(text.contains(&format!("\"algorithm\":\"{}\"", c.name())), "{text}");
    }
    let text = r#"{"algorithm":"reno","growth":"per-ack","slow_start":"up-to-ssthresh","grows":"always",
        "ssthresh":"window-half"}"#;
    assert_eq!(serde_json::from_str::<CongestionConfig>(text).unwrap(), freebsd());
    assert!(serde_json::from_str::<CongestionConfig>(&text.replace("grows", "grow")).is_err());
}

#[test]
fn numbers_that_make_no_sense_are_refused() {
    use super::super::CongestionConfigError as E;
    assert_eq!(CongestionConfig { abc_limit: 0, ..rfc() }.check(), Err(E::AbcLimit));
    for c in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        let wrong = CubicConfig { c, ..CubicConfig::default() };
        assert_eq!(CongestionConfig { cubic: wrong, ..cubic() }.check(), Err(E::C));
    }
    for beta in [0.0, 1.0, f64::NAN] {
        let wrong = CubicConfig { beta, ..CubicConfig::default() };
        assert_eq!(CongestionConfig { cubic: wrong, ..cubic() }.check(), Err(E::Beta));
    }
}

/// A controller that breaks the bound that its number names.
#[derive(Clone, Debug)]
struct Wrong(Bound);

impl CongestionControl for Wrong {
    fn on_ack(&mut self, w: &mut Window, _ack: &Ack) {
        match self.0 {
            Bound::NeverCloses => w.cwnd -= 1,
            Bound::Limit => w.cwnd = w.max + 1,
            _ => {}
        }
    }

    fn ssthresh_on_loss(&mut self, w: &Window, _loss: &Loss) -> u32 {
        match self.0 {
            Bound::Cwnd => 0,
            Bound::Ssthresh => w.mss,
            Bound::Raised => w.cwnd + w.mss,
            _ => 2 * w.mss,
        }
    }

    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        w.cwnd = if self.0 == Bound::LossWindow { 2 * w.mss } else { w.mss };
    }

    fn on_recovery_exit(&mut self, _w: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {}

    fn name(&self) -> &'static str {
        "wrong"
    }
}

/// The body sees each fault at the step that shows it, and nothing in a controller without one.
#[test]
fn the_body_finds_what_a_controller_breaks() {
    let ack = Step::Ack { segments: 1, limited: true, sampled: true };
    let (fast, timeout) = (Step::FastRetransmit, Step::Timeout);
    for (fault, steps, number) in [
        (Bound::NeverCloses, [Step::Wait(5), ack, fast], 1),
        (Bound::Limit, [Step::Spurious, ack, fast], 1),
        (Bound::LossWindow, [ack, fast, timeout], 2),
        (Bound::Cwnd, [fast, ack, ack], 0),
        (Bound::Ssthresh, [ack, timeout, ack], 1),
        (Bound::Raised, [fast, fast, ack], 1),
    ] {
        let seen = check(&mut Wrong(fault), MSS, steps).map_err(|broken| (broken.number, broken.bound));
        assert_eq!(seen, Err((number, fault)));
        assert_eq!(check(&mut Congestion::new(&rfc()), MSS, steps), Ok(()));
    }
}

/// A controller from outside takes part in everything that a connection asks of one.
#[test]
fn own_controllers_are_asked_as_ours_are() {
    let mut ours = Congestion::new(&cubic());
    let mut own = Congestion::own(super::super::Cubic::new(&cubic()));
    let (mut w, mut same) = (window(10 * MSS, 20 * MSS), window(10 * MSS, 20 * MSS));
    for i in 0..200 {
        let now = Instant::from_nanos(i * 10_000_000);
        if i % 60 == 59 {
            w.ssthresh = ours.ssthresh_on_loss(&w, &loss(w.cwnd));
            same.ssthresh = own.ssthresh_on_loss(&same, &loss(same.cwnd));
            ours.on_timeout(&mut w, now);
            own.on_timeout(&mut same, now);
        }
        ours.on_ack(&mut w, &ack(MSS, now));
        // A copy goes on where it was made.
        own = own.clone();
        own.on_ack(&mut same, &ack(MSS, now));
        assert_eq!(w, same);
    }
    assert_eq!((own.name(), own.recovery_floor(&w)), (ours.name(), ours.recovery_floor(&w)));
    assert_eq!(own.undo_window(&w), ours.undo_window(&w));
}
