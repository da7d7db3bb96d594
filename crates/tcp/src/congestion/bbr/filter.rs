//! The greatest of the values of a sliding window, from three of them (lib/minmax.c; Nichols's estimator).

/// A value and the round trip in which it was measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Best {
    round: u32,
    value: u32,
}

/// The best value of the window, and the best ones of what came after it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowedMax {
    best: [Best; 3],
}

impl WindowedMax {
    /// The greatest value.
    pub fn get(&self) -> u32 {
        self.best[0].value
    }

    /// Takes a value of a round trip, over a window of this many of them.
    pub fn take(&mut self, window: u32, round: u32, value: u32) {
        let new = Best { round, value };
        let age = |best: Best| round.wrapping_sub(best.round);
        let best = &mut self.best;
        if value >= best[0].value || age(best[2]) > window {
            *best = [new; 3];
            return;
        }
        if value >= best[1].value {
            (best[1], best[2]) = (new, new);
        } else if value >= best[2].value {
            best[2] = new;
        }
        // The first one may have left the window; else the others have to be of its later parts.
        if age(best[0]) > window {
            *best = [best[1], best[2], new];
            if age(best[0]) > window {
                *best = [best[1], best[2], new];
            }
        } else if best[1].round == best[0].round && age(best[0]) > window / 4 {
            (best[1], best[2]) = (new, new);
        } else if best[2].round == best[1].round && age(best[0]) > window / 2 {
            best[2] = new;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Never above the greatest of the window, never below the last value, and exact where values only fall at the
    /// window's thirds.
    #[test]
    fn it_holds_the_greatest_of_ten_rounds() {
        let mut random = 7_u64;
        let mut filter = WindowedMax::default();
        let mut all: Vec<u32> = Vec::new();
        for round in 0..2_000 {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = (random >> 40) as u32 % 1_000;
            all.push(value);
            filter.take(10, round, value);
            let recent = &all[all.len().saturating_sub(11)..];
            assert!(filter.get() >= value);
            assert!(recent.contains(&filter.get()), "round {round}: {} of {recent:?}", filter.get());
        }
    }

    #[test]
    fn an_old_value_is_forgotten() {
        let mut filter = WindowedMax::default();
        filter.take(10, 0, 100);
        for round in 1..=10 {
            filter.take(10, round, 50);
            assert_eq!(filter.get(), 100);
        }
        filter.take(10, 11, 50);
        assert_eq!(filter.get(), 50);
    }
}
