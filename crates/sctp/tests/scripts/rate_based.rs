//! A controller that goes by the rate of delivery, as SCTP asks it.

use rexmit_sctp::congestion::{CongestionControl, RateControl, Sacked, Window};
use rexmit_units::Instant;

use super::toy::{RateBased, Sizes};

impl Sizes for Window {
    fn cwnd(&self) -> u64 {
        self.cwnd
    }

    fn unit(&self) -> u64 {
        self.unit
    }

    fn most(&self) -> u64 {
        u64::MAX
    }
}

impl CongestionControl for RateBased {
    fn on_sack(&mut self, _window: &mut Window, _sacked: &Sacked) {}

    fn on_loss(&mut self, _window: &mut Window, _now: Instant, _flight: u64) {
        self.note(|heard| heard.losses += 1);
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        self.note(|heard| heard.timeouts += 1);
        window.cwnd = window.unit;
    }

    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "rate-based"
    }
}
