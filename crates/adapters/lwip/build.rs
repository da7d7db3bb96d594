//! Takes the code of Debian's liblwip.so apart, so that `src/copy.rs` can put as many copies of it into memory as a run has
//! hosts, each of which asks us for what it asks of the C library.
//!
//! The library is looked for in `REXMIT_LWIP_DIR` alone where that is set, otherwise in the system, then where `make setup`
//! unpacks it (`.cache/lwip`). Without it, or without a compiler of C, the crate builds all the same and says at run time what
//! is missing.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

use rexmit_clib::{bases, library, pack, roots, run, tool, variable};

/// What `src/glue.c` calls, with the library's own prototypes.
const CALLED: [&str; 28] = [
    "ip_input",
    "lwip_init",
    "netif_add",
    "netif_ip6_addr_set",
    "netif_ip6_addr_set_state",
    "netif_set_default",
    "netif_set_link_up",
    "netif_set_up",
    "pbuf_alloc",
    "pbuf_free",
    "pbuf_take",
    "sys_check_timeouts",
    "sys_timeouts_sleeptime",
    "tcp_abort",
    "tcp_accept",
    "tcp_alloc",
    "tcp_arg",
    "tcp_bind",
    "tcp_connect",
    "tcp_eff_send_mss_netif",
    "tcp_err",
    "tcp_free",
    "tcp_listen_with_backlog",
    "tcp_new_ip_type",
    "tcp_output",
    "tcp_recv",
    "tcp_sent",
    "tcp_write",
];

/// And a few with arguments of their own.
const CALLED_TOO: [&str; 2] = ["tcp_recved", "tcp_shutdown"];

/// Functions of the library that go to ours: its idea of the time and of threads, and where a connection begins and ends.
const LED: [&str; 8] = [
    "sys_arch_protect",
    "sys_arch_unprotect",
    "sys_check_core_locking",
    "sys_now",
    "sys_timeouts_init",
    "tcp_alloc",
    "tcp_eff_send_mss_netif",
    "tcp_free",
];

fn main() {
    println!("cargo:rustc-check-cfg=cfg(lwip)");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=src/glue.c");
    println!("cargo:rerun-if-env-changed=REXMIT_LWIP_DIR");
    match prepare() {
        Ok(folder) => {
            println!("cargo:rustc-cfg=lwip");
            println!("cargo:rustc-link-search=native={}", folder.display());
            println!("cargo:rustc-link-lib=static=rexmit_lwip_glue");
        }
        Err(why) => println!("cargo:rustc-env=REXMIT_LWIP_MISSING={why}"),
    }
}

fn prepare() -> Result<PathBuf, String> {
    if variable("CARGO_CFG_TARGET_OS") != "linux" || variable("CARGO_CFG_TARGET_ARCH") != "x86_64" {
        return Err("it is loaded on 64-bit x86 Linux only".to_string());
    }
    let (include, library) =
        roots("REXMIT_LWIP_DIR", "lwip").iter().find_map(|root| look_in(root)).ok_or_else(|| {
            "liblwip-dev is not installed: `make setup` fetches it, or set REXMIT_LWIP_DIR".to_string()
        })?;
    println!("cargo:rerun-if-changed={}", include.join("lwipopts.h").display());
    println!("cargo:rerun-if-changed={}", library.display());
    let out = PathBuf::from(variable("OUT_DIR"));
    let bytes = fs::read(&library).map_err(|error| format!("{}: {error}", library.display()))?;
    let told = |error| format!("{}: {error}", library.display());
    take_apart(&Elf::read(&bytes).map_err(told)?, &out).map_err(told)?;
    compile_glue(&include, &out)?;
    Ok(out)
}

/// The folder of the headers and the library below `root`, laid out like `/` or like `/usr`.
fn look_in(root: &Path) -> Option<(PathBuf, PathBuf)> {
    bases(root).iter().find_map(|base| {
        let include = base.join("include/lwip");
        let library = library(base, &["liblwip.so.0", "liblwip.so"])?;
        include.join("lwip/tcp.h").exists().then_some((include, library))
    })
}

