//! Waiting for descriptors or an instant of CLOCK_MONOTONIC, to the nanosecond where the kernel can.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use super::{check, clock, inside};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};

pub use nix::sys::epoll::EpollFlags as Readiness;

/// What a wait gave: the number that a descriptor was added with, and what it is ready for.
pub type Ready = (u64, Readiness);

/// The number of the timer among those of descriptors.
const TIMER: u64 = u64::MAX;

/// A set of descriptors to wait for.
///
/// The time is a timer's descriptor: the timeout of a wait itself may be late by a thousandth of its length. Inside a
/// guest's kernel it is exact (its patch `engine-wait`), and no timer is needed.
#[derive(Debug)]
pub struct Poll {
    epoll: Epoll,
    timer: Option<Timer>,
    events: Vec<EpollEvent>,
}

#[derive(Debug)]
struct Timer {
    descriptor: TimerFd,
    /// When it goes off, if it has not yet.
    armed: Option<u64>,
}

impl Poll {
    /// An empty set.
    ///
    /// # Errors
    /// Those of the kernel: no descriptor left.
    pub fn new() -> io::Result<Self> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let events = vec![EpollEvent::empty(); 64];
        if inside::is_inside() {
            return Ok(Self { epoll, timer: None, events });
        }
        let flags = TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC;
        let descriptor = TimerFd::new(ClockId::CLOCK_MONOTONIC, flags)?;
        epoll.add(&descriptor, EpollEvent::new(EpollFlags::EPOLLIN | EpollFlags::EPOLLET, TIMER))?;
        Ok(Self { epoll, timer: Some(Timer { descriptor, armed: None }), events })
    }

    /// Waits for `fd` to become readable: while it is.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn add_readable(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        Ok(self.epoll.add(fd, EpollEvent::new(EpollFlags::EPOLLIN, number))?)
    }

    /// Waits for each change of a socket, once a change.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn add_socket(&self, fd: impl AsFd, number: u64) -> io::Result<()> {
        let all = EpollFlags::EPOLLIN | EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
        Ok(self.epoll.add(fd, EpollEvent::new(all, number))?)
    }

    /// As [`Self::wait`], but sleeps only from `awake` on until `early` nanoseconds before `until`, and asks again and
    /// again before and after: a sleeper may be woken late.
    ///
    /// # Errors
    /// Those of the kernel.
    pub fn wait_awake(&mut self, until: u64, early: u64, awake: u64) -> io::Result<Vec<Ready>> {
        loop {
            let now = clock::monotonic();
            if now >= until {
                return self.ask();
            }
            let sleeps = now >= awake && until - now > early;
            let ready = if sleeps { self.wait(until - early)? } else { self.ask()? };
            if !ready.is_empty() {
                return Ok(ready);
            }
        }
    }

    /// Waits until something is ready.
    ///
    /// # Errors
    /// As [`Self::wait`].
    pub fn wait_on(&mut self) -> io::Result<Vec<Ready>> {
        self.heard(EpollTimeout::NONE)
    }

    /// What is ready now.
    fn ask(&mut self) -> io::Result<Vec<Ready>> {
        self.heard(EpollTimeout::ZERO)
    }

    /// Waits until something is ready or the clock has reached `until`, nanoseconds of CLOCK_MONOTONIC. The answer
    /// is empty where the time came first.
    ///
    /// # Errors
    /// Those of the kernel; an interruption by a signal counts as no event.
    pub fn wait(&mut self, until: u64) -> io::Result<Vec<Ready>> {
        if clock::monotonic() >= until {
            // A timer that is set to what has passed goes off some time later: with a virtual clock, 1 ns.
            return self.ask();
        }
        let Some(timer) = &mut self.timer else { return self.wait_exactly(until) };
        if timer.armed != Some(until) {
            // A time of zero would disarm it.
            let at = TimeSpec::from_duration(std::time::Duration::from_nanos(until.max(1)));
            timer.descriptor.set(Expiration::OneShot(at), TimerSetTimeFlags::TFD_TIMER_ABSTIME)?;
            timer.armed = Some(until);
        }
        self.heard(EpollTimeout::NONE)
    }

    fn wait_exactly(&mut self, until: u64) -> io::Result<Vec<Ready>> {
        match inside::wait(&self.epoll.0, until) {
            Some(true) => return self.ask(),
            Some(false) => return Ok(Vec::new()),
            None => {}
        }
        let left = until.saturating_sub(clock::monotonic());
        let patience = libc::timespec {
            tv_sec: (left / 1_000_000_000) as libc::time_t,
            tv_nsec: (left % 1_000_000_000) as libc::c_long,
        };
        // SAFETY: `EpollEvent` is the kernel's own; it writes as many as there is room for, and reads one time.
        let found = unsafe {
            libc::syscall(
                libc::SYS_epoll_pwait2,
                self.epoll.0.as_raw_fd(),
                self.events.as_mut_ptr(),
                self.events.len(),
                &raw const patience,
                0,
                0,
            )
        };
        match check(found) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(Vec::new()),
            found => Ok(self.events[..found? as usize].iter().map(|e| (e.data(), e.events())).collect()),
        }
    }

    fn heard(&mut self, patience: EpollTimeout) -> io::Result<Vec<Ready>> {
        let found = match self.epoll.wait(&mut self.events, patience) {
            Err(nix::errno::Errno::EINTR) => 0,
            other => other?,
        };
        let events = &self.events[..found];
        if let Some(timer) = self.timer.as_mut().filter(|_| events.iter().any(|e| e.data() == TIMER)) {
            timer.armed = None;
        }
        Ok(events.iter().filter(|e| e.data() != TIMER).map(|e| (e.data(), e.events())).collect())
    }
}
