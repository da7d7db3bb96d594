//! Sequence numbers of one side, unwrapped and relative to its initial one.

use rexmit_wire::SeqNumber;

/// Turns 32-bit sequence numbers into offsets. An offset is right while it lies within 2^31 of the last one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct SequenceSpace {
    initial: Option<SeqNumber>,
    last: i64,
}

impl SequenceSpace {
    /// Names the initial sequence number, if it is not known yet.
    pub(crate) fn start_at(&mut self, initial: SeqNumber) {
        self.initial.get_or_insert(initial);
    }

    /// The initial sequence number, if it is known.
    pub(crate) fn initial(&self) -> Option<SeqNumber> {
        self.initial
    }

    /// Offset of `seq` from the initial sequence number, for which the first number ever asked for stands if it
    /// is not known: that one is then taken as the first byte of data, offset 1.
    pub(crate) fn offset(&mut self, seq: SeqNumber) -> i64 {
        let initial = *self.initial.get_or_insert(seq - 1);
        let last = initial + self.last as u32;
        self.last += i64::from(seq.diff(last));
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_past_the_wrap() {
        let mut space = SequenceSpace::default();
        space.start_at(SeqNumber(u32::MAX - 1));
        assert_eq!(space.offset(SeqNumber(u32::MAX)), 1);
        assert_eq!(space.offset(SeqNumber(1)), 3);
        assert_eq!(space.offset(SeqNumber(u32::MAX)), 1);
        let mut offset = 3;
        for step in 1..10_u32 {
            offset = space.offset(SeqNumber(1) + 1_000_000_000_u32.wrapping_mul(step));
        }
        assert_eq!(offset, 3 + 9_000_000_000);
    }

    #[test]
    fn a_capture_from_the_middle_starts_at_one() {
        let mut space = SequenceSpace::default();
        assert_eq!(space.offset(SeqNumber(77)), 1);
        assert_eq!(space.offset(SeqNumber(70)), -6);
    }
}
