//! A host: a copy of the library with its addresses, its clock and its ends.

use std::cell::RefCell;
use std::ffi::c_void;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::rc::Rc;

use rexmit_stack::{EndSettings, Role};
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::config::LwipConfig;
use crate::copy::Copy;
use crate::ffi::{self, Look, Pcb, Wish};
use crate::hooks::{self, Asked, Cause, Mail};
use crate::stream;

/// The library's clock counts these, in nanoseconds.
const TICK: u64 = 1_000_000;

/// A host of a run, which its ends share.
#[derive(Clone)]
pub(crate) struct Host(Rc<RefCell<Inner>>);

struct Inner {
    copy: Copy,
    /// What is asked, except while the library works.
    asked: Option<Box<Asked>>,
    mtu: u16,
    addresses: Vec<(IpAddr, *mut c_void)>,
    listens: Vec<SocketAddr>,
    /// When the library's next timer is due.
    due: Option<Instant>,
    now: Instant,
}

impl Host {
    /// A host that has just been switched on.
    pub fn new(settings: &LwipConfig, mtu: u16) -> io::Result<Self> {
        let host = Inner {
            copy: Copy::take()?,
            asked: Some(Box::new(Asked::new(settings.mss))),
            mtu,
            addresses: Vec::new(),
            listens: Vec::new(),
            due: None,
            now: Instant::ZERO,
        };
        let host = Self(Rc::new(RefCell::new(host)));
        // SAFETY: the copy is at work, and has not been started before.
        host.work(Instant::ZERO, Cause::Application, |_| unsafe { ffi::rexmit_lwip_start() });
        Ok(host)
    }

    /// One more end with these settings; its number. A passive one listens.
    pub fn add_end(&self, settings: &LwipConfig, end: &EndSettings) -> usize {
        let wish = Wish {
            send_buffer: settings.send_buffer.0 as u32,
            receive_buffer: settings.receive_buffer.0 as u32,
            nagle: settings.nagle.into(),
            tos: settings.tos,
        };
        let ([a, b], [c, d]) = (end.local.port().to_be_bytes(), end.remote.port().to_be_bytes());
        let mail = Mail { wish, ports: [a, b, c, d], ..Mail::default() };
        self.work(Instant::ZERO, Cause::Application, |host| {
            let number = hooks::with(|asked| {
                asked.ends.push(mail);
                asked.end = asked.ends.len() - 1;
                asked.end
            });
            host.add_address(end.local.ip());
            if end.role == Role::Passive && !host.listens.contains(&end.local) {
                // SAFETY: the copy is at work. It has room for whatever listens, at addresses that it has.
                unsafe { ffi::rexmit_lwip_listen(&end.local.into()) };
                host.listens.push(end.local);
            }
            number
        })
    }

    /// Sends a SYN.
    pub fn connect(&self, end: usize, now: Instant, settings: &EndSettings) -> bool {
        self.act(end, now, Cause::Application, |_| {
            // SAFETY: the copy is at work.
            unsafe { ffi::rexmit_lwip_connect(end, &settings.local.into(), &settings.remote.into()) != 0 }
        })
    }

    /// Takes a packet in; the end's state before and after.
    pub fn arrives(&self, end: usize, now: Instant, packet: &Packet) -> [Option<Look>; 2] {
        let bytes = packet.emit();
        self.act(end, now, Cause::Packet, |host| {
            let before = look();
            let to = packet.dst;
            let netif = host.addresses.iter().find(|(address, _)| *address == to).or(host.addresses.first());
            if let (Some((_, netif)), Ok(len)) = (netif, u16::try_from(bytes.len())) {
                // SAFETY: the copy is at work, and the interface is one of its own.
                unsafe { ffi::rexmit_lwip_arrives(*netif, bytes.as_ptr(), len) };
            }
            [before, look()]
        })
    }

    /// Lets timers expire that are due by now.
    pub fn expire(&self, now: Instant) {
        self.work(now, Cause::Timer, |host| host.expire(|due| due <= now));
    }

    /// Writes the stream's bytes from `at`; how many it took.
    pub fn write(&self, end: usize, now: Instant, at: u64, len: u64) -> u64 {
        self.act(end, now, Cause::Application, |_| {
            let Some(pcb) = pcb() else { return 0 };
            let mut taken = 0;
            while taken < len {
                let piece = stream::piece(at + taken, len - taken);
                let more = taken + (piece.len() as u64) < len;
                // SAFETY: the copy is at work, and the connection is there.
                let part =
                    unsafe { ffi::rexmit_lwip_write(pcb, piece.as_ptr(), piece.len() as u16, more.into()) };
                taken += u64::from(part);
                if usize::from(part) < piece.len() {
                    break;
                }
            }
            // SAFETY: likewise.
            unsafe { ffi::rexmit_lwip_output(pcb) };
            taken
        })
    }

    /// The application has read so many bytes.
    pub fn read(&self, end: usize, now: Instant, len: u64) {
        self.act(end, now, Cause::Application, |_| {
            let mut left = len;
            while let Some(pcb) = pcb().filter(|_| left > 0) {
                let part = left.min(u64::from(u16::MAX));
                // SAFETY: the copy is at work, and the connection is there.
                unsafe { ffi::rexmit_lwip_read(pcb, part as u16) };
                left -= part;
            }
        });
    }

