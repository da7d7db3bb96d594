//! Targets that no crate's own tests run, on a bounded number of random inputs and within their bounds of memory.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use rexmit_fuzz::{LARGE, SMALL};

fn run(name: &str, data: &[u8]) {
    let target = SMALL.iter().chain(LARGE).find(|target| target.name == name).expect("a target");
    target.run(data);
}

const PROFILES: [&str; 4] = [
    include_str!("../../profiles/rfc-2014.toml"),
    include_str!("../../profiles/freebsd-7.2.toml"),
    include_str!("../../profiles/linux-2.6.15.toml"),
    include_str!("../../profiles/rfc9260.toml"),
];
const STUDIES: [&str; 4] = [
    include_str!("../../studies/hurtig-2006/short.toml"),
    include_str!("../../studies/deboer-2005/queue.toml"),
    include_str!("../../studies/pedersen-2006/thin.toml"),
    include_str!("../../docs/reference/study-file.toml"),
];
/// What a value may be replaced by.
const VALUES: [&str; 16] = [
    "0",
    "-1",
    "1.5",
    "18446744073709551615",
    "9223372036854775807",
    "true",
    "\"\"",
    "\"a\\nb\\u001b[31m\"",
    "\"1 ms\"",
    "\"0 bit/s\"",
    "\"18446744073 s\"",
    "\"5-\"",
    "[]",
    "{}",
    "[[[1]]]",
    "1979-05-27T07:32:00Z",
];

/// A file with some of its lines changed: a value by another one, or a key by a letter.
fn changed(files: &'static [&'static str]) -> impl Strategy<Value = String> {
    let changes = prop::collection::vec((any::<Index>(), select(&VALUES[..]), any::<bool>()), 0..3);
    (select(files), changes).prop_map(|(file, changes)| {
        let mut lines: Vec<String> = file.lines().map(String::from).collect();
        for (at, value, of_key) in changes {
            let at = at.index(lines.len());
            if let Some((key, old)) = lines[at].split_once(" = ") {
                lines[at] = if of_key { format!("{key}x = {old}") } else { format!("{key} = {value}") };
            }
        }
        lines.join("\n")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn patterns(kind in any::<u8>(), text in "[0-9,\\-x ={}\\[\\]\"a-z\n]{0,60}", bytes in prop::collection::vec(any::<u8>(), 0..64)) {
        run("pattern", &[&[kind][..], text.as_bytes()].concat());
        run("pattern", &[&[3][..], &bytes].concat());
    }

    #[test]
    fn traces(
        kind in any::<u8>(),
        times in prop::collection::vec(0..40u8, 0..40),
        header in "(time|rate|delay|loss)( \\((s|ms|Mbit/s|%)\\))?,(time|rate|delay|loss)( \\((s|ms|ns|bit/s|%)\\))?",
        rows in "([0-9]{1,3}(\\.[0-9])?( (s|ms|bit/s|%))?,[0-9]{0,4}( (s|ms|bit/s|%))?\n){0,8}",
        text in "[0-9,.\\-#a-z ()\r\n]{0,60}",
    ) {
        let mut at = 0u64;
        let lines: String = times.iter().map(|step| { at += u64::from(*step); format!("{at}\n") }).collect();
        for lines in [lines, format!("{header}\n{rows}"), text] {
            run("trace", &[&[kind][..], lines.as_bytes()].concat());
        }
    }

    #[test]
    fn profiles(text in changed(&PROFILES)) {
        run("profile", text.as_bytes());
    }

    #[test]
    fn scenarios(text in changed(&STUDIES)) {
        run("scenario", text.as_bytes());
    }

    #[test]
    fn pairs_of_captures(flags in any::<u8>(), steps in prop::collection::vec(any::<u8>(), 0..360)) {
        run("pairs", &[&[flags & !1][..], &steps].concat());
    }

    #[test]
    fn frames_with_offloads(data in prop::collection::vec(any::<u8>(), 0..600)) {
        run("offload", &data);
    }
}
