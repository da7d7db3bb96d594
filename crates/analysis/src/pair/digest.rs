//! What is remembered of a packet until both captures have been read.

use std::net::SocketAddr;

use rexmit_units::{Duration, Instant};
use rexmit_wire::{Checksum, Flags, SeqNumber};

use crate::packet::{Packet, Tcp};
use crate::rows::SegmentRow;

/// A packet in 64 bytes. Sequence numbers with `raw_` are those of the wire; the others are relative to the initial
/// one of their side, as the capture knows it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Digest {
    pub number: u64,
    /// Nanoseconds, by the capture's own clock.
    pub time: i64,
    pub seq: i64,
    /// [`NO_ACK`] without ACK.
    pub ack: i64,
    pub raw_seq: u32,
    pub raw_ack: u32,
    pub len: u32,
    pub tsval: u32,
    /// Of what a host says and no network changes, besides the fields above.
    pub print: u32,
    pub ident: u16,
    pub flags: Flags,
    pub ttl: u8,
    pub checksum: Checksum,
    /// What its own capture says.
    pub damaged: bool,
}

/// An acknowledgment number below every other.
pub(super) const NO_ACK: i64 = i64::MIN;

/// What of a packet is remembered until the analysis has placed it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    raw_seq: SeqNumber,
    raw_ack: SeqNumber,
    tsval: u32,
    print: u32,
    ident: u16,
    ttl: u8,
    checksum: Checksum,
    pub src: SocketAddr,
    pub dst: SocketAddr,
}

impl Head {
    pub(super) fn new(packet: &Packet, tcp: &Tcp) -> Self {
        let (tsval, echo) = tcp.timestamps.map_or((0, 0), |stamps| (stamps.value, stamps.echo));
        let mut print = mix(u64::from(tcp.window) << 32 | u64::from(echo));
        for &(left, right) in tcp.sack.as_slice() {
            print = mix(print ^ (u64::from(left.0) << 32 | u64::from(right.0)));
        }
        Self {
            raw_seq: tcp.seq,
            raw_ack: if tcp.flags.has(Flags::ACK) { tcp.ack } else { SeqNumber(0) },
            tsval,
            print: (print >> 32) as u32,
            ident: packet.ident,
            ttl: packet.ttl,
            checksum: packet.checksum,
            src: packet.src,
            dst: packet.dst,
        }
    }

    pub(super) fn digest(&self, row: &SegmentRow) -> Digest {
        Digest {
            number: row.number,
            time: nanos(row.time),
            seq: row.seq,
            ack: row.ack.unwrap_or(NO_ACK),
            raw_seq: self.raw_seq.0,
            raw_ack: self.raw_ack.0,
            len: row.len,
            tsval: self.tsval,
            print: self.print,
            ident: self.ident,
            flags: row.flags,
            ttl: self.ttl,
            checksum: self.checksum,
            damaged: row.damaged,
        }
    }
}

impl Digest {
    /// One past its last sequence number, SYN and FIN counted.
    pub(super) fn end(&self) -> i64 {
        let bit = |flag| i64::from(self.flags.has(flag));
        self.seq + i64::from(self.len) + bit(Flags::SYN) + bit(Flags::FIN)
    }

    /// True if it is `sent`, damaged on the way or before: its checksum was right, or its capture says so.
    pub(super) fn is_damaged(&self, sent: Option<&Self>) -> bool {
        let was_good = sent.is_some_and(|sent| sent.checksum == Checksum::Good);
        self.damaged || (self.checksum == Checksum::Bad && was_good)
    }

    /// The initial sequence number of its side, as its capture knows it.
    pub(super) fn base(&self) -> u32 {
        self.raw_seq.wrapping_sub(self.seq as u32)
    }

    /// What a packet is known by at both ends.
    pub(super) fn key(&self, fields: Fields) -> u64 {
        let bits = Flags::SYN.with(Flags::FIN).with(Flags::RST).with(Flags::PSH).with(Flags::URG);
        let mut key = mix(u64::from(self.raw_seq) << 32 | u64::from(self.raw_ack));
        key = mix(key ^ u64::from(self.len) << 8 ^ u64::from(self.flags.0 & bits.0));
        if fields.print {
            key = mix(key ^ u64::from(self.tsval) << 32 ^ u64::from(self.print));
        }
        if fields.ident {
            key = mix(key ^ u64::from(self.ident));
        }
        key
    }
}

/// Which fields come through the network unchanged, besides numbers, length and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    /// Window, timestamps and SACK blocks.
    pub print: bool,
    /// The identification, and it says something.
    pub ident: bool,
}

impl Fields {
    pub(super) const FEW: Self = Self { print: false, ident: false };
}

/// A threshold to compare differences of times with, nanoseconds.
pub(super) fn signed(time: Duration) -> i64 {
    i64::try_from(time.as_nanos()).unwrap_or(i64::MAX)
}

/// Nanoseconds of a time, signed.
pub(super) fn nanos(time: Instant) -> i64 {
    time.as_nanos() as i64
}

/// The time of this many nanoseconds; the first one for those before it.
pub(super) fn instant(nanos: i64) -> Instant {
    Instant::from_nanos(nanos.max(0) as u64)
}

/// Spreads the bits of a number (the finaliser of splitmix64, with a step so that 0 moves).
fn mix(number: u64) -> u64 {
    let mut z = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

const _: () = assert!(std::mem::size_of::<Digest>() <= 64, "the memory of this mode is stated");
