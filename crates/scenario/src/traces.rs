//! Files of traces: opened, read whole once, and shared by every run of the process.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use rexmit_path::trace::TraceBytes;
use rexmit_path::{Trace, TraceFile};
use sha2::{Digest, Sha256};

use crate::inputs::open_regular;

/// A file of at most so many bytes is kept in memory; of a longer one, each reader holds a piece.
const MOST_KEPT: u64 = 4 << 20;

/// A trace, and the SHA-256 of what it holds in hexadecimal digits.
#[derive(Clone, Debug)]
pub struct OpenedTrace {
    /// Its lines.
    pub file: TraceFile,
    /// Of all its bytes.
    pub sha256: String,
}

/// Opens the trace that a study names, and checks every line of it. One that this process has read before, and that is
/// still the same file, is not read again.
///
/// # Errors
/// One line that names the file, the line in it, and what to write; where the study has another hash, that.
pub fn open_trace(trace: &Trace) -> Result<TraceFile, String> {
    let opened = open_trace_file(Path::new(&trace.trace.file))?;
    match &trace.trace.sha256 {
        Some(wanted) if !wanted.eq_ignore_ascii_case(&opened.sha256) => Err(format!(
            "{}: is not the trace that this study was made with: its SHA-256 is {}, not {wanted}: bring that file back, or \
             name this one anew without sha256",
            trace.trace.file, opened.sha256
        )),
        _ => Ok(opened.file),
    }
}

/// The same of a file by its name.
///
/// # Errors
/// As [`open_trace`].
pub fn open_trace_file(path: &Path) -> Result<OpenedTrace, String> {
    let failed = |e: io::Error| format!("{}: cannot be read: {}", path.display(), words(&e));
    let file = open_regular(path).map_err(failed)?;
    let state = State::of(&file.metadata().map_err(failed)?);
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_with(HashMap::new);
    match known.get(path) {
        Some((then, opened)) if *then == state => Ok(opened.clone()),
        _ => {
            let opened = read(path, file, state.len)?;
            known.insert(path.to_owned(), (state, opened.clone()));
            Ok(opened)
        }
    }
}

/// What is known of files, by their names.
static KNOWN: Mutex<Option<HashMap<PathBuf, (State, OpenedTrace)>>> = Mutex::new(None);

/// By what a file is known to be the same.
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

fn read(path: &Path, file: File, len: u64) -> Result<OpenedTrace, String> {
    let whole: Arc<dyn TraceBytes> = if len <= MOST_KEPT {
        let mut bytes = vec![0; len as usize];
        read_exact(&file, &mut bytes)
            .map_err(|e| format!("{}: cannot be read: {}", path.display(), words(&e)))?;
        Arc::new(bytes)
    } else {
        Arc::new(Pieces { file: Mutex::new(file) })
    };
    let hashed = Arc::new(Hashed { bytes: whole.clone(), hash: Mutex::new(Sha256::new()) });
    let file = TraceFile::survey(&path.display().to_string(), hashed.clone()).map_err(|e| e.to_string())?;
    let hash = hashed.hash.lock().unwrap_or_else(PoisonError::into_inner).clone().finalize();
    let sha256 = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok(OpenedTrace { file: file.with_bytes(whole), sha256 })
}

/// An error without the number that the system gives it.
fn words(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

fn read_exact(mut file: &File, bytes: &mut [u8]) -> io::Result<()> {
    io::Read::read_exact(&mut file, bytes)
}

/// Bytes that are hashed as they are read, from the first to the last.
struct Hashed {
    bytes: Arc<dyn TraceBytes>,
    hash: Mutex<Sha256>,
}

impl TraceBytes for Hashed {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        let len = self.bytes.read_at(at, into)?;
        self.hash.lock().unwrap_or_else(PoisonError::into_inner).update(&into[..len]);
        Ok(len)
    }
}

/// A file that is read a piece at a time, by any number of readers.
struct Pieces {
    file: Mutex<File>,
}

impl TraceBytes for Pieces {
    fn read_at(&self, at: u64, into: &mut [u8]) -> Result<usize, String> {
        use io::{Read, Seek, SeekFrom};
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(at)).and_then(|_| file.read(into)).map_err(|e| words(&e))
    }
}
