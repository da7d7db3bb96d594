//! What the agent's process needs before it can work: devices in a guest, privileges elsewhere.

use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use nix::sys::reboot::{RebootMode, reboot};
use rexmit_files::set_kernel_value;

use crate::sys::{clock, inside};

/// Mounts what a host has: /proc, /sys, devices, and a place for temporary files.
///
/// # Errors
/// Where this is not a guest, or its kernel lacks one of them.
pub fn prepare() -> io::Result<()> {
    be_first()?;
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(io::Error::from)
            .map_err(crate::sys::about(format!("mounting {at} in the guest")))?;
    }
    crate::sys::open_many_files()?;
    // A host has no tunnels that nobody asked for.
    let _ = set_kernel_value("/proc/sys/net/core/fb_tunnels_only_for_init_net", "2");
    Ok(())
}

/// Lets what is written below a folder stay in memory, on top of what the machine has there; but what is written to
/// `kept` folders goes to the machine.
///
/// # Errors
/// A kernel without overlays; a folder that is not there.
pub fn cover(folder: &str, kept: &[PathBuf]) -> io::Result<()> {
    let below = kept.iter().filter(|path| path.starts_with(folder));
    let open = |path: &PathBuf| {
        let found = rexmit_files::open(path, libc::O_DIRECTORY);
        found.map(|file| (path.clone(), file)).map_err(crate::sys::about(path.display()))
    };
    let below: Vec<_> = below.map(open).collect::<io::Result<_>>()?;
    overlay(folder, folder, &folder.replace('/', "_"))?;
    for (path, file) in below {
        bind(&PathBuf::from(format!("/proc/self/fd/{}", file.as_raw_fd())), &path)?;
    }
    Ok(())
}

/// A folder with memory of its own, this many bytes at the most.
///
/// # Errors
/// Those of the file system.
pub fn memory(folder: &Path, bytes: u64) -> io::Result<()> {
    rexmit_files::make_folder(folder)?;
    mount(Some("tmpfs"), folder, Some("tmpfs"), MsFlags::empty(), Some(format!("size={bytes}").as_str()))
        .map_err(io::Error::from)
        .map_err(crate::sys::about(folder.display()))
}

/// Lets `place` show what is at `path`.
fn bind(path: &Path, place: &Path) -> io::Result<()> {
    mount(Some(path), place, None::<&str>, MsFlags::MS_BIND | MsFlags::MS_REC, None::<&str>)
        .map_err(io::Error::from)
        .map_err(crate::sys::about(place.display()))
}

/// A root that is the machine's, in which whatever is written stays in memory, except what is written to these folders;
/// returns where it is.
///
/// # Errors
/// A kernel without overlays; a folder that is not there.
pub fn copy_of_root(writable: &[PathBuf]) -> io::Result<PathBuf> {
    let root = PathBuf::from(OVERLAYS).join("root");
    rexmit_files::make_folder(Path::new(OVERLAYS))?;
    rexmit_files::make_folder(&root)?;
    overlay("/", &root.display().to_string(), "copy")?;
    let own = ["/proc", "/sys", "/dev", "/run", "/tmp"].map(PathBuf::from);
    for path in own.iter().chain(writable) {
        bind(path, &root.join(path.strip_prefix("/").unwrap_or(path)))?;
    }
    Ok(root)
}

/// Where the memory of overlays is.
const OVERLAYS: &str = "/run/overlays";

/// Mounts an overlay over `lower` at `place`, whose memory has this name.
fn overlay(lower: &str, place: &str, name: &str) -> io::Result<()> {
    let (above, work) = (format!("{OVERLAYS}/{name}-above"), format!("{OVERLAYS}/{name}-work"));
    for folder in [OVERLAYS, &work] {
        rexmit_files::make_folder(Path::new(folder))?;
    }
    // Everybody may write to /tmp.
    rexmit_files::make_folder_like(Path::new(&above), Path::new(lower))?;
    let layers = format!("lowerdir={lower},upperdir={above},workdir={work}");
    mount(Some("overlay"), place, Some("overlay"), MsFlags::empty(), Some(layers.as_str()))
        .map_err(io::Error::from)
        .map_err(crate::sys::about(format!("an overlay at {place}")))
}

