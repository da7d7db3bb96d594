//! Which packets an effect is for: by position, by time, or by what they are.
//!
//! A [`Pattern`] is a list of [`Rule`]s; it names a packet if any rule does. In a study it is written as
//!
//! ```toml
//! drop = 18                                        # the 18th packet of the direction
//! drop = "1,4,10-12"                               # a list and a range; "10-" has no end
//! drop = { position = "4", period = 32 }           # packets 4, 36, 68, ...
//! drop = { position = 3, flow = true }             # the third packet of each flow
//! drop = { position = 3, flow = 5001 }             # the third packet from or to port 5001
//! drop = { time = "1 s-2 s, 3 s-3.5 s" }           # packets that arrive then; the end is outside
//! drop = { switches = "4 ms, 8 ms", start = 0 }    # off, on from 4 ms, off from 8 ms
//! drop = { match = "syn-ack" }                     # every SYN-ACK
//! drop = { match = "data", nth = 3 }               # the third segment with new data of each flow
//! drop = { retransmission = { offset = 14480, nth = 2 } }
//! drop = [1, { match = "fin" }]                    # any of these
//! ```
//!
//! Position 1 is the first packet; position 0 names none, so a design over positions can have the level "no
//! loss". [`fmt::Display`] gives one canonical text, which reads back as the same pattern.

use std::fmt;

use rexmit_units::{Duration, Instant};

pub mod generator;
mod positions;
mod serial;
pub(crate) mod table;
mod times;
pub mod tool;

pub use positions::Positions;

pub(crate) use serial::TextOrTable;
use table::PatternTable;
pub(crate) use table::{Fields, Scalar, pattern_table};
pub use times::Times;

/// Names packets: those that any of its rules names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pattern {
    /// The rules.
    pub rules: Vec<Rule>,
}

/// Names packets in one way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// By their number.
    Position {
        /// The numbers.
        positions: Positions,
        /// After this many packets, counting begins at 1 again; `None` for never.
        period: Option<u64>,
        /// What is counted.
        scope: Scope,
    },
    /// By the instant at which they enter the path.
    Time {
        /// The times.
        times: Times,
        /// After this time, the times begin at zero again; `None` for never.
        period: Option<Duration>,
    },
    /// By what they are. Counted in each flow on its own.
    Match {
        /// What they are.
        kind: Kind,
        /// Which of those; `None` for all.
        nth: Option<Positions>,
        /// After this many of those, counting begins at 1 again.
        period: Option<u64>,
        /// Only flows from or to this port.
        port: Option<u16>,
    },
    /// Repetitions of given data. Counted in each flow on its own.
    Retransmission {
        /// The data.
        of: Data,
        /// Which repetitions, 1 being the first; `None` for all.
        nth: Option<Positions>,
        /// Only flows from or to this port.
        port: Option<u16>,
    },
}

/// What a position counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Scope {
    /// All packets of the direction.
    #[default]
    Direction,
    /// The packets of each flow on its own.
    EachFlow,
    /// The packets from or to a port.
    Port(u16),
}

/// What a TCP segment is, or an SCTP packet, or a datagram of QUIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `syn`: SYN without ACK; INIT.
    Syn,
    /// `syn-ack`: SYN and ACK; INIT-ACK.
    SynAck,
    /// `fin`: FIN, with or without data; SHUTDOWN.
    Fin,
    /// `rst`: RST; ABORT.
    Rst,
    /// `pure-ack`, or `ack-only`: ACK without data, SYN, FIN or RST; a SACK without DATA; an acknowledgment of QUIC and
    /// nothing that asks for one.
    PureAck,
    /// `data`, or `stream`: with data; for QUIC, with data of streams. Where `nth` counts them, only segments with new
    /// data count, so that the number follows the sequence numbers and a retransmission is never counted.
    Data,
    /// `retransmission`: with data of which some has been sent before.
    Retransmission,
    /// `initial`: a datagram with an Initial packet of QUIC.
    Initial,
    /// `0-rtt`: one with a 0-RTT packet.
    ZeroRtt,
    /// `handshake`: one with a Handshake packet.
    Handshake,
    /// `1-rtt`: one with a 1-RTT packet.
    OneRtt,
    /// `datagram`: one with a DATAGRAM frame of QUIC (RFC 9221).
    Datagram,
}

