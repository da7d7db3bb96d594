//! quiche (<https://github.com/cloudflare/quiche>), Cloudflare's QUIC, in virtual time.
//!
//! It runs as a program of its own: `program/`, built by `rexmit stack build quiche` from the release that its manifest names,
//! with BoringSSL. The program's clock is the run's, and what it draws from the system comes from the run's seed. Scenarios
//! choose it as the code `quiche`: [`STACK`] is its entry in the registry.
//!
//! Its streams are unidirectional, one for each number of the application's. The certificate is that of all rexmit's QUIC servers;
//! BoringSSL does not offer its kind of signature (Ed25519) unless told to, so the program tells it to.
//!
//! How it behaves, as its packets show:
//!
//! - Datagrams leave when quiche says, which paces BBR alone: Reno and CUBIC send what the window allows at once.
//! - Datagrams have 1,200 bytes, and no larger MTU is looked for, unless `packet_size` and `pmtud` say so.
//! - Its ClientHello offers X25519MLKEM768 and needs two datagrams.

mod config;

use std::sync::OnceLock;

use rexmit_program::{Packaged, RUST_FAR_SIDE, Source, Tool};
use rexmit_stack::{About, Determinism};

pub use config::{QuicheConfig, QuicheCongestion};

/// What its program is built from. Cargo publishes no package inside another, so links of other names lead to its files.
pub static SOURCE: Source = Source {
    name: "quiche",
    tool: Tool::Cargo,
    folder: "crates/adapters/quiche/program",
    files: &[
        RUST_FAR_SIDE,
        &[
            ("crates/adapters/quiche/program/Cargo.toml", include_str!("../bundled/program/Cargo.toml.txt")),
            ("crates/adapters/quiche/program/Cargo.lock", include_str!("../bundled/program/Cargo.lock.txt")),
            ("crates/adapters/quiche/program/build.rs", include_str!("../bundled/program/build.rs.txt")),
            (
                "crates/adapters/quiche/program/.cargo/config.toml",
                include_str!("../bundled/program/cargo/config.toml.txt"),
            ),
            (
                "crates/adapters/quiche/program/bindgen/Cargo.toml",
                include_str!("../bundled/program/bindgen/Cargo.toml.txt"),
            ),
            (
                "crates/adapters/quiche/program/bindgen/src/lib.rs",
                include_str!("../bundled/program/bindgen/src/lib.rs.txt"),
            ),
            ("crates/adapters/quiche/program/src/end.rs", include_str!("../bundled/program/src/end.rs.txt")),
            (
                "crates/adapters/quiche/program/src/host.rs",
                include_str!("../bundled/program/src/host.rs.txt"),
            ),
            ("crates/adapters/quiche/program/src/led.rs", include_str!("../bundled/program/src/led.rs.txt")),
            (
                "crates/adapters/quiche/program/src/main.rs",
                include_str!("../bundled/program/src/main.rs.txt"),
            ),
            (
                "crates/adapters/quiche/program/src/sealed.rs",
                include_str!("../bundled/program/src/sealed.rs.txt"),
            ),
        ],
    ],
    missing: "its program is not built; `rexmit stack build quiche` does it, with Rust, CMake, a C++ compiler and git",
    place: OnceLock::new(),
};

/// quiche as a stack that hosts can run.
pub static STACK: Packaged<QuicheConfig> = Packaged {
    about: About::third_party::<QuicheConfig>(
        "quiche",
        "quiche, Cloudflare's QUIC",
        "quiche 0.30.0",
        &["quic"],
        Determinism::Bytes,
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
        let release = STACK.about.version.unwrap().strip_prefix("quiche ").unwrap();
        assert!(
            include_str!("../bundled/program/Cargo.toml.txt").contains(&format!("version = \"={release}\""))
        );
    }
}
