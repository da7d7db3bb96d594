//! The send queue of Linux, in packets of several segments, whether or not a device splits them: how `write` fills them
//! (`tcp_sendmsg_locked`, `tcp_xmit_size_goal`), how they are cut and held back (`tcp_write_xmit`, `tcp_tso_autosize`,
//! `tcp_mss_split_point`, `tcp_tso_should_defer`), and how much of them there may be (`tcp_sndbuf_expand`,
//! `sk_stream_write_space`). LK-QUEUE-1 to LK-QUEUE-4, LK-PUSH-1, LK-DEFER-1.

use std::collections::VecDeque;

use rexmit_stack::Event;
use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use super::Tcb;
use crate::profile::NagleRule;
use crate::recovery::{LossRecovery, Phase, Status};

/// Largest packet for a device, bytes (`sk_gso_max_size`).
const LARGEST: u32 = 65_536 - 321;
/// One is never smaller where there are the data, segments (`tcp_min_tso_segs`).
const LEAST: u64 = 2;
/// A sender that has been silent for longer does not wait (`tcp_tso_should_defer`).
const RECENT: Duration = Duration::from_millis(1);
/// Nor does one that may use such a part of its window (`tcp_tso_win_divisor`).
const SHARE: u64 = 3;
/// Memory that a packet takes besides its data.
const OVERHEAD: u32 = 1_280;
/// Memory that a full segment is reckoned with (`tcp_sndbuf_expand`), besides its options and headers rounded up to a
/// power of two.
const SEGMENT_OVERHEAD: u32 = 256;
/// Headers and the like of a segment, before that is rounded up.
const SEGMENT_HEADERS: u32 = 320 + 320;
/// The send buffer is reckoned for this many segments at least: the first window.
const LEAST_SEGMENTS: u32 = 10;

/// What lets data leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Push {
    /// As Nagle's rule and the wait for a larger packet allow (`__tcp_push_pending_frames`).
    #[default]
    Usual,
    /// As the wait allows, short ones too (TCP_NAGLE_PUSH).
    Short,
    /// One packet at most, at once (`tcp_push_one`).
    One,
    /// The same, cwnd or not: a probe for a lost tail (`tcp_send_loss_probe`).
    Probe,
}

/// A packet that has not left, or what is left of it.
#[derive(Clone, Copy, Debug, Default)]
struct Queued {
    len: u32,
    /// Its last segment is marked with PSH.
    push: bool,
}

/// The packets of a connection that have not left, and the one that is leaving.
#[derive(Clone, Debug, Default)]
pub(crate) struct Device {
    queued: VecDeque<Queued>,
    /// Bytes of the packet that is leaving, and those of them that have not left.
    packet: u32,
    left: u32,
    /// Its last segment is marked with PSH.
    push: bool,
    /// Packets that began to leave in this round of sending.
    begun: u32,
    /// What lets data leave now.
    pub how: Push,
    /// In this round of sending data wait although cwnd has room.
    pub deferred: bool,
    /// When anything last left.
    last_sent: Instant,
    /// How far the writer has pushed (`pushed_seq`); none before its first write.
    pushed: Option<SeqNumber>,
    /// Memory that the queue may take (`sk_sndbuf`).
    limit: u32,
    /// Bytes a second that the last acknowledgment left as the usual rate (`sk_pacing_rate`).
    rate: Option<u64>,
}

impl Device {
    /// A round of sending begins.
    pub fn begin_round(&mut self) {
        (self.begun, self.deferred) = (0, false);
    }

    /// Is there more of the packet that is leaving?
    pub fn is_under_way(&self) -> bool {
        self.left > 0
    }

    /// Another packet may begin to leave: none is under way, and not only one was to.
    pub fn begins_another(&self) -> bool {
        self.left == 0 && !self.is_done()
    }

    /// Only one packet was to leave, and it has begun.
    fn is_done(&self) -> bool {
        matches!(self.how, Push::One | Push::Probe) && self.begun > 0
    }

    /// Is the next segment the first of its packet?
    pub fn begins(&self) -> bool {
        self.left == self.packet
    }

    /// A segment leaves; `new`: this many bytes that have not left before. Is it to be marked with PSH?
    pub fn leave(&mut self, now: Instant, new: u32, mss: u32) -> bool {
        self.last_sent = now;
        if new == 0 {
            return false;
        }
        if self.left == 0 {
            self.force_out(new);
            return false;
        }
        self.left = self.left.saturating_sub(new);
        self.left == 0 && (self.packet > mss || self.push)
    }

