//! The words after a discipline's name: options, some with a value after them.

use super::units;

/// Words that are still to be read.
pub struct Words<'a> {
    discipline: &'a str,
    left: std::slice::Iter<'a, &'a str>,
    /// The option whose value is to be read.
    option: &'a str,
}

impl<'a> Words<'a> {
    pub fn new(discipline: &'a str, options: &'a [&'a str]) -> Self {
        Self { discipline, left: options.iter(), option: "" }
    }

    /// The name before them.
    pub fn discipline(&self) -> &'a str {
        self.discipline
    }

    /// The next option.
    pub fn option(&mut self) -> Option<&'a str> {
        self.option = self.left.next()?;
        Some(self.option)
    }

    /// The value of the option that was read last: what `read` makes of its word, which is `what`, such as `example`.
    pub fn value<T>(
        &mut self,
        read: impl FnOnce(&str) -> Option<T>,
        (what, example): (&str, &str),
    ) -> Result<T, String> {
        let word = self.left.next().copied().unwrap_or_default();
        let (discipline, option) = (self.discipline, self.option);
        read(word).ok_or_else(|| {
            format!("{discipline}: {option} {word:?} is not {what}; write it as \"{option} {example}\"")
        })
    }

    /// A whole number between these.
    pub fn number(&mut self, least: u32, most: u32) -> Result<u32, String> {
        let read = |word: &str| units::number(word).filter(|number| (least..=most).contains(number));
        let what = match most {
            u32::MAX => format!("a whole number from {least} on"),
            _ => format!("a whole number from {least} to {most}"),
        };
        self.value(read, (&what, &least.max(most.min(10)).to_string()))
    }

    /// Bytes, at least this many.
    pub fn size(&mut self, least: u32) -> Result<u32, String> {
        let read = |word: &str| units::size(word).filter(|size| *size >= least);
        self.value(read, (&format!("a size of whole bytes from {least} on"), "15k"))
    }

    /// Microseconds, at least this many.
    pub fn time(&mut self, least: u32) -> Result<u32, String> {
        let read = |word: &str| units::microseconds(word).filter(|time| *time >= least);
        self.value(read, (&format!("a time of whole microseconds from {least} on"), "5ms"))
    }

    /// Bytes a second, at least this many.
    pub fn rate(&mut self, least: u64) -> Result<u64, String> {
        let read = |word: &str| units::rate(word).filter(|rate| *rate >= least);
        self.value(read, ("a rate", "10mbit"))
    }

    /// A probability.
    pub fn probability(&mut self) -> Result<f64, String> {
        self.value(units::probability, ("a probability", "0.02"))
    }

    /// There is no such option; these are.
    pub fn unknown<'b>(&self, options: impl IntoIterator<Item = &'b str>) -> String {
        let (discipline, option) = (self.discipline, self.option);
        let all: Vec<&str> = options.into_iter().collect();
        if all.is_empty() {
            return format!("{discipline}: {option:?} is not an option: it has none");
        }
        format!("{discipline}: {option:?} is not an option; allowed: {}", all.join(", "))
    }
}
