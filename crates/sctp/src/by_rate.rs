//! What is kept for controllers that go by the rate of delivery, pace, or heed ECN
//! ([`crate::congestion::RateControl`]): nothing where a path's controller does none of these.

use std::collections::VecDeque;

use rexmit_stack::rate::{DeliveryRate, Pace, SentData, Stamp};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::path::Path;

/// What a path keeps.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathRate {
    delivery: DeliveryRate,
    pace: Pace,
    /// Chunks that left on it last and are not known to have arrived.
    out: u32,
}

/// When and where a chunk left last.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub path: u8,
    pub stamp: Stamp,
}

/// The departures of chunks that are out, by TSN.
#[derive(Clone, Debug, Default)]
pub(crate) struct Departures {
    /// TSN of the first of `of`.
    base: SeqNumber,
    /// `None`: it has been reported, or never left.
    of: VecDeque<Option<Departure>>,
}

impl Departures {
    /// A chunk leaves; it has no earlier departure.
    pub fn put(&mut self, tsn: SeqNumber, departure: Departure) {
        if self.of.is_empty() {
            self.base = tsn;
        }
        let Ok(at) = usize::try_from(tsn.diff(self.base)) else { return };
        if at >= self.of.len() {
            self.of.resize(at + 1, None);
        }
        self.of[at] = Some(departure);
    }

    pub fn get(&mut self, tsn: SeqNumber) -> Option<&mut Departure> {
        let at = usize::try_from(tsn.diff(self.base)).ok()?;
        self.of.get_mut(at)?.as_mut()
    }

    pub fn take(&mut self, tsn: SeqNumber) -> Option<Departure> {
        let at = usize::try_from(tsn.diff(self.base)).ok()?;
        self.of.get_mut(at)?.take()
    }

    /// Chunks below this TSN are done with.
    pub fn forget_below(&mut self, tsn: SeqNumber) {
        while self.base < tsn && self.of.pop_front().is_some() {
            self.base += 1;
        }
    }
}

/// For a controller that goes by rate; the others' paths have no [`PathRate`], and nothing is done.
impl Path {
    /// Do data have to wait for their time? If so, a timer is set for it.
    #[inline]
    pub fn waits_for_pace(&mut self, now: Instant) -> bool {
        let Some(due) = self.by_rate.as_ref().and_then(|rate| rate.pace.waits_until(now)) else {
            return false;
        };
        self.pace = due;
        true
    }

    /// A chunk that is not yet counted in flight leaves.
    pub fn depart(&mut self, now: Instant, len: u32, again: bool) -> Option<Stamp> {
        let rate = self.by_rate.as_mut()?;
        let stamp = rate.delivery.on_sent(now, rate.out == 0, again);
        rate.out += 1;
        let control = self.congestion.inner().rate_control()?;
        control.on_sent(&mut self.window, &SentData { now, len, in_flight: self.flight, again });
        if let Some(pacing) = control.pacing_rate() {
            rate.pace.on_sent(now, len, pacing);
        }
        Some(stamp)
    }

    /// A chunk that is out leaves once more, which is not a retransmission for the window.
    pub fn depart_beside(&mut self, now: Instant) -> Option<Stamp> {
        self.by_rate.as_mut().map(|rate| rate.delivery.on_sent(now, false, true))
    }

    /// A chunk that left last on this path is no longer out.
    pub fn note_gone(&mut self) {
        if let Some(rate) = &mut self.by_rate {
            rate.out -= 1;
        }
    }

    /// It has arrived.
    pub fn note_delivered(&mut self, now: Instant, stamp: &Stamp, len: u32) {
        self.note_gone();
        if let Some(rate) = &mut self.by_rate {
            rate.delivery.on_delivered(now, stamp, len);
        }
    }

    /// What a SACK as a whole tells; `flight`: bytes in flight after it.
    #[cold]
    pub fn take_rate_sample(&mut self, now: Instant, flight: u64) {
        let sample = self.by_rate.as_mut().and_then(|rate| rate.delivery.sample(now, flight));
        if let (Some(sample), Some(control)) = (sample, self.congestion.inner().rate_control()) {
            control.on_rate_sample(&mut self.window, &sample);
        }
    }

    /// Nothing waits that could leave: is the application what limits the sender?
    pub fn note_app_limited(&mut self) {
        if let Some(rate) = self.by_rate.as_mut().filter(|_| self.flight < self.window.cwnd) {
            rate.delivery.on_app_limited(self.flight);
        }
    }

    /// The controller's own window, where it has one, in place of what bursts and idle times made of it.
    #[cold]
    pub fn keep_own_window(&mut self) {
        if let Some(cwnd) = self.congestion.inner().rate_control().and_then(|control| control.cwnd()) {
            self.window.cwnd = cwnd.max(self.window.unit);
        }
    }
}
