//! The send buffer: how many bytes wait, and where they stand in the application's stream.

/// Bytes written and not yet cumulatively acknowledged.
#[derive(Clone, Debug)]
pub(crate) struct SendBuffer {
    /// Stream offset of the first byte in the buffer.
    start: u64,
    /// Bytes in the buffer.
    len: u32,
    /// Bytes that it holds at most.
    pub limit: u32,
}

impl SendBuffer {
    pub fn new(limit: u32) -> Self {
        Self { start: 0, len: 0, limit }
    }

    /// Bytes in the buffer, sent or not.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Bytes that a write may still add.
    #[inline]
    pub fn space(&self) -> u32 {
        self.limit.saturating_sub(self.len)
    }

    pub fn push(&mut self, n: u32) {
        debug_assert!(n <= self.space());
        self.len += n;
    }

    /// Drops the first `n` bytes, which the peer has acknowledged.
    #[inline]
    pub fn acknowledge(&mut self, n: u32) {
        debug_assert!(n <= self.len);
        self.start += u64::from(n);
        self.len -= n;
    }

    /// Stream offset of the byte `off` bytes into the buffer.
    #[inline]
    pub fn offset(&self, off: u32) -> u64 {
        self.start + u64::from(off)
    }
}
