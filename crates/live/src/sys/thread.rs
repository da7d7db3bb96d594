//! This thread: its core, its priority, and how exactly it is woken.

use std::io;

use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;

use super::{about, check};

/// Keeps this thread on a core.
///
/// # Errors
/// Where there is no such core, or this process may not use it.
pub fn pin(core: usize) -> io::Result<()> {
    let mut set = CpuSet::new();
    let pinned = set.set(core).and_then(|()| sched_setaffinity(Pid::from_raw(0), &set));
    pinned.map_err(io::Error::from).map_err(about(format!("core {core}")))
}

/// Sets the niceness of this thread: -20 goes first, 19 last.
///
/// # Errors
/// Without CAP_SYS_NICE, where it is to go before others.
pub fn set_nice(nice: i32) -> io::Result<()> {
    // SAFETY: a plain system call; 0 names this thread (Linux has a niceness for each).
    let answer = unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, nice) };
    check(answer.into()).map(drop).map_err(about(format!("niceness {nice}")))
}

/// Has timeouts of this thread end as soon as the clock allows. Linux adds 50 us otherwise, to save wake-ups
/// (PR_SET_TIMERSLACK).
///
/// # Errors
/// None on Linux.
pub fn be_punctual() -> io::Result<()> {
    Ok(nix::sys::prctl::set_timerslack(1)?)
}
