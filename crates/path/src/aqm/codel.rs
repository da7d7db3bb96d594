//! CoDel (RFC 8289): drops at the head when no packet has met the target for an interval.

use rexmit_units::{Duration, Instant};

use super::mark_or_drop;
use crate::carried::Carried;
use crate::spec::{Algorithm, Codel};
use crate::waiting::{Dropped, Fifo, Waiting};

/// The algorithm's state, without its packets (RFC 8289, section 5).
#[derive(Clone, Default)]
pub(super) struct State {
    /// When packets will have been above the target for an interval; `None` while they are not.
    first_above: Option<Instant>,
    drop_next: Instant,
    count: u64,
    last_count: u64,
    dropping: bool,
}

/// What it works with.
pub(super) struct Control<'a> {
    pub config: &'a Codel,
    /// Under which name it drops.
    pub algorithm: Algorithm,
    /// Bytes of the largest packet seen.
    pub max_packet: u64,
}

impl State {
    /// The next packet of the queue at `now`; what is dropped is added to `dropped` (`deque`, section 5.5).
    pub fn dequeue<P: Carried>(
        &mut self,
        queue: &mut Fifo<P>,
        now: Instant,
        control: &Control<'_>,
        dropped: &mut Dropped<P>,
    ) -> Option<Waiting<P>> {
        let interval = control.config.interval;
        let (mut packet, mut ok_to_drop) = self.take(queue, now, control);
        if self.dropping {
            self.dropping = ok_to_drop;
            // Where drops are due faster than packets leave, several fall together.
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                let marked = self.let_go(&mut packet, now, control, dropped);
                if marked {
                    self.drop_next = control_law(self.drop_next, interval, self.count);
                    break;
                }
                (packet, ok_to_drop) = self.take(queue, now, control);
                self.dropping = ok_to_drop;
                if ok_to_drop {
                    self.drop_next = control_law(self.drop_next, interval, self.count);
                }
            }
        } else if ok_to_drop {
            if !self.let_go(&mut packet, now, control, dropped) {
                (packet, _) = self.take(queue, now, control);
            }
            self.dropping = true;
            // Where the last drop was not long ago, its rate is the one to start from.
            let delta = self.count.saturating_sub(self.last_count);
            let recent = now.saturating_since(self.drop_next) < interval * 16;
            self.count = if delta > 1 && recent { delta } else { 1 };
            self.drop_next = control_law(now, interval, self.count);
            self.last_count = self.count;
        }
        packet
    }

    /// True where a state that starts afresh would do the same from now on.
    pub fn is_forgotten(&self, now: Instant, interval: Duration) -> bool {
        !self.dropping && now.saturating_since(self.drop_next) >= interval * 16
    }

    /// The packet at the head, and whether it may be dropped (`dodequeue`, section 5.6).
    fn take<P: Carried>(
        &mut self,
        queue: &mut Fifo<P>,
        now: Instant,
        control: &Control<'_>,
    ) -> (Option<Waiting<P>>, bool) {
        let Some(packet) = queue.pop() else {
            self.first_above = None;
            return (None, false);
        };
        if packet.sojourn(now) < control.config.target || queue.bytes() <= control.max_packet {
            // Below the target; it must stay above for an interval from here.
            self.first_above = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above.get_or_insert(now + control.config.interval);
        (Some(packet), now >= first_above)
    }

    /// Marks the packet or drops it; true if it was marked.
    fn let_go<P: Carried>(
        &self,
        packet: &mut Option<Waiting<P>>,
        now: Instant,
        control: &Control<'_>,
        dropped: &mut Dropped<P>,
    ) -> bool {
        let Some(mut one) = packet.take() else { return false };
        match mark_or_drop(&mut one, now, control.algorithm, control.config.ecn) {
            Ok(()) => {
                *packet = Some(one);
                true
            }
            Err(fate) => {
                dropped.push((one, fate));
                false
            }
        }
    }
}

/// When the next drop is due (section 5.6): sooner the more there have been.
fn control_law(from: Instant, interval: Duration, count: u64) -> Instant {
    from + Duration::from_nanos((interval.as_nanos() as f64 / (count as f64).sqrt()) as u64)
}

/// One queue under CoDel.
pub(crate) struct CodelQueue<P> {
    pub queue: Fifo<P>,
    state: State,
    config: Codel,
    max_packet: u64,
}

impl<P: Carried> CodelQueue<P> {
    pub fn new(config: Codel) -> Self {
        Self { queue: Fifo::default(), state: State::default(), config, max_packet: 0 }
    }

    /// Takes a packet, for which there is room.
    pub fn enqueue(&mut self, packet: Waiting<P>) {
        self.max_packet = self.max_packet.max(packet.bytes.into());
        self.queue.push(packet);
    }

    /// The next packet to send.
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Waiting<P>> {
        let (config, max_packet) = (&self.config, self.max_packet);
        let control = Control { config, algorithm: Algorithm::Codel, max_packet };
        self.state.dequeue(&mut self.queue, now, &control, dropped)
    }
}
