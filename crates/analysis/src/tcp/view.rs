//! What the sender of data knew: the acknowledgments seen here, as late as they reach it and its answer comes back.

use std::collections::VecDeque;

use rexmit_units::Instant;

use super::acks::{Ack, AckState};

/// The sender's view of acknowledgments. At the sender's own capture it is what was seen, and nothing is kept here.
#[derive(Debug, Default)]
pub(super) struct View {
    far: Option<Box<Far>>,
}

#[derive(Debug, Default)]
struct Far {
    /// Acknowledgments under way to the sender, each with how far the data went when it was seen.
    queue: VecDeque<(Ack, i64)>,
    state: AckState,
}

impl View {
    /// An acknowledgment passed here, `delay` nanoseconds from the sender and back.
    pub(super) fn queue(&mut self, ack: &Ack, edge: i64, delay: u64) {
        if delay == 0 && self.far.is_none() {
            return;
        }
        let far = self.far.get_or_insert_default();
        far.queue.push_back((*ack, edge));
        far.advance(ack.time, delay);
    }

    /// It is `now`.
    pub(super) fn advance(&mut self, now: Instant, delay: u64, _edge: i64) {
        if let Some(far) = &mut self.far {
            far.advance(now, delay);
        }
    }

    /// What the sender knew; `seen` is what was seen here.
    pub(super) fn state<'a>(&'a self, seen: &'a AckState) -> &'a AckState {
        self.far.as_ref().map_or(seen, |far| &far.state)
    }
}

impl Far {
    fn advance(&mut self, now: Instant, delay: u64) {
        while let Some((ack, edge)) = self.queue.front() {
            if now.saturating_since(ack.time).as_nanos() < delay {
                return;
            }
            self.state.apply(ack, *edge);
            self.queue.pop_front();
        }
    }
}
