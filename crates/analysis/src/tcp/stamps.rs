//! What timestamps prove of a sender, wherever the capture was made.
//!
//! A packet echoes the newest acknowledgment that its sender had got (RFC 7323 section 4.3). If that is the last one that
//! passed here, and no other carries its value, the sender knew all that was seen here, and no more. And if the packet
//! before it echoes the same one, nothing had come to the sender between the two; how long that was, its own clock tells,
//! whatever queues lie on the way: a tick takes a millisecond at least (section 5.4).

use rexmit_units::{Duration, Instant};

/// The timestamps of one side's packets, and of what acknowledges them.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Stamps {
    /// The value of the last acknowledgment.
    newest: Option<u32>,
    /// No other one had it.
    alone: bool,
    /// The first packet of the side.
    first: Option<Packet>,
    /// The last one.
    last: Option<Packet>,
}

/// A packet that passes here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Packet {
    pub time: Instant,
    /// Its TSval.
    pub value: u32,
    /// Its TSecr.
    pub echo: u32,
}

/// The shortest tick.
const TICK: Duration = Duration::from_millis(1);

impl Stamps {
    /// An acknowledgment passes, with this TSval.
    pub(super) fn acknowledged(&mut self, value: Option<u32>) {
        self.alone = value.is_some() && value != self.newest;
        self.newest = value;
    }

    /// A packet of the side passes. How long, at least, its sender had got nothing when it sent it, and knew all that has
    /// passed here; `None` where that is not sure.
    pub(super) fn sent(&mut self, packet: Option<Packet>) -> Option<Duration> {
        let last = std::mem::replace(&mut self.last, packet);
        let packet = packet?;
        let first = *self.first.get_or_insert(packet);
        let last = last?;
        let told = self.alone && self.newest == Some(packet.echo) && last.echo == packet.echo;
        let since =
            |earlier: &Packet| packet.value.checked_sub(earlier.value).map(|ticks| TICK * u64::from(ticks));
        // A clock with shorter ticks than there may be runs ahead of ours.
        let ours = packet.time.saturating_since(first.time);
        let is_slow = since(&first).is_some_and(|theirs| theirs <= ours + ours / 8 + TICK * 2);
        since(&last).filter(|_| told && is_slow)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(ms: u64, value: u32, echo: u32) -> Option<Packet> {
        Some(Packet { time: Instant::from_nanos(ms * 1_000_000), value, echo })
    }

    #[test]
    fn the_senders_clock_tells_how_long_it_had_got_nothing() {
        let mut stamps = Stamps::default();
        assert_eq!(stamps.sent(packet(0, 100, 0)), None);
        stamps.acknowledged(Some(7));
        assert_eq!(stamps.sent(packet(50, 150, 7)), None, "the first that echoes it may answer it");
        // It waited in a queue for 200 ms.
        assert_eq!(stamps.sent(packet(600, 500, 7)), Some(Duration::from_millis(350)));
        stamps.acknowledged(Some(8));
        assert_eq!(
            stamps.sent(packet(700, 650, 7)),
            None,
            "what passed here last may have come to it or not"
        );
        stamps.acknowledged(Some(8));
        assert_eq!(stamps.sent(packet(800, 750, 8)), None);
        assert_eq!(stamps.sent(packet(900, 850, 8)), None, "either of two may be what it echoes");
    }

    #[test]
    fn a_clock_that_is_faster_than_any_may_be_tells_nothing() {
        let mut stamps = Stamps::default();
        stamps.sent(packet(0, 0, 0));
        stamps.acknowledged(Some(7));
        stamps.sent(packet(50, 50_000, 7));
        assert_eq!(stamps.sent(packet(100, 100_000, 7)), None);
    }
}
