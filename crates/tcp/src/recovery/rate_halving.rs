//! Linux 2.6: a segment is lost by its distance from the highest SACKed one (FACK), and cwnd goes down by one
//! segment for every second ACK of the recovery (LX-ST-4 to LX-ST-10).

use rexmit_units::Instant;

use crate::Connection;
use crate::congestion::CongestionControl;
use crate::profile::{HalvingFloor, SackRecovery};

/// A burst is at most so many segments (LX-ST-4: `max_burst`).
const BURST: u32 = 3;

impl Connection {
    pub(super) fn halves(&self) -> bool {
        self.profile.recovery.sack == SackRecovery::RateHalving
    }

    /// The entry ACK counts as the first of the recovery (LX-ST-6, LX-ST-7).
    pub(super) fn enter_rate_halving(&mut self, now: Instant) {
        self.recovery.halving = 0;
        self.recovery.lost_to = self.snd.una;
        self.mark_lost(true);
        self.halve();
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
        self.output(now);
    }

    /// LX-ST-9: all that lies more than the threshold below the highest SACKed byte; `one` at least where a
    /// duplicate came. What is marked stays marked.
    pub(super) fn mark_lost(&mut self, one: bool) {
        let Some(fack) = self.board.fack() else { return };
        let (una, mss) = (self.snd.una, self.snd.mss);
        let boundary = fack - self.profile.recovery.dupack_threshold * mss;
        let mut to = self.recovery.lost_to;
        if self.profile.recovery.fack {
            to = to.max(boundary);
        }
        if one || boundary > una {
            to = to.max(una + mss);
        }
        self.recovery.lost_to = to;
    }

    /// One segment less for every second ACK, down to the floor, and never more than one beyond the flight.
    pub(super) fn halve(&mut self) {
        let mss = self.snd.mss;
        self.recovery.halving += 1;
        let less = self.recovery.halving / 2;
        self.recovery.halving %= 2;
        let floor = match self.profile.recovery.halving_floor {
            HalvingFloor::Algorithm => self.congestion.recovery_floor(&self.window),
            HalvingFloor::HalfSsthresh => self.window.ssthresh / 2,
        };
        if less > 0 && self.window.cwnd > floor {
            self.window.cwnd = self.window.cwnd.saturating_sub(less * mss);
        }
        self.window.cwnd = self.window.cwnd.min(self.pipe() + mss).max(mss);
    }

    /// No more than a short burst beyond what is in flight (LX-ST-4, LX-ST-10).
    pub(super) fn moderate(&mut self) {
        let mss = self.snd.mss;
        self.window.cwnd = self.window.cwnd.min(self.pipe() + BURST * mss).max(mss);
    }
}
