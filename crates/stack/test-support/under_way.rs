//! What is under way between two ends in virtual time, and what happens next: the tests of `tcp`, of `sctp` and of adapters
//! include this file.

use std::collections::BTreeMap;

use rexmit_network::HostId;
use rexmit_stack::Endpoint;
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

/// What happens at a host.
pub enum Happens {
    /// Its timer is due.
    Timer,
    Arrives(Box<Packet>),
    /// Its application goes on.
    Wakes,
}

impl Happens {
    /// Tells the end of it; what an application does is left to the caller.
    pub fn tell(self, end: &mut impl Endpoint, now: Instant) {
        match self {
            Self::Timer => end.handle_timer(now),
            Self::Arrives(packet) => end.handle_packet(now, packet),
            Self::Wakes => {}
        }
    }
}

/// Packets on their way and applications that wait. What is of one instant happens in the order in which it was put
/// in, timers last.
pub struct UnderWay {
    pub now: Instant,
    queue: BTreeMap<(Instant, u64), (HostId, Happens)>,
    count: u64,
}

impl UnderWay {
    pub fn new() -> Self {
        Self { now: Instant::ZERO, queue: BTreeMap::new(), count: 0 }
    }

    /// A packet that arrives at a host so much later than now.
    pub fn send(&mut self, to: HostId, wait: Duration, packet: Box<Packet>) {
        self.put(self.now + wait, to, Happens::Arrives(packet));
    }

    /// An application that goes on at this time.
    pub fn wake(&mut self, host: HostId, at: Instant) {
        self.put(at, host, Happens::Wakes);
    }

    fn put(&mut self, at: Instant, host: HostId, what: Happens) {
        self.count += 1;
        self.queue.insert((at, self.count), (host, what));
    }

    /// When something happens next, the timers of the ends being due then; of equal ones the first given goes first.
    pub fn due(&self, timers: impl IntoIterator<Item = (HostId, Option<Instant>)>) -> Option<Instant> {
        let timer = earliest(timers).map(|(at, _)| at);
        timer.into_iter().chain(self.first()).min()
    }

    /// Time goes on to what happens next.
    pub fn next(
        &mut self,
        timers: impl IntoIterator<Item = (HostId, Option<Instant>)>,
    ) -> Option<(HostId, Happens)> {
        let timer = earliest(timers);
        let first = self.first();
        if let Some((at, host)) = timer.filter(|(at, _)| first.is_none_or(|first| *at < first)) {
            self.now = self.now.max(at);
            return Some((host, Happens::Timer));
        }
        let ((at, _), next) = self.queue.pop_first()?;
        self.now = self.now.max(at);
        Some(next)
    }

    fn first(&self) -> Option<Instant> {
        self.queue.keys().next().map(|(at, _)| *at)
    }
}

fn earliest(timers: impl IntoIterator<Item = (HostId, Option<Instant>)>) -> Option<(Instant, HostId)> {
    timers.into_iter().filter_map(|(host, at)| Some((at?, host))).min_by_key(|(at, _)| *at)
}
