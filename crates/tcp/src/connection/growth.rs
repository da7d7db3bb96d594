//! Buffers that grow: FreeBSD 7 (FB-WIN-7, FB-WIN-8, FB-BUF-5).

use rexmit_wire::{Flags, TcpSegment};

use super::{State, Tcb};
use crate::profile::{BufferConfig, GrowthConfig};

/// How the buffers of a connection grow.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Growth {
    /// The send buffer was refused a step, and takes no other.
    send_over: bool,
    receive_over: bool,
    /// The timestamp of the ACK with which the present round trip began.
    since: Option<u32>,
    /// Bytes that have arrived in it.
    arrived: u32,
}

/// The next size of a buffer of `limit` bytes; `None` if that is more than the system gives.
fn grown(limit: u32, growth: GrowthConfig, buffers: &BufferConfig) -> Option<u32> {
    let wanted = (u64::from(limit) + growth.step.0).min(growth.most.0);
    // A cluster of 2048 bytes takes 256 more of header (FB-BUF-5).
    (wanted <= buffers.max.0 * 8 / 9).then_some(wanted as u32)
}

impl Tcb {
    /// FB-WIN-7, before each look for something to send.
    #[inline]
    pub(super) fn grow_send_buffer(&mut self, window: u32) {
        let Some(growth) = self.profile.buffers.send_growth else { return };
        let (limit, queued) = (self.buffer.limit, self.buffer.len());
        let unsent = i64::from(queued) - self.off();
        let due = !self.growth.send_over
            && self.snd.wnd / 4 * 5 >= limit
            && queued >= limit / 8 * 7
            && u64::from(queued) < growth.most.0
            && i64::from(window) >= unsent;
        if due {
            match grown(limit, growth, &self.profile.buffers) {
                Some(size) => self.buffer.limit = size,
                None => self.growth.send_over = true,
            }
        }
    }

    /// FB-WIN-8: a segment of data before it is taken. Only what BSD's header prediction takes counts: the next data in
    /// order, with nothing queued and nothing new in the rest of the header.
    #[inline]
    pub(super) fn grow_receive_buffer(&mut self, segment: &TcpSegment, window: u32) {
        if let Some(growth) = self.profile.buffers.receive_growth {
            self.grow_receive_buffer_by(growth, segment, window);
        }
    }

    fn grow_receive_buffer_by(&mut self, growth: GrowthConfig, segment: &TcpSegment, window: u32) {
        let predicted = self.state == State::Established
            && segment.seq == self.rcv.nxt
            && !segment.flags.any(Flags::FIN.with(Flags::SYN).with(Flags::URG))
            && segment.ack == self.snd.una
            && self.snd.nxt == self.snd.max
            && (window != 0 && window == self.snd.wnd)
            && self.rcv.out_of_order.is_empty();
        if !predicted {
            (self.growth.since, self.growth.arrived) = (None, 0);
            return;
        }
        let Some(stamps) = segment.timestamps.filter(|t| t.echo != 0) else { return };
        let second = 1_000_000_000 / self.profile.clock.timestamp_unit.as_nanos().max(1);
        let age = self.growth.since.map(|since| stamps.echo.wrapping_sub(since));
        if !age.is_some_and(|age| age > 0 && u64::from(age) < second) {
            self.growth.arrived = self.growth.arrived.saturating_add(segment.payload.len());
            return;
        }
        let limit = self.rcv.limit;
        if self.growth.arrived > limit / 8 * 7
            && u64::from(limit) < growth.most.0
            && !self.growth.receive_over
        {
            match grown(limit, growth, &self.profile.buffers) {
                Some(size) => self.rcv.limit = size,
                None => self.growth.receive_over = true,
            }
        }
        (self.growth.since, self.growth.arrived) = (None, 0);
    }

    /// A segment leaves with this timestamp: the round trip that is measured begins, if none is in progress.
    #[inline]
    pub(super) fn note_stamp_sent(&mut self, value: u32) {
        if self.profile.buffers.receive_growth.is_some() {
            self.growth.since.get_or_insert(value);
        }
    }
}
