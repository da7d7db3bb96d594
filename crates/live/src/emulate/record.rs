//! What an emulation has changed that does not go by itself, in a file: undone at its end, or by the next one after
//! a kill.
//!
//! Namespaces, devices and programs need no record in an ordinary end nor after a kill of any one process; where
//! several were killed at once, a daemon may be left, and is found by its environment.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use nix::sys::signal::{Signal, kill};
use nix::unistd::{Pid, getpid};
use serde::{Deserialize, Serialize};

use crate::sys::link::{Offloads, offloads, restore_offloads};
use crate::sys::namespace::Namespace;
use crate::sys::process;

/// The variable by which an emulation's programs know it.
pub const VARIABLE: &str = "REXMIT_EMULATION";

/// One emulation's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// The emulation.
    pub id: String,
    /// Its process.
    pub pid: i32,
    /// When that began ([`process::began`]).
    pub began: u64,
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
    file: PathBuf,
    record: Record,
}

impl Kept {
    /// Writes the record of this process's emulation into `folder`.
    ///
    /// # Errors
    /// Where the folder cannot be made or written.
    pub fn create(folder: &Path, id: &str, interfaces: Vec<Interface>) -> io::Result<Self> {
        fs::create_dir_all(folder)?;
        let pid = getpid().as_raw();
        let began = process::began(pid).unwrap_or(0);
        let record = Record { id: id.to_owned(), pid, began, interfaces };
        let file = folder.join(format!("emulate-{id}.json"));
        let part = folder.join(format!("emulate-{id}.part"));
        fs::write(&part, serde_json::to_vec(&record)?)?;
        fs::rename(&part, &file)?;
        Ok(Self { file, record })
    }

    /// Undoes what stands in it and removes it; what could not be undone, a line each.
    pub fn undo(self) -> Vec<String> {
        let mut wrong = Vec::new();
        for interface in &self.record.interfaces {
            if let Err(e) = interface.restore() {
                wrong.push(format!("{}: its offloads could not be restored: {e}", interface.name));
            }
        }
        fs::remove_file(&self.file).ok();
        wrong
    }
}

/// Undoes what emulations have left that were killed; what was done, a line each.
pub fn sweep(folder: &Path) -> Vec<String> {
    let mut done = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let file = entry.path();
        if file.extension().is_none_or(|e| e != "json") {
            continue;
        }
        let Ok(text) = fs::read(&file) else { continue };
        let Ok(record) = serde_json::from_slice::<Record>(&text) else { continue };
        if process::began(record.pid) == Some(record.began) {
            continue;
        }
        let who = format!("left by an emulation that was killed (process {})", record.pid);
        for interface in &record.interfaces {
            let name = &interface.name;
            done.push(match interface.restore() {
                Ok(()) => format!("{name}: offloads restored, {who}"),
                Err(e) => format!("{name}: offloads could not be restored ({e}), {who}"),
            });
        }
        let killed = kill_all(&record.id);
        if killed > 0 {
            done.push(format!("{killed} processes ended, {who}"));
        }
        fs::remove_file(&file).ok();
    }
    done
}

/// Kills every process whose environment names the emulation; how many.
fn kill_all(id: &str) -> usize {
    let wanted = format!("{VARIABLE}={id}");
    let own = getpid().as_raw();
    let mut killed = 0;
    for pid in process::all().unwrap_or_default() {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        if pid != own && environment.split(|b| *b == 0).any(|one| one == wanted.as_bytes()) {
            killed += usize::from(kill(Pid::from_raw(pid), Signal::SIGKILL).is_ok());
        }
    }
    killed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_a_process_that_lives_is_left_alone_and_one_of_a_dead_process_goes() {
        let folder = std::env::temp_dir().join(format!("rexmit-records-{}", getpid()));
        let kept = Kept::create(&folder, "alive", Vec::new()).expect("a record");
        let dead = Record { id: "dead".into(), began: 1, ..kept.record.clone() };
        let file = folder.join("emulate-dead.json");
        fs::write(&file, serde_json::to_vec(&dead).expect("JSON")).expect("a file");
        assert_eq!(sweep(&folder), Vec::<String>::new());
        assert!(!file.exists() && kept.file.exists());
        assert_eq!(kept.undo(), Vec::<String>::new());
        fs::remove_dir(&folder).expect("nothing is left");
    }

    #[test]
    fn an_interface_may_name_its_namespace() {
        assert_eq!(split("eth1"), (None, "eth1"));
        assert_eq!(split("blue:eth1"), (Some("blue".into()), "eth1"));
    }
}
