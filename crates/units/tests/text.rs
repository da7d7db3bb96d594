//! Reading and printing quantities.

use std::fmt::Debug;
use std::str::FromStr;

use proptest::prelude::*;
use rexmit_units::{Bytes, Duration, LineRate, Probability, QueueLimit, QueueSize, Rate, UnitError};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn error<T: FromStr<Err = UnitError> + Debug>(text: &str) -> String {
    text.parse::<T>().unwrap_err().to_string()
}

/// Text, JSON and the value are the same thing.
fn assert_round_trip<T>(value: T)
where
    T: FromStr<Err = UnitError> + ToString + Serialize + DeserializeOwned + PartialEq + Debug,
{
    let text = value.to_string();
    assert_eq!(text.parse::<T>().unwrap(), value, "{text}");
    let json = serde_json::to_string(&value).unwrap();
    assert_eq!(json, format!("{text:?}"));
    assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
}

#[test]
fn durations_are_read_exactly() {
    for (text, ns) in [
        ("5 ms", 5_000_000),
        ("5ms", 5_000_000),
        ("  5   ms ", 5_000_000),
        ("1.5 s", 1_500_000_000),
        ("250 us", 250_000),
        ("250 µs", 250_000),
        ("10 ns", 10),
        ("2 min", 120_000_000_000),
        ("1 h", 3_600_000_000_000),
        ("0.1 s", 100_000_000),
        ("1e3 us", 1_000_000),
        ("2.50e-3 s", 2_500_000),
        ("0.000000001 s", 1),
        ("0 s", 0),
        // As many digits as are kept: 25.
        ("1234567890.000000000000000000 s", 1_234_567_890_000_000_000),
        ("0.0000000000000000000000000000001e31 s", 1_000_000_000),
        ("18446744073709551615 ns", u64::MAX),
    ] {
        assert_eq!(text.parse::<Duration>().unwrap().as_nanos(), ns, "{text}");
    }
}

#[test]
fn rates_and_amounts_are_read_exactly() {
    for (text, bps) in [
        ("40 kbit/s", 40_000),
        ("40kbit/s", 40_000),
        ("1.5 Mbit/s", 1_500_000),
        ("10Mbit/s", 10_000_000),
        ("1 Gbit/s", 1_000_000_000),
        ("9600 bit/s", 9_600),
    ] {
        assert_eq!(text.parse::<Rate>().unwrap().bits_per_second(), bps, "{text}");
    }
    for (text, n) in [
        ("64 KiB", 65_536),
        ("25 kB", 25_000),
        ("2500 bytes", 2_500),
        ("1 byte", 1),
        ("1 MB", 1_000_000),
        ("1.5 KiB", 1_536),
        ("3 B", 3),
        ("2 MiB", 2 << 20),
        ("2 GiB", 2 << 30),
    ] {
        assert_eq!(text.parse::<Bytes>().unwrap(), Bytes(n), "{text}");
    }
    assert_eq!("99 packets".parse(), Ok(QueueLimit::Packets(99)));
    assert_eq!("1 packet".parse(), Ok(QueueLimit::Packets(1)));
    for (text, n) in [
        ("64000 bytes", 64_000),
        ("1 byte", 1),
        ("3 B", 3),
        ("2 kB", 2_000),
        ("2 MB", 2_000_000),
        ("2 GB", 2_000_000_000),
        ("64 KiB", 65_536),
        ("2 MiB", 2 << 20),
        ("2 GiB", 2 << 30),
    ] {
        assert_eq!(text.parse(), Ok(QueueLimit::Bytes(n)), "{text}");
    }
}

/// A line may have none; a queue may be told in time, which is bytes once there is a rate.
#[test]
fn lines_and_queues_are_read_exactly() {
    for text in ["0 bit/s", "0kbit/s", "0.0 Gbit/s"] {
        assert_eq!(text.parse(), Ok(LineRate::Outage), "{text}");
        assert!(text.parse::<Rate>().is_err(), "{text}");
    }
    assert_eq!(LineRate::Outage.to_string(), "0 bit/s");
    let rate: Rate = "10 Mbit/s".parse().unwrap();
    assert_eq!("10 Mbit/s".parse(), Ok(LineRate::Rate(rate)));
    for (text, limit, shown) in [
        ("99 packets", QueueLimit::Packets(99), "99 packets"),
        ("1 packet", QueueLimit::Packets(1), "1 packet"),
        ("2500 bytes", QueueLimit::Bytes(2_500), "2500 bytes"),
        ("10 ms", QueueLimit::Bytes(12_500), "10 ms"),
        ("0.5 s", QueueLimit::Bytes(625_000), "500 ms"),
        ("1 min", QueueLimit::Bytes(75_000_000), "60 s"),
        // 1.25 bytes.
        ("1us", QueueLimit::Bytes(1), "1 us"),
    ] {
        let size: QueueSize = text.parse().unwrap();
        assert_eq!((size.limit(Some(rate)), size.to_string().as_str()), (Some(limit), shown), "{text}");
        assert_eq!(size.limit(None).is_some(), matches!(size, QueueSize::Limit(_)), "{text}");
    }
    let wrong = |text: &str| text.parse::<QueueSize>().unwrap_err().to_string();
    assert!(wrong("10").contains("packets, bytes, kB"), "{}", wrong("10"));
    assert!(wrong("10").contains("ms, s"), "{}", wrong("10"));
    assert!(wrong("10 kb").contains("write kB for 1000 bytes"), "{}", wrong("10 kb"));
    assert!(wrong("1.5 packets").contains("not a whole number of packets"), "{}", wrong("1.5 packets"));
}

