//! TCP connections: what each side sent, how it was acknowledged, and why it was sent again.

use crate::analyzer::Options;
use crate::packet::{Batch, Packet, Tcp};
use crate::rows::Rows;

/// All connections of a capture.
#[derive(Debug)]
pub(crate) struct Connections {
    rows: Rows,
}

impl Connections {
    pub(crate) fn new(_options: &Options) -> Self {
        Self { rows: Rows::default() }
    }

    /// Takes the next packet.
    pub(crate) fn push(&mut self, _packet: &Packet, _tcp: &Tcp, _batch: &Batch) {}

    /// Ends what is open.
    pub(crate) fn finish(&mut self) {}

    /// The rows since the last call.
    pub(crate) fn take_rows(&mut self) -> Rows {
        std::mem::take(&mut self.rows)
    }
}
