//! Makes a private copy of libngtcp2.a, with `src/glue.c`, which knows its structures from its headers, before it.
//!
//! The library is looked for in `REXMIT_NGTCP2_DIR` alone where that is set, otherwise in the system, then where `make setup`
//! unpacks it (`.cache/ngtcp2`). Without it, or without the tools, the crate builds all the same and says at run time what is
//! missing.

use std::path::{Path, PathBuf};
use std::process::Command;

use rexmit_clib::{bases, library, pack, roots, run, tool, unpack, variable};

/// What the library asks of the C library that it must not have here, and what of `src/glue.c` it gets instead: an
/// assertion ends a run, not the process, and nobody calls what writes to `stderr`.
const LED: [(&str, &str); 3] = [
    ("__assert_fail", "rexmit_ngtcp2_assert"),
    ("abort", "rexmit_ngtcp2_stop"),
    ("stderr", "rexmit_ngtcp2_stderr"),
];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(ngtcp2)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/glue.c");
    println!("cargo:rerun-if-env-changed=REXMIT_NGTCP2_DIR");
    match prepare() {
        Ok(folder) => {
            println!("cargo:rustc-cfg=ngtcp2");
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static=rexmit_ngtcp2_private");
        }
        Err(why) => println!("cargo:rustc-env=REXMIT_NGTCP2_MISSING={why}"),
    }
}

fn prepare() -> Result<PathBuf, String> {
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_POINTER_WIDTH") != "64" {
        return Err("it is built for 64-bit Linux only".to_string());
    }
    let (include, archive) =
        roots("REXMIT_NGTCP2_DIR", "ngtcp2").iter().find_map(|root| look_in(root)).ok_or_else(|| {
            "libngtcp2-dev is not installed: `make setup` fetches it, or set REXMIT_NGTCP2_DIR".to_string()
        })?;
    println!("cargo:rerun-if-changed={}", include.join("ngtcp2/ngtcp2.h").display());
    println!("cargo:rerun-if-changed={}", archive.display());
    let out = PathBuf::from(variable("OUT_DIR"));
    let glue = compile_glue(&include, &out)?;
    make_private(&archive, &glue, &out)?;
    Ok(out)
}

/// The folder of the headers and the archive below `root`, laid out like `/` or like `/usr`.
fn look_in(root: &Path) -> Option<(PathBuf, PathBuf)> {
    bases(root).iter().find_map(|base| {
        let include = base.join("include");
        let archive = library(base, &["libngtcp2.a"])?;
        include.join("ngtcp2/ngtcp2.h").exists().then_some((include, archive))
    })
}

/// The code that knows the library's structures, compiled with its own headers.
fn compile_glue(include: &Path, out: &Path) -> Result<PathBuf, String> {
    let object = out.join("glue.o");
    let mut compiler = Command::new(tool("CC", "cc"));
    compiler.args(["-c", "-O2", "-fPIC", "-Wall", "-I"]).arg(include);
    run(compiler.arg("src/glue.c").arg("-o").arg(&object))?;
    Ok(object)
}

fn make_private(archive: &Path, glue: &Path, out: &Path) -> Result<(), String> {
    let objects = unpack(archive, out)?;
    for object in &objects {
        let mut objcopy = Command::new(tool("OBJCOPY", "objcopy"));
        for (theirs, ours) in LED {
            objcopy.arg(format!("--redefine-sym={theirs}={ours}"));
        }
        run(objcopy.arg(object))?;
    }
    let whole = out.join("ngtcp2.o");
    run(Command::new(tool("LD", "ld")).arg("-r").arg("-o").arg(&whole).arg(glue).args(&objects))?;
    let mut objcopy = Command::new(tool("OBJCOPY", "objcopy"));
    run(objcopy.args(["--wildcard", "--keep-global-symbol=rexmit_ngtcp2_*"]).arg(&whole))?;
    // The Python module is a shared object.
    let mut probe = Command::new(tool("LD", "ld"));
    probe.args(["-shared", "--unresolved-symbols=ignore-all", "-o"]).arg(out.join("probe.so")).arg(&whole);
    run(&mut probe)?;
    pack(&whole, &out.join("librexmit_ngtcp2_private.a"))
}
