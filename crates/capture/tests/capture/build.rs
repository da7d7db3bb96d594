//! Captures made number by number.

/// Numbers of one byte order appended to bytes.
pub struct Bytes {
    pub out: Vec<u8>,
    big: bool,
}

impl Bytes {
    pub fn u16(&mut self, n: u16) -> &mut Self {
        self.out.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    pub fn u32(&mut self, n: u32) -> &mut Self {
        self.out.extend(if self.big { n.to_be_bytes() } else { n.to_le_bytes() });
        self
    }

    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.out.extend(bytes);
        self
    }

    /// A block of pcapng; its body is a multiple of four.
    pub fn block(&mut self, block_type: u32, body: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self { out: Vec::new(), big: self.big };
        body(&mut inner);
        assert_eq!(inner.out.len() % 4, 0);
        let len = inner.out.len() as u32 + 12;
        self.u32(block_type).u32(len).raw(&inner.out).u32(len)
    }

    pub fn section(&mut self) -> &mut Self {
        self.block(0x0a0d_0d0a, |b| {
            b.u32(0x1a2b_3c4d).u16(1).u16(0).u32(u32::MAX).u32(u32::MAX);
        })
    }
}

pub fn bytes(big: bool) -> Bytes {
    Bytes { out: Vec::new(), big }
}
