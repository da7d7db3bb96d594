//! One model of random operations for every controller.

use proptest::prelude::*;

use super::*;

#[derive(Clone, Debug)]
enum Step {
    Ack { segments: u32, limited: bool, sampled: bool },
    FastRetransmit,
    Timeout,
    Spurious,
    Wait(u64),
}

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
            grows: if flags[3] { GrowthCondition::Always } else { GrowthCondition::WhenLimited },
            ssthresh,
            cubic: CubicConfig {
                fast_convergence: flags[4],
                reno_friendly: flags[5],
                ..CubicConfig::default()
            },
            initial_ssthresh: None,
            bic: BicConfig { fast_convergence: flags[0], ..BicConfig::default() },
        },
    )
}

/// One step; checks what must hold after it.
fn take(c: &mut Congestion, w: &mut Window, now: &mut Instant, step: &Step) -> Result<(), TestCaseError> {
    let before = *w;
    let event = Loss { in_flight: w.cwnd / 2, snd_wnd: 1 << 20, now: *now };
    match *step {
        Step::Ack { segments, limited, sampled } => {
            let srtt = sampled.then(|| Duration::from_millis(80));
            let acked = w.mss * segments;
            let during = if sampled { During::Open } else { During::Loss };
            c.on_ack(w, &Ack { acked, now: *now, srtt, in_flight: w.cwnd, cwnd_limited: limited, during });
            prop_assert!(w.cwnd >= before.cwnd, "an ACK never closes the window");
            prop_assert!(w.cwnd <= before.cwnd.max(w.max), "growth ends at the limit");
        }
        Step::FastRetransmit => {
            w.ssthresh = c.ssthresh_on_loss(w, &event);
            w.cwnd = w.ssthresh;
            c.on_recovery_exit(w, *now);
        }
        Step::Timeout => {
            w.ssthresh = c.ssthresh_on_loss(w, &event);
            c.on_timeout(w, *now);
            prop_assert_eq!(w.cwnd, w.mss);
        }
        Step::Spurious => c.on_spurious(),
        Step::Wait(us) => *now += Duration::from_micros(us),
    }
    prop_assert!(w.cwnd >= w.mss, "cwnd is at least one segment");
    prop_assert!(w.ssthresh >= 2 * w.mss, "ssthresh is at least two segments");
    prop_assert!(
        w.ssthresh <= before.ssthresh.max(before.cwnd).max(2 * w.mss),
        "a loss never raises ssthresh"
    );
    Ok(())
}

proptest! {
    #[test]
    fn every_controller_keeps_its_bounds(
        config in any_config(),
        mss in 88_u32..9_000,
        steps in prop::collection::vec(step(), 1..300),
    ) {
        prop_assert_eq!(config.check(), Ok(()));
        let mut c = Congestion::new(&config);
        let mut w = Window { cwnd: 3 * mss, ssthresh: u32::MAX, mss, max: 65_535 << 14 };
        let mut now = Instant::ZERO;
        for step in &steps {
            take(&mut c, &mut w, &mut now, step)?;
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
