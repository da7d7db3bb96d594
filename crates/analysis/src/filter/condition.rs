//! Conditions on packets.

use std::net::IpAddr;

use crate::packet::{Packet, Transport};

/// A condition, of others or of one comparison.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// Holds where all of these do.
    All(Vec<Condition>),
    /// Holds where one of these does.
    Any(Vec<Condition>),
    Not(Box<Condition>),
    Compare(Comparison),
}

/// A field and the values that it is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Comparison {
    pub(super) field: Field,
    /// Ranges of values, ends included.
    pub(super) ranges: Vec<(u128, u128)>,
    /// True if a value must lie in one of them, false if none may.
    pub(super) inside: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Interface,
    Number,
    Ip(End),
    Ipv6(End),
    Tcp(End),
    Sctp(End),
}

/// Which end of a packet's way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Either,
    Source,
    Destination,
}

impl Condition {
    /// Whether it holds for `packet`.
    pub(super) fn holds(&self, packet: &Packet) -> bool {
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
