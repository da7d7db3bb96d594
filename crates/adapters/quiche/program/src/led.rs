//! The time and the random numbers that the process finds are those of the run.
//!
//! The linker lets calls of these functions, from whatever is linked into the program, come here (`build.rs`): Rust's library
//! for `Instant` and `SystemTime`, BoringSSL for the dates of tickets and the seed of its generator. That generator is one for
//! each thread, and so begins anew with each run, which has a thread of its own.

use std::ffi::{c_int, c_long, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use rexmitstack::Random;

/// The time at which runs begin: the first of January 2026.
const BEGIN: u64 = 1_767_225_600;
const SECOND: u64 = 1_000_000_000;

static NOW: AtomicU64 = AtomicU64::new(0);
/// The state of SplitMix64, which is a counter.
static RANDOM: AtomicU64 = AtomicU64::new(0);

/// Leads the clock to this time of the run, in nanoseconds.
pub fn set_now(now: u64) {
    NOW.store(now, Ordering::Relaxed);
}

/// Leads what is random to the numbers of a run.
pub fn set_random(random: &mut Random) {
    RANDOM.store(random.next_u64(), Ordering::Relaxed);
}

/// Lets BoringSSL's generator begin without RDRAND, which nobody can lead. To be called before BoringSSL and other threads.
pub fn without_rdrand() {
    // SAFETY: no other thread reads the environment yet.
    unsafe { std::env::set_var("OPENSSL_ia32cap", "~0x4000000000000000") };
    let mut first = 0_u8;
    // It asks the system once whether it has random numbers, and then for the seed of this thread.
    // SAFETY: the buffer has one byte.
    unsafe { RAND_bytes(&raw mut first, 1) };
}

unsafe extern "C" {
    fn RAND_bytes(bytes: *mut u8, len: usize) -> c_int;
    fn __real_syscall(number: c_long, ...) -> c_long;
}

#[repr(C)]
struct Time {
    seconds: i64,
    parts: i64,
}

fn time() -> (i64, i64) {
    let now = NOW.load(Ordering::Relaxed);
    ((BEGIN + now / SECOND) as i64, (now % SECOND) as i64)
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(_clock: c_int, to: *mut Time) -> c_int {
    let (seconds, parts) = time();
    // SAFETY: the caller's is a `timespec`.
    unsafe { to.write(Time { seconds, parts }) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_gettimeofday(to: *mut Time, _zone: *mut c_void) -> c_int {
    let (seconds, parts) = time();
    // SAFETY: the caller's is a `timeval`.
    unsafe { to.write(Time { seconds, parts: parts / 1_000 }) };
    0
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_time(to: *mut i64) -> i64 {
    let (seconds, _) = time();
    if !to.is_null() {
        // SAFETY: the caller's is a `time_t`.
        unsafe { to.write(seconds) };
    }
    seconds
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_getrandom(to: *mut u8, len: usize, _flags: u32) -> isize {
    for at in 0..len {
        let number = RANDOM.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        // SAFETY: the caller's has `len` bytes.
        unsafe { to.add(at).write((mixed ^ mixed >> 31) as u8) };
    }
    len as isize
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == libc::SYS_getrandom {
        // SAFETY: these are its arguments.
        return unsafe { __wrap_getrandom(a as *mut u8, b as usize, c as u32) } as c_long;
    }
    // SAFETY: as the caller has asked.
    unsafe { __real_syscall(number, a, b, c, d, e, f) }
}
