//! What the analysis takes: packets as a capture shows them, reduced to what judgements need.
//!
//! A [`Batch`] holds some thousand packets and is used again and again, so that a long capture costs no memory
//! of its own and one thread can decode while another judges.

use std::net::SocketAddr;
use std::ops::Range;

use rexmit_units::Instant;
use rexmit_wire as wire;
use rexmit_wire::sctp::{self, Chunk};
use rexmit_wire::{Checksum, Flags, SackBlocks, SeqNumber, TcpSegment, Timestamps};

/// Packets in the order of a capture.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The packets.
    pub packets: Vec<Packet>,
    /// SCTP packets (from the common header on, as far as the capture has them), one after another;
    /// [`Transport::Sctp`] says where each lies.
    pub bytes: Vec<u8>,
    /// Comments of the capture; [`Packet::note`] is an index. They are handed on and decide nothing.
    pub notes: Vec<Box<str>>,
    /// Bytes of these.
    pub(crate) note_bytes: usize,
}

impl Batch {
    /// Makes it empty and keeps its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.bytes.clear();
        self.notes.clear();
        self.note_bytes = 0;
    }

    /// Appends a packet that is there as a value, as the whole of its bytes would show it; it is the `number`th of
    /// its capture. Protocols other than TCP and SCTP are passed over.
    pub fn add(&mut self, number: u64, time: Instant, packet: &wire::Packet) {
        let (ports, transport) = match &packet.transport {
            wire::Transport::Tcp(segment) => {
                ((segment.src_port, segment.dst_port), Transport::Tcp(segment.into()))
            }
            wire::Transport::Sctp(packet) => {
                let start = self.bytes.len() as u32;
                emit(packet, &mut self.bytes);
                let bytes = start..self.bytes.len() as u32;
                let wire_len = bytes.end - start;
                ((packet.src_port, packet.dst_port), Transport::Sctp { bytes, wire_len })
            }
            wire::Transport::Other { protocol: wire::PROTOCOL_SCTP, payload } => {
                let start = self.bytes.len() as u32;
                payload.append_to(&mut self.bytes);
                let bytes = start..self.bytes.len() as u32;
                let wire_len = bytes.end - start;
                let Ok(header) = sctp::Header::new(&self.bytes[start as usize..], wire_len as usize) else {
                    self.bytes.truncate(start as usize);
                    return;
                };
                ((header.src_port(), header.dst_port()), Transport::Sctp { bytes, wire_len })
            }
            _ => return,
        };
        self.packets.push(Packet {
            number,
            time,
            interface: 0,
            src: SocketAddr::new(packet.src, ports.0),
            dst: SocketAddr::new(packet.dst, ports.1),
            ttl: packet.ip.ttl,
            tos: packet.ip.tos,
            ident: if packet.src.is_ipv4() { packet.ip.ident } else { 0 },
            checksum: if packet.damaged { Checksum::Bad } else { Checksum::Good },
            note: None,
            transport,
        });
    }
}

/// Appends the bytes of a packet. Whether its checksum is right is known without it; but its value tells copies from
/// packets that differ, so a number that differs likewise, and needs no look at data, takes its place.
fn emit(packet: &sctp::Packet, out: &mut Vec<u8>) {
    let mut digest = 0_u64;
    for chunk in &packet.chunks {
        let mut mix = |value: u64| digest = (digest ^ value).wrapping_mul(ODD).rotate_left(29);
        match chunk {
            Chunk::Data(data) => mix(u64::from(data.tsn) << 32 | u64::from(data.payload.len())),
            Chunk::Sack(sack) => {
                mix(u64::from(sack.cumulative) << 32 | u64::from(sack.window));
                sack.gaps.iter().for_each(|gap| mix(u64::from(gap.start) << 16 | u64::from(gap.end)));
                sack.duplicates.iter().for_each(|tsn| mix(u64::from(*tsn) << 1 | 1));
            }
            // Others are rare.
            _ => return packet.emit_into(out),
        }
    }
    let at = out.len() + CHECKSUM_AT;
    packet.emit_unsummed_into(out);
    out[at..at + 4].copy_from_slice(&((digest >> 32) as u32).to_be_bytes());
}

/// Where the checksum stands in a packet (RFC 9260 section 3.1).
const CHECKSUM_AT: usize = 8;
/// 2^64 over the golden ratio: multiplied by it, numbers that are near each other are far apart.
const ODD: u64 = 0x9e37_79b9_7f4a_7c15;

