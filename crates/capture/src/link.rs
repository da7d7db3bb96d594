//! Link layers: where the IP packet begins in what a capture holds.

use rexmit_wire::ParseError;
use rexmit_wire::limits::LAYERS;

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
    /// PPP, with or without the address and control fields of HDLC.
    pub const PPP: Self = Self(9);
    /// PPP in HDLC-like framing.
    pub const PPP_HDLC: Self = Self(50);
    /// Cisco's HDLC.
    pub const CHDLC: Self = Self(104);
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

    /// Bytes of link-layer header before the IP packet in `frame`. VLAN tags (802.1Q, 802.1ad), MPLS labels and
    /// PPPoE sessions are passed over.
    ///
    /// # Errors
    /// [`RecordError::LinkType`] for a type that this crate does not know, [`RecordError::NotIp`] for another
    /// protocol, [`RecordError::Parse`] where the header is cut off.
    #[inline]
    pub fn ip_offset(self, frame: &[u8]) -> Result<usize, RecordError> {
        match self {
            // What almost every frame is.
            Self::ETHERNET if frame.get(12..14) == Some(&[0x08, 0x00]) => Ok(14),
            // 12 and 14 are what some systems write for raw IP.
            Self::RAW | Self::IPV4 | Self::IPV6 | Self(12 | 14) => Ok(0),
            // What follows says its version itself; families are numbered differently by each BSD.
            Self::NULL | Self::LOOP => ip_version(frame, 4),
            Self::ETHERNET => ethertype(frame, be16(frame, 12)?, 14),
            Self::LINUX_SLL => ethertype(frame, be16(frame, 14)?, 16),
            Self::LINUX_SLL2 => {
                const HEADER: usize = 20;
                be16(frame, HEADER - 2)?;
                ethertype(frame, be16(frame, 0)?, HEADER)
            }
            Self::PPP | Self::PPP_HDLC => {
                ppp(frame, if be16(frame, 0)? == HDLC_ALL_STATIONS { 2 } else { 0 })
            }
            Self::CHDLC => ethertype(frame, be16(frame, 2)?, 4),
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
    #[error("link-layer type {0} is not known: raw IP, Ethernet, Linux cooked, BSD loopback and PPP are")]
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
const ETHERTYPE_PPPOE_SESSION: u16 = 0x8864;
/// 802.1Q, 802.1ad, and what came before it.
const ETHERTYPES_VLAN: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// RFC 3032 section 5.
const ETHERTYPES_MPLS: [u16; 2] = [0x8847, 0x8848];
/// Below, the field is the length of an IEEE 802.3 frame.
const ETHERTYPE_LEAST: u16 = 0x0600;
/// The head of 802.2 that has an EtherType after it (RFC 1042).
const SNAP: [u8; 6] = [0xaa, 0xaa, 0x03, 0, 0, 0];
/// RFC 1661 section 2: protocols of PPP.
const PPP_IPV4: u16 = 0x0021;
const PPP_IPV6: u16 = 0x0057;
/// RFC 1662 section 3.1: address and control.
const HDLC_ALL_STATIONS: u16 = 0xff03;

const TOO_DEEP: RecordError = RecordError::Parse(ParseError::TooDeep { layers: LAYERS });

/// What `found` says of the bytes from `at` on.
fn ethertype(frame: &[u8], mut found: u16, mut at: usize) -> Result<usize, RecordError> {
    for _ in 0..LAYERS {
        match found {
            ETHERTYPE_IPV4 | ETHERTYPE_IPV6 => return Ok(at),
            ETHERTYPE_PPPOE_SESSION => return pppoe(frame, at),
            tag if ETHERTYPES_VLAN.contains(&tag) => {
                found = be16(frame, at + 2)?;
                at += 4;
            }
            labels if ETHERTYPES_MPLS.contains(&labels) => return mpls(frame, at),
            len if len < ETHERTYPE_LEAST && is_snap(&frame[at..]) => {
                found = be16(frame, at + SNAP.len())?;
                at += SNAP.len() + 2;
            }
            other => return Err(RecordError::NotIp(other)),
        }
    }
    Err(TOO_DEEP)
}

/// Whether that head follows, as far as it is there.
fn is_snap(rest: &[u8]) -> bool {
    rest.iter().zip(&SNAP).all(|(found, expected)| found == expected)
}

/// Labels of four bytes up to the one with the bottom bit (RFC 3032 section 2.1); what follows is not said, and
/// may be a frame of another kind.
fn mpls(frame: &[u8], mut at: usize) -> Result<usize, RecordError> {
    for _ in 0..LAYERS {
        if be16(frame, at + 2)? & 0x0100 != 0 {
            return ip_version(frame, at + 4);
        }
        at += 4;
    }
    Err(TOO_DEEP)
}

/// Version and type, code 0 for data, session, length, then PPP (RFC 2516 section 4).
fn pppoe(frame: &[u8], at: usize) -> Result<usize, RecordError> {
    if be16(frame, at)? != 0x1100 {
        return Err(RecordError::NotIp(ETHERTYPE_PPPOE_SESSION));
    }
    ppp(frame, at + 6)
}

fn ppp(frame: &[u8], at: usize) -> Result<usize, RecordError> {
    match be16(frame, at)? {
        PPP_IPV4 | PPP_IPV6 => Ok(at + 2),
        _ => Err(RecordError::NotIp(0)),
    }
}

fn ip_version(frame: &[u8], at: usize) -> Result<usize, RecordError> {
    match frame.get(at).map(|b| b >> 4) {
        Some(4 | 6) => Ok(at),
        Some(_) => Err(RecordError::NotIp(0)),
        None => Err(cut(frame, at + 1)),
    }
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
