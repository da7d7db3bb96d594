use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// What the kernel is told of a discipline, as words of 32 bits.
fn told(text: &str) -> Vec<u32> {
    let qdisc: Qdisc = text.parse().unwrap();
    let options = qdisc.kernel_options(None).unwrap();
    let word = |four: &[u8]| u32::from_ne_bytes(four.try_into().unwrap());
    options.as_bytes().chunks(4).map(word).collect()
}

/// The header of an attribute with a value of 4 bytes.
fn attribute(number: u16) -> u32 {
    let [a, b] = 8_u16.to_ne_bytes();
    let [c, d] = number.to_ne_bytes();
    u32::from_ne_bytes([a, b, c, d])
}

fn wrong(text: &str) -> String {
    text.parse::<Qdisc>().map_or_else(|e| e, |q| panic!("{q} was read"))
}

#[test]
fn a_name_and_options_are_read_and_anything_else_is_not() {
    let read: Qdisc = "  codel  target 20ms   interval 200ms ".parse().unwrap();
    assert_eq!((read.name(), read.to_string()), ("codel", "codel target 20ms interval 200ms".into()));
    assert_eq!(read.to_string().parse(), Ok(read));
    for text in [
        "",
        "  ",
        "1fq",
        "fq; reboot",
        "fq\nqdisc del dev lo root;",
        "-batch",
        "fq 'x'",
        "fq $HOME",
        "htb",
        "fq_kodel",
    ] {
        let wrong = wrong(text);
        let fits =
            wrong.contains("is not a queueing discipline; allowed: pfifo, ") || wrong.starts_with("fq: ");
        assert!(fits, "{text:?}: {wrong}");
    }
}

#[test]
fn an_option_that_is_not_there_is_told_with_those_that_are() {
    assert_eq!(
        wrong("codel targett 5ms"),
        "codel: \"targett\" is not an option; allowed: limit, target, interval, ecn, noecn, ce_threshold"
    );
    assert_eq!(wrong("pfifo_fast limit 5"), "pfifo_fast: \"limit\" is not an option: it has none");
    assert!(wrong("cake fast").contains("allowed: bandwidth, unlimited, rtt, "));
    assert!(wrong("sfq red").contains("allowed: divisor, limit, "));
    assert!(wrong("pfifo 5").contains("allowed: limit"));
}

#[test]
fn a_value_that_does_not_fit_is_told_with_one_that_does() {
    for (text, said) in [
        (
            "codel target",
            "codel: target \"\" is not a time of whole microseconds from 1 on; write it as \"target 5ms\"",
        ),
        ("codel target 1.0005ms", "\"1.0005ms\" is not a time of whole microseconds"),
        ("codel target 5 minutes", "\"minutes\" is not an option"),
        ("codel limit 0", "\"0\" is not a whole number from 1 on; write it as \"limit 10\""),
        ("codel limit -5", "\"-5\" is not a whole number"),
        ("codel limit 4294967296", "\"4294967296\" is not a whole number"),
        ("codel limit 08", "\"08\" is not a whole number"),
        ("bfifo limit 1.5", "\"1.5\" is not a size of whole bytes"),
        ("bfifo limit 4g", "\"4g\" is not a size"),
        ("pie alpha 33", "\"33\" is not a whole number from 1 to 32"),
        ("fq maxrate 50%", "\"50%\" is not a rate below 34 Gbit/s"),
        ("fq maxrate 35gbit", "\"35gbit\" is not a rate below 34 Gbit/s"),
        ("fq timer_slack 5s", "\"5s\" is not a time of whole nanoseconds below 4.3 s"),
        ("fq_codel ce_threshold_selector 3", "\"3\" is not a value and its mask"),
        ("cake overhead 257", "\"257\" is not a whole number from -64 to 256"),
        ("red limit 60000", "red: it needs limit and avpkt"),
        ("red limit 60000 avpkt 1000 probability 2", "\"2\" is not a probability"),
        ("red limit 60000 avpkt 1000 min 30000 burst 20", "red: burst 20 is too small for min 30000"),
        ("red limit 60000 avpkt 1000 min 9000 max 8000", "min 9000 is more than max 8000"),
        (
            "red limit 60000 avpkt 1000 min 5000 burst 2",
            "burst 2 is too small for min 5000; write at least 6",
        ),
        ("sfq ecn", "sfq: its options of RED need redflowlimit"),
        ("sfq redflowlimit 1000 min 900 max 800", "are not in this order"),
    ] {
        let wrong = text.parse::<Qdisc>().map(|q| q.to_string());
        assert!(wrong.as_ref().is_err_and(|e| e.contains(said)), "{text:?}: {wrong:?}");
    }
}

