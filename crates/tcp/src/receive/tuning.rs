//! A receive buffer that grows with what the application reads in a round trip, and the window that it allows:
//! `tcp_select_initial_window`, `tcp_init_buffer_space`, `tcp_grow_window`, `tcp_rcv_space_adjust` and
//! `__tcp_select_window` of Linux 6.1, with `tcp_adv_win_scale` 1: half of the memory is window.
//!
//! Not modelled: limits of the host's memory, and packets out of order that are put together to save it.

use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use crate::profile::TuningConfig;

/// Segments of the first window that is expected to be read in a round trip (`TCP_INIT_CWND`).
const FIRST_SEGMENTS: u32 = 10;
/// Headers, the space before them, and what the kernel keeps behind the data of a packet.
const AROUND: u32 = 14 + 52 + 64 + 320;
/// `struct sk_buff`.
const DESCRIPTOR: u32 = 256;
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
    /// Nor than this, which grows with arrivals (`rcv_ssthresh`).
    ssthresh: u32,
    /// Full segment, options deducted.
    mss: u32,
    /// Packets that wait to be read: bytes left, memory.
    queue: VecDeque<(u32, u32)>,
    /// Bytes that still fit into the memory of the last of those.
    room: u32,
    /// Memory of those, and of packets out of order.
    ordered: u32,
    disordered: u32,
    /// Read in the last round trip, and since `since`.
    space: u32,
    copied: u32,
    since: Instant,
}

/// Memory that a packet with `len` bytes of data takes, where a driver gets whole powers of two.
fn memory(len: u32) -> u32 {
    (len + AROUND).next_power_of_two() + DESCRIPTOR
}

/// The part of memory that is window (`tcp_win_from_space` with `tcp_adv_win_scale` 1).
fn half(memory: u32) -> u32 {
    memory - memory / 2
}

impl ReceiveTuning {
    /// The window of a SYN: whole segments of half the memory.
    pub fn first_window(config: &TuningConfig, mss: u32) -> u32 {
        let space = half(config.first.0.min(1 << 30) as u32);
        let whole = if space > mss { space - space % mss } else { space };
        whole.min(65_535)
    }

    /// Once the connection is established; `mss` has its options deducted, and `window` is what was promised.
    pub fn new(config: TuningConfig, mss: u32, window: u32, now: Instant) -> Self {
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
            queue: VecDeque::new(),
            room: 0,
            ordered: 0,
            disordered: 0,
            space,
            copied: 0,
            since: now,
        }
    }

    /// `tcp_space`.
    fn space(&self) -> u32 {
        half(self.buffer.saturating_sub(self.ordered + self.disordered))
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

    /// A window update is worth while: twice of what was promised, and that at most half.
    pub fn is_update_due(&self, promised: u32, scale: u8, full: u32, last: u32) -> bool {
        let window = if self.may_update(promised) { self.window(scale, full, last) } else { 0 };
        window > 0 && window >= 2 * promised
    }

    /// A segment of `len` bytes has come, in order or not; true if the window may grow for it.
    pub fn on_arrival(&mut self, len: u32, in_order: bool, sack: bool) -> bool {
        if in_order {
            match self.queue.back_mut() {
                // What fits behind the last packet is copied there (`tcp_try_coalesce`).
                Some((left, _)) if len <= self.room => {
                    *left += len;
                    self.room -= len;
                }
                _ => {
                    self.queue.push_back((len, memory(len)));
                    self.ordered += memory(len);
                    self.room = memory(len) - DESCRIPTOR - AROUND - len;
                }
            }
            return len >= SHORT && self.grow(len);
        }
        let grown = sack && self.grow(len);
        self.disordered += memory(len);
        grown
    }

    /// `bytes` that had waited out of order can be read now; `emptied`: none are left behind.
    pub fn on_order(&mut self, bytes: u32, emptied: bool) {
        if bytes == 0 {
            return;
        }
        self.room = 0;
        // Each packet is read on its own. What came out of order is taken for full segments.
        let mss = self.mss.max(1);
        let packets = bytes.div_ceil(mss);
        let (full, rest) = (bytes / mss, bytes % mss);
        let kept = full.saturating_mul(memory(mss)) + if rest > 0 { memory(rest) } else { 0 };
        let memory = if emptied { self.disordered } else { self.disordered.min(kept) };
        self.disordered -= memory;
        self.ordered += memory;
        let (mut bytes, mut memory) = (bytes, memory);
        for left in (1..=packets).rev() {
            let (some, part) = (bytes.min(mss), memory / left);
            self.queue.push_back((some, part));
            (bytes, memory) = (bytes - some, memory - part);
        }
    }

    /// `tcp_grow_window`, without memory pressure.
    fn grow(&mut self, len: u32) -> bool {
        let room = self.clamp.min(self.space()).saturating_sub(self.ssthresh);
        if room == 0 {
            return false;
        }
        let part = half(memory(len));
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
    /// whether a round trip is over: what a read takes behind that one counts for the next.
    pub fn on_read(&mut self, now: Instant, mut n: u32, rtt: Option<Duration>) {
        while let Some((left, memory)) = self.queue.front_mut().filter(|_| n > 0) {
            let used = n.min(*left);
            n -= used;
            *left -= used;
            if *left == 0 {
                self.ordered -= *memory;
                self.queue.pop_front();
            }
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

    /// Twice of what was read, and more as it grows; in packets of the memory that one may take.
    fn grow_buffer(&mut self) {
        let (copied, space) = (u64::from(self.copied), u64::from(self.space.max(1)));
        let mss = u64::from(self.mss.max(1));
        let mut window = 2 * copied + 16 * mss;
        window += 2 * (window * (copied - space) / space);
        let mut packet = mss + 320 + u64::from(DESCRIPTOR) + 320;
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
        let mut tuning = ReceiveTuning::new(config, mss, 64_088, start);
        let before = tuning.buffer;
        for _ in 0..30 {
            tuning.on_arrival(mss, true, true);
        }
        tuning.on_read(start + rtt, 30 * mss, Some(rtt));
        assert_eq!((tuning.buffer, tuning.copied, tuning.ordered), (before, 29 * mss, 0));
        tuning.on_arrival(mss, true, true);
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

    /// What fills a hole in part leaves the memory of what still waits behind another.
    #[test]
    fn packets_take_their_memory_along_when_a_hole_is_filled() {
        let config = TuningConfig { first: rexmit_units::Bytes(131_072), most: rexmit_units::Bytes(6 << 20) };
        let mut tuning = ReceiveTuning::new(config, 1_448, 64_088, Instant::ZERO);
        for _ in 0..5 {
            tuning.on_arrival(1_448, false, true);
        }
        tuning.on_order(2 * 1_448, false);
        assert_eq!((tuning.ordered, tuning.disordered), (2 * memory(1_448), 3 * memory(1_448)));
        tuning.on_order(3 * 1_448, true);
        assert_eq!((tuning.ordered, tuning.disordered), (5 * memory(1_448), 0));
    }
}
