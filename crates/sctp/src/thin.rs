//! How many packets are in flight: the estimate of study 002 (SC-E-0), by which a stream is thin.

use std::collections::VecDeque;

use rexmit_wire::SeqNumber;

/// The estimate.
#[derive(Clone, Debug, Default)]
pub(crate) struct InFlight {
    /// The highest TSN of each packet sent with data, in order.
    highest: VecDeque<SeqNumber>,
    /// True while `highest` ascends.
    ascends: bool,
    count: i64,
    /// Packets that have left the network, by SACKs with gap blocks.
    left: i64,
}

impl InFlight {
    /// A packet with data leaves.
    pub fn sent(&mut self, highest: SeqNumber) {
        self.ascends = match self.highest.back() {
            Some(last) => self.ascends && *last <= highest,
            None => true,
        };
        self.highest.push_back(highest);
        self.count += 1;
    }

    /// A SACK arrives.
    pub fn sacked(&mut self, cumulative: SeqNumber, with_gaps: bool) {
        if with_gaps {
            self.count -= 1;
            self.left += 1;
            return;
        }
        let before = self.highest.len();
        if self.ascends {
            while self.highest.front().is_some_and(|highest| *highest <= cumulative) {
                self.highest.pop_front();
            }
        } else {
            self.highest.retain(|highest| *highest > cumulative);
        }
        self.count -= (before - self.highest.len()) as i64;
        self.count += self.left;
        self.left = 0;
    }

    /// Packets in flight; below zero where SACKs came twice.
    #[inline]
    pub fn get(&self) -> i64 {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// T-SC-10.
    #[test]
    fn the_published_example() {
        let mut in_flight = InFlight::default();
        for tsn in 1..=3 {
            in_flight.sent(SeqNumber(tsn));
        }
        assert_eq!(in_flight.get(), 3);
        let seen: Vec<i64> = [(0, true), (0, true), (3, false)]
            .into_iter()
            .map(|(cumulative, gaps)| {
                in_flight.sacked(SeqNumber(cumulative), gaps);
                in_flight.get()
            })
            .collect();
        assert_eq!(seen, [2, 1, 0]);
    }

    /// Retransmissions are entries of their own, wherever their TSN stands.
    #[test]
    fn retransmissions_count() {
        let mut in_flight = InFlight::default();
        for tsn in [1, 2, 1, 3] {
            in_flight.sent(SeqNumber(tsn));
        }
        in_flight.sacked(SeqNumber(1), false);
        assert_eq!(in_flight.get(), 2);
        in_flight.sacked(SeqNumber(3), false);
        assert_eq!(in_flight.get(), 0);
    }
}
