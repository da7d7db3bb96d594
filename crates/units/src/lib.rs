//! Quantities of the field, each its own type: [`Instant`] and [`Duration`] in whole nanoseconds,
//! [`Bytes`], [`Rate`] in bit/s, [`Probability`], [`QueueLimit`].
//!
//! Text such as `"40 kbit/s"` or `"5 ms"` is read exactly or refused; nothing is rounded silently.
//! A time that a rate gives is kept with its remainder by [`TransmitClock`], so that ten million packets at
//! an odd rate end at the exact nanosecond.
//!
//! Every quantity that people write implements [`FromStr`](std::str::FromStr) (a [`UnitError`] says in one line what is
//! allowed), [`Display`](std::fmt::Display) (one canonical text, which reads back as the same value),
//! serde's traits as that text, and `schemars::JsonSchema`.
//!
//! ```
//! use rexmit_units::{Duration, Rate};
//! let rate: Rate = "1.5 Mbit/s".parse()?;
//! assert_eq!(rate.bits_per_second(), 1_500_000);
//! assert_eq!(Duration::from_micros(2_500).to_string(), "2.5 ms");
//! assert_eq!(
//!     "40 kb".parse::<Rate>().unwrap_err().to_string(),
//!     r#""40 kb" is not a rate: write a number and one of bit/s, kbit/s, Mbit/s, Gbit/s"#,
//! );
//! # Ok::<(), rexmit_units::UnitError>(())
//! ```

mod decimal;
mod rate;
mod serial;
mod text;
mod time;
mod transmit;

pub use rate::{Bytes, Probability, QueueLimit, Rate};
pub use text::UnitError;
pub use time::{Duration, Instant};
pub use transmit::TransmitClock;
