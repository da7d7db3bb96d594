//! A TCP segment (RFC 9293) with its options.

use crate::{Payload, SeqNumber};

/// The control bits of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    /// No more data from the sender.
    pub const FIN: Self = Self(0x01);
    /// Synchronise sequence numbers.
    pub const SYN: Self = Self(0x02);
    /// Reset the connection.
    pub const RST: Self = Self(0x04);
    /// Push.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgment field counts.
    pub const ACK: Self = Self(0x10);
    /// The urgent pointer counts.
    pub const URG: Self = Self(0x20);
    /// ECN echo (RFC 3168).
    pub const ECE: Self = Self(0x40);
    /// Congestion window reduced (RFC 3168).
    pub const CWR: Self = Self(0x80);

    /// True if every bit of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// True if any bit of `other` is set.
    #[inline]
    pub const fn any(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// Both sets of bits.
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Without the bits of `other`.
    #[must_use]
    pub const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }
}

/// The timestamps option (RFC 7323 section 3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timestamps {
    /// TSval: the sender's clock.
    pub value: u32,
    /// TSecr: the clock value echoed.
    pub echo: u32,
}

/// Up to four SACK blocks (RFC 2018), each from its left edge to one past its right edge.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct SackBlocks {
    blocks: [(SeqNumber, SeqNumber); 4],
    len: u8,
}

impl SackBlocks {
    /// Adds a block; false (and no change) where four are there already.
    pub fn push(&mut self, left: SeqNumber, right: SeqNumber) -> bool {
        let Some(slot) = self.blocks.get_mut(usize::from(self.len)) else { return false };
        *slot = (left, right);
        self.len += 1;
        true
    }

    /// The blocks, in the order of the option.
    #[inline]
    pub fn as_slice(&self) -> &[(SeqNumber, SeqNumber)] {
        &self.blocks[..usize::from(self.len)]
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// True for none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

/// A TCP segment as a value: only what a legal header can say. The default one has nothing in it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TcpSegment {
    /// Source port.
    pub src_port: u16,
    /// Destination port.
    pub dst_port: u16,
    /// Sequence number of the first byte (or of the SYN).
    pub seq: SeqNumber,
    /// Acknowledgment number; meaningful with [`Flags::ACK`].
    pub ack: SeqNumber,
    /// Control bits.
    pub flags: Flags,
    /// The window field as sent, not scaled.
    pub window: u16,
    /// The urgent pointer field.
    pub urgent: u16,
    /// Maximum segment size option (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale option (RFC 7323 section 2), the shift count.
    pub window_scale: Option<u8>,
    /// SACK-permitted option (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// Where both are there, SACK-permitted takes the place of the NOPs before the timestamps, as Linux lays them out.
    pub sack_before_timestamps: bool,
    /// Timestamps option.
    pub timestamps: Option<Timestamps>,
    /// SACK option.
    pub sack: SackBlocks,
    /// Options that this crate does not interpret: their bytes (kind, length, data) in order;
    /// `None` for none.
    pub unknown_options: Option<Box<[u8]>>,
    /// The data.
    pub payload: Payload,
}

impl TcpSegment {
    /// Length of the sequence space that the segment takes: its data, SYN and FIN.
    #[inline]
    pub fn seq_len(&self) -> u32 {
        self.payload.len() + u32::from(self.flags.has(Flags::SYN)) + u32::from(self.flags.has(Flags::FIN))
    }

    /// The room for options in a header.
    pub const MAX_OPTIONS_LEN: usize = 40;

    /// Bytes of options, padded to a multiple of four, as BSD and Linux lay them out: MSS 4; NOP and
    /// window scale 4; NOP, NOP and timestamps 12; SACK-permitted 2, or none of its own in the place of those
    /// NOPs; SACK 2 + 8n with two NOPs before it. Where that is more than a header holds, there are no NOPs.
    #[inline]
    pub fn options_len(&self) -> usize {
        let aligned = self.aligned_options_len();
        if aligned <= Self::MAX_OPTIONS_LEN { aligned } else { self.packed_options_len() }
    }

    /// Whether NOPs go before options to align them.
    #[inline]
    pub(crate) fn options_are_aligned(&self) -> bool {
        self.aligned_options_len() <= Self::MAX_OPTIONS_LEN
    }

    /// Whether SACK-permitted stands right before the timestamps.
    #[inline]
    pub(crate) fn joins_sack_and_timestamps(&self) -> bool {
        self.sack_before_timestamps && self.sack_permitted && self.timestamps.is_some()
    }

    #[inline]
    fn aligned_options_len(&self) -> usize {
        let mut n = 0;
        if self.mss.is_some() {
            n += 4;
        }
        if self.window_scale.is_some() {
            n += 4;
        }
        if self.timestamps.is_some() {
            n += 12;
        }
        if self.sack_permitted && !self.joins_sack_and_timestamps() {
            n += 2;
        }
        if !self.sack.is_empty() {
            n += 4 + 8 * self.sack.len();
        }
        if let Some(unknown) = &self.unknown_options {
            n += unknown.len();
        }
        n.next_multiple_of(4)
    }

    #[cold]
    fn packed_options_len(&self) -> usize {
        let sack = if self.sack.is_empty() { 0 } else { 2 + 8 * self.sack.len() };
        let n = usize::from(self.mss.is_some()) * 4
            + usize::from(self.window_scale.is_some()) * 3
            + usize::from(self.timestamps.is_some()) * 10
            + usize::from(self.sack_permitted) * 2
            + sack
            + self.unknown_options.as_ref().map_or(0, |o| o.len());
        n.next_multiple_of(4)
    }

    /// Header bytes: 20 and the options.
    #[inline]
    pub fn header_len(&self) -> usize {
        20 + self.options_len()
    }
}
