//! One end of a TCP connection: what it keeps ([`Tcb`]), and its way to recover.

use std::cmp::Reverse;
use std::net::SocketAddr;
use std::sync::Arc;

use rexmit_stack::{Counters, Endpoint, Event, Outbox, Snapshot, Socket, Transmission};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, SeqNumber, Transport};

use crate::congestion::Congestion;
use crate::host_cache::SharedHostCache;
use crate::profile::Profile;
use crate::recovery::{OwnRecovery, Recovery, with_recovery};

mod ack;
mod bare;
mod by_rate;
mod cached;
mod delayed_ack;
mod departures;
pub(crate) mod device;
mod ecn;
mod growth;
mod handshake;
mod held;
mod input;
mod output;
pub(crate) mod pacing;
mod promised;
mod receiver;
mod socket;
mod state;
mod tcb;
mod timeout;

pub use ack::{Growth, NewAck};
pub use rexmit_stack::Role;
pub use state::State;
pub(crate) use tcb::{RexmtFor, Timers};
pub use tcb::{SendState, Tcb};

/// What a connection is made from.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// The system's behaviour.
    pub profile: Arc<Profile>,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// Initial send sequence number.
    pub iss: SeqNumber,
    /// MTU of the interface in bytes.
    pub mtu: u32,
    /// Phase of the kernel's tick.
    pub phase: Duration,
    /// Which side opens.
    pub role: Role,
    /// What the host keeps of earlier connections, where the profile has that on.
    pub host_cache: Option<SharedHostCache>,
}

/// One end of a TCP connection; see [`Endpoint`] for the order of calls.
#[derive(Debug)]
pub struct Connection {
    tcb: Tcb,
    recovery: Recovery,
}

impl Connection {
    /// A connection in CLOSED (active) or LISTEN (passive).
    pub fn new(config: ConnectionConfig) -> Self {
        let tcb = Tcb::new(config);
        Self { recovery: Recovery::before_handshake(&tcb), tcb }
    }

    #[inline(never)]
    fn take_event(&mut self) -> Option<Event> {
        with_recovery!(self, |tcb, recovery| tcb.look_at_space(recovery));
        self.tcb.next_event()
    }

    /// Takes this congestion control in place of the profile's; call it before the first packet. What the
    /// profile says of recovery, and of the first window, holds all the same.
    pub fn set_congestion(&mut self, congestion: Congestion) {
        self.tcb.set_congestion(congestion);
    }

    /// Takes this way to recover in place of the profile's; call it before the first packet. What the profile says of
    /// thresholds, timers and windows holds all the same, as far as the strategy asks.
    pub fn set_recovery(&mut self, own: &OwnRecovery) {
        self.recovery = Recovery::own(own, &self.tcb);
    }

    /// The connection's state.
    pub fn state(&self) -> State {
        self.tcb.state
    }

    /// What has happened so far.
    pub fn counters(&self) -> &Counters {
        &self.tcb.counters
    }

    /// Bytes that arrived at a different place of the stream than their sequence number says. Anything but zero
    /// is a fault of a model.
    pub fn misplaced_bytes(&self) -> u64 {
        self.tcb.rcv.misplaced
    }

    /// Its initial sequence number.
    pub fn initial_sequence(&self) -> SeqNumber {
        self.tcb.snd.iss
    }

    /// True if it has taken all of `[seq, end)` of what the peer sends, in order or not.
    pub fn has_received(&self, seq: SeqNumber, end: SeqNumber) -> bool {
        let knows_peer = self.tcb.state >= State::SynReceived || self.tcb.marks.syn_acknowledged;
        let beyond = seq.max(self.tcb.rcv.nxt);
        knows_peer && (end <= self.tcb.rcv.nxt || self.tcb.rcv.out_of_order.holds(beyond, end))
    }

    /// The rank of the connection among those of a host whose timers fire at the same instant, the least first; `None`
    /// where its clock does not say, or where no timer that goes by ticks is due.
    pub fn turn(&self, now: Instant) -> Option<(Reverse<u32>, Reverse<Instant>)> {
        self.tcb.timers.due_by_ticks(now).filter_map(|(set, due)| self.tcb.clock.turn(set, due)).min()
    }

    /// Lends the connection an outbox for the packets that it sends, so that thousands of connections share
    /// one; swap it back after polling.
    pub fn swap_outbox(&mut self, outbox: &mut Outbox) {
        std::mem::swap(&mut self.tcb.out, outbox);
    }
}

impl Endpoint for Connection {
    fn handle_packet(&mut self, now: Instant, mut packet: Box<Packet>) {
        if let Some(ecn) = &mut self.tcb.ecn {
            ecn.arrives(packet.ip.tos);
        }
        let Transport::Tcp(segment) = &mut packet.transport else { return };
        if matches!(self.tcb.state, State::Listen | State::SynSent) {
            if self.tcb.on_opening(now, segment) {
                // Whether there is SACK decides how losses are repaired.
                self.recovery.begin(&self.tcb);
                with_recovery!(self, |tcb, recovery| tcb.output(now, recovery));
            }
            self.tcb.note_timers(now);
            return;
        }
        with_recovery!(self, |tcb, recovery| {
            tcb.take_turn(now, recovery);
            tcb.on_segment(now, segment, recovery);
            tcb.note_timers(now);
        });
        self.tcb.out.recycle(packet);
        self.tcb.leave_to_cache(now);
    }

    fn handle_timer(&mut self, now: Instant) {
        with_recovery!(self, |tcb, recovery| tcb.on_timer(now, recovery));
        self.tcb.note_timers(now);
        self.tcb.leave_to_cache(now);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.tcb.out.pop()
    }

    #[inline]
    fn poll_timer(&self) -> Option<Instant> {
        let due = self.tcb.timers.earliest();
        (due != Timers::OFF).then_some(due)
    }

    // Asked after each packet, and mostly there is none.
    #[inline(always)]
    fn poll_event(&mut self) -> Option<Event> {
        if self.tcb.has_no_events() {
            return None;
        }
        self.take_event()
    }

    fn snapshot(&self) -> Snapshot {
        self.tcb.snapshot(self.recovery.phase())
    }
}

impl Socket for Connection {
    fn connect(&mut self, now: Instant) {
        self.tcb.open(now);
        self.tcb.note_timers(now);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        let taken = with_recovery!(self, |tcb, recovery| tcb.take_write(now, len, recovery));
        self.tcb.note_timers(now);
        taken
    }

    fn read(&mut self, now: Instant, max: u64) -> u64 {
        let given = with_recovery!(self, |tcb, recovery| tcb.give_read(now, max, recovery));
        self.tcb.note_timers(now);
        given
    }

    fn readable(&self) -> u64 {
        u64::from(self.tcb.rcv.unread)
    }

    fn close(&mut self, now: Instant) {
        with_recovery!(self, |tcb, recovery| tcb.shut(now, recovery));
        self.tcb.note_timers(now);
    }

    fn abort(&mut self, now: Instant) {
        self.tcb.reset(now);
        self.tcb.leave_to_cache(now);
    }
}
