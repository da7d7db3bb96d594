//! Reading and printing quantities: exact or refused, and one canonical text each.

use std::fmt;
use std::str::FromStr;

use crate::decimal::{Decimal, Inexact, print};
use crate::{Bytes, Duration, Instant, LineRate, Probability, QueueLimit, QueueSize, Rate};

/// Text that is no such quantity. Its message is one line: the text, what it was to be, what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text} is not {what}: {advice}")]
pub struct UnitError {
    /// As written, quoted where it was text.
    text: String,
    what: &'static str,
    advice: String,
}

impl UnitError {
    pub(crate) fn new(text: &str, kind: &Kind, advice: impl Into<String>) -> Self {
        // A long text would bury the advice.
        let mut shown: String = text.chars().take(60).collect();
        if shown.len() < text.len() {
            shown.push_str("...");
        }
        Self { text: format!("{shown:?}"), what: kind.what, advice: advice.into() }
    }

    /// For a number without quotes where text with a unit must be.
    pub(crate) fn bare_number(number: impl fmt::Display, kind: &Kind) -> Self {
        let advice = format!("{}, in quotes, such as {:?}", kind.allowed(), kind.example);
        Self { text: number.to_string(), what: kind.what, advice }
    }
}

/// How a quantity is written.
pub(crate) struct Kind {
    /// With its article: "a rate".
    pub(crate) what: &'static str,
    pub(crate) example: &'static str,
    /// What the steps are called: "nanoseconds".
    step: &'static str,
    /// Each unit with its number of steps, in the order that messages show them.
    units: &'static [(&'static str, u64)],
    /// Other spellings of a unit that are accepted.
    aliases: &'static [(&'static str, u64)],
    /// Usual but ambiguous or wrong spellings in lower case, with what to write.
    hints: &'static [(&'static str, &'static str)],
}

impl Kind {
    /// "write a number and one of bit/s, kbit/s".
    pub(crate) fn allowed(&self) -> String {
        let names: Vec<&str> = self.units.iter().map(|(name, _)| *name).collect();
        format!("write a number and one of {}", names.join(", "))
    }

    /// True for one of its units, however spelt.
    fn knows(&self, unit: &str) -> bool {
        self.units.iter().chain(self.aliases).any(|(name, _)| *name == unit)
    }

    fn parse(&self, text: &str) -> Result<u64, UnitError> {
        let (number, unit) =
            Decimal::split(text).ok_or_else(|| UnitError::new(text, self, self.allowed()))?;
        let known = self.units.iter().chain(self.aliases).find(|(name, _)| *name == unit);
        let Some(&(_, factor)) = known else {
            let lower = unit.to_ascii_lowercase();
            let hint = self.hints.iter().find(|(wrong, _)| *wrong == lower);
            let advice = hint.map_or_else(|| self.allowed(), |(_, right)| format!("write {right}"));
            return Err(UnitError::new(text, self, advice));
        };
        self.steps(text, number, factor)
    }

    fn steps(&self, text: &str, number: Decimal, factor: u64) -> Result<u64, UnitError> {
        number.times(factor).map_err(|e| match e {
            Inexact::Fraction => {
                UnitError::new(text, self, format!("it is not a whole number of {}", self.step))
            }
            Inexact::TooLarge => {
                UnitError::new(text, self, format!("the most is {} {}", u64::MAX, self.step))
            }
        })
    }
}

pub(crate) const DURATION: Kind = Kind {
    what: "a duration",
    example: "5 ms",
    step: "nanoseconds",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
    aliases: &[("µs", 1_000), ("μs", 1_000)],
    hints: &[
        ("m", "min, or ms for milliseconds"),
        ("sec", "s"),
        ("secs", "s"),
        ("second", "s"),
        ("seconds", "s"),
        ("msec", "ms"),
        ("usec", "us"),
        ("minutes", "min"),
        ("hours", "h"),
    ],
};

pub(crate) const BYTES: Kind = Kind {
    what: "an amount of data",
    example: "64 KiB",
    step: "bytes",
    units: &[
        ("bytes", 1),
        ("kB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
    ],
    aliases: &[("byte", 1), ("B", 1)],
    hints: BYTE_HINTS,
};

const BYTE_HINTS: &[(&str, &str)] = &[
    ("k", "kB for 1000 bytes or KiB for 1024"),
    ("kb", "kB for 1000 bytes or KiB for 1024"),
    ("m", "MB for 10^6 bytes or MiB for 2^20"),
    ("mb", "MB for 10^6 bytes or MiB for 2^20"),
    ("g", "GB for 10^9 bytes or GiB for 2^30"),
    ("gb", "GB for 10^9 bytes or GiB for 2^30"),
];

pub(crate) const RATE: Kind = Kind {
    what: "a rate",
    example: "40 kbit/s",
    step: "bit/s",
    units: &[("bit/s", 1), ("kbit/s", 1_000), ("Mbit/s", 1_000_000), ("Gbit/s", 1_000_000_000)],
    aliases: &[],
    hints: &[
        ("bps", "bit/s"),
        ("kbps", "kbit/s"),
        ("mbps", "Mbit/s"),
        ("gbps", "Gbit/s"),
        ("bit", "bit/s"),
        ("kbit", "kbit/s"),
        ("mbit", "Mbit/s"),
        ("gbit", "Gbit/s"),
        ("kbit/s", "kbit/s"),
        ("mbit/s", "Mbit/s"),
        ("gbit/s", "Gbit/s"),
        ("kb/s", "kbit/s"),
        ("mb/s", "Mbit/s"),
        ("gb/s", "Gbit/s"),
    ],
};

/// Of a queue; the last four are times, which are read as a duration.
const QUEUE_UNITS: &[(&str, u64)] = &[
    ("packets", 1),
    ("bytes", 1),
    ("kB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
];

pub(crate) const QUEUE: Kind = Kind {
    what: "a queue limit",
    example: "99 packets",
    step: "bytes",
    units: QUEUE_UNITS.split_at(8).0,
    aliases: &[("byte", 1), ("B", 1)],
    hints: BYTE_HINTS,
};

pub(crate) const QUEUE_SIZE: Kind = Kind { what: "a queue", units: QUEUE_UNITS, ..QUEUE };

pub(crate) const PROBABILITY: Kind = Kind {
    what: "a probability",
    example: "0.01",
    step: "steps of 1e-12",
    units: &[],
    aliases: &[],
    hints: &[],
};

/// What a probability may be.
const PROBABILITY_RANGE: &str = "write a number from 0 to 1, or 0 % to 100 %";

impl FromStr for Duration {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        DURATION.parse(text).map(Self::from_nanos)
    }
}

impl FromStr for Bytes {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        BYTES.parse(text).map(Self)
    }
}

