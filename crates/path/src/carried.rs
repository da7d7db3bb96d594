//! What a direction carries: a model's packet, or a real one in its buffer.

use std::borrow::Cow;

use rexmit_wire::Packet;

/// A packet as a [`crate::Direction`] needs it.
///
/// The model's [`Packet`] is one; live traffic has its own, whose headers are read only where a pattern or the
/// log asks for them.
pub trait Carried: Clone {
    /// Length of the IP packet in bytes, header included.
    fn ip_len(&self) -> u64;

    /// The packet as a value. Its payload counts for its length alone.
    fn packet(&self) -> Cow<'_, Packet>;

    /// Damages it, so that its receiver finds a wrong checksum.
    fn damage(&mut self);

    /// Marks it "congestion experienced"; false where it is not ECN-capable (RFC 3168 section 5).
    fn mark(&mut self) -> bool;
}

impl Carried for Packet {
    #[inline]
    fn ip_len(&self) -> u64 {
        Self::ip_len(self)
    }

    #[inline]
    fn packet(&self) -> Cow<'_, Packet> {
        Cow::Borrowed(self)
    }

    fn damage(&mut self) {
        self.damaged = true;
    }

    fn mark(&mut self) -> bool {
        let capable = self.ip.tos & 0b11 != 0;
        if capable {
            self.ip.tos |= 0b11;
        }
        capable
    }
}
