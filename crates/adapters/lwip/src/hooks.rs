//! What a copy of the library asks of the world, and our answers, on behalf of the host at work.
//!
//! It is Debian's library for programs with threads. Here none is started: its lock on the core and its critical sections
//! are nothing, `sys_now` is the run's time, and nobody calls `tcpip_init`.

use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};

use crate::ffi::{self, Pcb, Wish};
use crate::memory::Memory;

/// What has made the library act.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cause {
    Packet,
    Timer,
    #[default]
    Application,
}

/// What an end is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum News {
    Connected,
    /// It may have room again.
    Acknowledged,
    /// The peer's half is over.
    Ended,
    /// The connection is gone, for this reason (`lwip/err.h`).
    Broken(i32),
}

/// What there is of one end.
#[derive(Debug, Default)]
pub(crate) struct Mail {
    /// Its connection, while there is one.
    pub pcb: Option<Pcb>,
    pub wish: Wish,
    /// Its ports, the other end's last, as they stand at the head of a packet that it sends.
    pub ports: [u8; 4],
    /// It takes no connection any more.
    pub is_over: bool,
    pub left: Vec<(Vec<u8>, Cause)>,
    pub news: Vec<News>,
    /// Bytes that have come, and how many of them are not those that were due.
    pub received: u64,
    pub misplaced: u64,
}

/// A host at work.
pub(crate) struct Asked {
    /// Its clock, in milliseconds.
    pub clock: u64,
    pub memory: Memory,
    pub mss: u16,
    pub cause: Cause,
    /// The end for which the library works.
    pub end: usize,
    pub ends: Vec<Mail>,
    /// Why it has given up.
    pub failure: Option<String>,
    random: u32,
}

impl Asked {
    pub fn new(mss: u16) -> Self {
        let (memory, cause, ends) = (Memory::new(), Cause::default(), Vec::new());
        Self { clock: 0, memory, mss, cause, end: 0, ends, failure: None, random: 0 }
    }
}

thread_local! {
    static AT_WORK: RefCell<Option<Box<Asked>>> = const { RefCell::new(None) };
}

/// This host is at work from now on; it comes back from [`leave`].
pub(crate) fn enter(asked: Box<Asked>) {
    AT_WORK.with_borrow_mut(|at_work| *at_work = Some(asked));
}

/// Nobody is at work any more.
pub(crate) fn leave() -> Box<Asked> {
    AT_WORK.with_borrow_mut(|at_work| at_work.take().expect("it was at work"))
}

/// Something of the host at work.
pub(crate) fn with<R>(what: impl FnOnce(&mut Asked) -> R) -> R {
    AT_WORK.with_borrow_mut(|at_work| what(at_work.as_mut().expect("the library works for a host")))
}

/// The address of what answers to a name.
pub(crate) fn answer(name: &str) -> usize {
    match name {
        "malloc" => malloc as *const () as usize,
        "calloc" => calloc as *const () as usize,
        "free" => free as *const () as usize,
        "memcpy" | "__memcpy_chk" => libc::memcpy as *const () as usize,
        "memmove" => libc::memmove as *const () as usize,
        "memcmp" => libc::memcmp as *const () as usize,
        "strlen" => libc::strlen as *const () as usize,
        "strncmp" => libc::strncmp as *const () as usize,
        "rand" => rand as *const () as usize,
        "sys_now" => sys_now as *const () as usize,
        "sys_arch_protect" | "sys_timeouts_init" | "fflush" => nothing as *const () as usize,
        "sys_arch_unprotect" | "sys_check_core_locking" => nothing as *const () as usize,
        "tcp_alloc" => ffi::rexmit_lwip_tcp_alloc as *const () as usize,
        "tcp_free" => ffi::rexmit_lwip_tcp_free as *const () as usize,
        "tcp_eff_send_mss_netif" => ffi::rexmit_lwip_tcp_eff_send_mss_netif as *const () as usize,
        "__printf_chk" => ffi::rexmit_lwip_say as *const () as usize,
        // What begins and ends a library of the system's, where a system has it.
        _ if name.starts_with("_ITM_") || name == "__gmon_start__" || name == "__cxa_finalize" => 0,
        _ => ffi::rexmit_lwip_stop as *const () as usize,
    }
}

extern "C" fn malloc(size: usize) -> *mut c_void {
    with(|asked| asked.memory.take(size)).cast()
}