/// The code that knows the library's structures, compiled with its own headers.
fn compile_glue(include: &Path, out: &Path) -> Result<(), String> {
    let called = CALLED.iter().chain(&CALLED_TOO).map(|name| format!("CALL({name})\n"));
    fs::write(out.join("calls.h"), called.collect::<String>()).map_err(|error| error.to_string())?;
    let object = out.join("glue.o");
    let mut compiler = Command::new(tool("CC", "cc"));
    compiler.args(["-c", "-O2", "-fPIC", "-Wall", "-I"]).arg(include).arg("-I").arg(out);
    run(compiler.arg("src/glue.c").arg("-o").arg(&object))?;
    pack(&object, &out.join("librexmit_lwip_glue.a"))
}

/// Writes what `src/copy.rs` includes: the library as it lies in memory, and what is still to be written into it.
fn take_apart(elf: &Elf<'_>, out: &Path) -> Result<(), String> {
    let (mut relative, mut own, mut asked) = (String::new(), String::new(), String::new());
    for relocation in &elf.relocations {
        let at = relocation.at;
        let (value, plus) = (relocation.symbol.value, relocation.plus);
        match relocation.kind {
            RELATIVE => _ = write!(relative, "({at}, {plus}), "),
            ABSOLUTE | GLOBAL | JUMP => {
                let name = &relocation.symbol.name;
                if LED.contains(&name.as_str()) || !relocation.symbol.is_defined {
                    _ = write!(asked, "({at}, {name:?}), ");
                } else {
                    _ = write!(own, "({at}, {}), ", value + plus);
                }
            }
            other => return Err(format!("relocation of kind {other}, which is not known here")),
        }
    }
    let mut calls = String::new();
    for name in CALLED.iter().chain(&CALLED_TOO) {
        let at = elf.defined.get(*name).ok_or_else(|| format!("it has no function {name}"))?;
        _ = write!(calls, "{at}, ");
    }
    if let Some(name) = LED.iter().find(|name| !elf.defined.contains_key(**name)) {
        return Err(format!("it has no function {name}"));
    }
    let text = format!(
        "/// Bytes of the library in memory.\npub(crate) const SIZE: usize = {};\n\
         /// Where its variables lie.\npub(crate) const VARIABLES: std::ops::Range<usize> = {:?};\n\
         /// Where its code lies.\npub(crate) const CODE: std::ops::Range<usize> = {:?};\n\
         /// Places that get the address of another, which they name.\n\
         pub(crate) const RELATIVE: &[(u32, u32)] = &[{relative}{own}];\n\
         /// Places that get the address of a function of ours, by name.\n\
         pub(crate) const ASKED: &[(u32, &str)] = &[{asked}];\n\
         /// What `glue.c` calls, in its order.\npub(crate) const CALLS: &[u32] = &[{calls}];\n",
        elf.size, elf.variables, elf.code,
    );
    fs::write(out.join("image.rs"), text).map_err(|error| error.to_string())?;
    fs::write(out.join("image.bin"), &elf.image).map_err(|error| error.to_string())
}

const ABSOLUTE: u32 = 1;
const GLOBAL: u32 = 6;
const JUMP: u32 = 7;
const RELATIVE: u32 = 8;
const PAGE: u64 = 4096;

/// What of a shared object for x86-64 counts here.
struct Elf<'a> {
    bytes: &'a [u8],
    /// Its segments at their places.
    image: Vec<u8>,
    size: u64,
    code: Range<u64>,
    variables: Range<u64>,
    defined: BTreeMap<String, u64>,
    relocations: Vec<Relocation>,
}

struct Relocation {
    at: u64,
    kind: u32,
    symbol: Symbol,
    plus: u64,
}

#[derive(Default)]
struct Symbol {
    name: String,
    value: u64,
    is_defined: bool,
}

