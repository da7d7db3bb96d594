//! Stands for the C library's clock, sleep and random numbers in a program whose host says `stack.lead = true`.
//!
//! The build script makes a library of this file alone, which rexmit has loaded before the C library (`LD_PRELOAD`). It needs
//! none of its own: what it does not lead it asks of the kernel, and the two names that it takes from a C library
//! (`getenv`, `__errno_location`) are in all of them. The time comes from a page that rexmit writes before each call
//! (`src/lead.rs`), whose name is in the environment.
//!
//! A sleep returns at once and moves the program's own clock on, which is in the page too, so that all its threads and processes
//! have one. The time is the later of that and the run's.
//!
//! Not led: clocks of the processor's time, waits with a time limit (`poll`, condition variables), timers of the kernel, system
//! calls by number but `getrandom`, the vDSO, instructions (RDTSC, RDRAND), and files such as `/dev/urandom`.

#![cfg_attr(not(test), no_std)]

use core::arch::asm;
use core::ffi::{c_char, c_int, c_long, c_void};
use core::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

/// What rexmit and the program share: `src/lead.rs` writes it.
#[repr(C)]
pub struct Page {
    /// The time of the call that is being answered, in ns.
    pub run: AtomicU64,
    /// Where sleeps have moved the program's own clock, in ns of the run.
    pub own: AtomicU64,
    /// What `CLOCK_REALTIME` and `CLOCK_MONOTONIC` are as the run begins, in ns.
    pub date: AtomicU64,
    pub uptime: AtomicU64,
    /// What random numbers come from, and how many have been drawn.
    pub key: [AtomicU64; 2],
    pub drawn: AtomicU64,
}

/// A time with its parts of a second: `timespec`, and `timeval`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    pub seconds: i64,
    pub parts: i64,
}

const SECOND: u64 = 1_000_000_000;
const EINVAL: c_int = 22;
const EIO: c_int = 5;
const ABSOLUTE: c_int = 1;

/// Numbers of system calls that are handed on.
#[cfg(target_arch = "x86_64")]
mod number {
    pub const MMAP: i64 = 9;
    pub const CLOSE: i64 = 3;
    pub const OPENAT: i64 = 257;
    pub const CLOCK_GETTIME: i64 = 228;
    pub const CLOCK_GETRES: i64 = 229;
    pub const CLOCK_NANOSLEEP: i64 = 230;
    pub const GETRANDOM: i64 = 318;
}
#[cfg(target_arch = "aarch64")]
mod number {
    pub const MMAP: i64 = 222;
    pub const CLOSE: i64 = 57;
    pub const OPENAT: i64 = 56;
    pub const CLOCK_GETTIME: i64 = 113;
    pub const CLOCK_GETRES: i64 = 114;
    pub const CLOCK_NANOSLEEP: i64 = 115;
    pub const GETRANDOM: i64 = 278;
}

/// Null where nothing leads: then all goes to the kernel.
static PAGE: AtomicPtr<Page> = AtomicPtr::new(core::ptr::null_mut());

unsafe extern "C" {
    fn getenv(name: *const c_char) -> *const c_char;
    fn __errno_location() -> *mut c_int;
}

/// Runs before the program does, and before whatever else it loads.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static BEGIN: extern "C" fn() = begin;

#[cfg(not(test))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// Maps the page, once.
extern "C" fn begin() {
    // Of a file in the environment of this name: readable, writable, shared.
    // SAFETY: a name with its end; the kernel reads the other, whatever it is.
    let opened = unsafe {
        let place = getenv(c"REXMIT_LEAD".as_ptr());
        if place.is_null() || !PAGE.load(Ordering::Relaxed).is_null() {
            return;
        }
        ask(number::OPENAT, [-100, place as i64, 0o2_000_002, 0, 0, 0])
    };
    if opened < 0 {
        return;
    }
    // SAFETY: new memory, which nobody unmaps, of a file that rexmit keeps as long as this.
    let mapped = unsafe {
        let mapped = ask(number::MMAP, [0, size_of::<Page>() as i64, 3, 1, opened, 0]);
        ask(number::CLOSE, [opened, 0, 0, 0, 0, 0]);
        mapped
    };
    if mapped > 0 {
        PAGE.store(mapped as *mut Page, Ordering::Release);
    }
}

/// The page, if there is one. A constructor of another library may ask before this one's has run.
fn page() -> Option<&'static Page> {
    let mut found = PAGE.load(Ordering::Acquire);
    if found.is_null() {
        begin();
        found = PAGE.load(Ordering::Acquire);
    }
    // SAFETY: null, or mapped for good, and made of atomics.
    unsafe { found.as_ref() }
}

