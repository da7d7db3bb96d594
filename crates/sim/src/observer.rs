//! Who sees the packets of runs without being part of them.

use rexmit_network::HostId;
use rexmit_scenario::{Resolved, RetransmissionRow, Streams};
use rexmit_units::Instant;
use rexmit_wire::Packet;

/// Sees what passes the hosts' interfaces in one run: what a capture there would show, in its order.
pub trait Observer {
    /// A packet passes the interface of a host, sent by it or for it.
    fn packet(&mut self, host: HostId, now: Instant, packet: &Packet);

    /// The run is over: returns what was sent again in it.
    fn finish(self: Box<Self>) -> Vec<RetransmissionRow>;
}

/// Gives runs their observers, for any number of threads.
pub trait Watch: Sync {
    /// An observer of a run of this scenario, if it is to have one.
    fn begin(&self, resolved: &Resolved, streams: &Streams) -> Option<Box<dyn Observer>>;
}

/// Watches nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn begin(&self, _: &Resolved, _: &Streams) -> Option<Box<dyn Observer>> {
        None
    }
}
