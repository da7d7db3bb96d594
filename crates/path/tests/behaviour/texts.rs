//! Patterns and paths as people write them: reading, printing, refusing, pattern files.

use crate::common::path;
use proptest::prelude::*;
use rexmit_path::pattern::generator::{MAX_FACTOR, Words};
use rexmit_path::pattern::tool::{self, Mode};
use rexmit_path::pattern::{Data, Kind, Rule, Scope};
use rexmit_path::{PathSpec, Pattern, Positions, Times};
use rexmit_units::Duration;

fn positions() -> impl Strategy<Value = Positions> {
    let range = (0..5000u64, 0..40u64).prop_map(|(a, n)| (a, a + n));
    let open = (1..9000u64).prop_map(|a| (a, u64::MAX));
    prop::collection::vec(prop_oneof![8 => range, 1 => open], 1..8).prop_map(Positions::from_ranges)
}

fn times() -> impl Strategy<Value = Times> {
    let span = (0..10_000_000_000u64, 1..3_000_000_000u64).prop_map(|(a, n)| (a, a + n));
    prop::collection::vec(span, 1..6).prop_map(|spans| {
        let ns = Duration::from_nanos;
        Times::from_spans(spans.into_iter().map(|(a, b)| (ns(a), ns(b))))
    })
}

fn rule() -> impl Strategy<Value = Rule> {
    let scope =
        prop_oneof![Just(Scope::Direction), Just(Scope::EachFlow), (1..u16::MAX).prop_map(Scope::Port),];
    let period = || prop::option::of(1..10_000u64);
    let port = || prop::option::of(1..u16::MAX);
    let nth = || prop::option::of(positions());
    let of =
        prop_oneof![any::<u32>().prop_map(|n| Data::Offset(n.into())), (1..999u64).prop_map(Data::Segment)];
    prop_oneof![
        (positions(), period(), scope).prop_map(|(positions, period, scope)| Rule::Position {
            positions,
            period,
            scope
        }),
        (times(), prop::option::of(1..u64::from(u32::MAX)))
            .prop_map(|(times, period)| Rule::Time { times, period: period.map(Duration::from_nanos) }),
        (prop::sample::select(Kind::ALL.to_vec()), nth(), period(), port()).prop_map(
            |(kind, nth, period, port)| Rule::Match {
                period: period.filter(|_| nth.is_some()),
                kind,
                nth,
                port
            }
        ),
        (of, nth(), port()).prop_map(|(of, nth, port)| Rule::Retransmission { of, nth, port }),
    ]
}

fn pattern() -> impl Strategy<Value = Pattern> {
    prop::collection::vec(rule(), 1..4).prop_map(|rules| Pattern { rules })
}

proptest! {
    /// Text form, JSON and TOML give the same pattern back.
    #[test]
    fn patterns_round_trip(pattern in pattern()) {
        prop_assert_eq!(&tool::parse(&tool::print(&pattern)).expect("own text"), &pattern);
        prop_assert_eq!(&tool::parse(&pattern.to_string()).expect("canonical text"), &pattern);
        let json = serde_json::to_string(&pattern).expect("JSON");
        prop_assert_eq!(&serde_json::from_str::<Pattern>(&json).expect("own JSON"), &pattern);
        // In a study a number or a list stands as a value: quoted where it is not a number.
        let spec = PathSpec {
            down: rexmit_path::DirectionOverride { drop: Some(pattern), ..Default::default() },
            ..PathSpec::default()
        };
        let text = toml::to_string(&spec).expect("TOML");
        prop_assert_eq!(&toml::from_str::<PathSpec>(&text).expect("own TOML"), &spec);
    }

    /// Membership agrees with the ranges that the set was made of.
    #[test]
    fn positions_hold_their_ranges(
        ranges in prop::collection::vec((0..60u64, 0..9u64).prop_map(|(a, n)| (a, a + n)), 0..6),
    ) {
        let set = Positions::from_ranges(ranges.clone());
        for n in 0..80 {
            prop_assert_eq!(set.contains(n), ranges.iter().any(|r| (r.0..=r.1).contains(&n)));
            prop_assert_eq!(set.above(n).contains(n + 1), set.contains(n + 1));
            prop_assert!(!set.above(n).contains(n));
        }
    }

    /// A pattern file gives the same file back, and its text loses the packets that its entries name.
    #[test]
    fn files_round_trip(bytes in prop::collection::vec(any::<[u8; 2]>(), 1..9)) {
        let bytes: Vec<u8> = bytes.concat();
        let words = Words::from_bytes(&bytes).expect("whole words");
        prop_assert_eq!(&words.to_bytes(), &bytes);
        let text = tool::file_to_text(&bytes, None).expect("a pattern");
        prop_assert!(bytes.iter().all(|b| *b == 0) || tool::text_to_file(&text, None) == Ok(bytes));
    }

    /// No text makes a parser panic.
    #[test]
    fn parsers_never_panic(text in "[-0-9a-z,. ={}\\[\\]\"]{0,40}") {
        let _ = tool::parse(&text);
        let _ = text.parse::<Positions>();
        let _ = text.parse::<Times>();
    }
}

