//! Packets that were sent and did not come here, told by the identifications of IPv4.
//!
//! Many hosts number the packets of a connection one after another. A step of more than one then shows that packets
//! are missing. That tells a retransmission from new data where the first transmission was lost before it came here,
//! which nothing else does at the end of the data.

/// The identifications of one side's packets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Missing {
    last: Option<u16>,
    /// Steps of one.
    steps: u32,
    /// Other steps forward.
    leaps: u32,
    /// Packets without data, SYN or FIN: one of these may be what is missing.
    bare: u32,
    /// Packets.
    all: u32,
}

impl Missing {
    /// The next packet, or super-packet of `packets` packets, with its identification; returns how many with data are
    /// missing before it, as far as that is sure.
    pub(super) fn before(&mut self, ident: u16, packets: u16, bare: bool) -> u16 {
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
        let regular = self.is_regular();
        self.leaps = self.leaps.saturating_add(1);
        if regular { step - 1 } else { 0 }
    }

    /// Steps of one are the rule, and packets without data the exception.
    fn is_regular(&self) -> bool {
        let rare = self.leaps.saturating_mul(3) <= self.steps;
        rare && self.steps >= 2 && self.bare.saturating_mul(8) <= self.all.saturating_add(8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_leap_among_steps_of_one_counts_the_missing() {
        let mut missing = Missing::default();
        let counts: Vec<_> =
            [1, 2, 3, 6, 5, 7, 9].into_iter().map(|ident| missing.before(ident, 1, false)).collect();
        assert_eq!(counts, [0, 0, 0, 2, 0, 0, 1]);
    }

    #[test]
    fn a_super_packet_takes_an_identification_for_each_of_its_packets() {
        let mut missing = Missing::default();
        let counts: Vec<_> =
            [(1, 10), (11, 10), (21, 1), (23, 1)].map(|(at, n)| missing.before(at, n, false)).to_vec();
        assert_eq!(counts, [0, 0, 0, 1]);
    }

    #[test]
    fn a_host_that_numbers_at_random_tells_nothing() {
        let mut missing = Missing::default();
        for ident in [5, 900, 12_000, 12_001, 30_000, 31_000] {
            assert_eq!(missing.before(ident, 1, false), 0);
        }
    }
}
