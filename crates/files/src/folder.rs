//! An open folder, in which names are made, changed and removed whatever becomes of its path.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};

#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        // A handle alone, on Linux: a folder that may be written but not read is enough.
        #[cfg(target_os = "linux")]
        let handle = OFlag::O_PATH;
        #[cfg(not(target_os = "linux"))]
        let handle = OFlag::O_RDONLY;
        let flags = handle | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(open(path, flags, Mode::empty())?))
    }

    /// A file that was not there before, nor a link of that name.
    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(openat(&self.0, name, flags, Mode::from_bits_truncate(0o666))?.into())
    }

    pub fn rename(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.0, old, &self.0, new)?)
    }

    pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
        let facts = fstatat(&self.0, name, AtFlags::AT_SYMLINK_NOFOLLOW)?;
        Ok(SFlag::from_bits_truncate(facts.st_mode) & SFlag::S_IFMT == SFlag::S_IFREG)
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, UnlinkatFlags::NoRemoveDir)?)
    }
}
