//! One emulation from its job to its end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getegid, geteuid};
use rexmit_capture::Options;
use rexmit_path::Direction;
use rexmit_scenario::{HOSTS, SpecError, Streams, VerdictLog, read_path};
use rexmit_units::{Duration, Instant};
use serde_json::Value;

use super::ends::{self, Ends};
use super::record::{self, Interface, Kept};
use super::report::{Event, Events, Summary};
use super::watcher::Watcher;
use super::{Emulation, End, VerdictTable};
use crate::drive::{DriveOptions, DriveReport, drive};
use crate::emulator::Emulator;
use crate::guest;
use crate::port::Side;
use crate::sys::clock;
use crate::sys::process::{die_with, kill_children, signals};
use crate::sys::thread::set_nice;
use crate::tap::Tap;
use crate::watch::Watch;

/// Memory that is touched before the run, bytes.
const TOUCH: u64 = 8 << 20;
/// Niceness of the thread that hands packets over.
const NICE: i32 = -10;
/// Milliseconds between two looks at everything but packets.
const LOOK: u32 = 50;
/// The same at most, where the clock is virtual and nothing passes.
const LONGEST_LOOK: u32 = 20_000;

/// Runs an emulation and answers to `answer`. This process must have one thread.
///
/// # Errors
/// An answer that cannot be written. What is wrong with an emulation is an answer.
pub fn serve(wanted: &Emulation, answer: OwnedFd, table: VerdictTable<'_>) -> io::Result<()> {
    let mut events = Events(File::from(answer));
    let done = prepare(wanted, &mut events).and_then(|(signals, user)| {
        let mut session = Session::create(wanted, &mut events, signals, user)?;
        let failure = session.run().err();
        session.finish(failure, table)
    });
    let said = match done {
        Ok(event) => events.say(&event),
        Err(End::Wrong(e)) => events.say(&Event::Wrong { text: e.to_string(), code: 1 }),
        Err(End::Told { text, code }) => events.say(&Event::Wrong { text, code }),
    };
    kill_children();
    match said {
        // Who would have heard it was killed.
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Makes this process one that ends with its parent and leaves nothing; the signals that end it, and who the
/// programs are to be where it had to become root.
fn prepare(wanted: &Emulation, events: &mut Events) -> Result<(SignalFd, Option<(u32, u32)>), End> {
    let signals = signals(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT])?;
    let (user, group) = (geteuid(), getegid());
    guest::become_root()?;
    die_with(Pid::from_raw(wanted.parent), Signal::SIGTERM)?;
    if let Some(folder) = &wanted.records {
        for line in record::sweep(folder) {
            events.note(line)?;
        }
    }
    Ok((signals, (!user.is_root()).then_some((user.as_raw(), group.as_raw()))))
}

/// An emulation under way.
struct Session<'a> {
    wanted: &'a Emulation,
    emulator: Emulator<Side>,
    driven: DriveReport,
    /// The path's clock began here, nanoseconds of CLOCK_MONOTONIC.
    start: u64,
    taps: [Option<Tap>; 2],
    watcher: Watcher<'a>,
}

impl<'a> Session<'a> {
    fn create(
        wanted: &'a Emulation,
        events: &'a mut Events,
        signals: SignalFd,
        user: Option<(u32, u32)>,
    ) -> Result<Self, SpecError> {
        let path = read_path(wanted.path.clone())?;
        let directions = Streams::new(wanted.seed, "emulate").directions(&path, wanted.verdicts)?;
        let kept = keep(wanted)?;
        let made = wanted.between.as_ref().map_or_else(|| ends::create(wanted), ends::take_over);
        let made = made.and_then(|(ends, ports)| Ok((taps(wanted, &ends)?, ends, ports)));
        let (taps, ends, ports) = match made {
            Ok(made) => made,
            Err(e) => {
                kept.map(Kept::undo);
                return Err(e);
            }
        };
        let capturing = taps.iter().any(Option::is_some);
        let emulator = Emulator::new(ports, directions, capturing);
        let mut environment = vec![(record::VARIABLE.to_owned(), wanted.id.clone())];
        if let Some([client, server]) = ends.addresses {
            environment.push(("REXMIT_SERVER".to_owned(), server.to_string()));
            environment.push(("REXMIT_CLIENT".to_owned(), client.to_string()));
        }
        environment.extend(wanted.environment.iter().cloned());
        let watcher = Watcher {
            wanted,
            events,
            signals,
            user,
            ends,
            environment,
            kept,
            programs: [None, None],
            code: None,
            ending: None,
            beaten: Instant::ZERO,
        };
        let driven = DriveReport::default();
        Ok(Self { wanted, emulator, driven, start: clock::monotonic(), taps, watcher })
    }

