//! Linux's delayed acknowledgments: a credit of immediate ones, and a delay that follows the gaps between
//! arrivals (LX-ACK-1 to LX-ACK-4, LK-ACK-1 to LK-ACK-4), and those of data out of order, held back
//! (LK-ACK-5). What every policy has in common is in `connection/delayed_ack.rs`.
//!
//! Deviations: where a profile does not say so, a timer that is about to expire does not send its ACK at once
//! when another segment arrives, and what counts as a full segment never shrinks.

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use crate::profile::{CompressionConfig, DelayedAckConfig};

/// What the receiver takes for a full segment at first (LX-ACK-4).
const FIRST_FULL: u32 = 536;
/// No peer has shorter ones (`TCP_MIN_MSS`).
const LEAST_FULL: u32 = 88;

/// The receiver's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QuickAck {
    /// Immediate ACKs left.
    credit: u32,
    /// The delay; zero before the first data.
    delay: Duration,
    /// Largest segment seen.
    full: u32,
    /// When the last data arrived.
    arrival: Instant,
    /// A short segment has come since the last ACK (the kernel's mark for PSH).
    short: bool,
    /// And another one.
    twice: bool,
    /// The last segment, if it was short but may have been a full one.
    last: u32,
    /// Data are sent in answer, which an ACK could ride on.
    interactive: bool,
}

impl Default for QuickAck {
    fn default() -> Self {
        Self {
            credit: 0,
            delay: Duration::ZERO,
            full: FIRST_FULL,
            arrival: Instant::ZERO,
            short: false,
            twice: false,
            last: 0,
            interactive: false,
        }
    }
}

/// Whole ticks of it.
pub(crate) fn whole(time: Duration, tick: Duration) -> Duration {
    Duration::from_nanos(time.as_nanos() - time.as_nanos() % tick.as_nanos().max(1))
}

/// A segment with data that has arrived in order.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DataInOrder {
    pub now: Instant,
    /// Bytes of it.
    pub len: u32,
    /// The window that is advertised, in bytes.
    pub window: u32,
    /// Bytes of options that each segment has.
    pub header: u32,
    /// It has PSH.
    pub push: bool,
    /// It has PSH or FIN.
    pub ends: bool,
    /// What times are rounded down to.
    pub tick: Duration,
}

impl QuickAck {
    /// Data arrived in order. `rto` is the receiver's own.
    pub fn on_data(&mut self, config: &DelayedAckConfig, data: &DataInOrder, rto: Duration) {
        let &DataInOrder { now, len, window, .. } = data;
        let last = std::mem::take(&mut self.last);
        if len >= self.full {
            self.full = len;
            self.short |= data.push && config.push_is_short;
        } else if config.measures_short && self.is_full_now(data, last) {
            self.full = len;
        } else {
            self.twice |= self.short && config.measures_short;
            self.short = true;
        }
        let half = whole(Duration::from_nanos(self.delay.as_nanos() / 2), data.tick);
        let least_half = Duration::from_nanos(config.least.as_nanos() / 2);
        let gap = now.saturating_since(self.arrival);
        self.arrival = now;
        if self.delay.is_zero() {
            self.refill(config, window);
            self.delay = config.least;
        } else if gap <= least_half {
            self.delay = half + least_half;
        } else if gap < self.delay {
            self.delay = (half + gap).min(rto);
        } else if gap > rto {
            self.refill(config, window);
        }
    }

    /// A segment that is long enough to be a full one, or does not end anything, is one if the one before was as long
    /// (`tcp_measure_rcv_mss`).
    fn is_full_now(&mut self, data: &DataInOrder, last: u32) -> bool {
        let len = data.len + data.header;
        if len < FIRST_FULL && (len < LEAST_FULL || data.ends) {
            return false;
        }
        self.last = data.len;
        data.len == last
    }

    /// Out-of-order or repeated data: the sender wants to know at once (LX-ACK-2).
    pub fn on_trouble(&mut self, config: &DelayedAckConfig, window: u32) {
        self.refill(config, window);
        self.interactive = false;
        self.delay = config.least;
    }

