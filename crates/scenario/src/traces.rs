//! Files of traces: opened, read whole once, and shared by every run of the process.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use rexmit_path::trace::TraceBytes;
use rexmit_path::{Trace, TraceFile, TraceName};
use sha2::{Digest, Sha256};

use crate::known::{Known, check_hash, digits, unreadable, words};

/// A file of at most this many bytes is kept in memory; of a longer one, each reader holds a piece.
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
    let TraceName { file, sha256 } = &trace.trace;
    let opened = open_trace_file(Path::new(file))?;
    check_hash(file, "trace", sha256.as_deref(), &opened.sha256)?;
    Ok(opened.file)
}

/// The same for a file by its name.
///
/// # Errors
/// As [`open_trace`].
pub fn open_trace_file(path: &Path) -> Result<OpenedTrace, String> {
    KNOWN.open(path, |file, len| read(path, file, len))
}

static KNOWN: Known<OpenedTrace> = Known::new();

fn read(path: &Path, file: File, len: u64) -> Result<OpenedTrace, String> {
    let whole: Arc<dyn TraceBytes> = if len <= MOST_KEPT {
        let mut bytes = vec![0; len as usize];
        read_exact(&file, &mut bytes).map_err(|e| unreadable(path, &e))?;
        Arc::new(bytes)
    } else {
        Arc::new(Pieces { file: Mutex::new(file) })
    };
    let hashed = Arc::new(Hashed { bytes: whole.clone(), hash: Mutex::new(Sha256::new()) });
    let file = TraceFile::survey(&path.display().to_string(), hashed.clone()).map_err(|e| e.to_string())?;
    let hash = hashed.hash.lock().unwrap_or_else(PoisonError::into_inner).clone().finalize();
    Ok(OpenedTrace { file: file.with_bytes(whole), sha256: digits(hash) })
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
