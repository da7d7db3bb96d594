//! The path emulator on real packets: the same [`Direction`] as in virtual time, driven by a clock.
//!
//! Each packet on the wire has its own position, verdict, place in the queue and due time, also where a host hands over
//! many as one super-packet: that is split by reference on its way in, and its packets enter at one instant, as from a
//! network card of unlimited rate. On the way out, packets of one super-packet that follow each other are put together
//! again, within limits: none is handed over before it is due, and none waits for others longer than the horizon
//! that [`Pace`] gives.

use std::io;
use std::net::IpAddr;

use rexmit_network::{ByHost, ByLink, HostId, LinkId, Network, two_hosts};
use rexmit_path::{Direction, Verdict};
use rexmit_units::{Duration, Instant};

use crate::packet::{RealPacket, Run, octets};
use crate::pool::{Intake, Pool};
use crate::port::{Arrival, Port};
use crate::sys::clock::Clock;
use crate::sys::device::Lost;
use crate::sys::tun::Tun;

pub use crate::lateness::Lateness;

/// Hosts' interfaces, a port for each, and the links between them.
///
/// To be called in a loop. In steps of one packet: [`Self::take_in`] what the hosts have sent, [`Self::hand_out`] what
/// is due, and wait until a port is readable or [`Self::next_due`] has come. By a clock that runs on, many at a time:
/// [`Self::take_in_for`], [`Self::hand_out_for`] and [`Self::next_action`], as [`crate::drive()`] does.
pub struct Emulator<P = Tun> {
    network: Network,
    ports: ByHost<P>,
    links: ByLink<Direction<RealPacket>>,
    verdicts: Option<ByLink<Vec<Verdict>>>,
    lateness: Lateness,
    incidents: Incidents,
    intake: Intake,
    gathered: ByLink<Gathered>,
    /// When the last packet entered a link.
    entered: ByLink<Instant>,
    /// The hosts' addresses, as the IP header has them, where packets for others meet no path.
    addresses: Option<ByHost<Vec<u8>>>,
}

/// What happened beside packets' entering and leaving.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Incidents {
    /// Packets for which the emulator had no memory left, and no position.
    pub no_room: u64,
    /// Frames that hold no IP packet, which passed at once.
    pub passed: u64,
    /// Packets that were for nobody at the other end: what a stack says by itself. They meet no path.
    pub strays: u64,
}

/// How work is portioned when the clock runs on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// One kind of work is interrupted for the others after this time.
    pub slice: Duration,
    /// A packet that is due waits at most this long for those of its super-packet behind it that fall due meanwhile;
    /// one that has none behind it does not wait. Zero: only what is due at the same moment leaves together.
    pub horizon: Duration,
}

impl<P: Port> Emulator<P> {
    /// The links of `network` between the ports of its hosts. `verdicts` keeps each verdict.
    pub fn new(
        network: Network,
        ports: ByHost<P>,
        mut links: ByLink<Direction<RealPacket>>,
        verdicts: bool,
    ) -> Self {
        if verdicts {
            links.values_mut().for_each(Direction::keep_late_verdicts);
        }
        Self {
            ports,
            verdicts: verdicts.then(|| links.ids().map(|_| Vec::new()).collect()),
            lateness: Lateness::default(),
            incidents: Incidents::default(),
            intake: Intake::new(Pool::default()),
            gathered: links.ids().map(|_| Gathered::default()).collect(),
            entered: links.ids().map(|_| Instant::ZERO).collect(),
            addresses: None,
            network,
            links,
        }
    }

    /// Takes packets between hosts with these addresses only.
    #[must_use]
    pub fn only_between(mut self, addresses: ByHost<IpAddr>) -> Self {
        self.addresses = Some(addresses.map(octets));
        self
    }

    /// Takes buffers from this pool, whose limit is that of the packets on their way.
    #[must_use]
    pub fn with_pool(mut self, pool: Pool) -> Self {
        self.intake = Intake::new(pool);
        self
    }

    /// The hosts and links that it emulates.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// The ports, for waiting.
    pub fn ports(&self) -> &ByHost<P> {
        &self.ports
    }

    /// The ports, for another emulator.
    pub fn into_ports(self) -> ByHost<P> {
        self.ports
    }

    /// The links.
    pub fn links(&self) -> &ByLink<Direction<RealPacket>> {
        &self.links
    }

    /// The same, to ask what waits in their queues.
    pub fn links_mut(&mut self) -> &mut ByLink<Direction<RealPacket>> {
        &mut self.links
    }

    /// How late packets came out so far.
    pub fn lateness(&self) -> &Lateness {
        &self.lateness
    }

