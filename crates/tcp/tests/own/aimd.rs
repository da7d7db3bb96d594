//! AIMD(a, b): a segments more for each window that is acknowledged, and a share b of what is in flight after
//! a loss; after one in slow start half of it, if b is more.
//!
//! AIMD(1, 1/2) is Reno. AIMD(0.31, 7/8) takes about as much as Reno from a path that it shares, and is
//! smoother (Yang and Lam, "General AIMD congestion control", ICNP 2000).
//!
//! Not here: an undo of its own. The caller restores the window; all that this controller keeps is a count of
//! bytes.

// --8<-- [start:state]
use rexmit_tcp::congestion::{Ack, CongestionControl, Loss, Window};
use rexmit_units::Instant;

/// The constants, in thousandths, and the only state: bytes counted towards the next step.
#[derive(Clone, Debug)]
pub struct Aimd {
    increase: u32,
    keep: u32,
    counted: u64,
}

impl Aimd {
    /// `increase` thousandths of a segment for each window, and `keep` thousandths of the flight after a
    /// loss.
    pub fn new(increase: u32, keep: u32) -> Self {
        assert!(increase > 0 && (1..1000).contains(&keep), "AIMD({increase}, {keep})");
        Self { increase, keep, counted: 0 }
    }
}

/// Opens the window, up to its limit.
fn open(window: &mut Window, bytes: u32) {
    window.cwnd = window.cwnd.saturating_add(bytes).min(window.max).max(window.cwnd);
}
// --8<-- [end:state]

// --8<-- [start:control]
impl CongestionControl for Aimd {
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        // A window that was not used up says nothing about the path.
        if !ack.cwnd_limited {
            return;
        }
        if window.cwnd < window.ssthresh {
            // Slow start: at most a segment an ACK (RFC 5681, equation 2).
            open(window, ack.acked.min(window.mss));
            return;
        }
        self.counted += u64::from(ack.acked) * u64::from(self.increase);
        let whole = u64::from(window.cwnd) * 1000;
        if self.counted >= whole {
            self.counted -= whole;
            open(window, window.mss);
        }
    }

    fn ssthresh_on_loss(&mut self, window: &Window, loss: &Loss) -> u32 {
        self.counted = 0;
        // Slow start finds a limit by going to twice of it: the first loss leaves half at most.
        let keep = if window.cwnd < window.ssthresh { self.keep.min(500) } else { self.keep };
        let kept = u64::from(loss.in_flight) * u64::from(keep) / 1000;
        // Never below two segments (RFC 5681, equation 4).
        (kept as u32).max(2 * window.mss)
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        self.counted = 0;
        window.cwnd = window.mss;
    }

    fn on_recovery_exit(&mut self, _window: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {}

    fn name(&self) -> &'static str {
        "aimd"
    }
}
// --8<-- [end:control]