    /// The next `most` ACKs leave at once, or fewer where the window is small: ECN (`tcp_enter_quickack_mode`).
    pub fn hurry(&mut self, config: &DelayedAckConfig, most: u32, window: u32) {
        self.refill_up_to(most, window);
        self.interactive = false;
        self.delay = config.least;
    }

    fn refill(&mut self, config: &DelayedAckConfig, window: u32) {
        self.refill_up_to(config.quick_credit, window);
    }

    fn refill_up_to(&mut self, most: u32, window: u32) {
        let wanted = match window / (2 * self.full) {
            0 => 2,
            n => n,
        };
        self.credit = self.credit.max(wanted.min(most));
    }

    /// Data leave: the next ACK may ride on an answer.
    pub fn on_data_sent(&mut self, now: Instant) {
        // Linux: an answer within the delay of the last arrival.
        if now.saturating_since(self.arrival) < self.delay {
            self.interactive = true;
        }
    }

    /// Does the next segment get its ACK at once, whatever its size (LX-ACK-1; `tcp_in_quickack_mode`)?
    pub fn has_credit(&self) -> bool {
        self.credit > 0 && !self.interactive
    }

    /// Must a read acknowledge `unacked` bytes (`emptied`: it left nothing) (LX-ACK-4)?
    pub fn is_due_on_read(&self, unacked: u32, emptied: bool) -> bool {
        let short = self.twice || (self.short && !self.interactive);
        unacked > self.full || (unacked > 0 && emptied && short)
    }

    /// How long an ACK may wait (LX-ACK-3).
    pub fn delay(&self, config: &DelayedAckConfig, srtt: Option<Duration>) -> Duration {
        if self.delay <= config.least {
            return self.delay;
        }
        let mut most = if self.interactive || self.short { config.timeout } else { config.most };
        if let Some(srtt) = srtt {
            most = most.min(srtt.max(config.least));
        }
        self.delay.min(most)
    }

    /// No credit is left.
    pub fn spend(&mut self) {
        self.credit = 0;
    }

    /// What the receiver takes for a full segment.
    pub fn full(&self) -> u32 {
        self.full
    }

    /// The timer has expired.
    pub fn on_expiry(&mut self, config: &DelayedAckConfig, rto: Duration) {
        if self.interactive {
            self.interactive = false;
            self.delay = config.least;
        } else {
            self.delay = Duration::from_nanos(self.delay.as_nanos() * 2).min(rto);
        }
    }

    /// The advertised window has grown for data that arrived: one immediate ACK at least (`tcp_grow_window`).
    pub fn on_window_growth(&mut self) {
        self.credit |= 1;
    }

    /// A FIN has come: what follows is taken for an answer (`tcp_fin`).
    pub fn on_fin(&mut self) {
        self.interactive = true;
    }

    /// An ACK has left; each uses up one of the credit, where it owed one (`owed`) or the profile does not ask.
    pub fn on_ack_sent(&mut self, config: &DelayedAckConfig, owed: bool) {
        (self.short, self.twice) = (false, false);
        if config.credit_for_data && !owed {
            return;
        }
        if self.credit == 1 {
            self.delay = config.least;
        }
        self.credit = self.credit.saturating_sub(1);
    }
}

/// Acknowledgments of data out of order that are held back (`__tcp_ack_snd_check`, from its second half on).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Compressed {
    /// rcv_nxt when the count began.
    nxt: Option<SeqNumber>,
    /// Those that left at once since then.
    sent: u32,
    /// Those held back since the last ACK.
    held: u32,
    /// One has just left for the segment that is being taken.
    answered: bool,
}

impl Compressed {
    /// Data out of order have come: does their ACK leave at once?
    pub fn is_due(&mut self, config: &CompressionConfig, nxt: SeqNumber) -> bool {
        if self.held >= config.most {
            return true;
        }
        if self.nxt != Some(nxt) {
            self.nxt = Some(nxt);
            self.sent = 0;
        }
        if self.sent < config.first {
            self.sent += 1;
            return true;
        }
        self.held += 1;
        false
    }