    /// What else happened so far.
    pub fn incidents(&self) -> Incidents {
        self.incidents
    }

    /// The buffers.
    pub fn pool(&self) -> &Pool {
        self.intake.pool()
    }

    /// What each port's interface lost so far.
    ///
    /// # Errors
    /// Where it is gone.
    pub fn lost(&mut self) -> io::Result<ByHost<Lost>> {
        self.ports.values_mut().map(Port::lost).collect()
    }

    /// The verdicts so far on what `host` sent, in the order of positions; empty where they are not kept.
    pub fn verdicts_on(&self, host: HostId) -> &[Verdict] {
        self.verdicts.as_ref().map_or(&[], |all| &all[self.network.default_route(host)])
    }

    /// Takes everything that `host` has sent at `now`; how many packets that was.
    ///
    /// # Errors
    /// Those of the interface.
    pub fn take_in(&mut self, host: HostId, now: Instant) -> io::Result<usize> {
        let mut taken = 0;
        while let Some(packets) = self.take_frame(host, |_| now)? {
            taken += packets;
        }
        Ok(taken)
    }

    /// Takes what `host` has sent, for the time of a slice; how many packets that was.
    ///
    /// # Errors
    /// Those of the interface.
    pub fn take_in_for(&mut self, host: HostId, clock: &Clock, pace: Pace) -> io::Result<usize> {
        let (mut taken, mut end) = (0, Instant::FAR_FUTURE);
        loop {
            let mut now = Instant::ZERO;
            let entry = |stamp: Option<u64>| {
                now = clock.now();
                // Never before the last one, never in the future.
                stamp.map_or(now, |stamp| clock.at(stamp).min(now))
            };
            let Some(packets) = self.take_frame(host, entry)? else { return Ok(taken) };
            if taken == 0 {
                end = now + pace.slice;
            }
            taken += packets;
            if now >= end {
                return Ok(taken);
            }
        }
    }

    /// Hands the next packet that is due at `now` to its host: that of the link with the lowest number where several have
    /// one. `None` if none is due, else the host, whose stack has run when this returns.
    ///
    /// # Errors
    /// Those of the interface, but for a packet that the host refuses: that is counted.
    pub fn hand_out(&mut self, now: Instant) -> io::Result<Option<HostId>> {
        for link in self.links.ids() {
            self.advance(link, now);
        }
        let due = |(link, direction): (LinkId, &Direction<RealPacket>)| Some((direction.poll_timer()?, link));
        let Some((at, link)) = self.links.iter().filter_map(due).min() else { return Ok(None) };
        let Some(packet) = self.links[link].poll_receive(now) else { return Ok(None) };
        self.lateness.record(now.saturating_since(at));
        let host = two_hosts::receiver(link);
        self.transmit(host, &Run::new(packet))?;
        self.lateness.refused += self.ports[host].flush()?;
        Ok(Some(host))
    }

    /// Hands what is due on `link` to its host, for the time of a slice; how many packets that was.
    ///
    /// # Errors
    /// Those of the interface, but for packets that the host refuses: these are counted.
    #[inline]
    pub fn hand_out_for(&mut self, link: LinkId, clock: &Clock, pace: Pace) -> io::Result<usize> {
        let next = self.next_of(link, pace);
        if next == Instant::FAR_FUTURE {
            return Ok(0);
        }
        let now = clock.now();
        if next > now { Ok(0) } else { self.hand_out_from(link, clock, now, pace) }
    }

    /// When the next packet is due, or something happens in a queue.
    pub fn next_due(&self) -> Option<Instant> {
        self.links.values().filter_map(Direction::poll_timer).min()
    }

    /// When [`Self::hand_out_for`] next has something to do; [`Instant::FAR_FUTURE`] for never.
    pub fn next_action(&self, pace: Pace) -> Instant {
        self.links.ids().map(|link| self.next_of(link, pace)).min().unwrap_or(Instant::FAR_FUTURE)
    }

    fn next_of(&self, link: LinkId, pace: Pace) -> Instant {
        let due = self.links[link].poll_timer().unwrap_or(Instant::FAR_FUTURE);
        due.min(self.gathered[link].latest(pace.horizon).unwrap_or(Instant::FAR_FUTURE))
    }