/// The time of the run, in ns.
fn now(page: &Page) -> u64 {
    page.run.load(Ordering::Relaxed).max(page.own.load(Ordering::Relaxed))
}

/// What a clock shows as the run begins; none of clocks that are not led.
pub fn base(page: &Page, clock: c_int) -> Option<u64> {
    match clock {
        // REALTIME, its COARSE and ALARM, and TAI.
        0 | 5 | 8 | 11 => Some(page.date.load(Ordering::Relaxed)),
        // MONOTONIC, its RAW and COARSE, BOOTTIME and its ALARM.
        1 | 4 | 6 | 7 | 9 => Some(page.uptime.load(Ordering::Relaxed)),
        _ => None,
    }
}

/// What a clock shows, with parts of a second of so many ns.
pub fn shown(page: &Page, base: u64, part: u64) -> Time {
    let ns = base.saturating_add(now(page));
    Time { seconds: (ns / SECOND) as i64, parts: (ns % SECOND / part) as i64 }
}

/// The ns of a time to sleep; none where it is not a time.
pub fn length(time: Time) -> Option<u64> {
    let parts = u64::try_from(time.parts).ok().filter(|parts| *parts < SECOND)?;
    Some(u64::try_from(time.seconds).ok()?.saturating_mul(SECOND).saturating_add(parts))
}

/// Moves the program's own clock on.
pub fn pass(page: &Page, ns: u64) {
    page.own.fetch_max(now(page).saturating_add(ns), Ordering::Relaxed);
}

/// The next random number of the run: two rounds of SplitMix64 over a counter.
pub fn draw(page: &Page) -> u64 {
    let mix = |number: u64| {
        let mixed = (number ^ number >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    };
    let counter = page.drawn.fetch_add(1, Ordering::Relaxed).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let [first, second] = &page.key;
    let number = mix(first.load(Ordering::Relaxed).wrapping_add(counter));
    mix(number ^ second.load(Ordering::Relaxed))
}

/// Fills memory with random numbers.
///
/// # Safety
/// `to` has `len` bytes.
unsafe fn fill(page: &Page, to: *mut u8, len: usize) {
    let mut number = 0;
    for at in 0..len {
        if at % 8 == 0 {
            number = draw(page);
        }
        // SAFETY: as the caller promises. Volatile, so that it becomes no call of memcpy.
        unsafe { to.add(at).write_volatile(number as u8) };
        number >>= 8;
    }
}

/// Asks the kernel; less than zero is an error.
///
/// # Safety
/// As the call of this number has it.
unsafe fn ask(number: i64, with: [i64; 6]) -> i64 {
    let [a, b, c, d, e, f] = with;
    let answer: i64;
    // SAFETY: the kernel's convention; what the call does, the caller answers for.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        asm!("syscall", inlateout("rax") number => answer, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d, in("r8") e,
            in("r9") f, lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    // SAFETY: likewise.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        asm!("svc 0", in("x8") number, inlateout("x0") a => answer, in("x1") b, in("x2") c, in("x3") d, in("x4") e,
            in("x5") f, options(nostack));
    }
    answer
}

/// What the C library makes of an answer of the kernel's.
fn told(answer: i64) -> c_long {
    if (-4095..0).contains(&answer) {
        // SAFETY: the place of this thread's number.
        unsafe { __errno_location().write(-answer as c_int) };
        return -1;
    }
    answer
}

fn wrong(number: c_int) -> c_int {
    told(-i64::from(number)) as c_int
}

/// Writes to a place of the caller's, if there is one.
///
/// # Safety
/// It is null, or a `T`'s.
unsafe fn put<T>(to: *mut T, value: T) {
    if !to.is_null() {
        // SAFETY: as the caller promises.
        unsafe { to.write(value) };
    }
}

