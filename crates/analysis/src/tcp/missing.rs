//! Packets that were sent and did not come here, told by the identifications of IPv4.
//!
//! Many hosts number the packets of a connection one after another. A step of more than one then shows that packets
//! are missing. That tells a retransmission from new data where the first transmission was lost before it came here,
//! which nothing else does at the end of the data.

use crate::core::policy::TcpMissing;

/// The identifications of one side's packets.
#[derive(Clone, Copy, Debug)]
pub(super) struct Missing {
    policy: &'static TcpMissing,
    last: Option<u16>,
    /// Steps of one.
    steps: u32,
    /// Other steps forward.
    leaps: u32,
    /// Packets without data, SYN or FIN: one of these may be what is missing.
    bare: u32,
    /// Packets.
    all: u32,
    /// Its host numbers those of several connections in one row.
    shared: bool,
    /// The identification of a packet of another connection since the last one.
    other: Option<u16>,
}

impl Missing {
    /// Of a side that has sent nothing yet.
    pub(super) fn new(policy: &'static TcpMissing) -> Self {
        Self { policy, last: None, steps: 0, leaps: 0, bare: 0, all: 0, shared: false, other: None }
    }

    /// Its host sent a packet of another connection just before the next one, with this identification.
    pub(super) fn other_connection(&mut self, ident: u16) {
        self.other = Some(ident);
    }

    /// The next packet, or super-packet of `packets` packets, with its identification; returns how many with data are
    /// missing before it, as far as that is sure.
    pub(super) fn before(&mut self, ident: u16, packets: u16, bare: bool) -> u16 {
        let other = self.other.take();
        if ident == 0 {
            return 0;
        }
        self.all = self.all.saturating_add(1);
        self.bare = self.bare.saturating_add(u32::from(bare));
        let end = ident.wrapping_add(packets - 1);
        let Some(last) = self.last else {
            self.last = Some(end);
            return 0;
        };
        let step = ident.wrapping_sub(last);
        if step == 0 || step > u16::MAX / 2 {
            // Overtaken, or a copy.
            return 0;
        }
        self.last = Some(end);
        if step == 1 {
            self.steps = self.steps.saturating_add(1);
            return 0;
        }
        // What seems to be missing is another connection's.
        self.shared |= other.is_some_and(|other| other.wrapping_sub(last).wrapping_sub(1) < step - 1);
        let regular = self.is_regular();
        self.leaps = self.leaps.saturating_add(1);
        if regular { step - 1 } else { 0 }
    }

    /// Steps of one are the rule, and packets without data the exception.
    fn is_regular(&self) -> bool {
        let of = |count: u32, times: u64| u64::from(count).saturating_mul(times);
        let rare = of(self.leaps, self.policy.leaps) <= u64::from(self.steps);
        let bare = self.policy.bare;
        !self.shared
            && rare
            && self.steps >= 2
            && of(self.bare, bare) <= u64::from(self.all).saturating_add(bare)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_among_steps_of_one_counts_the_missing() {
        let mut missing = Missing::new(&TcpMissing::STANDARD);
        let counts: Vec<_> =
            [1, 2, 3, 6, 5, 7, 9].into_iter().map(|ident| missing.before(ident, 1, false)).collect();
        assert_eq!(counts, [0, 0, 0, 2, 0, 0, 1]);
    }

    #[test]
    fn a_super_packet_takes_an_identification_for_each_of_its_packets() {
        let mut missing = Missing::new(&TcpMissing::STANDARD);
        let counts: Vec<_> =
            [(1, 10), (11, 10), (21, 1), (23, 1)].map(|(at, n)| missing.before(at, n, false)).to_vec();
        assert_eq!(counts, [0, 0, 0, 1]);
    }

    #[test]
    fn a_row_that_several_connections_share_tells_nothing_of_one() {
        let mut missing = Missing::new(&TcpMissing::STANDARD);
        for ident in [1, 2, 3] {
            assert_eq!(missing.before(ident, 1, false), 0);
        }
        missing.other_connection(5);
        // Of 4, 5 and 6, one was the other connection's; and so may be what is missing from now on.
        assert_eq!(missing.before(7, 1, false), 0);
        assert_eq!((missing.before(8, 1, false), missing.before(11, 1, false)), (0, 0));
        let mut apart = Missing::new(&TcpMissing::STANDARD);
        for ident in [1, 2, 3] {
            assert_eq!(apart.before(ident, 1, false), 0);
        }
        apart.other_connection(40_000);
        assert_eq!(apart.before(6, 1, false), 2, "a row of its own");
    }

    #[test]
    fn a_host_that_numbers_at_random_tells_nothing() {
        let mut missing = Missing::new(&TcpMissing::STANDARD);
        for ident in [5, 900, 12_000, 12_001, 30_000, 31_000] {
            assert_eq!(missing.before(ident, 1, false), 0);
        }
    }
}