    /// Bytes that leave as they are, a probe of a closed window.
    fn force_out(&mut self, mut bytes: u32) {
        while let Some(head) = self.queued.front_mut().filter(|_| bytes > 0) {
            let part = bytes.min(head.len);
            (head.len, bytes) = (head.len - part, bytes - part);
            if head.len == 0 {
                self.queued.pop_front();
            }
        }
    }

    /// Packets that wait or are leaving.
    fn packets(&self) -> u32 {
        self.queued.len() as u32 + u32::from(self.left > 0)
    }
}

/// The first packet that waits, and what it may have.
#[derive(Clone, Copy, Debug)]
struct Head {
    len: u64,
    is_last: bool,
    /// It ends with a FIN.
    fin: bool,
    /// Bytes that cwnd leaves, and that the peer's window leaves.
    congestion: u64,
    window: u64,
}

impl Tcb {
    /// Bytes that may leave of the packet that is leaving, or of the next one, which begins with that (`tcp_write_xmit`).
    pub(super) fn permit_packet(&mut self, now: Instant, status: &Status) -> u32 {
        let Some(device) = self.device.as_deref() else { return 0 };
        if device.left > 0 {
            return device.left;
        }
        let (how, next, done) = (device.how, device.queued.front().copied(), device.is_done());
        let Some(queued) = next.filter(|_| !done) else { return 0 };
        let len = self.next_packet(now, status, how, queued.len.into());
        let Some(device) = self.device.as_deref_mut().filter(|_| len > 0) else { return 0 };
        (device.packet, device.left, device.push) = (len, len, false);
        device.begun += 1;
        if len < queued.len {
            device.queued[0].len -= len;
        } else {
            device.queued.pop_front();
            device.push = queued.push;
        }
        len
    }

    /// The size of the packet that may leave now; 0: none.
    fn next_packet(&mut self, now: Instant, status: &Status, how: Push, len: u64) -> u32 {
        let mss = u64::from(self.snd.mss);
        let Some(device) = self.device.as_deref() else { return 0 };
        let is_last = device.queued.len() == 1;
        let fin = is_last && self.state.wants_fin();
        let cwnd = self.window.packets();
        let room = cwnd.saturating_sub(status.in_flight);
        let window = (i64::from(self.snd.wnd) - self.off()).max(0) as u64;
        let head = Head { len, is_last, fin, congestion: u64::from(room) * mss, window };
        // No packet is larger than half of cwnd; the last one of all is not held back (`tcp_cwnd_test`).
        let forced = (fin && len <= mss) || how == Push::Probe;
        let quota = u64::from(room.min((cwnd >> 1).max(1)).max(u32::from(forced)));
        if quota == 0 || window < len.min(mss) {
            return 0;
        }
        let may_be_short = how != Push::Usual || !is_last || fin || self.short_may_go();
        if len <= mss {
            return if len == mss || may_be_short { len as u32 } else { 0 };
        }
        let most = self.segments_a_device_packet(status);
        if matches!(how, Push::Usual | Push::Short) && self.defers(now, &head, most, status) {
            let deferred = head.congestion < head.window && head.congestion <= head.len;
            if let Some(device) = self.device.as_deref_mut() {
                device.deferred |= deferred;
            }
            return 0;
        }
        let most = mss * quota.min(most);
        let needed = len.min(window);
        if most <= needed || (most <= window && !is_last) {
            return most.min(len) as u32;
        }
        // The rest of a segment goes with it where Nagle's rule lets it (`tcp_mss_split_point`).
        let short = how != Push::Usual || self.short_may_go();
        (if short { needed } else { needed - needed % mss }) as u32
    }

    /// `tcp_tso_should_defer`.
    fn defers(&self, now: Instant, head: &Head, most: u64, status: &Status) -> bool {
        let mss = u64::from(self.snd.mss);
        let room = head.congestion.min(head.window);
        let usable = u64::from(self.snd.wnd).min(u64::from(self.window.packets()) * mss);
        let last_sent = match self.pacing.as_deref() {
            Some(pacing) => pacing.due(),
            None => self.device.as_deref().map_or(Instant::ZERO, |device| device.last_sent),
        };
        if matches!(status.phase, Phase::Recovery | Phase::Loss)
            || now.saturating_since(last_sent) > RECENT
            || room >= most * mss
            || (!head.is_last && room >= head.len)
            || room >= usable / SHARE
        {
            return false;
        }
        let Some((oldest, srtt)) = status.oldest.zip(self.rtt.srtt()) else { return false };
        let patience = Duration::from_nanos(srtt.as_nanos() / 2).min(RECENT);
        oldest + srtt <= now + patience && (room <= head.len || !head.fin)
    }

