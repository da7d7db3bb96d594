//! Records that give no packet to be judged.

use std::collections::BTreeMap;

/// How many records were not handed on, by reason. Each record is in one of these counts, or is a packet, or
/// ([`Skipped::fragments`]) a part of one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// Frames of link layers that are not known, by the number of the link-layer type.
    pub links: BTreeMap<u16, u64>,
    /// Frames of another protocol than IP.
    pub not_ip: u64,
    /// Datagrams of QUIC.
    pub quic: u64,
    /// IP packets of another transport than TCP, SCTP and QUIC.
    pub other_transport: u64,
    /// Headers that contradict themselves.
    pub malformed: u64,
    /// Packets of which the capture kept too little: a header is not whole.
    pub cut: u64,
    /// Fragments of IP datagrams, less one for each datagram that was put together.
    pub fragments: u64,
    /// Datagrams, not records, of which not all fragments came within 30 s, or whose fragments contradict each other;
    /// those that still wait are among them.
    pub incomplete_datagrams: u64,
    /// Packets that did not pass the filter.
    pub filtered: u64,
}

impl Skipped {
    /// Records that are in none of the packets handed on.
    pub fn records(&self) -> u64 {
        let Self { links, not_ip, quic, other_transport, malformed, cut, fragments, filtered, .. } = self;
        links.values().sum::<u64>() + not_ip + quic + other_transport + malformed + cut + fragments + filtered
    }
}
