//! Every file that the crates write is opened here, and every name that they remove; `scripts/check_writes.py` forbids
//! other ways.
//!
//! A file is written under a random temporary name that did not exist before (O_EXCL, O_NOFOLLOW) and gets its own
//! within the handle of its folder. What goes into a user's folder is written by the Python package, which follows no
//! link below a results folder and takes the rights of whoever called sudo: these crates write into the temporary
//! folders that it makes. Not modelled: a flush of the folder itself.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[cfg_attr(unix, path = "folder.rs")]
#[cfg_attr(not(unix), path = "folder_by_path.rs")]
mod folder;

use folder::Folder;

/// A file that is being written. It gets its name in [`Whole::keep`]; dropped before that, it is removed.
#[derive(Debug)]
pub struct Whole {
    /// None once it was kept.
    file: Option<File>,
    folder: Folder,
    temporary: OsString,
    name: OsString,
}

impl Whole {
    /// Begins the file `path`; an older one of that name stays until it is kept.
    ///
    /// # Errors
    /// Those of the file system; a path without a name.
    pub fn create(path: &Path) -> io::Result<Self> {
        let (folder, name) = place(path)?;
        loop {
            let temporary = temporary_name(name);
            match folder.create(&temporary) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
                Ok(file) => {
                    return Ok(Self { file: Some(file), folder, temporary, name: name.to_owned() });
                }
            }
        }
    }

    /// Gives the file its name. It is not flushed to the disk: that is for whoever keeps it for good.
    ///
    /// # Errors
    /// Those of the file system; the file is removed then.
    pub fn keep(mut self) -> io::Result<()> {
        self.folder.rename(&self.temporary, &self.name)?;
        self.file = None;
        Ok(())
    }
}

impl Write for Whole {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.as_mut().map_or(Ok(0), |file| file.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.as_mut().map_or(Ok(()), File::flush)
    }
}

impl Drop for Whole {
    fn drop(&mut self) {
        // Closed first, for systems that remove no open file.
        if self.file.take().is_some() {
            // There is nobody to tell, and the name says what it is.
            let _ = self.folder.remove(&self.temporary);
        }
    }
}

/// Writes a file whole.
///
/// # Errors
/// Those of the file system; nothing half-written is left.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file = Whole::create(path)?;
    file.write_all(content)?;
    file.keep()
}

/// Makes a file that only its owner may read and write; one of that name, or a link, is an error.
///
/// # Errors
/// Those of the file system.
pub fn create_private(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.mode(0o600);
    }
    // O_CREAT with O_EXCL follows no link.
    options.write(true).create_new(true).open(path)
}

/// Removes a regular file; whatever else has its name stays.
///
/// # Errors
/// Those of the file system; where there is none.
pub fn remove(path: &Path) -> io::Result<()> {
    let (folder, name) = place(path)?;
    if folder.is_file(name)? {
        folder.remove(name)
    } else {
        Err(io::Error::other("it is not a regular file"))
    }
}

/// Makes a folder with those above it, where they are not there.
///
/// # Errors
/// Those of the file system.
pub fn make_folder(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}

/// Makes a folder, and gives it the rights that another one has.
///
/// # Errors
/// Those of the file system.
pub fn make_folder_like(path: &Path, other: &Path) -> io::Result<()> {
    make_folder(path)?;
    fs::set_permissions(path, fs::metadata(other)?.permissions())
}

/// Removes a folder that this process has made, with all that is in it.
///
/// # Errors
/// Those of the file system.
pub fn remove_folder(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path)
}

/// Opens a file that is there, to append to it; a link is an error. `flags` are more of open(2).
///
/// # Errors
/// Those of the file system.
pub fn append(path: &Path, flags: i32) -> io::Result<File> {
    options(flags).append(true).open(path)
}

/// Opens a file that is there, to read it; a link is an error. `flags` are more of open(2).
///
/// # Errors
/// Those of the file system.
pub fn open(path: &Path, flags: i32) -> io::Result<File> {
    options(flags).read(true).open(path)
}

/// Opens a device that is there, to read and to write; a link is an error. `flags` are more of open(2).
///
/// # Errors
/// Where there is no such device, or it may not be opened.
pub fn open_device(path: &str, flags: i32) -> io::Result<File> {
    debug_assert!(path.starts_with("/dev/"), "{path} is not a device");
    options(flags).read(true).write(true).open(path)
}

/// Writes a value of the kernel, in /proc or /sys.
///
/// # Errors
/// Where the kernel has none of that name, or refuses the value.
pub fn set_kernel_value(path: impl AsRef<Path>, value: impl AsRef<[u8]>) -> io::Result<()> {
    let path = path.as_ref();
    debug_assert!(path.starts_with("/proc") || path.starts_with("/sys"), "{path:?} is none of the kernel's");
    options(0).write(true).open(path)?.write_all(value.as_ref())
}

#[cfg(unix)]
fn options(flags: i32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    let mut options = OpenOptions::new();
    options.custom_flags(flags | nix::libc::O_NOFOLLOW);
    options
}

#[cfg(not(unix))]
fn options(_: i32) -> OpenOptions {
    OpenOptions::new()
}

/// The folder of a file, open, and the file's name in it.
fn place(path: &Path) -> io::Result<(Folder, &OsStr)> {
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()))
    })?;
    let parent = path.parent().filter(|p| !p.as_os_str().is_empty());
    Ok((Folder::open(&parent.map_or_else(|| PathBuf::from("."), Path::to_owned))?, name))
}

/// The name of a file that is being written, as the Python package gives them, too: `NAME.RANDOM.tmp`.
pub fn temporary_name(name: &OsStr) -> OsString {
    let random = RandomState::new().hash_one(name);
    let mut temporary = name.to_owned();
    temporary.push(format!(".{random:016x}.tmp"));
    temporary
}

#[cfg(test)]
mod tests;
