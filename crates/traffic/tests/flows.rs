//! Flows as people write them: what is drawn of them, what is refused, and in which words.

use proptest::prelude::*;
use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_traffic::{Flow, FlowList, FlowSizes, Flows, TableFile, Transfer, TransferSpec, server_or_client};
use rexmit_units::Duration;

fn spec(flows: &str) -> Result<TransferSpec, String> {
    let json = format!(r#"{{"from": "server", "to": "client", "flows": {flows}}}"#);
    serde_json::from_str(&json).map_err(|e| e.to_string())
}

/// With `text` in every file that it names.
fn transfer(flows: &str, text: &str) -> Result<Transfer, String> {
    spec(flows)?.resolve_with(&server_or_client, &mut |_| Ok(text.to_owned())).map_err(|e| e.to_string())
}

fn flows(flows: &str) -> Flows {
    transfer(flows, "").unwrap().flows().unwrap().clone()
}

fn draw(flows: &Flows, seed: u64) -> Vec<Flow> {
    flows.draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed)).unwrap()
}

fn error(json: &str, text: &str) -> String {
    let error = transfer(json, text).map(drop).unwrap_err();
    assert!(!error.contains('\n'), "{json}: {error}");
    error
}

fn flow(start_ns: u64, size: u64) -> Flow {
    Flow { start: Duration::from_nanos(start_ns), size }
}

const POISSON: &str = r#"{"count": 4, "every": "exponential 5 ms", "size": "web-search"}"#;

