//! A program at work: its process, and the line to it.

use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStderr, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::about::About;
use crate::error::ProgramError;
use crate::frame::{self, Answer, Call, LONGEST};
use crate::lead::{Key, Lead};
use crate::memory::{self, Memory, Offer};
use crate::pool::Command;
use crate::seat::Seat;

/// The descriptor that is the program's line to rexmit.
const LINE: i32 = 3;
/// Bytes that are read at once.
const PIECE: usize = 1 << 16;
/// This much of what it prints as errors is kept.
const KEPT: usize = 4_096;
/// How long a program that has closed its line has to end, so that its exit status tells why.
const TO_END: Duration = Duration::from_millis(500);
/// How long it has to answer that the run is over.
const TO_PART: Duration = Duration::from_secs(1);

/// A program that has been started.
#[derive(Debug)]
pub struct Program {
    command: Command,
    started_by: u32,
    process: Child,
    /// The processor that it keeps to.
    processor: Option<usize>,
    line: UnixStream,
    /// The line through memory that it is offered, and that it has taken up.
    offer: Option<Offer>,
    memory: Option<Memory>,
    /// What it has printed as errors; whoever listens to it has a share while it can print more.
    printed: Arc<Mutex<Vec<u8>>>,
    /// What its clock is led by.
    lead: Option<Lead>,
    /// Its group is killed once this is closed, however that comes.
    #[expect(dead_code, reason = "held, and closed with it")]
    leash: UnixStream,
    out: Vec<u8>,
    /// What has been read: the first `have` bytes.
    read: Vec<u8>,
    have: usize,
}

impl Program {
    /// Starts a program in a session of its own, led where there is a key for its random numbers.
    pub(crate) fn start(command: Command, key: Option<Key>) -> Result<Self, ProgramError> {
        let started = || {
            let (line, theirs) = UnixStream::pair()?;
            line.set_read_timeout(Some(command.patience))?;
            line.set_write_timeout(Some(command.patience))?;
            let (name, words) = command.words.split_first().ok_or(io::ErrorKind::NotFound)?;
            // A name with a slash is seen from the folder, as it would be by a shell there.
            let name = if name.contains('/') { command.folder.join(name) } else { Path::new(name).into() };
            let mut process = std::process::Command::new(name);
            process.args(words).current_dir(&command.folder);
            process.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
            let lead = key.as_ref().map(Lead::new).transpose()?;
            process.envs(lead.iter().flat_map(Lead::environment));
            // Without memory the socket does.
            let offer = Offer::new().ok();
            process.env_remove(memory::VARIABLE).envs(offer.as_ref().map(Offer::environment));
            let (leash, watched) = UnixStream::pair()?;
            become_program(&mut process, theirs.into(), watched.into());
            let mut process = process.spawn()?;
            let printed = Arc::<Mutex<Vec<u8>>>::default();
            let (errors, kept) = (process.stderr.take(), Arc::clone(&printed));
            let listens = move || errors.into_iter().for_each(|errors| listen(errors, &kept));
            std::thread::Builder::new().name("errors of a program".into()).spawn(listens)?;
            Ok((line, process, printed, lead, leash, offer))
        };
        let (line, process, printed, lead, leash, offer) = started().map_err(ProgramError::Start)?;
        Ok(Self {
            command,
            started_by: std::process::id(),
            process,
            processor: None,
            line,
            offer,
            memory: None,
            printed,
            lead,
            leash,
            out: Vec::with_capacity(PIECE),
            read: vec![0; PIECE],
            have: 0,
        })
    }

    /// How it was started.
    pub(crate) fn command(&self) -> &Command {
        &self.command
    }

    /// The process that has started it.
    pub(crate) fn started_by(&self) -> u32 {
        self.started_by
    }

    /// Whether it has not ended.
    pub(crate) fn lives(&self) -> bool {
        !has_ended(self.process.id())
    }

    /// Brings it to the processor of a run.
    pub(crate) fn sit(&mut self, seat: &Seat) {
        if self.processor.replace(seat.processor()) != Some(seat.processor()) {
            seat.bring(self.process.id());
        }
    }

