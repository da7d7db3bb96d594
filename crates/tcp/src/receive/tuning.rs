//! A receive buffer that grows with what the application reads in a round trip, and the window that it allows:
//! `tcp_select_initial_window`, `tcp_init_buffer_space`, `tcp_grow_window`, `tcp_rcv_space_adjust` and
//! `__tcp_select_window` of Linux 6.1, with `tcp_adv_win_scale` 1: half of the memory is window.
//!
//! What the packets take is in `packets.rs`. Not modelled: limits of the host's memory.

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::packets::{Packets, half};
use crate::profile::TuningConfig;

/// Segments of the first window that is expected to be read in a round trip (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u32 = 10;
/// Memory that the kernel takes a full segment to need, beyond its data (`SKB_TRUESIZE` and `MAX_TCP_HEADER`).
const AROUND_FULL: u64 = 320 + 256 + 320;
/// Segments shorter than this do not make the window grow.
const SHORT: u32 = 128;

/// State of the buffer and its window.
#[derive(Clone, Debug)]
pub(crate) struct ReceiveTuning {
    config: TuningConfig,
    /// `sk_rcvbuf`, in bytes of memory.
    buffer: u32,
    /// The window is never larger (`window_clamp`).
    clamp: u32,
    /// Nor larger than this, which grows with arrivals (`rcv_ssthresh`).
    ssthresh: u32,
    /// Full segment, options deducted.
    mss: u32,
    packets: Packets,
    /// Read in the last round trip, and since `since`.
    space: u32,
    copied: u32,
    since: Instant,
}

/// What became of a packet that found the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Limited {
    /// There is no room for it.
    pub dropped: bool,
    /// Packets out of order were dropped; up to where some are left.
    pub pruned: Option<Option<SeqNumber>>,
}

impl ReceiveTuning {
    /// The window of a SYN: whole segments of half the memory.
    pub fn first_window(config: &TuningConfig, mss: u32) -> u32 {
        let space = half(config.first.0.min(1 << 30) as u32);
        let whole = if space > mss { space - space % mss } else { space };
        whole.min(65_535)
    }

    /// Once the connection is established; `mss` has its options deducted, `header` is of a packet, and `window` is what was
    /// promised.
    pub fn new(config: TuningConfig, mss: u32, header: u32, window: u32, now: Instant) -> Self {
        let buffer = config.first.0.min(1 << 30) as u32;
        let most = half(buffer);
        // One segment is kept back.
        let clamp = if most > 2 * mss { (most - mss).max(2 * mss) } else { most };
        let ssthresh = window.min(clamp);
        let space = ssthresh.min(window).min(FIRST_SEGMENTS * mss);
        Self {
            config,
            buffer,
            clamp,
            ssthresh,
            mss,
            packets: Packets::new(header),
            space,
            copied: 0,
            since: now,
        }
    }

    /// `tcp_space`.
    fn space(&self) -> u32 {
        half(self.buffer.saturating_sub(self.packets.memory()))
    }

    /// No packet waits.
    pub fn is_empty(&self) -> bool {
        self.packets.memory() == 0
    }

    /// Less than half of the window is free: no acknowledgment is hurried (`__tcp_select_window`).
    pub fn is_short(&self) -> bool {
        self.space() < self.clamp.min(half(self.buffer)) / 2
    }

    /// The window to advertise, in units of `1 << scale`; `full` is a full segment as seen by the receiver, and
    /// `last` what was advertised last.
    pub fn window(&self, scale: u8, full: u32, last: u32) -> u32 {
        let mut free = self.space();
        let allowed = half(self.buffer);
        let most = self.clamp.min(allowed);
        let full = full.min(most);
        let unit = 1 << scale;
        if self.is_short() {
            free -= free % unit;
            if free < allowed / 16 || free < full {
                return 0;
            }
        }
        let window = free.min(self.ssthresh);
        match () {
            () if scale > 0 => window.next_multiple_of(unit),
            // Without a scale whole segments are offered, and one that is less than a segment off stays.
            () if last + full <= window || last > window => window - window % full.max(1),
            () if full == most && window > last + most / 2 => window,
            () => last,
        }
    }

    /// Reading may show that the window has grown to twice what was promised (`__tcp_cleanup_rbuf`).
    pub fn may_update(&self, promised: u32) -> bool {
        2 * promised <= self.clamp
    }

