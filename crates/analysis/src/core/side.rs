//! The two sides of a connection or association, and a value for each.
//!
//! Nowhere else is a side a number.

use std::ops::{Index, IndexMut};

/// Which side of a connection or association sent a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SideName {
    /// The side that opened it; where no opening was seen, the sender of the first packet.
    Client,
    /// The other one.
    Server,
}

impl SideName {
    /// Both, the client first.
    pub const BOTH: [Self; 2] = [Self::Client, Self::Server];

    /// The other one.
    #[must_use]
    #[inline]
    pub fn other(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// A value for each side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sides<T> {
    pub(crate) client: T,
    pub(crate) server: T,
}

impl<T> Sides<T> {
    /// What `value` says of each side.
    pub(crate) fn from_fn(mut value: impl FnMut(SideName) -> T) -> Self {
        Self { client: value(SideName::Client), server: value(SideName::Server) }
    }

    /// Both, the client's first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        [&self.client, &self.server].into_iter()
    }

    /// Both, the client's first.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        [&mut self.client, &mut self.server].into_iter()
    }

    /// What `value` makes of each.
    pub(crate) fn map<U>(self, mut value: impl FnMut(T) -> U) -> Sides<U> {
        Sides { client: value(self.client), server: value(self.server) }
    }
}

impl<T> Index<SideName> for Sides<T> {
    type Output = T;
    #[inline]
    fn index(&self, side: SideName) -> &T {
        match side {
            SideName::Client => &self.client,
            SideName::Server => &self.server,
        }
    }
}

impl<T> IndexMut<SideName> for Sides<T> {
    #[inline]
    fn index_mut(&mut self, side: SideName) -> &mut T {
        match side {
            SideName::Client => &mut self.client,
            SideName::Server => &mut self.server,
        }
    }
}
