//! A host that runs a foreign TCP, and what it says of each packet that it sends.

use rexmit_units::Instant;

/// Why a packet repeats what was sent before, as its sender knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Why {
    /// A SYN.
    Syn,
    /// A SYN-ACK.
    SynAck,
    /// The retransmission timer has expired: the first segment that it sends.
    Timeout,
    /// More of what was outstanding when the timer expired.
    GoBackN,
    /// Duplicate ACKs, or what else begins a recovery.
    Fast,
    /// What begins a recovery in a sender with RACK, which does not say whether an acknowledgment or its timer for
    /// reordering made it begin.
    FastByRack,
    /// A recovery that begins while what was outstanding when the timer expired is being sent again.
    FastInLoss,
    /// SACK blocks above it make it count as lost, and its sender does not say whether that begins a recovery.
    Reported,
    /// A partial ACK, in a recovery without SACK.
    PartialAck,
    /// More in a recovery with SACK.
    SackRecovery,
    /// The timer of the tail loss probe has expired.
    TailProbe,
    /// Its sender is in no recovery and no timer has expired: it knows of no reason.
    Open,
    /// A probe of a closed window, whose byte was sent before.
    Probe,
}

/// What a packet is, to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sending {
    /// It takes no sequence numbers, or only such as were never sent.
    New,
    /// The first probe of a closed window, or data of which a byte was in a probe: new to whoever leaves probes out.
    AroundProbe,
    /// It repeats what was sent before.
    Again(Why),
}

/// A packet that leaves a host.
#[derive(Clone, Debug)]
pub struct Sent {
    /// The IP packet.
    pub bytes: Vec<u8>,
    /// What it is.
    pub sending: Sending,
}

/// A host with one connection. It has no clock: the time is an argument, and never runs backwards.
pub trait Host {
    /// A packet arrives; what it makes the host send is added to `out`.
    fn receive(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Sent>);

    /// Timers expire and the application acts.
    fn wake(&mut self, now: Instant, out: &mut Vec<Sent>);

    /// When to call [`Self::wake`] next; `None` if nothing is due until a packet arrives.
    fn next(&mut self, now: Instant) -> Option<Instant>;
}
