//! The path emulator on real packets: the same [`Direction`] as in virtual time, driven by a clock.
//!
//! Each packet on the wire has its own position, verdict, place in the queue and due time, also where a host hands over
//! many as one super-packet: that is split by reference on its way in, and its packets enter at one instant, as from a
//! network card of unlimited rate. On the way out, packets of one super-packet that follow each other are put together
//! again, within limits: none is handed over before it is due, and none waits for others longer than the horizon
//! that [`Pace`] gives.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;

use rexmit_network::{ByHost, ByLink, EndIndex, Ends, HostId, LinkId, Network, Node};
use rexmit_path::{Carried, Direction, Verdict};
use rexmit_scenario::{DueLinks, Ledger, Measured, Resolved, Row, connection_of_ports};
use rexmit_units::{Duration, Instant};

use crate::addresses::HostsByAddress;
use crate::packet::{Frame, RealPacket, Run};
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
    network: Arc<Network>,
    ports: ByHost<P>,
    links: ByLink<Direction<RealPacket>>,
    verdicts: Option<ByLink<Vec<Verdict>>>,
    /// Which link has something to do next.
    due: DueLinks,
    lateness: Lateness,
    /// Packets that hosts were handed one by one.
    delivered: u64,
    incidents: Incidents,
    intake: Intake,
    gathered: ByLink<Gathered>,
    /// When the last packet entered a link.
    entered: ByLink<Instant>,
    /// The hosts by their addresses, where packets for others meet no path.
    hosts: Option<HostsByAddress>,
    /// What is written down of connections and links.
    ledger: Option<Ledger>,
}

