//! Something for each host, link or connection.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Index, IndexMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{ConnectionId, HostId, Id, LinkId};

/// Something for each host.
pub type ByHost<T> = Table<HostId, T>;
/// Something for each link.
pub type ByLink<T> = Table<LinkId, T>;
/// Something for each connection.
pub type ByConnection<T> = Table<ConnectionId, T>;

/// Something for each number of a kind, in their order. Written to a file it is a list.
///
/// # Panics
/// As a slice does, where it is indexed by a number that it has nothing for.
pub struct Table<I, T> {
    items: Vec<T>,
    index: PhantomData<fn(I) -> I>,
}

impl<I: Id, T> Table<I, T> {
    /// An empty one.
    pub const fn new() -> Self {
        Self { items: Vec::new(), index: PhantomData }
    }

    /// An empty one with room for this many.
    pub fn with_capacity(count: usize) -> Self {
        Self { items: Vec::with_capacity(count), index: PhantomData }
    }

    /// How many it has something for.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if it has nothing.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// Adds what is for the next number.
    pub fn push(&mut self, item: T) -> I {
        self.items.push(item);
        I::from_index(self.items.len() - 1)
    }

    /// What is for `id`, if there is something.
    pub fn get(&self, id: I) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The numbers.
    pub fn ids(&self) -> impl DoubleEndedIterator<Item = I> + use<I, T> {
        (0..self.items.len()).map(I::from_index)
    }

    /// Numbers and what is for them.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (I, &T)> {
        self.items.iter().enumerate().map(|(n, item)| (I::from_index(n), item))
    }

    /// The same, to change it.
    pub fn iter_mut(&mut self) -> impl DoubleEndedIterator<Item = (I, &mut T)> {
        self.items.iter_mut().enumerate().map(|(n, item)| (I::from_index(n), item))
    }

    /// What is for each, in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The same, to change it.
    pub fn values_mut(&mut self) -> std::slice::IterMut<'_, T> {
        self.items.iter_mut()
    }

    /// What is for each, in order.
    pub fn into_values(self) -> std::vec::IntoIter<T> {
        self.items.into_iter()
    }

    /// A table of what `make` makes of each.
    pub fn map<U>(self, make: impl FnMut(T) -> U) -> Table<I, U> {
        self.items.into_iter().map(make).collect()
    }

    /// The same of references.
    pub fn each_ref(&self) -> Table<I, &T> {
        self.items.iter().collect()
    }
}

impl<I: Id, T> Index<I> for Table<I, T> {
    type Output = T;

    #[inline]
    fn index(&self, id: I) -> &T {
        &self.items[id.index()]
    }
}

impl<I: Id, T> IndexMut<I> for Table<I, T> {
    #[inline]
    fn index_mut(&mut self, id: I) -> &mut T {
        &mut self.items[id.index()]
    }
}

impl<I: Id, T> FromIterator<T> for Table<I, T> {
    fn from_iter<A: IntoIterator<Item = T>>(items: A) -> Self {
        Self { items: items.into_iter().collect(), index: PhantomData }
    }
}

impl<I: Id, T> Default for Table<I, T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<I, T: Clone> Clone for Table<I, T> {
    fn clone(&self) -> Self {
        Self { items: self.items.clone(), index: PhantomData }
    }
}

impl<I, T: fmt::Debug> fmt::Debug for Table<I, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.items.fmt(f)
    }
}

impl<I, T: PartialEq> PartialEq for Table<I, T> {
    fn eq(&self, other: &Self) -> bool {
        self.items == other.items
    }
}

impl<I, T: Eq> Eq for Table<I, T> {}

impl<I, T: Serialize> Serialize for Table<I, T> {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        self.items.serialize(to)
    }
}

impl<'de, I, T: Deserialize<'de>> Deserialize<'de> for Table<I, T> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self { items: Vec::deserialize(from)?, index: PhantomData })
    }
}
