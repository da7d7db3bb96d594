//! PIE (RFC 8033): drops on arrival with a probability that a controller sets by the delay and its trend.
//!
//! The delay is that of the packet that left last, from its timestamps (section 4.2, the second way); nothing waits: 0.
//! Not modelled: the estimate of the departure rate (section 5.2), the switching off of PIE (section 5.3).

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Duration, Instant};

use crate::carried::Carried;
use crate::discipline::Room;
use crate::random::unit;
use crate::spec::{Algorithm, Pie};
use crate::verdict::Fate;
use crate::waiting::{Dropped, Fifo, Waiting};

/// One queue under PIE.
pub(crate) struct PieQueue<P> {
    pub queue: Fifo<P>,
    config: Pie,
    stream: Xoshiro256PlusPlus,
    controller: Controller,
    next_update: Instant,
}

/// What decides.
#[derive(Clone, Debug, Default)]
struct Controller {
    probability: f64,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
    burst_allowance: Duration,
    delay: Duration,
    delay_before: Duration,
}

impl<P: Carried> PieQueue<P> {
    pub fn new(config: Pie, stream: Xoshiro256PlusPlus) -> Self {
        let controller = Controller { burst_allowance: config.burst, ..Controller::default() };
        let next_update = Instant::ZERO + config.update;
        Self { queue: Fifo::default(), config, stream, controller, next_update }
    }

    /// Takes a packet or not (section 4.1).
    pub fn enqueue(&mut self, now: Instant, mut packet: Waiting<P>, room: &Room, dropped: &mut Dropped<P>) {
        self.update(now);
        // Drawn for each packet that comes.
        let draw = unit(self.stream.next_u64());
        let bytes = self.queue.bytes() + u64::from(packet.bytes);
        let (config, controller) = (&self.config, &mut self.controller);
        if !room.holds(self.queue.len() + 1, bytes) {
            controller.accumulated = 0.0;
            dropped.push((packet, Fate::QueueFull { limit: room.limit }));
            return;
        }
        if controller.burst_allowance.is_zero() && controller.drops_early(config, self.queue.bytes(), draw) {
            controller.accumulated = 0.0;
            let mild = controller.probability <= config.ecn_threshold.as_f64();
            if !(config.ecn && mild && packet.packet.mark()) {
                dropped.push((packet, Fate::DroppedOnArrival { by: Algorithm::Pie }));
                return;
            }
            packet.marked = true;
        } else if controller.is_calm(config) {
            controller.burst_allowance = config.burst;
        }
        self.queue.push(packet);
    }

    /// The next packet to send.
    pub fn dequeue(&mut self, now: Instant) -> Option<Waiting<P>> {
        self.update(now);
        let packet = self.queue.pop();
        self.controller.delay = match &packet {
            Some(packet) if self.queue.len() > 0 => packet.sojourn(now),
            _ => Duration::ZERO,
        };
        packet
    }

    /// Makes up for the updates since the last call: between calls nothing changes that they depend on.
    fn update(&mut self, now: Instant) {
        while self.next_update <= now {
            self.controller.update(&self.config);
            let settled = self.controller.is_settled();
            let skipped =
                if settled { (now - self.next_update).as_nanos() / self.config.update.as_nanos() } else { 0 };
            self.next_update += self.config.update * (skipped + 1);
            if self.next_update == Instant::FAR_FUTURE {
                return;
            }
        }
    }
}

impl Controller {
    /// Whether a packet that finds this many bytes is dropped (sections 4.1 and 5.4).
    fn drops_early(&mut self, config: &Pie, bytes: u64, draw: f64) -> bool {
        let calm = self.delay_before < config.target / 2 && self.probability < 0.2;
        if calm || bytes <= 2 * config.mean_packet.as_u64() {
            return false;
        }
        if config.derandomise {
            if self.probability == 0.0 {
                self.accumulated = 0.0;
            }
            self.accumulated += self.probability;
            if self.accumulated < 0.85 {
                return false;
            }
            if self.accumulated >= 8.5 {
                return true;
            }
        }
        draw < self.probability
    }

    /// No congestion (section 4.4).
    fn is_calm(&self, config: &Pie) -> bool {
        let half = config.target / 2;
        self.probability == 0.0 && self.delay < half && self.delay_before < half
    }

    /// True where further updates change nothing.
    fn is_settled(&self) -> bool {
        let idle = self.delay.is_zero() && self.delay_before.is_zero();
        idle && self.probability == 0.0 && self.burst_allowance.is_zero()
    }

    /// The periodic update (sections 4.2 to 4.4 and 5.5).
    fn update(&mut self, config: &Pie) {
        let (delay, before) = (self.delay.as_secs_f64(), self.delay_before.as_secs_f64());
        let mut change =
            config.alpha * (delay - config.target.as_secs_f64()) + config.beta * (delay - before);
        // The smaller the probability, the smaller the steps.
        for (below, divisor) in
            [(0.000_001, 2048.0), (0.000_01, 512.0), (0.000_1, 128.0), (0.001, 32.0), (0.01, 8.0), (0.1, 2.0)]
        {
            if self.probability < below {
                change /= divisor;
                break;
            }
        }
        if self.probability >= 0.1 {
            // No jump (section 5.5).
            change = change.min(0.02);
        }
        self.probability += change;
        if self.delay.is_zero() && self.delay_before.is_zero() {
            self.probability *= 0.98;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.delay_before = self.delay;
        self.burst_allowance = self.burst_allowance.saturating_sub(config.update);
    }
}

#[cfg(test)]
mod tests;
