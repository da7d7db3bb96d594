//! The line to rexmit through a file in memory, with a futex for calls and one for answers: `docs/reference/stack-protocol.md`.

use std::ffi::{c_int, c_long, c_void};
use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

/// The variable of the environment that names the file.
const VARIABLE: &str = "REXMIT_MEMORY";
/// Where the number of calls, the number of answers, and the areas for one frame of each are.
const CALLS: usize = 0;
const ANSWERS: usize = 64;
const HEAD: usize = 4_096;
const AREA: usize = 1 << 18;

const READ_WRITE: c_int = 3;
const SHARED: c_int = 1;
const WAIT: c_long = 0;
const WAKE: c_long = 1;
/// The number of the system call `futex`; `None` on machines where nobody has looked.
const FUTEX: Option<c_long> = if cfg!(all(target_os = "linux", target_arch = "x86_64")) {
    Some(202)
} else if cfg!(all(target_os = "linux", target_arch = "aarch64")) {
    Some(98)
} else {
    None
};

#[allow(unsafe_code)]
unsafe extern "C" {
    fn mmap(at: *mut c_void, len: usize, rights: c_int, flags: c_int, file: c_int, from: i64) -> *mut c_void;
    fn syscall(number: c_long, ...) -> c_long;
}

/// The pages, which last as long as the process.
pub(crate) struct Memory {
    begin: NonNull<c_void>,
    futex: c_long,
    /// So many calls were taken.
    taken: u32,
}

// SAFETY: a pointer to pages of the process's, which one thread at a time has.
#[allow(unsafe_code)]
unsafe impl Send for Memory {}

#[allow(unsafe_code)]
impl Memory {
    /// The one that rexmit offers, if it does.
    pub fn offered() -> Option<Self> {
        let futex = FUTEX?;
        let file = OpenOptions::new().read(true).write(true).open(std::env::var_os(VARIABLE)?).ok()?;
        let size = HEAD + 2 * AREA;
        // SAFETY: a new mapping, at a place of the kernel's choice.
        let begin = unsafe { mmap(ptr::null_mut(), size, READ_WRITE, SHARED, file.as_raw_fd(), 0) };
        // All ones say that it has failed.
        let begin = NonNull::new(begin).filter(|begin| begin.addr().get() != usize::MAX)?;
        Some(Self { begin, futex, taken: 0 })
    }

    /// Waits for the next call, and copies it into `call`. False: it comes over the socket.
    pub fn next(&mut self, call: &mut Vec<u8>) -> bool {
        while self.number(CALLS).load(Ordering::Acquire) == self.taken {
            let word = self.number(CALLS).as_ptr();
            // SAFETY: a word of ours, and no time: rexmit ends programs that it does not need.
            unsafe { syscall(self.futex, word, WAIT, c_long::from(self.taken), ptr::null::<c_void>()) };
        }
        self.taken = self.taken.wrapping_add(1);
        let mut head = [0; 4];
        // SAFETY: rexmit has written the frame into its area, and waits.
        unsafe {
            let area = self.begin.byte_add(HEAD).cast::<u8>().as_ptr();
            ptr::copy_nonoverlapping(area, head.as_mut_ptr(), head.len());
            let len = u32::from_le_bytes(head) as usize;
            if len == 0 || len > AREA - head.len() {
                return false;
            }
            call.resize(len, 0);
            ptr::copy_nonoverlapping(area.add(head.len()), call.as_mut_ptr(), len);
        }
        true
    }

    /// Gives an answer. False where its frame is too long: it is to be sent over the socket now.
    pub fn answer(&self, frame: &[u8]) -> bool {
        let fits = frame.len() <= AREA;
        let put = if fits { frame } else { &[0; 4] };
        // SAFETY: the area holds as many, and rexmit reads them once they are counted.
        unsafe {
            ptr::copy_nonoverlapping(
                put.as_ptr(),
                self.begin.byte_add(HEAD + AREA).cast().as_ptr(),
                put.len(),
            );
        }
        let word = self.number(ANSWERS);
        word.fetch_add(1, Ordering::Release);
        // SAFETY: a word of ours.
        unsafe { syscall(self.futex, word.as_ptr(), WAKE, c_long::from(1_u8)) };
        fits
    }

    fn number(&self, at: usize) -> &AtomicU32 {
        // SAFETY: aligned, in the first page, and never reached in another way.
        unsafe { self.begin.byte_add(at).cast().as_ref() }
    }
}
