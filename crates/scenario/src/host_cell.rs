//! The host of a row: a number here, a name where it is written.

use rexmit_network::HostId;
use rexmit_network::two_hosts::{SERVER, Side, host_name};
use rexmit_tables::{Cell, Type};
use serde::{Deserialize, Serialize, Serializer};

/// A host in a table, where its column holds its name: `server` or `client`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(from = "Side")]
pub struct HostCell(pub HostId);

impl HostCell {
    /// As tables name it.
    pub fn name(self) -> &'static str {
        host_name(self.0)
    }
}

impl Default for HostCell {
    fn default() -> Self {
        Self(SERVER)
    }
}

impl From<Side> for HostCell {
    fn from(side: Side) -> Self {
        Self(side.host())
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
