//! What a direction carries: a model's packet, or a real one in its buffer.

use std::borrow::Cow;

use std::net::IpAddr;

use rexmit_wire::Packet;

/// What tells flows apart: source and destination address, protocol, source and destination port (0 where the protocol
/// has none).
pub type FlowKey = (IpAddr, IpAddr, u8, u16, u16);

/// A packet as a [`crate::Direction`] needs it.
///
/// The model's [`Packet`] is one; live traffic has its own, whose headers are read only where a pattern or the
/// log asks for them.
pub trait Carried: Clone {
    /// Length of the IP packet in bytes, header included.
    fn ip_len(&self) -> u64;

    /// The packet as a value. Its payload counts for its length alone.
    fn packet(&self) -> Cow<'_, Packet>;

    /// The flow that it belongs to.
    fn flow(&self) -> FlowKey;

    /// Damages it, so that its receiver finds a wrong checksum.
    fn damage(&mut self);

    /// Marks it "congestion experienced"; false where it is not ECN-capable (RFC 3168 section 5).
    fn mark(&mut self) -> bool;
}

/// In memory of its own: what is moved from queue to queue is a pointer.
impl Carried for Box<Packet> {
    #[inline]
    fn ip_len(&self) -> u64 {
        (**self).ip_len()
    }

    #[inline]
    fn packet(&self) -> Cow<'_, Packet> {
        Cow::Borrowed(self)
    }

    fn flow(&self) -> FlowKey {
        (**self).flow()
    }

    fn damage(&mut self) {
        (**self).damage();
    }

    fn mark(&mut self) -> bool {
        (**self).mark()
    }
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

    fn flow(&self) -> FlowKey {
        let (source, destination) = self.ports().unwrap_or_default();
        (self.src, self.dst, self.protocol(), source, destination)
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