/// Nothing of this is for a machine that has another first process.
fn be_first() -> io::Result<()> {
    if nix::unistd::getpid().as_raw() == 1 {
        return Ok(());
    }
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "this process is not the first of a guest"))
}

/// Reseeds the random numbers of a guest's kernel, so that a run's depend on nothing that ran before.
///
/// # Errors
/// Where this is not a guest, or its kernel has no such seed.
pub fn seed(seed: u64) -> io::Result<()> {
    if inside::reseed(seed) {
        return Ok(());
    }
    let file = "/sys/module/random/parameters/seed";
    set_kernel_value(file, seed.to_string()).map_err(crate::sys::about(file))
}

/// Lets sequence numbers and timestamps of a guest's kernel count from `start`, nanoseconds of CLOCK_MONOTONIC; where
/// its kernel does not know how, they count from its boot. With `cookies`, the time of day begins with the run as well:
/// SCTP's cookies hold it. TCP's sequence numbers hold it too, and want it as it was.
///
/// # Errors
/// Without the privilege to set the time of day.
pub fn count_from(start: u64, cookies: bool) -> io::Result<()> {
    static BOOTED: OnceLock<i64> = OnceLock::new();
    let offset = clock::realtime_offset();
    let booted = *BOOTED.get_or_init(|| offset);
    if !inside::count_from(start) {
        let _ = set_kernel_value("/sys/module/secure_seq/parameters/start", start.to_string());
    }
    let wanted = if cookies { rexmit_capture::DEFAULT_EPOCH_NS as i64 - start as i64 } else { booted };
    if wanted == offset { Ok(()) } else { clock::set_realtime_offset(wanted) }
}

/// Becomes root of a user namespace of its own, and goes to a network namespace of its own to which it may come back,
/// where this process is not root already. It must have one thread.
///
/// # Errors
/// Where this kernel allows no user namespaces.
pub fn become_root() -> io::Result<()> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    if user.is_root() {
        return Ok(());
    }
    // Some systems allow the first, and withhold from the process then what it would be root for.
    unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET)
        .map_err(io::Error::from)
        .and_then(|()| {
            set_kernel_value("/proc/self/setgroups", "deny")?;
            set_kernel_value("/proc/self/uid_map", format!("0 {user} 1"))?;
            set_kernel_value("/proc/self/gid_map", format!("0 {group} 1"))
        })
        .map_err(|e| {
            let text =
                format!("not root, and user namespaces are not allowed ({}): run it as root", forbidden(&e));
            io::Error::new(io::ErrorKind::PermissionDenied, text)
        })
}

/// Why a user namespace could not be made or used: the setting to change, where it is known.
fn forbidden(error: &io::Error) -> String {
    /// Switches, and their values that forbid.
    const SWITCHES: [(&str, &str, &str); 3] = [
        ("user.max_user_namespaces", "0", "10000"),
        ("kernel.unprivileged_userns_clone", "0", "1"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1", "0"),
    ];
    let closed = SWITCHES.iter().find(|(name, value, _)| {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        fs::read_to_string(path).is_ok_and(|text| text.trim() == *value)
    });
    closed.map_or_else(|| error.to_string(), |(name, _, open)| format!("set {name}={open}"))
}

/// Ends the guest.
///
/// # Errors
/// Where this process is not the first of a guest: it is not this machine that is to end.
pub fn power_off() -> io::Result<()> {
    be_first()?;
    nix::unistd::sync();
    reboot(RebootMode::RB_POWER_OFF).map(drop).map_err(io::Error::from)
}
