//! The packets that pass the server's interface, as a capture there would have them.

use std::cell::RefCell;
use std::net::IpAddr;
use std::rc::Rc;

use rexmit_network::HostId;
use rexmit_network::two_hosts::SERVER;
use rexmit_sim::{Observer, RetransmissionRow};
use rexmit_units::Instant;
use rexmit_wire::{Packet, TcpSegment};

/// A packet at the server's interface.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    /// When.
    pub time: Instant,
    /// The server sent it.
    pub own: bool,
    /// What it says.
    pub segment: TcpSegment,
}

/// Notes them.
#[derive(Debug)]
pub(crate) struct Interface {
    seen: Rc<RefCell<Vec<Seen>>>,
    server: IpAddr,
}

impl Interface {
    /// Notes them into `seen`; `server` is the server's address.
    pub fn new(seen: Rc<RefCell<Vec<Seen>>>, server: IpAddr) -> Self {
        Self { seen, server }
    }
}

impl Observer for Interface {
    fn packet(&mut self, host: HostId, now: Instant, packet: &Packet) {
        if host != SERVER {
            return;
        }
        if let Some(segment) = packet.tcp() {
            let own = packet.src == self.server;
            self.seen.borrow_mut().push(Seen { time: now, own, segment: segment.clone() });
        }
    }

    fn finish(self: Box<Self>) -> Vec<RetransmissionRow> {
        Vec::new()
    }
}