#[test]
fn draws_are_those_of_the_seed() {
    let poisson = flows(POISSON);
    let expected = [
        flow(8_346_262, 1_431_847),
        flow(8_873_903, 1_423_214),
        flow(9_894_767, 178_293),
        flow(31_560_598, 75_901),
    ];
    assert_eq!(draw(&poisson, 1), expected);
    assert_ne!(draw(&poisson, 2), expected);
    let by_load = flows(r#"{"count": 2, "load": 0.6, "of": "50 Mbit/s", "size": "data-mining"}"#);
    assert_eq!(draw(&by_load, 1), [flow(3_325_255_945, 7131), flow(3_535_474_761, 7079)]);
    let long = flows(r#"{"count": 1000, "every": "exponential 5 ms", "size": "web-search"}"#);
    assert_eq!(draw(&long, 1)[..4], expected, "more of them change nothing of the first");
}

#[test]
fn a_poisson_process_has_its_rate() {
    let drawn = draw(&flows(r#"{"count": 100000, "every": "exponential 5 ms", "size": "1 kB"}"#), 1);
    let mean = drawn.last().unwrap().start.as_secs_f64() / 1e5;
    assert!((mean / 0.005 - 1.0).abs() < 0.01, "{mean} s");
    // Numbers in windows of 50 ms are as spread as their mean is: 10.
    let mut windows = vec![0_u32; 9_000];
    for flow in &drawn {
        if let Some(window) = windows.get_mut((flow.start.as_nanos() / 50_000_000) as usize) {
            *window += 1;
        }
    }
    let mean = windows.iter().sum::<u32>() as f64 / 9e3;
    let variance = windows.iter().map(|n| (f64::from(*n) - mean).powi(2)).sum::<f64>() / 9e3;
    assert!((mean - 10.0).abs() < 0.2 && (variance - 10.0).abs() < 0.6, "{mean}, {variance}");
}

#[test]
fn a_load_is_payload_over_the_rate() {
    for (load, size) in [(0.6, "exponential 100 kB"), (1.5, "web-search"), (0.01, "100 bytes")] {
        let json = format!(r#"{{"count": 100000, "load": {load}, "of": "50 Mbit/s", "size": "{size}"}}"#);
        let drawn = draw(&flows(&json), 1);
        let bits = drawn.iter().map(|flow| flow.size).sum::<u64>() as f64 * 8.0;
        let found = bits / drawn.last().unwrap().start.as_secs_f64() / 50e6;
        assert!((found / load - 1.0).abs() < 0.02, "{size}: {found}");
    }
}

#[test]
fn flows_of_a_time_start_before_it_and_in_order() {
    let flows = flows(r#"{"time": "60 s", "every": "uniform 0 s to 20 ms", "size": "1 kB"}"#);
    assert_eq!(flows.count(), None);
    let drawn = draw(&flows, 1);
    assert!((5_900..6_100).contains(&drawn.len()), "{}", drawn.len());
    assert!(drawn.is_sorted_by_key(|flow| flow.start));
    assert!(drawn.last().unwrap().start < Duration::from_secs(60));
}

#[test]
fn constant_times_are_a_clock_and_the_first_flow_comes_after_one() {
    let drawn = draw(&flows(r#"{"time": "15 ms", "every": "5 ms", "size": "1 kB"}"#), 1);
    assert_eq!(drawn, [flow(5_000_000, 1000), flow(10_000_000, 1000)]);
}

#[test]
fn listed_flows_are_the_same_in_every_run() {
    let listed = flows(r#"{"list": "0 s 10 kB, 5 ms 1 MB,5ms 1byte"}"#);
    let expected = [flow(0, 10_000), flow(5_000_000, 1_000_000), flow(5_000_000, 1)];
    assert_eq!((draw(&listed, 1), listed.count()), (expected.to_vec(), Some(3)));
    let text = "# made by hand\nsize, start (ms)\n10 kB,0\n1 MB,5\n1 byte,5\n";
    let of_file = transfer(r#"{"file": "flows.csv"}"#, text).unwrap();
    assert_eq!(of_file.flows(), Some(&listed));
    let packets = "start (us),size (1460 bytes)\n0,2\n1.5,10";
    let of_packets = transfer(r#"{"file": "flows.csv"}"#, packets).unwrap();
    assert_eq!(draw(of_packets.flows().unwrap(), 1), [flow(0, 2920), flow(1500, 14_600)]);
}

#[test]
fn sizes_of_a_file_are_drawn() {
    let json = r#"{"count": 1000, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#;
    for text in ["size (kB),probability\n1,0\n2,1\n", "probability (%),size\n0,1 kB\n50,1.5 kB\n100,2 kB"] {
        let transfer = transfer(json, text).unwrap();
        let drawn = draw(transfer.flows().unwrap(), 1);
        assert!(drawn.iter().all(|flow| (1000..=2000).contains(&flow.size)));
    }
}

#[test]
fn a_byte_order_mark_is_no_part_of_a_file() {
    let list = r#"{"file": "flows.csv"}"#;
    let sizes = r#"{"count": 9, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#;
    for (json, text) in [
        (list, "start (ms),size (kB)\n0,10\n5,20\n"),
        (list, "# made by hand\nstart,size\n0 s,1 kB\n"),
        (sizes, "size (kB),probability\n1,0\n2,1\n"),
    ] {
        let (plain, marked) = (transfer(json, text), transfer(json, &format!("\u{feff}{text}")));
        assert_eq!(plain.unwrap().flows(), marked.unwrap().flows(), "{text:?}");
    }
}

#[test]
fn files_are_named_for_whoever_reads_them() {
    let json = r#"{"count": 2, "every": "1 ms", "size": {"cdf": {"file": "sizes.csv", "sha256": "00ff"}}}"#;
    let whole = spec(json).unwrap();
    let named: Vec<&TableFile> = whole.flows.iter().flat_map(|flows| flows.files()).collect();
    assert_eq!(named, [&TableFile { file: "sizes.csv".into(), sha256: Some("00ff".into()) }]);
    assert_eq!(
        whole.resolve().unwrap_err().to_string(),
        "`flows.size.cdf`: sizes.csv: files are not read here"
    );
    let of_file = spec(r#"{"file": "flows.csv"}"#).unwrap();
    assert_eq!(of_file.flows.unwrap().files().collect::<Vec<_>>(), [&TableFile::from("flows.csv")]);
    assert_eq!(spec(POISSON).unwrap().flows.unwrap().files().count(), 0);
}

#[test]
fn a_transfer_of_flows_has_no_copies() {
    let transfer = transfer(POISSON, "").unwrap();
    assert_eq!((transfer.connections(), transfer.total()), (0, None));
    assert_eq!(transfer.flows().unwrap().count(), Some(4));
}

#[test]
fn what_makes_no_sense_is_refused_by_key() {
    let every = r#""every": "5 ms""#;
    let size = r#""size": "1 kB""#;
    for (json, said) in [
        ("{}".into(), "one of `flows.count` (such as 1000) and `flows.time` (such as \"60 s\") is missing"),
        (format!("{{{every}, {size}}}"), "one of `flows.count`"),
        (
            format!(r#"{{"count": 1, "time": "1 s", {every}, {size}}}"#),
            "`flows.count` and `flows.time` exclude",
        ),
        (format!(r#"{{"count": 0, {every}, {size}}}"#), "`flows.count` must be at least 1"),
        (
            format!(r#"{{"count": 1000001, {every}, {size}}}"#),
            "`flows.count` makes 1000001 flows: at most 1000000",
        ),
        (format!(r#"{{"time": "0 s", {every}, {size}}}"#), "`flows.time` must be above 0 s"),
        (
            format!(r#"{{"time": "2 h", {every}, {size}}}"#),
            "`flows.time` makes 1440000 flows: at most 1000000",
        ),
        (format!(r#"{{"count": 1, {size}}}"#), "one of `flows.every`"),
        (format!(r#"{{"count": 1, {every}}}"#), "`flows.size` is missing"),
        (r#"{"count": 1, "load": 1, "of": "1 Mbit/s"}"#.into(), "`flows.size` is missing"),
        (format!(r#"{{"count": 1, "every": "0 s", {size}}}"#), "`flows.every` must be above 0 s"),
        (format!(r#"{{"count": 1, "every": "exponential 0 s", {size}}}"#), "`flows.every` must be above 0 s"),
        (
            format!(r#"{{"count": 1, {every}, "load": 1, "of": "1 Mbit/s", {size}}}"#),
            "`flows.every` and `flows.load` exclude",
        ),
        (format!(r#"{{"count": 1, "load": 0.5, {size}}}"#), "`flows.load` needs `flows.of`"),
        (format!(r#"{{"count": 1, "of": "1 Mbit/s", {size}}}"#), "`flows.of` is the rate that `flows.load`"),
        (format!(r#"{{"count": 1, {every}, "of": "1 Mbit/s", {size}}}"#), "`flows.of` is the rate"),
        (format!(r#"{{"count": 1, "load": 0, "of": "1 Mbit/s", {size}}}"#), "`flows.load` is 0: it must be"),
        (format!(r#"{{"count": 1, "load": -0.5, "of": "1 Mbit/s", {size}}}"#), "`flows.load` is -0.5: it"),
        (
            r#"{"count": 1, "load": 1, "of": "1 Mbit/s", "size": "pareto 60 bytes 1"}"#.into(),
            "`flows.load` needs sizes with a finite mean",
        ),
        (format!(r#"{{"count": 1, {every}, "size": "0 bytes"}}"#), "`flows.size` must be at least 1 byte"),
        (format!(r#"{{"count": 1, {every}, "size": "2 TiB"}}"#), "2 TiB"),
        (
            format!(r#"{{"count": 1, {every}, "size": "2000 GiB"}}"#),
            "`flows.size` is 2000 GiB: at most 1024 GiB",
        ),
        (r#"{"list": "0 s 1 kB", "file": "flows.csv"}"#.into(), "`flows.list` and `flows.file` exclude"),
        (format!(r#"{{"list": "0 s 1 kB", {size}}}"#), "`flows.list` and `flows.size` exclude"),
        (r#"{"file": "flows.csv", "count": 2}"#.into(), "`flows.file` and `flows.count` exclude"),
        (r#"{"cuont": 2}"#.into(), "unknown field `cuont`"),
        (r#"{"list": ""}"#.into(), "a flow is missing"),
        (r#"{"list": "0 s 1 kB,"}"#.into(), "a flow is missing before or after a comma"),
        (
            r#"{"list": "0 s"}"#.into(),
            "\"0 s\" is not a flow: write its start and its size, such as \"5 ms 10 kB\"",
        ),
        (r#"{"list": "1 kB 0 s"}"#.into(), "is not a flow"),
        (
            r#"{"list": "5 ms 1 kB, 4 ms 1 kB"}"#.into(),
            "4 ms, behind 5 ms before it: starts must not go back",
        ),
        (r#"{"list": "0 s 0 bytes"}"#.into(), "write at least 1 byte"),
        (
            r#"{"list": "0 s 2000 GiB"}"#.into(),
            "2000 GiB is more than a flow carries: write at most 1024 GiB",
        ),
    ] {
        let error = error(&json, "");
        assert!(error.contains(said), "{json}: {error}");
    }
    let mut nan = spec(&format!(r#"{{"count": 1, "load": 1, "of": "1 Mbit/s", {size}}}"#)).unwrap();
    nan.flows.as_mut().unwrap().load = Some(f64::NAN);
    assert!(nan.resolve().unwrap_err().to_string().contains("`flows.load` is NaN"));
}

#[test]
fn keys_of_copies_do_not_fit_flows() {
    for (key, value) in [("connections", "2"), ("stagger", r#""1 s""#)] {
        let json = format!(
            r#"{{"from": "server", "to": "client", "{key}": {value}, "flows": {{"list": "0 s 1 kB"}}}}"#
        );
        let error = serde_json::from_str::<TransferSpec>(&json).unwrap().resolve().unwrap_err();
        let said = format!("`{key}` does not fit `flows`: each flow is a connection of its own");
        assert_eq!(error.to_string(), said);
    }
}

#[test]
fn an_unknown_distribution_is_told_the_nearest() {
    for (text, said) in [
        (
            "web-serach",
            "unknown distribution `web-serach`: did you mean `web-search`?; known here: web-search, ",
        ),
        ("websearch", "did you mean `web-search`?"),
        ("exponental 5 kB", "did you mean `exponential`?"),
        ("qqq", "unknown distribution `qqq`; known here: web-search, data-mining, uniform, "),
        ("100", "is not a distribution; allowed: "),
        ("pareto 60 bytes", "is not a distribution; allowed: "),
    ] {
        let error = error(&format!(r#"{{"count": 1, "every": "1 ms", "size": "{text}"}}"#), "");
        assert!(error.contains(said), "{text}: {error}");
    }
    let error = error(r#"{"count": 1, "every": "1 ms", "size": 100}"#, "");
    assert!(error.contains("\"web-search\" or { cdf = \"sizes.csv\" }"), "{error}");
}

#[test]
fn a_wrong_table_of_flows_is_refused_by_its_line() {
    for (text, said) in [
        ("", "has no header: write a header such as start (ms),size (kB) and rows below it"),
        ("# nothing\n", "has no header"),
        ("start (ms),size (kB)\n", "has a header and no row"),
        ("start (ms),sise (kB)\n0,1", "line 1: unknown column \"sise (kB)\": write start and size, with"),
        ("start (ms)\n0", "line 1: no column is the size: write one, such as size (kB)"),
        ("start,start,size\n", "line 1: the column start appears twice"),
        (
            "start (m),size (kB)\n",
            "line 1: the column start has the unknown unit \"m\": write one of ns, us, ms",
        ),
        (
            "start (ms),size (packets)\n",
            "write one of bytes, kB, MB, GB, KiB, MiB, GiB, or of a packet, such as 1460 bytes",
        ),
        ("start (ms),size (0 bytes)\n", "unknown unit \"0 bytes\""),
        ("start (ms),size (kB)\r\n0,1\r\n", "line 1: ends with CR LF"),
        ("start (ms),size (kB)\n0,1\r\n", "line 2: ends with CR LF"),
        ("start (ms),size (kB)\n0\n", "line 2: has 1 cells, not 2: write a cell for each column"),
        ("start (ms),size (kB)\n0,1,2\n", "line 2: has 3 cells, not 2"),
        ("start (ms),size (kB)\n0,\n", "line 2: has no size: write one, or remove the line"),
        ("start (ms),size (kB)\n0,1 kB\n", "line 2: size: \"1 kB kB\" is not an amount of data"),
        (
            "start,size\n0 s,1 kB\n1,1 kB\n",
            "line 3: start: \"1\" is not a duration: write a number and one of",
        ),
        ("start (ms),size (kB)\n5,1\n4,1\n", "line 3: 4 ms, behind 5 ms before it: starts must not go back"),
        ("start (ms),size (kB)\n5,0\n", "line 2: a flow of no bytes does nothing"),
        ("start (ms),size (1460 bytes)\n5,1.5\n", "line 2: size: \"1.5\" is not a number of packets"),
    ] {
        let error = error(r#"{"file": "flows.csv"}"#, text);
        assert!(error.starts_with("`flows.file`: flows.csv: ") && error.contains(said), "{text:?}: {error}");
    }
    let many = "start (s),size (kB)\n".to_owned() + &"0,1\n".repeat(1_000_001);
    let error = error(r#"{"file": "flows.csv"}"#, &many);
    assert!(error.contains("line 1000002: one more than 1000000 flows"), "{error}");
}

#[test]
fn a_wrong_table_of_sizes_is_refused_by_its_line() {
    for (text, said) in [
        ("size (kB),probability\n1,0\n2,0.97\n", "the last probability is 0.97: write 1 there"),
        (
            "size (kB),probability\n1,0\n2,100\n",
            "line 3: probability: \"100\" is not a probability: write a number from 0 to 1",
        ),
        ("size (kB),probability\n1,0.5\n2,0.4\n", "line 3: probability: 0.4, after 0.5 in the row before"),
        (
            "size (kB),probability\n2,0.5\n1,1\n",
            "line 3: size: 1 kB, after 2 kB in the row before: sizes must not go",
        ),
        ("size (kB),probability\n0,0.5\n0,1\n", "every size is 0: write one of at least 1 byte"),
        ("size (GiB),probability\n1025,1\n", "line 2: size: 1025 GiB is more than a flow carries"),
        ("size (kB),cdf\n1,1\n", "line 1: unknown column \"cdf\": write size and probability"),
        (
            "size (kB),probability (ms)\n1,1\n",
            "line 1: the column probability has the unknown unit \"ms\": write one of %",
        ),
        ("size,probability\n1,1\n", "line 2: size: \"1\" is not an amount of data"),
    ] {
        let error = error(r#"{"count": 1, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#, text);
        assert!(
            error.starts_with("`flows.size.cdf`: sizes.csv: ") && error.contains(said),
            "{text:?}: {error}"
        );
    }
}

#[test]
fn more_flows_than_are_allowed_are_refused_where_they_are_drawn() {
    // A million on average, so about every other run draws more.
    let flows = flows(r#"{"time": "1000 s", "every": "exponential 1 ms", "size": "1 kB"}"#);
    let drawn = (1..=4).map(|seed| flows.draw(&mut Xoshiro256PlusPlus::seed_from_u64(seed)));
    let (drawn, failed): (Vec<_>, Vec<_>) = drawn.partition(Result::is_ok);
    assert!(!drawn.is_empty() && !failed.is_empty());
    let error = failed[0].as_ref().unwrap_err().to_string();
    assert!(error.contains("`flows.every` drew more than 1000000 flows within `flows.time`"), "{error}");
}

#[test]
fn flows_survive_their_text() {
    for json in [
        POISSON,
        r#"{"time": "60 s", "load": 0.6, "of": "50 Mbit/s", "size": "pareto 60 bytes 1.5"}"#,
        r#"{"list": "0 s 10 kB, 5 ms 1 MB"}"#,
        r#"{"file": "flows.csv"}"#,
        r#"{"file": {"file": "/a/flows.csv", "sha256": "00"}}"#,
        r#"{"count": 1, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#,
    ] {
        let spec = spec(json).unwrap();
        let text = serde_json::to_string(&spec).unwrap();
        assert_eq!(serde_json::from_str::<TransferSpec>(&text).unwrap(), spec, "{text}");
        assert!(serde_json::to_string(&spec.with_defaults()).unwrap().contains("write_size"));
    }
}

proptest! {
    #[test]
    fn lists_survive_their_text(mut given in prop::collection::vec((any::<u64>(), 1_u64..1 << 40), 1..20)) {
        given.sort_unstable();
        let text: Vec<String> = given.iter().map(|(start, size)| format!("{start} ns {size} bytes")).collect();
        let list: FlowList = text.join(", ").parse().unwrap();
        prop_assert_eq!(list.to_string().parse::<FlowList>().unwrap(), list.clone());
        let expected: Vec<Flow> = given.iter().map(|(start, size)| flow(*start, *size)).collect();
        prop_assert_eq!(&list.flows()[..], &expected[..]);
        let rows: Vec<String> = given.iter().map(|(start, size)| format!("{start},{size}")).collect();
        let table = format!("start (ns),size (bytes)\n{}", rows.join("\n"));
        let of_file = transfer(r#"{"file": "flows.csv"}"#, &table).unwrap();
        prop_assert_eq!(draw(of_file.flows().unwrap(), 1), expected);
    }

    #[test]
    fn sizes_lie_within_their_points(
        mut points in prop::collection::vec((1_u64..1 << 40, 0_u64..1000), 1..20),
        seed in any::<u64>(),
    ) {
        points.sort_unstable_by_key(|point| point.0);
        let (sizes, mut shares): (Vec<u64>, Vec<u64>) = points.into_iter().unzip();
        shares.sort_unstable();
        *shares.last_mut().unwrap() = 1000;
        let rows: Vec<String> = sizes.iter().zip(&shares).map(|(n, share)| format!("{n},{share}e-3")).collect();
        let table = format!("size (bytes),probability\n{}", rows.join("\n"));
        let of_file = transfer(r#"{"count": 50, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#, &table).unwrap();
        for flow in draw(of_file.flows().unwrap(), seed) {
            prop_assert!((sizes[0]..=sizes[sizes.len() - 1]).contains(&flow.size));
        }
    }

    #[test]
    fn no_text_panics(text in "\\PC*", table in "(start|size|probability| \\(kB\\)|,|\n|[0-9.]|\\PC)*") {
        let _ = text.parse::<FlowList>();
        let _ = text.parse::<FlowSizes>();
        let _ = transfer(r#"{"file": "flows.csv"}"#, &table);
        let _ = transfer(r#"{"count": 1, "every": "1 ms", "size": {"cdf": "sizes.csv"}}"#, &table);
    }
}
