//! Which of the open flows has been idle the longest.

use std::collections::VecDeque;

use rexmit_units::Instant;

/// Flows in the order in which they were seen to be idle. Nothing is moved when a packet comes: a flow that has had
/// packets since it was noted is noted again when its turn comes, so that a packet costs O(1) in all.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    noted: VecDeque<Noted>,
}

/// A flow, and the time of its last packet when it was noted.
#[derive(Clone, Copy, Debug)]
struct Noted {
    last: Instant,
    place: u32,
    number: u32,
}

impl Idle {
    /// A flow has begun: its place, its number and the time of its first packet.
    pub(crate) fn begin(&mut self, place: u32, number: u32, first: Instant) {
        self.noted.push_back(Noted { last: first, place, number });
    }

    /// Takes out the place of the flow that has been idle the longest. `last` gives the time of the last packet of the
    /// flow with a place and a number, `None` if that has ended.
    pub(crate) fn take(&mut self, last: impl Fn(u32, u32) -> Option<Instant>) -> Option<u32> {
        loop {
            let noted = self.noted.pop_front()?;
            match last(noted.place, noted.number) {
                None => {}
                Some(later) if later > noted.last => self.noted.push_back(Noted { last: later, ..noted }),
                Some(_) => return Some(noted.place),
            }
        }
    }

    /// Forgets flows that have ended, where most have; `open` of them have not.
    pub(crate) fn tidy(&mut self, open: usize, is_open: impl Fn(u32, u32) -> bool) {
        if self.noted.len() > 2 * open + 64 {
            self.noted.retain(|noted| is_open(noted.place, noted.number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flow_without_a_packet_for_the_longest_comes_first() {
        let at = Instant::from_nanos;
        let mut idle = Idle::default();
        for place in 0..4 {
            idle.begin(place, place + 10, at(place.into()));
        }
        // The first had a packet since, and the second has ended.
        let last = |place: u32, number: u32| {
            assert_eq!(number, place + 10);
            [Some(at(9)), None, Some(at(2)), Some(at(3))][place as usize]
        };
        let order: Vec<_> = std::iter::from_fn(|| idle.take(last)).collect();
        assert_eq!(order, [2, 3, 0]);
    }

    #[test]
    fn flows_that_have_ended_are_forgotten() {
        let mut idle = Idle::default();
        for number in 0..1_000 {
            idle.begin(0, number, Instant::ZERO);
            idle.tidy(1, |_, open| open == number);
        }
        assert!(idle.noted.len() <= 67, "{}", idle.noted.len());
    }
}