    /// Takes one frame, if there is one; how many packets it was. `entry` says when it enters, told the interface's
    /// own stamp.
    #[inline]
    fn take_frame(
        &mut self,
        host: HostId,
        entry: impl FnOnce(Option<u64>) -> Instant,
    ) -> io::Result<Option<usize>> {
        let Some(Arrival { frame, is_ip, stamp }) = self.ports[host].receive(&mut self.intake)? else {
            return Ok(None);
        };
        let packets = frame.packets();
        let link = self.network.default_route(host);
        let to = two_hosts::receiver(link);
        let now = entry(stamp).max(self.entered[link]);
        self.entered[link] = now;
        if !is_ip {
            self.incidents.passed += 1;
            self.transmit(to, &Run::new(RealPacket::from(frame)))?;
            self.lateness.refused += self.ports[to].flush()?;
        } else if self.addresses.as_ref().is_some_and(|all| !frame.is_for(&all[to])) {
            self.incidents.strays += 1;
            return Ok(Some(0));
        } else if self.intake.pool().is_exhausted() {
            self.incidents.no_room += u64::from(packets);
        } else {
            for packet in frame.split() {
                let verdict = self.links[link].send(now, packet);
                if let Some(verdicts) = &mut self.verdicts {
                    verdicts[link].push(verdict);
                }
            }
            self.settle(link);
        }
        Ok(Some(packets as usize))
    }

    /// Lets happen on a link what happens at or before `now`; what is due then comes out, and nothing else does.
    #[inline]
    fn advance(&mut self, link: LinkId, now: Instant) {
        self.links[link].advance(now);
        self.settle(link);
    }

    /// Keeps the verdicts of a link that were undecided until now.
    #[inline]
    fn settle(&mut self, link: LinkId) {
        let Some(verdicts) = &mut self.verdicts else { return };
        while let Some(verdict) = self.links[link].poll_verdict() {
            if let Some(kept) = verdicts[link].get_mut(verdict.position as usize - 1) {
                *kept = verdict;
            }
        }
    }

    fn hand_out_from(
        &mut self,
        link: LinkId,
        clock: &Clock,
        mut now: Instant,
        pace: Pace,
    ) -> io::Result<usize> {
        let end = now + pace.slice;
        let host = two_hosts::receiver(link);
        let merges = self.ports[host].merges();
        let mut handed = 0;
        while now < end {
            self.advance(link, now);
            let due = self.links[link].poll_timer();
            let packet = due.and_then(|_| self.links[link].poll_receive(now));
            if let (Some(packet), Some(due)) = (packet, due) {
                let Some(packet) = self.gathered[link].add(packet, due, merges) else { continue };
                (handed, now) = (handed + self.gathered[link].len(), self.give(link, clock)?);
                self.gathered[link].add(packet, due, merges);
            } else {
                if self.gathered[link].may_wait(now, due, pace.horizon) {
                    break;
                }
                (handed, now) = (handed + self.gathered[link].len(), self.give(link, clock)?);
            }
        }
        self.lateness.refused += self.ports[host].flush()?;
        Ok(handed)
    }

    /// Hands over what is gathered; when.
    fn give(&mut self, link: LinkId, clock: &Clock) -> io::Result<Instant> {
        let now = clock.now();
        let Some(run) = self.gathered[link].run.take() else { return Ok(now) };
        for due in self.gathered[link].dues.drain(..) {
            self.lateness.record(now.saturating_since(due));
        }
        self.transmit(two_hosts::receiver(link), &run)?;
        Ok(now)
    }

    #[inline]
    fn transmit(&mut self, host: HostId, run: &Run) -> io::Result<()> {
        match self.ports[host].transmit(run) {
            Err(e) if matches!(e.raw_os_error(), Some(libc::ENOBUFS | libc::EINVAL | libc::EAGAIN)) => {
                self.lateness.refused += u64::from(run.packets());
                Ok(())
            }
            other => other,
        }
    }
}

/// Packets of a link that are due and leave together.
#[derive(Debug, Default)]
struct Gathered {
    run: Option<Run>,
    /// When each was due.
    dues: Vec<Instant>,
}

impl Gathered {
    fn len(&self) -> usize {
        self.dues.len()
    }

    /// Adds a packet; gives it back where it does not go with the others.
    #[inline]
    fn add(&mut self, packet: RealPacket, due: Instant, merges: bool) -> Option<RealPacket> {
        match &mut self.run {
            None => self.run = Some(Run::new(packet)),
            Some(_) if !merges => return Some(packet),
            Some(run) => {
                if let Err(packet) = run.extend(packet) {
                    return Some(packet);
                }
            }
        }
        self.dues.push(due);
        None
    }

    /// When they leave at the latest.
    #[inline]
    fn latest(&self, horizon: Duration) -> Option<Instant> {
        self.dues.first().map(|first| *first + horizon)
    }

    /// True where the next packet, due at `next`, may still go with them; also where there are none.
    fn may_wait(&self, now: Instant, next: Option<Instant>, horizon: Duration) -> bool {
        let Some(latest) = self.latest(horizon) else { return true };
        now < latest && next.is_some_and(|next| next <= latest)
    }
}
