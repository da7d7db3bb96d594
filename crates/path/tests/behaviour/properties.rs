//! What holds for every path and every sequence of packets.

use crate::common::{down, drain, idents, ms, path, streams, udp};
use proptest::prelude::*;
use rexmit_path::{Direction, Duplicated, Fate, PathSpec, Verdict};
use rexmit_units::{Duration, Instant, QueueLimit};

/// Sends packets of the given gaps (ns) and lengths, receiving what is due before each.
fn run(direction: &mut Direction, packets: &[(u64, u32)]) -> (Vec<Verdict>, Vec<(Instant, u16)>) {
    let mut now = Instant::ZERO;
    let (mut verdicts, mut out) = (Vec::new(), Vec::new());
    for (ident, &(gap, len)) in packets.iter().enumerate() {
        now += Duration::from_nanos(gap);
        while let Some(due) = direction.poll_timer().filter(|due| *due <= now) {
            out.extend(direction.poll_receive(due).map(|p| (due, p.ip.ident)));
        }
        verdicts.push(direction.send(now, udp(len, ident as u16)));
    }
    out.extend(idents(direction));
    (verdicts, out)
}

fn packets() -> impl Strategy<Value = Vec<(u64, u32)>> {
    prop::collection::vec((prop_oneof![Just(0), 0..5_000_000u64], 28..1500u32), 1..200)
}

fn shaped() -> impl Strategy<Value = String> {
    let shaper = prop_oneof![Just("exact"), Just("dummynet")];
    let queue = prop_oneof![
        (1..20u32).prop_map(|n| format!("{n} packets")),
        (1500..20_000u32).prop_map(|n| format!("{n} bytes")),
    ];
    (shaper, prop::option::of(10_000..50_000_000u64), 0..20_000u64, queue).prop_map(
        |(shaper, rate, delay, queue)| {
            let rate = rate.map(|r| format!("rate = \"{r} bit/s\"\n")).unwrap_or_default();
            format!("{rate}delay = \"{delay} us\"\nqueue = \"{queue}\"\nshaper = \"{shaper}\"\n")
        },
    )
}

const EFFECTS: &str = r#"
    down.drop = { position = "3,5-6", period = 11 }
    down.corrupt = { position = 4, period = 7 }
    down.mark = { position = 6, period = 9 }
    down.duplicate = { position = 2, period = 5 }
    down.hold = { position = 3, period = 13, by = "3 ms" }
    down.reorder = { position = 7, period = 17, past = 3, within = "20 ms" }
    down.loss = { gilbert_elliott = { p = "10 %", r = "40 %", good_loss = "1 %" } }
    down.jitter = { spread = "2 ms", distribution = "normal", reorder = true }
    down.changes = [{ at = "20 ms", rate = "3 Mbit/s" }, { packet = 30, delay = "1 ms" }]
"#;

