//! What the links of a run carry: a packet, and the end that it is for.

use std::borrow::Cow;

use rexmit_network::EndIndex;
use rexmit_path::{Carried, FlowKey};
use rexmit_wire::Packet;

/// A packet on its way. The packet has memory of its own: what is moved from queue to queue is a pointer.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    pub packet: Box<Packet>,
    pub to: EndIndex,
    /// The packet's, for the links between: they then touch none of its memory, which is not in a cache any more.
    ip_len: u32,
}

impl Parcel {
    #[inline]
    pub fn new(packet: Box<Packet>, to: EndIndex) -> Self {
        let ip_len = packet.ip_len() as u32;
        Self { packet, to, ip_len }
    }
}

impl Carried for Parcel {
    #[inline]
    fn ip_len(&self) -> u64 {
        u64::from(self.ip_len)
    }

    #[inline]
    fn packet(&self) -> Cow<'_, Packet> {
        Cow::Borrowed(&self.packet)
    }

    fn flow(&self) -> FlowKey {
        Carried::flow(&*self.packet)
    }

    fn damage(&mut self) {
        self.packet.damage();
    }

    fn mark(&mut self) -> bool {
        self.packet.mark()
    }
}
