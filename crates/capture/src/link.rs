//! Link layers: where the IP packet begins in what a capture holds.

use rexmit_wire::ParseError;

/// A link-layer type by its number in the list of tcpdump.org.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: a protocol family in the byte order of the host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// Raw IP.
    pub const RAW: Self = Self(101);
    /// OpenBSD loopback: a protocol family in network byte order.
    pub const LOOP: Self = Self(108);
    /// Linux cooked capture, version 1.
    pub const LINUX_SLL: Self = Self(113);
    /// Raw IPv4.
    pub const IPV4: Self = Self(228);
    /// Raw IPv6.
    pub const IPV6: Self = Self(229);
    /// Linux cooked capture, version 2.
    pub const LINUX_SLL2: Self = Self(276);

    /// Bytes of link-layer header before the IP packet in `frame`.
    ///
    /// # Errors
    /// [`RecordError::LinkType`] for a type that this crate does not know, [`RecordError::NotIp`] for another
    /// protocol, [`RecordError::Parse`] where the header is cut off.
    pub fn ip_offset(self, frame: &[u8]) -> Result<usize, RecordError> {
        match self {
            // 12 and 14 are what some systems write for raw IP.
            Self::RAW | Self::IPV4 | Self::IPV6 | Self(12 | 14) => Ok(0),
            // What follows says its version itself; families are numbered differently by each BSD.
            Self::NULL | Self::LOOP => ip_version(frame, 4),
            Self::ETHERNET => ethertype(frame, 12),
            Self::LINUX_SLL => ethertype(frame, 14),
            Self::LINUX_SLL2 => sll2(frame),
            Self(n) => Err(RecordError::LinkType(n)),
        }
    }
}

impl Default for LinkType {
    fn default() -> Self {
        Self::RAW
    }
}

/// Why a record gives no packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RecordError {
    /// A link layer that this crate does not know, by its number.
    #[error("link-layer type {0} is not known: raw IP, Ethernet, Linux cooked and BSD loopback are")]
    LinkType(u16),
    /// A frame of another protocol, by its EtherType (0 where it has none).
    #[error("not an ip packet: ethertype {0:#06x}")]
    NotIp(u16),
    /// An IP packet that cannot be read.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

const ETHERTYPE_IPV4: u16 = 0x0800;
const ETHERTYPE_IPV6: u16 = 0x86dd;
/// 802.1Q, 802.1ad, and what came before it.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];

/// The frame's EtherType is at `at`; VLAN tags are passed over.
fn ethertype(frame: &[u8], mut at: usize) -> Result<usize, RecordError> {
    loop {
        let found = be16(frame, at)?;
        at += 2;
        if ETHERTYPES_VLAN.contains(&found) {
            // The rest of the tag.
            at += 2;
            continue;
        }
        return if is_ip(found) { Ok(at) } else { Err(RecordError::NotIp(found)) };
    }
}

fn sll2(frame: &[u8]) -> Result<usize, RecordError> {
    const HEADER: usize = 20;
    let found = be16(frame, 0)?;
    if !is_ip(found) {
        return Err(RecordError::NotIp(found));
    }
    be16(frame, HEADER - 2)?;
    Ok(HEADER)
}

fn ip_version(frame: &[u8], at: usize) -> Result<usize, RecordError> {
    match frame.get(at).map(|b| b >> 4) {
        Some(4 | 6) => Ok(at),
        Some(_) => Err(RecordError::NotIp(0)),
        None => Err(cut(frame, at + 1)),
    }
}

fn is_ip(ethertype: u16) -> bool {
    matches!(ethertype, ETHERTYPE_IPV4 | ETHERTYPE_IPV6)
}

fn be16(frame: &[u8], at: usize) -> Result<u16, RecordError> {
    match frame.get(at..at + 2) {
        Some(bytes) => Ok(u16::from_be_bytes([bytes[0], bytes[1]])),
        None => Err(cut(frame, at + 2)),
    }
}

fn cut(frame: &[u8], need: usize) -> RecordError {
    ParseError::Truncated { have: frame.len(), need }.into()
}