proptest! {
    /// Every packet comes out or has a verdict that says why not; when the verdict names the instant, it is
    /// that one.
    #[test]
    fn packets_are_conserved(shape in shaped(), packets in packets(), effects: bool) {
        let mut direction = down(&format!("{shape}{}", if effects { EFFECTS } else { "" }));
        let (verdicts, out) = run(&mut direction, &packets);
        for (ident, verdict) in verdicts.iter().enumerate() {
            let came: Vec<Instant> =
                out.iter().filter(|o| o.1 == ident as u16).map(|o| o.0).collect();
            let copies = usize::from(verdict.effects.duplicated == Duplicated::Delivered);
            match verdict.fate {
                Fate::Delivered { at } => {
                    prop_assert_eq!(came.len(), 1 + copies);
                    if let Some(at) = at {
                        prop_assert!(came.contains(&at));
                    }
                }
                _ => prop_assert!(came.is_empty()),
            }
            prop_assert_eq!(verdict.position, ident as u64 + 1);
        }
        let counters = direction.counters();
        prop_assert_eq!(counters.packets + counters.duplicated, counters.received + counters.drops());
        prop_assert_eq!(direction.in_transit(), 0);
    }

    /// Without reordering effects packets keep their order.
    #[test]
    fn order_is_kept(shape in shaped(), packets in packets()) {
        let effects = r#"
            down.jitter = "3 ms"
            down.hold = { position = 3, period = 13, by = "3 ms", keep_order = true }
            down.changes = [{ at = "20 ms", delay = "1 ms", rate = "1 Gbit/s" }]
        "#;
        let (_, out) = run(&mut down(&format!("{shape}{effects}")), &packets);
        prop_assert!(out.is_sorted_by_key(|o| o.0));
        prop_assert!(out.is_sorted_by_key(|o| o.1));
    }

    /// Packets due at the same instant come out as they were sent, also where the line could reorder them.
    #[test]
    fn ties_keep_their_order(shape in shaped(), packets in packets()) {
        let sorted = "down.reorder = { position = 0, past = 1 }";
        prop_assert_eq!(run(&mut down(&format!("{shape}{sorted}")), &packets), run(&mut down(&shape), &packets));
    }

    /// Packets come out in the order of their instants, whatever the effects.
    #[test]
    fn time_never_runs_back(shape in shaped(), packets in packets()) {
        let (_, out) = run(&mut down(&format!("{shape}{EFFECTS}")), &packets);
        prop_assert!(out.is_sorted_by_key(|o| o.0));
    }

    /// The same path and the same packets give the same result.
    #[test]
    fn runs_repeat(shape in shaped(), packets in packets()) {
        let toml = format!("{shape}{EFFECTS}");
        prop_assert_eq!(run(&mut down(&toml), &packets), run(&mut down(&toml), &packets));
    }

    /// An impairment draws the same whatever others do: the packets that random loss takes are the same with a
    /// loss pattern, with jitter, and with a queue that overflows, save those that the pattern takes first.
    #[test]
    fn streams_are_independent(packets in packets(), position in 1..100u64) {
        let lost = |toml: &str| -> Vec<u64> {
            let (verdicts, _) = run(&mut down(toml), &packets);
            verdicts.iter().filter(|v| v.fate == Fate::DroppedByLoss).map(|v| v.position).collect()
        };
        let loss = "down.loss = \"20 %\"\n";
        let mut alone = lost(loss);
        prop_assert_eq!(&lost(&format!("{loss}down.jitter = \"1 ms\"")), &alone);
        prop_assert_eq!(&lost(&format!("{loss}rate = \"10 kbit/s\"\nqueue = \"1 packet\"")), &alone);
        let with_pattern = lost(&format!("{loss}down.drop = {position}"));
        alone.retain(|p| *p != position);
        prop_assert_eq!(with_pattern, alone);
    }

    /// A busy exact shaper ends at the exact nanosecond, whatever the rate and the lengths.
    #[test]
    fn rate_is_exact_over_a_busy_period(
        rate in 10_000..10_000_000_000u64,
        lengths in prop::collection::vec(28..1500u32, 1..300),
    ) {
        let mut direction = down(&format!("rate = \"{rate} bit/s\""));
        for (i, len) in lengths.iter().enumerate() {
            direction.send(Instant::ZERO, udp(*len, i as u16));
        }
        let bits: u128 = lengths.iter().map(|l| u128::from(*l) * 8).sum();
        let last = drain(&mut direction).last().expect("one at least").0;
        prop_assert_eq!(u128::from(last.as_nanos()), (bits * 1_000_000_000).div_ceil(u128::from(rate)));
    }

    /// A busy dummynet pipe keeps its rate to the tick.
    #[test]
    fn dummynet_rate_is_exact_to_the_tick(
        rate in 10_000..100_000_000u64,
        lengths in prop::collection::vec(28..1500u32, 1..300),
    ) {
        let mut direction = down(&format!("rate = \"{rate} bit/s\"\nshaper = \"dummynet\""));
        for (i, len) in lengths.iter().enumerate() {
            direction.send(Instant::ZERO, udp(*len, i as u16));
        }
        let bits: u64 = lengths.iter().map(|l| u64::from(*l) * 8).sum();
        let last = drain(&mut direction).last().expect("one at least").0;
        prop_assert_eq!(last, ms((bits * 1000).div_ceil(rate)));
    }
}

/// The queue holds so many packets while one is sent, and no more.
#[test]
fn queue_limits_of_the_exact_shaper() {
    let mut direction = down("rate = \"8 Mbit/s\"\nqueue = \"3 packets\"");
    let drops: Vec<bool> =
        crate::common::burst(&mut direction, ms(0), 5, 1000).iter().map(|v| v.is_drop()).collect();
    assert_eq!(drops, [false, false, false, true, true]);
    // The first has left at 1 ms: its place is free at that instant.
    assert!(direction.send(Instant::from_nanos(999_999), udp(1000, 6)).is_drop());
    assert!(!direction.send(ms(1), udp(1000, 7)).is_drop());
    let mut direction = down("rate = \"8 Mbit/s\"\nqueue = \"2500 bytes\"");
    let drops: Vec<bool> =
        crate::common::burst(&mut direction, ms(0), 3, 1000).iter().map(|v| v.is_drop()).collect();
    assert_eq!(drops, [false, false, true]);
    assert!(!direction.send(ms(0), udp(500, 4)).is_drop());
}

