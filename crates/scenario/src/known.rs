//! Files that a study names with their hashes: opened, read whole once, and shared by every run of the process.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use crate::inputs::open_regular;

/// What has been read of files, by their names.
pub(crate) struct Known<T>(Mutex<Option<HashMap<PathBuf, (State, T)>>>);

/// What shows that a file is the same.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State {
    len: u64,
    modified: Option<SystemTime>,
}

impl State {
    fn of(about: &Metadata) -> Self {
        Self { len: about.len(), modified: about.modified().ok() }
    }
}

impl<T: Clone> Known<T> {
    /// Of no file yet.
    pub const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// What `read` makes of a regular file of this many bytes. One that this process has read before, and that is still
    /// the same file, is not read again.
    ///
    /// # Errors
    /// One line that names the file: that of `read`, or why it cannot be opened.
    pub fn open(&self, path: &Path, read: impl FnOnce(File, u64) -> Result<T, String>) -> Result<T, String> {
        let file = open_regular(path).map_err(|e| unreadable(path, &e))?;
        let state = State::of(&file.metadata().map_err(|e| unreadable(path, &e))?);
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = known.get_or_insert_with(HashMap::new);
        match known.get(path) {
            Some((then, found)) if *then == state => Ok(found.clone()),
            _ => {
                let found = read(file, state.len)?;
                known.insert(path.to_owned(), (state, found.clone()));
                Ok(found)
            }
        }
    }
}

/// That a file cannot be read, and why.
pub(crate) fn unreadable(path: &Path, error: &io::Error) -> String {
    format!("{}: cannot be read: {}", path.display(), words(error))
}

/// An error without the number that the system gives it.
pub(crate) fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// A hash in hexadecimal digits, as `sha256sum` prints it.
pub(crate) fn digits(hash: impl AsRef<[u8]>) -> String {
    hash.as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Refuses `what` (`trace`, `file`) whose SHA-256 differs from the one that a study has noted.
///
/// # Errors
/// One line that names the file and both.
pub(crate) fn check_hash(file: &str, what: &str, wanted: Option<&str>, found: &str) -> Result<(), String> {
    match wanted {
        Some(wanted) if !wanted.eq_ignore_ascii_case(found) => Err(format!(
            "{file}: is not the {what} that this study was made with: its SHA-256 is {found}, not {wanted}: bring that file \
             back, or name this one anew without sha256"
        )),
        _ => Ok(()),
    }
}
