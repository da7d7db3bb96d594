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

mod condition;
mod parse;

use crate::packet::Packet;
use condition::Condition;

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

#[cfg(test)]
mod tests;
