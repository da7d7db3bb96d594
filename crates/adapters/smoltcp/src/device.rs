//! What connects an interface: at most one packet that has come, and those that leave.

use std::collections::VecDeque;

use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::time::Instant;

/// The device of one interface.
#[derive(Debug, Default)]
pub(crate) struct Wire {
    pub inbox: Option<Vec<u8>>,
    pub outbox: VecDeque<Vec<u8>>,
    pub mtu: usize,
}

/// A packet that has come.
pub(crate) struct Arrived(Vec<u8>);

/// Takes a packet that leaves.
pub(crate) struct Leaving<'a>(&'a mut VecDeque<Vec<u8>>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Arrived, Leaving<'_>)> {
        self.inbox.take().map(|packet| (Arrived(packet), Leaving(&mut self.outbox)))
    }

    fn transmit(&mut self, _: Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.outbox))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut can = DeviceCapabilities::default();
        can.medium = Medium::Ip;
        can.max_transmission_unit = self.mtu;
        can
    }
}

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back(packet);
        result
    }
}
