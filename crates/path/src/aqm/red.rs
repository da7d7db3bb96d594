//! Random early detection (Floyd and Jacobson 1993), gentle (Floyd 2000).

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Instant, LineRate, QueueLimit};

use crate::carried::Carried;
use crate::discipline::Room;
use crate::random::unit;
use crate::spec::{Algorithm, Red};
use crate::verdict::Fate;
use crate::waiting::{Dropped, Fifo, Waiting};

/// One queue under RED.
pub(crate) struct RedQueue<P> {
    pub queue: Fifo<P>,
    config: Red,
    stream: Xoshiro256PlusPlus,
    average: Average,
    /// Packets since the last one that was dropped or marked; -1 below the lower threshold.
    count: i64,
    /// Bytes of the largest packet seen.
    max_packet: u64,
}

/// The average queue, in the unit of the thresholds.
#[derive(Clone, Copy, Debug, Default)]
struct Average(f64);

/// What is done about a packet.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Act {
    Nothing,
    /// With this probability, by a mark where that is possible.
    Perhaps(f64),
    /// With this probability, by a drop.
    PerhapsDrop(f64),
    Drop,
}

impl<P: Carried> RedQueue<P> {
    pub fn new(config: Red, stream: Xoshiro256PlusPlus) -> Self {
        let average = Average::default();
        Self { queue: Fifo::default(), config, stream, average, count: -1, max_packet: 0 }
    }

    /// Takes a packet or not.
    pub fn enqueue(&mut self, now: Instant, mut packet: Waiting<P>, room: &Room, dropped: &mut Dropped<P>) {
        // Drawn for each packet that comes.
        let draw = unit(self.stream.next_u64());
        self.max_packet = self.max_packet.max(packet.bytes.into());
        self.measure(now, room.rate, room.idle);
        let act = self.act(packet.bytes.into());
        let (hit, mild) = match act {
            Act::Nothing => (false, false),
            Act::Perhaps(probability) => (draw < probability, true),
            Act::PerhapsDrop(probability) => (draw < probability, false),
            Act::Drop => (true, false),
        };
        if hit {
            self.count = 0;
            if !(mild && self.config.ecn && packet.packet.mark()) {
                dropped.push((packet, Fate::DroppedOnArrival { by: Algorithm::Red }));
                return;
            }
            packet.marked = true;
        }
        if room.holds(self.queue.len() + 1, self.queue.bytes() + u64::from(packet.bytes)) {
            self.queue.push(packet);
        } else {
            dropped.push((packet, Fate::QueueFull { limit: room.limit }));
        }
    }

    /// The average as a packet comes (section 4).
    fn measure(&mut self, now: Instant, rate: Option<LineRate>, idle: Option<Instant>) {
        let weight = self.config.weight.as_f64();
        match idle {
            Some(since) => {
                let elapsed = now.saturating_since(since).as_secs_f64();
                let bits = self.config.idle_packet.as_u64() as f64 * 8.0;
                let packets =
                    rate.map_or(f64::INFINITY, |rate| elapsed * rate.bits_per_second() as f64 / bits);
                self.average.decay(weight, if elapsed > 0.0 { packets } else { 0.0 });
            }
            None => self.average.add(weight, self.measured()),
        }
    }

    /// The queue in the unit of the thresholds.
    fn measured(&self) -> f64 {
        match self.config.min {
            QueueLimit::Packets(_) => self.queue.len() as f64,
            QueueLimit::Bytes(_) => self.queue.bytes() as f64,
        }
    }

    /// What is to be done about a packet of this many bytes.
    fn act(&mut self, bytes: u64) -> Act {
        let number = |limit| match limit {
            QueueLimit::Packets(n) | QueueLimit::Bytes(n) => n as f64,
        };
        let (min, max) = (number(self.config.min), number(self.config.max));
        let (top, average) = (self.config.probability.as_f64(), self.average.0);
        if average < min {
            self.count = -1;
            return Act::Nothing;
        }
        self.count += 1;
        let gentle = self.config.gentle && average < 2.0 * max;
        if average < max {
            return Act::Perhaps(self.spread(top * (average - min) / (max - min), bytes));
        }
        if gentle {
            return Act::PerhapsDrop(self.spread(top + (1.0 - top) * (average - max) / max, bytes));
        }
        Act::Drop
    }

    /// The probability by which drops are spread evenly (section 7, method 2); in bytes, larger packets are likelier.
    fn spread(&self, base: f64, bytes: u64) -> f64 {
        let base = match self.config.min {
            QueueLimit::Packets(_) => base,
            QueueLimit::Bytes(_) => base * bytes as f64 / self.max_packet.max(1) as f64,
        };
        let rest = 1.0 - self.count as f64 * base;
        if rest > 0.0 { base / rest } else { 1.0 }
    }
}

impl Average {
    /// A packet found this queue.
    fn add(&mut self, weight: f64, queue: f64) {
        self.0 += weight * (queue - self.0);
    }

    /// This many packets could have found an empty one.
    fn decay(&mut self, weight: f64, packets: f64) {
        if packets > 0.0 {
            // From `libm`, so that every machine computes the same bits.
            self.0 *= libm::pow(1.0 - weight, packets);
        }
    }
}

#[cfg(test)]
mod tests;
