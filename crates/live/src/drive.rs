//! The emulator driven by the real clock, in a thread of its own.

use std::io;

use rexmit_network::{ByHost, HostId, Id};
use rexmit_units::{Duration, Instant};

use crate::emulator::{Emulator, Incidents, Lateness, Pace};
use crate::port::Port;
use crate::sys::clock::Clock;
use crate::sys::device::Lost;
use crate::sys::poll::Poll;
use crate::sys::thread;
use crate::watch::Watch;

/// This long before a packet is due a hybrid is awake.
pub(crate) const EARLY: Duration = Duration::from_micros(150);
/// This long it stays awake after one.
pub(crate) const LINGER: Duration = Duration::from_millis(2);

/// What the emulator's thread does when nothing is due and nothing has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// It looks again at once, and takes a whole core.
    BusyPoll,
    /// It sleeps while nothing passes, until shortly before the next packet is due; then it looks again and again.
    Hybrid {
        /// How long before: as late as the machine wakes a thread, with some reserve.
        early: Duration,
        /// It stays awake for this long after a packet, as the next one may be near: an interface does not tell when a
        /// packet came, so that a packet which wakes it enters late.
        linger: Duration,
    },
    /// It sleeps until a packet comes or is due.
    Sleep,
}

impl Mode {
    /// [`Self::Hybrid`], awake from 150 us before a packet is due until 2 ms after the last one.
    pub const HYBRID: Self = Self::Hybrid { early: EARLY, linger: LINGER };

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::BusyPoll => "busy-poll",
            Self::Hybrid { .. } => "hybrid",
            Self::Sleep => "sleep",
        }
    }
}

/// How to drive, and when to say that it failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DriveOptions {
    /// What to do when there is nothing to do.
    pub mode: Mode,
    /// Which core to stay on. `None`: any.
    pub core: Option<usize>,
    /// Niceness of the thread; -20 goes before everything ordinary. `None`: as it is.
    pub nice: Option<i32>,
    /// How work is portioned.
    pub pace: Pace,
    /// Memory to touch before the run, bytes.
    pub touch: u64,
    /// A run is invalid where more than `late_share` of its packets came out later than this.
    pub late: Duration,
    /// See `late`.
    pub late_share: f64,
    /// How often a thread that sleeps looks whether it is to stop.
    pub longest_sleep: Duration,
}

impl DriveOptions {
    /// Where the clock stands while code runs, and time passes only for sleepers: every packet has its moment.
    pub fn virtual_time() -> Self {
        let options = Self::default();
        let pace = Pace { horizon: Duration::ZERO, ..options.pace };
        Self { mode: Mode::Sleep, touch: 0, pace, longest_sleep: Duration::from_secs(20), ..options }
    }
}

impl Default for DriveOptions {
    fn default() -> Self {
        Self {
            mode: Mode::BusyPoll,
            core: None,
            nice: None,
            pace: Pace { slice: Duration::from_micros(24), horizon: DEFAULT_HORIZON },
            touch: 64 << 20,
            late: Duration::from_millis(1),
            late_share: 0.01,
            longest_sleep: Duration::from_millis(20),
        }
    }
}

/// How long a packet may wait for those behind it: less than a host's network card waits before it tells of packets
/// (`ethtool -c`, rx-usecs), and thirteen full packets at 10 Gbit/s.
const DEFAULT_HORIZON: Duration = Duration::from_micros(16);
/// How often interfaces are asked what they lost.
const ASK: Duration = Duration::from_secs(1);
/// Queues are looked at this often.
const LOOK: Duration = Duration::from_millis(100);

/// How a drive went.
#[derive(Clone, Debug, Default)]
pub struct DriveReport {
    /// How long it took.
    pub time: Duration,
    /// How late packets came out.
    pub lateness: Lateness,
    /// The longest time in which the thread looked at nothing while it was awake.
    pub longest_pause: Duration,
    /// What each port's interface lost meanwhile.
    pub lost: ByHost<Lost>,
    /// What else happened.
    pub incidents: Incidents,
    /// Why the run does not count: the emulator did not keep up. One line.
    pub invalid: Option<String>,
}

/// Drives the emulator by CLOCK_MONOTONIC until `watch` says stop.
///
/// # Errors
/// Those of the interfaces, and of what `options` ask for.
pub fn drive<P: Port>(
    emulator: &mut Emulator<P>,
    options: &DriveOptions,
    watch: &Watch,
) -> io::Result<DriveReport> {
    prepare(options)?;
    emulator.pool().touch(options.touch);
    let poll = Poll::new()?;
    for (host, port) in emulator.ports().iter() {
        poll.add_readable(port, poll_number(host))?;
    }
    let mut driver = Driver {
        poll,
        before: emulator.lost()?,
        emulator,
        options,
        watch,
        clock: Clock::start(),
        asked: Instant::ZERO,
        looked: Instant::ZERO,
        worked: Instant::ZERO,
        last: Instant::ZERO,
        longest_pause: Duration::ZERO,
    };
    watch.begin();
    while !watch.is_stopped() {
        driver.step()?;
    }
    driver.report()
}

