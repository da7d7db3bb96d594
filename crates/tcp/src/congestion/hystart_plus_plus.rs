//! HyStart++ (RFC 9406): the first slow start slows down where the round trip grows, and ends if that lasts. Names of
//! section 4.2 stand at their counterparts.
//!
//! Windows are the caller's, in bytes; times are as measured. Nothing here paces, so L is 8 (section 4.3).

use rexmit_units::Duration;
use rexmit_wire::SeqNumber;

/// Segments by which one ACK opens the window at most: L without pacing (section 4.3).
pub(super) const LIMIT: u32 = 8;
/// The growth that ends slow start: an eighth of the round trip, within these bounds (MIN_RTT_DIVISOR,
/// MIN_RTT_THRESH, MAX_RTT_THRESH).
const DIVISOR: u64 = 8;
const LEAST: Duration = Duration::from_millis(4);
const MOST: Duration = Duration::from_millis(16);
/// Samples of a round before its least one counts (N_RTT_SAMPLE).
const SAMPLES: u32 = 8;
/// Conservative slow start: a quarter of the pace (CSS_GROWTH_DIVISOR), for this many rounds (CSS_ROUNDS).
const SLOWER: u32 = 4;
const ROUNDS: u32 = 5;

/// What is kept of the first slow start.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct HystartPlusPlus {
    /// The present round ends when this is acknowledged (windowEnd); none before the first.
    end: Option<SeqNumber>,
    /// Least round trip of the round before and of this one (lastRoundMinRTT, currentRoundMinRTT).
    last: Option<Duration>,
    least: Option<Duration>,
    /// rttSampleCount.
    samples: u32,
    conservative: Option<Conservative>,
}

/// Conservative slow start.
#[derive(Clone, Copy, Debug)]
struct Conservative {
    /// cssBaselineMinRtt.
    baseline: Duration,
    /// Rounds in it, the one in which it began included.
    rounds: u32,
}

/// What an acknowledgment of new data tells.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RoundTrip {
    /// How long it took, if it is known.
    pub rtt: Option<Duration>,
    /// Oldest number outstanding after it.
    pub una: SeqNumber,
    /// Next number to send.
    pub nxt: SeqNumber,
}

impl HystartPlusPlus {
    /// What slow start's step is divided by.
    pub fn divisor(&self) -> u32 {
        if self.conservative.is_some() { SLOWER } else { 1 }
    }

    /// Is slow start over?
    pub fn ends_slow_start(&mut self, round: &RoundTrip) -> bool {
        if self.end.is_none() {
            self.end = Some(round.nxt);
        }
        if let Some(rtt) = round.rtt {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
            self.samples += 1;
        }
        self.judge();
        if self.end.is_some_and(|end| round.una >= end) {
            return self.next_round(round.nxt);
        }
        false
    }

    /// Into conservative slow start, or back.
    fn judge(&mut self) {
        let Some(least) = self.least.filter(|_| self.samples >= SAMPLES) else { return };
        match self.conservative {
            None => {
                let Some(last) = self.last else { return };
                let more = Duration::from_nanos(last.as_nanos() / DIVISOR).clamp(LEAST, MOST);
                if least >= last + more {
                    self.conservative = Some(Conservative { baseline: least, rounds: 0 });
                }
            }
            Some(css) if least < css.baseline => self.conservative = None,
            Some(_) => {}
        }
    }

    /// A round is over. True if it was the last of conservative slow start.
    fn next_round(&mut self, nxt: SeqNumber) -> bool {
        self.last = self.least.take();
        (self.end, self.samples) = (Some(nxt), 0);
        let Some(css) = &mut self.conservative else { return false };
        css.rounds += 1;
        css.rounds >= ROUNDS
    }
}
