//! The SCTP of Pion (<https://github.com/pion/sctp>), which Go programs use for WebRTC, in virtual time.
//!
//! It runs as a program of its own: `program/`, built by `rexmit stack build pion-sctp` from the release that its `go.mod` names,
//! in a bubble of Go's `testing/synctest` whose clock is the run's. Scenarios choose it as the code `pion-sctp`: [`STACK`] is its
//! entry in the registry.
//!
//! Pion's ends have the port 5000 and no IP header, since they send over DTLS: packets get the ports and addresses of the run, and
//! the checksum that fits. What one write says of reliability holds for its whole stream from there on, which is as Pion has it.
//!
//! How it behaves, as its packets show:
//!
//! - Losses are found by RACK with tail loss probes.
//! - A COOKIE ECHO that comes again once the application has closed gets no answer, so that an association whose COOKIE ACK was lost
//!   never begins (`handleCookieEcho` of 1.12 answers in ESTABLISHED alone; RFC 9260 section 5.2.4 D has no such limit).
//! - An end that is closed answers nothing any more: a peer whose SHUTDOWN COMPLETE was lost sends its SHUTDOWN ACK for good.
//! - Packets have at most 1,191 bytes, unless `mtu` says otherwise.
//!
//! - What it has delivered highest, by which RACK sees reordering, begins with 0 and is compared as serial numbers
//!   (`rackHighestDeliveredOrigTSN`): where the first TSN is 2^31 or more, each acknowledgment counts as reordering.
//!
//! It seeds the generator of its tags and first TSNs by the system as the program starts; in its place stands one of the run's.

mod config;

use std::sync::OnceLock;

use rexmit_program::{GO_BUBBLE, GO_FAR_SIDE, Packaged, Source, Tool};
use rexmit_stack::{About, Determinism};

pub use config::PionConfig;

/// What its program is built from.
pub static SOURCE: Source = Source {
    name: "pion-sctp",
    tool: Tool::Go,
    folder: "crates/adapters/pion-sctp/program",
    files: &[
        GO_FAR_SIDE,
        GO_BUBBLE,
        &[
            ("crates/adapters/pion-sctp/program/go.mod", include_str!("../program/go.mod")),
            ("crates/adapters/pion-sctp/program/go.sum", include_str!("../program/go.sum")),
            ("crates/adapters/pion-sctp/program/end.go", include_str!("../program/end.go")),
            ("crates/adapters/pion-sctp/program/log.go", include_str!("../program/log.go")),
            ("crates/adapters/pion-sctp/program/main.go", include_str!("../program/main.go")),
            ("crates/adapters/pion-sctp/program/random.go", include_str!("../program/random.go")),
            ("crates/adapters/pion-sctp/program/wire.go", include_str!("../program/wire.go")),
        ],
    ],
    missing: "its program is not built; `rexmit stack build pion-sctp` does it, with Go 1.26",
    place: OnceLock::new(),
};

/// Pion's SCTP as a stack that hosts can run.
pub static STACK: Packaged<PionConfig> = Packaged {
    about: About::third_party::<PionConfig>(
        "pion-sctp",
        "Pion's SCTP, which Go programs use for WebRTC",
        "pion/sctp 1.12.1",
        &["sctp"],
        Determinism::Bytes,
    ),
    source: &SOURCE,
    least_mtu: 576,
    translate: config::translate,
    check: config::check,
    told: config::told,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_version_is_what_the_program_is_built_from() {
        let release = STACK.about.version.unwrap().strip_prefix("pion/sctp ").unwrap();
        assert!(include_str!("../program/go.mod").contains(&format!("pion/sctp v{release}\n")));
    }
}