/// Data of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// The byte at this offset, or for SCTP the TSN this far after the first; the first is 0.
    Offset(u64),
    /// The first byte of the nth segment with new data; the first is 1.
    Segment(u64),
}

impl Kind {
    /// All kinds, in the order of messages.
    pub const ALL: [Self; 12] = [
        Self::Syn,
        Self::SynAck,
        Self::Fin,
        Self::Rst,
        Self::PureAck,
        Self::Data,
        Self::Retransmission,
        Self::Initial,
        Self::ZeroRtt,
        Self::Handshake,
        Self::OneRtt,
        Self::Datagram,
    ];

    /// The one of this name.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "ack-only" => Some(Self::PureAck),
            "stream" => Some(Self::Data),
            _ => Self::ALL.into_iter().find(|kind| kind.name() == name),
        }
    }

    /// As written in a study.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Syn => "syn",
            Self::SynAck => "syn-ack",
            Self::Fin => "fin",
            Self::Rst => "rst",
            Self::PureAck => "pure-ack",
            Self::Data => "data",
            Self::Retransmission => "retransmission",
            Self::Initial => "initial",
            Self::ZeroRtt => "0-rtt",
            Self::Handshake => "handshake",
            Self::OneRtt => "1-rtt",
            Self::Datagram => "datagram",
        }
    }
}

impl Pattern {
    /// The packets of a direction at `positions`.
    pub fn at(positions: Positions) -> Self {
        Rule::Position { positions, period: None, scope: Scope::Direction }.into()
    }

    /// What is odd about the pattern before any packet has come, a line each: position 0 names no packet.
    pub fn warnings(&self) -> Vec<String> {
        let zero = |p: &Positions| p.contains(0);
        let odd = self.rules.iter().any(|rule| match rule {
            Rule::Position { positions, .. } => zero(positions),
            Rule::Match { nth, .. } | Rule::Retransmission { nth, .. } => nth.as_ref().is_some_and(zero),
            Rule::Time { .. } => false,
        });
        let text = || format!("{self}: number 0 names no packet; the first packet is 1");
        if odd { vec![text()] } else { Vec::new() }
    }

    /// True if flows must be followed to decide.
    pub(crate) fn needs_flows(&self) -> bool {
        self.rules.iter().any(|rule| match rule {
            Rule::Position { scope, .. } => *scope != Scope::Direction,
            Rule::Time { .. } => false,
            Rule::Match { .. } | Rule::Retransmission { .. } => true,
        })
    }
}

impl From<Rule> for Pattern {
    fn from(rule: Rule) -> Self {
        Self { rules: vec![rule] }
    }
}

/// The number within its period, from 1.
pub(crate) fn in_period(number: u64, period: Option<u64>) -> u64 {
    match period {
        Some(period) if number > 0 => (number - 1) % period + 1,
        _ => number,
    }
}

/// The instant within its period.
pub(crate) fn time_in_period(now: Instant, period: Option<Duration>) -> Duration {
    let ns = now.as_nanos();
    Duration::from_nanos(period.map_or(ns, |p| ns % p.as_nanos()))
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let [rule] = self.rules.as_slice() {
            return rule.fmt(f);
        }
        f.write_str("[")?;
        for (i, rule) in self.rules.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            match rule.plain() {
                Some(positions) => write!(f, "\"{positions}\"")?,
                None => rule.fmt(f)?,
            }
        }
        f.write_str("]")
    }
}

impl Rule {
    /// The positions, where nothing else is to be said.
    pub(crate) fn plain(&self) -> Option<&Positions> {
        match self {
            Self::Position { positions, period: None, scope: Scope::Direction } => Some(positions),
            _ => None,
        }
    }
}

impl fmt::Display for Rule {
    /// A list of positions, or a table as TOML writes it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.plain() {
            Some(positions) => positions.fmt(f),
            None => write!(f, "{{ {} }}", Fields::from(self)),
        }
    }
}
