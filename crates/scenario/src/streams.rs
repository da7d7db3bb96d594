//! Random streams by name: each impairment, each host's clock has its own, so that one more draw here
//! changes nothing there.

use std::hash::Hasher;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_units::Duration;
use siphasher::sip128::{Hasher128, SipHasher13};

/// The streams of one run.
#[derive(Clone, Copy, Debug)]
pub struct Streams {
    key: (u64, u64),
}

impl Streams {
    /// Streams of the run that `run_key` names (the levels of its factors and its replication) in a study
    /// with `seed`. Neither the number nor the order of the other runs matters.
    pub fn new(seed: u64, run_key: &str) -> Self {
        let mut hasher = SipHasher13::new_with_keys(0x7265_786d_6974, seed);
        hasher.write(run_key.as_bytes());
        let key = hasher.finish128();
        Self { key: (key.h1, key.h2) }
    }

    /// The stream called `name`, for instance `path.down.loss`.
    pub fn get(&self, name: &str) -> Xoshiro256PlusPlus {
        self.get_of([name])
    }

    /// The stream whose name is these parts, one after another.
    pub(crate) fn get_of<const N: usize>(&self, parts: [&str; N]) -> Xoshiro256PlusPlus {
        let mut hasher = SipHasher13::new_with_keys(self.key.0, self.key.1);
        parts.iter().for_each(|part| hasher.write(part.as_bytes()));
        let seed = hasher.finish128();
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&seed.h1.to_le_bytes());
        bytes[8..16].copy_from_slice(&seed.h2.to_le_bytes());
        bytes[16..24].copy_from_slice(&self.key.0.to_le_bytes());
        bytes[24..].copy_from_slice(&(!self.key.1).to_le_bytes());
        Xoshiro256PlusPlus::from_seed(bytes)
    }

    /// A number from the stream called `name`.
    pub fn number(&self, name: &str) -> u64 {
        self.get(name).next_u64()
    }

    /// A phase below `tick`, evenly distributed.
    pub fn phase(&self, name: &str, tick: Duration) -> Duration {
        self.phase_of([name], tick)
    }

    /// The same from the stream whose name is these parts.
    pub(crate) fn phase_of<const N: usize>(&self, parts: [&str; N], tick: Duration) -> Duration {
        rexmit_stack::phase(self.get_of(parts).next_u64(), tick)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_differ_by_seed_run_and_name_and_never_by_anything_else() {
        let draw = |seed, run, name| Streams::new(seed, run).number(name);
        assert_eq!(draw(1, "a", "x"), draw(1, "a", "x"));
        assert_ne!(draw(1, "a", "x"), draw(2, "a", "x"));
        assert_ne!(draw(1, "a", "x"), draw(1, "b", "x"));
        assert_ne!(draw(1, "a", "x"), draw(1, "a", "y"));
    }

    #[test]
    fn a_name_in_parts_is_the_same_name() {
        let streams = Streams::new(1, "a");
        let draw = |mut stream: Xoshiro256PlusPlus| stream.next_u64();
        let whole = draw(streams.get("hosts.server.tick"));
        assert_eq!(draw(streams.get_of(["hosts.", "server", ".tick"])), whole);
        assert_eq!(draw(streams.get_of(["", "hosts.server", ".", "tick"])), whole);
        assert_ne!(draw(streams.get_of(["hosts.", "server"])), whole);
    }

    #[test]
    fn a_phase_lies_below_its_tick() {
        for run in 0..100 {
            let phase = Streams::new(run, "").phase("hosts.server.tick", Duration::from_millis(1));
            assert!(phase < Duration::from_millis(1));
        }
    }

    const PINNED: u64 = 15_868_361_059_140_580_573;

    #[test]
    fn the_streams_of_published_results_stay_what_they_are() {
        // A change here changes every result that anybody has published with a seed.
        assert_eq!(Streams::new(1, "").number("path.down.loss"), PINNED);
    }
}
