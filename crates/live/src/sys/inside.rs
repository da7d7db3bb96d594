//! The guest's kernel around this code, where it runs inside: the structure of `python/rexmit/kernel/driver/rexmit.h`.
//!
//! Elsewhere, in a process of this machine or of a guest, there is none, and [`is_inside`] is false.

use std::ffi::{CString, c_char, c_int, c_long, c_ulong, c_ulonglong, c_void};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicPtr, Ordering};

mod host_file;
mod record;

pub use host_file::HostFile;
pub use record::Recorder;

/// The version of the structure that this library knows.
const VERSION: c_ulonglong = 3;

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
    reseed: unsafe extern "C" fn(c_ulonglong),
    count_from: unsafe extern "C" fn(c_ulonglong),
    now: unsafe extern "C" fn() -> c_ulonglong,
    interface: unsafe extern "C" fn(*const c_char, *mut *mut c_void) -> c_long,
    take: unsafe extern "C" fn(*mut c_void, *mut c_void, c_ulong) -> c_long,
    give: unsafe extern "C" fn(*mut c_void, *const c_void, c_ulong) -> c_long,
    lost: unsafe extern "C" fn(*mut c_void) -> c_ulonglong,
    network: unsafe extern "C" fn(c_int) -> *mut c_void,
    enter: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    look: unsafe extern "C" fn(c_int, *mut Look) -> c_long,
    host_read: unsafe extern "C" fn(c_int, *mut c_void, c_ulong) -> c_long,
    steps: unsafe extern "C" fn() -> c_long,
    step: unsafe extern "C" fn(c_ulonglong, c_int),
    next_timer: unsafe extern "C" fn() -> c_ulonglong,
    record: unsafe extern "C" fn(*mut c_void, c_int),
    recorded: unsafe extern "C" fn(*mut c_void, *mut *const c_void) -> c_ulong,
    missed: unsafe extern "C" fn(*mut c_void) -> c_ulonglong,
    host_create: unsafe extern "C" fn(*const c_char) -> c_long,
    host_keep: unsafe extern "C" fn(c_int, *const c_char, *const c_char) -> c_long,
    wait: unsafe extern "C" fn(c_int, c_ulonglong) -> c_long,
}

/// What is known of a TCP socket without asking for all.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Look {
    /// Its number among [`super::tcp_info::STATES`].
    pub state: c_int,
    /// Its error, which is then forgotten; 0 for none.
    pub error: c_int,
    /// Bytes in order that wait for a read.
    pub readable: c_ulonglong,
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
    answered(answer).map(drop)
}

/// Reads from a descriptor of the machine, for which the guest waits whole; how many bytes, 0 at its end.
///
/// # Errors
/// Those of the machine.
pub fn host_read(descriptor: c_int, room: &mut [u8]) -> io::Result<usize> {
    let Some(calls) = calls() else { return Err(io::ErrorKind::NotConnected.into()) };
    // SAFETY: the room outlives the call.
    let answer = unsafe { (calls.host_read)(descriptor, room.as_mut_ptr().cast(), room.len() as c_ulong) };
    answered(answer).map(|got| got as usize)
}

/// Time in steps: readable once a step has ended, which happens when the kernel has nothing left to do.
#[derive(Debug)]
pub struct Steps {
    descriptor: OwnedFd,
}

impl Steps {
    /// The kernel's clock in steps.
    ///
    /// # Errors
    /// Outside, and where the kernel's patch `engine-steps` is missing.
    pub fn open() -> io::Result<Self> {
        let calls = calls().ok_or(io::ErrorKind::NotConnected)?;
        // SAFETY: takes nothing.
        let number = answered(unsafe { (calls.steps)() })?;
        // SAFETY: the kernel has opened it for nobody else.
        Ok(Self { descriptor: unsafe { OwnedFd::from_raw_fd(number as c_int) } })
    }

    /// Begins a step that ends at `until`, nanoseconds of CLOCK_MONOTONIC, once what was due then has been done; with
    /// `before`, what was due before.
    #[inline]
    pub fn begin(&self, until: u64, before: bool) {
        if let Some(calls) = calls() {
            // SAFETY: takes numbers.
            unsafe { (calls.step)(until, before.into()) };
        }
    }

    /// When the kernel's first timer is due, as it stood at the end of the last step; `None` for never.
    #[inline]
    pub fn next_timer(&self) -> Option<u64> {
        // SAFETY: takes nothing.
        let next = calls().map(|calls| unsafe { (calls.next_timer)() })?;
        (next < i64::MAX as u64).then_some(next)
    }
}

