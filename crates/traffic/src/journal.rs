//! What an application wrote and read, message by message.

use rexmit_units::Instant;

/// A write as the application began it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// When the application called.
    pub at: Instant,
    /// How much the application had written before, bytes.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// Bytes that a read gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// When.
    pub at: Instant,
    /// Where they stand in all that the peer's application wrote.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
}

/// Entries that wait to be taken; off until asked for, so that a run which does not want them pays nothing.
#[derive(Clone, Debug)]
pub(crate) struct Journal<T>(Option<Vec<T>>);

impl<T> Default for Journal<T> {
    fn default() -> Self {
        Self(None)
    }
}

impl<T> Journal<T> {
    /// From now on entries are kept.
    pub fn begin(&mut self) {
        self.0.get_or_insert_with(Vec::new);
    }

    #[inline]
    pub fn note(&mut self, entry: impl FnOnce() -> T) {
        if let Some(entries) = &mut self.0 {
            entries.push(entry());
        }
    }

    /// Takes what has been kept.
    pub fn drain(&mut self) -> impl Iterator<Item = T> + '_ {
        self.0.iter_mut().flat_map(|entries| entries.drain(..))
    }
}
