//! Messages of random sizes at random times.

use std::fmt;
use std::str::FromStr;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::spec::TransferError;

/// Messages whose sizes, pauses and bursts are drawn: each run draws its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MessagesSpec {
    /// For how long messages are written, counted from the established connection.
    pub time: Duration,
    /// Size of each message, at least 1 byte: `"100 bytes"`, `"uniform 50 bytes to 150 bytes"`, `"exponential 100 bytes"`
    /// (mean), `"pareto 60 bytes 1.5"` (least, shape), `"lognormal 100 bytes 0.8"` (median, sigma).
    pub size: Distribution<Bytes>,
    /// From the start of a burst to the start of the next: one of the same five, of times.
    pub every: Distribution<Duration>,
    /// Messages of a burst: a number, or one of the same five, of numbers. Default: 1.
    #[serde(default = "single")]
    pub burst: Distribution<Count>,
    /// Between the messages of a burst: one of the same five, of times. Default: none.
    #[serde(default = "at_once")]
    pub within: Distribution<Duration>,
}

fn single() -> Distribution<Count> {
    Distribution::Constant(Count(1))
}

fn at_once() -> Distribution<Duration> {
    Distribution::Constant(Duration::ZERO)
}

impl MessagesSpec {
    /// Checks what the types allow and no transfer has.
    pub(crate) fn check(&self) -> Result<(), TransferError> {
        if self.time.is_zero() {
            return Err(TransferError::NoTime("messages.time"));
        }
        if self.every == Distribution::Constant(Duration::ZERO) {
            return Err(TransferError::NoTime("messages.every"));
        }
        Ok(())
    }
}

/// A number of things.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Serialize, Deserialize, JsonSchema)]
pub struct Count(pub u64);

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Count {
    type Err = std::num::ParseIntError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self)
    }
}

/// What can be drawn: a whole number of some unit.
pub trait Quantity: Copy + FromStr + fmt::Display + PartialOrd {
    /// A draw is cut to this, which is more than any run could hold.
    const MOST: u64;
    /// In its unit.
    fn number(self) -> u64;
    /// Of its unit.
    fn of(number: u64) -> Self;
}

impl Quantity for Bytes {
    /// 1 TiB.
    const MOST: u64 = 1 << 40;

    fn number(self) -> u64 {
        self.as_u64()
    }

    fn of(number: u64) -> Self {
        Self(number)
    }
}

impl Quantity for Duration {
    /// 36 years.
    const MOST: u64 = 1 << 60;

    fn number(self) -> u64 {
        self.as_nanos()
    }

    fn of(number: u64) -> Self {
        Self::from_nanos(number)
    }
}

impl Quantity for Count {
    const MOST: u64 = 1 << 40;

    fn number(self) -> u64 {
        self.0
    }

    fn of(number: u64) -> Self {
        Self(number)
    }
}

/// A distribution of sizes, times or numbers.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "Text", into = "String", bound(serialize = "T: Quantity", deserialize = "T: Quantity"))]
#[schemars(with = "Text")]
pub enum Distribution<T> {
    /// Always the same.
    Constant(T),
    /// Each from the first to the second equally likely.
    Uniform(T, T),
    /// By its mean.
    Exponential(T),
    /// By its least value and its shape.
    Pareto(T, f64),
    /// By its median and the standard deviation of its logarithm.
    LogNormal(T, f64),
}

/// A distribution as text, or a bare number.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "not a distribution; allowed: a whole number from 0 on, or a text such as \"exponential 5\""
)]
enum Text {
    Number(u64),
    Text(String),
}

impl<T: Quantity> TryFrom<Text> for Distribution<T> {
    type Error = String;

    fn try_from(text: Text) -> Result<Self, String> {
        match text {
            Text::Number(number) => number.to_string().parse(),
            Text::Text(text) => text.parse(),
        }
    }
}

impl<T: Quantity> From<Distribution<T>> for String {
    fn from(distribution: Distribution<T>) -> Self {
        distribution.to_string()
    }
}

