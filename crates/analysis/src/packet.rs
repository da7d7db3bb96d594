//! What the analysis takes: packets as a capture shows them, reduced to what judgements need.
//!
//! A [`Batch`] holds some thousand packets and is used again and again, so that a long capture costs no memory
//! of its own and one thread can decode while another judges.

use std::net::SocketAddr;
use std::ops::Range;

use rexmit_units::Instant;
use rexmit_wire::{Checksum, Flags, SackBlocks, SeqNumber, Timestamps};

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
}

impl Batch {
    /// Makes it empty and keeps its memory.
    pub fn clear(&mut self) {
        self.packets.clear();
        self.bytes.clear();
        self.notes.clear();
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