#[test]
fn probabilities_are_read_exactly() {
    for (text, n) in [
        ("5 %", 50_000_000_000),
        ("5%", 50_000_000_000),
        ("0.01", 10_000_000_000),
        ("1e-5", 10_000_000),
        ("100 %", 1_000_000_000_000),
        ("1", 1_000_000_000_000),
        ("0", 0),
        ("1e-12", 1),
    ] {
        assert_eq!(text.parse::<Probability>().unwrap().trillionths(), n, "{text}");
    }
    #[derive(serde::Deserialize)]
    struct Doc {
        p: Vec<Probability>,
    }
    let doc: Doc = toml::from_str(r#"p = [0.01, 1, 0, 1e-5, "5 %"]"#).unwrap();
    assert_eq!(
        serde_json::from_str::<Vec<Probability>>("[1, 0]").unwrap(),
        [Probability::ONE, Probability::ZERO]
    );
    let list = serde_json::from_str::<Probability>("[]").unwrap_err().to_string();
    assert!(list.contains("expected a probability such as \"0.01\""), "{list}");
    let n: Vec<u64> = doc.p.iter().map(|p| p.trillionths()).collect();
    assert_eq!(n, [10_000_000_000, 1_000_000_000_000, 0, 10_000_000, 50_000_000_000]);
}

#[test]
fn wrong_text_is_refused_in_one_line_that_says_what_is_allowed() {
    let units = "write a number and one of bit/s, kbit/s, Mbit/s, Gbit/s";
    for text in
        ["40 kb", "40", "fast", "", "-40 kbit/s", "40 kbit/s extra", ".5 kbit/s", "5. kbit/s", "1e bit/s"]
    {
        assert_eq!(error::<Rate>(text), format!("{text:?} is not a rate: {units}"));
    }
    // 25 significant digits are kept: this is one byte exactly, in 21; the next has 26.
    assert_eq!("0.000000000931322574615478515625 GiB".parse(), Ok(Bytes(1)));
    assert!(error::<Bytes>("1.0000000000000000000000001 GiB").contains("is not an amount of data"));
    let digits_25 = "1000000001.000030517578125 GiB".parse();
    assert_eq!(digits_25, Ok(Bytes((1_000_000_001 << 30) + (1 << 15))));
    assert_eq!(error::<Rate>("40 kbps"), r#""40 kbps" is not a rate: write kbit/s"#);
    assert_eq!(error::<Rate>("40 Kbit/s"), r#""40 Kbit/s" is not a rate: write kbit/s"#);
    assert_eq!(error::<Rate>("0 bit/s"), r#""0 bit/s" is not a rate: a rate is at least 1 bit/s"#);
    assert_eq!(error::<Rate>("0.5 bit/s"), r#""0.5 bit/s" is not a rate: it is not a whole number of bit/s"#);
    assert_eq!(
        error::<Duration>("5"),
        r#""5" is not a duration: write a number and one of ns, us, ms, s, min, h"#
    );
    assert_eq!(
        error::<Duration>("0.3 ns"),
        r#""0.3 ns" is not a duration: it is not a whole number of nanoseconds"#
    );
    assert_eq!(
        error::<Duration>("1e30 s"),
        r#""1e30 s" is not a duration: the most is 18446744073709551615 nanoseconds"#
    );
    assert_eq!(
        error::<Bytes>("64 KB"),
        r#""64 KB" is not an amount of data: write kB for 1000 bytes or KiB for 1024"#
    );
    assert_eq!(
        error::<QueueLimit>("99"),
        r#""99" is not a queue limit: write a number and one of packets, bytes, kB, MB, GB, KiB, MiB, GiB"#
    );
    assert_eq!(
        error::<QueueLimit>("1.5 packets"),
        r#""1.5 packets" is not a queue limit: it is not a whole number of packets"#
    );
    assert_eq!(
        error::<QueueLimit>("1.5 bytes"),
        r#""1.5 bytes" is not a queue limit: it is not a whole number of bytes"#
    );
    for text in ["1.5", "101 %", "-0.1", "often", "1e40"] {
        assert_eq!(
            error::<Probability>(text),
            format!("{text:?} is not a probability: write a number from 0 to 1, or 0 % to 100 %")
        );
    }
    assert_eq!(
        error::<Probability>("1e-13"),
        r#""1e-13" is not a probability: it is not a whole number of steps of 1e-12"#
    );
    // However long and odd the text, one line.
    let long = error::<Rate>(&"x\n".repeat(500));
    assert!(!long.contains('\n') && long.len() < 250, "{long}");
}

#[test]
fn a_number_without_quotes_is_refused_with_the_units() {
    assert_eq!(
        serde_json::from_value::<Rate>(40.into()).unwrap_err().to_string(),
        "40 is not a rate: write a number and one of bit/s, kbit/s, Mbit/s, Gbit/s, in quotes, \
         such as \"40 kbit/s\""
    );
    assert!(
        serde_json::from_str::<Duration>("5.5").unwrap_err().to_string().starts_with("5.5 is not a duration")
    );
    let wrong = serde_json::from_str::<Bytes>("true").unwrap_err().to_string();
    assert!(wrong.contains("expected an amount of data such as \"64 KiB\""), "{wrong}");
}

#[test]
fn the_canonical_text_is_the_one_people_write() {
    for text in ["5 ms", "1.5 s", "250 us", "10 ns", "120 s", "0 s", "1.000000001 s"] {
        assert_eq!(text.parse::<Duration>().unwrap().to_string(), text);
    }
    for text in ["40 kbit/s", "1.5 Mbit/s", "1 Gbit/s", "9.6 kbit/s", "1 bit/s"] {
        assert_eq!(text.parse::<Rate>().unwrap().to_string(), text);
    }
    for text in ["64 KiB", "25 kB", "1448 bytes", "1 byte", "0 bytes", "1 MB", "1 GiB"] {
        assert_eq!(text.parse::<Bytes>().unwrap().to_string(), text);
    }
    for text in ["99 packets", "1 packet", "64 KiB", "0 packets"] {
        assert_eq!(text.parse::<QueueLimit>().unwrap().to_string(), text);
    }
    for text in ["0.05", "1", "0", "0.000000000001"] {
        assert_eq!(text.parse::<Probability>().unwrap().to_string(), text);
    }
}

#[test]
fn the_schema_gives_a_pattern_and_an_example() {
    let schema = serde_json::to_value(schemars::schema_for!(Rate)).unwrap();
    assert_eq!(schema["type"], "string");
    assert_eq!(schema["examples"][0], "40 kbit/s");
    assert!(schema["pattern"].as_str().unwrap().contains("bit/s"));
    assert_eq!(schema["title"], "Rate");
    let schema = serde_json::to_value(schemars::schema_for!(Probability)).unwrap();
    assert_eq!(schema["title"], "Probability");
    assert_eq!(schema["anyOf"][0]["maximum"], 1);
}

proptest! {
    #[test]
    fn every_value_prints_as_text_that_reads_back(n in any::<u64>(), shift in 0_u32..64, zeros in 0_u32..19) {
        // Small, round and large values alike.
        for v in [n >> shift, (n >> shift) / 10_u64.pow(zeros) * 10_u64.pow(zeros), n >> shift << shift] {
            assert_round_trip(Duration::from_nanos(v));
            assert_round_trip(Bytes(v));
            assert_round_trip(QueueLimit::Packets(v));
            assert_round_trip(QueueLimit::Bytes(v));
            assert_round_trip(Probability::from_trillionths(v % 1_000_000_000_001).unwrap());
            if let Some(rate) = Rate::from_bits_per_second(v) {
                assert_round_trip(rate);
            }
        }
    }

    #[test]
    fn a_decimal_is_exact_or_refused(whole in 0_u64..1_000_000, fraction in "[0-9]{0,12}") {
        let dot = if fraction.is_empty() { "" } else { "." };
        let text = format!("{whole}{dot}{fraction} ms");
        // The same value by other means: an integer of 10^-12 ms, then divided.
        let parts = u128::from(whole) * 10_u128.pow(12)
            + format!("{fraction:0<12}").parse::<u128>().unwrap();
        let exact = parts.is_multiple_of(1_000_000);
        match text.parse::<Duration>() {
            Ok(d) => {
                prop_assert!(exact);
                prop_assert_eq!(u128::from(d.as_nanos()), parts / 10_u128.pow(6));
            }
            Err(_) => prop_assert!(!exact),
        }
    }
}
