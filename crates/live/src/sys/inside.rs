//! The guest's kernel around this code, where it runs inside: the structure of `python/rexmit/kernel/driver/rexmit.h`.
//!
//! Elsewhere, in a process of this machine or of a guest, there is none, and [`is_inside`] is false.

use std::ffi::{c_int, c_long, c_ulong, c_ulonglong, c_void};
use std::io;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The version of the structure that this library knows.
const VERSION: c_ulonglong = 1;

/// Counters that the kernel gives.
pub const COUNTERS: usize = 12;

/// The kernel's functions.
#[repr(C)]
#[derive(Debug)]
pub struct Calls {
    version: c_ulonglong,
    call: unsafe extern "C" fn(c_long, *const c_long) -> c_long,
    host_write: unsafe extern "C" fn(c_int, *const c_void, c_ulong) -> c_long,
    counters: unsafe extern "C" fn(*mut c_ulonglong),
}

static CALLS: AtomicPtr<Calls> = AtomicPtr::new(std::ptr::null_mut());

/// Keeps what the kernel offers.
///
/// # Safety
/// `calls` leads to the structure of the kernel's version, for ever.
///
/// # Errors
/// Another version than this library's.
pub unsafe fn take(calls: *const Calls) -> io::Result<()> {
    // SAFETY: every version begins with its number.
    let version = unsafe { (*calls).version };
    CALLS.store(calls.cast_mut(), Ordering::Relaxed);
    if version == VERSION {
        return Ok(());
    }
    let text = format!(
        "the kernel's driver is of version {version}, and this library wants {VERSION}: build the kernel anew"
    );
    Err(io::Error::other(text))
}

/// Whether this code runs inside a guest's kernel.
#[inline]
pub fn is_inside() -> bool {
    calls().is_some()
}

#[inline]
fn calls() -> Option<&'static Calls> {
    // SAFETY: null, or what `take` was given.
    unsafe { CALLS.load(Ordering::Relaxed).as_ref() }
}

/// A system call of the guest; negative: an error's number.
///
/// # Safety
/// What the system call asks of its arguments.
#[inline]
pub unsafe fn system_call(number: c_long, arguments: &[c_long; 6]) -> c_long {
    let Some(calls) = calls() else { return -c_long::from(libc::ENOSYS) };
    // SAFETY: the kernel reads six arguments; what they mean is the caller's promise.
    unsafe { (calls.call)(number, arguments.as_ptr()) }
}

/// Writes to a descriptor of the machine.
///
/// # Errors
/// Those of the machine.
pub fn host_write(descriptor: c_int, bytes: &[u8]) -> io::Result<()> {
    let Some(calls) = calls() else { return Err(io::ErrorKind::NotConnected.into()) };
    // SAFETY: the bytes outlive the call.
    let answer = unsafe { (calls.host_write)(descriptor, bytes.as_ptr().cast(), bytes.len() as c_ulong) };
    if answer < 0 { Err(io::Error::from_raw_os_error(-answer as i32)) } else { Ok(()) }
}

/// Counters of this thread's namespace, in the order of `rexmit_kern.c`; `None` elsewhere than inside.
pub fn counters() -> Option<[u64; COUNTERS]> {
    let mut all = [0; COUNTERS];
    let calls = calls()?;
    // SAFETY: the kernel writes so many numbers.
    unsafe { (calls.counters)(all.as_mut_ptr()) };
    Some(all)
}
