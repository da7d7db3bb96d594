//! The agent of real kernels, loaded by a guest's kernel and run in the kernel's own first thread.
//!
//! It is the same code that an interpreter runs as the first process of a guest. What differs is how it reaches the
//! kernel: a system call of a guest's process is some microseconds of the machine's tracing, and here it is a plain
//! call. `libc_names` stands where the C library's system calls would, for this library's own code and that of its
//! dependencies, and nobody else's.

mod libc_names;

use std::ffi::{CStr, OsStr, c_char, c_int};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use rexmit_live::sys::inside::{self, Calls};
use rexmit_live::{agent, guest, stepped};

/// What begins a job that is not a file: time goes in steps, as whoever is at the machine's standard input asks. The ticks of the
/// kernel's clock in a second follow.
const STEPS: &str = "steps:";

/// Runs the job in the file `job` and answers on the machine's standard output; 0, or 1 where that failed.
///
/// # Safety
/// `calls` is what `rexmit.h` says, for as long as the process lives, and `job` is text. To be called once, by the thread
/// whose calls they are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn rexmit_engine(calls: *const Calls, job: *const c_char) -> c_int {
    // SAFETY: as the caller promises.
    let job = unsafe { CStr::from_ptr(job) };
    // SAFETY: likewise.
    if let Err(e) = unsafe { inside::take(calls) } {
        let _ = writeln!(Answers, "engine: {e}");
        return 1;
    }
    let ticks = job.to_str().ok().and_then(|job| job.strip_prefix(STEPS)?.parse().ok());
    let served = guest::prepare().and_then(|()| match ticks {
        Some(ticks) => stepped::serve(ticks),
        None => agent::serve(Path::new(OsStr::from_bytes(job.to_bytes())), &mut Answers, None),
    });
    match served {
        Ok(()) => 0,
        Err(e) => {
            let _ = writeln!(Answers, "engine: {e}");
            1
        }
    }
}

/// The machine's standard output.
struct Answers;

impl Write for Answers {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        inside::host_write(1, bytes)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
