//! Numbers of hosts, links, connections and ends.

use serde::{Deserialize, Serialize};

/// A number that tables are indexed by: the first is 0, and none is left out.
pub trait Id: Copy {
    /// Its place in a table.
    fn index(self) -> usize;

    /// The one at this place; of a place beyond the largest number, the largest.
    fn from_index(index: usize) -> Self;
}

macro_rules! id {
    ($(#[$about:meta])* $name:ident: $number:ty) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name($number);

        impl $name {
            /// The one with this number, from 0.
            pub const fn new(number: $number) -> Self {
                Self(number)
            }

            /// Its number, from 0.
            pub const fn number(self) -> $number {
                self.0
            }
        }

        impl Id for $name {
            #[inline]
            fn index(self) -> usize {
                self.0 as usize
            }

            #[inline]
            fn from_index(index: usize) -> Self {
                Self(<$number>::try_from(index).unwrap_or(<$number>::MAX))
            }
        }
    };
}

id! {
    /// A host. In files it has a name, which its [`crate::Network`] knows.
    HostId: u16
}

id! {
    /// A point where links meet: packets are forwarded there.
    PointId: u16
}

id! {
    /// One direction of one link. In files it has a name, likewise.
    LinkId: u32
}

id! {
    /// A connection, or an association of SCTP.
    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    ConnectionId: u32
}

/// One of the two ends of a connection. Ends are ordered by connection, then by host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EndId {
    /// The connection.
    pub connection: ConnectionId,
    /// The host that this end is at.
    pub host: HostId,
}
