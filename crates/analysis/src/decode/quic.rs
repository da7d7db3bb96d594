//! Datagrams of QUIC among the packets that are passed over.

use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};

use rexmit_wire::{IpPacket, QuicKinds, UdpHeader};

/// This many connections are remembered; datagrams of further ones count as QUIC by long headers alone.
const MOST: usize = 1 << 16;

/// The connections of QUIC that a capture has shown, by the addresses of both ends.
#[derive(Debug, Default)]
pub(super) struct QuicFlows(HashSet<[SocketAddr; 2]>);

/// A datagram that may be one of QUIC.
#[derive(Debug)]
pub(super) struct Datagram {
    ends: [SocketAddr; 2],
    kinds: QuicKinds,
}

impl Datagram {
    pub fn of(ip: &IpPacket<'_>, header: &UdpHeader<'_>) -> Self {
        let end = |address: IpAddr, port| SocketAddr::new(address, port);
        let mut ends = [end(ip.src, header.src_port()), end(ip.dst, header.dst_port())];
        ends.sort_unstable();
        Self { ends, kinds: QuicKinds::of(header.payload()) }
    }
}

impl QuicFlows {
    /// Whether it is one: by a long header, or by those that came between its ends before. A short header shows nothing by
    /// itself (RFC 9000 section 17.3).
    pub fn take(&mut self, datagram: &Datagram) -> bool {
        if datagram.kinds.has_long() {
            if self.0.len() < MOST {
                self.0.insert(datagram.ends);
            }
            return true;
        }
        !datagram.kinds.is_empty() && self.0.contains(&datagram.ends)
    }
}
