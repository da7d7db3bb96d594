//! Quantities of the field, each its own type: [`Instant`] and [`Duration`] in whole nanoseconds,
//! [`Bytes`], [`Rate`] and [`LineRate`] in bit/s, [`Probability`], [`QueueLimit`] and [`QueueSize`].
//!
//! Text such as `"40 kbit/s"` or `"5 ms"` is read exactly or refused; nothing is rounded silently.
//! A time that a rate gives is kept with its remainder by [`TransmitClock`], so that ten million packets at
//! an odd rate end at the exact nanosecond.
//!
//! Every quantity that people write implements [`FromStr`](std::str::FromStr) (a [`UnitError`] says in one line what is
//! allowed), [`Display`](std::fmt::Display) (one canonical text, which reads back as the same value),
//! serde's traits as that text, and `schemars::JsonSchema`.
//!
#![doc = include_str!("../example.md")]

mod decimal;
mod rate;
mod serial;
mod text;
mod time;
mod transmit;

pub use rate::{Bytes, LineRate, Probability, QueueLimit, QueueSize, Rate};
pub use text::UnitError;
pub use time::{Duration, Instant};
pub use transmit::{Stretch, TransmitClock};