impl AsFd for Steps {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// The answer of a call, negative being an error's number.
fn answered(answer: c_long) -> io::Result<c_long> {
    if answer < 0 { Err(io::Error::from_raw_os_error(-answer as i32)) } else { Ok(answer) }
}

/// Counters of this thread's namespace, in the order of `rexmit_kern.c`; `None` outside.
pub fn counters() -> Option<[u64; COUNTERS]> {
    let mut all = [0; COUNTERS];
    let calls = calls()?;
    // SAFETY: the kernel writes this many numbers.
    unsafe { (calls.counters)(all.as_mut_ptr()) };
    Some(all)
}

/// CLOCK_MONOTONIC, nanoseconds; `None` outside.
#[inline]
pub fn now() -> Option<u64> {
    // SAFETY: takes nothing.
    calls().map(|calls| unsafe { (calls.now)() })
}

/// Waits without sleeping for the descriptors of an epoll, until a time of CLOCK_MONOTONIC that has not come yet:
/// whether some are ready. `None` outside, and where this thread is to sleep, as others have something to do.
#[inline]
pub fn wait(epoll: impl AsFd, until: u64) -> Option<bool> {
    // SAFETY: takes numbers.
    let answer = unsafe { (calls()?.wait)(epoll.as_fd().as_raw_fd(), until) };
    (answer >= 0).then_some(answer == 1)
}

/// Reseeds the kernel's random numbers; false outside.
pub fn reseed(seed: u64) -> bool {
    // SAFETY: takes a number.
    calls().map(|calls| unsafe { (calls.reseed)(seed) }).is_some()
}

/// Lets sequence numbers and timestamps count from `start`, nanoseconds of CLOCK_MONOTONIC; false outside.
pub fn count_from(start: u64) -> bool {
    // SAFETY: takes a number.
    calls().map(|calls| unsafe { (calls.count_from)(start) }).is_some()
}

/// Looks at a TCP socket; `None` outside, and where it is not one.
#[inline]
pub fn look(socket: impl AsFd) -> Option<Look> {
    let calls = calls()?;
    let mut look = Look::default();
    // SAFETY: the kernel fills the structure.
    let answer = unsafe { (calls.look)(socket.as_fd().as_raw_fd(), &raw mut look) };
    (answer == 0).then_some(look)
}

/// A network namespace of the guest's kernel, for as long as its descriptor is open.
#[derive(Clone, Copy, Debug)]
pub struct Network(NonNull<c_void>);

// SAFETY: it is a number that the kernel's one thread takes.
unsafe impl Send for Network {}
// SAFETY: likewise.
unsafe impl Sync for Network {}

impl Network {
    /// The one behind a descriptor; `None` outside.
    pub fn of(namespace: impl AsFd) -> Option<Self> {
        // SAFETY: takes a number.
        NonNull::new(unsafe { (calls()?.network)(namespace.as_fd().as_raw_fd()) }).map(Self)
    }

    /// Does something inside and comes back.
    pub fn within<T>(self, work: impl FnOnce() -> T) -> T {
        let Some(calls) = calls() else { return work() };
        // SAFETY: a namespace that is there; what the thread was in stays as well, since it comes back.
        let before = unsafe { (calls.enter)(self.0.as_ptr()) };
        let done = work();
        // SAFETY: likewise.
        unsafe { (calls.enter)(before) };
        done
    }
}

/// A host's interface that the driver has made: a TUN device without its file.
#[derive(Debug)]
pub struct Interface(Arc<Device>);

/// It goes with its descriptor.
#[derive(Debug)]
struct Device {
    descriptor: OwnedFd,
    handle: NonNull<c_void>,
}

// SAFETY: the kernel has one thread.
unsafe impl Send for Device {}
// SAFETY: likewise.
unsafe impl Sync for Device {}

impl Interface {
    /// A new one called `name` in this thread's namespace, which is down; `None` outside.
    ///
    /// # Errors
    /// A name that is taken; no memory.
    pub fn open(name: &str) -> io::Result<Option<Self>> {
        let Some(calls) = calls() else { return Ok(None) };
        let (name, mut handle) = (CString::new(name)?, std::ptr::null_mut());
        // SAFETY: text that ends, and room for a pointer, which outlive the call.
        let number = answered(unsafe { (calls.interface)(name.as_ptr(), &raw mut handle) })?;
        // SAFETY: the kernel has opened it for nobody else.
        let descriptor = unsafe { OwnedFd::from_raw_fd(number as c_int) };
        let handle = NonNull::new(handle).ok_or(io::ErrorKind::OutOfMemory)?;
        Ok(Some(Self(Arc::new(Device { descriptor, handle }))))
    }

    /// The next packet that the host has sent, into `buffer`; `None` if there is none now.
    #[inline]
    pub fn take(&mut self, buffer: &mut [u8]) -> Option<usize> {
        let len = buffer.len() as c_ulong;
        // SAFETY: the interface is there while its descriptor is open; the kernel writes at most `len` bytes.
        let taken = unsafe { (calls()?.take)(self.0.handle.as_ptr(), buffer.as_mut_ptr().cast(), len) };
        (taken > 0).then_some(taken as usize)
    }

    /// Gives the host a packet, whose stack has run when this comes back.
    ///
    /// # Errors
    /// Where the interface is down, or it is not an IP packet.
    #[inline]
    pub fn give(&mut self, packet: &[u8]) -> io::Result<()> {
        let Some(calls) = calls() else { return Err(io::ErrorKind::NotConnected.into()) };
        let (bytes, len) = (packet.as_ptr().cast(), packet.len() as c_ulong);
        // SAFETY: likewise; the kernel copies `len` bytes.
        answered(unsafe { (calls.give)(self.0.handle.as_ptr(), bytes, len) }).map(drop)
    }

    /// Packets that the host has sent and nobody took in time.
    pub fn lost(&self) -> u64 {
        // SAFETY: likewise.
        calls().map_or(0, |calls| unsafe { (calls.lost)(self.0.handle.as_ptr()) })
    }
}

impl AsFd for Interface {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor.as_fd()
    }
}
