//! Files that a user or a stranger names, opened to be read: regular ones only, of a bounded size.
//!
//! What is a folder, a named pipe, a socket or a device is refused before it is opened, so that nothing waits
//! for a writer and nothing reads `/dev/zero` to its end. Python has the same rule in `rexmit/inputs.py`.

use std::fs::{File, FileType, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Most bytes of the file of a profile; the largest of those that come with rexmit has some 20,000.
pub const MOST_PROFILE_BYTES: u64 = 1 << 20;

/// Opens a regular file to be read.
///
/// # Errors
/// What is not a regular file, with what it is, and what the system says.
pub fn open_regular(path: &Path) -> Result<File> {
    check(path.metadata()?.file_type())?;
    let mut options = OpenOptions::new();
    options.read(true);
    // Without waiting: between the two looks it may have become a pipe.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, libc::O_NONBLOCK);
    let file = options.open(path)?;
    check(file.metadata()?.file_type())?;
    Ok(file)
}

/// Opens a capture: a regular file, or a descriptor that this process was given, which may be a pipe.
///
/// # Errors
/// As [`open_regular`].
pub fn open_capture(path: &Path) -> Result<File> {
    let given = path == Path::new("/dev/stdin")
        || path.parent().is_some_and(|folder| ["/dev/fd", "/proc/self/fd"].map(Path::new).contains(&folder));
    if given { File::open(path) } else { open_regular(path) }
}

/// The text of a regular file of at most this many bytes.
///
/// # Errors
/// As [`open_regular`], a larger file, and what is not UTF-8.
pub fn read_text(path: &Path, most: u64) -> Result<String> {
    read_all(open_regular(path)?, most)
}

/// The same of a file that is open.
pub(crate) fn read_all(file: File, most: u64) -> Result<String> {
    let mut text = String::new();
    let read = file.take(most + 1).read_to_string(&mut text)?;
    if read as u64 > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it is larger than {most} bytes")));
    }
    Ok(text)
}

fn check(kind: FileType) -> Result<()> {
    if kind.is_file() {
        return Ok(());
    }
    Err(Error::new(ErrorKind::InvalidInput, format!("it is {}, not a regular file", word(kind))))
}

#[cfg(unix)]
fn word(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match () {
        () if kind.is_dir() => "a folder",
        () if kind.is_fifo() => "a named pipe",
        () if kind.is_socket() => "a socket",
        () if kind.is_char_device() || kind.is_block_device() => "a device",
        () => "something else",
    }
}

#[cfg(not(unix))]
fn word(kind: FileType) -> &'static str {
    if kind.is_dir() { "a folder" } else { "something else" }
}

#[cfg(test)]
mod tests;
