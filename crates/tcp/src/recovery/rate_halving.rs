//! Linux 2.6: cwnd goes down by one segment for every second ACK of the recovery (LX-ST-6 to LX-ST-8).

use rexmit_units::Instant;

use crate::Connection;

impl Connection {
    /// The entry ACK counts as the first of the recovery (LX-ST-7).
    pub(super) fn enter_rate_halving(&mut self, now: Instant) {
        self.recovery.halving = 0;
        self.halve();
        self.resend_first(now);
        self.output(now);
    }

    /// One segment less for every second ACK, down to the floor, and never more than one beyond the flight.
    pub(super) fn halve(&mut self) {
        let mss = self.snd.mss;
        self.recovery.halving += 1;
        let less = self.recovery.halving / 2;
        self.recovery.halving %= 2;
        if less > 0 && self.window.cwnd > self.window.ssthresh / 2 {
            self.window.cwnd = self.window.cwnd.saturating_sub(less * mss).max(mss);
        }
        self.window.cwnd = self.window.cwnd.min(self.pipe() + mss).max(mss);
    }
}
