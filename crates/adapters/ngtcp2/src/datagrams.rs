//! DATAGRAM frames (RFC 9221) of an end: the library has no queue of them.

use std::collections::VecDeque;

use rexmit_stack::quic::DatagramInbox;

/// Those that wait to leave, and those that wait for a read.
#[derive(Debug, Default)]
pub(crate) struct Datagrams {
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of those.
    size: u64,
    pub inbox: DatagramInbox,
}

impl Datagrams {
    /// Bytes that wait to leave.
    pub fn size(&self) -> u64 {
        self.size
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.size += bytes.len() as u64;
        self.waiting.push_back(bytes.to_vec());
    }

    /// Takes the next out, to write it.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        let first = self.waiting.pop_front()?;
        self.size -= first.len() as u64;
        Some(first)
    }

    /// The one that was taken out did not leave.
    pub fn put_back(&mut self, bytes: Vec<u8>) {
        self.size += bytes.len() as u64;
        self.waiting.push_front(bytes);
    }
}
