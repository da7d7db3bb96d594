//! Transfers as people write them: what is read, what is refused, and in which words.

use std::str::FromStr;

use proptest::prelude::*;
use rexmit_network::two_hosts::{CLIENT, Side};
use rexmit_traffic::{Bulk, BurstsSpec, RequestsSpec, TransferError, TransferSpec, WriteRun, Writes};
use rexmit_units::{Bytes, Duration};

fn parse(json: &str) -> Result<TransferSpec, String> {
    serde_json::from_str(json).map_err(|e| e.to_string())
}

fn resolve_error(json: &str) -> String {
    parse(json).unwrap().resolve().unwrap_err().to_string()
}

#[test]
fn the_shortest_transfer_has_defaults() {
    let spec =
        parse(r#"{"from": "server", "to": "client", "writes": "5000 bytes, 8 x 2500 bytes"}"#).unwrap();
    assert_eq!(spec, TransferSpec::writes(Side::Server, "5000 bytes, 8 x 2500 bytes".parse().unwrap()));
    let transfer = spec.resolve().unwrap();
    assert_eq!((transfer.opener(0), transfer.connections(), transfer.total()), (CLIENT, 1, Some(25_000)));
}

#[test]
fn everything_can_be_said() {
    let spec = parse(
        r#"{"from": "client", "to": "server", "opened_by": "client", "start": "2 s", "bulk": "10 s",
            "write_size": "1460 bytes", "connections": 1000, "stagger": "10 ms",
            "read": {"size": "50000 bytes", "rate": "1 Mbit/s"}, "close": false}"#,
    )
    .unwrap();
    assert_eq!(spec.bulk, Some(Bulk::Time(Duration::from_secs(10))));
    let transfer = spec.resolve().unwrap();
    assert_eq!((transfer.from(0), transfer.opener(0), transfer.total()), (CLIENT, CLIENT, None));
    assert_eq!(transfer.opened_at(999).as_nanos(), 11_990_000_000);
    let text = serde_json::to_string(&spec).unwrap();
    assert_eq!(parse(&text).unwrap(), spec);
}

#[test]
fn bursts_repeat_the_writes() {
    let spec = parse(
        r#"{"from": "server", "to": "client", "writes": "4 x 100 bytes", "pause": "10 ms",
            "bursts": {"count": 100, "every": "1 s"}}"#,
    )
    .unwrap();
    assert_eq!(spec.bursts, Some(BurstsSpec { count: 100, every: Duration::from_secs(1) }));
    assert_eq!(spec.resolve().unwrap().total(), Some(40_000));
}

#[test]
fn requests_are_answered_by_from_and_asked_by_to() {
    let spec = parse(
        r#"{"from": "server", "to": "client", "requests":
            {"count": 10, "request": "200 bytes", "response": "10 kB", "think": "5 ms", "pause": "1 s"}}"#,
    )
    .unwrap();
    let transfer = spec.resolve().unwrap();
    assert_eq!((transfer.opener(0), transfer.total()), (CLIENT, Some(102_000)));
    let short = parse(
        r#"{"from": "server", "to": "client", "requests": {"request": "1 byte, 2 bytes", "response": "1 kB"}}"#,
    )
    .unwrap();
    let expected = RequestsSpec {
        count: 1,
        request: "1 byte, 2 bytes".parse().unwrap(),
        response: "1 kB".parse().unwrap(),
        think: Duration::ZERO,
        pause: Duration::ZERO,
    };
    assert_eq!(short, TransferSpec::requests(Side::Server, expected));
}

