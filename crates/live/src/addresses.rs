//! Which host a packet is from and for, by the addresses in its header.

use std::collections::HashMap;
use std::net::IpAddr;

use rexmit_network::{ByHost, HostId};

use crate::packet::Frame;

/// The hosts by their addresses.
#[derive(Clone, Debug)]
pub(crate) struct HostsByAddress(HashMap<IpAddr, HostId>);

impl HostsByAddress {
    /// Of hosts with these addresses.
    pub fn of(addresses: &ByHost<IpAddr>) -> Self {
        Self(addresses.iter().map(|(host, address)| (*address, host)).collect())
    }

    /// The host that a frame is for; `None` if it is none of these.
    #[inline]
    pub fn receiver(&self, frame: &Frame) -> Option<HostId> {
        frame.addresses().and_then(|(_, to)| self.0.get(&to).copied())
    }

    /// The host whose address is the frame's source; `None` if it is none of these.
    pub fn sender(&self, frame: &Frame) -> Option<HostId> {
        frame.addresses().and_then(|(from, _)| self.0.get(&from).copied())
    }
}
