//! Counters and the log of verdicts.

use rexmit_units::Instant;
use rexmit_wire::{Flags, Packet};

use crate::verdict::{By, Duplicated, Verdict};

/// What a direction has done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Packets offered.
    pub packets: u64,
    /// Bytes of IP packets offered.
    pub bytes: u64,
    /// Packets that have come out, copies included.
    pub received: u64,
    /// Bytes of IP packets that have come out, likewise.
    pub received_bytes: u64,
    /// Packets dropped by a pattern.
    pub dropped_by_pattern: u64,
    /// Packets dropped by random loss.
    pub dropped_by_loss: u64,
    /// Packets dropped by a full queue.
    pub queue_full: u64,
    /// Packets dropped by the queue's management.
    pub dropped_by_aqm: u64,
    /// Packets that do not fit into the token bucket.
    pub too_long: u64,
    /// Bytes of IP packets offered that do not come out.
    pub dropped_bytes: u64,
    /// Packets that were admitted with a bit error.
    pub corrupted: u64,
    /// Packets that were admitted and marked "congestion experienced".
    pub marked: u64,
    /// Copies that were admitted.
    pub duplicated: u64,
    /// Packets that were admitted and held by a pattern.
    pub held: u64,
    /// Packets that were admitted and held back past others.
    pub reordered: u64,
}

/// Packets dropped, by what dropped them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops {
    /// By a pattern.
    pub pattern: u64,
    /// By random loss.
    pub random: u64,
    /// By a full queue.
    pub queue: u64,
    /// By the queue's management.
    pub aqm: u64,
    /// By a token bucket, into which they did not fit.
    pub bucket: u64,
}

impl Drops {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.pattern + self.random + self.queue + self.aqm + self.bucket
    }
}

impl std::iter::Sum for Drops {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            pattern: sum.pattern + one.pattern,
            random: sum.random + one.random,
            queue: sum.queue + one.queue,
            aqm: sum.aqm + one.aqm,
            bucket: sum.bucket + one.bucket,
        })
    }
}

impl Counters {
    /// Packets offered that do not come out.
    pub fn drops(&self) -> u64 {
        self.drops_by().total()
    }

    /// The same by what dropped them.
    pub fn drops_by(&self) -> Drops {
        Drops {
            pattern: self.dropped_by_pattern,
            random: self.dropped_by_loss,
            queue: self.queue_full,
            aqm: self.dropped_by_aqm,
            bucket: self.too_long,
        }
    }

    pub(crate) fn count(&mut self, verdict: &Verdict, len: u64) {
        self.dropped_bytes += if verdict.is_drop() { len } else { 0 };
        match verdict.fate.dropped_by() {
            None => {}
            Some(By::Pattern) => self.dropped_by_pattern += 1,
            Some(By::Random) => self.dropped_by_loss += 1,
            Some(By::Queue) => self.queue_full += 1,
            Some(By::Aqm) => self.dropped_by_aqm += 1,
            Some(By::Bucket) => self.too_long += 1,
        }
        let effects = &verdict.effects;
        self.corrupted += u64::from(effects.corrupted);
        self.marked += u64::from(effects.marked);
        self.duplicated += u64::from(effects.duplicated == Duplicated::Delivered);
        self.held += u64::from(effects.held.is_some());
        self.reordered += u64::from(effects.reordered.is_some());
    }
}

/// One row of the log: a packet and what the path did to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogRow {
    /// When the packet entered.
    pub time: Instant,
    /// The packet in short.
    pub packet: Summary,
    /// What the path did to it; holds its position.
    pub verdict: Verdict,
    /// Its time in the queue; none where it never came into it. A second copy by a pattern has no row.
    pub stay: Option<Stay>,
}

/// A packet's time in the queue, the time in which it is sent included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stay {
    /// When it came into the queue, after the first link.
    pub entered: Instant,
    /// When its last bit was sent, or the queue's management dropped it; none where it is still inside.
    pub left: Option<Instant>,
}

/// A packet in short.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Length of the IP packet in bytes.
    pub ip_len: u32,
    /// IP protocol number.
    pub protocol: u8,
    /// Source port, 0 where there is none.
    pub src_port: u16,
    /// Destination port, 0 where there is none.
    pub dst_port: u16,
    /// TCP: control bits.
    pub flags: Flags,
    /// TCP: sequence number.
    pub seq: u32,
    /// TCP: acknowledgment number.
    pub ack: u32,
    /// Bytes of data ([`Packet::data_len`]).
    pub payload: u32,
}

impl From<&Packet> for Summary {
    fn from(packet: &Packet) -> Self {
        let (src_port, dst_port) = packet.ports().unwrap_or_default();
        let tcp = packet.tcp().map(|t| (t.flags, t.seq.0, t.ack.0));
        let (flags, seq, ack) = tcp.unwrap_or_default();
        Self {
            ip_len: packet.ip_len() as u32,
            protocol: packet.protocol(),
            src_port,
            dst_port,
            flags,
            seq,
            ack,
            payload: packet.data_len(),
        }
    }
}