    /// A window update is worth while: twice what was promised, and that at most half.
    pub fn is_update_due(&self, promised: u32, scale: u8, full: u32, last: u32) -> bool {
        let window = if self.may_update(promised) { self.window(scale, full, last) } else { 0 };
        window > 0 && window >= 2 * promised
    }

    /// Before a segment of `len` bytes is taken, in order or not, by the kernel's `fast` path or not: `None` if it finds no
    /// limit (`tcp_try_rmem_schedule`, `tcp_prune_queue`).
    pub fn limit(&mut self, len: u32, in_order: bool, fast: bool) -> Option<Limited> {
        if (in_order && !self.packets.is_limited(len, fast)) || self.packets.memory() <= self.buffer {
            return None;
        }
        let most = self.config.most.0.min(1 << 30) as u32;
        if self.buffer < most {
            self.buffer = self.packets.memory().min(most);
        }
        let mut limited = Limited::default();
        if self.packets.memory() <= self.buffer {
            return Some(limited);
        }
        self.ssthresh = self.clamp.min(2 * self.mss);
        self.packets.collapse(self.buffer);
        if self.packets.memory() > self.buffer {
            limited.pruned = self.packets.prune(self.buffer);
            limited.dropped = self.packets.memory() > self.buffer;
        }
        Some(limited)
    }

    /// A segment of `len` bytes has come in order; true if the window may grow for it.
    pub fn on_order(&mut self, len: u32) -> bool {
        self.packets.push(len);
        len >= SHORT && self.grow(len)
    }

    /// One has come out of order.
    pub fn on_disorder(&mut self, start: SeqNumber, end: SeqNumber, sack: bool) -> bool {
        let before = self.packets.memory();
        if !self.packets.insert(start, end) || !sack {
            return false;
        }
        // The kernel counts it afterwards.
        let added = self.packets.memory().saturating_sub(before);
        self.buffer += added;
        let grown = self.grow(end.diff(start).max(0) as u32);
        self.buffer -= added;
        grown
    }

    /// What waited out of order after `nxt` can be read now.
    pub fn advance(&mut self, nxt: SeqNumber) {
        self.packets.advance(nxt);
    }

    /// `tcp_grow_window`, without memory pressure.
    fn grow(&mut self, len: u32) -> bool {
        let room = self.clamp.min(self.space()).saturating_sub(self.ssthresh);
        if room == 0 {
            return false;
        }
        let part = half(self.packets.memory_of(len));
        let mut allows = part <= len;
        if !allows {
            // `__tcp_grow_window`: packets that waste memory may make a small window grow.
            let (mut size, mut window) = (part / 2, half(self.config.most.0.min(1 << 30) as u32) / 2);
            while !allows && self.ssthresh <= window && window > 0 {
                allows = size <= len;
                size /= 2;
                window /= 2;
            }
        }
        if allows {
            self.ssthresh += room.min((2 * self.mss).max(2 * len));
        }
        allows
    }

    /// The application has read `n` bytes; `rtt` is the receiver's round-trip time. The kernel looks after each packet
    /// whether a round trip is over: what a read takes after that one counts for the next.
    pub fn on_read(&mut self, now: Instant, mut n: u32, rtt: Option<Duration>) {
        while let Some(used) = self.packets.read(n) {
            n -= used;
            self.on_copied(now, used, rtt);
        }
    }

    fn on_copied(&mut self, now: Instant, n: u32, rtt: Option<Duration>) {
        self.copied = self.copied.saturating_add(n);
        let Some(rtt) = rtt else { return };
        // In whole microseconds, as the kernel reads its clock.
        let micros = |at: Instant| at.as_nanos() / 1_000;
        if micros(now) - micros(self.since) < rtt.as_nanos() / 1_000 {
            return;
        }
        if self.copied > self.space {
            self.grow_buffer();
            self.space = self.copied;
        }
        self.copied = 0;
        self.since = now;
    }

    /// Twice what was read, and more as it grows; in packets of the memory that one may take.
    fn grow_buffer(&mut self) {
        let (copied, space) = (u64::from(self.copied), u64::from(self.space.max(1)));
        let mss = u64::from(self.mss.max(1));
        let mut window = 2 * copied + 16 * mss;
        window += 2 * (window * (copied - space) / space);
        let mut packet = mss + AROUND_FULL;
        while packet / 2 < mss {
            packet += 128;
        }
        let buffer = (window / mss).saturating_mul(packet).min(self.config.most.0.min(1 << 30)) as u32;
        if buffer > self.buffer {
            self.buffer = buffer;
            self.clamp = half(buffer);
        }
    }
}