extern "C" fn calloc(count: usize, size: usize) -> *mut c_void {
    let Some(bytes) = count.checked_mul(size) else { return std::ptr::null_mut() };
    let block = malloc(bytes);
    // SAFETY: the block has so many bytes.
    unsafe { block.write_bytes(0, bytes) };
    block
}

/// # Safety
/// The library calls it, with a block of its own.
unsafe extern "C" fn free(block: *mut c_void) {
    // SAFETY: as for this function.
    with(|asked| unsafe { asked.memory.give_back(block.cast()) });
}

/// It goes into the first port that the library would choose, which no end here lets it, and into groups that no host
/// is in. What matters is that it is the same in every run.
extern "C" fn rand() -> c_int {
    with(|asked| {
        asked.random = asked.random.wrapping_mul(1_103_515_245).wrapping_add(12_345);
        (asked.random >> 1) as c_int
    })
}

extern "C" fn sys_now() -> u32 {
    with(|asked| asked.clock) as u32
}

extern "C" fn nothing() -> c_int {
    0
}

/// An assertion of its own has failed, or it has asked for what it must not.
///
/// # Safety
/// `glue.c` calls it, with a text.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_lwip_failed(why: *const c_char) {
    // SAFETY: as for this function.
    let text = unsafe { CStr::from_ptr(why) }.to_string_lossy().trim().to_string();
    with(|asked| asked.failure = Some(text));
}

/// # Safety
/// `glue.c` calls it, with `len` bytes at `packet`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_lwip_leaves(packet: *const u8, len: usize) {
    // SAFETY: as for this function.
    let bytes = unsafe { std::slice::from_raw_parts(packet, len) };
    // TCP's ports are the first thing behind the IP header. What it sends beside TCP is none of the run's.
    let head = match bytes.first().map(|byte| byte >> 4) {
        Some(4) if bytes.get(9) == Some(&6) => usize::from(bytes[0] & 15) * 4,
        Some(6) if bytes.get(6) == Some(&6) => 40,
        _ => return,
    };
    let Some(ports) = bytes.get(head..head + 4) else { return };
    with(|asked| {
        let cause = asked.cause;
        let at_work = asked.ends.get(asked.end).is_some_and(|mail| mail.ports == *ports);
        let end =
            if at_work { Some(asked.end) } else { asked.ends.iter().position(|mail| mail.ports == *ports) };
        if let Some(end) = end {
            asked.ends[end].left.push((bytes.to_vec(), cause));
        }
    });
}

/// # Safety
/// `glue.c` calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_lwip_born(pcb: Pcb, wish: *mut Wish) {
    with(|asked| {
        let mail = &mut asked.ends[asked.end];
        mail.pcb = Some(pcb);
        // SAFETY: as for this function.
        unsafe { wish.write(mail.wish) };
    });
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_gone(pcb: Pcb) {
    with(|asked| asked.ends.iter_mut().filter(|mail| mail.pcb == Some(pcb)).for_each(|mail| mail.pcb = None));
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_accepted(pcb: Pcb) -> usize {
    with(|asked| {
        let mail = &mut asked.ends[asked.end];
        if mail.is_over {
            return usize::MAX;
        }
        mail.pcb = Some(pcb);
        asked.end
    })
}

/// # Safety
/// `glue.c` calls it.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_lwip_pcb(wish: *mut Wish) -> Pcb {
    with(|asked| {
        let mail = &asked.ends[asked.end];
        // SAFETY: as for this function.
        unsafe { wish.write(mail.wish) };
        mail.pcb.unwrap_or(std::ptr::null_mut())
    })
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_mss() -> u16 {
    with(|asked| asked.mss)
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_connected(end: usize) {
    with(|asked| asked.ends[end].news.push(News::Connected));
}

/// # Safety
/// `glue.c` calls it, with `len` bytes at `bytes`.
#[unsafe(no_mangle)]
unsafe extern "C" fn rexmit_lwip_received(end: usize, bytes: *const u8, len: usize) {
    // SAFETY: as for this function.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, len) };
    with(|asked| {
        let mail = &mut asked.ends[end];
        mail.misplaced += crate::stream::misplaced(mail.received, bytes);
        mail.received += bytes.len() as u64;
    });
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_ended(end: usize) {
    with(|asked| asked.ends[end].news.push(News::Ended));
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_acknowledged(end: usize) {
    with(|asked| asked.ends[end].news.push(News::Acknowledged));
}

#[unsafe(no_mangle)]
extern "C" fn rexmit_lwip_broken(end: usize, why: c_int) {
    with(|asked| asked.ends[end].news.push(News::Broken(why)));
}
