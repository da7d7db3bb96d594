//! Every fuzz target by its name, with what an input may cost.
//!
//! A target is a plain function in `bodies/`: it takes bytes and panics where something does not hold. [`Target::run`]
//! also holds it to its bounds of memory. libFuzzer calls that (`main.rs`), and so do the tests, with every input that
//! once failed (`regressions/`).

mod meter;

#[path = "../bodies/analysis.rs"]
mod analysis;
#[path = "../bodies/association.rs"]
mod association;
#[path = "../bodies/capture.rs"]
mod capture;
#[path = "../bodies/filter.rs"]
mod filter;
#[path = "../bodies/fragments.rs"]
mod fragments;
#[path = "../bodies/frames.rs"]
mod frames;
#[path = "../bodies/offload.rs"]
mod offload;
#[path = "../bodies/packet.rs"]
mod packet;
#[path = "../bodies/pairs.rs"]
mod pairs;
#[path = "../bodies/pattern.rs"]
mod pattern;
#[path = "../bodies/profile.rs"]
mod profile;
#[path = "../bodies/scenario.rs"]
mod scenario;
#[path = "../bodies/sctp.rs"]
mod sctp;
#[path = "../bodies/trace.rs"]
mod trace;
#[path = "../bodies/units.rs"]
mod units;

pub use meter::{Spent, measured};

/// A function of bytes that must hold, and what it may cost.
#[derive(Debug)]
pub struct Target {
    /// Its name, and that of its folders in `corpus/` and `regressions/`.
    pub name: &'static str,
    body: fn(&[u8]),
    /// Bytes held at once.
    peak: Bound,
    /// Bytes allocated in all.
    total: Bound,
}

/// At most `fixed + each * n` for an input of `n` bytes.
#[derive(Clone, Copy, Debug)]
struct Bound {
    fixed: u64,
    each: u64,
}

/// Targets of headers, frames and short texts: microseconds an input. The binary `small`.
pub const SMALL: &[Target] = &[
    with("units", units::run, bound(KIB, 8), bound(16 * KIB, 64)),
    with("packet", packet::run, bound(4 * KIB, 16), bound(16 * KIB, 64)),
    with("sctp", sctp::run, bound(4 * KIB, 64), bound(16 * KIB, 256)),
    with("filter", filter::run, bound(16 * KIB, 64), bound(64 * KIB, 512)),
    with("frames", frames::run, bound(64 * KIB, 256), bound(128 * KIB, 1024)),
    with("fragments", fragments::run, bound(256 * KIB, 512), bound(256 * KIB, 4096)),
    with("offload", offload::run, bound(512 * KIB, 512), bound(2 * MIB, 2048)),
];

/// The others. The binary `large`.
pub const LARGE: &[Target] = &[
    with("pattern", pattern::run, bound(4 * MIB, 512), bound(16 * MIB, 2048)),
    with("trace", trace::run, bound(2 * MIB, 512), bound(16 * MIB, 4096)),
    with("association", association::run, bound(MIB, 1024), bound(MIB, 16 * KIB)),
    // Reading alone stays within 64 MB + 100 n (docs/reference/limits.md); the body keeps up to 4 MiB, a few times.
    with("capture", capture::run, bound(96 * MIB, 100), bound(512 * MIB, 1024)),
    with("profile", profile::run, bound(MIB, 256), bound(4 * MIB, 2048)),
    with("scenario", scenario::run, bound(2 * MIB, 512), bound(8 * MIB, 4096)),
    with("analysis", analysis::run, bound(64 * MIB, 100), bound(256 * MIB, 4096)),
    with("pairs", pairs::run, bound(64 * MIB, 2048), bound(256 * MIB, 16 * KIB)),
];

/// Of these targets the one that the environment variable `REXMIT_FUZZ` names; ends the process where none is.
pub fn chosen(targets: &'static [Target]) -> &'static Target {
    let name = std::env::var("REXMIT_FUZZ").unwrap_or_default();
    targets.iter().find(|target| target.name == name).unwrap_or_else(|| {
        let known: Vec<&str> = targets.iter().map(|target| target.name).collect();
        eprintln!("REXMIT_FUZZ={name} is not a target of this binary; known: {}", known.join(" "));
        std::process::exit(2)
    })
}

impl Target {
    /// Runs one input.
    ///
    /// # Panics
    /// Where the target does not hold, or takes more memory than its bounds allow.
    pub fn run(&self, data: &[u8]) {
        let spent = self.measure(data);
        let Self { name, peak, total, .. } = self;
        let n = data.len() as u64;
        assert!(
            spent.peak <= peak.of(n),
            "{name}: {n} bytes held {} at once, allowed {}",
            spent.peak,
            peak.of(n)
        );
        assert!(
            spent.total <= total.of(n),
            "{name}: {n} bytes took {} in all, allowed {}",
            spent.total,
            total.of(n)
        );
    }

    /// Runs one input and says what it cost.
    ///
    /// # Panics
    /// Where the target does not hold.
    pub fn measure(&self, data: &[u8]) -> Spent {
        measured(|| (self.body)(data)).1
    }
}

impl Bound {
    fn of(self, n: u64) -> u64 {
        self.fixed + self.each * n
    }
}

const fn with(name: &'static str, body: fn(&[u8]), peak: Bound, total: Bound) -> Target {
    Target { name, body, peak, total }
}

const fn bound(fixed: u64, each: u64) -> Bound {
    Bound { fixed, each }
}

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
