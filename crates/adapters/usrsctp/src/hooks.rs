//! What the library asks of the world, and our answers: the time, random numbers, timers, and where packets go.
//!
//! Everything is asked on behalf of an end, the one for which the library was called. Each end has timers and random
//! numbers of its own, so what one does never moves another's.

use std::cell::RefCell;
use std::ffi::{c_char, c_int, c_long, c_void};
use std::ptr;

use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_stack::{Clock, TimerRule};
use rexmit_units::{Duration, Instant};

use crate::ffi;

/// What the clock on the wall says at the start of every run, in seconds since 1970. It goes into cookies; and zero
/// means "never" to the library.
const START: u64 = 1_700_000_000;
/// The library counts in ticks of this length (`hz` is 1000).
const TICK: Duration = Duration::from_millis(1);
/// The library's own list never finds a timer due, except the one that we let expire.
const NEVER: u32 = 1 << 30;

/// A packet that has left the library.
pub(crate) struct Sent {
    pub bytes: Vec<u8>,
    pub tos: u8,
}

struct Timer {
    /// The library's structure.
    timer: *mut c_void,
    due: Instant,
    /// Timers of one tick expire in the order in which they were started.
    order: u64,
    expiry: ffi::Expiry,
    argument: *mut c_void,
}

struct Owner {
    random: Xoshiro256PlusPlus,
    timers: Vec<Timer>,
    sent: Vec<Sent>,
}

struct Asked {
    now: Instant,
    clock: Clock,
    /// For whom the library works; number 0 is the library itself.
    owner: usize,
    owners: Vec<Owner>,
    order: u64,
}

thread_local! {
    static ASKED: RefCell<Option<Asked>> = const { RefCell::new(None) };
}

fn with<R>(what: impl FnOnce(&mut Asked) -> R) -> R {
    ASKED.with_borrow_mut(|asked| what(asked.as_mut().expect("the library runs only while it is started")))
}

/// A world at its start, in which the library's ticks have this phase.
pub(crate) fn begin(phase: Duration) {
    let clock = Clock::new(TICK, TimerRule::Ticks, phase);
    let asked = Asked { now: Instant::ZERO, clock, owner: 0, owners: Vec::new(), order: 0 };
    ASKED.with_borrow_mut(|world| *world = Some(asked));
    add_owner(0);
}

/// No world.
pub(crate) fn end() {
    ASKED.with_borrow_mut(|world| *world = None);
}

/// One more end with its random numbers; its number.
pub(crate) fn add_owner(seed: u64) -> usize {
    with(|asked| {
        let random = Xoshiro256PlusPlus::seed_from_u64(seed);
        asked.owners.push(Owner { random, timers: Vec::new(), sent: Vec::new() });
        asked.owners.len() - 1
    })
}

/// The library is about to work for `owner`.
pub(crate) fn enter(owner: usize, now: Instant) {
    with(|asked| {
        asked.owner = owner;
        asked.now = now;
    });
}

/// Moves what has left for this end's peer to `into`.
pub(crate) fn take_sent(owner: usize, into: &mut Vec<Sent>) {
    with(|asked| into.append(&mut asked.owners[owner].sent));
}

/// When the earliest timer of an end is due.
pub(crate) fn next_timer(owner: usize) -> Option<Instant> {
    with(|asked| asked.owners[owner].timers.iter().map(|timer| timer.due).min())
}

/// Lets the earliest timer of `owner` expire if it is due; false if none is.
pub(crate) fn expire_one(owner: usize) -> bool {
    let timer = with(|asked| {
        let now = asked.now;
        let timers = &mut asked.owners[owner].timers;
        let (at, first) = timers.iter().enumerate().min_by_key(|(_, timer)| (timer.due, timer.order))?;
        (first.due <= now).then(|| timers.swap_remove(at))
    });
    let Some(timer) = timer else { return false };
    // SAFETY: the structure is one that the library started and did not stop since. It alone is due at the next tick
    // of the library's own count.
    unsafe {
        ffi::rexmit_usrsctp_their_timer_start(timer.timer, 1, timer.expiry, timer.argument);
        ffi::usrsctp_handle_timers(1);
    }
    true
}

