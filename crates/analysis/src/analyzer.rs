//! Packets in, rows out.

use crate::packet::{Batch, Transport};
use crate::rows::{Rows, Tables};
use crate::sctp::Associations;
use crate::tcp::Connections;

/// What an analysis may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Losses within so many RTTs count as one loss event: 2 as klaver-2005 section 3.2, 1 as RFC 5348 section 5.2. Each
    /// loss is held against the one before it, by the times at which the lost segments were sent; the RFC holds it
    /// against the first of the event, which differs where losses go on for longer than that.
    pub loss_event_rtts: f64,
    /// Which tables to keep.
    pub tables: Tables,
    /// Missing reports that make sctp_trace call a retransmission of SCTP fast: 4 for pedersen-2006's lksctp, 3 for
    /// RFC 9260, 1 for its modified runs.
    pub missing_reports: u32,
}

impl Default for Options {
    fn default() -> Self {
        let tables = Tables { segments: false, rtt: false, chunks: false };
        Self { loss_event_rtts: 2.0, tables, missing_reports: 3 }
    }
}

/// Judges the packets of one capture. Call [`push`](Self::push) with each [`Batch`] in the order of the capture and
/// [`take_rows`](Self::take_rows) as often as rows are wanted, then [`finish`](Self::finish) and `take_rows` for the
/// last time. Memory follows the connections that are open, and what they have outstanding.
#[derive(Debug)]
pub struct Analyzer {
    tcp: Connections,
    sctp: Associations,
}

impl Analyzer {
    /// An analysis that has seen nothing.
    pub fn new(options: &Options) -> Self {
        Self { tcp: Connections::new(options), sctp: Associations::new(options) }
    }

    /// Takes the next packets.
    pub fn push(&mut self, batch: &Batch) {
        for packet in &batch.packets {
            match &packet.transport {
                Transport::Tcp(tcp) => self.tcp.push(packet, tcp, batch),
                Transport::Sctp { bytes, wire_len } => {
                    let bytes = &batch.bytes[bytes.start as usize..bytes.end as usize];
                    self.sctp.push(packet, bytes, *wire_len);
                }
            }
        }
    }

    /// The capture has ended: ends every connection that is open.
    pub fn finish(&mut self) {
        self.finish_some(usize::MAX);
    }

    /// The same for up to `connections` TCP connections, so that the rows of millions need not be held at once; true
    /// when all have ended. Call it again after [`take_rows`](Self::take_rows) until it is.
    pub fn finish_some(&mut self, connections: usize) -> bool {
        let over = self.tcp.finish(connections);
        if over {
            self.sctp.finish();
        }
        over
    }

    /// The rows that have become final since the last call.
    pub fn take_rows(&mut self) -> Rows {
        Rows { sctp: self.sctp.take_rows(), ..self.tcp.take_rows() }
    }
}
