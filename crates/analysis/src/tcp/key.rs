//! Which connection a packet belongs to.

use std::hash::{Hash, Hasher};
use std::net::{IpAddr, SocketAddr};

/// The two ends of a connection at an interface, the same for both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Key {
    low: (u128, u16),
    high: (u128, u16),
    interface: u32,
}

impl Key {
    /// The key, and whether `src` is the lower end.
    pub(super) fn new(interface: u32, src: SocketAddr, dst: SocketAddr) -> (Self, bool) {
        let (src, dst) = ((number(src.ip()), src.port()), (number(dst.ip()), dst.port()));
        if src <= dst {
            (Self { low: src, high: dst, interface }, true)
        } else {
            (Self { low: dst, high: src, interface }, false)
        }
    }
}

impl Hash for Key {
    fn hash<H: Hasher>(&self, state: &mut H) {
        // What differs between the flows of a capture fits into few words; equality looks at everything.
        let fold = |n: u128| (n >> 64) as u64 ^ n as u64;
        let ports = u64::from(self.low.1) << 48 | u64::from(self.high.1) << 32 | u64::from(self.interface);
        state.write_u64(fold(self.low.0).rotate_left(32) ^ fold(self.high.0));
        state.write_u64(ports);
    }
}

fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits(),
    }
}
