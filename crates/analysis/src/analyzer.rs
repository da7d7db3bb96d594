//! Packets in, rows out.

use crate::limits::{MEMORY_BYTES, MEMORY_PER_BYTE};
use crate::options::Options;
use crate::packet::{Batch, Transport};
use crate::rows::Rows;
use crate::sctp::Associations;
use crate::tcp::Connections;

/// Judges the packets of one capture. Call [`push`](Self::push) with each [`Batch`] in the order of the capture and
/// [`take_rows`](Self::take_rows) as often as rows are wanted, then [`finish`](Self::finish) and `take_rows` for the
/// last time. Memory follows the connections that are open, and what they have outstanding.
#[derive(Debug)]
pub struct Analyzer {
    tcp: Connections,
    sctp: Associations,
    /// Bytes that both may take.
    memory: u64,
}

impl Analyzer {
    /// An analysis that has seen nothing.
    pub fn new(options: &Options) -> Self {
        Self { tcp: Connections::new(options), sctp: Associations::new(options), memory: u64::MAX }
    }

    /// This many bytes of a file have been read: no more is kept than [`crate::limits`] allows for that. Without a call
    /// there is no bound.
    pub fn allow(&mut self, read: u64) {
        self.memory = MEMORY_BYTES.saturating_add(read.saturating_mul(MEMORY_PER_BYTE));
    }

    /// Takes the next packets.
    pub fn push(&mut self, batch: &Batch) {
        self.push_some(batch, 0, u64::MAX);
    }

    /// Takes packets of `batch` from the one at `from` on, until about this many bytes of rows wait to be taken;
    /// returns where to go on.
    pub(crate) fn push_some(&mut self, batch: &Batch, from: usize, rows: u64) -> usize {
        for (at, packet) in (from..).zip(&batch.packets[from..]) {
            let is_tcp = matches!(packet.transport, Transport::Tcp(_));
            // A packet of TCP makes few rows.
            let look = !is_tcp || at % LOOK == 0;
            if look && rows < u64::MAX && self.rows_bytes() > rows {
                return at;
            }
            match &packet.transport {
                Transport::Tcp(tcp) => self.tcp.push(packet, tcp, batch),
                Transport::Sctp { bytes, wire_len } => {
                    let bytes = &batch.bytes[bytes.start as usize..bytes.end as usize];
                    self.sctp.push(packet, bytes, *wire_len);
                }
            }
            if self.tcp.used() + self.sctp.used() > self.memory {
                self.shed();
            }
        }
        batch.packets.len()
    }

    /// Steps of work done so far: entries of boards and queues that were looked at, and chunks.
    pub fn steps(&self) -> u64 {
        self.tcp.steps() + self.sctp.steps()
    }

    /// Bytes of the rows that wait to be taken.
    pub(crate) fn rows_bytes(&self) -> u64 {
        self.tcp.rows().bytes() + self.sctp.rows().bytes()
    }

    /// Ends flows that have been idle for long, of the kind that takes more memory.
    fn shed(&mut self) {
        // Several at once, so that they are not looked for with each packet.
        let most = self.memory / 4 * 3;
        let (tcp, sctp) = (self.tcp.used(), self.sctp.used());
        if tcp > sctp {
            self.tcp.shed(most.saturating_sub(sctp));
        } else {
            self.sctp.shed(most.saturating_sub(tcp));
        }
    }

    /// The capture has ended: ends every connection that is open.
    pub fn finish(&mut self) {
        self.finish_some(usize::MAX);
    }

    /// The same for up to this many connections, so that the rows of millions need not be held at once; true when all
    /// have ended. Call it again after [`take_rows`](Self::take_rows) until it is.
    pub fn finish_some(&mut self, connections: usize) -> bool {
        self.tcp.finish(connections) && self.sctp.finish(connections)
    }

    /// The rows that have become final since the last call.
    pub fn take_rows(&mut self) -> Rows {
        Rows { sctp: self.sctp.take_rows(), ..self.tcp.take_rows() }
    }
}

/// Packets of TCP between two looks at the rows.
const LOOK: usize = 64;
