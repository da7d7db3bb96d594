//! Packets for the device: several segments that the stack handles as one, whether or not the device splits them
//! (`tcp_tso_autosize`, `tcp_mss_split_point`, `tcp_tso_should_defer`).
//!
//! The queue's own packets, which end where a write filled one, are not modelled: what waits counts as one.

use rexmit_units::{Duration, Instant};

use super::Phase;
use crate::Connection;
use crate::profile::NagleRule;

/// Largest packet for a device, bytes (`sk_gso_max_size`).
const LARGEST: u64 = 65_536 - 257;
/// One is never smaller where there are the data, segments (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// A sender that has been silent for longer does not wait (`tcp_tso_should_defer`).
const RECENT: Duration = Duration::from_millis(1);
/// Nor does one that may use such a part of its window (`tcp_tso_win_divisor`).
const SHARE: u64 = 3;

/// The packet for the device that is being sent.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct DevicePacket {
    /// Segments that it has, and those of them that have not left.
    segments: u32,
    left: u32,
}

impl DevicePacket {
    /// One segment of it leaves: is it the last of several?
    pub fn leave(&mut self) -> bool {
        self.left = self.left.saturating_sub(1);
        self.left == 0 && self.segments > 1
    }
}

impl Connection {
    /// New data are about to leave: begins another packet where the last one is complete. True if the data wait for
    /// an acknowledgment instead, so that more of them may go together (LK-DEFER-1).
    pub(crate) fn begin_device_packet(&mut self, now: Instant) -> bool {
        if self.packets.device.left > 0 {
            return false;
        }
        let most = self.segments_a_device_packet();
        let quota = self.cwnd_packets().saturating_sub(self.packets.in_flight());
        let mss = u64::from(self.snd.mss);
        let waiting = (i64::from(self.buffer.len()) - self.off()).max(0) as u64;
        let window = (i64::from(self.snd.wnd) - self.off()).max(0) as u64;
        if waiting > mss && self.defers(now, (most, waiting), (u64::from(quota) * mss, window)) {
            let congestion = u64::from(quota) * mss;
            self.packets.deferred = congestion < window && congestion <= waiting;
            return true;
        }
        let most = most.min(u64::from(quota)).max(1);
        let needed = waiting.min(window);
        let short = u64::from(!needed.is_multiple_of(mss) && self.short_may_go());
        let segments = (needed / mss + short).clamp(1, most) as u32;
        self.packets.device = DevicePacket { segments, left: segments };
        false
    }

    /// `tcp_tso_should_defer`, for `waiting` bytes with room for `congestion` and `window` bytes.
    fn defers(&self, now: Instant, (most, waiting): (u64, u64), (congestion, window): (u64, u64)) -> bool {
        let mss = u64::from(self.snd.mss);
        let room = congestion.min(window);
        let usable = u64::from(self.snd.wnd).min(u64::from(self.cwnd_packets()) * mss);
        if matches!(self.recovery.phase, Phase::Recovery | Phase::Loss)
            || now.saturating_since(self.packets.last_sent) > RECENT
            || room >= most * mss
            || room >= usable / SHARE
        {
            return false;
        }
        let Some((head, srtt)) = self.packets.queue.head().zip(self.rtt.srtt()) else { return false };
        let patience = Duration::from_nanos(srtt.as_nanos() / 2).min(RECENT);
        head.at + srtt <= now + patience && (room <= waiting || !self.state.wants_fin())
    }

    /// What leaves in a millisecond at the rate of this round trip, and for near peers more (`tcp_tso_autosize`,
    /// `tcp_update_pacing_rate`).
    fn segments_a_device_packet(&self) -> u64 {
        let mss = u64::from(self.snd.mss);
        let cwnd = self.cwnd_packets();
        let percent = if cwnd < self.ssthresh_packets() / 2 { 200 } else { 120 };
        let micros = self.rtt.srtt().map_or(0, |srtt| srtt.as_nanos() / 1_000);
        let out = u64::from(cwnd.max(self.packets.queue.len()));
        let rate = mss * out * 10_000 * percent / micros.max(1);
        let near = (self.packets.least_rtt.as_nanos() / 1_000) >> 9;
        let bytes = (rate >> 10) + if near < 32 { LARGEST >> near } else { 0 };
        (bytes.min(LARGEST) / mss).max(LEAST)
    }

    /// Nagle's rule lets a short segment go.
    fn short_may_go(&self) -> bool {
        !self.marks.more_to_come
            && match self.profile.output.nagle {
                NagleRule::Off => true,
                NagleRule::On => self.snd.max == self.snd.una,
                NagleRule::Minshall => self.snd.short_end <= self.snd.una,
            }
    }
}
