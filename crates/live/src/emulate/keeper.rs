//! A keeper: the process between the emulator and a program that it runs.
//!
//! It is the first process of a PID namespace, which holds the program and all that this starts. It ends when the
//! program does, and is killed with the emulator; the kernel then kills whatever else is in the namespace, daemons too,
//! so nothing survives, no matter who is killed in which order. (In a guest, which ends with all that it runs, it
//! adopts what the program leaves behind instead: the guest's kernel has no PID namespaces.) It leads a process group
//! of its own, out of reach of what is sent to the terminal's.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::fcntl::OFlag;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, kill};
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, pipe2, setpgid};
use serde::{Deserialize, Serialize};

use crate::sys::namespace::Namespace;
use crate::sys::process::{
    Kind, Place, adopt_orphans, close_all_but, copy_off, die_with_parent, kill_children, lead_group,
    mount_proc, reap, show_instead, signal_children, signal_namespace, signals, spawn,
};

/// Time that a program has between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(2);
/// Time that what a program has left running has.
const GRACE_OF_REST: Duration = Duration::from_millis(500);

/// A program to run, and where.
#[derive(Debug)]
pub struct Started<'a> {
    /// Its name and arguments.
    pub argv: &'a [String],
    /// What its environment has.
    pub environment: &'a [(String, String)],
    /// Besides this process's own.
    pub inherits: bool,
    /// The folder that it begins in; this process's own where there is none.
    pub folder: Option<&'a Path>,
    /// What it sees as the root.
    pub root: Option<&'a Path>,
    /// Where it runs; this process's own namespace where there is none.
    pub namespace: Option<&'a Namespace>,
    /// The terminal's foreground group, which it joins to be used there; without one it reads nothing.
    pub foreground: Option<i32>,
    /// Where its standard output and its errors go; to this process's where there is nothing.
    pub printed: Option<[&'a File; 2]>,
    /// Standard output goes to standard error.
    pub to_stderr: bool,
    /// What it sees as /etc/hosts, where that is another file.
    pub host_names: Option<&'a Path>,
    /// The user and group that it becomes again, in a user namespace.
    pub user: Option<(u32, u32)>,
    /// It and all that it starts are in a PID namespace of their own.
    pub contained: bool,
    /// The keeper holds it open: whoever reads at its other end knows when it is gone.
    pub held: BorrowedFd<'a>,
}

impl Started<'_> {
    /// Its command, with what it reads and where it prints.
    ///
    /// # Errors
    /// Where there is no further descriptor for what it prints.
    pub fn command(&self) -> io::Result<Command> {
        let mut command = Command::new(&self.argv[0]);
        command.args(&self.argv[1..]);
        if !self.inherits {
            command.env_clear();
        }
        command.envs(self.environment.iter().map(|(k, v)| (k, v)));
        if self.foreground.is_none() {
            command.stdin(Stdio::null());
        }
        if let Some([output, errors]) = self.printed {
            command.stdout(Stdio::from(output.try_clone()?)).stderr(Stdio::from(errors.try_clone()?));
        }
        if self.to_stderr {
            command.stdout(Stdio::from(io::stderr().as_fd().try_clone_to_owned()?));
        }
        Ok(command)
    }

    /// Where it runs.
    pub fn place(&self) -> Place<'_> {
        Place {
            namespace: self.namespace,
            root: self.root,
            folder: self.folder,
            leads_group: self.foreground.is_none(),
            user: self.user,
        }
    }
}

/// What a keeper says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Report {
    /// Something worth a line for people.
    Note(String),
    /// The program runs.
    Started,
    /// It could not be started: why, and the exit code that a shell gives then.
    Failed {
        /// One line.
        why: String,
        /// 126 or 127.
        code: i32,
    },
    /// It has ended with this code; 128 and the signal where one ended it.
    Exited {
        /// The code.
        code: i32,
    },
}

/// A program under its keeper.
#[derive(Debug)]
pub struct Keeper {
    pid: Pid,
    reports: File,
    heard: Vec<u8>,
    /// Nothing more will be said: the keeper is gone.
    over: bool,
    /// It has said how its program ended.
    told: bool,
}

impl Keeper {
    /// Starts a program under a new keeper. This process must have one thread.
    ///
    /// # Errors
    /// Where no process can be made. What is wrong with the program is a [`Report`].
    pub fn start(program: &Started<'_>) -> io::Result<Self> {
        let (reports, to) = pipe2(OFlag::O_CLOEXEC | OFlag::O_NONBLOCK)?;
        let (ready, say_ready) = pipe2(OFlag::O_CLOEXEC)?;
        let (to, ready) = (File::from(to), File::from(ready));
        let kind = if program.contained { Kind::First } else { Kind::Plain };
        let pid = copy_off(kind, || keep(program, &to, &ready).map_or(1, |()| 0))?;
        if let Some(group) = program.foreground {
            // The group has no number in the keeper's namespace: it is moved from here.
            setpgid(pid, Pid::from_raw(group))?;
        }
        File::from(say_ready).write_all(b"\n")?;
        Ok(Self { pid, reports: reports.into(), heard: Vec::new(), over: false, told: false })
    }

