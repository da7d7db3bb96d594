//! Random processes, each on a stream of its own, each with a fixed number of draws a packet.

use rand_core::RngCore;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::Probability;

use crate::spec::{Jitter, LossModel, Spread};

/// Loss as it unfolds.
pub(crate) struct LossProcess {
    stream: Xoshiro256PlusPlus,
    model: Chances,
}

enum Chances {
    Independent(Chance),
    GilbertElliott { to_bad: Chance, to_good: Chance, bad_loss: Chance, good_loss: Chance, bad: bool },
}

/// An event of a given probability.
#[derive(Clone, Copy)]
enum Chance {
    /// Happens where a draw is below this.
    Below(u64),
    Always,
}

impl Chance {
    fn new(p: Probability) -> Self {
        let one = u128::from(Probability::ONE.trillionths());
        match u64::try_from((u128::from(p.trillionths()) << 64) / one) {
            Ok(threshold) => Self::Below(threshold),
            Err(_) => Self::Always,
        }
    }

    /// Draws once, whatever the probability.
    fn happens(self, stream: &mut Xoshiro256PlusPlus) -> bool {
        let draw = stream.next_u64();
        match self {
            Self::Below(threshold) => draw < threshold,
            Self::Always => true,
        }
    }
}

impl LossProcess {
    pub fn new(model: &LossModel, stream: Xoshiro256PlusPlus) -> Self {
        let model = match model {
            LossModel::Independent(p) => Chances::Independent(Chance::new(*p)),
            LossModel::GilbertElliott(ge) => Chances::GilbertElliott {
                to_bad: Chance::new(ge.p),
                to_good: Chance::new(ge.leave_bad()),
                bad_loss: Chance::new(ge.bad_loss),
                good_loss: Chance::new(ge.good_loss),
                bad: false,
            },
        };
        Self { stream, model }
    }

    /// True if the next packet is lost.
    pub fn next_is_lost(&mut self) -> bool {
        let stream = &mut self.stream;
        match &mut self.model {
            Chances::Independent(chance) => chance.happens(stream),
            Chances::GilbertElliott { to_bad, to_good, bad_loss, good_loss, bad } => {
                // As netem: the change first drawn, the loss by the state before the change.
                let (change, loss) = if *bad { (*to_good, *bad_loss) } else { (*to_bad, *good_loss) };
                let changes = change.happens(stream);
                let lost = loss.happens(stream);
                *bad ^= changes;
                lost
            }
        }
    }
}

/// Jitter as it unfolds.
pub(crate) struct JitterProcess {
    stream: Xoshiro256PlusPlus,
    spread: u64,
    distribution: Spread,
}

impl JitterProcess {
    pub fn new(jitter: &Jitter, stream: Xoshiro256PlusPlus) -> Self {
        // Longer than any run, and sums of it still fit.
        let spread = jitter.spread.as_nanos().min(1 << 62);
        Self { stream, spread, distribution: jitter.distribution }
    }

    /// What is added to the delay of the next packet, in ns; may be negative.
    pub fn next_nanos(&mut self) -> i64 {
        match self.distribution {
            Spread::Uniform => {
                let width = u128::from(self.spread) * 2 + 1;
                // Bias below 2^-64 of a draw times the width: none that a run could show.
                let from_left = (u128::from(self.stream.next_u64()) * width) >> 64;
                (from_left as i128 - i128::from(self.spread)) as i64
            }
            Spread::Normal => {
                let (a, b) = (self.unit(), self.unit());
                // Box and Muller; from `libm`, so that every machine computes the same bits.
                let z = libm::sqrt(-2.0 * libm::log(1.0 - a)) * libm::cos(std::f64::consts::TAU * b);
                libm::round(z * self.spread as f64) as i64
            }
        }
    }

    fn unit(&mut self) -> f64 {
        unit(self.stream.next_u64())
    }
}

/// A draw as a number from 0 up to but not 1, in steps of 2^-53.
pub(crate) fn unit(draw: u64) -> f64 {
    (draw >> 11) as f64 / (1u64 << 53) as f64
}
