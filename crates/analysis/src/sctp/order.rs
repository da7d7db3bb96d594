//! Whether a packet was sent after those seen before it, by the steps of the IP identification.

use crate::core::policy::SctpCopies;

/// Where a packet stands in the order of sending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// Sent after all that were seen.
    Next,
    /// Some that were sent later were seen before it.
    Overtaken,
}

/// The packets with DATA of a side.
#[derive(Debug, Default)]
pub(super) struct Orders {
    /// The latest identification.
    last: Option<u16>,
    /// Packets whose identification was near, in a row.
    regular: u32,
}

impl Orders {
    /// Takes the next packet; `None` where its sender does not count its packets.
    pub(super) fn packet(&mut self, ident: u16, policy: &SctpCopies) -> Option<Order> {
        if ident == 0 && self.regular == 0 {
            return None;
        }
        let step = ident.wrapping_sub(self.last.unwrap_or(ident)) as i16;
        if step == 0 && self.last.is_some() || u64::from(step.unsigned_abs()) > policy.idents {
            self.regular = 0;
            self.last = Some(ident);
            return None;
        }
        self.regular = self.regular.saturating_add(1);
        if step >= 0 {
            self.last = Some(ident);
        }
        let order = if step >= 0 { Order::Next } else { Order::Overtaken };
        (u64::from(self.regular) > policy.counted).then_some(order)
    }
}

/// True if a packet with the identification `one` was sent before the one with `other`.
pub(super) fn is_before(one: u16, other: u16) -> bool {
    (one.wrapping_sub(other) as i16) < 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sender_that_counts_shows_what_was_overtaken() {
        let mut orders = Orders::default();
        let seen: Vec<_> = [65_530, 65_532, 65_533, 65_534, 2, 65_535, 3]
            .map(|n| orders.packet(n, &SctpCopies::STANDARD))
            .into();
        let next = Some(Order::Next);
        assert_eq!(seen, [None, None, None, None, next, Some(Order::Overtaken), next]);
    }

    #[test]
    fn identifications_at_random_or_none_say_nothing() {
        let mut orders = Orders::default();
        for ident in [0, 0, 0, 0, 0, 0, 5, 40_000, 300, 17_000, 60_001, 9, 20_000] {
            assert_eq!(orders.packet(ident, &SctpCopies::STANDARD), None);
        }
    }
}
