//! Sizes by their cumulative distribution, as published ones are given.

use std::sync::Arc;

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::{Bytes, Probability};

use super::flow::{MOST_SIZE, SIZE};
use super::table::{self, Column};
use crate::random::unit;

const COLUMNS: [Column; 2] =
    [SIZE, Column { name: "probability", units: &["%"], packets: false, example: "probability" }];

/// A distribution of sizes: points, with straight lines between them. Clones share the points.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cdf {
    /// Sizes and probabilities that do not go back; the last probability is 1.
    points: Arc<[Point]>,
    mean: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Point {
    size: u64,
    /// That a size is at most this one.
    probability: f64,
}

impl Cdf {
    /// Reads a table of size and probability.
    ///
    /// # Errors
    /// The line that is wrong, and what to write there.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut points = Vec::new();
        // Twice the mean, in 10^-12 bytes: below 2^82, since sizes are below 2^41.
        let mut sum = 0_u128;
        let mut last: Option<(Bytes, Probability)> = None;
        table::read(text, &COLUMNS, |[size, probability]| {
            let size: Bytes = size.parse().map_err(|e| format!("size: {e}"))?;
            let probability: Probability = probability.parse().map_err(|e| format!("probability: {e}"))?;
            if size > MOST_SIZE {
                return Err(format!("size: {size} is more than a flow carries: write at most {MOST_SIZE}"));
            }
            let (before, up_to) = last.unwrap_or((size, Probability::ZERO));
            if size < before {
                return Err(format!(
                    "size: {size}, after {before} in the row before: sizes must not go back: put the rows in order"
                ));
            }
            if probability < up_to {
                return Err(format!(
                    "probability: {}, after {} in the row before: each is that of its size or less, and must not \
                     decrease",
                    probability.as_f64(),
                    up_to.as_f64()
                ));
            }
            let share = u128::from(probability.trillionths() - up_to.trillionths());
            sum += share * u128::from(size.as_u64() + before.as_u64());
            points.push(Point { size: size.as_u64(), probability: probability.as_f64() });
            last = Some((size, probability));
            Ok(())
        })?;
        let (most, whole) = last.unwrap_or_default();
        if whole != Probability::ONE {
            return Err(format!(
                "the last probability is {}: write 1 there, which says that no flow is larger",
                whole.as_f64()
            ));
        }
        if most == Bytes::ZERO {
            return Err("every size is 0: write one of at least 1 byte".to_owned());
        }
        let mean = sum as f64 / (2 * Probability::ONE.trillionths()) as f64;
        Ok(Self { points: points.into(), mean })
    }

    /// Of the lines between the points, in bytes.
    pub fn mean(&self) -> f64 {
        self.mean
    }

    /// Draws a size, to the nearest byte.
    pub fn draw(&self, stream: &mut Xoshiro256PlusPlus) -> u64 {
        let drawn = unit(stream);
        // The last is at 1, above every draw.
        let above = self.points.partition_point(|point| point.probability <= drawn);
        let high = self.points[above];
        // Below the first point lies the smallest size, as often as that point says.
        let Some(low) = above.checked_sub(1).map(|below| self.points[below]) else { return high.size };
        let share = (drawn - low.probability) / (high.probability - low.probability);
        low.size + libm::round(share * (high.size - low.size) as f64) as u64
    }
}
