//! The C library's functions that are system calls, by their names: those that this library's code calls.
//!
//! The linker takes a function of the library itself before one of the C library's, so that sockets, namespaces, files
//! and clocks are the guest's, while memory and text stay the machine's. Only what this library and its dependencies
//! call is here; `tests/python/test_inside.py` fails where something is left that would reach the machine's kernel.
#![allow(clippy::missing_safety_doc, missing_docs, reason = "the C library documents them: man section 2")]

use std::ffi::{c_char, c_int, c_long};

use rexmit_live::sys::inside::system_call;

/// The answer of a system call as the C library gives it: -1, and the number of the error beside it.
fn answered(answer: c_long) -> c_long {
    if answer >= 0 {
        return answer;
    }
    // SAFETY: the C library's place for it, of this thread.
    unsafe { *libc::__errno_location() = -answer as c_int };
    -1
}

/// A function of the C library that is one system call.
macro_rules! system_calls {
    ($($name:ident = $number:ident ($($argument:ident),*);)*) => {$(
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: c_long),*) -> c_long {
            let mut all = [0; 6];
            let given: &[c_long] = &[$($argument),*];
            all[..given.len()].copy_from_slice(given);
            // SAFETY: what the caller promises the C library.
            answered(unsafe { system_call(libc::$number, &all) })
        }
    )*};
}

system_calls! {
    accept4 = SYS_accept4 (a, b, c, d);
    bind = SYS_bind (a, b, c);
    chdir = SYS_chdir (a);
    clock_gettime = SYS_clock_gettime (a, b);
    clock_settime = SYS_clock_settime (a, b);
    close = SYS_close (a);
    connect = SYS_connect (a, b, c);
    dup2 = SYS_dup2 (a, b);
    epoll_create1 = SYS_epoll_create1 (a);
    epoll_ctl = SYS_epoll_ctl (a, b, c, d);
    epoll_wait = SYS_epoll_wait (a, b, c, d);
    fcntl = SYS_fcntl (a, b, c);
    fstat64 = SYS_fstat (a, b);
    getpeername = SYS_getpeername (a, b, c);
    getpid = SYS_getpid ();
    getrandom = SYS_getrandom (a, b, c);
    getsockname = SYS_getsockname (a, b, c);
    getsockopt = SYS_getsockopt (a, b, c, d, e);
    gettid = SYS_gettid ();
    ioctl = SYS_ioctl (a, b, c);
    listen = SYS_listen (a, b);
    lseek64 = SYS_lseek (a, b, c);
    mount = SYS_mount (a, b, c, d, e);
    openat = SYS_openat (a, b, c, d);
    pipe2 = SYS_pipe2 (a, b);
    poll = SYS_poll (a, b, c);
    prctl = SYS_prctl (a, b, c, d, e);
    pread64 = SYS_pread64 (a, b, c, d);
    read = SYS_read (a, b, c);
    readlink = SYS_readlink (a, b, c);
    readv = SYS_readv (a, b, c);
    recvfrom = SYS_recvfrom (a, b, c, d, e, f);
    recvmsg = SYS_recvmsg (a, b, c);
    renameat = SYS_renameat (a, b, c, d);
    sendmmsg = SYS_sendmmsg (a, b, c, d);
    sendmsg = SYS_sendmsg (a, b, c);
    setns = SYS_setns (a, b);
    setsockopt = SYS_setsockopt (a, b, c, d, e);
    shutdown = SYS_shutdown (a, b);
    socket = SYS_socket (a, b, c);
    socketpair = SYS_socketpair (a, b, c, d);
    stat64 = SYS_stat (a, b);
    statx = SYS_statx (a, b, c, d, e);
    timerfd_create = SYS_timerfd_create (a, b);
    timerfd_settime = SYS_timerfd_settime (a, b, c, d);
    unlinkat = SYS_unlinkat (a, b, c);
    unshare = SYS_unshare (a);
    write = SYS_write (a, b, c);
    writev = SYS_writev (a, b, c);
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    let all = [libc::AT_FDCWD.into(), path as c_long, flags.into(), mode.into(), 0, 0];
    // SAFETY: what the caller promises the C library.
    answered(unsafe { system_call(libc::SYS_openat, &all) }) as c_int
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: libc::mode_t) -> c_int {
    // SAFETY: the same promise.
    unsafe { open(path, flags, mode) }
}

/// No function is found by its name, so that whoever looks for one makes the system call: code of third parties' stacks,
/// which no guest runs and the linker keeps, would otherwise find the C library's.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlsym(_: *mut std::ffi::c_void, _: *const c_char) -> *mut std::ffi::c_void {
    std::ptr::null_mut()
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn recv(socket: c_long, buffer: c_long, len: c_long, flags: c_long) -> c_long {
    // SAFETY: what the caller promises the C library.
    answered(unsafe { system_call(libc::SYS_recvfrom, &[socket, buffer, len, flags, 0, 0]) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn send(socket: c_long, buffer: c_long, len: c_long, flags: c_long) -> c_long {
    // SAFETY: what the caller promises the C library.
    answered(unsafe { system_call(libc::SYS_sendto, &[socket, buffer, len, flags, 0, 0]) })
}

/// Whatever system call it names; an `unsafe` function of C's with a list of arguments of any length, which this
/// processor passes as if there were always six.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn syscall(
    number: c_long,
    a: c_long,
    b: c_long,
    c: c_long,
    d: c_long,
    e: c_long,
    f: c_long,
) -> c_long {
    // SAFETY: what the caller promises the C library.
    answered(unsafe { system_call(number, &[a, b, c, d, e, f]) })
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn if_nametoindex(name: *const c_char) -> u32 {
    let mut asked = Interface::default();
    // SAFETY: the caller promises text that ends.
    let name = unsafe { std::ffi::CStr::from_ptr(name) }.to_bytes();
    for (to, from) in asked.name[..libc::IFNAMSIZ - 1].iter_mut().zip(name) {
        *to = *from;
    }
    asked.ask(libc::SIOCGIFINDEX).map_or(0, |()| asked.index as u32)
}

/// `struct ifreq` with the number of an interface.
#[repr(C)]
#[derive(Default)]
struct Interface {
    name: [u8; libc::IFNAMSIZ],
    index: c_int,
    rest: [c_int; 5],
}

impl Interface {
    fn ask(&mut self, what: libc::c_ulong) -> Option<()> {
        let kind = c_long::from(libc::SOCK_DGRAM | libc::SOCK_CLOEXEC);
        // SAFETY: a socket of nobody else's; the structure outlives the call that fills it.
        unsafe {
            let fd = system_call(libc::SYS_socket, &[libc::AF_INET.into(), kind, 0, 0, 0, 0]);
            let asked = answered(fd) >= 0
                && answered(system_call(
                    libc::SYS_ioctl,
                    &[fd, what as c_long, std::ptr::from_mut(self) as c_long, 0, 0, 0],
                )) >= 0;
            if fd >= 0 {
                system_call(libc::SYS_close, &[fd, 0, 0, 0, 0, 0]);
            }
            asked.then_some(())
        }
    }
}
