//! netstack, the TCP of gVisor (<https://gvisor.dev>), in virtual time.
//!
//! It is written in Go, so that it runs as a program of its own: `program/`, built by `rexmit stack build gvisor` from the
//! release that its `go.mod` names. Each end of a connection is a netstack with its own clock, which is the run's; its goroutines
//! come to rest before a call is answered. Scenarios choose it as the code `gvisor`: [`STACK`] is its entry in the registry.
//!
//! How it behaves, as its packets show:
//!
//! - Losses are found by RACK with tail loss probes (RFC 8985), as gVisor itself has it.
//! - Its clock moves by a nanosecond whenever it is read: RACK takes for lost what was sent at the same time as the last packet
//!   that has arrived, and after it.
//!
//! A state has cwnd, ssthresh, srtt, rttvar and rto as `TCP_INFO` gives them; bytes in flight are not told.

mod config;

use std::sync::OnceLock;

use rexmit_program::{GO_FAR_SIDE, Packaged, Source, Tool};
use rexmit_stack::{About, Determinism};

pub use config::{Congestion, GvisorConfig};

/// What its program is built from.
pub static SOURCE: Source = Source {
    name: "gvisor",
    tool: Tool::Go,
    folder: "crates/adapters/gvisor/program",
    files: &[
        GO_FAR_SIDE,
        &[
            ("go/netclock/go.mod", include_str!("../bundled/go/netclock/go.mod.txt")),
            ("go/netclock/clock.go", include_str!("../bundled/go/netclock/clock.go.txt")),
            ("crates/adapters/gvisor/program/go.mod", include_str!("../program/go.mod")),
            ("crates/adapters/gvisor/program/go.sum", include_str!("../program/go.sum")),
            ("crates/adapters/gvisor/program/end.go", include_str!("../program/end.go")),
            ("crates/adapters/gvisor/program/main.go", include_str!("../program/main.go")),
            ("crates/adapters/gvisor/program/netstack.go", include_str!("../program/netstack.go")),
            ("crates/adapters/gvisor/program/tell.go", include_str!("../program/tell.go")),
        ],
    ],
    missing: "its program is not built; `rexmit stack build gvisor` does it, with Go 1.26",
    place: OnceLock::new(),
};

/// netstack as a stack that hosts can run.
pub static STACK: Packaged<GvisorConfig> = Packaged {
    about: About::third_party::<GvisorConfig>(
        "gvisor",
        "netstack, the TCP of gVisor",
        "gVisor 20260905",
        &["tcp"],
        Determinism::Bytes,
    ),
    source: &SOURCE,
    least_mtu: 128,
    translate: config::translate,
    check: config::check,
    told: config::told,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_what_the_program_is_built_from() {
        let wanted = include_str!("../program/go.mod");
        let date = STACK.about.version.unwrap().strip_prefix("gVisor ").unwrap();
        assert!(wanted.contains(&format!("gvisor.dev/gvisor v0.0.0-{date}")), "{wanted}");
    }
}
