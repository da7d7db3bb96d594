//! Processes: forked, bound to the life of their parent, placed in a namespace, listed, ended.

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command};

use nix::errno::Errno;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, clone, unshare};
use nix::sys::prctl;
use nix::sys::signal::{SigHandler, SigSet, SigmaskHow, Signal, kill, sigprocmask};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, chdir, chroot, getpid, getppid, setpgid};
use rexmit_files::set_kernel_value;

use super::namespace::Namespace;
use super::{about, check};

/// Where and as whom a program begins.
#[derive(Debug, Default)]
pub struct Place<'a> {
    /// Its network namespace; this process's own where there is none.
    pub namespace: Option<&'a Namespace>,
    /// What it sees as the root.
    pub root: Option<&'a Path>,
    /// The folder that it begins in, within that root; this process's own where there is none.
    pub folder: Option<&'a Path>,
    /// It leads a process group of its own; else it stays in that of this process.
    pub leads_group: bool,
    /// The user and group that it becomes again, where this process is root of a user namespace only.
    pub user: Option<(u32, u32)>,
}

/// What a copy of this process is to those below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A process like any other.
    Plain,
    /// The first of a PID namespace: when it ends, however that comes, the kernel kills all others in there. Its mounts
    /// are its own.
    First,
}

/// Stack of a copy, bytes.
const STACK: usize = 1 << 20;

/// Runs `work` in a copy of this process, which must have one thread, and ends the copy with its answer.
///
/// # Errors
/// Where no process can be made; of [`Kind::First`], without CAP_SYS_ADMIN.
pub fn copy_off(kind: Kind, mut work: impl FnMut() -> i32) -> io::Result<Pid> {
    let flags = match kind {
        Kind::Plain => CloneFlags::empty(),
        Kind::First => CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWNS,
    };
    let mut stack = vec![0; STACK];
    // unshare() would do for fork() as well, but only root comes back from it, and until then no thread can be made.
    // SAFETY: this process has one thread, so the copy finds every lock as it left it. The copy has memory of its own,
    // this stack too, and ends with the function.
    let copied = unsafe {
        clone(Box::new(|| work() as isize), &mut stack, flags, Some(Signal::SIGCHLD as libc::c_int))
    };
    let what = if kind == Kind::First { "a PID namespace" } else { "a process" };
    copied.map_err(io::Error::from).map_err(about(what))
}

/// Closes every descriptor but the standard ones and these. None of this process's own values that are left may be
/// dropped: for a copy that ends without that.
///
/// # Errors
/// Where /proc is not mounted.
pub fn close_all_but(kept: &[BorrowedFd<'_>]) -> io::Result<()> {
    let place = "/proc/self/fd";
    let entries = fs::read_dir(place).map_err(about(place))?;
    // All are read before the first is closed: the list is one of them.
    let open: Vec<i32> = entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect();
    for number in open {
        if number > libc::STDERR_FILENO && kept.iter().all(|k| k.as_raw_fd() != number) {
            // SAFETY: takes a number; the caller has promised that nobody uses it.
            unsafe { libc::close(number) };
        }
    }
    Ok(())
}

/// Shows the processes of this process's own PID namespace in /proc, in its own mount namespace.
///
/// # Errors
/// Where this is not allowed: in a container whose /proc is partly hidden, without root.
pub fn mount_proc() -> io::Result<()> {
    let nowhere = None::<&str>;
    // Else it would cover that of the machine too.
    mount(nowhere, "/proc", nowhere, MsFlags::MS_PRIVATE, nowhere)?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
    Ok(mount(Some("proc"), "/proc", Some("proc"), flags, nowhere)?)
}

/// Shows one file in the place of another, in this process's own mount namespace.
///
/// # Errors
/// Where one of them is not there, or this is not allowed.
pub fn show_instead(file: &Path, place: &Path) -> io::Result<()> {
    let nowhere = None::<&str>;
    // Else the machine would see it, too; what that mounts later is still seen here.
    mount(nowhere, "/", nowhere, MsFlags::MS_REC | MsFlags::MS_SLAVE, nowhere)?;
    mount(Some(file), place, nowhere, MsFlags::MS_BIND, nowhere)
        .map_err(io::Error::from)
        .map_err(about(place.display()))
}

/// Starts a program at its place. It is killed when this thread ends, however that comes.
///
/// # Errors
/// Those of the place; `NotFound` and `PermissionDenied` for the program.
pub fn spawn(command: &mut Command, place: &Place<'_>) -> io::Result<Child> {
    let parent = getpid();
    let (leads_group, user) = (place.leads_group, place.user);
    let namespace = place.namespace.map(Namespace::try_clone).transpose()?;
    let (root, folder) = (place.root.map(Path::to_owned), place.folder.map(Path::to_owned));
    let placed = move || -> io::Result<()> {
        if leads_group {
            lead_group()?;
        }
        as_at_login()?;
        if let Some(namespace) = &namespace {
            namespace.enter()?;
        }
        if let Some(root) = &root {
            chroot(root.as_path())?;
        }
        if let Some(folder) = &folder {
            chdir(folder.as_path())?;
        }
        if let Some((user, group)) = user {
            unshare(CloneFlags::CLONE_NEWUSER)?;
            set_kernel_value("/proc/self/uid_map", format!("{user} 0 1"))?;
            set_kernel_value("/proc/self/gid_map", format!("{group} 0 1"))?;
        }
        // Last: a change of user would undo it.
        die_with(parent, Signal::SIGKILL)
    };
    // SAFETY: this process has one thread, so its copy finds every lock, that of the allocator too, as it was left.
    unsafe { command.pre_exec(placed) };
    command.spawn()
}

/// Holds no signal back and ignores none, whatever this process does: a program inherits that.
fn as_at_login() -> io::Result<()> {
    SigSet::empty().thread_set_mask()?;
    for signal in [Signal::SIGPIPE, Signal::SIGXFSZ, Signal::SIGINT, Signal::SIGQUIT] {
        // SAFETY: the default action needs no handler.
        unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl)? };
    }
    Ok(())
}