    /// What it has said since the last call.
    pub fn hear(&mut self) -> Vec<Report> {
        let mut buffer = [0; 4096];
        while !self.over {
            match self.reports.read(&mut buffer) {
                Ok(0) => self.over = true,
                Ok(len) => self.heard.extend_from_slice(&buffer[..len]),
                Err(_) => break,
            }
        }
        let whole = self.heard.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let lines: Vec<u8> = self.heard.drain(..whole).collect();
        let all: Vec<Report> =
            lines.split(|b| *b == b'\n').filter_map(|line| serde_json::from_slice(line).ok()).collect();
        self.told |= all.iter().any(|r| matches!(r, Report::Failed { .. } | Report::Exited { .. }));
        all
    }

    /// True if it is gone without having said how its program ended: it was killed.
    pub fn was_killed(&self) -> bool {
        self.over && !self.told
    }

    /// True once the keeper is gone, and with it all that it kept.
    pub fn is_over(&self) -> bool {
        self.over
    }

    /// Asks the program to end; after a while it is killed.
    pub fn end(&self) {
        if !self.over {
            let _ = kill(self.pid, Signal::SIGTERM);
        }
    }
}

impl AsFd for Keeper {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reports.as_fd()
    }
}

/// The keeper's process. It begins when a byte comes from `ready`, and does nothing if none does.
fn keep(program: &Started<'_>, mut to: &File, mut ready: &File) -> io::Result<()> {
    // The emulator's own interfaces and records are gone when it is, not when the last keeper is.
    let mut kept = vec![to.as_fd(), ready.as_fd(), program.held];
    kept.extend(program.namespace.map(Namespace::fd));
    kept.extend(program.printed.into_iter().flatten().map(AsFd::as_fd));
    close_all_but(&kept)?;
    // Everything that would end it early is held back; SIGCHLD and SIGTERM are read.
    let all = [Signal::SIGCHLD, Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT];
    let signals = signals(&all)?;
    die_with_parent(Signal::SIGKILL)?;
    // Fails if the emulator has ended before that.
    ready.read_exact(&mut [0])?;
    if !program.contained {
        adopt_orphans()?;
    } else if let Err(e) = mount_proc() {
        let text = format!("{}: /proc shows it the processes of the machine ({e})", program.argv[0]);
        say(&mut to, &Report::Note(text))?;
    }
    if let Some(file) = program.host_names.filter(|_| program.contained)
        && let Err(e) = show_instead(file, Path::new("/etc/hosts"))
    {
        let text = format!("{}: hosts have no names there, only variables ({e})", program.argv[0]);
        say(&mut to, &Report::Note(text))?;
    }
    let mut child = match program.command().and_then(|mut command| spawn(&mut command, &program.place())) {
        Ok(child) => child,
        Err(e) => return say(&mut to, &failure(&program.argv[0], &e)),
    };
    // Not before: the program has begun in the terminal's foreground group.
    lead_group()?;
    drop(child.stdin.take());
    say(&mut to, &Report::Started)?;
    let child = Pid::from_raw(child.id() as i32);
    let code = watch(child, program.foreground.is_none(), &signals);
    say(&mut to, &Report::Exited { code }).ok();
    end_the_rest(program.contained)
}

/// Ends what the program has left running.
fn end_the_rest(contained: bool) -> io::Result<()> {
    let told =
        if contained { signal_namespace(Signal::SIGTERM) } else { signal_children(Signal::SIGTERM)? > 0 };
    let until = Instant::now() + GRACE_OF_REST;
    while told && reap().1 && Instant::now() < until {
        std::thread::sleep(Duration::from_millis(5));
    }
    if contained {
        signal_namespace(Signal::SIGKILL);
        while reap().1 {
            std::thread::sleep(Duration::from_millis(1));
        }
    } else {
        kill_children();
    }
    Ok(())
}

/// Waits until the program has ended, killing it where it must; its exit code.
fn watch(child: Pid, group: bool, signals: &SignalFd) -> i32 {
    let mut deadline: Option<Instant> = None;
    loop {
        while let (Some((pid, code)), _) = reap() {
            if pid == child {
                return code;
            }
        }
        let left = deadline.map(|d| d.saturating_duration_since(Instant::now()));
        if left.is_some_and(|left| left.is_zero()) {
            let _ = kill(child, Signal::SIGKILL);
            deadline = None;
        }
        let timeout = left.map_or(PollTimeout::NONE, |left| {
            PollTimeout::try_from(left.as_millis() as i32 + 1).unwrap_or(PollTimeout::MAX)
        });
        let _ = poll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], timeout);
        while let Ok(Some(signal)) = signals.read_signal() {
            if signal.ssi_signo != Signal::SIGTERM as u32 {
                continue;
            }
            if deadline.is_none() {
                // A stopped process hears nothing.
                let to = if group { Pid::from_raw(-child.as_raw()) } else { child };
                let _ = kill(to, Signal::SIGTERM);
                let _ = kill(to, Signal::SIGCONT);
                deadline = Some(Instant::now() + GRACE);
            }
        }
    }
}

/// Why a program of this name could not be started.
pub fn failure(name: &str, error: &io::Error) -> Report {
    let (why, code) = match error.kind() {
        io::ErrorKind::NotFound => (format!("{name}: command not found"), 127),
        io::ErrorKind::PermissionDenied => (format!("{name}: cannot be executed: permission denied"), 126),
        _ => (format!("{name}: cannot be started: {error}"), 126),
    };
    Report::Failed { why, code }
}

fn say(to: &mut impl Write, report: &Report) -> io::Result<()> {
    let mut line = serde_json::to_vec(report)?;
    line.push(b'\n');
    to.write_all(&line)
}
