//! What timestamps prove of a sender, wherever the capture was made.
//!
//! A packet echoes the newest acknowledgment that its sender had got (RFC 7323 section 4.3). If that is the last one that
//! passed here, and no other carries its value, the sender knew all that was seen here, and no more. And if the packet
//! before it echoes the same one, nothing had come to the sender between the two; how long that was, its own clock tells,
//! whatever queues lie on the way: a tick takes a millisecond at least (section 5.4).

use rexmit_units::{Duration, Instant};

use super::clock::LONGEST;

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
    /// The first that echoes what the last one does.
    echoing: Option<Packet>,
    /// The value of the last acknowledgment that came with data.
    with_data: Option<u32>,
}

/// What a packet of the side tells by its timestamps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Told {
    /// How long, at least, its sender had got nothing when it sent it, and knew all that has passed here; `None` where that
    /// is not sure.
    pub silent: Option<Duration>,
    /// How long, by its clock, its sender had got no acknowledgment of a later tick, whatever has passed here.
    pub unanswered: Option<Duration>,
    /// Its sender had got a newer acknowledgment than when it sent the packet before.
    pub is_fresh: bool,
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
    /// An acknowledgment passes, with this TSval, and without data if it is `bare`.
    pub(super) fn acknowledged(&mut self, value: Option<u32>, bare: bool) {
        self.alone = value.is_some() && value != self.newest;
        self.newest = value;
        if !bare {
            self.with_data = value;
        }
    }

    /// A packet of the side passes.
    pub(super) fn sent(&mut self, packet: Option<Packet>) -> Told {
        let last = std::mem::replace(&mut self.last, packet);
        let Some(packet) = packet else { return Told::default() };
        let first = *self.first.get_or_insert(packet);
        if last.is_none_or(|last| last.echo != packet.echo) {
            self.echoing = Some(packet);
        }
        Told {
            silent: last.and_then(|last| self.silent(&packet, &last, &first)),
            unanswered: self.unanswered(&packet, &first),
            is_fresh: last.is_some_and(|last| packet.echo.wrapping_sub(last.echo) as i32 > 0),
        }
    }

    /// Its sender echoes an acknowledgment at least since the first packet that does. Data out of order are not echoed
    /// (RFC 7323 section 4.3), so that nothing is known while a hole of the other direction may stand.
    fn unanswered(&self, packet: &Packet, first: &Packet) -> Option<Duration> {
        let in_order = self.with_data.is_none_or(|value| packet.echo.wrapping_sub(value) as i32 >= 0);
        let echoing = self.echoing.filter(|_| in_order)?;
        let ticks = packet.value.checked_sub(echoing.value)?;
        // How long a tick is, all that has passed tells: its sender's clock and ours.
        let theirs = packet.value.checked_sub(first.value).filter(|&ticks| ticks > 0)?;
        let ours = packet.time.saturating_since(first.time).min(LONGEST);
        let ours = u128::from(ours.as_nanos()) * u128::from(ticks) / u128::from(theirs);
        Some(Duration::from_nanos(u64::try_from(ours).unwrap_or(u64::MAX)))
    }

    fn silent(&self, packet: &Packet, last: &Packet, first: &Packet) -> Option<Duration> {
        let told = self.alone && self.newest == Some(packet.echo) && last.echo == packet.echo;
        let since =
            |earlier: &Packet| packet.value.checked_sub(earlier.value).map(|ticks| TICK * u64::from(ticks));
        // A clock with shorter ticks than there may be runs ahead of ours.
        let ours = packet.time.saturating_since(first.time);
        let is_slow = since(first).is_some_and(|theirs| theirs <= ours + ours / 8 + TICK * 2);
        since(last).filter(|_| told && is_slow)
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
        assert_eq!(stamps.sent(packet(0, 100, 0)).silent, None);
        stamps.acknowledged(Some(7), true);
        assert_eq!(stamps.sent(packet(50, 150, 7)).silent, None, "the first that echoes it may answer it");
        // It waited in a queue for 200 ms.
        assert_eq!(stamps.sent(packet(600, 500, 7)).silent, Some(Duration::from_millis(350)));
        stamps.acknowledged(Some(8), true);
        assert_eq!(
            stamps.sent(packet(700, 650, 7)).silent,
            None,
            "what passed here last may have come to it or not"
        );
        stamps.acknowledged(Some(8), true);
        assert_eq!(stamps.sent(packet(800, 750, 8)).silent, None);
        assert_eq!(stamps.sent(packet(900, 850, 8)).silent, None, "either of two may be what it echoes");
    }

    #[test]
    fn the_senders_clock_tells_since_when_it_had_got_nothing_newer() {
        let mut stamps = Stamps::default();
        stamps.sent(packet(0, 0, 1));
        stamps.acknowledged(Some(7), true);
        let first = stamps.sent(packet(400, 100, 7));
        assert_eq!((first.unanswered, first.is_fresh), (Some(Duration::ZERO), true));
        // A later acknowledgment has passed here, and is not echoed. A tick takes 4 ms.
        stamps.acknowledged(Some(8), true);
        let second = stamps.sent(packet(480, 120, 7));
        assert_eq!((second.unanswered, second.is_fresh), (Some(Duration::from_millis(80)), false));
        // It may have come after data that are lost: then nothing new is echoed.
        stamps.acknowledged(Some(9), false);
        assert_eq!(stamps.sent(packet(800, 200, 7)).unanswered, None);
    }

    #[test]
    fn a_clock_that_is_faster_than_any_may_be_tells_nothing() {
        let mut stamps = Stamps::default();
        stamps.sent(packet(0, 0, 0));
        stamps.acknowledged(Some(7), true);
        stamps.sent(packet(50, 50_000, 7));
        assert_eq!(stamps.sent(packet(100, 100_000, 7)).silent, None);
    }
}