    /// Tells it of a run.
    ///
    /// # Errors
    /// A program that does not answer, speaks another version, not this protocol, or is not led as it should be.
    pub fn hello(&mut self, seed: &[u8; 32], settings: &str, protocol: &str) -> Result<About, ProgramError> {
        let answer = self.ask(&Call::Hello { seed, settings }, 0, 0)?;
        if answer.memory && self.memory.is_none() {
            let offer = self.offer.take().ok_or(io::ErrorKind::NotFound);
            let begun = offer
                .map_err(io::Error::from)
                .and_then(|offer| Memory::begin(&offer, &self.line, self.command.patience));
            self.memory = Some(begun.map_err(ProgramError::Start)?);
        }
        if self.lead.as_ref().is_some_and(|lead| !lead.leads(self.process.id())) {
            return Err(ProgramError::Unled);
        }
        match answer.version {
            Some(frame::VERSION) => {}
            Some(other) => {
                let text =
                    format!("it speaks version {other} of the protocol, and rexmit {}", frame::VERSION);
                return Err(ProgramError::Garbled(text));
            }
            None => return Err(ProgramError::Garbled("it does not say which version it speaks".into())),
        }
        if let Some(spoken) = &answer.protocols
            && !spoken.split(' ').any(|one| one == protocol)
        {
            let text = format!("it speaks {spoken}, and the host {protocol}: give stack.protocol");
            return Err(ProgramError::Garbled(text));
        }
        let Answer { name, build: version, forgets, datagrams, follows_up, .. } = answer;
        Ok(About { name, version, forgets, datagrams, follows_up })
    }

    /// Tells it that the run is over; whether it has answered.
    pub(crate) fn bye(&mut self) -> bool {
        self.line.set_read_timeout(Some(TO_PART)).is_ok()
            && self.ask(&Call::Bye, 0, 0).is_ok()
            && self.line.set_read_timeout(Some(self.command.patience)).is_ok()
    }

    /// Asks it something at `now` (ns) about an end.
    ///
    /// # Errors
    /// A program that does not answer as the protocol has it. It must not be asked again.
    pub fn ask(&mut self, call: &Call<'_>, now: u64, end: u32) -> Result<Answer, ProgramError> {
        let until = (!self.command.pause.is_zero()).then(|| Instant::now() + self.command.pause);
        while let Some(left) = until.and_then(|until| until.checked_duration_since(Instant::now())) {
            std::thread::park_timeout(left);
        }
        // At its end the run has no time of its own any more.
        if let Some(lead) = self.lead.as_ref().filter(|_| !matches!(call, Call::Bye)) {
            lead.set_now(now).map_err(ProgramError::Start)?;
        }
        self.out.clear();
        call.append_to(now, end, &mut self.out);
        let most = matches!(call, Call::Bye).then_some(TO_PART);
        let len = match self.send().and_then(|()| self.receive(most)) {
            Ok(len) => len,
            Err(error) => return Err(self.failed(&error)),
        };
        let Some(frame) = self.read.get(4..4 + len).filter(|_| 4 + len <= self.have) else {
            let text = format!("it answered with a frame of {len} bytes; allowed: 1 to {LONGEST}");
            return Err(ProgramError::Garbled(text));
        };
        let answer = Answer::parse(call, frame).map_err(|wrong| match wrong {
            Ok(refused) => ProgramError::Refused(refused),
            Err(wrong) => ProgramError::Garbled(format!("it answered {wrong}")),
        })?;
        if self.have > 4 + len {
            return Err(ProgramError::Garbled("it answered with more than one frame".into()));
        }
        self.have = 0;
        Ok(answer)
    }

    /// Makes the call whose frame is made.
    fn send(&mut self) -> io::Result<()> {
        if self.memory.as_ref().is_some_and(|memory| memory.call(&self.out)) {
            return Ok(());
        }
        self.line.write_all(&self.out)
    }

    /// Waits for the answer, through memory no longer than `most`; how long its frame says it is.
    fn receive(&mut self, most: Option<Duration>) -> io::Result<usize> {
        let Some(memory) = &self.memory else { return self.whole() };
        let Some(have) = memory.answer(&mut self.read, most)? else { return self.whole() };
        self.have = have;
        Ok(self.read.first_chunk().map_or(0, |len| u32::from_le_bytes(*len)) as usize)
    }

