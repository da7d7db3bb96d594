//! A controller that goes by the rate of delivery, as TCP asks it.

use rexmit_tcp::congestion::{Ack, CongestionControl, Loss, RateControl, Window};
use rexmit_units::Instant;

use super::toy::{RateBased, Sizes};

impl Sizes for Window {
    fn cwnd(&self) -> u64 {
        self.cwnd.into()
    }

    fn unit(&self) -> u64 {
        self.mss.into()
    }

    fn most(&self) -> u64 {
        self.max.into()
    }
}

impl CongestionControl for RateBased {
    fn on_ack(&mut self, _window: &mut Window, _ack: &Ack) {}

    fn ssthresh_on_loss(&mut self, window: &Window, _loss: &Loss) -> u32 {
        self.note(|heard| heard.losses += 1);
        window.cwnd.max(2 * window.mss)
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        self.note(|heard| heard.timeouts += 1);
        window.cwnd = window.mss;
    }

    fn on_recovery_exit(&mut self, _window: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {}

    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        Some(self)
    }

    fn name(&self) -> &'static str {
        "rate-based"
    }
}
