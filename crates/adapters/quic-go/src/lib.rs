//! quic-go (<https://quic-go.net>), a QUIC in Go, in virtual time.
//!
//! It runs as a program of its own: `program/`, built by `rexmit stack build quic-go` from the release that its `go.mod` names, in a
//! bubble of Go's `testing/synctest` whose clock is the run's and whose random bytes come from its seed. Scenarios choose it as the
//! code `quic-go`: [`STACK`] is its entry in the registry.
//!
//! Its streams are unidirectional, one for each number of the application's; writes wait one behind the other until quic-go has taken
//! them, as those of a goroutine do; a datagram waits so for quic-go's queue, which holds 32. The certificate is that of all rexmit's QUIC servers.
//!
//! How it behaves, as its packets show:
//!
//! - Its congestion control is NewReno with a pacer; it has no other to choose.
//! - It does not look for a larger MTU here, since that needs a socket that forbids fragments: datagrams have `packet_size`, at most
//!   the interface's.
//! - Its ClientHello offers X25519MLKEM768 and needs two datagrams.

mod config;

use std::sync::OnceLock;

use rexmit_program::{GO_BUBBLE, GO_FAR_SIDE, Packaged, Source, Tool};
use rexmit_stack::{About, Determinism};

pub use config::QuicGoConfig;

/// What its program is built from.
pub static SOURCE: Source = Source {
    name: "quic-go",
    tool: Tool::Go,
    folder: "crates/adapters/quic-go/program",
    files: &[
        GO_FAR_SIDE,
        GO_BUBBLE,
        &[
            ("crates/adapters/quic-go/program/go.mod", include_str!("../program/go.mod")),
            ("crates/adapters/quic-go/program/go.sum", include_str!("../program/go.sum")),
            ("crates/adapters/quic-go/program/datagrams.go", include_str!("../program/datagrams.go")),
            ("crates/adapters/quic-go/program/end.go", include_str!("../program/end.go")),
            ("crates/adapters/quic-go/program/log.go", include_str!("../program/log.go")),
            ("crates/adapters/quic-go/program/main.go", include_str!("../program/main.go")),
            ("crates/adapters/quic-go/program/secure.go", include_str!("../program/secure.go")),
            ("crates/adapters/quic-go/program/streams.go", include_str!("../program/streams.go")),
            ("crates/adapters/quic-go/program/wire.go", include_str!("../program/wire.go")),
        ],
    ],
    missing: "its program is not built; `rexmit stack build quic-go` does it, with Go 1.26",
    place: OnceLock::new(),
};

/// quic-go as a stack that hosts can run.
pub static STACK: Packaged<QuicGoConfig> = Packaged {
    about: About::third_party::<QuicGoConfig>(
        "quic-go",
        "quic-go, a QUIC in Go",
        "quic-go 0.65.0",
        &["quic"],
        Determinism::SizesAndTimes,
    ),
    source: &SOURCE,
    least_mtu: 1_248,
    translate: config::translate,
    check: config::check,
    told: config::told,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_what_the_program_is_built_from() {
        let release = STACK.about.version.unwrap().strip_prefix("quic-go ").unwrap();
        assert!(include_str!("../program/go.mod").contains(&format!("quic-go/quic-go v{release}\n")));
    }
}