/// What happened besides packets' entering and leaving.
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
        network: impl Into<Arc<Network>>,
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
            due: DueLinks::new(links.len()),
            lateness: Lateness::default(),
            delivered: 0,
            incidents: Incidents::default(),
            intake: Intake::new(Pool::default()),
            gathered: links.ids().map(|_| Gathered::default()).collect(),
            entered: links.ids().map(|_| Instant::ZERO).collect(),
            hosts: None,
            ledger: None,
            network: network.into(),
            links,
        }
    }

    /// Takes packets between hosts with these addresses only. With more than two hosts it must know them.
    #[must_use]
    pub fn only_between(self, addresses: &ByHost<IpAddr>) -> Self {
        Self { hosts: Some(HostsByAddress::of(addresses)), ..self }
    }

    /// Writes down what connections and links do.
    #[must_use]
    pub fn with_ledger(self, ledger: Option<Ledger>) -> Self {
        Self { ledger, ..self }
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

    /// The same, to keep.
    pub fn shared_network(&self) -> Arc<Network> {
        Arc::clone(&self.network)
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

    /// Packets that hosts were handed by [`Self::hand_out`].
    pub fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Before what happens at `now`: looks at queues, and ends intervals of connections and links.
    pub fn measure<E: Measured>(&mut self, now: Instant, ends: &Ends<E>) {
        if let Some(ledger) = &mut self.ledger {
            ledger.pass(now, &mut self.links, ends);
        }
    }

    /// Adds to the row of a run that is over what connections and links did.
    pub fn tell<E: Measured>(&mut self, row: &mut Row, resolved: &Resolved, ends: &Ends<E>) {
        if let Some(ledger) = self.ledger.take() {
            ledger.finish(row, resolved, &mut self.links, ends);
        }
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

    /// Lets happen what is due at `now`, that of the link with the lowest number first, until a packet comes to a host, and
    /// hands it over. `None` if none does, else the host, whose stack has run when this returns.
    ///
    /// # Errors
    /// Those of the interface, except for a packet that the host refuses: that is counted.
    pub fn hand_out(&mut self, now: Instant) -> io::Result<Option<HostId>> {
        while let (Some(link), due) = self.due.first(&self.links) {
            if due > now {
                break;
            }
            self.advance(link, now);
            let at = self.links[link].poll_timer();
            let Some(packet) = self.links[link].poll_receive(now) else { continue };
            self.lateness.record(now.saturating_since(at.unwrap_or(now)));
            if let Some(host) = self.arrive(link, &packet, now) {
                self.delivered += 1;
                self.transmit(host, &Run::new(packet))?;
                self.lateness.refused += self.ports[host].flush()?;
                return Ok(Some(host));
            }
        }
        Ok(None)
    }

    /// A packet has come out of a link: the host that it has come to, or `None` where it goes on from a point.
    fn arrive(&mut self, link: LinkId, packet: &RealPacket, now: Instant) -> Option<HostId> {
        let point = match self.network.link(link).to {
            Node::Host(host) => {
                if self.ledger.is_some() {
                    self.note(packet, now, host);
                }
                return Some(host);
            }
            Node::Point(point) => point,
        };
        let Some(to) = self.hosts.as_ref().and_then(|hosts| hosts.receiver(packet.frame())) else {
            self.incidents.strays += 1;
            return None;
        };
        self.enter(self.network.forward(point, to), now, packet.clone());
        None
    }

    /// A packet enters a link.
    #[inline]
    fn enter(&mut self, link: LinkId, now: Instant, packet: RealPacket) {
        let verdict = self.links[link].send(now, packet);
        if let Some(verdicts) = &mut self.verdicts {
            verdicts[link].push(verdict);
        }
        self.due.entered(link, &self.links[link]);
    }

    /// Writes down that a packet passes the interface of `host`.
    fn note(&mut self, packet: &RealPacket, now: Instant, host: HostId) {
        let (Some(ledger), Some(hosts)) = (&mut self.ledger, &self.hosts) else { return };
        let (Some(from), Some(to)) = (hosts.sender(packet.frame()), hosts.receiver(packet.frame())) else {
            return;
        };
        let packet = packet.packet();
        let connection = packet.ports().and_then(|(one, other)| connection_of_ports(one, other));
        let Some(connection) = connection else { return };
        // The end at the host with the lower number is the first.
        let first = EndIndex::first_of(connection);
        let at = |host: HostId| if host == from.max(to) { first.peer() } else { first };
        if host == from {
            ledger.seen(at(host), now, &packet);
        } else if !packet.damaged {
            ledger.received(at(host), now, &packet);
        }
    }

    /// Hands what is due on `link` to its host, for the time of a slice; how many packets that was.
    ///
    /// # Errors
    /// Those of the interface, except for packets that the host refuses: these are counted.
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
        let to = self.network.link(link).to.host();
        let now = entry(stamp).max(self.entered[link]);
        self.entered[link] = now;
        if !is_ip {
            self.incidents.passed += 1;
            if let Some(to) = to {
                self.transmit(to, &Run::new(RealPacket::from(frame)))?;
                self.lateness.refused += self.ports[to].flush()?;
            }
        } else if self.is_stray(&frame, to) {
            self.incidents.strays += 1;
            return Ok(Some(0));
        } else if self.intake.pool().is_exhausted() {
            self.incidents.no_room += u64::from(packets);
        } else {
            for packet in frame.split() {
                if self.ledger.is_some() {
                    self.note(&packet, now, host);
                }
                self.enter(link, now, packet);
            }
            self.settle(link);
        }
        Ok(Some(packets as usize))
    }

    /// True for a frame that is for nobody else, where the hosts are known: on a link to the host `to`, for nobody but that.
    #[inline]
    fn is_stray(&self, frame: &Frame, to: Option<HostId>) -> bool {
        let Some(hosts) = &self.hosts else { return false };
        let receiver = hosts.receiver(frame);
        if to.is_some() { receiver != to } else { receiver.is_none() }
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
        let Node::Host(host) = self.network.link(link).to else {
            return Ok(self.forward_from(link, clock, now, end));
        };
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
        if let Node::Host(host) = self.network.link(link).to {
            self.transmit(host, &run)?;
        }
        Ok(now)
    }

    /// Lets packets of a link go on from the point where it ends.
    fn forward_from(&mut self, link: LinkId, clock: &Clock, mut now: Instant, end: Instant) -> usize {
        let mut forwarded = 0;
        while now < end {
            self.advance(link, now);
            let Some(packet) = self.links[link].poll_receive(now) else { break };
            self.arrive(link, &packet, now);
            forwarded += 1;
            now = clock.now();
        }
        forwarded
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
