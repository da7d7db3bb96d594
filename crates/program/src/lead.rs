//! The clock and the random numbers of a program that was not written for rexmit, led to the run's.
//!
//! A small library (`preload/lead.rs`), which stands in this crate as bytes, is loaded into the program before its C library and
//! stands for its clock, sleep and random numbers. Both the library and the page that tells it the time are files in memory of
//! this process, which the program opens by this process's number: nothing is on a disk, nobody else has them, and children of
//! the program find them too. rexmit writes to the page and reads nothing of it.
//!
//! Not modelled: what a sleep of the program's means to the run, in which no time passes while it answers.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

/// The library.
#[cfg(can_lead)]
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/lead.so"));
#[cfg(not(can_lead))]
const LIBRARY: &[u8] = &[];

/// What the date is as a run begins, in ns since 1970: that of its captures.
const DATE: u64 = 1_139_270_400_000_000_000;
/// What its monotonic clocks show as a run begins, in ns: not zero, which some take for "never", and less than this
/// machine's own, so that a wait until such a time, which is not led, ends at once.
const UPTIME: u64 = 100_000_000_000;
/// A script may name an interpreter that is a script.
const INTERPRETERS: usize = 4;
/// A line that names an interpreter is no longer, and a table of an ELF file is near its beginning.
const HEAD: u64 = 4_096;

/// What random numbers of a program come from.
pub(crate) type Key = [u8; 16];

/// What leads the clock and the random numbers of a program and its children.
#[derive(Debug)]
pub struct Lead {
    page: File,
    library: String,
    /// [`write()`], which is reached only by whoever may start programs.
    write: fn(&File, u64) -> io::Result<()>,
}

/// The library as a file in memory, of this process or of the one that it was forked from.
static LOADED: Mutex<Option<File>> = Mutex::new(None);

impl Lead {
    /// What leads one program, from the start of a run on.
    ///
    /// # Errors
    /// A system or a build of rexmit that cannot lead, or no memory.
    pub fn new(key: &[u8; 16]) -> io::Result<Self> {
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if loaded.is_none() {
            *loaded = Some(library()?);
        }
        let library = loaded.as_ref().map(place).unwrap_or_default();
        drop(loaded);
        let page = in_memory("rexmit-clock", MemfdFlags::CLOEXEC)?;
        // As `Page` of the library has it: the two clocks, what they are at zero, the key, and no number drawn.
        let mut words = [[0; 8], [0; 8], DATE.to_ne_bytes(), UPTIME.to_ne_bytes()].concat();
        words.extend(key);
        words.extend([0; 8]);
        page.write_all_at(&words, 0)?;
        Ok(Self { page, library, write })
    }

    /// Names and values that the program's environment has besides this process's.
    pub fn environment(&self) -> [(&'static str, OsString); 2] {
        let mut libraries = OsString::from(&self.library);
        if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
            libraries.push(":");
            libraries.push(others);
        }
        [("LD_PRELOAD", libraries), ("REXMIT_LEAD", place(&self.page).into())]
    }

    /// Leads it to this time of the run, in ns. Called while the program waits.
    ///
    /// # Errors
    /// None that is known.
    pub fn set_now(&self, now: u64) -> io::Result<()> {
        (self.write)(&self.page, now)
    }

    /// Whether a process has the page in its memory, once it has begun.
    pub(crate) fn leads(&self, process: u32) -> bool {
        let Ok(page) = self.page.metadata().map(|about| about.ino().to_string()) else { return false };
        let maps = std::fs::read_to_string(format!("/proc/{process}/maps")).unwrap_or_default();
        maps.lines().any(|line| {
            let mut words = line.split_ascii_whitespace().skip(4);
            words.next() == Some(&page) && words.next().is_some_and(|name| name.contains("rexmit-clock"))
        })
    }
}

