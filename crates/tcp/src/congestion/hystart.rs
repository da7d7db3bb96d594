//! HyStart of Linux 6.1 (tcp_cubic.c, `hystart_update`): slow start ends when ACKs come in a train as long as
//! half the least round trip (for a paced sender, as a whole one), or when the round-trip time grows.
//!
//! Deviation: the kernel allows a train the time in which four of the largest offloaded packets leave at the
//! pacing rate, at most 1 ms; here it is always 1 ms, which holds below 2 Gbit/s.

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::config::HystartConfig;

/// Samples of a round trip before its least one counts.
const MIN_SAMPLES: u32 = 8;
/// Bounds of the growth of the round-trip time, in microseconds.
const DELAY_BOUNDS: (u64, u64) = (4_000, 16_000);
/// `hystart_ack_delay`, in microseconds.
const ACK_DELAY: u64 = 1_000;

/// What is kept of a round trip.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Hystart {
    found: bool,
    round: Option<Round>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    start: Instant,
    /// The round trip ends when more than this is acknowledged.
    end: SeqNumber,
    last_ack: Instant,
    /// Least round-trip time, in microseconds.
    least: u64,
    samples: u32,
}

/// A sample of the round-trip time, and the acknowledgment that gave it.
pub(super) struct RoundTrip {
    pub now: Instant,
    pub una: SeqNumber,
    pub nxt: SeqNumber,
    /// Microseconds.
    pub rtt: u64,
    /// The connection's least, in microseconds.
    pub least: u64,
    /// Data are paced.
    pub paced: bool,
}

impl Hystart {
    /// After a timeout slow start is watched again.
    pub fn forget(&mut self) {
        *self = Self::default();
    }

    /// Is it time to leave slow start? `cwnd` is in segments.
    pub fn ends_slow_start(&mut self, config: &HystartConfig, cwnd: u32, sample: &RoundTrip) -> bool {
        let &RoundTrip { now, una, nxt, rtt, least: delay_min, paced } = sample;
        if self.found {
            return false;
        }
        if self.round.is_none_or(|r| una > r.end) {
            self.round = Some(Round { start: now, end: nxt, last_ack: now, least: u64::MAX, samples: 0 });
        }
        let Some(round) = self.round.as_mut().filter(|_| cwnd >= config.low_window) else { return false };
        if config.train && now.saturating_since(round.last_ack) <= config.spacing {
            round.last_ack = now;
            // Pacing spreads a window over up to half a round trip by itself.
            let share = if paced { 1 } else { 2 };
            let limit = Duration::from_micros((delay_min + ACK_DELAY) / share);
            self.found |= now.saturating_since(round.start) > limit;
        }
        if config.delay {
            round.least = round.least.min(rtt);
            if round.samples < MIN_SAMPLES {
                round.samples += 1;
            } else {
                let more = (delay_min >> 3).clamp(DELAY_BOUNDS.0, DELAY_BOUNDS.1);
                self.found |= round.least > delay_min + more;
            }
        }
        self.found
    }
}
