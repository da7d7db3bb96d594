//! Decimal numbers as people write them, held exactly until a unit makes them whole.

/// Significant digits kept: with the largest unit, 2^40 bytes, a product still fits in 128 bits.
const MAX_DIGITS: usize = 25;

/// `digits` times ten to the power `exponent`, as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    digits: u128,
    exponent: i32,
}

/// Why a number has no exact value in whole steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Inexact {
    /// It lies between two steps.
    Fraction,
    /// It is more than 64 bits hold.
    TooLarge,
}

impl Decimal {
    /// Reads the number at the head of `text` and returns it with the rest, which is trimmed.
    ///
    /// A number is `digits[.digits][e[+-]digits]`, without a sign; `None` for anything else.
    pub(crate) fn split(text: &str) -> Option<(Self, &str)> {
        let text = text.trim();
        let (whole, mut rest) = digits(text);
        if whole.is_empty() {
            return None;
        }
        let mut fraction = "";
        if let Some(after) = rest.strip_prefix('.') {
            (fraction, rest) = digits(after);
            if fraction.is_empty() {
                return None;
            }
        }
        let mut exponent: i32 = 0;
        if let Some(after) = rest.strip_prefix(['e', 'E']) {
            let (negative, after) = match after.strip_prefix('-') {
                Some(a) => (true, a),
                None => (false, after.strip_prefix('+').unwrap_or(after)),
            };
            let (power, tail) = digits(after);
            exponent = power.parse::<i16>().ok()?.into();
            if negative {
                exponent = -exponent;
            }
            rest = tail;
        }
        let fraction_len = i32::try_from(fraction.len()).ok()?;
        Some((Self::from_digits(whole, fraction, exponent - fraction_len)?, rest.trim_start()))
    }

    /// The number times `factor`, which must come out whole.
    pub(crate) fn times(self, factor: u64) -> Result<u64, Inexact> {
        if self.digits == 0 {
            return Ok(0);
        }
        let product = self.digits * u128::from(factor);
        let power = 10_u128.checked_pow(self.exponent.unsigned_abs());
        let value = if self.exponent >= 0 {
            power.and_then(|p| product.checked_mul(p)).ok_or(Inexact::TooLarge)?
        } else {
            let power = power.ok_or(Inexact::Fraction)?;
            if !product.is_multiple_of(power) {
                return Err(Inexact::Fraction);
            }
            product / power
        };
        u64::try_from(value).map_err(|_| Inexact::TooLarge)
    }

    /// `None` where there are more significant digits than any quantity needs.
    fn from_digits(whole: &str, fraction: &str, mut exponent: i32) -> Option<Self> {
        let mut digits: u128 = 0;
        // Digits of the number up to here, and zeros after them that may turn out to be its last ones.
        let (mut count, mut zeros) = (0, 0);
        for digit in whole.bytes().chain(fraction.bytes()).map(|byte| byte - b'0') {
            if digit == 0 {
                zeros += usize::from(digits != 0);
                continue;
            }
            count += zeros + 1;
            if count > MAX_DIGITS {
                return None;
            }
            digits = digits * 10_u128.pow(u32::try_from(zeros + 1).ok()?) + u128::from(digit);
            zeros = 0;
        }
        if digits == 0 {
            return Some(Self { digits: 0, exponent: 0 });
        }
        exponent = exponent.checked_add(i32::try_from(zeros).ok()?)?;
        Some(Self { digits, exponent })
    }
}

/// `value` steps of which `per_unit` (a power of ten) make one, as decimal text without trailing zeros.
pub(crate) fn print(value: u64, per_unit: u64) -> String {
    let (whole, part) = (value / per_unit, value % per_unit);
    if part == 0 {
        return whole.to_string();
    }
    let width = per_unit.ilog10() as usize;
    let fraction = format!("{part:0width$}");
    format!("{whole}.{}", fraction.trim_end_matches('0'))
}

fn digits(text: &str) -> (&str, &str) {
    text.split_at(text.bytes().take_while(u8::is_ascii_digit).count())
}
