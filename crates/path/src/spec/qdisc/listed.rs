//! Disciplines each of whose options is one attribute, and those with a limit alone.

use std::collections::BTreeMap;

use super::options::KernelOptions;
use super::units;
use super::words::Words;

/// What an option is followed by, and how it is told.
#[derive(Clone, Copy)]
enum Takes {
    /// A number between these.
    Number(u32, u32),
    /// A number of buckets, of which the exponent of the next power of two is told.
    Buckets,
    /// Bytes, at least this many.
    Size(u32),
    /// A time, at least this many microseconds.
    Time(u32),
    /// A time in nanoseconds.
    Nanoseconds,
    /// Bytes a second, at least this many.
    Rate(u64),
    /// Two bytes with a slash between, of which the second is told as the attribute after this.
    Masked,
    /// Nothing; this is told.
    Is(u32),
    /// Nothing; this is told, as one byte.
    IsByte(u8),
}

/// An option: its word, what it takes, the number of its attribute [Linux 6.1 include/uapi/linux/pkt_sched.h].
type Listed = (&'static str, Takes, u16);

const ANY: u32 = u32::MAX;

const CODEL: [Listed; 6] = [
    ("limit", Takes::Number(1, ANY), 2),
    ("target", Takes::Time(1), 1),
    ("interval", Takes::Time(1), 3),
    ("ecn", Takes::Is(1), 4),
    ("noecn", Takes::Is(0), 4),
    ("ce_threshold", Takes::Time(0), 5),
];
const FQ_CODEL: [Listed; 11] = [
    ("limit", Takes::Number(1, ANY), 2),
    ("flows", Takes::Number(1, ANY), 5),
    ("target", Takes::Time(1), 1),
    ("interval", Takes::Time(1), 3),
    ("quantum", Takes::Number(1, ANY), 6),
    ("ecn", Takes::Is(1), 4),
    ("noecn", Takes::Is(0), 4),
    ("ce_threshold", Takes::Time(0), 7),
    ("ce_threshold_selector", Takes::Masked, 10),
    ("memory_limit", Takes::Size(0), 9),
    ("drop_batch", Takes::Number(1, ANY), 8),
];
const PIE: [Listed; 11] = [
    ("limit", Takes::Number(1, ANY), 2),
    ("target", Takes::Time(1), 1),
    ("tupdate", Takes::Time(1), 3),
    ("alpha", Takes::Number(1, 32), 4),
    ("beta", Takes::Number(1, 32), 5),
    ("ecn", Takes::Is(1), 6),
    ("noecn", Takes::Is(0), 6),
    ("bytemode", Takes::Is(1), 7),
    ("nobytemode", Takes::Is(0), 7),
    ("dq_rate_estimator", Takes::Is(1), 8),
    ("no_dq_rate_estimator", Takes::Is(0), 8),
];
const FQ_PIE: [Listed; 15] = [
    ("limit", Takes::Number(1, ANY), 1),
    ("flows", Takes::Number(1, ANY), 2),
    ("target", Takes::Time(1), 3),
    ("tupdate", Takes::Time(1), 4),
    ("alpha", Takes::Number(1, 32), 5),
    ("beta", Takes::Number(1, 32), 6),
    ("quantum", Takes::Size(1), 7),
    ("memory_limit", Takes::Size(1), 8),
    ("ecn_prob", Takes::Number(1, 99), 9),
    ("ecn", Takes::Is(1), 10),
    ("noecn", Takes::Is(0), 10),
    ("bytemode", Takes::Is(1), 11),
    ("nobytemode", Takes::Is(0), 11),
    ("dq_rate_estimator", Takes::Is(1), 12),
    ("no_dq_rate_estimator", Takes::Is(0), 12),
];
const FQ: [Listed; 16] = [
    ("limit", Takes::Number(1, ANY), 1),
    ("flow_limit", Takes::Number(1, ANY), 2),
    ("quantum", Takes::Number(1, ANY), 3),
    ("initial_quantum", Takes::Number(1, ANY), 4),
    ("maxrate", Takes::Rate(1), 7),
    ("buckets", Takes::Buckets, 8),
    ("orphan_mask", Takes::Number(0, ANY), 10),
    ("pacing", Takes::Is(1), 5),
    ("nopacing", Takes::Is(0), 5),
    ("ce_threshold", Takes::Time(0), 12),
    ("low_rate_threshold", Takes::Rate(0), 11),
    ("refill_delay", Takes::Time(0), 9),
    ("timer_slack", Takes::Nanoseconds, 13),
    ("horizon", Takes::Time(0), 14),
    ("horizon_cap", Takes::IsByte(0), 15),
    ("horizon_drop", Takes::IsByte(1), 15),
];

/// The options of a discipline each of which is one attribute.
pub fn read(mut words: Words<'_>) -> Result<KernelOptions, String> {
    let known: &[Listed] = match words.discipline() {
        "codel" => &CODEL,
        "fq_codel" => &FQ_CODEL,
        "pie" => &PIE,
        "fq_pie" => &FQ_PIE,
        "fq" => &FQ,
        _ => &[],
    };
    let mut told = BTreeMap::new();
    while let Some(option) = words.option() {
        let Some((_, takes, attribute)) = known.iter().find(|(word, ..)| *word == option) else {
            return Err(words.unknown(known.iter().map(|(word, ..)| *word)));
        };
        if let Takes::Masked = takes {
            let (value, mask) = words.value(masked, ("a value and its mask", "0x02/0x3"))?;
            told.insert(*attribute, vec![value]);
            told.insert(attribute + 1, vec![mask]);
        } else {
            told.insert(*attribute, takes.told(&mut words)?);
        }
    }
    let mut options = KernelOptions::default();
    for (attribute, value) in told {
        options.add(attribute, &value);
    }
    Ok(options)
}

/// The options of a queue that has a limit and nothing else; of bytes for `bfifo`, else of packets, with the suffixes of
/// bytes, as `tc` has it.
pub fn fifo(mut words: Words<'_>) -> Result<KernelOptions, String> {
    let mut options = KernelOptions::default();
    while let Some(option) = words.option() {
        if option != "limit" {
            return Err(words.unknown(["limit"]));
        }
        options = KernelOptions::of_numbers(&[words.size(0)?]);
    }
    Ok(options)
}

impl Takes {
    /// What is told of the value that comes next.
    fn told(self, words: &mut Words<'_>) -> Result<Vec<u8>, String> {
        let number = match self {
            Self::Number(least, most) => words.number(least, most)?,
            Self::Buckets => words.number(1, 1 << 18)?.next_power_of_two().ilog2(),
            Self::Size(least) => words.size(least)?,
            Self::Time(least) => words.time(least)?,
            Self::Nanoseconds => {
                words.value(units::nanoseconds, ("a time of whole nanoseconds below 4.3 s", "10us"))?
            }
            Self::Rate(least) => {
                let read = |word: &str| {
                    units::rate(word).filter(|rate| *rate >= least).and_then(|rate| u32::try_from(rate).ok())
                };
                words.value(read, ("a rate below 34 Gbit/s", "10mbit"))?
            }
            Self::Is(number) => number,
            Self::IsByte(byte) => return Ok(vec![byte]),
            Self::Masked => return Ok(Vec::new()),
        };
        Ok(number.to_ne_bytes().to_vec())
    }
}

fn masked(text: &str) -> Option<(u8, u8)> {
    let (value, mask) = text.split_once('/')?;
    let byte = |text| units::number(text).and_then(|number| u8::try_from(number).ok());
    Some((byte(value)?, byte(mask)?))
}
