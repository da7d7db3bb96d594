//! The stacks that a host can have, behind one type.

use std::collections::VecDeque;
use std::sync::Arc;

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_network::HostId;
use rexmit_scenario::{ConnectionPlan, Resolved, SpecError, Stack as Profile, Streams};
use rexmit_sctp::{Association, AssociationConfig};
use rexmit_stack::{Counters, Delivery, Endpoint, Event, Snapshot, Socket, Transmission};
use rexmit_tcp::congestion::Congestion;
use rexmit_tcp::{Connection, ConnectionConfig};
use rexmit_units::{Duration, Instant};
use rexmit_usrsctp::Usrsctp;
use rexmit_wire::{Packet, SeqNumber};

/// One end of a connection, of any protocol.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a TCP is what most runs have, and stays where the ends are")]
pub(crate) enum Stack {
    Tcp(Connection),
    Sctp(Box<Association>),
    Usrsctp(Box<rexmit_usrsctp::Association>),
}

/// The same of whichever it is.
macro_rules! each {
    ($stack:expr, $inner:ident => $what:expr) => {
        match $stack {
            Stack::Tcp($inner) => $what,
            Stack::Sctp($inner) => $what,
            Stack::Usrsctp($inner) => $what,
        }
    };
}

/// Where the random numbers of a host's connections come from, one after the other.
pub(crate) struct Numbers {
    /// Initial sequence numbers.
    first: Xoshiro256PlusPlus,
    /// What else SCTP draws.
    more: Option<Xoshiro256PlusPlus>,
}

impl Numbers {
    pub fn new(streams: &Streams, host: &str, profile: &Profile) -> Self {
        let more = matches!(profile, Profile::Sctp(_)).then(|| streams.get(&format!("hosts.{host}.tag")));
        Self { first: streams.get(&format!("hosts.{host}.iss")), more }
    }

    fn more(&mut self) -> u64 {
        self.more.as_mut().map_or(0, RngCore::next_u64)
    }
}

/// The profile, asking for and taking at least so many streams, as an application would (RFC 6458 section 5.3.1).
fn with_streams(profile: &Arc<rexmit_sctp::Profile>, streams: u16) -> Arc<rexmit_sctp::Profile> {
    let mut profile = profile.clone();
    let rules = &profile.association;
    if rules.outbound_streams.min(rules.inbound_streams) < streams {
        let rules = &mut Arc::make_mut(&mut profile).association;
        rules.outbound_streams = rules.outbound_streams.max(streams);
        rules.inbound_streams = rules.inbound_streams.max(streams);
    }
    profile
}

impl Stack {
    /// The end of a connection at `host`, whose ticks have this phase.
    pub fn new(
        resolved: &Resolved,
        (plan, host): (&ConnectionPlan, HostId),
        phase: Duration,
        numbers: &mut Numbers,
    ) -> Self {
        let (profile, spec) = (&resolved.stacks[host], resolved.scenario.hosts.of(host));
        let (local, remote) = (plan.end(host).socket, plan.end(plan.peer(host)).socket);
        let active = host == plan.opener;
        let second = resolved.scenario.alternate.as_ref().map(|_| resolved.alternate_address(host));
        match profile {
            Profile::Tcp(profile) => Self::Tcp(Connection::new(ConnectionConfig {
                profile: profile.clone(),
                local,
                remote,
                iss: SeqNumber(numbers.first.next_u32()),
                mtu: spec.mtu,
                phase,
                role: if active { rexmit_tcp::Role::Active } else { rexmit_tcp::Role::Passive },
            })),
            Profile::Sctp(profile) => Self::Sctp(Box::new(Association::new(AssociationConfig {
                profile: with_streams(profile, resolved.transfers[plan.transfer].streams()),
                local,
                remote,
                more_local: second.into_iter().collect(),
                more_remote: Vec::new(),
                mtu: spec.mtu,
                phase,
                role: if active { rexmit_sctp::Role::Active } else { rexmit_sctp::Role::Passive },
                tag: (numbers.more() >> 32).max(1) as u32,
                initial_tsn: numbers.first.next_u32(),
                secret: numbers.more(),
            }))),
        }
    }

