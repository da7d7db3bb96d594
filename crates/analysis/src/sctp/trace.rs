//! The classes of sctp_trace (pedersen-2006 appendix B.1), decided as its listing decides them.
//!
//! Kept of the listing:
//! - A chunk's counter grows with every SACK of which a gap block ends above it, whatever that SACK newly acknowledges
//!   and however old it is. The loop runs from the TSN after the block before (at first, after the cumulative TSN) to
//!   the one before the block's end. So TSNs inside a block are counted as well, all but each block's last. That
//!   matters only for chunks that are sent again although a gap block holds them.
//! - The type of a packet is that of its first *retransmitted* chunk; new chunks in front of it do not count.
//! - The counter starts again at each retransmission. In the listing's routine for the modified protocol
//!   (`TEST_MODIFIED_SCTP`, threshold 1) it does not, and a further chunk with a report is a fast retransmit whatever
//!   the first one was; a further chunk without is in flight.
//!
//! Not kept, since these are limits of its reading and not of its classes:
//! - It stops reading a packet at the first chunk that is not DATA, so DATA after a SACK is lost to it.
//! - It takes all DATA for one direction of one association, and compares TSNs without wrapping.
//! - It holds ends of blocks in 16 bits, relative to the first TSN. From TSN 65,536 on it counts no reports and calls
//!   everything a timeout. No table of the study that tells types apart gets that far (7,031 chunks in 1800 s).
//! - It passes over the rest of a packet if no time has passed since a chunk was last sent.
//! - A TSN that it sees after a higher one, for the first time, it takes for a retransmission with a delay since 1970.
//!   Here such a chunk has a class, and no delay.

use super::rows::TraceClass;

/// The rules of one run of sctp_trace, and what it knows of the packet that it is reading.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trace {
    threshold: u32,
    /// Of the packet: whether a retransmitted chunk was seen, and whether that one was a timeout.
    first: Option<bool>,
}

impl Trace {
    /// `threshold` 1 stands for the modified protocol.
    pub(super) fn new(threshold: u32) -> Self {
        Self { threshold, first: None }
    }

    /// A packet begins.
    pub(super) fn packet(&mut self) {
        self.first = None;
    }

    /// The class of the next retransmitted chunk of the packet, whose counter is `reports`.
    pub(super) fn class(&mut self, reports: u32) -> TraceClass {
        match self.first {
            None if reports < self.threshold => {
                self.first = Some(true);
                TraceClass::Timeout
            }
            None => {
                self.first = Some(false);
                TraceClass::Fast
            }
            Some(_) if self.is_modified() && reports == 0 => TraceClass::BundledInFlight,
            Some(_) if self.is_modified() => TraceClass::Fast,
            Some(true) if reports == 0 => TraceClass::BundledInFlight,
            Some(true) => TraceClass::BundledMissing,
            Some(false) => TraceClass::Fast,
        }
    }

    /// The counter after a retransmission.
    pub(super) fn restart(&self, reports: u32) -> u32 {
        if self.is_modified() { reports } else { 0 }
    }

    fn is_modified(&self) -> bool {
        self.threshold <= 1
    }
}
