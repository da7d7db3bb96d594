//! The pattern file of the extended Dummynet, as its generator writes it (hurtig-2006, appendix D.1).
//!
//! The file is an array of 16-bit words, little endian; the number of words is the generator's "sequence
//! factor". Entry `n` is bit `15 - n % 16` of word `n / 16`. The emulator counts packets from 1 and looks up
//! entry `count % length`, so entry 0 belongs to the last packet of each period and to no first packet
//! (EM-DN-11, EM-DN-12): list `1,4` loses the first and the fourth packet, and `0` loses nothing in a flow that is
//! shorter than the pattern.
//!
//! In time mode the list holds switch points: entries before the first have the start value, and each point
//! turns it over from its entry on.

use rexmit_units::Duration;

use super::{Pattern, Positions, Rule, Scope, Times};

/// A pattern of 16 times its number of words entries, each loss or no loss.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Words(Vec<u16>);

/// The most words: a pattern of a million entries.
pub const MAX_FACTOR: usize = 1 << 16;

/// How files that are easily given by mistake begin: any other bytes are a pattern.
const OTHER_FILES: &[(&[u8], &str)] = &[
    (b"\x0a\x0d\x0d\x0a", "a capture (pcapng)"),
    (b"\xd4\xc3\xb2\xa1", "a capture (pcap)"),
    (b"\xa1\xb2\xc3\xd4", "a capture (pcap)"),
    (b"\x4d\x3c\xb2\xa1", "a capture (pcap)"),
    (b"\xa1\xb2\x3c\x4d", "a capture (pcap)"),
    (b"PAR1", "a Parquet table"),
    (b"\x89PNG", "an image (PNG)"),
    (b"%PDF", "a PDF"),
    (b"PK\x03\x04", "a ZIP archive"),
    (b"\x1f\x8b\x08", "a compressed file (gzip)"),
    (b"\x7fELF", "a program (ELF)"),
];

impl Words {
    /// Data mode: a loss at each of `entries`. Also returns those beyond the pattern, which the generator
    /// leaves out with a warning.
    ///
    /// # Errors
    /// Where `factor` is zero or more than [`MAX_FACTOR`].
    pub fn data(factor: usize, entries: &Positions) -> Result<(Self, Positions), String> {
        let mut words = Self::zeros(factor)?;
        for &(first, last) in entries.ranges() {
            for entry in first..=last.min(words.len() - 1) {
                words.set(entry, true);
            }
        }
        let beyond = entries.above(words.len() - 1);
        Ok((words, beyond))
    }

    /// Time mode: `points` turn over a value that is `start` at first. Also returns the points beyond the
    /// pattern, which the generator leaves out with a warning.
    ///
    /// # Errors
    /// Where `factor` is zero or more than [`MAX_FACTOR`].
    pub fn time(factor: usize, points: &Positions, start: bool) -> Result<(Self, Positions), String> {
        let mut words = Self::zeros(factor)?;
        let mut value = start;
        for entry in 0..words.len() {
            value ^= points.contains(entry);
            words.set(entry, value);
        }
        let beyond = points.above(words.len() - 1);
        Ok((words, beyond))
    }