    /// The application writes no more.
    pub fn shut(&self, end: usize, now: Instant) {
        self.act(end, now, Cause::Application, |_| {
            if let Some(pcb) = pcb() {
                // SAFETY: the copy is at work, and the connection is there.
                unsafe { ffi::rexmit_lwip_shut(pcb) };
            }
        });
    }

    /// The application breaks it off.
    pub fn abort(&self, end: usize, now: Instant) {
        self.act(end, now, Cause::Application, |_| {
            if let Some(pcb) = pcb() {
                // SAFETY: the copy is at work, and the connection is there.
                unsafe { ffi::rexmit_lwip_abort(pcb) };
            }
        });
    }

    /// An end's state, where it has a connection.
    pub fn look(&self, end: usize) -> Option<Look> {
        let host = self.0.borrow();
        let asked = host.asked.as_ref()?;
        asked.ends[end].pcb.filter(|_| asked.failure.is_none()).map(look_at)
    }

    /// What no library can have: an interface twice.
    #[cfg(test)]
    pub fn add_an_interface_again(&self) {
        self.work(Instant::ZERO, Cause::Application, |host| {
            let (address, netif) = host.addresses.first().expect("it has one");
            // SAFETY: the copy is at work, and the interface is one of its own.
            unsafe { ffi::rexmit_lwip_add_address(*netif, &SocketAddr::new(*address, 0).into(), host.mtu) };
        });
    }

    /// Why the library has given up, if it has.
    pub fn failure(&self) -> Option<String> {
        self.0.borrow().asked.as_ref()?.failure.clone()
    }

    /// What there is for an end.
    pub fn mail<R>(&self, end: usize, what: impl FnOnce(&mut Mail) -> R) -> Option<R> {
        let mut host = self.0.borrow_mut();
        host.asked.as_mut().map(|asked| what(&mut asked.ends[end]))
    }

    /// When an end is to be called: now where something waits for it, at the next timer while it has a connection.
    pub fn due(&self, end: usize) -> Option<Instant> {
        let host = self.0.borrow();
        let mail = &host.asked.as_ref()?.ends[end];
        if !mail.left.is_empty() || !mail.news.is_empty() {
            return Some(host.now);
        }
        host.due.filter(|_| mail.pcb.is_some() && !mail.is_over)
    }

    /// Lets the library work for an end, whose host has been up to date before.
    fn act<R: Default>(
        &self,
        end: usize,
        now: Instant,
        cause: Cause,
        what: impl FnOnce(&mut Inner) -> R,
    ) -> R {
        self.work(now, cause, |host| {
            // A host none of whose ends has asked for its timers had them all the same.
            host.expire(|due| due < now);
            hooks::with(|asked| (asked.end, asked.clock, asked.cause) = (end, now.as_nanos() / TICK, cause));
            what(host)
        })
    }

    fn work<R: Default>(&self, now: Instant, cause: Cause, what: impl FnOnce(&mut Inner) -> R) -> R {
        if self.failure().is_some() {
            return R::default();
        }
        let host = &mut *self.0.borrow_mut();
        let mut asked = host.asked.take().expect("the library works for one at a time");
        asked.cause = cause;
        hooks::enter(asked);
        // SAFETY: the addresses are those of the copy, which stays where it is.
        unsafe { ffi::rexmit_lwip_at_work(host.copy.calls()) };
        let result = what(host);
        host.settle();
        let asked = hooks::leave();
        if asked.failure.is_some() {
            host.due = None;
        }
        host.asked = Some(asked);
        host.now = host.now.max(now);
        result
    }
}

impl Inner {
    fn add_address(&mut self, address: IpAddr) {
        if self.addresses.iter().any(|(known, _)| *known == address) {
            return;
        }
        // SAFETY: the copy is at work, and the memory is as large as it asks, with zeros in it.
        let netif = unsafe {
            let size = ffi::rexmit_lwip_netif_size();
            let netif = hooks::with(|asked| asked.memory.take(size));
            netif.write_bytes(0, size);
            let netif = netif.cast::<c_void>();
            ffi::rexmit_lwip_add_address(netif, &SocketAddr::new(address, 0).into(), self.mtu);
            netif
        };
        self.addresses.push((address, netif));
    }

    /// Lets timers expire, each at its time, as long as the next is to.
    fn expire(&mut self, is_due: impl Fn(Instant) -> bool) {
        while let Some(due) = self.due.filter(|due| is_due(*due)) {
            if hooks::with(|asked| asked.failure.is_some()) {
                return;
            }
            hooks::with(|asked| (asked.clock, asked.cause) = (due.as_nanos() / TICK, Cause::Timer));
            // SAFETY: the copy is at work.
            unsafe { ffi::rexmit_lwip_expire() };
            self.settle();
        }
    }

    /// Takes note of when its next timer is due.
    fn settle(&mut self) {
        // SAFETY: the copy is at work.
        let sleep = unsafe { ffi::rexmit_lwip_sleep() };
        let clock = hooks::with(|asked| asked.clock);
        self.due = (sleep != u32::MAX).then(|| Instant::from_nanos(TICK * (clock + u64::from(sleep))));
    }
}

/// The connection of the end at work.
fn pcb() -> Option<Pcb> {
    hooks::with(|asked| asked.ends[asked.end].pcb)
}

fn look() -> Option<Look> {
    pcb().map(look_at)
}

fn look_at(pcb: Pcb) -> Look {
    let mut look = Look::default();
    // SAFETY: it reads a structure that is there as long as its end names it.
    unsafe { ffi::rexmit_lwip_look(pcb, &mut look) };
    look
}
