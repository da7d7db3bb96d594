//! A packet of a side as it passed, and where its rows go.

use rexmit_units::Instant;

use crate::options::Options;
use crate::packet::Tcp;
use crate::rows::{Kind, Rows, Tables};

/// What a packet was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placed {
    pub kind: Kind,
    /// Which transmission of its most repeated byte.
    pub transmission: u32,
    /// Bytes of its data that were not seen before.
    pub fresh: u32,
    /// Bytes of its data that had been sent before, seen here or not.
    pub again: u32,
}

impl Placed {
    /// A packet of this kind without data, or whose data do not count.
    pub(super) fn bare(kind: Kind) -> Self {
        Self { kind, transmission: 1, fresh: 0, again: 0 }
    }
}

/// A packet of the side.
#[derive(Clone, Copy, Debug)]
pub(super) struct Passed<'a> {
    /// When it was seen.
    pub time: Instant,
    /// Its number in the capture.
    pub number: u64,
    /// Its segment.
    pub tcp: &'a Tcp,
    /// What its data are.
    pub placed: &'a Placed,
    /// Its first sequence number.
    pub seq: i64,
    /// One past its last.
    pub end: i64,
    /// It was damaged on the path.
    pub damaged: bool,
    /// Bytes of data in a full segment.
    pub mss: u32,
}

/// Where rows go, and which are asked for.
#[derive(Debug)]
pub(super) struct Out<'a> {
    /// The rows.
    pub rows: &'a mut Rows,
    /// Number of the connection.
    pub connection: u32,
    /// Tables asked for.
    pub tables: Tables,
    /// As [`crate::Options::loss_event_rtts`].
    pub loss_event_rtts: f64,
}

impl Options {
    /// For the rows of connection `number`.
    pub(super) fn out<'a>(&self, connection: u32, rows: &'a mut Rows) -> Out<'a> {
        Out { rows, connection, tables: self.tables, loss_event_rtts: self.loss_event_rtts }
    }
}

/// The packets that `len` bytes became on the wire: a super-packet is cut into segments of one MSS.
pub(super) fn wire_packets(len: u32, mss: u32) -> u64 {
    if len <= mss { 1 } else { u64::from(len.div_ceil(mss.max(1))) }
}
