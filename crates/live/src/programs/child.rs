//! A program that runs: under a keeper, or in a guest, which ends with all that it runs, as a child of the agent's own.
//!
//! A guest's process takes long to copy, so there the program is started without: only the network namespace of this
//! thread is changed, and changed back.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::emulate::{Keeper, Report, Started, failure};
use crate::sys::process::{Place, descriptor_of, exit_of, spawn};

/// A program under way.
pub enum Child {
    /// A keeper looks after it, and ends with all that it started.
    Kept(Keeper),
    /// It is a child of this process.
    Own(Own),
}

/// A child of this process.
pub struct Own {
    pid: Pid,
    /// Readable once it has ended.
    ended: Option<OwnedFd>,
    /// What there is to hear.
    told: Option<Report>,
    over: bool,
}

impl Child {
    /// Starts a program: `contained` under a keeper.
    ///
    /// # Errors
    /// Where no process can be made. What is wrong with the program is a [`Report`].
    pub fn start(program: &Started<'_>) -> io::Result<Self> {
        if program.contained {
            return Keeper::start(program).map(Self::Kept);
        }
        match begin(program) {
            Ok(pid) => {
                let ended = Some(descriptor_of(pid)?);
                Ok(Self::Own(Own { pid, ended, told: None, over: false }))
            }
            Err(e) => {
                let told = Some(failure(&program.argv[0], &e));
                Ok(Self::Own(Own { pid: Pid::from_raw(0), ended: None, told, over: true }))
            }
        }
    }

    /// A descriptor that tells when there is something to hear; none where nothing will come.
    pub fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Self::Kept(keeper) => Some(keeper.as_fd()),
            Self::Own(own) => own.ended.as_ref().map(AsFd::as_fd),
        }
    }

    /// What it has said since the last call.
    pub fn hear(&mut self) -> Vec<Report> {
        match self {
            Self::Kept(keeper) => {
                let mut all = keeper.hear();
                if keeper.was_killed() {
                    all.push(Report::Failed {
                        why: "the process that keeps it was killed".into(),
                        code: 137,
                    });
                }
                all
            }
            Self::Own(own) => {
                if let Some(code) = (!own.over).then(|| exit_of(own.pid)).flatten() {
                    (own.over, own.told) = (true, Some(Report::Exited { code }));
                }
                own.told.take().into_iter().collect()
            }
        }
    }

    /// It is gone.
    pub fn is_over(&self) -> bool {
        match self {
            Self::Kept(keeper) => keeper.is_over(),
            Self::Own(own) => own.over,
        }
    }

    /// Asks it to end.
    pub fn end(&self) {
        match self {
            Self::Kept(keeper) => keeper.end(),
            Self::Own(own) if !own.over => {
                // A stopped process hears nothing.
                let group = Pid::from_raw(-own.pid.as_raw());
                let _ = kill(group, Signal::SIGTERM);
                let _ = kill(group, Signal::SIGCONT);
            }
            Self::Own(_) => {}
        }
    }
}

fn begin(program: &Started<'_>) -> io::Result<Pid> {
    let mut command = program.command()?;
    let child = if program.root.is_some() {
        // In a guest it stays root.
        spawn(&mut command, &Place { user: None, ..program.place() })?
    } else {
        if let Some(folder) = program.folder {
            command.current_dir(folder);
        }
        command.process_group(0);
        match program.namespace {
            Some(namespace) => namespace.within(|| command.spawn())?,
            None => command.spawn()?,
        }
    };
    Ok(Pid::from_raw(child.id() as i32))
}