    /// Runs both programs, and the path between them, until the command is over.
    fn run(&mut self) -> Result<(), End> {
        let addresses = self.watcher.ends.addresses;
        self.watcher.events.say(&Event::Up { addresses })?;
        if !self.wanted.server.is_empty() {
            self.watcher.start(0)?;
            self.watcher.wait_for_server()?;
        }
        if self.watcher.ending.is_some() {
            return Ok(());
        }
        if !self.wanted.command.is_empty() {
            self.watcher.start(1)?;
        }
        // Both keepers were made by one thread alone. What has been sent before waits in its interface: the path's
        // clock begins with the command.
        let options = if self.wanted.guest.is_some() {
            DriveOptions::virtual_time()
        } else {
            DriveOptions { mode: self.wanted.mode.into(), touch: TOUCH, ..DriveOptions::default() }
        };
        let (watch, emulator) = (Watch::default(), &mut self.emulator);
        let (watcher, taps) = (&mut self.watcher, &mut self.taps);
        self.start = clock::monotonic();
        let start = self.start;
        let driven = thread::scope(|scope| {
            let driver = scope.spawn(|| {
                // Before what is ordinary, where that is allowed: the programs were started before.
                set_nice(NICE).ok();
                drive(emulator, &options, &watch)
            });
            let mut looked = Ok(true);
            let mut glance = Glance::default();
            while !driver.is_finished() {
                looked = look(watcher, taps, (start, &watch));
                if !matches!(looked, Ok(true)) {
                    break;
                }
                let most = watcher.time_left(start);
                glance.wait(watcher, taps, &watch, most);
            }
            let time = Duration::from_nanos(clock::monotonic() - start);
            watch.stop();
            let driven = driver.join().unwrap_or_else(|_| Err(io::Error::other("its thread panicked")));
            // One that slept has seen the end late.
            looked.map(|_| driven.map(|driven| DriveReport { time: driven.time.min(time), ..driven }))
        })?;
        self.driven = driven.map_err(|e| {
            let text = format!("the emulation broke off: an interface of it is gone or fails: {e}");
            End::Told { text, code: 1 }
        })?;
        Ok(())
    }

    /// Writes what was asked for; the last event.
    fn finish(mut self, failure: Option<End>, table: VerdictTable<'_>) -> Result<Event, End> {
        self.watcher.end_programs();
        if let Some(kept) = self.watcher.kept.take() {
            for line in kept.undo() {
                self.watcher.events.note(line)?;
            }
        }
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.write_captures()?;
        // Programs open the connections here: none is of a scenario.
        let mut verdicts = VerdictLog::default();
        for (n, name) in ["down", "up"].into_iter().enumerate() {
            verdicts.add(name, n == 0, self.emulator.directions()[n].log());
        }
        let verdicts = verdicts.into_rows();
        let unreached = self.emulator.directions().iter().flat_map(Direction::unreached);
        let unreached = unreached.map(|u| u.to_string()).collect();
        let now = Instant::ZERO + self.driven.time;
        let summary = Summary::of(&mut self.emulator, &self.driven, now);
        Ok(Event::Over {
            code: self.watcher.code,
            device: self.watcher.ends.carrier,
            invalid: summary.invalid(),
            summary,
            unreached,
            verdicts: if self.wanted.verdicts { table(&verdicts) } else { Value::Null },
        })
    }