/// `sctp_os_timer_start`.
///
/// # Safety
/// The library calls it, with a timer of its own.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_timer_start(
    timer: *mut c_void,
    ticks: u32,
    expiry: ffi::Expiry,
    argument: *mut c_void,
) -> c_int {
    with(|asked| {
        let due = asked.clock.deadline(asked.now, TICK * u64::from(ticks.max(1)));
        asked.order += 1;
        let started = Timer { timer, due, order: asked.order, expiry, argument };
        let timers = &mut asked.owners[asked.owner].timers;
        match timers.iter_mut().find(|other| other.timer == timer) {
            Some(other) => *other = started,
            None => timers.push(started),
        }
    });
    // SAFETY: as for this function.
    unsafe { ffi::rexmit_usrsctp_their_timer_start(timer, NEVER, expiry, argument) }
}

/// `sctp_os_timer_stop`.
///
/// # Safety
/// The library calls it, with a timer of its own.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_timer_stop(timer: *mut c_void) -> c_int {
    with(|asked| {
        let timers = &mut asked.owners[asked.owner].timers;
        if let Some(at) = timers.iter().position(|other| other.timer == timer) {
            timers.swap_remove(at);
        } else {
            asked.owners.iter_mut().for_each(|owner| owner.timers.retain(|other| other.timer != timer));
        }
    });
    // SAFETY: as for this function.
    unsafe { ffi::rexmit_usrsctp_their_timer_stop(timer) }
}

/// `sctp_get_tick_count`.
#[unsafe(no_mangle)]
extern "C" fn rexmit_usrsctp_tick_count() -> u32 {
    with(|asked| asked.clock.ticks(asked.now) as u32)
}

/// `gettimeofday`, in whole microseconds as there.
///
/// # Safety
/// `time` points to a `struct timeval`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_gettimeofday(time: *mut [i64; 2], _zone: *mut c_void) -> c_int {
    let now = with(|asked| asked.now.as_nanos());
    let (seconds, rest) = (START + now / 1_000_000_000, now % 1_000_000_000 / 1_000);
    // SAFETY: a `struct timeval` is two 64-bit numbers where this is built.
    unsafe { time.write([seconds as i64, rest as i64]) };
    0
}

/// `syscall`, of which the library uses `getrandom` alone: the numbers are those of the end at work.
///
/// # Safety
/// `buffer` has `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_syscall(_number: c_long, buffer: *mut u8, len: usize) -> c_long {
    // SAFETY: as for this function.
    let bytes = unsafe {
        buffer.write_bytes(0, len);
        std::slice::from_raw_parts_mut(buffer, len)
    };
    with(|asked| asked.owners[asked.owner].random.fill_bytes(bytes));
    len as c_long
}

/// `open`, of which the library uses `/dev/urandom` alone, where there is no `getrandom`.
#[unsafe(no_mangle)]
extern "C" fn rexmit_usrsctp_open(_path: *const c_char, _flags: c_int) -> c_int {
    -1
}

/// `read`, from there.
///
/// # Safety
/// `buffer` has `len` bytes.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_read(_file: c_int, buffer: *mut u8, len: usize) -> isize {
    // SAFETY: as for this function.
    unsafe { rexmit_usrsctp_syscall(0, buffer, len) as isize }
}

/// `getifaddrs`: the machine's interfaces are none of a run's business.
///
/// # Safety
/// `list` points to a pointer.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_usrsctp_getifaddrs(list: *mut *mut c_void) -> c_int {
    // SAFETY: as for this function.
    unsafe { list.write(ptr::null_mut()) };
    0
}

/// `freeifaddrs`.
#[unsafe(no_mangle)]
extern "C" fn rexmit_usrsctp_freeifaddrs(_list: *mut c_void) {}

/// Takes a packet. The address names the end that sends it: both of its addresses are the end's number.
///
/// # Safety
/// The library calls it, with `len` bytes at `packet`.
pub(crate) unsafe extern "C" fn output(
    address: *mut c_void,
    packet: *mut c_void,
    len: usize,
    tos: u8,
    _whole: u8,
) -> c_int {
    // SAFETY: as for this function.
    let mut bytes = unsafe { std::slice::from_raw_parts(packet.cast::<u8>(), len) }.to_vec();
    if len >= 12 {
        let sum = rexmit_wire::sctp::checksum(&bytes);
        bytes[8..12].copy_from_slice(&sum.to_be_bytes());
    }
    with(|asked| {
        if let Some(owner) = asked.owners.get_mut(address as usize) {
            owner.sent.push(Sent { bytes, tos });
        }
    });
    0
}
