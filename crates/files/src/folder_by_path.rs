//! A folder by its path, on systems without handles of folders.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub fn open(path: &Path) -> io::Result<Self> {
        Ok(Self(path.to_owned()))
    }

    pub fn create(&self, name: &OsStr) -> io::Result<File> {
        OpenOptions::new().write(true).create_new(true).open(self.0.join(name))
    }

    pub fn rename(&self, old: &OsStr, new: &OsStr) -> io::Result<()> {
        fs::rename(self.0.join(old), self.0.join(new))
    }

    pub fn is_file(&self, name: &OsStr) -> io::Result<bool> {
        Ok(fs::symlink_metadata(self.0.join(name))?.is_file())
    }

    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }
}