impl<T: Quantity> FromStr for Distribution<T> {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not a distribution; allowed: a value, \"uniform A to B\", \"exponential MEAN\", \
                 \"pareto LEAST SHAPE\" or \"lognormal MEDIAN SIGMA\", each value with its unit"
            )
        };
        let value = |part: &str| part.trim().parse::<T>().map_err(|_| wrong());
        let with_shape = |rest: &str| {
            let (first, shape) = rest.trim().rsplit_once(' ').ok_or_else(wrong)?;
            let shape: f64 = shape.parse().map_err(|_| wrong())?;
            let fits = shape.is_finite() && shape > 0.0;
            if fits { Ok((value(first)?, shape)) } else { Err(wrong()) }
        };
        let (name, rest) = text.trim().split_once(' ').unwrap_or((text, ""));
        match name {
            "uniform" => {
                let (from, to) = rest.split_once(" to ").ok_or_else(wrong)?;
                let (from, to) = (value(from)?, value(to)?);
                if from <= to { Ok(Self::Uniform(from, to)) } else { Err(wrong()) }
            }
            "exponential" => value(rest).map(Self::Exponential),
            "pareto" => with_shape(rest).map(|(least, shape)| Self::Pareto(least, shape)),
            "lognormal" => with_shape(rest).map(|(median, sigma)| Self::LogNormal(median, sigma)),
            _ => value(text).map(Self::Constant),
        }
    }
}

impl<T: Quantity> fmt::Display for Distribution<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => value.fmt(f),
            Self::Uniform(from, to) => write!(f, "uniform {from} to {to}"),
            Self::Exponential(mean) => write!(f, "exponential {mean}"),
            Self::Pareto(least, shape) => write!(f, "pareto {least} {shape}"),
            Self::LogNormal(median, sigma) => write!(f, "lognormal {median} {sigma}"),
        }
    }
}

impl<T: Quantity> Distribution<T> {
    /// Its mean in the unit of `T`; `None` where that is infinite.
    pub(crate) fn mean(&self) -> Option<f64> {
        let mean = match *self {
            Self::Constant(value) | Self::Exponential(value) => value.number() as f64,
            Self::Uniform(from, to) => (from.number() as f64 + to.number() as f64) / 2.0,
            Self::Pareto(_, shape) if shape <= 1.0 => return None,
            Self::Pareto(least, shape) => least.number() as f64 * shape / (shape - 1.0),
            Self::LogNormal(median, sigma) => median.number() as f64 * libm::exp(sigma * sigma / 2.0),
        };
        mean.is_finite().then_some(mean)
    }

    /// Every draw is zero.
    pub(crate) fn is_zero(&self) -> bool {
        let (Self::Constant(most)
        | Self::Uniform(_, most)
        | Self::Exponential(most)
        | Self::Pareto(most, _)
        | Self::LogNormal(most, _)) = *self;
        most.number() == 0
    }

    /// Draws one. The functions are those of `libm`, so that every machine computes the same bits.
    pub(crate) fn draw(&self, stream: &mut Xoshiro256PlusPlus) -> T {
        let mut unit = || unit(stream);
        let whole = |value: f64| whole(value, T::MOST);
        T::of(match *self {
            Self::Constant(value) => return value,
            Self::Uniform(from, to) => {
                let width = (to.number() - from.number()) as f64 + 1.0;
                (from.number() + libm::floor(unit() * width) as u64).min(to.number())
            }
            Self::Exponential(mean) => return exponential(mean.number() as f64, stream),
            Self::Pareto(least, shape) => {
                whole(least.number() as f64 * libm::pow(1.0 - unit(), -1.0 / shape))
            }
            Self::LogNormal(median, sigma) => {
                let z = libm::sqrt(-2.0 * libm::log(1.0 - unit()));
                let z = z * libm::cos(std::f64::consts::TAU * unit());
                whole(median.number() as f64 * libm::exp(sigma * z))
            }
        })
    }
}

/// Draws one of an exponential distribution with this mean, in the unit of `T`.
pub(crate) fn exponential<T: Quantity>(mean: f64, stream: &mut Xoshiro256PlusPlus) -> T {
    T::of(whole(-libm::log(1.0 - unit(stream)) * mean, T::MOST))
}