impl FromStr for Rate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Self::from_bits_per_second(RATE.parse(text)?)
            .ok_or_else(|| UnitError::new(text, &RATE, "a rate is at least 1 bit/s"))
    }
}

impl FromStr for LineRate {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        Ok(Rate::from_bits_per_second(RATE.parse(text)?).map_or(Self::Outage, Self::Rate))
    }
}

impl FromStr for QueueSize {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Decimal::split(text) {
            Some((_, unit)) if DURATION.knows(unit) => text.parse().map(Self::Time),
            Some((_, unit)) if QUEUE.knows(unit) || unit == "packet" => text.parse().map(Self::Limit),
            // Another unit, or none: what may stand here says this kind.
            _ => QUEUE_SIZE.parse(text).map(|bytes| Self::Limit(QueueLimit::Bytes(bytes))),
        }
    }
}

impl FromStr for QueueLimit {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        match Decimal::split(text) {
            Some((number, "packets" | "packet")) => {
                let packets = Kind { step: "packets", ..QUEUE };
                packets.steps(text, number, 1).map(Self::Packets)
            }
            _ => QUEUE.parse(text).map(Self::Bytes),
        }
    }
}

impl FromStr for Probability {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let range = || UnitError::new(text, &PROBABILITY, PROBABILITY_RANGE);
        let one = Self::ONE.trillionths();
        let (number, factor) = match Decimal::split(text).ok_or_else(range)? {
            (number, "") => (number, one),
            (number, "%") => (number, one / 100),
            _ => return Err(range()),
        };
        match number.times(factor) {
            Ok(n) => Self::from_trillionths(n).ok_or_else(range),
            Err(Inexact::TooLarge) => Err(range()),
            Err(Inexact::Fraction) => {
                Err(UnitError::new(text, &PROBABILITY, "it is not a whole number of steps of 1e-12"))
            }
        }
    }
}

/// In the largest of ns, us, ms and s that gives one or more: `2.5 ms`.
impl fmt::Display for Duration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&largest(self.as_nanos(), &DURATION.units[..4], "s"))
    }
}

/// The time since the start of the run, as a [`Duration`].
impl fmt::Display for Instant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Duration::from_nanos(self.as_nanos()).fmt(f)
    }
}

/// In the largest unit that gives a whole number, binary or decimal: `64 KiB`, `25 kB`, `1448 bytes`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&whole_bytes(self.0))
    }
}

/// In the largest unit that gives one or more: `1.5 Mbit/s`.
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&largest(self.bits_per_second(), RATE.units, "bit/s"))
    }
}

/// As a [`Rate`]; `0 bit/s` for an outage.
impl fmt::Display for LineRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&largest(self.bits_per_second(), RATE.units, "bit/s"))
    }
}

/// As a [`QueueLimit`] or a [`Duration`].
impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Limit(limit) => limit.fmt(f),
            Self::Time(time) => time.fmt(f),
        }
    }
}

/// As a number from 0 to 1: `0.05`.
impl fmt::Display for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&print(self.trillionths(), Self::ONE.trillionths()))
    }
}

/// `99 packets`, or an amount of data.
impl fmt::Display for QueueLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(1) => f.pad("1 packet"),
            Self::Packets(n) => f.pad(&format!("{n} packets")),
            Self::Bytes(n) => f.pad(&whole_bytes(*n)),
        }
    }
}

/// `units` in rising order, powers of ten; zero is printed in the unit `zero`.
fn largest(value: u64, units: &[(&str, u64)], zero: &str) -> String {
    match units.iter().rev().find(|(_, factor)| value >= *factor) {
        Some((name, factor)) => format!("{} {name}", print(value, *factor)),
        None => format!("0 {zero}"),
    }
}

fn whole_bytes(bytes: u64) -> String {
    let fits = |factor: &u64| bytes != 0 && bytes.is_multiple_of(*factor);
    let best = BYTES.units.iter().filter(|(_, factor)| fits(factor)).max_by_key(|(_, factor)| *factor);
    match best {
        Some((_, 1)) | None => format!("{bytes} byte{}", if bytes == 1 { "" } else { "s" }),
        Some((name, factor)) => format!("{} {name}", bytes / factor),
    }
}