#[test]
fn options_reach_the_kernel_by_their_numbers_and_the_last_of_two_counts() {
    assert!(told("codel").is_empty());
    assert!(told("pfifo").is_empty());
    assert_eq!(told("pfifo limit 16"), [16]);
    assert_eq!(told("bfifo limit 20k"), [20 << 10]);
    assert_eq!(
        told("codel interval 0.1s target 20ms limit 010 ecn noecn target 5000"),
        [attribute(1), 5_000, attribute(2), 8, attribute(3), 100_000, attribute(4), 0]
    );
    assert_eq!(told("fq buckets 100 maxrate 100kibit"), [attribute(7), 12_800, attribute(8), 7]);
    assert_eq!(told("fq timer_slack 5us maxrate 1.5MBps"), [attribute(7), 1_500_000, attribute(13), 5_000]);
}

#[test]
fn cake_adds_up_what_links_add_and_has_the_bottleneck_before_its_own_words() {
    assert_eq!(told("cake overhead 4 ethernet"), [attribute(6), 42, attribute(14), 84]);
    assert_eq!(told("cake conservative"), [attribute(6), 48, attribute(4), 1]);
    assert_eq!(told("cake lan"), [attribute(7), 1_000, attribute(8), 50]);
    assert_eq!(told("cake rtt 10us"), [attribute(7), 10, attribute(8), 1]);
    assert_eq!(told("cake overhead -4"), [attribute(6), -4_i32 as u32]);
    let cake: Qdisc = "cake ether-vlan".parse().unwrap();
    let rate = Rate::from_bits_per_second(1_000_001);
    let behind: Qdisc = "cake bandwidth 1000001bit overhead 14 ether-vlan".parse().unwrap();
    assert_eq!(cake.kernel_options(rate), behind.kernel_options(None));
    let other: Qdisc = "pie".parse().unwrap();
    assert_eq!(other.kernel_options(rate), other.kernel_options(None));
}

#[test]
fn what_changes_its_hash_has_a_timer_that_waits_for_others() {
    let has = |text: &str| text.parse().map(|qdisc: Qdisc| qdisc.has_deferred_timer());
    assert_eq!((has("sfq perturb 10"), has("sfq")), (Ok(true), Ok(false)));
}

/// `tests/tc.txt` is what `tc` of iproute2 6.1 sends, recorded by `scripts/record_tc.py`.
#[test]
fn the_kernel_is_told_what_tc_tells_it() {
    for line in include_str!("tests/tc.txt").lines() {
        let (theirs, text) = line.split_once(' ').unwrap();
        let qdisc: Qdisc = text.parse().unwrap();
        let ours = qdisc.kernel_options(None).unwrap().as_bytes().to_vec();
        let theirs = bytes(theirs.trim_start_matches('-'));
        let structure = ["fifo", "sfq"].iter().any(|name| qdisc.name().contains(name));
        if structure {
            assert_eq!(ours, theirs, "{text}");
        } else {
            assert_eq!(attributes(&ours), attributes(&theirs), "{text}");
        }
    }
}

fn bytes(text: &str) -> Vec<u8> {
    let byte = |at| u8::from_str_radix(&text[at..at + 2], 16).unwrap();
    (0..text.len()).step_by(2).map(byte).collect()
}

/// Their order means nothing.
fn attributes(mut left: &[u8]) -> BTreeMap<u16, Vec<u8>> {
    let mut found = BTreeMap::new();
    while let [a, b, c, d, ..] = *left {
        let len = usize::from(u16::from_ne_bytes([a, b]));
        found.insert(u16::from_ne_bytes([c, d]), left[4..len].to_vec());
        left = &left[len.next_multiple_of(4).min(left.len())..];
    }
    found
}

proptest! {
    #[test]
    fn no_text_brings_it_down(name in proptest::sample::select(&NAMES[..]), rest in "( (limit|min|max|avpkt|burst|rtt|maxrate|overhead|redflowlimit|probability|buckets|[a-z0-9.%_-]{0,8}|[0-9]{1,25}[a-zA-Z]{0,4})){0,6}") {
        let text = format!("{name}{rest}");
        if let Ok(qdisc) = text.parse::<Qdisc>() {
            prop_assert!(qdisc.kernel_options(None).is_ok());
            prop_assert_eq!(qdisc.to_string().parse(), Ok(qdisc));
        }
    }
}
