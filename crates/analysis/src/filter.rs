//! Which packets are judged: a small part of Wireshark's display filters.
//!
//! ```text
//! tcp.port == 5001 && ip.addr == 10.0.0.0/8
//! not (tcp.srcport in {22, 80, 8000..8080} or ipv6)
//! ```
//! A condition is the name of a protocol (`ip`, `ipv6`, `tcp`, `sctp`), which holds where the packet has it; a
//! field and a comparison, `==`, `!=`, `<`, `<=`, `>`, `>=` (or `eq`, `ne`, `lt`, `le`, `gt`, `ge`) with a value;
//! or a field `in {...}` values and ranges `A..B`, commas between. Addresses may be prefixes such as `10.0.0.0/8`.
//! `not` or `!` binds closest, then `and` or `&&`, then `or` or `||`; parentheses group.
//!
//! As in Wireshark, a field that the packet does not have fulfils no comparison, `tcp.port`, `sctp.port`, `ip.addr`
//! and `ipv6.addr` stand for either side's, and `!=` holds where no value of the field equals.
//!
//! The fields tell connections apart, and no more: judgements are made of what passes, and a filter that lets half
//! of a connection pass would make them wrong.

mod parse;

use std::net::IpAddr;

use crate::packet::{Packet, Transport};

pub use parse::FilterError;

/// A condition on packets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    condition: Condition,
}

impl Filter {
    /// Reads a condition.
    ///
    /// # Errors
    /// A [`FilterError`] that names the column and what could stand there.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        Ok(Self { condition: parse::condition(text)? })
    }

    /// Whether the condition holds for `packet`.
    #[inline]
    pub fn passes(&self, packet: &Packet) -> bool {
        self.condition.holds(packet)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    /// Holds where all of these do.
    All(Vec<Condition>),
    /// Holds where one of these does.
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Comparison),
}

/// A field and the values that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Comparison {
    field: Field,
    /// Ranges of values, ends included.
    ranges: Vec<(u128, u128)>,
    /// True if a value must lie in one of them, false if none may.
    inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Field {
    Interface,
    Number,
    Ip(End),
    Ipv6(End),
    Tcp(End),
    Sctp(End),
}

/// Which end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Either,
    Source,
    Destination,
}

impl Condition {
    fn holds(&self, packet: &Packet) -> bool {
        match self {
            Self::All(conditions) => conditions.iter().all(|condition| condition.holds(packet)),
            Self::Any(conditions) => conditions.iter().any(|condition| condition.holds(packet)),
            Self::Not(condition) => !condition.holds(packet),
            Self::Compare(comparison) => comparison.holds(packet),
        }
    }
}

impl Comparison {
    fn holds(&self, packet: &Packet) -> bool {
        let within = |value: u128| self.ranges.iter().any(|&(from, to)| from <= value && value <= to);
        let (source, destination) = match self.field {
            Field::Interface => return within(packet.interface.into()) == self.inside,
            Field::Number => return within(packet.number.into()) == self.inside,
            Field::Ip(end) => end.of(v4(packet.src.ip()), v4(packet.dst.ip())),
            Field::Ipv6(end) => end.of(v6(packet.src.ip()), v6(packet.dst.ip())),
            Field::Tcp(end) if matches!(packet.transport, Transport::Tcp(_)) => end.of_ports(packet),
            Field::Sctp(end) if matches!(packet.transport, Transport::Sctp { .. }) => end.of_ports(packet),
            Field::Tcp(_) | Field::Sctp(_) => return false,
        };
        let any = source.is_some_and(within) || destination.is_some_and(within);
        let is_there = source.is_some() || destination.is_some();
        is_there && any == self.inside
    }
}

impl End {
    fn of<T>(self, source: Option<T>, destination: Option<T>) -> (Option<T>, Option<T>) {
        match self {
            Self::Either => (source, destination),
            Self::Source => (source, None),
            Self::Destination => (None, destination),
        }
    }

    fn of_ports(self, packet: &Packet) -> (Option<u128>, Option<u128>) {
        self.of(Some(packet.src.port().into()), Some(packet.dst.port().into()))
    }
}

fn v4(address: IpAddr) -> Option<u128> {
    match address {
        IpAddr::V4(address) => Some(address.to_bits().into()),
        IpAddr::V6(_) => None,
    }
}

fn v6(address: IpAddr) -> Option<u128> {
    match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => Some(address.to_bits()),
    }
}

#[cfg(test)]
mod tests;
