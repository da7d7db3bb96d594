//! Round-trip times as packets show them: one packet with data is timed at a time.

use rexmit_units::Instant;
use rexmit_wire::sctp::Chunk;
use rexmit_wire::{Flags, Packet, SeqNumber, Transport};

use crate::histogram::Histogram;

/// The round-trip times of an end that sends data.
#[derive(Clone, Debug, Default)]
pub(crate) struct Timing {
    /// What acknowledges the packet that is timed, and when it left.
    timed: Option<(SeqNumber, Instant)>,
    /// What acknowledges all that was seen to be sent.
    highest: Option<SeqNumber>,
    /// Those that were found, in nanoseconds; `None` before the first.
    pub samples: Option<Box<Histogram>>,
}

impl Timing {
    /// Something was sent again: what is timed may be acknowledged by either (Karn and Partridge 1987).
    pub fn cancel(&mut self) {
        self.timed = None;
    }

    /// The end sends a packet for the first time.
    #[inline]
    pub fn sent(&mut self, now: Instant, packet: &Packet) {
        if self.timed.is_none() {
            self.timed = acknowledged_by(packet).map(|number| (number, now));
        }
    }

    /// The end sends a packet, for the first time or again.
    pub fn seen(&mut self, now: Instant, packet: &Packet) {
        let Some(number) = acknowledged_by(packet) else { return };
        if self.highest.is_some_and(|highest| number <= highest) {
            self.cancel();
        } else {
            self.highest = Some(number);
            self.sent(now, packet);
        }
    }

    /// The end receives a packet.
    #[inline]
    pub fn received(&mut self, now: Instant, packet: &Packet) {
        let Some((number, sent)) = self.timed else { return };
        if acknowledges(packet).is_some_and(|ack| ack >= number) {
            self.samples.get_or_insert_default().add((now - sent).as_nanos(), 1);
            self.timed = None;
        }
    }
}

/// The acknowledgment that a packet with data asks for: with SCTP, the cumulative TSN.
fn acknowledged_by(packet: &Packet) -> Option<SeqNumber> {
    match &packet.transport {
        Transport::Tcp(segment) if !segment.payload.is_empty() => Some(segment.seq + segment.payload.len()),
        Transport::Sctp(packet) => packet.data().last().map(|chunk| SeqNumber(chunk.tsn)),
        _ => None,
    }
}

fn acknowledges(packet: &Packet) -> Option<SeqNumber> {
    match &packet.transport {
        Transport::Tcp(segment) => segment.flags.has(Flags::ACK).then_some(segment.ack),
        Transport::Sctp(packet) => packet.chunks.iter().find_map(|chunk| match chunk {
            Chunk::Sack(sack) => Some(SeqNumber(sack.cumulative)),
            _ => None,
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_wire::{IpFields, Payload, TcpSegment};

    fn segment(seq: u32, len: u32, ack: u32) -> Packet {
        let nowhere = std::net::IpAddr::from([0, 0, 0, 0]);
        let transport = Transport::Tcp(TcpSegment {
            seq: SeqNumber(seq),
            ack: SeqNumber(ack),
            flags: Flags::ACK,
            payload: Payload::Stream { offset: 0, len },
            ..TcpSegment::default()
        });
        Packet { src: nowhere, dst: nowhere, ip: IpFields::default(), transport, damaged: false }
    }

    #[test]
    fn what_is_sent_again_is_not_timed_though_nobody_says_that_it_is() {
        let mut timing = Timing::default();
        let at = Instant::from_nanos;
        timing.seen(at(0), &segment(1, 100, 1));
        timing.received(at(40), &segment(1, 0, 101));
        timing.seen(at(50), &segment(101, 100, 1));
        timing.seen(at(90), &segment(101, 100, 1));
        timing.received(at(95), &segment(1, 0, 201));
        let samples = timing.samples.as_deref().expect("there is one");
        assert_eq!((samples.min(), samples.max()), (Some(40), Some(40)));
        timing.seen(at(100), &segment(201, 100, 1));
        timing.received(at(150), &segment(1, 0, 301));
        assert_eq!(timing.samples.and_then(|samples| samples.max()), Some(50));
    }
}