/// From 0 up to but not 1, in steps of 2^-53.
pub(crate) fn unit(stream: &mut Xoshiro256PlusPlus) -> f64 {
    (stream.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Rounded, and at most this much.
fn whole(value: f64, most: u64) -> u64 {
    libm::round(value.min(most as f64)) as u64
}

/// The messages of one connection, drawn as they are needed.
#[derive(Clone, Debug)]
pub(crate) struct Drawn {
    spec: MessagesSpec,
    stream: Xoshiro256PlusPlus,
    /// Messages of the burst under way that are still to come.
    left: u64,
    /// What is left of the time to the next burst.
    rest: Duration,
}

impl Drawn {
    pub fn new(spec: &MessagesSpec, stream: Xoshiro256PlusPlus) -> Self {
        Self { spec: spec.clone(), stream, left: 0, rest: Duration::ZERO }
    }

    /// From now on draws from this stream.
    pub fn restart(&mut self, stream: Xoshiro256PlusPlus) {
        self.stream = stream;
    }

    /// For how long.
    pub fn time(&self) -> Duration {
        self.spec.time
    }

    /// The size of the next message, and the pause after it.
    pub fn next(&mut self) -> (u64, Duration) {
        if self.left == 0 {
            self.left = self.spec.burst.draw(&mut self.stream).0.max(1);
            self.rest = self.spec.every.draw(&mut self.stream);
        }
        self.left -= 1;
        let size = self.spec.size.draw(&mut self.stream).as_u64().max(1);
        if self.left == 0 {
            return (size, self.rest);
        }
        let pause = self.spec.within.draw(&mut self.stream);
        self.rest = self.rest.saturating_sub(pause);
        (size, pause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::SeedableRng;

    fn mean(text: &str) -> f64 {
        let distribution: Distribution<Bytes> = text.parse().unwrap();
        assert_eq!(distribution.to_string().parse(), Ok(distribution));
        let mut stream = Xoshiro256PlusPlus::seed_from_u64(1);
        let n = 200_000;
        (0..n).map(|_| distribution.draw(&mut stream).as_u64() as f64).sum::<f64>() / f64::from(n)
    }

    #[test]
    fn means_are_those_of_the_distributions() {
        let near = |text, expected: f64| {
            let mean = mean(text);
            assert!((mean / expected - 1.0).abs() < 0.02, "{text}: {mean}, expected {expected}");
            assert_eq!(text.parse::<Distribution<Bytes>>().unwrap().mean(), Some(expected), "{text}");
        };
        near("100 bytes", 100.0);
        near("uniform 50 bytes to 150 bytes", 100.0);
        near("exponential 1000 bytes", 1000.0);
        // shape/(shape - 1) times the least, and the median times exp(sigma^2/2)
        near("pareto 100 bytes 3", 150.0);
        near("lognormal 1000 bytes 0.5", 1000.0 * (0.125_f64).exp());
    }

    #[test]
    fn long_times_are_drawn_whole() {
        let every: Distribution<Duration> = "exponential 1 h".parse().unwrap();
        let mut stream = Xoshiro256PlusPlus::seed_from_u64(1);
        let mean = (0..10_000).map(|_| every.draw(&mut stream).as_secs_f64()).sum::<f64>() / 10_000.0;
        assert!((mean / 3600.0 - 1.0).abs() < 0.03, "{mean} s");
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        for text in
            ["", "100", "uniform 5 bytes", "uniform 9 bytes to 5 bytes", "pareto 5 bytes", "normal 5 bytes"]
        {
            let error = text.parse::<Distribution<Bytes>>().unwrap_err();
            assert!(error.contains("is not a distribution; allowed: "), "{error}");
        }
    }

    #[test]
    fn a_burst_s_messages_share_its_time() {
        let spec = MessagesSpec {
            time: Duration::from_secs(10),
            size: "100 bytes".parse().unwrap(),
            every: "1 s".parse().unwrap(),
            burst: "4".parse().unwrap(),
            within: "10 ms".parse().unwrap(),
        };
        let mut drawn = Drawn::new(&spec, Xoshiro256PlusPlus::seed_from_u64(1));
        let ms = |n| Duration::from_millis(n);
        let expected = [(100, ms(10)), (100, ms(10)), (100, ms(10)), (100, ms(970))];
        assert_eq!([0; 8].map(|_| drawn.next()), [expected, expected].concat()[..]);
    }
}
