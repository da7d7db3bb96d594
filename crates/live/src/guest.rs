//! The first process of a guest: what it needs before it can work, and its end.

use std::io;

use nix::mount::{MsFlags, mount};
use nix::sys::reboot::{RebootMode, reboot};

/// Mounts what a host has: /proc, /sys, devices, and a place for temporary files.
///
/// # Errors
/// Where this is no guest, or its kernel lacks one of them.
pub fn prepare() -> io::Result<()> {
    for (kind, at) in [("proc", "/proc"), ("sysfs", "/sys"), ("devtmpfs", "/dev"), ("tmpfs", "/run")] {
        mount(Some(kind), at, Some(kind), MsFlags::empty(), None::<&str>)
            .map_err(io::Error::from)
            .map_err(crate::sys::about(format!("mounting {at} in the guest")))?;
    }
    Ok(())
}

/// Ends the guest.
///
/// # Errors
/// Where this process may not.
pub fn power_off() -> io::Result<()> {
    nix::unistd::sync();
    reboot(RebootMode::RB_POWER_OFF).map(drop).map_err(io::Error::from)
}