/// A packet still propagating takes no place in the queue.
#[test]
fn delay_is_no_queue() {
    let mut direction = down("rate = \"8 Mbit/s\"\nqueue = \"1 packet\"\ndelay = \"1 h\"");
    for n in 0..100 {
        assert!(!direction.send(ms(n), udp(1000, n as u16)).is_drop());
    }
    assert_eq!(direction.in_transit(), 100);
}

/// Rates of loss: within five standard deviations over 100,000 packets.
#[test]
fn loss_rates() {
    let rate = |loss: &str| {
        let mut direction = down(&format!("down.loss = {loss}"));
        for n in 0..100_000u32 {
            direction.send(Instant::ZERO, udp(28, n as u16));
        }
        direction.counters().dropped_by_loss as f64 / 1e5
    };
    assert!((rate("\"5 %\"") - 0.05).abs() < 0.0035);
    assert_eq!(rate("0"), 0.0);
    assert_eq!(rate("\"100 %\""), 1.0);
    // Share of time in the bad state: p / (p + r) = 1 / 5.
    let burst = rate("{ gilbert_elliott = { p = \"5 %\", r = \"20 %\" } }");
    assert!((burst - 0.2).abs() < 0.02, "{burst}");
    let half = rate(
        "{ gilbert_elliott = { p = \"5 %\", r = \"20 %\", bad_loss = \"50 %\", good_loss = \"10 %\" } }",
    );
    assert!((half - 0.18).abs() < 0.02, "{half}");
    // r = 1 - p by default: as independent loss.
    assert!((rate("{ gilbert_elliott = { p = \"5 %\" } }") - 0.05).abs() < 0.0035);
}

/// Spread of jitter: mean and standard deviation.
#[test]
fn jitter_spread() {
    let moments = |jitter: &str| {
        let mut direction = down(&format!("delay = \"50 ms\"\ndown.jitter = {jitter}"));
        let n = 20_000;
        let delays: Vec<f64> = (0..n)
            .map(|i| match direction.send(ms(i * 1000), udp(28, 0)).fate {
                Fate::Delivered { at: Some(at) } => at.as_nanos() as f64 / 1e6 - (i * 1000) as f64,
                other => panic!("{other:?}"),
            })
            .collect();
        let mean = delays.iter().sum::<f64>() / n as f64;
        let variance = delays.iter().map(|d| (d - mean).powi(2)).sum::<f64>() / n as f64;
        (mean, variance.sqrt())
    };
    let (mean, sd) = moments("\"6 ms\"");
    assert!((mean - 50.0).abs() < 0.15 && (sd - 6.0 / 3f64.sqrt()).abs() < 0.1, "{mean} {sd}");
    let (mean, sd) = moments("{ spread = \"5 ms\", distribution = \"normal\" }");
    assert!((mean - 50.0).abs() < 0.2 && (sd - 5.0).abs() < 0.15, "{mean} {sd}");
}

/// Directions are overridden one by one.
#[test]
fn overrides() {
    let spec = path("rate = \"1 Mbit/s\"\nup.rate = \"2 Mbit/s\"\nup.shaper = \"dummynet\"");
    assert_eq!(spec.down().rate.map(|r| r.bits_per_second()), Some(1_000_000));
    assert_eq!(spec.up().rate.map(|r| r.bits_per_second()), Some(2_000_000));
    let refused = |toml: &str| {
        Direction::<rexmit_wire::Packet>::new(&path(toml).down(), "down", Duration::ZERO, &mut streams).err()
    };
    let message = |toml: &str| refused(toml).expect("refused").to_string();
    assert!(refused("shaper = \"dummynet\"").is_none());
    assert_eq!(
        message("shaper = \"dummynet\"\ntick = \"0 ms\""),
        "path.down.tick: allowed: a duration above zero, such as \"1 ms\""
    );
    assert!(message("queue = \"0 packets\"").contains("path.down.queue"));
    assert!(
        message("down.changes = [{ at = \"1 s\", packet = 3, rate = \"1 bit/s\" }]").contains("changes.0:")
    );
    assert!(message("down.changes = [{ at = \"1 s\" }]").contains("nothing changes"));
}

