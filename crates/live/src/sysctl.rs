//! Sysctls of a host's namespace: set as a run wants them, and set back for the next.

use std::collections::BTreeMap;
use std::fs;
use std::io;

use rexmit_files::set_kernel_value;

use crate::host::this_kernel;

/// Sysctls that are not as the kernel had them.
#[derive(Debug, Default)]
pub struct Sysctls {
    /// By name, what it is and what it was; that is known where it may be set back.
    changed: BTreeMap<String, Changed>,
    /// The namespace serves other runs too, which want them as they were.
    again: bool,
}

#[derive(Debug)]
struct Changed {
    is: String,
    was: Option<String>,
}

impl Sysctls {
    /// Of a namespace that is new; with `again`, it serves other runs too, which want them as they were.
    pub fn new(again: bool) -> Self {
        Self { changed: BTreeMap::new(), again }
    }

    /// Sets these in this thread's namespace, and back what others have changed.
    ///
    /// # Errors
    /// In words, what this kernel does not have or take.
    pub fn become_these(&mut self, wanted: Vec<(String, String)>) -> Result<(), String> {
        if let Some((name, _)) = wanted.iter().find(|(name, _)| !is_of_the_network(name)) {
            return Err(format!("sysctl {name} does not belong to a host's network: only those of net do"));
        }
        let wanted: BTreeMap<String, String> = wanted.into_iter().collect();
        let mut left: Vec<(String, String)> = Vec::new();
        for (name, changed) in &self.changed {
            if let (false, Some(was)) = (wanted.contains_key(name), &changed.was) {
                left.push((name.clone(), was.clone()));
            }
        }
        let (back, again) = (left.len(), self.again);
        let stands =
            |name: &str, value: &str| self.changed.get(name).is_some_and(|changed| changed.is == value);
        left.extend(wanted.into_iter().filter(|(name, value)| !stands(name, value)));
        for (name, value) in &left[back..] {
            // Before any is set: one may change what another was.
            let was = || if again { read(name).ok() } else { None };
            let new = || Changed { is: String::new(), was: was() };
            self.changed.entry(name.clone()).or_insert_with(new).is.clone_from(value);
        }
        for (name, _) in &left[..back] {
            self.changed.remove(name);
        }
        write_all(left)
    }

    /// Whether they may all be set back, and nothing of them stays in the namespace when they are.
    pub fn may_be_set_back(&self) -> bool {
        self.changed.iter().all(|(name, changed)| {
            let known = ["net.ipv4.tcp_", "net.sctp.", "net.core."];
            let keeps = name.contains("fastopen") || (name.ends_with("no_metrics_save") && changed.is == "0");
            changed.was.is_some() && known.iter().any(|prefix| name.starts_with(prefix)) && !keeps
        })
    }
}

/// Some limit each other (net.sctp.rto_min and rto_max): what is refused now may be taken after the others.
fn write_all(mut left: Vec<(String, String)>) -> Result<(), String> {
    loop {
        let mut refused = Vec::new();
        let (before, mut why) = (left.len(), None);
        for (name, value) in left {
            if let Err(e) = write(&name, &value) {
                why.get_or_insert_with(|| refusal(&name, &value, &e));
                refused.push((name, value));
            }
        }
        match why {
            Some(why) if refused.len() == before => return Err(why),
            Some(_) => left = refused,
            None => return Ok(()),
        }
    }
}

/// Why a sysctl could not be set.
fn refusal(name: &str, value: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{} has no sysctl {name} for a namespace", this_kernel()),
        io::ErrorKind::InvalidInput => format!("{name} of {} does not take {value:?}", this_kernel()),
        _ => format!("{name} of {} cannot be set to {value:?}: {error}", this_kernel()),
    }
}

/// Others are of the machine and not of a namespace: they would stay.
fn is_of_the_network(name: &str) -> bool {
    name.starts_with("net.") && !name.contains('/') && !name.contains("..")
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// The value of a sysctl of this thread's namespace, as it may be written.
///
/// # Errors
/// Where the kernel has none of that name, or does not tell.
pub fn read(name: &str) -> io::Result<String> {
    fs::read_to_string(sysctl_path(name)).map(|text| text.trim().replace('\t', " "))
}

/// Sets a sysctl of this thread's namespace.
///
/// # Errors
/// Where the kernel has none of that name, or refuses the value.
pub fn write(name: &str, value: &str) -> io::Result<()> {
    set_kernel_value(sysctl_path(name), value)
}