// What follows has the C library's names, arguments and answers.
// SAFETY, of all: pointers are the caller's, as the C library's manual has them.

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn clock_gettime(clock: c_int, to: *mut Time) -> c_int {
    if let Some((page, base)) = page().and_then(|page| Some((page, base(page, clock)?))) {
        unsafe { put(to, shown(page, base, 1)) };
        return 0;
    }
    told(unsafe { ask(number::CLOCK_GETTIME, [clock.into(), to as i64, 0, 0, 0, 0]) }) as c_int
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn clock_getres(clock: c_int, to: *mut Time) -> c_int {
    if page().is_some_and(|page| base(page, clock).is_some()) {
        unsafe { put(to, Time { seconds: 0, parts: 1 }) };
        return 0;
    }
    told(unsafe { ask(number::CLOCK_GETRES, [clock.into(), to as i64, 0, 0, 0, 0]) }) as c_int
}

/// The date, in seconds and parts of so many ns.
fn date(part: u64) -> Time {
    if let Some(page) = page() {
        return shown(page, page.date.load(Ordering::Relaxed), part);
    }
    let mut time = Time { seconds: 0, parts: 0 };
    // SAFETY: it is there to be written.
    unsafe { ask(number::CLOCK_GETTIME, [0, &raw mut time as i64, 0, 0, 0, 0]) };
    Time { parts: time.parts / part as i64, ..time }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn gettimeofday(to: *mut Time, zone: *mut [c_int; 2]) -> c_int {
    unsafe { put(to, date(1_000)) };
    unsafe { put(zone, [0, 0]) };
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn time(to: *mut i64) -> i64 {
    let seconds = date(1).seconds;
    unsafe { put(to, seconds) };
    seconds
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn timespec_get(to: *mut Time, base: c_int) -> c_int {
    // Of the standard's bases TIME_UTC alone has a date.
    if base != 1 {
        return 0;
    }
    unsafe { put(to, date(1)) };
    base
}

/// Sleeps for a time, or until one; an error's number, or 0.
unsafe fn slept(clock: c_int, flags: c_int, time: *const Time, rest: *mut Time) -> c_int {
    let Some((page, base)) = page().and_then(|page| Some((page, base(page, clock)?))) else {
        let words = [clock.into(), flags.into(), time as i64, rest as i64, 0, 0];
        return -unsafe { ask(number::CLOCK_NANOSLEEP, words) } as c_int;
    };
    let Some(ns) = length(unsafe { time.read() }) else { return EINVAL };
    if flags & ABSOLUTE == 0 {
        pass(page, ns);
    } else {
        page.own.fetch_max(ns.saturating_sub(base), Ordering::Relaxed);
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn clock_nanosleep(
    clock: c_int,
    flags: c_int,
    time: *const Time,
    rest: *mut Time,
) -> c_int {
    unsafe { slept(clock, flags, time, rest) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn nanosleep(time: *const Time, rest: *mut Time) -> c_int {
    match unsafe { slept(1, 0, time, rest) } {
        0 => 0,
        error => wrong(error),
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn thrd_sleep(time: *const Time, rest: *mut Time) -> c_int {
    match unsafe { slept(1, 0, time, rest) } {
        0 => 0,
        // A signal came.
        4 => -1,
        _ => -2,
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn usleep(us: u32) -> c_int {
    let us = i64::from(us);
    let time = Time { seconds: us / 1_000_000, parts: us % 1_000_000 * 1_000 };
    unsafe { nanosleep(&raw const time, core::ptr::null_mut()) }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn sleep(seconds: u32) -> u32 {
    let mut rest = Time { seconds: 0, parts: 0 };
    let time = Time { seconds: seconds.into(), parts: 0 };
    unsafe { slept(1, 0, &raw const time, &raw mut rest) };
    rest.seconds as u32
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn getrandom(to: *mut u8, len: usize, flags: u32) -> isize {
    match page() {
        Some(page) => {
            unsafe { fill(page, to, len) };
            len as isize
        }
        None => {
            told(unsafe { ask(number::GETRANDOM, [to as i64, len as i64, flags.into(), 0, 0, 0]) }) as isize
        }
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn getentropy(to: *mut u8, len: usize) -> c_int {
    if len > 256 || unsafe { getrandom(to, len, 0) } < 0 {
        return wrong(EIO);
    }
    0
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn arc4random_buf(to: *mut c_void, len: usize) {
    let (to, mut done) = (to.cast::<u8>(), 0);
    // The kernel gives no more at once than it likes.
    while done < len {
        let got = unsafe { getrandom(to.add(done), len - done, 0) };
        done += usize::try_from(got).unwrap_or(0);
    }
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn arc4random() -> u32 {
    let mut number = 0_u32;
    unsafe { arc4random_buf((&raw mut number).cast(), 4) };
    number
}

#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn arc4random_uniform(bound: u32) -> u32 {
    if bound < 2 {
        return 0;
    }
    // Numbers below this many, which are left over from whole multiples of the bound, would make some more likely.
    let left = bound.wrapping_neg() % bound;
    loop {
        let number = unsafe { arc4random() };
        if number >= left {
            return number % bound;
        }
    }
}

/// Libraries that are to run with C libraries from before `getrandom` call it by its number, as builds of Python do. In C it has
/// as many arguments as the call; these are where all of them are.
#[cfg_attr(not(test), unsafe(no_mangle))]
unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    if number == number::GETRANDOM {
        return unsafe { getrandom(a as *mut u8, b as usize, c as u32) } as c_long;
    }
    told(unsafe { ask(number, [a, b, c, d, e, f]) })
}
