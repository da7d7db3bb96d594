//! Packets for the device: several segments that the stack handles as one, whether or not the device splits them
//! (`tcp_tso_autosize`, `tcp_mss_split_point`, `tcp_tso_should_defer`).
//!
//! The queue's own packets, which end where a write filled one, are not modelled: what waits counts as one.

use rexmit_units::{Duration, Instant};

use super::Tcb;
use crate::profile::NagleRule;
use crate::recovery::{Phase, Status};

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
struct DevicePacket {
    /// Segments that it has, and those of them that have not left.
    segments: u32,
    left: u32,
}

/// What packets for the device are made by.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Device {
    packet: DevicePacket,
    /// In this round of sending data wait although cwnd has room.
    pub deferred: bool,
    /// When anything last left.
    last_sent: Instant,
}

impl Device {
    /// A round of sending begins.
    pub fn begin_round(&mut self) {
        (self.packet, self.deferred) = (DevicePacket::default(), false);
    }

    /// Has one segment left of the packet that is being sent?
    pub fn has_begun(&self) -> bool {
        self.packet.left + 1 == self.packet.segments
    }

    /// Is there more of the packet that is being sent?
    pub fn is_under_way(&self) -> bool {
        self.packet.left > 0
    }

    /// A segment leaves; `new_data`: as a part of the packet. Is it the last of several?
    pub fn leave(&mut self, now: Instant, new_data: bool) -> bool {
        self.last_sent = now;
        if !new_data {
            return false;
        }
        self.packet.left = self.packet.left.saturating_sub(1);
        self.packet.left == 0 && self.packet.segments > 1
    }
}

/// What a packet for the device may hold.
#[derive(Clone, Copy, Debug)]
struct Room {
    /// Segments of the largest packet.
    most: u64,
    /// Bytes that wait, that cwnd leaves, and that the peer's window leaves.
    waiting: u64,
    congestion: u64,
    window: u64,
}

impl Tcb {
    /// New data are about to leave: begins another packet where the last one is complete. True if the data wait for
    /// an acknowledgment instead, so that more of them may go together (LK-DEFER-1).
    pub(super) fn begin_device_packet(&mut self, now: Instant, status: &Status) -> bool {
        let Some(device) = self.device.as_deref().copied().filter(|device| device.packet.left == 0) else {
            return false;
        };
        let (most, quota) = (self.segments_a_device_packet(status), self.quota(status));
        let mss = u64::from(self.snd.mss);
        let waiting = (i64::from(self.buffer.len()) - self.off()).max(0) as u64;
        let window = (i64::from(self.snd.wnd) - self.off()).max(0) as u64;
        let congestion = u64::from(quota) * mss;
        let room = Room { most, waiting, congestion, window };
        let mut next = device;
        let waits = waiting > mss && !self.marks.pushing && self.defers(now, &device, &room, status);
        if waits {
            next.deferred = congestion < window && congestion <= waiting;
        } else {
            let most = most.min(u64::from(quota)).max(1);
            let needed = waiting.min(window);
            let short = u64::from(!needed.is_multiple_of(mss) && self.short_may_go());
            let segments = (needed / mss + short).clamp(1, most) as u32;
            next.packet = DevicePacket { segments, left: segments };
        }
        if let Some(device) = self.device.as_deref_mut() {
            *device = next;
        }
        waits
    }

    /// Packets that cwnd leaves.
    fn quota(&self, status: &Status) -> u32 {
        self.window.packets().saturating_sub(status.in_flight)
    }

    /// `tcp_tso_should_defer`.
    fn defers(&self, now: Instant, device: &Device, of: &Room, status: &Status) -> bool {
        let mss = u64::from(self.snd.mss);
        let room = of.congestion.min(of.window);
        let usable = u64::from(self.snd.wnd).min(u64::from(self.window.packets()) * mss);
        if matches!(status.phase, Phase::Recovery | Phase::Loss)
            || now.saturating_since(device.last_sent) > RECENT
            || room >= of.most * mss
            || room >= usable / SHARE
        {
            return false;
        }
        let Some((head, srtt)) = status.oldest.zip(self.rtt.srtt()) else { return false };
        let patience = Duration::from_nanos(srtt.as_nanos() / 2).min(RECENT);
        head + srtt <= now + patience && (room <= of.waiting || !self.state.wants_fin())
    }

    /// What leaves in a millisecond at the rate of this round trip, and for near peers more (`tcp_tso_autosize`,
    /// `tcp_update_pacing_rate`).
    fn segments_a_device_packet(&self, status: &Status) -> u64 {
        let mss = u64::from(self.snd.mss);
        let cwnd = self.window.packets();
        let percent = if cwnd < self.window.threshold_packets() / 2 { 200 } else { 120 };
        let micros = self.rtt.srtt().map_or(0, |srtt| srtt.as_nanos() / 1_000);
        let out = u64::from(cwnd.max(status.out));
        let rate = mss * out * 10_000 * percent / micros.max(1);
        let near = (self.least_rtt.as_nanos() / 1_000) >> 9;
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
