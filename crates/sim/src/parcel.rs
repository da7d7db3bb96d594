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
}

impl Carried for Parcel {
    #[inline]
    fn ip_len(&self) -> u64 {
        self.packet.ip_len()
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
