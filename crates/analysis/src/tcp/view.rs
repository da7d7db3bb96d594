//! What the sender of data knew: the acknowledgments seen here, as late as they reach it and its answer comes back.
//!
//! At the sender's own capture that is what was seen. Elsewhere an acknowledgment counts once the loop time has passed
//! (from here to the sender and back). Timestamps tell better: a packet echoes the newest acknowledgment that its
//! sender had got (RFC 7323 section 4.3), so that those with a later value had not arrived. They also show by how much
//! queues lengthen the loop.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};

use super::acks::{Ack, AckState};
use super::clock::LONGEST;
use crate::core::policy::TcpFar;
use crate::limits::UNDER_WAY;

/// The sender's view of acknowledgments.
#[derive(Debug, Default)]
pub(super) struct View {
    far: Option<Box<Far>>,
}

/// Packets by which the queues are judged.
const SAMPLES: usize = 8;

/// Acknowledgments that are remembered by their number: more than move the window in a round trip, usually.
const STEPS: usize = 64;

#[derive(Debug)]
struct Far {
    /// Acknowledgments under way to the sender, each with how far the data went when it was seen.
    queue: VecDeque<(Ack, i64)>,
    state: AckState,
    /// What queues add to the loop time lately.
    extra: Duration,
    samples: [Duration; SAMPLES],
    at: usize,
    /// The value of the last acknowledgment that arrived.
    stamp: Option<u32>,
    /// The last packet had timestamps, and so had the acknowledgments.
    stamped: bool,
    /// Acknowledgments that too many came after.
    hurried: u64,
    /// The numbers that data were acknowledged up to, of late.
    steps: [i64; STEPS],
    /// How many there were.
    stepped: usize,
}

/// When a packet was sent, told by the acknowledgments that its sender had seen by then: in the time of their passing
/// here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SentAt {
    /// The best guess.
    pub time: Instant,
    /// The capture is the sender's own: that is exact.
    pub near: bool,
    /// Timestamps told it.
    pub stamped: bool,
    /// What queues add to the loop time lately; zero where nothing shows it.
    pub extra: Duration,
}

/// A packet of the sender on its way here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Way<'a> {
    /// When it passes here.
    pub now: Instant,
    /// From here to the sender and back.
    pub delay: Duration,
    /// What is allowed for queues and jitter.
    pub policy: &'a TcpFar,
}

impl View {
    /// An acknowledgment passed here, `delay` from the sender and back.
    pub(super) fn queue(&mut self, ack: &Ack, edge: i64, delay: Duration) {
        if delay.is_zero() && self.far.is_none() {
            return;
        }
        let far = self.far.get_or_insert_default();
        // Nothing of the sender passes here that would show what it got.
        if far.queue.len() == UNDER_WAY
            && let Some((ack, edge)) = far.queue.pop_front()
        {
            far.state.apply(&ack, edge);
            far.hurried += 1;
        }
        far.queue.push_back((*ack, edge));
        far.note_step(ack.ack);
    }

    /// Whether an acknowledgment with this number passed here of late; true where this many passed since that it is not
    /// known, or at the sender.
    pub(super) fn may_have_stepped_to(&self, number: i64) -> bool {
        self.far.as_ref().is_none_or(|far| far.may_have_stepped_to(number))
    }

    /// The sender's packet passes here, and echoes `echo`.
    /// Returns how long the loop is at most, if its timestamps show that.
    pub(super) fn sent(&mut self, way: &Way<'_>, echo: Option<u32>) -> Option<Duration> {
        let far = self.far.as_mut()?;
        let longest = echo.and_then(|echo| far.age_of(echo, way.now));
        let delay = longest.map_or(way.delay, |longest| longest.min(way.delay));
        far.advance(&Way { delay, ..*way }, echo);
        longest
    }

    /// What the sender knew; `seen` is what was seen here.
    pub(super) fn state<'a>(&'a self, seen: &'a AckState) -> &'a AckState {
        self.far.as_ref().map_or(seen, |far| &far.state)
    }

    /// Acknowledgments that too many came after, and ranges that were left out.
    pub(super) fn limited(&self) -> (u64, u64) {
        self.far.as_ref().map_or((0, 0), |far| (far.hurried, far.state.sacked.left_out))
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.far.as_ref().map_or(0, |far| {
            size_of::<Far>() + far.queue.capacity() * size_of::<(Ack, i64)>() + far.state.sacked.heap()
        })
    }

