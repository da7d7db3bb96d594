//! What a connection does for a controller that goes by the rate of delivery, paces, or heeds ECN
//! ([`crate::congestion::RateControl`]).

use rexmit_stack::rate::Pace;
use rexmit_units::Instant;
use rexmit_wire::{Flags, TcpSegment};

use super::departures::Departures;
use super::{Tcb, Timers};
use crate::congestion::{CongestionControl, EcnEcho, SentData};
use crate::recovery::{LossRecovery, Resume, Sent};

/// What is kept for such a controller.
#[derive(Clone, Debug, Default)]
pub(crate) struct ByRate {
    departures: Departures,
    pace: Pace,
}

impl Tcb {
    /// Do data have to wait for their time? If so, a timer is set for it.
    #[inline]
    pub(crate) fn waits_for_pace(&mut self, now: Instant) -> bool {
        let Some(release) = self.by_rate.as_ref().and_then(|b| b.pace.waits_until(now)) else {
            return false;
        };
        self.timers.pace = release;
        true
    }

    /// Data may leave again.
    pub(super) fn on_pace_timer<R: LossRecovery + ?Sized>(&mut self, now: Instant, recovery: &mut R) {
        self.timers.pace = Timers::OFF;
        recovery.resume(self, now, Resume::Pace);
    }

    /// A segment leaves; nxt has not moved.
    #[cold]
    pub(super) fn note_sent_by_rate(&mut self, now: Instant, sent: &Sent) {
        let in_flight = self.flight();
        let Some(by_rate) = self.by_rate.as_mut().filter(|_| sent.len > 0) else { return };
        let Some(control) = self.congestion.rate_control() else { return };
        by_rate.departures.on_sent(now, sent.seq, sent.seq + sent.len, in_flight == 0);
        let data = SentData { now, len: sent.len, in_flight: in_flight.into(), again: !sent.is_new };
        control.on_sent(&mut self.window, &data);
        if let Some(rate) = control.pacing_rate() {
            by_rate.pace.on_sent(now, sent.len, rate);
        }
    }

    /// All that might leave has left: is the application what limits the sender (section 3.4 of the draft)?
    #[cold]
    pub(super) fn note_app_limited(&mut self) {
        if self.has_unsent() || self.flight() >= self.window.cwnd {
            return;
        }
        let in_flight = self.flight().into();
        if let Some(by_rate) = &mut self.by_rate {
            by_rate.departures.rate.on_app_limited(in_flight);
        }
    }

    /// An acknowledgment has arrived and is not acted upon yet.
    #[cold]
    pub(super) fn take_rate_sample(&mut self, now: Instant, segment: &TcpSegment) {
        let (before, una) = (self.flight(), self.snd.una.max(segment.ack));
        let acked = una.diff(self.snd.una) as u32;
        let Some(by_rate) = &mut self.by_rate else { return };
        let Some(control) = self.congestion.rate_control() else { return };
        if segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN) {
            let echo = EcnEcho { now, acked: acked.into(), marks: 1, in_flight: before.into() };
            control.on_ecn(&mut self.window, &echo);
        }
        let blocks = segment.sack.as_slice();
        if let Some(sample) = by_rate.departures.on_ack(now, una, blocks, (before - acked).into()) {
            control.on_rate_sample(&mut self.window, &sample);
        }
    }

    /// The controller's own window, where it has one, in place of what recovery made of it.
    #[cold]
    pub(super) fn keep_own_window(&mut self) {
        if let Some(cwnd) = self.congestion.rate_control().and_then(|control| control.cwnd()) {
            self.window.cwnd = u32::try_from(cwnd).unwrap_or(u32::MAX).max(self.window.mss);
        }
    }
}
