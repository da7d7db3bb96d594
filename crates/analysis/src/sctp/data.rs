//! A packet with DATA, what became of it, and where its rows go.

use std::net::IpAddr;

use rexmit_units::Instant;
use rexmit_wire::sctp::Data;

use super::rows::{SctpRetransmissionRow, SctpRows, SctpSideRow};
use crate::core::rows::{Need, Tables};
use crate::core::side::SideName;

/// Where rows go, and whose they are.
pub(super) struct Out<'a> {
    pub(super) rows: &'a mut SctpRows,
    pub(super) tables: Tables,
    pub(super) association: u32,
    /// The sender of the DATA.
    pub(super) side: SideName,
    /// What is counted of it.
    pub(super) row: &'a mut SctpSideRow,
}

/// The packet that is being looked at.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataPacket {
    pub(super) number: u64,
    pub(super) time: Instant,
    pub(super) src: IpAddr,
    pub(super) dst: IpAddr,
    /// IP identification.
    pub(super) ident: u16,
    /// Number of its path among those of its side.
    pub(super) path: u32,
    /// It carries a COOKIE-ECHO that was sent before.
    pub(super) with_cookie: bool,
    /// The side has sent DATA on another path as well.
    pub(super) paths: bool,
}

/// A DATA chunk of a packet.
#[derive(Clone, Copy, Debug)]
pub(super) struct DataChunk {
    pub(super) tsn: u32,
    pub(super) stream: u16,
    pub(super) message: u32,
    pub(super) len: u32,
    pub(super) begin: bool,
    pub(super) end: bool,
    pub(super) unordered: bool,
    pub(super) interleaved: bool,
}

impl From<&Data<'_>> for DataChunk {
    fn from(data: &Data<'_>) -> Self {
        Self {
            tsn: data.tsn(),
            stream: data.stream(),
            message: data.message(),
            len: data.user_len(),
            begin: data.begins(),
            end: data.ends(),
            unordered: data.is_unordered(),
            interleaved: data.is_interleaved(),
        }
    }
}

/// Chunks, and the bytes of user data in them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Amount {
    pub(super) chunks: u64,
    pub(super) bytes: u64,
}

/// What became of the DATA of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Outcome {
    /// What was sent again.
    pub(super) again: Amount,
    /// Of these, chunks that had taken another path before.
    pub(super) moved: u64,
    /// The path of the chunk whose T3 ran out, if the packet was sent by that.
    pub(super) timeout: Option<u32>,
}

/// A row is final.
pub(super) fn give(row: SctpRetransmissionRow, out: &mut Out<'_>) {
    out.row.causes.add(row.cause);
    out.row.not_needed += u64::from(matches!(row.need, Need::Spurious | Need::Unnecessary));
    out.rows.retransmissions.push(row);
}
