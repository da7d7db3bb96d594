//! The program `foreign/gvisor`: how it is built, started, and asked.

use std::io::{BufReader, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

use rexmit_units::Instant;

use super::truth::Note;

/// A new host, in the place of the one before.
pub const NEW: u8 = b'n';
/// A packet arrives.
pub const RECEIVE: u8 = b'r';
/// Timers run, the application acts.
pub const WAKE: u8 = b'w';

/// A process that runs it.
pub struct Program {
    child: Child,
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

/// What a host says when it was asked.
pub struct Answer {
    /// When to ask it to wake.
    pub next: Option<Instant>,
    /// What it sends.
    pub sent: Vec<(Note, Vec<u8>)>,
}

impl Program {
    /// Starts it.
    ///
    /// # Errors
    /// One line, where it cannot be built or started.
    pub fn start() -> Result<Self, String> {
        let path = built()?;
        let mut command = Command::new(path);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", path.display()))?;
        let questions = child.stdin.take();
        let answers = BufReader::new(child.stdout.take().expect("piped"));
        Ok(Self { child, questions, answers })
    }

    /// Asks one of its two hosts.
    ///
    /// # Panics
    /// If the program has ended: its own words are on standard error.
    pub fn ask(&mut self, letter: u8, host: u8, body: &[&[u8]]) -> Answer {
        let mut question = vec![0; 4];
        question.extend([letter, host]);
        body.iter().for_each(|part| question.extend(*part));
        let len = (question.len() - 4) as u32;
        question[..4].copy_from_slice(&len.to_le_bytes());
        let questions = self.questions.as_mut().expect("it is open until the program is dropped");
        questions.write_all(&question).expect("the program reads");
        let len = self.number();
        let mut answer = vec![0; len as usize];
        self.answers.read_exact(&mut answer).expect("the program answers");
        let (next, mut rest) = answer.split_first_chunk::<8>().expect("a time");
        let next = u64::from_le_bytes(*next);
        let mut sent = Vec::new();
        while let Some((note, after)) = rest.split_first_chunk::<4>() {
            let (len, after) = after.split_first_chunk::<4>().expect("a length");
            let (packet, after) = after.split_at(u32::from_le_bytes(*len) as usize);
            sent.push((Note::read(*note), packet.to_vec()));
            rest = after;
        }
        Answer { next: (next != u64::MAX).then(|| Instant::from_nanos(next)), sent }
    }

    fn number(&mut self) -> u32 {
        let mut bytes = [0; 4];
        self.answers.read_exact(&mut bytes).expect("the program answers");
        u32::from_le_bytes(bytes)
    }
}

impl Drop for Program {
    /// It ends when nobody asks any more.
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.child.wait();
    }
}

/// The folder of its source.
fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("gvisor")
}

/// The release of netstack that `go.mod` asks for.
pub fn version() -> String {
    let wanted = std::fs::read_to_string(source().join("go.mod")).expect("the program was built from it");
    let mut lines = wanted.lines().filter_map(|line| line.trim().strip_prefix("gvisor.dev/gvisor "));
    format!("gVisor {}", lines.next().expect("it asks for a release"))
}

/// Where the program is, built once a process.
fn built() -> Result<&'static Path, String> {
    static BUILT: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    BUILT.get_or_init(build).as_deref().map_err(Clone::clone)
}

/// Builds it beside the program that wants it, with `go`, which loads what `go.sum` lists where it is not here.
fn build() -> Result<PathBuf, String> {
    let told = |error: &dyn std::fmt::Display| format!("gvisor cannot be built: {error}");
    let path = std::env::current_exe().map_err(|error| told(&error))?.with_file_name("foreign-gvisor");
    // Another process may run the one that is there, or be at it too: the last one that is ready stays.
    let whole = path.with_extension(std::process::id().to_string());
    let mut command = Command::new("go");
    command.args(["build", "-trimpath", "-buildvcs=false", "-o"]).arg(&whole).current_dir(source());
    let done = command.env("CGO_ENABLED", "0").output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => told(&"go is not installed: https://go.dev/dl"),
        _ => told(&error),
    })?;
    if !done.status.success() {
        let words = String::from_utf8_lossy(&done.stderr);
        return Err(told(&words.lines().last().unwrap_or("go says nothing")));
    }
    std::fs::rename(&whole, &path).map_err(|error| told(&error))?;
    Ok(path)
}
