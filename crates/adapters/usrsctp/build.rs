//! Makes a private copy of libusrsctp.a that asks us for the time, for random numbers, for memory and for timers.
//!
//! The library is looked for in `REXMIT_USRSCTP_DIR` alone where that is set, otherwise in the system, then where
//! `make setup` unpacks it (`.cache/usrsctp`). Without it, or without the tools, the crate builds all the same and says at run time what is
//! missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use rexmit_clib::{bases, library, pack, roots, run, tool, unpack, variable};

/// What the library asks of the C library, and who answers instead (`src/hooks.rs`, `src/memory.rs`, `src/layout.c`).
const ASKED: [&str; 10] = [
    "gettimeofday",
    "syscall",
    "open",
    "read",
    "malloc",
    "calloc",
    "free",
    "getifaddrs",
    "freeifaddrs",
    "in6addr_any",
];

/// The library's timers: what the rest of it calls goes to us, and we call these.
const TIMERS: [(&str, &str); 3] = [
    ("sctp_os_timer_start", "timer_start"),
    ("sctp_os_timer_stop", "timer_stop"),
    ("sctp_get_tick_count", "tick_count"),
];

/// Sections with what the library remembers, and names that C allows, for which the linker gives start and end.
const SECTIONS: [(&str, &str); 3] = [
    (".data", "rexmit_usrsctp_data"),
    (".bss", "rexmit_usrsctp_bss"),
    (".data.rel.local", "rexmit_usrsctp_rel"),
];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(usrsctp)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/layout.c");
    println!("cargo:rerun-if-env-changed=REXMIT_USRSCTP_DIR");
    match prepare() {
        Ok(folder) => {
            println!("cargo:rustc-cfg=usrsctp");
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static=rexmit_usrsctp");
        }
        Err(why) => println!("cargo:rustc-env=REXMIT_USRSCTP_MISSING={why}"),
    }
}

fn prepare() -> Result<PathBuf, String> {
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_POINTER_WIDTH") != "64" {
        return Err("it is built for 64-bit Linux only".to_string());
    }
    let (header, archive) =
        roots("REXMIT_USRSCTP_DIR", "usrsctp").iter().find_map(|root| look_in(root)).ok_or_else(|| {
            "libusrsctp-dev is not installed: `make setup` fetches it, or set REXMIT_USRSCTP_DIR".to_string()
        })?;
    println!("cargo:rerun-if-changed={}", header.display());
    println!("cargo:rerun-if-changed={}", archive.display());
    let out = PathBuf::from(variable("OUT_DIR"));
    let layout = compile_layout(&header, &out)?;
    make_private(&archive, &layout, &out)?;
    Ok(out)
}

/// Header and archive below `root`, laid out like `/` or like `/usr`.
fn look_in(root: &Path) -> Option<(PathBuf, PathBuf)> {
    bases(root).iter().find_map(|base| {
        let header = base.join("include/usrsctp.h");
        let archive = library(base, &["libusrsctp.a"])?;
        header.exists().then_some((header, archive))
    })
}

/// Checks that the structures of the header are those of `src/ffi.rs`; an object with the library's one constant of the
/// C library, which as code for programs it could not reach from within a shared object.
fn compile_layout(header: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = header.parent().unwrap_or(Path::new("/"));
    let object = out.join("layout.o");
    let mut compiler = Command::new(tool("CC", "cc"));
    compiler.arg("-c").arg("-I").arg(folder).arg("src/layout.c").arg("-o").arg(&object);
    run(&mut compiler).map_err(|error| format!("{}: {error}", header.display()))?;
    Ok(object)
}

fn make_private(archive: &Path, layout: &Path, out: &Path) -> Result<(), String> {
    let objects = unpack(archive, out)?;
    for object in &objects {
        let own = object.to_string_lossy().ends_with("sctp_callout.o");
        let mut objcopy = Command::new(tool("OBJCOPY", "objcopy"));
        for name in ASKED {
            objcopy.arg(format!("--redefine-sym={name}=rexmit_usrsctp_{name}"));
        }
        for (theirs, ours) in TIMERS {
            let infix = if own { "their_" } else { "" };
            objcopy.arg(format!("--redefine-sym={theirs}=rexmit_usrsctp_{infix}{ours}"));
        }
        run(objcopy.arg(object))?;
    }
    let whole = out.join("usrsctp.o");
    run(Command::new(tool("LD", "ld")).arg("-r").arg("-o").arg(&whole).arg(layout).args(&objects))?;
    let mut objcopy = Command::new(tool("OBJCOPY", "objcopy"));
    objcopy.args([
        "--wildcard",
        "--keep-global-symbol=usrsctp_*",
        "--keep-global-symbol=rexmit_usrsctp_their_*",
    ]);
    for (section, name) in SECTIONS {
        objcopy.arg(format!("--rename-section={section}={name}"));
    }
    run(objcopy.arg(&whole))?;
    // The Python module is a shared object.
    let mut probe = Command::new(tool("LD", "ld"));
    probe.args(["-shared", "--unresolved-symbols=ignore-all", "-o"]).arg(out.join("probe.so")).arg(&whole);
    run(&mut probe)?;
    pack(&whole, &out.join("librexmit_usrsctp.a"))
}
