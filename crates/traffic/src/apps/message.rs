//! A request or a response on its way into the socket.

use rexmit_stack::Socket;
use rexmit_units::Instant;

use super::Progress;
use crate::workload::{Cursor, Writes};

/// A list of writes, each waiting until the socket has taken the one before.
#[derive(Clone, Debug)]
pub(super) struct Message {
    cursor: Cursor,
    /// What the socket has not yet taken of the write that is going on.
    pending: u64,
}

impl Message {
    /// One that has been written; see [`Self::begin`].
    pub fn new(writes: &Writes) -> Self {
        let mut cursor = Cursor::new(writes);
        while cursor.next().is_some() {}
        Self { cursor, pending: 0 }
    }

    /// It is to be written (again) from its start.
    pub fn begin(&mut self) {
        debug_assert!(self.is_written(), "a message is written whole before the next begins");
        self.cursor.rewind();
    }

    /// The socket has taken all of it.
    pub fn is_written(&self) -> bool {
        self.pending == 0 && self.cursor.at_end()
    }

    /// Writes what the socket takes; true if that was the end of it.
    pub fn write<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        socket: &mut S,
        progress: &mut Progress,
    ) -> bool {
        if self.is_written() {
            return false;
        }
        loop {
            if self.pending == 0 {
                match self.cursor.next() {
                    Some(size) => self.pending = size,
                    None => return true,
                }
            }
            let taken = socket.write(now, self.pending);
            progress.bytes_written += taken;
            self.pending -= taken;
            if self.pending > 0 {
                return false;
            }
        }
    }
}
