//! DATA, I-DATA, FORWARD-TSN and I-FORWARD-TSN.

use super::chunk::RawChunk;
use crate::header::{be16, be32};

/// A DATA (RFC 9260 section 3.3.1) or I-DATA chunk (RFC 8260 section 2.1) whose fixed fields are there.
#[derive(Clone, Copy, Debug)]
pub struct Data<'a> {
    value: &'a [u8],
    flags: u8,
    length: usize,
    interleaved: bool,
}

impl<'a> Data<'a> {
    /// Bytes of fixed fields of DATA after the chunk's header.
    pub(super) const FIXED: usize = 12;
    /// Those of I-DATA.
    pub(super) const FIXED_INTERLEAVED: usize = 16;

    pub(super) fn new(chunk: &RawChunk<'a>, interleaved: bool) -> Self {
        Self { value: chunk.value(), flags: chunk.flags(), length: chunk.len(), interleaved }
    }

    /// True for I-DATA.
    pub fn is_interleaved(&self) -> bool {
        self.interleaved
    }

    /// Transmission sequence number.
    pub fn tsn(&self) -> u32 {
        be32(self.value, 0)
    }

    /// Stream identifier.
    pub fn stream(&self) -> u16 {
        be16(self.value, 4)
    }

    /// Stream sequence number of DATA, message identifier of I-DATA.
    pub fn message(&self) -> u32 {
        if self.interleaved { be32(self.value, 8) } else { be16(self.value, 6).into() }
    }

    /// Payload protocol identifier; `None` for an I-DATA chunk that does not begin its message.
    pub fn protocol(&self) -> Option<u32> {
        match (self.interleaved, self.begins()) {
            (false, _) => Some(be32(self.value, 8)),
            (true, true) => Some(be32(self.value, 12)),
            (true, false) => None,
        }
    }

    /// Fragment sequence number of I-DATA; `None` for DATA. The first fragment's is 0.
    pub fn fragment(&self) -> Option<u32> {
        self.interleaved.then(|| if self.begins() { 0 } else { be32(self.value, 12) })
    }

    /// It ends a message (E).
    pub fn ends(&self) -> bool {
        self.flags & 1 != 0
    }

    /// It begins a message (B).
    pub fn begins(&self) -> bool {
        self.flags & 2 != 0
    }

    /// It is delivered without order (U).
    pub fn is_unordered(&self) -> bool {
        self.flags & 4 != 0
    }

    /// Its sender asks for a SACK at once (I).
    pub fn is_immediate(&self) -> bool {
        self.flags & 8 != 0
    }

    /// Bytes of user data on the wire.
    pub fn user_len(&self) -> u32 {
        (self.length - 4 - self.fixed()) as u32
    }

    /// User data, as far as it is there.
    pub fn user_data(&self) -> &'a [u8] {
        &self.value[self.fixed()..]
    }

    fn fixed(&self) -> usize {
        if self.interleaved { Self::FIXED_INTERLEAVED } else { Self::FIXED }
    }
}

/// A FORWARD-TSN (RFC 3758 section 3.2) or I-FORWARD-TSN chunk (RFC 8260 section 2.3).
#[derive(Clone, Copy, Debug)]
pub struct ForwardTsn<'a> {
    value: &'a [u8],
    interleaved: bool,
}

impl<'a> ForwardTsn<'a> {
    pub(super) fn new(value: &'a [u8], interleaved: bool) -> Self {
        Self { value, interleaved }
    }

    /// The new cumulative TSN.
    pub fn cumulative(&self) -> u32 {
        be32(self.value, 0)
    }

    /// True for I-FORWARD-TSN.
    pub fn is_interleaved(&self) -> bool {
        self.interleaved
    }

    /// The streams that skip messages, each with the last stream sequence number or message identifier skipped; as
    /// many as are there.
    pub fn skipped(&self) -> impl Iterator<Item = (u16, u32)> + use<'a> {
        let interleaved = self.interleaved;
        let size = if interleaved { 8 } else { 4 };
        self.value[4..].chunks_exact(size).map(move |entry| {
            let last = if interleaved { be32(entry, 4) } else { be16(entry, 2).into() };
            (be16(entry, 0), last)
        })
    }
}
