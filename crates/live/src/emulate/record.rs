//! What an emulation has changed and does not go by itself, in a file: undone at its end, or by the next one after
//! a kill.
//!
//! Namespaces, devices and programs need no record: the kernel removes them with the processes. Offloads of interfaces that
//! are somebody else's do. A record belongs to the process that holds the lock on it, whatever its number: the kernel
//! releases a lock with its process, and every PID namespace that has the file sees it.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use serde::{Deserialize, Serialize};

use crate::sys::link::{Offloads, offloads, restore_offloads};
use crate::sys::namespace::Namespace;

/// The variable by which an emulation's programs know it.
pub const VARIABLE: &str = "REXMIT_EMULATION";

/// One emulation's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The emulation.
    pub id: String,
    /// The boot of the machine on which it runs: a file may be seen from others, a lock need not be.
    pub boot: String,
    /// The network namespace whose interfaces have these names.
    pub network: String,
    /// Interfaces that were changed, as they were before.
    pub interfaces: Vec<Interface>,
}

/// An interface as it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interface {
    /// The namespace's name; absent for the one of the machine.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its offloads.
    pub offloads: Offloads,
}

impl Interface {
    /// How an interface is now, `eth1`, or `blue:eth1` in the namespace `blue`.
    ///
    /// # Errors
    /// Where there is none.
    pub fn look(text: &str) -> io::Result<Self> {
        let (namespace, name) = split(text);
        let now = within(namespace.as_deref(), || offloads(name))?;
        Ok(Self { namespace, name: name.to_owned(), offloads: now })
    }

    /// Makes it what it was.
    ///
    /// # Errors
    /// Where it is gone, or refuses.
    pub fn restore(&self) -> io::Result<()> {
        within(self.namespace.as_deref(), || restore_offloads(&self.name, &self.offloads))
    }
}

/// The namespace and the name in `blue:eth1`.
pub fn split(text: &str) -> (Option<String>, &str) {
    match text.split_once(':') {
        Some((namespace, name)) => (Some(namespace.to_owned()), name),
        None => (None, text),
    }
}

fn within<T>(namespace: Option<&str>, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    match namespace {
        Some(name) => Namespace::named(name)?.within(work),
        None => work(),
    }
}

/// A record in its file.
#[derive(Debug)]
pub struct Kept {
    path: PathBuf,
    /// Held as long as the emulation lives.
    _file: Flock<File>,
    record: Record,
}

impl Kept {
    /// Writes the record of this process's emulation into `folder`.
    ///
    /// # Errors
    /// Where the folder cannot be made or written.
    pub fn create(folder: &Path, id: &str, interfaces: Vec<Interface>) -> io::Result<Self> {
        rexmit_files::make_folder(folder)?;
        let record = Record { id: id.to_owned(), boot: boot()?, network: network()?, interfaces };
        let path = folder.join(format!("emulate-{id}.json"));
        let mut file = loop {
            let lock = Flock::lock(rexmit_files::create_private(&path)?, FlockArg::LockExclusive);
            let file = lock.map_err(|(_, e)| io::Error::from(e))?;
            // Else another emulation swept between our two steps.
            if file.metadata()?.nlink() > 0 {
                break file;
            }
        };
        file.write_all(&serde_json::to_vec(&record)?).inspect_err(|_| drop(rexmit_files::remove(&path)))?;
        Ok(Self { path, _file: file, record })
    }

    /// Undoes what stands in it and removes it; what could not be undone, a line each.
    pub fn undo(self) -> Vec<String> {
        let mut wrong = Vec::new();
        for interface in &self.record.interfaces {
            if let Err(e) = interface.restore() {
                wrong.push(format!("{}: its offloads could not be restored: {e}", interface.name));
            }
        }
        rexmit_files::remove(&self.path).ok();
        wrong
    }
}

/// Undoes what killed emulations have left; what was done, a line each.
pub fn sweep(folder: &Path) -> Vec<String> {
    const WHO: &str = "left by an emulation that was killed";
    let mut done = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if !name.to_str().is_some_and(|n| n.starts_with("emulate-") && n.ends_with(".json")) {
            continue;
        }
        let Ok(Some((_file, interfaces))) = left(&entry.path()) else { continue };
        for interface in &interfaces {
            let name = &interface.name;
            done.push(match interface.restore() {
                Ok(()) => format!("{name}: offloads restored, {WHO}"),
                Err(e) => format!("{name}: offloads could not be restored ({e}), {WHO}"),
            });
        }
        rexmit_files::remove(&entry.path()).ok();
    }
    done
}

/// The interfaces in a record that nobody holds any more, and the lock on it. `None` for one that is in use, or not to
/// be undone from here: of another machine or network namespace.
fn left(path: &Path) -> io::Result<Option<(Flock<File>, Vec<Interface>)>> {
    let found = rexmit_files::open(path, libc::O_NONBLOCK)?;
    let Ok(mut file) = Flock::lock(found, FlockArg::LockExclusiveNonblock) else {
        return Ok(None);
    };
    let facts = file.metadata()?;
    if !facts.is_file() || facts.uid() != geteuid().as_raw() || facts.nlink() != 1 {
        return Ok(None);
    }
    let mut text = Vec::new();
    (&mut *file).take(LARGEST).read_to_end(&mut text)?;
    if text.is_empty() {
        // Whoever made it was killed before anything was changed.
        return Ok(Some((file, Vec::new())));
    }
    let record: Record = serde_json::from_slice(&text)?;
    let here = record.boot == boot()? && record.network == network()?;
    Ok(here.then_some((file, record.interfaces)))
}

/// Bytes of a record, at most.
const LARGEST: u64 = 1 << 20;

/// What names this machine since it was started.
fn boot() -> io::Result<String> {
    let path = "/proc/sys/kernel/random/boot_id";
    fs::read_to_string(path).map(|text| text.trim().to_owned()).map_err(crate::sys::about(path))
}

/// What names this thread's network namespace.
fn network() -> io::Result<String> {
    let path = "/proc/thread-self/ns/net";
    fs::read_link(path).map(|to| to.display().to_string()).map_err(crate::sys::about(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_is_held_is_left_alone_and_one_of_a_dead_process_goes() {
        let folder = std::env::temp_dir().join(format!("rexmit-records-{}", std::process::id()));
        let kept = Kept::create(&folder, "alive", Vec::new()).expect("a record");
        let copy = |name: &str, record: &Record| {
            let file = folder.join(name);
            fs::write(&file, serde_json::to_vec(record).expect("JSON")).expect("a file");
            file
        };
        let dead = copy("emulate-dead.json", &kept.record);
        let elsewhere = [
            copy("emulate-boot.json", &Record { boot: "another".into(), ..kept.record.clone() }),
            copy("emulate-net.json", &Record { network: "net:[1]".into(), ..kept.record.clone() }),
            copy("notes.json", &kept.record),
        ];
        assert_eq!(sweep(&folder), Vec::<String>::new());
        assert!(!dead.exists() && kept.path.exists());
        assert!(elsewhere.iter().all(|file| file.exists()));
        assert_eq!(kept.undo(), Vec::<String>::new());
        fs::remove_dir_all(&folder).expect("nothing else is left");
    }

    #[test]
    fn an_interface_may_name_its_namespace() {
        assert_eq!(split("eth1"), (None, "eth1"));
        assert_eq!(split("blue:eth1"), (Some("blue".into()), "eth1"));
    }
}