/// The generator's own example: list 1,4 loses the first and the fourth packet.
#[test]
fn generator_in_data_mode() {
    let made = tool::make_file(2, "1,4", Mode::Data).expect("a file");
    // Entry 1 is bit 14, entry 4 bit 11 of word 0; words are little endian.
    assert_eq!(made.bytes, [0x00, 0x48, 0x00, 0x00]);
    assert_eq!(tool::file_to_text(&made.bytes, None).expect("text"), "position = \"1,4\"\nperiod = 32\n");
    // Entry 16 is bit 15 of word 1.
    assert_eq!(tool::make_file(2, "16", Mode::Data).expect("a file").bytes, [0, 0, 0x00, 0x80]);
}

/// EM-DN-11: entry 0 is never looked up for a first packet; it belongs to the last of a period.
#[test]
fn generator_entry_0() {
    let made = tool::make_file(2, "0", Mode::Data).expect("a file");
    assert_eq!(made.bytes, [0x00, 0x80, 0x00, 0x00]);
    assert_eq!(tool::file_to_text(&made.bytes, None).expect("text"), "position = 32\nperiod = 32\n");
    let none = tool::file_to_text(&[0, 0], None).expect("text");
    assert_eq!(none, "0\n");
}

/// The appendix: 4,8 in time mode is no loss on 0 to 3, loss on 4 to 7, no loss from 8; start value 1 turns it.
#[test]
fn generator_in_time_mode() {
    let losses = |start: bool| -> Vec<u64> {
        let list = "4,8".parse().expect("a list");
        let (words, beyond) = Words::time(1, &list, start).expect("words");
        assert!(beyond.is_empty());
        (0..16).filter(|n| words.entry(*n)).collect()
    };
    assert_eq!(losses(false), [4, 5, 6, 7]);
    assert_eq!(losses(true), [0, 1, 2, 3, 8, 9, 10, 11, 12, 13, 14, 15]);
    let made = tool::make_file(1, "4,8", Mode::Time { start: false }).expect("a file");
    let text = tool::file_to_text(&made.bytes, Some("1 ms")).expect("text");
    assert_eq!(text, "time = \"4 ms-8 ms\"\nperiod = \"16 ms\"\n");
}

