//! A wait between two packets with data, and what is known of both.

use rexmit_units::{Duration, Instant};

use super::super::acks::AckState;
use super::super::clock::Clock;
use super::super::view::SentAt;
use crate::core::held::Held;
use crate::core::policy::{TcpHeld, TcpPolicy};
use crate::rows::Cause;

/// A retransmission's judgement, as far as it matters here.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Again {
    pub cause: Cause,
    pub certain: bool,
    /// What is recovered goes up to here.
    pub recover: i64,
}

/// A packet with data that leaves the sender.
#[derive(Clone, Copy, Debug)]
pub(in crate::tcp) struct Step<'a> {
    pub policy: &'static TcpPolicy,
    pub time: Instant,
    pub number: u64,
    /// Bytes of data.
    pub len: u32,
    /// Of a full segment.
    pub mss: u32,
    /// Data are outstanding up to here with it.
    pub edge: i64,
    /// Set for a retransmission.
    pub again: Option<Again>,
    /// What its sender knew.
    pub known: &'a AckState,
    pub clock: &'a Clock,
    pub sent_at: SentAt,
    /// It is known how windows are scaled.
    pub window_known: bool,
    /// The capture is the sender's own, and misses nothing.
    pub near: bool,
    /// Since when packets come without a pause.
    pub busy_since: Option<Instant>,
}

/// The packet before.
#[derive(Clone, Copy, Debug)]
pub(super) struct Last {
    pub time: Instant,
    pub number: u64,
    pub len: u32,
    pub edge: i64,
    /// Bytes outstanding with it.
    pub flight: u64,
    /// What was acknowledged when it left.
    pub una: i64,
    /// Something was reported by SACK then.
    pub sacked: bool,
}

/// A part of a wait.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    pub end: Instant,
    pub by: Held,
    pub certain: bool,
}

/// A wait that is over; what follows at once is still to come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wait {
    /// Its parts, in order; each begins where the one before ended.
    pub parts: [Option<Part>; 3],
    /// The last part was a wait for a window of the sender's own: what kind is told by what follows.
    pub own: Option<Own>,
    /// Until when data followed at once.
    pub burst: Instant,
    /// The packets before it and the last one of the burst, and the bytes of that.
    pub first_number: u64,
    pub last_number: u64,
    pub bytes: u64,
}

/// A wait for a window of the sender's own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Own {
    /// Bytes outstanding when it began.
    pub peak: u64,
    /// A queue stood.
    pub standing: bool,
    /// The segment before it or the one after it was short.
    pub short: bool,
    pub certain: bool,
    pub mss: u64,
    pub rtt: Duration,
    pub policy: &'static TcpHeld,
}

/// What is known of the repair of losses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Repair {
    pub recover: i64,
    pub certain: bool,
    /// What was acknowledged when it began.
    pub una: i64,
    pub by_timer: bool,
    /// When all of it was acknowledged.
    pub over: Option<Instant>,
}

impl Repair {
    pub(super) fn new(again: &Again, step: &Step<'_>) -> Self {
        let by_timer = again.cause == Cause::Timeout;
        let Again { recover, certain, .. } = *again;
        Self { recover, certain, una: step.known.una, by_timer, over: None }
    }

    /// Any sender is still at it: nothing was acknowledged since it began, or SACK shows that something is missing. Reno
    /// ends a recovery with the first acknowledgment, others with that of all.
    pub(super) fn lasts(&self, step: &Step<'_>, last: &Last) -> bool {
        let known = step.known;
        let untouched = (last.una, known.una) == (self.una, self.una);
        untouched || !self.by_timer && last.sacked && known.sacked_bytes > 0
    }
}

impl Wait {
    pub(super) fn new(step: &Step<'_>, last: &Last) -> Self {
        Self {
            parts: [None; 3],
            own: None,
            burst: step.time,
            first_number: last.number,
            last_number: step.number,
            bytes: step.len.into(),
        }
    }

    /// None: it followed the very first packet at once.
    pub(super) fn burst(step: &Step<'_>, last: &Last) -> Self {
        Self { burst: step.time.max(last.time), ..Self::new(step, last) }
    }

    /// Where the wait itself ended.
    pub(super) fn end(&self) -> Instant {
        self.parts.iter().flatten().next_back().map_or(Instant::default(), |part| part.end)
    }

    /// Adds a part, which may be empty.
    pub(super) fn add(&mut self, end: Instant, by: Held, certain: bool) {
        if let Some(place) = self.parts.iter_mut().find(|place| place.is_none()) {
            *place = Some(Part { end, by, certain });
        }
    }
}

/// Not a full segment: nothing more had been written, or it waited for an acknowledgment.
pub(super) fn is_short(len: u32, step: &Step<'_>) -> bool {
    len < step.mss - step.mss / 8
}

/// What of the receiver's window was left after the last packet, where it goes up to `reach`.
pub(super) fn window_left(reach: i64, step: &Step<'_>, last: &Last) -> Option<i64> {
    step.window_known.then_some(reach - last.edge)
}

/// Packets have come here one after the other for longer than a round trip, as a slow link lets them pass; timestamps
/// would tell the queue before it.
pub(super) fn is_busy(step: &Step<'_>) -> bool {
    let busy = step.busy_since.is_some_and(|since| step.time.saturating_since(since) > rtt(step));
    !step.sent_at.near && !step.sent_at.stamped && busy
}

pub(super) fn rtt(step: &Step<'_>) -> Duration {
    step.clock.rtt().or(step.clock.whole()).unwrap_or_default()
}

/// Data leave together within that.
pub(super) fn at_once(step: &Step<'_>) -> Duration {
    step.policy.prompt.share.of(rtt(step)).min(step.policy.prompt.least)
}

/// Within that of an acknowledgment, data answer it.
pub(super) fn prompt(step: &Step<'_>) -> Duration {
    let prompt = &step.policy.prompt;
    let own = prompt.share.of(rtt(step)).max(prompt.least).min(prompt.most);
    own + prompt.loop_share.of(step.clock.delay())
}