/// The round-trip time that a receiver sees: by the echoes of its own timestamps, or by how long the peer
/// takes to fill a window (`tcp_rcv_rtt_measure`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ReceiverRtt {
    /// In 1/8 microsecond; 0: not known.
    rtt: u64,
    last_echo: u32,
    /// The end of the window that is being filled, and since when.
    window: Option<(SeqNumber, Instant)>,
}

impl ReceiverRtt {
    /// The estimate.
    pub fn get(&self) -> Option<Duration> {
        (self.rtt > 0).then(|| Duration::from_nanos(self.rtt * 125))
    }

    /// Data in order, with which rcv_nxt is `nxt`; `window` was advertised last, and what has come since is part of it
    /// (LK-WIN-4).
    pub fn on_data(&mut self, now: Instant, nxt: SeqNumber, window: u32) {
        if let Some((end, since)) = self.window {
            if nxt < end {
                return;
            }
            let micros = now.saturating_since(since).as_nanos() / 1_000;
            self.update(micros.max(1), true);
        }
        self.window = Some((nxt + window, now));
    }

    /// A segment echoes a timestamp, which is `age` old if the segment is a full one. Only the first that echoes it counts.
    pub fn on_echo(&mut self, echo: u32, age: Option<Duration>) {
        let fresh = std::mem::replace(&mut self.last_echo, echo) != echo;
        if let Some(age) = age.filter(|_| fresh) {
            self.update(age.as_nanos() / 1_000, false);
        }
    }

    fn update(&mut self, micros: u64, by_window: bool) {
        let sample = micros << 3;
        if self.rtt == 0 || sample < self.rtt {
            self.rtt = sample;
        } else if !by_window {
            self.rtt = self.rtt - (self.rtt >> 3) + micros;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_long_read_only_the_first_packet_counts_for_the_round_trip_that_is_over() {
        let config = TuningConfig { first: rexmit_units::Bytes(131_072), most: rexmit_units::Bytes(6 << 20) };
        let start = Instant::ZERO;
        let (rtt, mss) = (Duration::from_millis(10), 1_448);
        let mut tuning = ReceiveTuning::new(config, mss, 52, 64_088, start);
        let before = tuning.buffer;
        for _ in 0..30 {
            tuning.on_order(mss);
        }
        tuning.on_read(start + rtt, 30 * mss, Some(rtt));
        assert_eq!((tuning.buffer, tuning.copied, tuning.packets.memory()), (before, 29 * mss, 0));
        tuning.on_order(mss);
        tuning.on_read(start + rtt * 2, mss, Some(rtt));
        assert!(tuning.buffer > before);
        assert_eq!((tuning.copied, tuning.space), (0, 30 * mss));
    }

    /// `tcp_rcv_rtt_measure_ts`: the first segment that echoes a timestamp counts, or none does.
    #[test]
    fn an_echo_is_looked_at_once() {
        let mut rtt = ReceiverRtt::default();
        rtt.on_echo(7, None);
        rtt.on_echo(7, Some(Duration::from_millis(10)));
        assert_eq!(rtt.get(), None);
        rtt.on_echo(8, Some(Duration::from_millis(10)));
        assert_eq!(rtt.get(), Some(Duration::from_millis(10)));
    }

    /// `tcp_clamp_window`: a buffer that may still grow does, up to what is there; one that may not drops.
    #[test]
    fn a_packet_that_finds_the_limit_makes_the_buffer_grow_or_is_dropped() {
        let full = |most: u64| {
            let config = TuningConfig { first: rexmit_units::Bytes(20_000), most: rexmit_units::Bytes(most) };
            let mut tuning = ReceiveTuning::new(config, 1_448, 52, 10_000, Instant::ZERO);
            let mut found = None;
            for _ in 0..12 {
                found = found.or(tuning.limit(1_448, true, false));
                tuning.on_order(1_448);
            }
            (found.map(|limited| limited.dropped), tuning.buffer > 20_000, tuning.ssthresh)
        };
        assert_eq!(full(6 << 20).0, Some(false));
        assert!(full(6 << 20).1);
        assert_eq!(full(20_000), (Some(true), false, 2 * 1_448));
    }
}