    /// What leaves in a millisecond at the pacing rate, and for near peers more (`tcp_tso_autosize`).
    fn segments_a_device_packet(&self, status: &Status) -> u64 {
        let (rate, least) = match self.pacing.as_deref() {
            Some(pacing) if pacing.is_known() => (pacing.rate(), pacing.least_segments()),
            pacing => {
                let known = self.device.as_deref().and_then(|device| device.rate);
                let rate = known.unwrap_or_else(|| self.usual_rate(status.out));
                (pacing.map_or(rate, |pacing| pacing.at_most(rate)), LEAST)
            }
        };
        let near = (self.least_rtt.as_nanos() / 1_000) >> 9;
        let bytes = (rate >> 10) + if near < 32 { u64::from(LARGEST) >> near } else { 0 };
        (bytes.min(LARGEST.into()) / u64::from(self.snd.mss)).max(least)
    }

    /// An acknowledgment has been taken: until the next one the usual rate stays what it is now, with `out` segments out
    /// (`tcp_cong_control`).
    pub(crate) fn note_usual_rate(&mut self, out: u32) {
        let rate = self.usual_rate(out);
        if !self.congestion.sets_window()
            && let Some(pacing) = self.pacing.as_deref_mut()
        {
            pacing.set_rate(rate, LEAST);
        }
        if let Some(device) = self.device.as_deref_mut() {
            device.rate = Some(rate);
        }
    }

    /// The rate at which a window leaves in a round trip, and a fifth more, or twice that in slow start, bytes a second
    /// (`tcp_update_pacing_rate`).
    fn usual_rate(&self, out: u32) -> u64 {
        let mss = u64::from(self.snd.mss);
        let cwnd = self.window.packets();
        let percent = if cwnd < self.window.threshold_packets() / 2 { 200 } else { 120 };
        // In eighths of a microsecond, as the kernel keeps it.
        let eighths = self.rtt.srtt().map_or(0, |srtt| srtt.as_nanos() / 125);
        mss * u64::from(cwnd.max(out)) * 80_000 * percent / eighths.max(1)
    }

    /// Nagle's rule lets a short segment go.
    fn short_may_go(&self) -> bool {
        match self.profile.output.nagle {
            NagleRule::Off => true,
            NagleRule::On => self.snd.max == self.snd.una,
            NagleRule::Minshall => self.snd.short_end <= self.snd.una,
        }
    }

    /// Bytes of a packet that a writer fills, whole segments: as many as a device takes, and half of the largest window that
    /// the peer has offered (`tcp_xmit_size_goal`, `tcp_bound_to_half_wnd`).
    fn size_goal(&self) -> u32 {
        let half = if self.snd.max_wnd > 536 { self.snd.max_wnd / 2 } else { self.snd.max_wnd };
        let most = if half > 0 { LARGEST.min(half) } else { LARGEST };
        (most / self.snd.mss).max(1) * self.snd.mss
    }

    /// Memory that the send queue takes (`sk_wmem_queued`).
    fn queued_memory(&self, status: &Status) -> u32 {
        let waiting = self.device.as_deref().map_or(0, Device::packets);
        self.buffer.len() + OVERHEAD * (waiting + status.packets)
    }

    /// The send queue may take memory for twice the window, or twice the reordering that is expected (`tcp_sndbuf_expand`).
    fn expand_send_memory(&mut self, status: &Status) {
        let segment = (self.snd.max_opd + SEGMENT_HEADERS).next_power_of_two() + SEGMENT_OVERHEAD;
        let windows = if self.congestion.sets_window() { 3 } else { 2 };
        let segments = self.window.packets().max(LEAST_SEGMENTS).max(status.reordering + 1);
        let wanted = segments.saturating_mul(windows * segment);
        let most = self.buffer.limit;
        if let Some(device) = self.device.as_deref_mut() {
            device.limit = device.limit.max(wanted.min(most));
        }
    }