#[test]
fn defaults_written_out_mean_the_same() {
    for (json, key) in [
        (r#"{"from": "server", "to": "client", "bulk": "10 MB"}"#, "64 KiB"),
        (r#"{"from": "server", "to": "client", "writes": "10 kB"}"#, r#""opened_by":"client""#),
    ] {
        let spec = parse(json).unwrap();
        let whole = spec.clone().with_defaults();
        assert_eq!(whole.resolve(), spec.resolve());
        assert!(serde_json::to_string(&whole).unwrap().contains(key));
    }
}

#[test]
fn lists_of_writes_are_read_exactly() {
    let writes: Writes = " 5000 bytes,8x2500 bytes , 2 x 1.5 kB".parse().unwrap();
    let runs = [(1, 5000), (8, 2500), (2, 1500)].map(|(count, size)| WriteRun { count, size });
    assert_eq!(writes.runs(), runs);
    for (text, said) in [
        ("", "a write is missing"),
        ("5000 bytes,", "a write is missing"),
        ("0 x 5 bytes", "\"0\" is not a number of writes"),
        ("-1 x 5 bytes", "\"-1\" is not a number of writes"),
        ("+2 x 5 bytes", "\"+2\" is not a number of writes"),
        ("x 5 bytes", "\"\" is not a number of writes"),
        ("2.5 x 5 bytes", "\"2.5\" is not a number of writes"),
        ("3 x 0 bytes", "at least 1 byte"),
        ("3 x 0.5 bytes", "0.5"),
        ("5000", "5000"),
        ("5000 packets", "5000 packets"),
        ("18446744073709551615 x 2 bytes", "2^64 - 1"),
        ("18446744073709551615 bytes, 1 byte", "2^64 - 1"),
    ] {
        let error = text.parse::<Writes>().unwrap_err().to_string();
        assert!(error.contains(said) && !error.contains('\n'), "{text:?}: {error}");
    }
}

#[test]
fn bulk_is_a_time_or_an_amount() {
    assert_eq!("10 s".parse(), Ok(Bulk::Time(Duration::from_secs(10))));
    assert_eq!("10 MB".parse(), Ok(Bulk::Bytes(Bytes(10_000_000))));
    for (text, said) in [("10", "neither a time nor an amount"), ("0 s", "nothing"), ("0 bytes", "nothing")] {
        let error = text.parse::<Bulk>().unwrap_err().to_string();
        assert!(error.contains(said), "{text:?}: {error}");
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_key() {
    let base = r#"{"from": "server", "to": "client", "#;
    for (rest, key) in [
        (r#""close": true}"#, "`writes`"),
        (r#""writes": "1 kB", "bulk": "1 s"}"#, "`bulk`"),
        (r#""writes": "1 kB", "write_size": "5 bytes"}"#, "`write_size`"),
        (r#""bulk": "1 s", "write_size": "0 bytes"}"#, "`write_size`"),
        (r#""bulk": "1 s", "read": {"size": "0 bytes"}}"#, "`read.size`"),
        (r#""bulk": "1 s", "read": {"rate": "1 kbit/s"}}"#, "`read.size`"),
        (r#""bulk": "1 s", "connections": 0}"#, "`connections`"),
        (r#""writes": "1 kB", "bursts": {"count": 0, "every": "1 s"}}"#, "`bursts.count`"),
        (r#""writes": "1 kB", "bursts": {"count": 2, "every": "0 s"}}"#, "`bursts.every` must be above 0 s"),
        (
            r#""writes": "4 x 1 kB", "pause": "10 ms", "bursts": {"count": 2, "every": "30 ms"}}"#,
            "`bursts.every` must be above 30 ms",
        ),
        (
            r#""writes": "1 kB", "bursts": {"count": 18446744073709551615, "every": "1 s"}}"#,
            "`bursts` make more",
        ),
        (r#""bulk": "1 s", "bursts": {"count": 2, "every": "1 s"}}"#, "`bulk`"),
        (r#""bursts": {"count": 2, "every": "1 s"}}"#, "`writes`"),
        (r#""bulk": "1 s", "requests": {"request": "1 kB", "response": "1 kB"}}"#, "`requests`"),
        (r#""requests": {"count": 0, "request": "1 kB", "response": "1 kB"}}"#, "`requests.count`"),
        (r#""pause": "1 s", "requests": {"request": "1 kB", "response": "1 kB"}}"#, "`requests.pause`"),
        (r#""write_size": "9 bytes", "requests": {"request": "1 kB", "response": "1 kB"}}"#, "`requests`"),
        (
            r#""requests": {"count": 18446744073709551615, "request": "1 byte", "response": "1 kB"}}"#,
            "`requests` make more",
        ),
    ] {
        let error = resolve_error(&format!("{base}{rest}"));
        assert!(error.contains(key) && !error.contains('\n'), "{rest}: {error}");
    }
    let same = parse(r#"{"from": "server", "to": "server", "bulk": "1 s"}"#).unwrap();
    assert_eq!(same.resolve(), Err(TransferError::SameHost("server".to_owned())));
    assert!(same.resolve().unwrap_err().to_string().contains("allowed: two hosts"));
}

#[test]
fn unknown_keys_and_wrong_units_are_refused() {
    let base = r#"{"from": "server", "to": "client", "bulk": "1 s", "#;
    for (rest, said) in [
        (r#""conections": 2}"#, "conections"),
        (r#""read": {"sise": "1 kB"}}"#, "sise"),
        (r#""bursts": {"cuont": 2}}"#, "cuont"),
        (r#""bursts": {"count": 2}}"#, "every"),
        (r#""requests": {"thinks": "1 s"}}"#, "thinks"),
        (r#""requests": {"request": "1 kB"}}"#, "response"),
        (r#""requests": {"request": "1 kB", "response": "5 s"}}"#, "5 s"),
        (r#""start": "5 kB"}"#, "5 kB"),
        (r#""start": 5}"#, "5"),
    ] {
        let error = parse(&format!("{base}{rest}")).unwrap_err();
        assert!(error.contains(said), "{rest}: {error}");
    }
    let error = resolve_error(&format!(r#"{base}"opened_by": "peer"}}"#));
    assert!(error.contains("`opened_by`: \"peer\" is neither end"), "{error}");
}

proptest! {
    #[test]
    fn lists_of_writes_survive_their_text(runs in prop::collection::vec((1_u64..1000, 1_u64..1 << 40), 1..10)) {
        let text: Vec<String> = runs.iter().map(|(n, m)| format!("{n} x {m} bytes")).collect();
        let writes: Writes = text.join(", ").parse().unwrap();
        prop_assert_eq!(writes.to_string().parse::<Writes>().unwrap(), writes.clone());
        prop_assert_eq!(writes.total(), runs.iter().map(|(n, m)| n * m).sum::<u64>());
    }

    #[test]
    fn transfers_survive_their_text(
        (count, writes, size, gap) in (1_u64..1 << 40, 1_u64..1000, 1_u64..1000, 0_u64..1 << 40),
        request in any::<bool>(),
    ) {
        let list: Writes = format!("{writes} x {size} bytes").parse().unwrap();
        let pause = Duration::from_nanos(gap);
        let spec = if request {
            let (request, response) = (list, Writes::from_str("1 kB").unwrap());
            TransferSpec::requests(
                Side::Client,
                RequestsSpec { count, request, response, think: Duration::from_nanos(count), pause },
            )
        } else {
            let every = pause * writes + Duration::from_nanos(1);
            let bursts = Some(BurstsSpec { count, every });
            TransferSpec { pause, bursts, ..TransferSpec::writes(Side::Server, list) }
        };
        let text = serde_json::to_string(&spec).unwrap();
        prop_assert_eq!(&parse(&text).unwrap(), &spec);
        prop_assert_eq!(spec.clone().with_defaults().resolve(), spec.resolve());
        prop_assert!(spec.resolve().is_ok());
    }

    #[test]
    fn no_text_panics(text in "\\PC*") {
        let _ = text.parse::<Writes>();
        let _ = text.parse::<Bulk>();
    }
}
