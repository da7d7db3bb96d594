//! Quantities of the field, each its own type: [`Instant`] and [`Duration`] in whole nanoseconds,
//! [`Bytes`], [`Rate`] in bit/s, [`Probability`], [`QueueLimit`].
//!
//! Text such as `"40 kbit/s"` or `"5 ms"` is read exactly or refused; nothing is rounded silently.
//! A time that a rate gives is kept with its remainder by [`TransmitClock`], so that ten million packets at
//! an odd rate end at the exact nanosecond.

mod rate;
mod time;

pub use rate::{Bytes, Probability, QueueLimit, Rate, TransmitClock};
pub use time::{Duration, Instant};