    /// What `write` takes, in packets that it fills, each offered to the wire when it is full (`tcp_sendmsg_locked`).
    pub(super) fn write_packets<R: LossRecovery + ?Sized>(
        &mut self,
        now: Instant,
        len: u64,
        recovery: &mut R,
    ) -> u64 {
        if self.device.as_deref().is_some_and(|device| device.limit == 0) {
            self.expand_send_memory(&recovery.status());
        }
        recovery.before_write(self);
        let written = self.snd.una + self.buffer.len();
        let Some(device) = self.device.as_deref_mut() else { return 0 };
        device.pushed.get_or_insert(written);
        let mut left = len;
        while left > 0 {
            let goal = self.size_goal();
            let (memory, space) = (self.queued_memory(&recovery.status()), self.buffer.space());
            if space == 0 {
                break;
            }
            let Some(device) = self.device.as_deref_mut() else { break };
            if device.queued.back().is_none_or(|tail| tail.len >= goal) {
                if memory >= device.limit {
                    break;
                }
                device.queued.push_back(Queued::default());
            }
            let Some(tail) = device.queued.back_mut() else { break };
            let part = left.min((goal - tail.len).min(space).into()) as u32;
            tail.len += part;
            // What was pushed in this write stays so when more is added.
            tail.push &= left < len;
            let (full, is_head) = (tail.len == goal, device.queued.len() == 1);
            left -= u64::from(part);
            self.buffer.push(part);
            if full && left > 0 {
                if self.is_push_due() {
                    self.mark_push();
                    self.push(now, Push::Short, recovery);
                } else if is_head {
                    self.push(now, Push::One, recovery);
                }
            }
        }
        if left < len {
            self.mark_push();
            self.push(now, if left > 0 { Push::Short } else { Push::Usual }, recovery);
        }
        self.writer_needs = u32::from(left > 0);
        len - left
    }

    /// More was written since the last push than half of the peer's largest window (`forced_push`).
    fn is_push_due(&self) -> bool {
        let written = self.snd.una + self.buffer.len();
        let pushed = self.device.as_deref().and_then(|device| device.pushed);
        pushed.is_some_and(|pushed| written > pushed + self.snd.max_wnd / 2)
    }

    /// `tcp_mark_push`.
    fn mark_push(&mut self) {
        let written = self.snd.una + self.buffer.len();
        let Some(device) = self.device.as_deref_mut() else { return };
        if let Some(tail) = device.queued.back_mut() {
            tail.push = true;
            device.pushed = Some(written);
        }
    }

    /// All that may leave does.
    pub(crate) fn push<R: LossRecovery + ?Sized>(&mut self, now: Instant, how: Push, recovery: &mut R) {
        if let Some(device) = self.device.as_deref_mut() {
            device.how = how;
        }
        self.output(now, recovery);
        if let Some(device) = self.device.as_deref_mut() {
            device.how = Push::Usual;
        }
    }

    /// A packet has left, or an acknowledgment was taken and all that could leave has left: a writer that waits for
    /// memory goes on once a third of it is free. Where cwnd is not full, there is more of it (`tcp_check_space`).
    #[inline]
    pub(super) fn check_space<R: LossRecovery + ?Sized>(&mut self, recovery: &R) {
        if self.writer_needs > 0 && self.device.is_some() {
            self.look_for_space(&recovery.status());
        }
    }

    fn look_for_space(&mut self, status: &Status) {
        if status.in_flight < self.window.packets() {
            self.expand_send_memory(status);
        }
        if self.has_send_space(status) {
            self.writer_needs = 0;
            self.raise(Event::Writable);
        }
    }

    /// A third of the memory is free (`__sk_stream_is_writeable`).
    fn has_send_space(&self, status: &Status) -> bool {
        let (memory, limit) = (self.queued_memory(status), self.device.as_deref().map_or(0, |d| d.limit));
        let has_space = self.buffer.space() >= self.buffer.limit / 3;
        has_space && memory < limit && limit - memory >= memory / 2
    }

    /// A writer that was woken looks whether there is space still: what left after that has cut the queue into more packets,
    /// which take memory. If not, it waits again (`tcp_poll`).
    pub(super) fn look_at_space<R: LossRecovery + ?Sized>(&mut self, recovery: &R) {
        if self.is_raised(Event::Writable)
            && self.device.is_some()
            && !self.has_send_space(&recovery.status())
        {
            self.take_back(Event::Writable);
            self.writer_needs = 1;
        }
    }
}
