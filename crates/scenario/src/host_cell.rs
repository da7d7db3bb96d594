//! The host of a row, by its name.

use rexmit_network::two_hosts::{SERVER, host_name};
use rexmit_network::{HostId, Name};
use rexmit_tables::{Cell, Type};
use serde::{Deserialize, Serialize, Serializer};

/// A host in a table, where its column holds its name: `server` or `client`, or that of a host of a network.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(transparent)]
pub struct HostCell(pub Name);

impl HostCell {
    /// As tables name it.
    pub fn name(&self) -> &str {
        &self.0
    }

    /// One of a server and a client.
    pub fn of_two(host: HostId) -> Self {
        Self(Name::Borrowed(host_name(host)))
    }
}

impl Default for HostCell {
    fn default() -> Self {
        Self::of_two(SERVER)
    }
}

impl Serialize for HostCell {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl Cell for HostCell {
    const TYPE: Type = Type::Text;
    const SIZE: usize = 8;

    fn put(&self, out: &mut Vec<u8>, len: usize) {
        self.name().put(out, len);
    }
}