#[test]
fn generator_leaves_out_what_does_not_fit() {
    let made = tool::make_file(1, "3,16,40", Mode::Data).expect("a file");
    assert_eq!(made.warnings, ["16,40 left out: the last entry of factor 1 is 15"]);
    assert_eq!(made.bytes, [0x00, 0x10]);
    assert!(tool::make_file(0, "1", Mode::Data).expect_err("no words").contains("factor = 0: allowed: 1 to"));
    assert!(tool::make_file(MAX_FACTOR + 1, "1", Mode::Data).is_err());
    assert!(tool::make_file(1, "1,", Mode::Data).expect_err("an empty item").contains("an empty item"));
    assert!(tool::file_to_text(&[1, 2, 3], None).expect_err("odd").contains("3 bytes"));
    assert!(tool::file_to_text(&[], None).is_err());
    assert!(tool::text_to_file("1,4", None).expect_err("no length").contains("needs a factor"));
    assert_eq!(tool::text_to_file("1,4", Some(2)), Ok(vec![0x00, 0x48, 0, 0]));
    assert!(tool::text_to_file("40", Some(2)).expect_err("too far").contains("beyond 32 packets"));
    assert!(tool::text_to_file("{ match = \"fin\" }", Some(2)).is_err());
}

#[test]
fn random_patterns_are_fixed() {
    let made = tool::make_random("10 %", 1000, 7, false).expect("a pattern");
    assert_eq!(tool::make_random("10 %", 1000, 7, false), Ok(made.clone()));
    assert_ne!(tool::make_random("10 %", 1000, 8, false), Ok(made.clone()));
    let positions: Positions = made.trim().parse().expect("a list");
    let count: u64 = positions.ranges().iter().map(|r| r.1 - r.0 + 1).sum();
    assert!((60..140).contains(&count), "{count}");
    assert!(!positions.contains(0) && positions.above(1000).is_empty());
    let repeated = tool::make_random("10 %", 1000, 7, true).expect("a pattern");
    assert!(repeated.ends_with("period = 1000\n"));
    assert_eq!(tool::make_random("0", 10, 1, false).expect("none"), "0\n");
    assert!(tool::make_random("10", 10, 1, false).expect_err("no probability").starts_with("rate: "));
    assert!(tool::make_random("1 %", 0, 1, false).is_err());
}

/// The same stream in every release: a fixed pattern of a fixed seed.
#[test]
fn random_patterns_never_change() {
    let made = tool::make_random("25 %", 40, 1, false).expect("a pattern");
    assert_eq!(made, RANDOM_25_40_1);
}

/// Computed apart from this crate: xoshiro256++ seeded by SplitMix64 of 1, draws below 2^62.
const RANDOM_25_40_1: &str = "3,5,9-10,13,15-16,23,25,27,37\n";

#[test]
fn shown() {
    let text = tool::show("# losses\nposition = \"2,4-5\"\nperiod = 6", 12).expect("shown");
    assert_eq!(text, "position = \"2,4-5\"\nperiod = 6\n      1 .x.xx..x.xx.\n");
    assert_eq!(tool::make_list("4,1,2", None), Ok(("1-2,4\n".into(), vec![])));
    assert_eq!(tool::make_list("4", Some(8)), Ok(("position = 4\nperiod = 8\n".into(), vec![])));
    assert_eq!(tool::show("{ match = \"fin\" }", 10), Ok("match = \"fin\"\n".into()));
}

/// A position that no packet can have is warned of, and made all the same.
#[test]
fn lists_that_name_no_packet() {
    let warnings = |list: &str, period| tool::make_list(list, period).expect("a pattern").1;
    assert_eq!(warnings("0", None), ["position 0 names no packet; the first packet is 1"]);
    assert_eq!(
        warnings("1,40-41", Some(32)),
        ["position 40-41 never comes: after packet 32 counting begins again at 1"]
    );
    assert_eq!(warnings("0,30-40", Some(32)).len(), 2);
    let none = Vec::<String>::new();
    assert_eq!(warnings("32", Some(32)), none);
    assert_eq!(warnings("32-", Some(32)), none);
    assert_eq!(warnings("1,4,500-", None), none);
    assert_eq!(warnings("33-", Some(32)).len(), 1);
}