    /// Reads the bytes of a file.
    ///
    /// # Errors
    /// Where they are not a whole number of words, none, or too many, or begin as files of another kind do.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, String> {
        if let Some((_, kind)) = OTHER_FILES.iter().find(|(magic, _)| bytes.starts_with(magic)) {
            return Err(format!("this is {kind}, not a pattern file"));
        }
        if bytes.is_empty() || !bytes.len().is_multiple_of(2) || bytes.len() > 2 * MAX_FACTOR {
            return Err(format!(
                "a pattern file has 2 bytes for each word, from 1 to {MAX_FACTOR} words; this has {} bytes",
                bytes.len()
            ));
        }
        Ok(Self(bytes.chunks_exact(2).map(|pair| u16::from_le_bytes([pair[0], pair[1]])).collect()))
    }

    /// The bytes of a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        self.0.iter().flat_map(|word| word.to_le_bytes()).collect()
    }

    /// The words.
    pub fn words(&self) -> &[u16] {
        &self.0
    }

    /// Number of entries: after this many packets the pattern starts over.
    #[allow(clippy::len_without_is_empty, reason = "never empty")]
    pub fn len(&self) -> u64 {
        16 * self.0.len() as u64
    }

    /// Whether entry `entry` is a loss; past the end the pattern starts over.
    pub fn entry(&self, entry: u64) -> bool {
        let entry = entry % self.len();
        self.0[(entry / 16) as usize] >> (15 - entry % 16) & 1 == 1
    }

    /// The pattern that these words are for the emulator, counting packets.
    pub fn to_pattern(&self) -> Pattern {
        let period = self.len();
        // Packet `period` is the one that looks up entry 0.
        let positions: Positions = (1..=period).filter(|n| self.entry(*n)).collect();
        if positions.is_empty() {
            return Pattern::at(Positions::one(0));
        }
        Rule::Position { positions, period: Some(period), scope: Scope::Direction }.into()
    }

    /// The pattern that these words are where each entry stands for a time of `step` (1 ms in that emulator).
    ///
    /// # Errors
    /// Where `step` is zero.
    pub fn to_time_pattern(&self, step: Duration) -> Result<Pattern, String> {
        if step.is_zero() {
            return Err("the time of an entry must be above zero".into());
        }
        let losses = (0..self.len()).filter(|n| self.entry(*n));
        let times = Times::from_spans(losses.map(|n| (step * n, step * (n + 1))));
        if times.spans().is_empty() {
            return Ok(Pattern::at(Positions::one(0)));
        }
        Ok(Rule::Time { times, period: Some(step * self.len()) }.into())
    }

    /// The words that lose the packets of `pattern`: positions of the whole direction. A pattern that ends needs
    /// a `factor`: it then starts over after 16 times as many packets, as every pattern of that emulator does.
    ///
    /// # Errors
    /// Where the pattern names packets in another way, or does not fit.
    pub fn from_pattern(pattern: &Pattern, factor: Option<usize>) -> Result<Self, String> {
        let [Rule::Position { positions, period, scope: Scope::Direction }] = pattern.rules.as_slice() else {
            return Err(format!("{pattern}: a pattern file holds positions of the whole direction only"));
        };
        let factor = match (factor, period) {
            (Some(factor), None) => factor,
            (None, Some(period)) if period.is_multiple_of(16) => (period / 16) as usize,
            (Some(factor), Some(period)) if (factor as u64).checked_mul(16) == Some(*period) => factor,
            (None, None) => {
                return Err(format!("{pattern}: a pattern that ends needs a factor (words of 16)"));
            }
            (_, Some(period)) => {
                return Err(format!("period {period} is not 16 x factor; allowed: a multiple of 16"));
            }
        };
        let mut words = Self::zeros(factor)?;
        let length = words.len();
        // Packet `length` of a period looks up entry 0.
        let named = positions.ranges().iter().map(|&(a, b)| (a.max(1), b.min(length)));
        let entries = Positions::from_ranges(named);
        let beyond = positions.above(length);
        if period.is_none() && !beyond.is_empty() {
            return Err(format!("position {beyond} is beyond {length} packets (factor {factor})"));
        }
        for &(first, last) in entries.ranges() {
            (first..=last).for_each(|n| words.set(n % length, true));
        }
        Ok(words)
    }

    fn zeros(factor: usize) -> Result<Self, String> {
        if (1..=MAX_FACTOR).contains(&factor) {
            Ok(Self(vec![0; factor]))
        } else {
            Err(format!("factor = {factor}: allowed: 1 to {MAX_FACTOR} words of 16"))
        }
    }

    fn set(&mut self, entry: u64, loss: bool) {
        let bit = 1 << (15 - entry % 16);
        let word = &mut self.0[(entry / 16) as usize];
        if loss { *word |= bit } else { *word &= !bit }
    }
}
