//! An emulation in a guest whose clock is virtual: this process is the guest's first one.
//!
//! The guest has the files of the machine that it runs on, and no way in or out but those: what the programs and the
//! emulation say is appended to files, written through at once (the guest's memory of them would be seen by nobody), which
//! somebody outside reads as they grow.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use nix::unistd::{dup2_stderr, dup2_stdout};
use serde::{Deserialize, Serialize};

use super::report::{Event, Events};
use super::{Emulation, VerdictTable, session};
use crate::guest::{power_off, prepare};
use crate::sys::about;

/// Where a guest's programs are at home. The files are there already.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GuestPlace {
    /// The folder that programs begin in.
    pub folder: PathBuf,
    /// What they print.
    pub output: PathBuf,
    /// What they print as errors.
    pub errors: PathBuf,
    /// What the emulation says.
    pub events: PathBuf,
}

/// Runs the emulation in the file `job`, which has a [`GuestPlace`], and ends the guest.
///
/// # Errors
/// A job that cannot be read, an answer that cannot be written. What is wrong with an emulation is an answer.
pub fn serve_in_guest(job: &Path, table: VerdictTable<'_>) -> io::Result<()> {
    prepare()?;
    if let Err(e) = serve(job, table) {
        // On the console, for want of a better place.
        println!("emulation: {e}");
    }
    power_off()
}

fn serve(job: &Path, table: VerdictTable<'_>) -> io::Result<()> {
    let wanted = Emulation::read(job)?;
    let place =
        wanted.guest.as_ref().ok_or_else(|| io::Error::other("the job names no place in the guest"))?;
    std::env::set_current_dir(&place.folder).map_err(about(place.folder.display()))?;
    let events = append(&place.events, 0)?;
    if events.metadata()?.len() > 0 {
        let text = "a program has rebooted the guest: the emulation ended there".into();
        return Events(events).say(&Event::Wrong { text, code: 1 });
    }
    let through = libc::O_SYNC;
    dup2_stdout(append(&place.output, through)?)?;
    dup2_stderr(append(&place.errors, through)?)?;
    session::serve(&wanted, events.into(), table)
}

/// A file to append to, with more flags of open(2).
fn append(path: &Path, flags: i32) -> io::Result<File> {
    rexmit_files::append(path, flags).map_err(about(path.display()))
}