    /// The same of usrsctp, which `library` runs.
    pub fn usrsctp(
        library: &Usrsctp,
        resolved: &Resolved,
        (plan, host): (&ConnectionPlan, HostId),
        numbers: &mut Numbers,
    ) -> Result<Self, SpecError> {
        let spec = resolved.scenario.hosts.of(host);
        let (mut settings, _) = spec.usrsctp_settings();
        settings.streams = settings.streams.max(resolved.transfers[plan.transfer].streams());
        let active = host == plan.opener;
        let config = rexmit_usrsctp::AssociationConfig {
            settings: Arc::new(settings),
            local: plan.end(host).socket,
            remote: plan.end(plan.peer(host)).socket,
            mtu: spec.mtu,
            role: if active { rexmit_usrsctp::Role::Active } else { rexmit_usrsctp::Role::Passive },
            seed: numbers.more(),
        };
        let end = library.association(config).map_err(|e| SpecError::new("", e.to_string()))?;
        Ok(Self::Usrsctp(Box::new(end)))
    }

    /// Takes another congestion control, which only a TCP of ours has.
    pub fn set_congestion(&mut self, own: Congestion, host: &str) -> Result<(), SpecError> {
        match self {
            Self::Tcp(connection) => {
                connection.set_congestion(own);
                Ok(())
            }
            Self::Sctp(_) | Self::Usrsctp(_) => {
                let text = "a congestion control of one's own goes with a TCP of the model, not with SCTP";
                Err(SpecError::new(format!("hosts.{host}.stack"), text))
            }
        }
    }

    /// Lends it a queue for what it sends; swap it back after polling.
    #[inline]
    pub fn swap_queue(&mut self, queue: &mut VecDeque<Transmission>) {
        each!(self, end => end.swap_queue(queue));
    }

    /// What it has done since the start.
    #[inline]
    pub fn counters(&self) -> &Counters {
        each!(self, end => end.counters())
    }

    /// Bytes that arrived as others than those written.
    pub fn misplaced_bytes(&self) -> u64 {
        each!(self, end => end.misplaced_bytes())
    }

    /// It keeps messages apart.
    #[inline]
    pub fn is_of_messages(&self) -> bool {
        !matches!(self, Self::Tcp(_))
    }

    /// Its first sequence number or TSN; `None` where the code is not ours.
    pub fn initial_number(&self) -> Option<SeqNumber> {
        match self {
            Self::Tcp(connection) => Some(connection.initial_sequence()),
            Self::Sctp(association) => Some(SeqNumber(association.initial_tsn())),
            Self::Usrsctp(_) => None,
        }
    }
}

impl Endpoint for Stack {
    #[inline]
    fn handle_packet(&mut self, now: Instant, packet: Packet) {
        each!(self, end => end.handle_packet(now, packet));
    }

    #[inline]
    fn handle_timer(&mut self, now: Instant) {
        each!(self, end => end.handle_timer(now));
    }

    #[inline]
    fn poll_transmit(&mut self, now: Instant) -> Option<Transmission> {
        each!(self, end => end.poll_transmit(now))
    }

    #[inline]
    fn poll_timer(&self) -> Option<Instant> {
        each!(self, end => end.poll_timer())
    }

    #[inline]
    fn poll_event(&mut self) -> Option<Event> {
        each!(self, end => end.poll_event())
    }

    fn snapshot(&self) -> Snapshot {
        each!(self, end => end.snapshot())
    }
}

impl Socket for Stack {
    fn connect(&mut self, now: Instant) {
        each!(self, end => end.connect(now));
    }

    #[inline]
    fn write(&mut self, now: Instant, len: u64) -> u64 {
        each!(self, end => end.write(now, len))
    }

    #[inline]
    fn send(&mut self, now: Instant, len: u64, how: Delivery) -> u64 {
        each!(self, end => end.send(now, len, how))
    }

    #[inline]
    fn read_offset(&self) -> Option<u64> {
        each!(self, end => end.read_offset())
    }

    #[inline]
    fn read(&mut self, now: Instant, max: u64) -> u64 {
        each!(self, end => end.read(now, max))
    }

    #[inline]
    fn readable(&self) -> u64 {
        each!(self, end => end.readable())
    }

    fn close(&mut self, now: Instant) {
        each!(self, end => end.close(now));
    }

    fn abort(&mut self, now: Instant) {
        each!(self, end => end.abort(now));
    }
}
