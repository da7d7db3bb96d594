//! Both ends of every connection.

use std::ops::{Index, IndexMut};

use crate::{ConnectionId, EndId, HostId, Id};

/// The number of an end among all of a run: by connection, a connection's first end before its second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndIndex(u32);

impl EndIndex {
    /// The one with this number.
    pub const fn new(number: u32) -> Self {
        Self(number)
    }

    /// Its number, from 0.
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The connection that it is an end of.
    #[inline]
    pub const fn connection(self) -> ConnectionId {
        ConnectionId::new(self.0 / 2)
    }

    /// The other end of its connection.
    #[inline]
    #[must_use]
    pub const fn peer(self) -> Self {
        Self(self.0 ^ 1)
    }

    /// The first end of a connection.
    #[inline]
    pub const fn first_of(connection: ConnectionId) -> Self {
        Self(2 * connection.number())
    }
}

/// Something for each end of every connection. The two ends of a connection stand next to each other, in the order in
/// which they were given.
///
/// # Panics
/// As a slice does, where it is indexed by an end that it does not have.
#[derive(Clone, Debug)]
pub struct Ends<T> {
    items: Vec<T>,
    /// The host of each end: apart, so that whoever looks for an end touches no other.
    hosts: Vec<HostId>,
}

impl<T> Ends<T> {
    /// Of no connection yet.
    pub const fn new() -> Self {
        Self { items: Vec::new(), hosts: Vec::new() }
    }

    /// Of no connection yet, with room for this many.
    pub fn with_capacity(connections: usize) -> Self {
        Self { items: Vec::with_capacity(2 * connections), hosts: Vec::with_capacity(2 * connections) }
    }

    /// Adds a connection by its two ends, which are at two hosts; their order is that of the table.
    pub fn push(&mut self, ends: [(HostId, T); 2]) -> ConnectionId {
        let connection = ConnectionId::from_index(self.connections());
        let [(host, item), (other_host, other)] = ends;
        self.hosts.extend([host, other_host]);
        self.items.push(item);
        self.items.push(other);
        connection
    }

    /// Adds a connection between two hosts, whose ends `make` makes one after the other: ends may be large, and are moved
    /// no more often than they must.
    ///
    /// # Errors
    /// The first of `make`; the connection has not been added then.
    #[inline]
    pub fn push_with<E>(
        &mut self,
        hosts: [HostId; 2],
        mut make: impl FnMut(HostId) -> Result<T, E>,
    ) -> Result<ConnectionId, E> {
        let before = self.items.len();
        for host in hosts {
            match make(host) {
                Ok(end) => self.items.push(end),
                Err(error) => {
                    self.items.truncate(before);
                    return Err(error);
                }
            }
        }
        self.hosts.extend(hosts);
        Ok(EndIndex(before as u32).connection())
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.items.len() / 2
    }

    /// How many ends there are.
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// True if there are none.
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// The end of this connection at this host; `None` if there is none.
    #[inline]
    pub fn find(&self, end: EndId) -> Option<EndIndex> {
        let first = EndIndex::first_of(end.connection);
        let hosts = self.hosts.get(first.0 as usize..)?.first_chunk::<2>()?;
        if hosts[0] == end.host { Some(first) } else { (hosts[1] == end.host).then_some(first.peer()) }
    }

    /// The host that an end is at.
    #[inline]
    pub fn host(&self, at: EndIndex) -> HostId {
        self.hosts[at.0 as usize]
    }

    /// The connection and the host of an end.
    #[inline]
    pub fn id(&self, at: EndIndex) -> EndId {
        EndId { connection: at.connection(), host: self.host(at) }
    }

    /// The numbers of all ends, in order.
    pub fn indices(&self) -> impl DoubleEndedIterator<Item = EndIndex> + use<T> {
        (0..self.items.len() as u32).map(EndIndex)
    }

    /// The numbers of the first end of each connection, in order.
    pub fn firsts(&self) -> impl Iterator<Item = EndIndex> + use<T> {
        (0..self.items.len() as u32 / 2).map(|number| EndIndex::first_of(ConnectionId::new(number)))
    }

    /// Every end with its number, in order.
    pub fn iter(&self) -> impl Iterator<Item = (EndIndex, &T)> {
        (0..).map(EndIndex).zip(&self.items)
    }

    /// The same, to change it.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = (EndIndex, &mut T)> {
        (0..).map(EndIndex).zip(&mut self.items)
    }

    /// Every end, in order.
    pub fn values(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }

    /// The two ends of each connection, in order.
    pub fn pairs(&self) -> std::slice::Iter<'_, [T; 2]> {
        self.items.as_chunks().0.iter()
    }
}

impl<T> Default for Ends<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Index<EndIndex> for Ends<T> {
    type Output = T;

    #[inline]
    fn index(&self, at: EndIndex) -> &T {
        &self.items[at.0 as usize]
    }
}

impl<T> IndexMut<EndIndex> for Ends<T> {
    #[inline]
    fn index_mut(&mut self, at: EndIndex) -> &mut T {
        &mut self.items[at.0 as usize]
    }
}