/// The number of a host's port for [`Poll`].
pub(crate) fn poll_number(host: HostId) -> u64 {
    host.index() as u64
}

/// Puts this thread where `options` say, with its priority.
///
/// # Errors
/// Those of what is asked for.
pub(crate) fn prepare(options: &DriveOptions) -> io::Result<()> {
    if let Some(core) = options.core {
        thread::pin(core)?;
    }
    if let Some(nice) = options.nice {
        thread::set_nice(nice)?;
    }
    thread::be_punctual()
}

struct Driver<'a, P> {
    emulator: &'a mut Emulator<P>,
    options: &'a DriveOptions,
    watch: &'a Watch,
    clock: Clock,
    poll: Poll,
    /// What interfaces had lost before the start.
    before: ByHost<Lost>,
    /// When they were last asked.
    asked: Instant,
    /// When the queues were last looked at.
    looked: Instant,
    /// When a packet last came or left.
    worked: Instant,
    /// The end of the last step.
    last: Instant,
    longest_pause: Duration,
}

impl<P: Port> Driver<'_, P> {
    /// Looks at everything once, and waits if nothing was there.
    fn step(&mut self) -> io::Result<()> {
        let (clock, pace) = (self.clock, self.options.pace);
        let mut work = 0;
        for host in self.emulator.ports().ids() {
            work += self.emulator.take_in_for(host, &clock, pace)?;
            // In the order of virtual time.
            for link in self.emulator.links().ids() {
                work += self.emulator.hand_out_for(link, &clock, pace)?;
            }
        }
        let now = clock.now();
        self.longest_pause = self.longest_pause.max(now.saturating_since(self.last));
        self.last = now;
        if work > 0 {
            self.worked = now;
            self.watch.publish(self.emulator);
        }
        if now.saturating_since(self.looked) > LOOK {
            self.watch.publish_queues(self.emulator, now);
            self.looked = now;
        }
        if now.saturating_since(self.asked) > ASK {
            let lost = self.lost()?;
            self.watch.publish_lost(&lost);
            self.asked = now;
            self.last = clock.now();
        }
        if work == 0 { self.rest(now) } else { Ok(()) }
    }

    fn rest(&mut self, now: Instant) -> io::Result<()> {
        let early = match self.options.mode {
            Mode::BusyPoll => {
                std::hint::spin_loop();
                return Ok(());
            }
            Mode::Hybrid { linger, .. } if now.saturating_since(self.worked) < linger => {
                std::hint::spin_loop();
                return Ok(());
            }
            Mode::Hybrid { early, .. } => early,
            Mode::Sleep => Duration::ZERO,
        };
        let next = self.emulator.next_action(self.options.pace);
        let sleep = next.saturating_since(now).saturating_sub(early).min(self.options.longest_sleep);
        if !sleep.is_zero() {
            self.poll.wait(self.clock.monotonic_at(now + sleep))?;
            self.last = self.clock.now();
        }
        Ok(())
    }

    fn lost(&mut self) -> io::Result<ByHost<Lost>> {
        let mut all = self.emulator.lost()?;
        for (lost, before) in all.values_mut().zip(self.before.values()) {
            lost.sent = lost.sent.saturating_sub(before.sent);
            lost.received = lost.received.saturating_sub(before.received);
        }
        Ok(all)
    }

    fn report(mut self) -> io::Result<DriveReport> {
        let lost = self.lost()?;
        self.watch.publish(self.emulator);
        self.watch.publish_lost(&lost);
        let mut report = DriveReport {
            time: self.last.saturating_since(Instant::ZERO),
            lateness: self.emulator.lateness().clone(),
            longest_pause: self.longest_pause,
            lost,
            incidents: self.emulator.incidents(),
            invalid: None,
        };
        report.invalid = report.fault(self.options);
        Ok(report)
    }
}

impl DriveReport {
    /// Why the run does not count, if it does not.
    fn fault(&self, options: &DriveOptions) -> Option<String> {
        let mut faults = Vec::new();
        let mut fault = |count: u64, what: &str| {
            if count > 0 {
                faults.push(format!("{count} {what}"));
            }
        };
        let lost = |count: fn(&Lost) -> u64| self.lost.values().map(count).sum();
        fault(lost(|host| host.sent), "lost before the emulator took them");
        fault(lost(|host| host.received), "lost on their way from the emulator to a host");
        fault(self.lateness.refused, "refused by a host's interface");
        fault(self.incidents.no_room, "dropped for lack of memory in the emulator");
        let late = self.lateness.later_than(options.late);
        if late as f64 > options.late_share * self.lateness.packets as f64 {
            fault(late, &format!("came out more than {} ms late", options.late.as_millis_f64()));
        }
        let all = faults.join(", ");
        (!faults.is_empty()).then(|| format!("the emulator did not keep up: packets: {all}"))
    }
}