    /// Reads the next frame whole; how long it says it is.
    fn whole(&mut self) -> io::Result<usize> {
        let mut due = None;
        self.have = 0;
        loop {
            if let Some(len) = self.read[..self.have].first_chunk().map(|len| u32::from_le_bytes(*len)) {
                let need = 4 + len as usize;
                if len == 0 || len > LONGEST || self.have >= need {
                    return Ok(len as usize);
                }
                if self.read.len() < need {
                    self.read.resize(need, 0);
                }
            }
            match self.line.read(&mut self.read[self.have..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(got) => self.have += got,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
            // An answer that trickles has no more time than one that does not come. No run sees this clock.
            let due = due.get_or_insert_with(|| Instant::now() + self.command.patience);
            if Instant::now() > *due {
                return Err(io::ErrorKind::TimedOut.into());
            }
        }
    }

    fn failed(&mut self, error: &io::Error) -> ProgramError {
        if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) {
            let seconds = self.command.patience.as_secs_f64();
            return ProgramError::Hung { seconds, words: self.last_words() };
        }
        // One that ends closes its line first.
        wait_until(|| has_ended(self.process.id()));
        let by_itself = has_ended(self.process.id());
        end_group(self.process.id());
        let ending = match self.process.wait() {
            Ok(status) if by_itself => status.to_string(),
            _ => format!("it closed descriptor {LINE}"),
        };
        // What it has printed may not have been read yet.
        wait_until(|| Arc::strong_count(&self.printed) == 1);
        ProgramError::Ended { ending, words: self.last_words() }
    }

    /// The last line that it printed as an error, after a colon.
    fn last_words(&self) -> String {
        let printed = self.printed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut lines = printed.split(|byte| *byte == b'\n').map(frame::one_line);
        lines.rfind(|line| !line.is_empty()).map_or_else(String::new, |line| format!(": {line}"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It holds nothing that is to be kept: what it had to write, it wrote before it answered that the run is over.
        end_group(self.process.id());
        let _ = self.process.wait();
    }
}

/// Waits for what comes soon, if it comes.
fn wait_until(what: impl Fn() -> bool) {
    let due = Instant::now() + TO_END;
    while !what() && Instant::now() < due {
        std::thread::park_timeout(Duration::from_millis(1));
    }
}

/// Keeps the end of what a program prints as errors.
fn listen(mut errors: ChildStderr, kept: &Mutex<Vec<u8>>) {
    let mut piece = [0; KEPT];
    while let Ok(got @ 1..) = errors.read(&mut piece) {
        let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend(&piece[..got]);
        let over = kept.len().saturating_sub(KEPT);
        kept.drain(..over);
    }
}

/// What the process does before it is the program: it leads a session, ends with the thread that has started it, has the
/// line as its descriptor, and leaves a watcher in its group, which kills the group once the other side of `leash` is closed.
#[expect(unsafe_code, reason = "the system calls between fork and exec have no safe form")]
fn become_program(command: &mut std::process::Command, line: OwnedFd, leash: OwnedFd) {
    let parent = std::process::id() as libc::pid_t;
    let placed = move || {
        let (line, leash) = (line.as_raw_fd(), leash.as_raw_fd());
        // SAFETY: system calls on numbers, as are allowed between fork and exec; nothing allocates.
        unsafe {
            let dies = libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong, 0, 0, 0);
            if libc::setsid() < 0 || dies < 0 {
                return Err(io::Error::last_os_error());
            }
            // A parent that ended before would not be noticed.
            if libc::getppid() != parent {
                return Err(io::Error::from_raw_os_error(libc::ESRCH));
            }
            match libc::fork() {
                -1 => return Err(io::Error::last_os_error()),
                // Its parent ends at once, so that it is not a child of the program's.
                0 if libc::fork() == 0 => watch(leash),
                0 => libc::_exit(0),
                between => libc::waitpid(between, std::ptr::null_mut(), 0),
            };
            let placed =
                if line == LINE { libc::fcntl(line, libc::F_SETFD, 0) } else { libc::dup2(line, LINE) };
            if placed < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
        }
    };
    // SAFETY: `placed` makes system calls only, whose effects are this process's own.
    unsafe { command.pre_exec(placed) };
}

/// Waits until nobody holds the other side of `leash`, and kills its process group.
///
/// # Safety
/// In a process that has just been forked and does nothing else.
#[expect(unsafe_code, reason = "as above")]
unsafe fn watch(leash: i32) -> ! {
    // SAFETY: system calls on numbers and on a byte of its own.
    unsafe {
        libc::dup2(leash, 0);
        libc::syscall(libc::SYS_close_range, 1, libc::c_uint::MAX, 0);
        // As a copy of rexmit it would keep its memory: a shell is small. Without one it waits as it is.
        let words = [c"sh".as_ptr(), c"-c".as_ptr(), c"read x; kill -9 0".as_ptr(), std::ptr::null()];
        libc::execvp(c"/bin/sh".as_ptr(), words.as_ptr());
        let mut byte = 0_u8;
        while libc::read(0, (&raw mut byte).cast(), 1) != 0 {}
        libc::kill(0, libc::SIGKILL);
        libc::_exit(0)
    }
}

/// Whether a child has ended; it stays to be waited for, so that its number is nobody else's.
#[expect(unsafe_code, reason = "the standard library waits for a child and frees its number at once")]
fn has_ended(process: u32) -> bool {
    // SAFETY: a structure of numbers, for which all zeros are a value.
    let mut told: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let flags = libc::WEXITED | libc::WNOHANG | libc::WNOWAIT;
    // SAFETY: `told` is there for the call to fill.
    let waited = unsafe { libc::waitid(libc::P_PID, process, &raw mut told, flags) };
    // SAFETY: of a structure that a wait has filled, or left zero, this is the process.
    waited != 0 || unsafe { told.si_pid() } != 0
}

/// Kills the process group that a child leads, which has not been waited for.
#[expect(unsafe_code, reason = "the standard library kills one process, not a group")]
fn end_group(leader: u32) {
    if let Ok(leader) = libc::pid_t::try_from(leader) {
        // SAFETY: a system call on numbers.
        unsafe { libc::kill(-leader, libc::SIGKILL) };
    }
}