/// Gets `signal` when the parent ends. One that has ended before is not noticed.
///
/// # Errors
/// Those of the kernel.
pub fn die_with_parent(signal: Signal) -> io::Result<()> {
    Ok(prctl::set_pdeathsig(signal)?)
}

/// Gets `signal` when the parent, which is `parent`, ends.
///
/// # Errors
/// Where it has ended already.
pub fn die_with(parent: Pid, signal: Signal) -> io::Result<()> {
    die_with_parent(signal)?;
    if getppid() == parent { Ok(()) } else { Err(Errno::ESRCH.into()) }
}

/// Becomes the parent of every process below whose own parent has ended.
///
/// # Errors
/// Those of the kernel.
pub fn adopt_orphans() -> io::Result<()> {
    Ok(prctl::set_child_subreaper(true)?)
}

/// Leads a process group of its own, so that what the terminal sends to the one it was in passes it by.
///
/// # Errors
/// Those of the kernel.
pub fn lead_group() -> io::Result<()> {
    Ok(setpgid(Pid::from_raw(0), Pid::from_raw(0))?)
}

/// Holds these signals back and gives a descriptor to read them from.
///
/// # Errors
/// Those of the kernel.
pub fn signals(all: &[Signal]) -> io::Result<SignalFd> {
    let set: SigSet = all.iter().copied().collect();
    sigprocmask(SigmaskHow::SIG_BLOCK, Some(&set), None)?;
    Ok(SignalFd::with_flags(&set, SfdFlags::SFD_NONBLOCK | SfdFlags::SFD_CLOEXEC)?)
}

/// A child that has ended, with its exit code (128 and the signal where one ended it); `None` if none has now.
/// The second answer is true while there are others.
pub fn reap() -> (Option<(Pid, i32)>, bool) {
    loop {
        return match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            Ok(WaitStatus::Exited(pid, code)) => (Some((pid, code)), true),
            Ok(WaitStatus::Signaled(pid, signal, _)) => (Some((pid, 128 + signal as i32)), true),
            Ok(WaitStatus::StillAlive) => (None, true),
            Ok(_) | Err(Errno::EINTR) => continue,
            Err(_) => (None, false),
        };
    }
}

/// How a child has ended, if it has: its exit code, or 128 and the signal.
pub fn exit_of(pid: Pid) -> Option<i32> {
    match waitpid(pid, Some(WaitPidFlag::WNOHANG)) {
        Ok(WaitStatus::Exited(_, code)) => Some(code),
        Ok(WaitStatus::Signaled(_, signal, _)) => Some(128 + signal as i32),
        _ => None,
    }
}

/// A descriptor that is readable once a child has ended.
///
/// # Errors
/// Those of pidfd_open(2).
pub fn descriptor_of(pid: Pid) -> io::Result<OwnedFd> {
    // SAFETY: takes numbers.
    let number = check(unsafe { libc::syscall(libc::SYS_pidfd_open, pid.as_raw(), 0) })?;
    // SAFETY: the kernel has just made it for this process.
    Ok(unsafe { OwnedFd::from_raw_fd(number as i32) })
}

/// Sends a signal to each child of this process. How many there were.
///
/// # Errors
/// Where /proc is not mounted.
pub fn signal_children(signal: Signal) -> io::Result<usize> {
    let own = getpid().as_raw();
    let mut told = 0;
    for pid in all()? {
        if parent_of(pid) == Some(own) {
            told += usize::from(kill(Pid::from_raw(pid), signal).is_ok());
        }
    }
    Ok(told)
}

/// Kills every child, and those of theirs that come to this process as orphans, until none is left.
pub fn kill_children() {
    if reap().1 {
        // Whoever is the first of all needs no list.
        signal_namespace(Signal::SIGKILL);
    }
    while reap().1 {
        if signal_children(Signal::SIGKILL).is_err() {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(2));
    }
}

/// Sends a signal to every other process of this one's PID namespace, of which it is the first; false if there is none.
pub fn signal_namespace(signal: Signal) -> bool {
    const ALL: Pid = Pid::from_raw(-1);
    getpid().as_raw() == 1 && kill(ALL, signal).is_ok()
}

fn all() -> io::Result<Vec<i32>> {
    let entries = fs::read_dir("/proc").map_err(about("/proc"))?;
    Ok(entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect())
}

fn parent_of(pid: i32) -> Option<i32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// The fields of `/proc/PID/stat` after the name, the state being the first.
fn stat(pid: i32) -> Option<Vec<String>> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(") ")?;
    Some(fields.split_whitespace().map(str::to_owned).collect())
}