    /// One that was held back has just left, before the segment that is being taken.
    pub fn note_answered(&mut self) {
        self.answered = true;
    }

    /// Whether that is so; it is asked once.
    pub fn take_answered(&mut self) -> bool {
        std::mem::take(&mut self.answered)
    }

    /// Is one held back?
    pub fn holds(&self) -> bool {
        self.held > 0
    }

    /// An ACK has left.
    pub fn on_ack_sent(&mut self) {
        self.held = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::AckPolicy;

    fn config() -> DelayedAckConfig {
        let ms = Duration::from_millis;
        DelayedAckConfig {
            policy: AckPolicy::QuickAck,
            timeout: ms(200),
            quick_credit: 16,
            least: ms(40),
            most: ms(500),
            order_keeps_credit: false,
            credit_for_data: false,
            due_timer_answers: false,
            push_is_short: false,
            fin_waits: false,
            measures_short: false,
            counts_ticks: false,
            compression: None,
        }
    }

    fn at(ms: u64) -> Instant {
        Instant::from_nanos(ms * 1_000_000)
    }

    fn data(ms: u64, len: u32, window: u32) -> DataInOrder {
        let tick = Duration::from_nanos(1);
        DataInOrder { now: at(ms), len, window, header: 12, push: false, ends: false, tick }
    }

    fn with_arrivals(times: &[u64]) -> QuickAck {
        let mut q = QuickAck::default();
        for &t in times {
            q.on_data(&config(), &data(t, 1448, 65_535), Duration::from_millis(300));
        }
        q
    }

    #[test]
    fn the_credit_is_half_the_window_in_segments_at_most_sixteen() {
        // 536 is taken for a full segment until the first 1448 have come: 65535 / 2896 = 22.
        assert_eq!(with_arrivals(&[0]).credit, 16);
        let mut q = QuickAck::default();
        q.on_data(&config(), &data(0, 1448, 8 * 1448), Duration::from_millis(300));
        assert_eq!(q.credit, 4);
        let mut q = QuickAck::default();
        q.on_data(&config(), &data(0, 1448, 1448), Duration::from_millis(300));
        assert_eq!(q.credit, 2);
        for left in [1, 0, 0] {
            q.on_ack_sent(&config(), true);
            assert_eq!(q.credit, left);
        }
    }

    #[test]
    fn the_delay_follows_the_gaps() {
        let ms = |times: &[u64]| with_arrivals(times).delay.as_nanos() / 1_000_000;
        assert_eq!(ms(&[0]), 40);
        assert_eq!(ms(&[0, 20]), 40); // 40/2 + 20
        assert_eq!(ms(&[0, 30]), 50); // 40/2 + 30
        assert_eq!(ms(&[0, 30, 70]), 65); // 50/2 + 40
        assert_eq!(ms(&[0, 30, 80]), 50); // a gap as long as the delay changes nothing
    }

    #[test]
    fn a_long_gap_refills_the_credit() {
        let mut q = with_arrivals(&[0]);
        for _ in 0..16 {
            q.on_ack_sent(&config(), true);
        }
        q.on_data(&config(), &data(300, 1448, 65_535), Duration::from_millis(300));
        assert_eq!(q.credit, 0);
        q.on_data(&config(), &data(601, 1448, 65_535), Duration::from_millis(300));
        assert_eq!(q.credit, 16);
    }

    #[test]
    fn the_delay_is_bounded_by_the_round_trip_and_doubles_at_expiry() {
        let mut q = with_arrivals(&[0]);
        for _ in 0..4 {
            q.on_expiry(&config(), Duration::from_millis(1000));
        }
        let ms = |q: &QuickAck, srtt: Option<u64>| {
            q.delay(&config(), srtt.map(Duration::from_millis)).as_nanos() / 1_000_000
        };
        assert_eq!(ms(&q, None), 500); // 640
        assert_eq!(ms(&q, Some(100)), 100);
        assert_eq!(ms(&q, Some(10)), 40);
        q.on_data(&config(), &data(1, 100, 65_535), Duration::from_millis(1000));
        assert!(q.short && ms(&q, None) == 200, "{q:?}");
    }
}
