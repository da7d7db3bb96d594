//! Bytes as text of a quantity: no input panics, a refusal is one line, and what is read prints as text that
//! reads back.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use rexmit_units::{Bytes, Duration, Probability, QueueLimit, Rate, UnitError};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    check::<Duration>(text);
    check::<Bytes>(text);
    check::<Rate>(text);
    check::<Probability>(text);
    check::<QueueLimit>(text);
}

fn check<T: FromStr<Err = UnitError> + Display + Debug + PartialEq>(text: &str) {
    match text.parse::<T>() {
        Ok(value) => assert_eq!(value.to_string().parse(), Ok(value)),
        Err(e) => {
            let message = e.to_string();
            assert!(!message.contains('\n') && message.contains(" is not a"), "{message}");
        }
    }
}
