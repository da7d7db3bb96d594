//! Makes the library that leads a program's clock (`preload/lead.rs`) of one file, to stand in this crate as bytes.
//!
//! It goes along wherever this crate goes: nothing is to be installed or found, and its version is always this one's. Cargo
//! has no way yet to build a library for a crate's own use, and to build it whole needs one call of the compiler.

use std::path::PathBuf;
use std::process::Command;

const SOURCE: &str = "preload/lead.rs";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SOURCE}");
    println!("cargo::rustc-check-cfg=cfg(can_lead)");
    let of = |name: &str| std::env::var(name).unwrap_or_default();
    let target = [of("CARGO_CFG_TARGET_OS"), of("CARGO_CFG_TARGET_ENV"), of("CARGO_CFG_TARGET_ARCH")];
    // Where programs are not led, a host that asks for it is told so.
    let [os, env, arch] = target.each_ref().map(String::as_str);
    if (os, env) != ("linux", "gnu") || !["x86_64", "aarch64"].contains(&arch) {
        return;
    }
    println!("cargo::rustc-cfg=can_lead");
    let library = PathBuf::from(of("OUT_DIR")).join("lead.so");
    let mut compiler = Command::new(of("RUSTC"));
    compiler.args(["--edition", "2024", "--crate-type", "cdylib", "--crate-name", "rexmit_lead"]);
    compiler.args(["--target", &of("TARGET"), "-o"]).arg(&library).arg(SOURCE);
    for option in [
        "panic=abort",
        "opt-level=2",
        "codegen-units=1",
        "strip=symbols",
        // No library comes with it: a program of another C library has that one's.
        "link-arg=-nostdlib",
        "link-arg=-nostartfiles",
    ] {
        compiler.args(["-C", option]);
    }
    if !of("RUSTC_LINKER").is_empty() {
        compiler.args(["-C", &format!("linker={}", of("RUSTC_LINKER"))]);
    }
    let done = compiler.status().unwrap_or_else(|error| panic!("{}: {error}", of("RUSTC")));
    assert!(done.success(), "{SOURCE} does not compile");
}
