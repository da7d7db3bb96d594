//! What the sender of data knew: the acknowledgments seen here, as late as they reach it and its answer comes back.
//!
//! At the sender's own capture that is what was seen. Elsewhere an acknowledgment counts once the loop time has passed
//! (from here to the sender and back). Timestamps tell better: a packet echoes the newest acknowledgment that its
//! sender had got (RFC 7323 section 4.3), so that those with a later value had not arrived. They also show by how much
//! queues lengthen the loop.

use std::collections::VecDeque;

use rexmit_units::Instant;

use super::acks::{Ack, AckState};

/// The sender's view of acknowledgments.
#[derive(Debug, Default)]
pub(super) struct View {
    far: Option<Box<Far>>,
}

#[derive(Debug, Default)]
struct Far {
    /// Acknowledgments under way to the sender, each with how far the data went when it was seen.
    queue: VecDeque<(Ack, i64)>,
    state: AckState,
    /// What queues add to the loop time lately, nanoseconds.
    extra: u64,
    /// The last packet had timestamps, and so had the acknowledgments.
    stamped: bool,
}

/// Acknowledgments that may be under way at a time.
const UNDER_WAY: usize = 1 << 14;

/// When a packet was sent, told by the acknowledgments that its sender had seen by then: in the time of their passing
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentAt {
    /// Not before.
    pub earliest: Instant,
    /// The best guess.
    pub likely: Instant,
    /// Not after.
    pub latest: Instant,
    /// The capture is the sender's own: all three are exact.
    pub near: bool,
    /// Timestamps told it.
    pub stamped: bool,
    /// What queues add to the loop time lately, nanoseconds.
    pub extra: u64,
}

impl View {
    /// An acknowledgment passed here, `delay` nanoseconds from the sender and back.
    pub(super) fn queue(&mut self, ack: &Ack, edge: i64, delay: u64) {
        if delay == 0 && self.far.is_none() {
            return;
        }
        let far = self.far.get_or_insert_default();
        // Nothing of the sender passes here that would show what it got.
        if far.queue.len() == UNDER_WAY
            && let Some((ack, edge)) = far.queue.pop_front()
        {
            far.state.apply(&ack, edge);
        }
        far.queue.push_back((*ack, edge));
    }

    /// The sender's packet passes here at `now`, and echoes `echo`.
    pub(super) fn sent(&mut self, now: Instant, delay: u64, echo: Option<u32>) {
        if let Some(far) = &mut self.far {
            far.advance(now, delay, echo);
        }
    }

    /// What the sender knew; `seen` is what was seen here.
    pub(super) fn state<'a>(&'a self, seen: &'a AckState) -> &'a AckState {
        self.far.as_ref().map_or(seen, |far| &far.state)
    }

    /// When the packet that passes at `now` was sent.
    pub(super) fn sent_at(&self, now: Instant, delay: u64) -> SentAt {
        match &self.far {
            None => SentAt { earliest: now, likely: now, latest: now, near: true, stamped: false, extra: 0 },
            Some(far) => far.sent_at(now, delay),
        }
    }
}

impl Far {
    fn advance(&mut self, now: Instant, delay: u64, echo: Option<u32>) {
        let mut fresh = false;
        self.stamped = false;
        while let Some((ack, edge)) = self.queue.front() {
            let age = now.saturating_since(ack.time).as_nanos();
            let stamps = echo.zip(ack.stamp);
            self.stamped |= stamps.is_some();
            let arrived = match stamps.map(|(echo, stamp)| stamp.wrapping_sub(echo) as i32) {
                Some(later) if later > 0 => false,
                Some(later) if later < 0 => true,
                // The value is a clock's, and the loop of the handshake may have been slower.
                Some(_) => age >= delay - delay / 4,
                None => age >= delay - delay / 20,
            };
            if !arrived {
                break;
            }
            self.state.apply(ack, *edge);
            self.queue.pop_front();
            fresh = true;
        }
        self.stamped |= echo.is_some();
        if let Some(last) = self.state.last.filter(|_| fresh && self.stamped) {
            let extra = now.saturating_since(last).as_nanos().saturating_sub(delay);
            self.extra = (self.extra * 3 + extra) / 4;
        }
    }

    fn sent_at(&self, now: Instant, delay: u64) -> SentAt {
        let last = self.state.last.unwrap_or_default();
        let before = |ns: u64| Instant::from_nanos(now.as_nanos().saturating_sub(ns)).max(last);
        // Without timestamps nothing shows the queues; they may double the loop.
        let extra = if self.stamped { self.extra } else { delay / 2 };
        let earliest = before(delay + 4 * extra + delay / 4);
        // An acknowledgment that should have arrived long ago was lost on its way.
        let under_way = self.queue.iter().map(|(ack, _)| ack.time).find(|&time| time >= earliest);
        let next = under_way.filter(|_| self.stamped);
        let cap = |time: Instant| next.map_or(time, |next| time.min(next));
        SentAt {
            earliest: cap(earliest),
            likely: cap(before(delay + extra)),
            latest: cap(before(delay - delay / 10)),
            near: false,
            stamped: self.stamped,
            extra,
        }
    }
}
