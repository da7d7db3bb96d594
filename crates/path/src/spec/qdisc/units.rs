//! Numbers with units as `tc` writes them (tc(8), "PARAMETERS"), read exactly or refused.

/// A whole number: decimal, hexadecimal after `0x`, octal after `0`.
pub fn number(text: &str) -> Option<u32> {
    let digits = |text: &str, radix| {
        text.chars().all(|c| c.is_digit(radix)).then(|| u32::from_str_radix(text, radix).ok()).flatten()
    };
    if let Some(hexadecimal) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        return digits(hexadecimal, 16);
    }
    match text.strip_prefix('0') {
        Some(octal) if !octal.is_empty() => digits(octal, 8),
        _ => digits(text, 10),
    }
}

/// Bytes: `15k` is 15 times 1024, `1mbit` an eighth of 1024 times 1024.
pub fn size(text: &str) -> Option<u32> {
    let unit = |suffix: &str| {
        Some(match suffix {
            "" | "b" => 1,
            "k" | "kb" => 1 << 10,
            "m" | "mb" => 1 << 20,
            "g" | "gb" => 1 << 30,
            "kbit" => 1 << 7,
            "mbit" => 1 << 17,
            "gbit" => 1 << 27,
            _ => return None,
        })
    };
    Decimal::read(text)?.whole(unit)?.try_into().ok()
}

/// Microseconds; without a unit they are meant.
pub fn microseconds(text: &str) -> Option<u32> {
    let unit = |suffix: &str| {
        Some(match suffix {
            "s" | "sec" | "secs" => 1_000_000,
            "ms" | "msec" | "msecs" => 1_000,
            "" | "us" | "usec" | "usecs" => 1,
            _ => return None,
        })
    };
    Decimal::read(text)?.whole(unit)?.try_into().ok()
}

/// Nanoseconds; without a unit they are meant.
pub fn nanoseconds(text: &str) -> Option<u32> {
    let unit = |suffix: &str| {
        Some(match suffix {
            "s" | "sec" | "secs" => 1_000_000_000,
            "ms" | "msec" | "msecs" => 1_000_000,
            "us" | "usec" | "usecs" => 1_000,
            "" | "ns" | "nsec" | "nsecs" => 1,
            _ => return None,
        })
    };
    Decimal::read(text)?.whole(unit)?.try_into().ok()
}

/// Bytes a second, rounded down, as the kernel has them; without a unit, bits a second are meant. `kibit` is 1024 bits, `bps`
/// are bytes.
pub fn rate(text: &str) -> Option<u64> {
    let unit = |suffix: &str| {
        let (prefix, bits) = match suffix {
            "" => ("", 1),
            _ => suffix.strip_suffix("bit").map(|p| (p, 1)).or(suffix.strip_suffix("bps").map(|p| (p, 8)))?,
        };
        let (letter, base) = prefix.strip_suffix('i').map_or((prefix, 1000_u64), |letter| (letter, 1024));
        let power = match letter {
            "" if base == 1000 => 0,
            "k" => 1,
            "m" => 2,
            "g" => 3,
            "t" => 4,
            _ => return None,
        };
        Some(bits * base.pow(power))
    };
    Decimal::read(text)?.divided(unit, 8)?.0.try_into().ok()
}

/// A number from 0 to 1.
pub fn probability(text: &str) -> Option<f64> {
    let plain = text.chars().all(|c| c.is_ascii_digit() || c == '.');
    let number: f64 = text.parse().ok().filter(|_| plain)?;
    (0.0..=1.0).contains(&number).then_some(number)
}

/// A decimal number with a unit after it.
struct Decimal {
    digits: u128,
    /// Digits after the point.
    places: u32,
    unit: String,
}

impl Decimal {
    fn read(text: &str) -> Option<Self> {
        let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, unit) = text.split_at(end);
        let (whole, part) = number.split_once('.').unwrap_or((number, ""));
        // What is longer has no meaning here, and would not fit.
        let fits = (1..=20).contains(&(whole.len() + part.len()));
        let digits = format!("{whole}{part}").parse().ok().filter(|_| fits)?;
        Some(Self { digits, places: part.len() as u32, unit: unit.to_ascii_lowercase() })
    }

    /// The number in this many of the smallest unit, if it is a whole one.
    fn whole(&self, of: impl FnOnce(&str) -> Option<u64>) -> Option<u128> {
        self.divided(of, 1).filter(|(_, rest)| *rest == 0).map(|(whole, _)| whole)
    }

    fn divided(&self, of: impl FnOnce(&str) -> Option<u64>, by: u128) -> Option<(u128, u128)> {
        let all = self.digits.checked_mul(of(&self.unit)?.into())?;
        let by = by * 10_u128.pow(self.places);
        Some((all / by, all % by))
    }
}
