//! What an end's packets show of it: which carry data again, and why they are sent, where the program does not say.

use rexmit_stack::{Counters, Reason, SctpCarries, SctpPackets, TcpCarries, TcpPackets};
use rexmit_wire::{PROTOCOL_SCTP, Packet, SeqNumber, Transport};

use crate::frame::Why;

/// What has made a program act.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cause {
    Packet,
    Timer,
    Application,
}

/// One end of a connection as its packets show it.
#[derive(Debug)]
pub(crate) struct Traffic {
    seen: Seen,
    /// The program counts these itself: expiries, fast retransmits.
    told: [bool; 2],
    /// The highest acknowledgment of the peer's, for TCP.
    acknowledged: Option<SeqNumber>,
    /// Expiries in a row.
    backoff: u32,
    recovers: bool,
    /// The timer that made it act has been counted.
    expired: bool,
}

#[derive(Debug)]
enum Seen {
    Tcp(TcpPackets),
    Sctp(SctpPackets),
    /// For QUIC, nobody but the program knows.
    Quic(Counters),
}

/// What a packet is sent for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Carries {
    Syn { answer: bool, backoff: u32 },
    New,
    Again,
    Ack,
    Control,
    Reset,
}

impl Traffic {
    pub fn new(protocol: &str) -> Self {
        let seen = match protocol {
            "sctp" => Seen::Sctp(SctpPackets::default()),
            "quic" => Seen::Quic(Counters::default()),
            _ => Seen::Tcp(TcpPackets::default()),
        };
        let told = [false; 2];
        Self { seen, told, acknowledged: None, backoff: 0, recovers: false, expired: false }
    }

    pub fn counters(&self) -> &Counters {
        match &self.seen {
            Seen::Tcp(seen) => &seen.counters,
            Seen::Sctp(seen) => &seen.counters,
            Seen::Quic(counters) => counters,
        }
    }

    fn counters_mut(&mut self) -> &mut Counters {
        match &mut self.seen {
            Seen::Tcp(seen) => &mut seen.counters,
            Seen::Sctp(seen) => &mut seen.counters,
            Seen::Quic(counters) => counters,
        }
    }

    /// What the program itself has counted.
    pub fn tell(&mut self, timeouts: Option<u64>, fast: Option<u64>, duplicates: Option<u64>) {
        self.told = [self.told[0] || timeouts.is_some(), self.told[1] || fast.is_some()];
        let counters = self.counters_mut();
        counters.timeouts = timeouts.unwrap_or(counters.timeouts);
        counters.fast_retransmits = fast.unwrap_or(counters.fast_retransmits);
        counters.dup_acks = duplicates.unwrap_or(counters.dup_acks);
    }