impl From<&TcpSegment> for Tcp {
    fn from(segment: &TcpSegment) -> Self {
        Self {
            seq: segment.seq,
            ack: segment.ack,
            flags: segment.flags,
            window: segment.window,
            urgent: segment.urgent,
            len: segment.payload.len(),
            mss: segment.mss,
            window_scale: segment.window_scale,
            sack_permitted: segment.sack_permitted,
            timestamps: segment.timestamps,
            sack: segment.sack,
            options_cut: false,
        }
    }
}

/// A packet as a capture shows it.
#[derive(Clone, Debug)]
pub struct Packet {
    /// Its number in the capture, 1 for the first, packets of other protocols counted: Wireshark's
    /// `frame.number`. Of a packet that was put together from fragments, the last one's.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// Number of the interface at which it was seen; connections of two interfaces are kept apart.
    pub interface: u32,
    /// Where it comes from.
    pub src: SocketAddr,
    /// Where it goes.
    pub dst: SocketAddr,
    /// Time to live, or hop limit.
    pub ttl: u8,
    /// Type of service, or traffic class.
    pub tos: u8,
    /// IPv4 identification; zero for IPv6, where zero also says nothing.
    pub ident: u16,
    /// What the transport's checksum says. Captures made at a sender show wrong ones that its network card was
    /// to fill in, so a wrong one alone is no proof of damage.
    pub checksum: Checksum,
    /// Index of its comment in [`Batch::notes`].
    pub note: Option<u32>,
    /// The transport.
    pub transport: Transport,
}

/// TCP or SCTP; other packets are not handed on.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A TCP segment.
    Tcp(Tcp),
    /// An SCTP packet: where it lies in [`Batch::bytes`], and how many bytes it had on the wire.
    Sctp {
        /// Its place in [`Batch::bytes`], common header first.
        bytes: Range<u32>,
        /// Bytes on the wire; more than the range where the capture kept the head only.
        wire_len: u32,
    },
}

/// What of a TCP segment is judged.
#[derive(Clone, Debug, Default)]
pub struct Tcp {
    /// Sequence number of the first byte, or of the SYN.
    pub seq: SeqNumber,
    /// Acknowledgment number; meaningful with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// The urgent pointer field.
    pub urgent: u16,
    /// Bytes of data on the wire, also where the capture has fewer.
    pub len: u32,
    /// Maximum segment size option.
    pub mss: Option<u16>,
    /// Window scale option, the shift count.
    pub window_scale: Option<u8>,
    /// SACK-permitted option.
    pub sack_permitted: bool,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK option.
    pub sack: SackBlocks,
    /// True where the capture cuts through the options, so that some may be missing.
    pub options_cut: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_wire::Payload;
    use rexmit_wire::sctp::{DataChunk, Gap, SackChunk};

    fn bytes(chunks: Vec<Chunk>) -> Vec<u8> {
        let mut out = vec![0xff; 3];
        emit(&sctp::Packet { src_port: 1, dst_port: 2, tag: 3, chunks }, &mut out);
        out.split_off(3)
    }

    fn data(tsn: u32) -> Chunk {
        Chunk::Data(DataChunk {
            tsn,
            payload: Payload::Stream { offset: 5, len: 99 },
            ..DataChunk::default()
        })
    }

    fn sack(gaps: Vec<Gap>) -> Chunk {
        Chunk::Sack(SackChunk { cumulative: 7, gaps, ..SackChunk::default() })
    }

    #[test]
    fn packets_that_differ_have_checksums_that_differ_and_other_bytes_as_they_are() {
        let packets = [
            vec![data(1)],
            vec![data(2)],
            vec![data(1), data(2)],
            vec![data(2), data(1)],
            vec![sack(vec![])],
            vec![sack(vec![Gap { start: 2, end: 2 }])],
            vec![sack(vec![Gap { start: 2, end: 3 }])],
            vec![Chunk::CookieAck],
        ];
        let mut seen = Vec::new();
        for chunks in packets {
            let found = bytes(chunks.clone());
            assert_eq!(found, bytes(chunks.clone()));
            let whole = sctp::Packet { src_port: 1, dst_port: 2, tag: 3, chunks }.emit();
            assert_eq!((&found[..8], &found[12..]), (&whole[..8], &whole[12..]));
            seen.push(found[8..12].to_vec());
        }
        let all = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), all);
    }
}
