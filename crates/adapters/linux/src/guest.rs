//! A guest's process, asked and answering.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::error::GuestError;
use crate::pool::Kernel;
use crate::protocol::{Answer, LONGEST, MARK, Request, frame, message};

/// How long a guest may say nothing: a step of a run takes microseconds.
const PATIENCE: Duration = Duration::from_secs(60);

/// Bytes that are read at once.
const PIECE: usize = 1 << 16;

/// A guest that has been booted.
#[derive(Debug)]
pub(crate) struct Guest {
    kernel: Kernel,
    started_by: u32,
    process: Child,
    line: UnixStream,
    /// What has been read and not looked at.
    read: Vec<u8>,
    /// What its kernel has printed.
    printed: Vec<u8>,
}

impl Guest {
    /// Boots a kernel.
    pub fn start(kernel: Kernel) -> Result<Self, GuestError> {
        static STARTED: AtomicU64 = AtomicU64::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let started = || {
            let (line, theirs) = UnixStream::pair()?;
            line.set_read_timeout(Some(PATIENCE))?;
            let (program, words) = kernel.command.split_first().ok_or(io::ErrorKind::NotFound)?;
            let process = Command::new(program)
                .args(words)
                .arg(format!("umid=stepped-{}-{number}", std::process::id()))
                .envs(kernel.environment.iter().map(|(name, value)| (name, value)))
                .stdin(OwnedFd::from(theirs.try_clone()?))
                .stdout(OwnedFd::from(theirs))
                .stderr(Stdio::null())
                // What a kernel's process sends to its group as it ends reaches nobody else.
                .process_group(0)
                .spawn()?;
            Ok((line, process))
        };
        match started() {
            Ok((line, process)) => Ok(Self {
                kernel,
                started_by: std::process::id(),
                process,
                line,
                read: Vec::new(),
                printed: Vec::new(),
            }),
            Err(error) => Err(GuestError::Start { kernel: kernel.version, error }),
        }
    }

    /// Its kernel.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// The process that has started it.
    pub fn started_by(&self) -> u32 {
        self.started_by
    }

    /// Whether its process has not ended.
    pub fn lives(&mut self) -> bool {
        matches!(self.process.try_wait(), Ok(None))
    }

    /// Asks it something.
    pub fn ask(&mut self, request: &Request) -> Result<Answer, GuestError> {
        let frame = frame(request).map_err(|_| GuestError::Garbled(self.kernel.version.clone()))?;
        self.line.write_all(&frame).map_err(|error| self.failed(&error))?;
        let answer = self.answer().map_err(|error| self.failed(&error))?;
        match message(&answer) {
            Ok(Answer::Wrong(text)) => Err(GuestError::Refused(text)),
            Ok(answer) => Ok(answer),
            Err(_) => Err(GuestError::Garbled(self.kernel.version.clone())),
        }
    }

    /// The next frame; what stands before it was printed.
    fn answer(&mut self) -> io::Result<Vec<u8>> {
        loop {
            if let Some(at) = self.read.iter().position(|byte| *byte == MARK) {
                self.printed.extend(self.read.drain(..at));
                if let Some(found) = self.whole()? {
                    return Ok(found);
                }
            }
            let before = self.read.len();
            self.read.resize(before + PIECE, 0);
            let got = self.line.read(&mut self.read[before..]);
            self.read.truncate(before + *got.as_ref().unwrap_or(&0));
            match got {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Err(e) if e.kind() != io::ErrorKind::Interrupted => return Err(e),
                _ => {}
            }
        }
    }

    /// The frame with which begins what has been read, once it is whole.
    fn whole(&mut self) -> io::Result<Option<Vec<u8>>> {
        let Some(len) = self.read.get(1..5).and_then(|bytes| bytes.try_into().ok()) else { return Ok(None) };
        let len = u32::from_le_bytes(len);
        if len > LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let end = 5 + len as usize;
        if self.read.len() < end {
            return Ok(None);
        }
        let rest = self.read.split_off(end);
        let mut found = std::mem::replace(&mut self.read, rest);
        found.drain(..5);
        Ok(Some(found))
    }

    fn failed(&mut self, error: &io::Error) -> GuestError {
        let kernel = self.kernel.version.clone();
        self.printed.append(&mut self.read);
        let (telling, words) = last_words(&self.printed);
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            let words = if words.is_empty() { String::new() } else { format!(": {words}") };
            return GuestError::Hung { kernel, seconds: PATIENCE.as_secs(), words };
        }
        GuestError::Ended { kernel, words: if telling { words } else { self.ending() } }
    }

    /// How its process ended, of which it has said nothing.
    fn ending(&mut self) -> String {
        // What has ended is not killed any more, and is what it is.
        let _ = self.process.kill();
        self.process.wait().map_or_else(|_| "it said nothing".to_string(), |status| status.to_string())
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        // It holds nothing that is to be kept; one that is asked to end might hang.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// The line of what a kernel has printed that says why it ended, with the function of a fault; or the last. Which of the two.
fn last_words(printed: &[u8]) -> (bool, String) {
    let text = String::from_utf8_lossy(printed);
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let telling = |line: &&str| {
        ["Kernel panic", "BUG:", "Oops", "Out of memory", "rexmit: error", "engine:"]
            .iter()
            .any(|word| line.contains(word))
    };
    let Some(told) = lines().find(telling) else {
        return (false, lines().next_back().unwrap_or_default().to_string());
    };
    let called =
        |line: &str| Some(line.strip_prefix("[<")?.split_once(">] ")?.1.trim_start_matches("? ").to_string());
    let place = lines().find_map(called).filter(|_| told.contains("ault"));
    (true, place.map_or_else(|| told.to_string(), |place| format!("{told} (at {place})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_of_a_kernel_is_told_by_what_says_most() {
        let stack = "Call Trace:\n [<6036b05c>] ? tcp_ack+0xbc/0x17a0\n [<6007fb00>] ? later+0x0/0xe0\n";
        let fault = "Kernel panic - not syncing: Segfault with no mm";
        let told = |text: String| last_words(text.as_bytes()).1;
        assert_eq!(told(format!("hello\n{fault}\n{stack}")), format!("{fault} (at tcp_ack+0xbc/0x17a0)"));
        let bug = "BUG: failure at net/ipv4/tcp_input.c:3895/tcp_ack()!";
        assert_eq!(told(format!("{bug}\nKernel panic - not syncing: BUG!\n{stack}")), bug);
        assert_eq!(told("hello\nbye\n\n".into()), "bye");
        assert_eq!(told(String::new()), "");
    }
}