/// Any bytes are a pattern, so files of other kinds are known by how they begin.
#[test]
fn other_files_are_no_patterns() {
    let refused = |bytes: &[u8]| tool::file_to_text(bytes, None).expect_err("another file");
    assert_eq!(refused(&[0x0a, 0x0d, 0x0d, 0x0a, 0x1c, 0]), "this is a capture (pcapng), not a pattern file");
    assert!(refused(&[0xd4, 0xc3, 0xb2, 0xa1, 2, 0]).contains("a capture (pcap)"));
    assert!(refused(b"PAR1xy").contains("Parquet"));
    assert!(refused(&vec![0; 2 * MAX_FACTOR + 2]).contains("words"));
    assert!(tool::file_to_text(&[0x0a, 0x0d], None).is_ok());
}

/// What is wrong, and what is allowed, in one line.
#[test]
fn refusals_are_one_clear_line() {
    let cases = [
        ("drop = \"x\"", "allowed: such as 18, \"1,4,10-12\" or \"10-\""),
        ("drop = \"0..20\"", "names levels of [vary]; a range of positions has a hyphen"),
        ("drop = \"4-1\"", "\"4-1\" runs backwards"),
        ("drop = -1", "is not a list of positions"),
        ("drop = 1.5", "expected a position, a list"),
        ("drop = true", "expected a position, a list"),
        ("drop = {}", "exactly one of position, time, switches, match and retransmission"),
        ("drop = { position = 1, time = \"1 s-2 s\" }", "exactly one of"),
        ("drop = { positon = 1 }", "unknown field `positon`, expected one of `position`"),
        ("drop = { position = 1, nth = 2 }", "nth goes with match"),
        ("drop = { position = 1, period = 0 }", "at least 1"),
        ("drop = { time = \"1 s\" }", "\"1 s\" has no end"),
        ("drop = { time = \"2 s-1 s\" }", "does not run forwards"),
        ("drop = { time = \"1-2 s\" }", "is not a duration"),
        ("drop = { time = \"1 s-2 s\", flow = true }", "flow goes with"),
        ("drop = { switches = \"1 s\", start = 2 }", "allowed: 0 (off at first) or 1 (on)"),
        (
            "drop = { match = \"synack\" }",
            "allowed: syn, syn-ack, fin, rst, pure-ack, data, retransmission, initial, 0-rtt, handshake, 1-rtt, \
             datagram",
        ),
        ("drop = { retransmission = {} }", "exactly one of offset and segment"),
        ("drop = { retransmission = { segment = 0 } }", "the first segment is 1"),
        ("drop = { position = 1, flow = 70000 }", "a port from 1 to 65535"),
        ("hold = { position = 1 }", "missing field `by`"),
        ("hold = 3", "expected a table such as { position = 3, by = \"50 ms\" }"),
        ("reorder = { position = 1, past = 0 }", "at least 1"),
        ("loss = \"5 ms\"", "is not a probability"),
        ("loss = { p = 1 }", "unknown field `p`, expected `gilbert_elliott`"),
        ("jitter = \"5\"", "is not a duration"),
        ("jitter = { spread = \"5 ms\", distribution = \"pareto\" }", "expected `uniform` or `normal`"),
        ("dorp = 1", "unknown field `dorp`"),
        ("changes = [{ at = \"1 s\", rat = 1 }]", "unknown field `rat`"),
    ];
    for (line, expected) in cases {
        let error = toml::from_str::<PathSpec>(&format!("[down]\n{line}")).expect_err(line);
        let message = error.message();
        assert!(message.contains(expected), "{line}: {message}");
        assert!(!message.contains('\n'), "{line}: {message}");
    }
}

