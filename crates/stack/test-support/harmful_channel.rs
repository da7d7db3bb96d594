//! A channel that loses, duplicates and delays packets at random, for properties of every transport's model: the tests of
//! `tcp` and `sctp` include this file.

use proptest::prelude::*;
use rexmit_network::HostId;
use rexmit_units::{Duration, Instant};

/// What the channel does to packets. A value, so that proptest can shrink it.
#[derive(Clone, Debug)]
pub struct Harm {
    pub seed: u64,
    /// Percent of packets.
    pub loss: u64,
    /// Percent of packets.
    pub duplicate: u64,
    /// Percent of packets that take up to ten times as long.
    pub reorder: u64,
    pub delay_ms: u64,
    /// Losses end after this many packets of a direction, so that each run ends.
    pub harmful: u64,
}

/// Any harm.
pub fn harm() -> impl Strategy<Value = Harm> {
    (any::<u64>(), 0u64..30, 0u64..15, 0u64..20, 1u64..80, 0u64..300).prop_map(
        |(seed, loss, duplicate, reorder, delay_ms, harmful)| Harm {
            seed,
            loss,
            duplicate,
            reorder,
            delay_ms,
            harmful,
        },
    )
}

/// When the copies of a packet `P` arrive, counted from now: a function of the present, the sending host, the packet's
/// position in its direction, and the packet.
type Channel<P> = Box<dyn FnMut(Instant, HostId, u64, &P) -> Vec<Duration>>;

/// The channel that does this harm.
pub fn channel<P>(harm: &Harm) -> Channel<P> {
    let harm = harm.clone();
    let mut draws = Draws(harm.seed);
    Box::new(move |_, _, position, _| {
        let base = Duration::from_millis(harm.delay_ms);
        if position > harm.harmful {
            return vec![base];
        }
        if draws.chance(harm.loss) {
            return Vec::new();
        }
        let mut copies = vec![base];
        if draws.chance(harm.duplicate) {
            copies.push(base + Duration::from_micros(draws.next() % 50_000));
        }
        if draws.chance(harm.reorder) {
            copies[0] = base + Duration::from_micros(draws.next() % (harm.delay_ms * 10_000));
        }
        copies
    })
}

/// SplitMix64, a generator of our own.
struct Draws(u64);

impl Draws {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In percent.
    fn chance(&mut self, percent: u64) -> bool {
        self.next() % 100 < percent
    }
}