    pub fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        match &self.seen {
            Seen::Tcp(seen) => seen.has_received(from, end),
            Seen::Sctp(seen) => seen.has_received_all(from, end),
            Seen::Quic(_) => false,
        }
    }

    pub fn arrives(&mut self, packet: &Packet) {
        match &mut self.seen {
            Seen::Tcp(seen) => {
                seen.arrives(packet);
                let Some(ack) = packet.tcp().map(|segment| segment.ack) else { return };
                if self.acknowledged.is_none_or(|old| ack.diff(old) > 0) {
                    (self.acknowledged, self.backoff) = (Some(ack), 0);
                }
            }
            Seen::Sctp(seen) => {
                if seen.arrived(&sctp_bytes(packet)).acknowledges.is_some() {
                    self.backoff = 0;
                }
            }
            Seen::Quic(_) => {}
        }
    }

    /// A call has been answered, whose packets follow.
    pub fn begin(&mut self) {
        self.expired = false;
    }

    /// Takes note of a packet that leaves, and says why it does.
    pub fn leaves(&mut self, packet: &mut Packet, why: Option<Why>, cause: Cause) -> Reason {
        let carries = match &mut self.seen {
            Seen::Tcp(seen) => match seen.leaves(packet) {
                TcpCarries::Syn { answer, backoff } => Carries::Syn { answer, backoff },
                TcpCarries::New => Carries::New,
                TcpCarries::Again => Carries::Again,
                TcpCarries::Ack => Carries::Ack,
                TcpCarries::Reset => Carries::Reset,
            },
            Seen::Sctp(seen) => match seen.leaves(&sctp_bytes(packet)).carries {
                SctpCarries::Again => Carries::Again,
                SctpCarries::New => Carries::New,
                SctpCarries::Abort => Carries::Reset,
                SctpCarries::Forward | SctpCarries::Control => Carries::Control,
                SctpCarries::Ack => Carries::Ack,
            },
            Seen::Quic(counters) => {
                counters.packets += 1;
                let carries = sealed(why);
                counters.data_segments += u64::from(carries == Carries::New);
                counters.retransmits += u64::from(carries == Carries::Again);
                counters.pure_acks += u64::from(carries == Carries::Ack);
                carries
            }
        };
        self.reason(carries, why, cause)
    }

    fn reason(&mut self, carries: Carries, why: Option<Why>, cause: Cause) -> Reason {
        match carries {
            Carries::New if why == Some(Why::Probe) => Reason::TailProbe,
            Carries::New => {
                self.recovers = false;
                Reason::New
            }
            Carries::Again => self.again(why, cause),
            Carries::Syn { answer, backoff } => {
                let timer = cause == Cause::Timer;
                if timer && backoff > 0 {
                    self.expire();
                }
                match (answer, timer || backoff == 0) {
                    (false, _) => Reason::Syn { backoff },
                    (true, true) => Reason::SynAck { backoff },
                    (true, false) => Reason::SynAckAnswer,
                }
            }
            Carries::Control => Reason::Control { backoff: self.backoff },
            Carries::Ack => Reason::Ack,
            Carries::Reset => Reason::Reset,
        }
    }

    /// Why data sent before leave again.
    fn again(&mut self, why: Option<Why>, cause: Cause) -> Reason {
        let timer = why == Some(Why::Timeout) || why.is_none() && cause == Cause::Timer;
        if why == Some(Why::Probe) {
            return Reason::TailProbe;
        }
        if timer && self.expire() {
            self.recovers = false;
            return Reason::Timeout { backoff: self.backoff };
        }
        if timer || self.backoff > 0 {
            return Reason::GoBackN;
        }
        if std::mem::replace(&mut self.recovers, true) {
            return Reason::SackRecovery;
        }
        let counted = u64::from(!self.told[1]);
        self.counters_mut().fast_retransmits += counted;
        Reason::Fast { duplicates: 0, sacked: 0 }
    }

    /// The timer that made it act has expired; false if that is known.
    fn expire(&mut self) -> bool {
        if std::mem::replace(&mut self.expired, true) {
            return false;
        }
        self.backoff += 1;
        let counted = u64::from(!self.told[0]);
        self.counters_mut().timeouts += counted;
        true
    }

    /// What the sender is doing.
    pub fn phase(&self) -> &'static str {
        match (self.backoff, self.recovers) {
            (0, false) => "open",
            (0, true) => "recovery",
            _ => "loss",
        }
    }
}

/// What a packet of QUIC carries, as its sender says.
fn sealed(why: Option<Why>) -> Carries {
    match why {
        None | Some(Why::New | Why::Probe) => Carries::New,
        Some(Why::Timeout | Why::Loss) => Carries::Again,
        Some(Why::Ack) => Carries::Ack,
        Some(Why::Control) => Carries::Control,
        Some(Why::Reset) => Carries::Reset,
    }
}

/// The bytes of a packet of SCTP.
fn sctp_bytes(packet: &Packet) -> Vec<u8> {
    match &packet.transport {
        Transport::Sctp(typed) => typed.emit(),
        Transport::Other { protocol: PROTOCOL_SCTP, payload } => payload.bytes().into_owned(),
        _ => Vec::new(),
    }
}
