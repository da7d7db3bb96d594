//! Sequence numbers of one side, unwrapped and relative to its initial one.

use rexmit_wire::SeqNumber;

/// Turns 32-bit sequence numbers into offsets. An offset is right while it lies within 2^31 of the highest number
/// that was told to [`reached`](Self::reached), so that a stray number moves nothing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Space {
    initial: Option<SeqNumber>,
    highest: i64,
}

impl Space {
    /// Names the initial sequence number, if it is not known yet.
    pub(super) fn start_at(&mut self, initial: SeqNumber) {
        self.initial.get_or_insert(initial);
    }

    /// The initial sequence number, if it is known.
    pub(super) fn initial(&self) -> Option<SeqNumber> {
        self.initial
    }

    /// Offset of `seq` from the initial sequence number. If that is not known, `seq` is taken for the first byte of
    /// data, offset 1.
    pub(super) fn offset(&mut self, seq: SeqNumber) -> i64 {
        let initial = *self.initial.get_or_insert(seq - 1);
        let highest = initial + self.highest as u32;
        self.highest + i64::from(seq.diff(highest))
    }

    /// The data go as far as `offset`.
    pub(super) fn reached(&mut self, offset: i64) {
        self.highest = self.highest.max(offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_go_on_past_the_wrap() {
        let mut space = Space::default();
        space.start_at(SeqNumber(u32::MAX - 1));
        assert_eq!(space.offset(SeqNumber(u32::MAX)), 1);
        assert_eq!(space.offset(SeqNumber(1)), 3);
        let mut offset = 3;
        for step in 1..10_u32 {
            offset = space.offset(SeqNumber(1) + 1_000_000_000_u32.wrapping_mul(step));
            space.reached(offset);
        }
        assert_eq!(offset, 3 + 9_000_000_000);
    }

    #[test]
    fn a_stray_number_moves_nothing() {
        let mut space = Space::default();
        space.start_at(SeqNumber(0));
        space.reached(100);
        assert_eq!(space.offset(SeqNumber(0x7fff_0000)), 0x7fff_0000);
        assert_eq!(space.offset(SeqNumber(100)), 100);
    }

    #[test]
    fn a_capture_from_the_middle_starts_at_one() {
        let mut space = Space::default();
        assert_eq!(space.offset(SeqNumber(77)), 1);
        assert_eq!(space.offset(SeqNumber(70)), -6);
    }
}
