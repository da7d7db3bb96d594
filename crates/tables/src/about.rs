//! What a column means.

/// What a column means: one line, the unit of its values, and what null stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct About {
    /// What it means, in one line, without its unit.
    pub meaning: &'static str,
    /// The unit of its values, where they have one.
    pub unit: Option<Unit>,
    /// What null stands for, of a column that may have it.
    pub null: &'static str,
}

/// The unit of a quantity in a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Nanoseconds.
    Nanoseconds,
    /// Milliseconds.
    Milliseconds,
    /// Bits a second.
    BitsPerSecond,
    /// Bytes.
    Bytes,
    /// Packets, segments or chunks.
    Packets,
    /// A share of 1.
    Share,
}

impl Unit {
    /// As it is written behind a number; `share` for a share of 1.
    pub fn name(self) -> &'static str {
        match self {
            Self::Nanoseconds => "ns",
            Self::Milliseconds => "ms",
            Self::BitsPerSecond => "bit/s",
            Self::Bytes => "bytes",
            Self::Packets => "packets",
            Self::Share => "share",
        }
    }
}

impl About {
    const fn new(meaning: &'static str, unit: Option<Unit>) -> Self {
        Self { meaning, unit, null: "not known" }
    }

    /// The same, where null stands for this.
    #[must_use]
    pub const fn or_null(self, null: &'static str) -> Self {
        Self { null, ..self }
    }
}

impl From<&'static str> for About {
    fn from(meaning: &'static str) -> Self {
        plain(meaning)
    }
}

/// A column without a unit.
pub const fn plain(meaning: &'static str) -> About {
    About::new(meaning, None)
}

/// A column of nanoseconds.
pub const fn ns(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::Nanoseconds))
}

/// A column of milliseconds.
pub const fn ms(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::Milliseconds))
}

/// A column of bits a second.
pub const fn bit_s(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::BitsPerSecond))
}

/// A column of bytes.
pub const fn bytes(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::Bytes))
}

/// A column of packets, segments or chunks.
pub const fn packets(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::Packets))
}

/// A column of shares of 1.
pub const fn share(meaning: &'static str) -> About {
    About::new(meaning, Some(Unit::Share))
}