    /// When the packet that passes here was sent.
    pub(super) fn sent_at(&self, way: &Way<'_>) -> SentAt {
        match &self.far {
            None => SentAt { time: way.now, near: true, stamped: false, extra: Duration::ZERO },
            Some(far) => far.sent_at(way),
        }
    }
}

impl Default for Far {
    fn default() -> Self {
        Self {
            queue: VecDeque::new(),
            state: AckState::default(),
            extra: Duration::ZERO,
            samples: [Duration::ZERO; SAMPLES],
            at: 0,
            stamp: None,
            stamped: false,
            hurried: 0,
            steps: [0; STEPS],
            stepped: 0,
        }
    }
}

impl Far {
    /// The number is acknowledged.
    fn note_step(&mut self, number: i64) {
        let last = self.stepped.checked_sub(1).map(|last| self.steps[last % STEPS]);
        if last.is_none_or(|last| number > last) {
            self.steps[self.stepped % STEPS] = number;
            self.stepped += 1;
        }
    }

    fn may_have_stepped_to(&self, number: i64) -> bool {
        let known = &self.steps[..self.stepped.min(STEPS)];
        known.contains(&number) || known.iter().all(|&step| step > number)
    }

    /// The time since the first acknowledgment with the value that is echoed now, if it is under way: its sender
    /// has got this one, if no later one.
    fn age_of(&self, echo: u32, now: Instant) -> Option<Duration> {
        if self.stamp == Some(echo) {
            return None;
        }
        // Older ones arrive with it and are no longer looked at. The first that is newer, or has none, ends the search.
        let not_older = |stamp: u32| stamp.wrapping_sub(echo) as i32 >= 0;
        let (ack, _) = self.queue.iter().find(|(ack, _)| ack.stamp.is_none_or(not_older))?;
        (ack.stamp == Some(echo)).then(|| now.saturating_since(ack.time))
    }

    fn advance(&mut self, way: &Way<'_>, echo: Option<u32>) {
        let &Way { now, delay, policy } = way;
        let mut fresh = false;
        self.stamped = false;
        while let Some((ack, edge)) = self.queue.front() {
            let age = now.saturating_since(ack.time);
            let stamps = echo.zip(ack.stamp);
            self.stamped |= stamps.is_some();
            let arrived = match stamps.map(|(echo, stamp)| stamp.wrapping_sub(echo) as i32) {
                Some(later) if later > 0 => false,
                Some(later) if later < 0 => true,
                // The value is a clock's, and the loop of the handshake may have been slower.
                Some(_) => age >= delay.saturating_sub(policy.arrival_error_stamped.of(delay)),
                None => age >= delay.saturating_sub(policy.arrival_error.of(delay)),
            };
            if !arrived {
                break;
            }
            self.state.apply(ack, *edge);
            self.stamp = ack.stamp;
            self.queue.pop_front();
            fresh = true;
        }
        self.stamped |= echo.is_some();
        if let Some(last) = self.state.last.filter(|_| fresh && self.stamped) {
            // What an application was late to write waited for nothing, so the smallest of the last ones counts.
            let late = now.saturating_since(last).saturating_sub(delay);
            self.samples[self.at % SAMPLES] = late.min(LONGEST);
            self.at += 1;
            self.extra = self.samples[..self.at.min(SAMPLES)].iter().copied().min().unwrap_or_default();
        }
    }

    fn sent_at(&self, way: &Way<'_>) -> SentAt {
        let &Way { now, delay, policy } = way;
        let last = self.state.last.unwrap_or_default();
        let before =
            |time: Duration| Instant::from_nanos(now.as_nanos().saturating_sub(time.as_nanos())).max(last);
        let extra = if self.stamped { self.extra } else { Duration::ZERO };
        // An acknowledgment that should have arrived long ago was lost on its way.
        let earliest = before(delay + extra * policy.lost_queues + policy.lost_share.of(delay));
        let under_way = self.queue.iter().map(|(ack, _)| ack.time).find(|&time| time >= earliest);
        let likely = before(delay + extra);
        let time = under_way.filter(|_| self.stamped).map_or(likely, |next| likely.min(next));
        SentAt { time, near: false, stamped: self.stamped, extra }
    }
}
