//! The path emulator on real packets: the same [`Direction`] as in virtual time, driven by a clock.

use std::io;
use std::net::IpAddr;

use rexmit_path::{Direction, Verdict};
use rexmit_units::Instant;

use crate::packet::{RealPacket, is_for, octets};
use crate::sys::tun::Tun;

/// The largest IP packet.
const LARGEST: usize = 65_535;

/// How late packets came out, and what went wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lateness {
    /// Packets that came out.
    pub packets: u64,
    /// The longest time between the instant at which a packet was due and the one at which it was handed
    /// over, nanoseconds.
    pub max_ns: u64,
    /// The sum of these times.
    pub sum_ns: u64,
    /// Packets that a host's interface refused.
    pub refused: u64,
    /// Packets that were for nobody at the other end: what a stack says by itself. They meet no path.
    pub strays: u64,
}

/// Two interfaces and the path between them. Port 0 is the server's, port 1 the client's, and so are the
/// directions that they send into.
///
/// To be called in a loop: [`Self::take_in`] what the hosts have sent, [`Self::hand_out`] what is due, and
/// wait until a port is readable or [`Self::next_due`] has come.
pub struct Emulator {
    ports: [Tun; 2],
    directions: [Direction<RealPacket>; 2],
    verdicts: Option<[Vec<Verdict>; 2]>,
    lateness: Lateness,
    buffer: Vec<u8>,
    /// The hosts' addresses, as the IP header has them.
    addresses: [Vec<u8>; 2],
}

impl Emulator {
    /// The path `directions` (down, up) between the ports (server, client) of hosts with these `addresses`.
    /// `verdicts` keeps each verdict.
    pub fn new(
        ports: [Tun; 2],
        directions: [Direction<RealPacket>; 2],
        addresses: [IpAddr; 2],
        verdicts: bool,
    ) -> Self {
        Self {
            ports,
            directions,
            verdicts: verdicts.then(Default::default),
            lateness: Lateness::default(),
            buffer: vec![0; LARGEST],
            addresses: addresses.map(octets),
        }
    }

    /// The same, for packets to whatever address.
    #[must_use]
    pub fn for_anybody(mut self) -> Self {
        self.addresses = Default::default();
        self
    }

    /// The two ports, for waiting.
    pub fn ports(&self) -> &[Tun; 2] {
        &self.ports
    }

    /// The two directions.
    pub fn directions(&self) -> &[Direction<RealPacket>; 2] {
        &self.directions
    }

    /// The same, to ask what waits in their queues.
    pub fn directions_mut(&mut self) -> &mut [Direction<RealPacket>; 2] {
        &mut self.directions
    }

    /// How late packets came out so far.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// The verdicts so far by direction, in the order of positions; empty where they are not kept.
    pub fn verdicts(&self) -> [&[Verdict]; 2] {
        self.verdicts.as_ref().map_or([&[], &[]], |[down, up]| [down, up])
    }

    /// Takes everything that the host at `port` has sent at `now`; how many packets that was.
    ///
    /// # Errors
    /// Those of the interface.
    pub fn take_in(&mut self, port: usize, now: Instant) -> io::Result<usize> {
        let mut taken = 0;
        while let Some(len) = self.ports[port].receive(&mut self.buffer)? {
            let to = &self.addresses[1 - port];
            if !to.is_empty() && !is_for(&self.buffer[..len], to) {
                self.lateness.strays += 1;
                continue;
            }
            let packet = RealPacket { bytes: self.buffer[..len].to_vec() };
            let verdict = self.directions[port].send(now, packet);
            if let Some(verdicts) = &mut self.verdicts {
                verdicts[port].push(verdict);
            }
            taken += 1;
        }
        Ok(taken)
    }

    /// Hands the next packet that is due at `now` to its host: to the client before the server where both have
    /// one. `None` if none is due, else the port of the host, whose stack has run when this returns.
    ///
    /// # Errors
    /// Those of the interface, but for a packet that the host refuses: that is counted.
    pub fn hand_out(&mut self, now: Instant) -> io::Result<Option<usize>> {
        let due = |d: &Direction<RealPacket>| d.poll_timer().unwrap_or(Instant::FAR_FUTURE);
        let [down, up] = &self.directions;
        let from = usize::from(due(up) < due(down));
        let at = due(&self.directions[from]);
        let Some(packet) = self.directions[from].poll_receive(now) else { return Ok(None) };
        let late = now.saturating_since(at).as_nanos();
        self.lateness.packets += 1;
        self.lateness.max_ns = self.lateness.max_ns.max(late);
        self.lateness.sum_ns += late;
        let port = 1 - from;
        match self.ports[port].transmit(&packet.bytes) {
            Ok(()) => {}
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EINVAL | libc::EAGAIN)) => {
                self.lateness.refused += 1;
            }
            Err(e) => return Err(e),
        }
        Ok(Some(port))
    }

    /// When the next packet is due.
    pub fn next_due(&self) -> Option<Instant> {
        self.directions.iter().filter_map(Direction::poll_timer).min()
    }
}