#[test]
fn paths_round_trip_and_show_defaults() {
    let text = r#"
        rate = "1 Mbit/s"
        delay = "10 ms"
        queue = "99 packets"
        [down]
        drop = "1,4"
        hold = { match = "data", nth = 3, by = "50 ms" }
        reorder = { position = 3, past = 3 }
        loss = { gilbert_elliott = { p = "1 %", r = "20 %" } }
        jitter = "5 ms"
        changes = [{ at = "2 s", rate = "2 Mbit/s" }, { packet = 10, delay = "1 ms" }]
        [up]
        loss = "5 %"
        rate = "100 kbit/s"
    "#;
    let spec = path(text);
    let json = serde_json::to_string(&spec).expect("JSON");
    assert_eq!(serde_json::from_str::<PathSpec>(&json).expect("own JSON"), spec);
    let full = spec.with_defaults();
    assert_eq!((full.down(), full.up()), (spec.down(), spec.up()));
    let json = serde_json::to_value(PathSpec::default().with_defaults()).expect("JSON");
    let expected = serde_json::json!({ "delay": "0 s", "queue": "1000 packets", "shaper": "exact" });
    assert_eq!(json, expected);
    let ticking = path("shaper = \"dummynet\"").with_defaults();
    assert_eq!(ticking.tick, Some(rexmit_units::Duration::from_millis(1)));
    assert!(ticking.warnings("path").is_empty() && full.warnings("path").is_empty());
    let idle = path("tick = \"5 ms\"\n[up]\nshaper = \"tbf\"\n[down]\ntick = \"2 ms\"");
    let warned = idle.warnings("path");
    assert!(warned.len() == 1 && warned[0].starts_with("path.down.tick: "), "{warned:?}");
}

/// The examples of the module's documentation are what it says: patterns.
#[test]
fn documented_examples_are_read() {
    let source = include_str!("../../src/pattern.rs");
    let lines = source.lines().filter_map(|l| l.strip_prefix("//! drop = "));
    let read: Vec<Pattern> =
        lines.map(|l| path(&format!("down.drop = {l}"))).filter_map(|p| p.down.drop).collect();
    assert_eq!(read.len(), 11);
}

/// Every key of the schema has a description: the reference comes from it.
#[test]
fn schema_describes_every_key() {
    let schema = serde_json::to_value(schemars::schema_for!(PathSpec)).expect("JSON");
    let mut keys = 0;
    let definitions = schema["$defs"].as_object().expect("definitions").values();
    for object in definitions.chain([&schema]) {
        for (key, property) in object["properties"].as_object().into_iter().flatten() {
            assert!(property["description"].is_string(), "{key} has no description in {object}");
            keys += 1;
        }
    }
    assert!(keys > 50, "{keys}");
    let text = schema.to_string();
    assert!(text.contains("gilbert_elliott") && text.contains("syn-ack") && text.contains("dummynet"));
}

/// What netem cannot do is named by the key under which it was written: once where it stands for both directions.
#[test]
fn what_netem_cannot_do_is_named_by_the_key_that_was_written() {
    let beyond = |text: &str| toml::from_str::<PathSpec>(text).unwrap().beyond_netem();
    let both = "emulator = \"netem\"\nlink = \"1 Gbit/s\"\nchanges = [{ at = \"1 s\", delay = \"5 ms\" }]";
    assert_eq!(beyond(both), ["path.link", "path.changes"]);
    let one = "emulator = \"netem\"\ndown.link = \"1 Gbit/s\"\nup.drop = 3";
    assert_eq!(beyond(one), ["path.down.link", "path.up.drop"]);
    let overridden = "emulator = \"netem\"\naqm = \"codel\"\ndown.aqm = \"none\"\nup.aqm = \"none\"";
    assert!(beyond(overridden).is_empty());
}

/// The keys of an error and of a warning, and what they advise, are those of the path that is meant.
#[test]
fn keys_are_those_of_the_path_that_is_meant() {
    let refused = |toml: &str| path(toml).check("alternate", None).expect_err(toml).to_string();
    assert_eq!(
        refused("up.queue = \"10 ms\""),
        "alternate.up.queue: a queue in time needs a drain rate, such as alternate.rate = \"10 Mbit/s\""
    );
    assert!(refused("burst = \"2 kB\"").starts_with("alternate.burst: only the shaper tbf"));
    let warned = path("tick = \"1 ms\"\ndown.drop = 0").warnings("alternate");
    assert!(
        warned[0].starts_with("alternate.tick: ") && warned[0].contains(" alternate.shaper = "),
        "{warned:?}"
    );
    assert!(warned[1].starts_with("alternate.down.drop: ") && warned.len() == 2, "{warned:?}");
}