/// Writes the time of the run to the page.
fn write(page: &File, now: u64) -> io::Result<()> {
    page.write_all_at(&now.to_ne_bytes(), 0)
}

/// The library, which nobody changes any more.
fn library() -> io::Result<File> {
    if LIBRARY.is_empty() {
        return Err(io::Error::other("this build of rexmit leads no clocks (64-bit Linux with glibc does)"));
    }
    let mut file = in_memory("rexmit-lead", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)?;
    file.write_all(LIBRARY)?;
    fcntl_add_seals(&file, SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL)?;
    Ok(file)
}

fn in_memory(name: &str, flags: MemfdFlags) -> io::Result<File> {
    Ok(File::from(memfd_create(name, flags)?))
}

/// Where other processes of this user find a file of this process.
fn place(file: &File) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// Why the program of a command, which begins in `folder`, cannot be led; `None` where it can, or where there is none.
pub(crate) fn hindrance(words: &[String], folder: &Path) -> Option<String> {
    if LIBRARY.is_empty() {
        return Some(library().err()?.to_string());
    }
    let mut path = found(words.first()?, folder)?;
    for _ in 0..INTERPRETERS {
        let file = File::open(&path).ok()?;
        let about = file.metadata().ok()?;
        let (name, is_file) = (path.display(), about.is_file());
        let mut head = Vec::new();
        file.take(HEAD).read_to_end(&mut head).ok()?;
        if head.starts_with(b"#!") {
            path = interpreter(&head, folder)?;
            continue;
        }
        if is_file && about.permissions().mode() & 0o6000 != 0 {
            return Some(format!("{name} has the rights of its owner (set-uid), and takes no library"));
        }
        let why = not_dynamic(&head)?;
        return Some(format!("{name} {why}"));
    }
    None
}

/// The file of a command's first word, as it would be found to be started.
fn found(name: &str, folder: &Path) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(folder.join(name));
    }
    let is_program = |path: &PathBuf| {
        path.metadata().is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
    };
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|each| folder.join(each).join(name)).find(is_program)
}

/// The interpreter that a script names, and what `env` would start.
fn interpreter(head: &[u8], folder: &Path) -> Option<PathBuf> {
    let line = head[2..].split(|byte| *byte == b'\n').next()?;
    let mut words = std::str::from_utf8(line).ok()?.split_ascii_whitespace();
    let first = Path::new(words.next()?);
    if first.file_name()? != "env" {
        return Some(folder.join(first));
    }
    let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
    named.map_or(Some(first.to_path_buf()), |name| found(name, folder))
}

/// Why a program loads no library; `None` where it does, or is not an ELF file.
fn not_dynamic(head: &[u8]) -> Option<&'static str> {
    const MACHINE: u16 = if cfg!(target_arch = "x86_64") { 62 } else { 183 };
    let number = |at: usize| Some(u16::from_le_bytes(*head.get(at..)?.first_chunk()?));
    if !head.starts_with(b"\x7fELF") {
        return None;
    }
    // Of 64 bits, little-endian, of this machine's kind.
    if head.get(4..6)? != [2, 1] || number(18)? != MACHINE {
        return Some("is of another kind of processor than rexmit");
    }
    let table = usize::try_from(u64::from_le_bytes(*head.get(32..)?.first_chunk()?)).ok()?;
    let (size, count) = (usize::from(number(54)?), usize::from(number(56)?));
    for entry in 0..count {
        let kind = u32::from_le_bytes(*head.get(table.checked_add(entry * size)?..)?.first_chunk()?);
        // PT_INTERP: it names a loader.
        if kind == 3 {
            return None;
        }
    }
    Some("is statically linked, and loads no library")
}

#[cfg(test)]
#[path = "../preload/lead.rs"]
#[expect(unsafe_code, reason = "it stands for functions of C")]
#[allow(dead_code, reason = "what begins the library is of the library alone")]
mod preload;

#[cfg(test)]
mod tests;