    fn write_captures(&mut self) -> Result<(), End> {
        let start = self.start.saturating_add_signed(clock::realtime_offset());
        for (n, tap) in self.taps.iter_mut().enumerate() {
            let (Some(tap), Some(file)) = (tap, &self.wanted.captures[n]) else { continue };
            let about = Options {
                description: Some(format!("the {}'s end of an emulated path", HOSTS[n])),
                epoch_ns: start,
                ..Options::default()
            };
            let verdicts = self.emulator.verdicts()[n];
            let written = tap.drain().and_then(|()| tap.write((file, HOSTS[n]), start, verdicts, &about));
            written.map_err(|e| SpecError::writing(&file.display().to_string(), &e))?;
            let sent = tap.outgoing();
            if sent != verdicts.len() as u64 || tap.missed().is_ok_and(|n| n > 0) {
                self.watcher.events.note(format!(
                    "the capture at the {} has {sent} packets sent, the emulator took {}: comments may be at the \
                     wrong ones",
                    HOSTS[n],
                    verdicts.len()
                ))?;
            }
        }
        Ok(())
    }
}

/// When everything but packets is looked at next.
#[derive(Default)]
struct Glance {
    /// Milliseconds without an event.
    patience: u32,
    packets: u64,
}

impl Glance {
    /// Waits for an event: a while, or where the clock is virtual, longer and longer while nothing passes, so that an
    /// hour of silence is soon over. Never longer than `most` milliseconds.
    fn wait(&mut self, watcher: &Watcher<'_>, taps: &[Option<Tap>; 2], watch: &Watch, most: u32) {
        let packets = watch.live().packets.iter().sum();
        let silent = watcher.wanted.guest.is_some() && packets == self.packets;
        self.packets = packets;
        self.patience = if silent { (2 * self.patience).clamp(LOOK, LONGEST_LOOK) } else { LOOK };
        // A capture that is looked at rarely is looked at when it has something.
        let taps = if silent { taps.iter().flatten().collect() } else { Vec::new() };
        watcher.wait(self.patience.min(most), &taps);
    }
}

/// Looks after everything but packets; true while the emulation goes on.
fn look(
    watcher: &mut Watcher<'_>,
    taps: &mut [Option<Tap>; 2],
    (start, watch): (u64, &Watch),
) -> Result<bool, End> {
    for tap in taps.iter_mut().flatten() {
        tap.drain()?;
    }
    let now = Instant::from_nanos(clock::monotonic().saturating_sub(start));
    Ok(watcher.look(now, &|| Summary::so_far(&watch.live(), now))?.is_continue())
}

/// Writes down what will have to be undone, if there is something.
fn keep(wanted: &Emulation) -> Result<Option<Kept>, SpecError> {
    let mut interfaces = Vec::new();
    for name in wanted.between.iter().flatten() {
        let found = Interface::look(name);
        interfaces.push(found.map_err(|e| SpecError::new(format!("--between {name}"), e.to_string()))?);
    }
    let Some(folder) = wanted.records.as_ref().filter(|_| !interfaces.is_empty()) else { return Ok(None) };
    let kept = Kept::create(folder, &wanted.id, interfaces);
    kept.map(Some).map_err(|e| SpecError::writing(&folder.display().to_string(), &e))
}

/// Begins the captures that are wanted.
fn taps(wanted: &Emulation, ends: &Ends) -> Result<[Option<Tap>; 2], SpecError> {
    let mut taps = [None, None];
    for (n, end) in ends.ends.iter().enumerate() {
        if wanted.captures[n].is_some() {
            let tap = Tap::open((&end.namespace, &end.interface), None, &[]);
            let tap = tap.map_err(|e| crate::host::system(HOSTS[n], &e))?;
            taps[n] = Some(if ends.addresses.is_some() { tap } else { tap.facing_the_host() });
        }
    }
    Ok(taps)
}