impl<'a> Elf<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, String> {
        // 64 bits, the least first; a shared object; of x86-64.
        if bytes.get(..6) != Some(b"\x7fELF\x02\x01") || bytes.get(16..20) != Some(&[3, 0, 62, 0]) {
            return Err("it is not a shared object of 64-bit x86".to_string());
        }
        let mut elf = Self {
            bytes,
            image: Vec::new(),
            size: 0,
            code: 0..0,
            variables: 0..0,
            defined: BTreeMap::new(),
            relocations: Vec::new(),
        };
        let dynamic = elf.read_segments()?;
        elf.read_dynamic(dynamic)?;
        Ok(elf)
    }

    /// Lays out its segments; where the dynamic table lies.
    fn read_segments(&mut self) -> Result<u64, String> {
        let (first, count) = (self.number(32, 8)?, self.number(56, 2)?);
        let mut dynamic = None;
        for head in (0..count).map(|n| first + n * 56) {
            let (kind, flags) = (self.number(head, 4)?, self.number(head + 4, 4)?);
            let (offset, at) = (self.number(head + 8, 8)?, self.number(head + 16, 8)?);
            let (in_file, in_memory) = (self.number(head + 32, 8)?, self.number(head + 40, 8)?);
            match kind {
                1 => {
                    let part = offset as usize..(offset + in_file) as usize;
                    let part = self.bytes.get(part).ok_or("a segment beyond its end")?;
                    self.image.resize(at as usize, 0);
                    self.image.extend_from_slice(part);
                    let span = at / PAGE * PAGE..(at + in_memory).next_multiple_of(PAGE);
                    self.size = self.size.max(span.end);
                    match flags & 3 {
                        1 => self.code = span,
                        2 => self.variables = span,
                        3 => return Err("code that may be written".to_string()),
                        _ => {}
                    }
                }
                2 => dynamic = Some(at),
                7 => return Err("variables of threads".to_string()),
                _ => {}
            }
        }
        dynamic.ok_or_else(|| "it has no dynamic table".to_string())
    }

    /// Reads symbols and relocations, all of which lie in the image.
    fn read_dynamic(&mut self, at: u64) -> Result<(), String> {
        let image = std::mem::take(&mut self.image);
        let get = |at: u64, len: u64| number(&image, at, len);
        let mut tags = BTreeMap::new();
        for entry in (0..).map(|n| at + n * 16) {
            let tag = get(entry, 8)?;
            if tag == 0 {
                break;
            }
            tags.insert(tag, get(entry + 8, 8)?);
        }
        let tag =
            |tag: u64| tags.get(&tag).copied().ok_or_else(|| format!("no entry {tag} in its dynamic table"));
        let (names, symbols) = (tag(5)?, tag(6)?);
        let symbol = |n: u64| -> Result<Symbol, String> {
            let head = symbols + n * 24;
            let name = image.get((names + get(head, 4)?) as usize..).unwrap_or_default();
            let name = name.split(|byte| *byte == 0).next().unwrap_or_default();
            let name = String::from_utf8_lossy(name).into_owned();
            Ok(Symbol { name, value: get(head + 8, 8)?, is_defined: get(head + 6, 2)? != 0 })
        };
        // The names lie behind the symbols, as every linker has them.
        for one in (1..(names - symbols) / 24).map(symbol) {
            let one = one?;
            if one.is_defined {
                self.defined.insert(one.name, one.value);
            }
        }
        for (table, len) in [(tag(7)?, tag(8)?), (tag(23)?, tag(2)?)] {
            for entry in (0..len / 24).map(|n| table + n * 24) {
                let info = get(entry + 8, 8)?;
                self.relocations.push(Relocation {
                    at: get(entry, 8)?,
                    kind: info as u32,
                    symbol: if info >> 32 == 0 { Symbol::default() } else { symbol(info >> 32)? },
                    plus: get(entry + 16, 8)?,
                });
            }
        }
        self.image = image;
        Ok(())
    }

    fn number(&self, at: u64, len: u64) -> Result<u64, String> {
        number(self.bytes, at, len)
    }
}

fn number(bytes: &[u8], at: u64, len: u64) -> Result<u64, String> {
    let part = bytes.get(at as usize..(at + len) as usize).ok_or("it ends too early")?;
    Ok(part.iter().rev().fold(0, |all, byte| all << 8 | u64::from(*byte)))
}