/// What a path says for both directions holds for each that says nothing else; each has its own packets and numbers.
#[test]
fn effects_of_both_directions() {
    let spec = path(
        "loss = \"5 %\"\njitter = \"1 ms\"\ndrop = 3\nchanges = [{ at = \"1 s\", delay = \"5 ms\" }]\n\
         hold = { position = 9, by = \"1 ms\" }\nup.loss = \"0 %\"\nup.changes = [{ packet = 2, delay = \"7 ms\" }]",
    );
    let (down, up) = (spec.down().impairments, spec.up().impairments);
    let each = path(
        "down.loss = \"5 %\"\ndown.jitter = \"1 ms\"\ndown.drop = 3\n\
         down.changes = [{ at = \"1 s\", delay = \"5 ms\" }]\ndown.hold = { position = 9, by = \"1 ms\" }\nup.loss = \"0 %\"\n\
         up.jitter = \"1 ms\"\nup.drop = 3\nup.changes = [{ packet = 2, delay = \"7 ms\" }]\n\
         up.hold = { position = 9, by = \"1 ms\" }",
    );
    assert_eq!((down, up), (each.down().impairments, each.up().impairments));
    // The streams have the direction's name, whoever has asked for them.
    let mut names = Vec::new();
    for (spec, name) in [(path("loss = \"5 %\"").down(), "down"), (path("loss = \"5 %\"").up(), "up")] {
        let mut stream = |stream: &str| {
            names.push(stream.to_owned());
            streams(stream)
        };
        Direction::<rexmit_wire::Packet>::new(&spec, name, Duration::ZERO, &mut stream).expect("a path");
    }
    assert_eq!(names, ["path.down.loss", "path.up.loss"]);
    // What is written out for the record stays where it stood.
    let whole = serde_json::to_value(spec.with_defaults()).expect("JSON");
    assert_eq!((&whole["loss"], &whole["up"]["loss"]), (&serde_json::json!("0.05"), &serde_json::json!("0")));
    assert!(whole.get("down").is_none(), "{whole}");
    assert_eq!(serde_json::from_value::<PathSpec>(whole).expect("a path").down(), spec.down());
}

/// A queue in time holds what the first rate sends in it.
#[test]
fn a_queue_in_time() {
    let ten = "rate = \"10 Mbit/s\"\nqueue = \"10 ms\"";
    let limit = |toml: &str| path(toml).down().queue_limit();
    assert_eq!(limit(ten), QueueLimit::Bytes(12_500));
    assert_eq!(
        limit(&format!("{ten}\nchanges = [{{ at = \"0 s\", rate = \"1 Mbit/s\" }}]")),
        QueueLimit::Bytes(12_500)
    );
    assert_eq!(limit(&format!("{ten}\ndown.rate = \"1 Mbit/s\"")), QueueLimit::Bytes(1_250));
    let mut direction = down(ten);
    let dropped =
        crate::common::burst(&mut direction, Instant::ZERO, 10, 1500).iter().filter(|v| v.is_drop()).count();
    assert_eq!(dropped, 2, "8 x 1500 bytes fit");
    let message = |toml: &str| path(toml).check("path", None).expect_err(toml).to_string();
    assert!(message("queue = \"10 ms\"").contains("path.down.queue: a queue in time needs a drain rate"));
    assert!(message("rate = \"1 kbit/s\"\nqueue = \"10 ms\"").contains("no packet fits in"));
}

/// FQ-CoDel has two spellings, which both stand for it wherever it is named.
#[test]
fn both_spellings_of_fq_codel() {
    let aqm = |value: &str| path(&format!("aqm = {value}")).aqm;
    assert_eq!(aqm("\"fq_codel\""), aqm("\"fq-codel\""));
    let table = aqm("{ fq_codel = { target = \"9 ms\" } }");
    assert!(table.is_some());
    assert_eq!(aqm("{ fq-codel = { target = \"9 ms\" } }"), table);
}

/// Absurd values neither overflow nor panic: what takes longer than time lasts never comes out of order.
#[test]
fn extremes() {
    let longest = "5124095 h";
    for shaper in [
        "shaper = \"exact\"",
        "shaper = \"dummynet\"\ntick = \"1 ns\"",
        "shaper = \"dummynet\"\ntick = \"5124095 h\"",
    ] {
        for rate in ["1 bit/s", "18446744073 Gbit/s"] {
            for effects in [
                "down.jitter = { spread = \"5124095 h\", reorder = true }",
                "down.jitter = { spread = \"5124095 h\", distribution = \"normal\" }",
                "down.hold = { position = \"1-\", by = \"5124095 h\" }",
                "down.reorder = { position = 1, past = 4000000000, within = \"5124095 h\" }",
                "down.changes = [{ at = \"5124095 h\", rate = \"1 bit/s\" }, { packet = 2, delay = \"0 s\" }]",
            ] {
                let toml = format!("rate = \"{rate}\"\ndelay = \"{longest}\"\n{shaper}\n{effects}");
                let mut direction = down(&toml);
                let mut last = Instant::ZERO;
                for start in [Instant::ZERO, ms(1), Instant::from_nanos(u64::MAX / 2)] {
                    for ident in 0..5 {
                        direction.send(start, udp(65_535, ident));
                    }
                }
                let out = drain(&mut direction);
                assert_eq!(out.len(), 15, "{toml}");
                for (at, _) in out {
                    assert!(at >= last, "{toml}");
                    last = at;
                }
            }
        }
    }
}
