//! Why flows make no sense.

use rexmit_units::Bytes;

use super::flow::{MOST_FLOWS, MOST_SIZE};

/// Why flows make no sense. Each message names the key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FlowsError {
    /// Nothing ends them.
    #[error(
        "one of `flows.count` (such as 1000) and `flows.time` (such as \"60 s\") is missing; or give the flows one by \
         one, as `flows.list` (such as \"0 s 10 kB, 5 ms 1 MB\") or `flows.file` (such as \"flows.csv\")"
    )]
    NoEnd,
    /// Nothing says how often they arrive.
    #[error(
        "one of `flows.every` (such as \"exponential 5 ms\") and `flows.load` (such as 0.6, with `flows.of`) is missing"
    )]
    NoArrivals,
    /// Nothing says how large they are.
    #[error(
        "`flows.size` is missing: write one such as \"100 kB\", \"exponential 100 kB\" or \"web-search\""
    )]
    NoSize,
    /// Two keys say the same in two ways.
    #[error("`flows.{0}` and `flows.{1}` exclude each other: keep one of them")]
    Both(&'static str, &'static str),
    /// A load of what?
    #[error("`flows.load` needs `flows.of`, the rate that it is a share of, such as \"50 Mbit/s\"")]
    LoadWithoutOf,
    /// A rate without a load.
    #[error(
        "`flows.of` is the rate that `flows.load` is a share of: write a load such as 0.6, or leave it out"
    )]
    OfWithoutLoad,
    /// No share of a rate.
    #[error(
        "`flows.load` is {0}: it must be a number above 0, such as 0.6; above 1 is more than the rate carries"
    )]
    Load(String),
    /// Sizes so heavy-tailed that no rate of arrivals makes a load.
    #[error(
        "`flows.load` needs sizes with a finite mean, and `flows.size` has none: write a shape above 1, or `flows.every`"
    )]
    NoMean,
    /// A run holds this many.
    #[error("`{0}` makes {1} flows: at most {MOST_FLOWS} are allowed")]
    TooMany(&'static str, u64),
    /// The distribution of `every` can be so far from its mean.
    #[error(
        "`flows.every` drew more than {MOST_FLOWS} flows within `flows.time`: write a shorter time, or longer times between \
         flows"
    )]
    TooManyDrawn,
    /// No run could hold it.
    #[error("`flows.size` is {0}: at most {MOST_SIZE} are allowed")]
    TooLarge(Bytes),
    /// Each flow is a connection.
    #[error("`{0}` does not fit `flows`: each flow is a connection of its own")]
    Connections(&'static str),
    /// A file that cannot be read, or what is wrong in it.
    #[error("`{0}`: {1}")]
    File(&'static str, String),
}
