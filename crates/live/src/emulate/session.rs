//! One emulation from its job to its end.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::thread;

use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getegid, geteuid};
use rexmit_capture::Options;
use rexmit_network::two_hosts::{self, CLIENT, SERVER, host_name, try_by_host};
use rexmit_network::{ByHost, HostId};
use rexmit_path::Direction;
use rexmit_scenario::{SpecError, Streams, VerdictLog, read_path};
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
use crate::tap::{Heading, Tap};
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
    taps: ByHost<Option<Tap>>,
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
        let links = Streams::new(wanted.seed, "emulate").links_of_path(&path, wanted.verdicts)?;
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
        let capturing = taps.values().any(Option::is_some);
        let emulator = Emulator::new(two_hosts::network(), ports, links, capturing);
        let mut environment = vec![(record::VARIABLE.to_owned(), wanted.id.clone())];
        if let Some(addresses) = &ends.addresses {
            environment.push(("REXMIT_SERVER".to_owned(), addresses[SERVER].to_string()));
            environment.push(("REXMIT_CLIENT".to_owned(), addresses[CLIENT].to_string()));
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
            programs: two_hosts::by_host(|_| None),
            code: None,
            ending: None,
            beaten: Instant::ZERO,
        };
        let driven = DriveReport::default();
        Ok(Self { wanted, emulator, driven, start: clock::monotonic(), taps, watcher })
    }

    /// Runs both programs, and the path between them, until the command is over.
    fn run(&mut self) -> Result<(), End> {
        let addresses = self.watcher.ends.addresses.as_ref().map(|all| [all[CLIENT], all[SERVER]]);
        self.watcher.events.say(&Event::Up { addresses })?;
        if !self.wanted.server.is_empty() {
            self.watcher.start(SERVER)?;
            self.watcher.wait_for_server()?;
        }
        if self.watcher.ending.is_some() {
            return Ok(());
        }
        if !self.wanted.command.is_empty() {
            self.watcher.start(CLIENT)?;
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
                looked = look(watcher, taps, start, &watch);
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
        for (link, direction) in self.emulator.links().iter() {
            verdicts.add(link, direction.log());
        }
        let verdicts = verdicts.into_rows();
        let unreached = self.emulator.links().values().flat_map(Direction::unreached);
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
        for (host, tap) in self.taps.iter_mut() {
            let (Some(tap), Some(file)) = (tap, self.wanted.capture_at(host)) else { continue };
            let name = host_name(host);
            let about = Options {
                description: Some(format!("the {name}'s end of an emulated path")),
                epoch_ns: start,
                ..Options::default()
            };
            let verdicts = self.emulator.verdicts_on(host);
            let written = tap.drain().and_then(|()| {
                tap.write(file, &Heading { interface: name, start, options: &about }, verdicts)
            });
            written.map_err(|e| SpecError::writing(&file.display().to_string(), &e))?;
            let sent = tap.outgoing();
            if sent != verdicts.len() as u64 || tap.missed().is_ok_and(|n| n > 0) {
                self.watcher.events.note(format!(
                    "the capture at the {name} has {sent} packets sent, the emulator took {}: comments may be at the \
                     wrong ones",
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
    fn wait(&mut self, watcher: &Watcher<'_>, taps: &ByHost<Option<Tap>>, watch: &Watch, most: u32) {
        let packets = watch.live().packets.values().sum();
        let silent = watcher.wanted.guest.is_some() && packets == self.packets;
        self.packets = packets;
        self.patience = if silent { (2 * self.patience).clamp(LOOK, LONGEST_LOOK) } else { LOOK };
        // A capture that is looked at rarely is looked at when it has something.
        let taps = if silent { taps.values().flatten().collect() } else { Vec::new() };
        watcher.wait(self.patience.min(most), &taps);
    }
}

/// Looks after everything but packets; true while the emulation goes on.
fn look(
    watcher: &mut Watcher<'_>,
    taps: &mut ByHost<Option<Tap>>,
    start: u64,
    watch: &Watch,
) -> Result<bool, End> {
    for tap in taps.values_mut().flatten() {
        tap.drain()?;
    }
    let now = Instant::from_nanos(clock::monotonic().saturating_sub(start));
    Ok(watcher.look(now, &|| Summary::so_far(&watch.live(), now))?.is_continue())
}

/// Writes down what will have to be undone, if there is something.
fn keep(wanted: &Emulation) -> Result<Option<Kept>, SpecError> {
    let mut interfaces = Vec::new();
    for name in wanted.between.iter().flat_map(ByHost::values) {
        let found = Interface::look(name);
        interfaces.push(found.map_err(|e| SpecError::new(format!("--between {name}"), e.to_string()))?);
    }
    let Some(folder) = wanted.records.as_ref().filter(|_| !interfaces.is_empty()) else { return Ok(None) };
    let kept = Kept::create(folder, &wanted.id, interfaces);
    kept.map(Some).map_err(|e| SpecError::writing(&folder.display().to_string(), &e))
}

/// Begins the captures that are wanted.
fn taps(wanted: &Emulation, ends: &Ends) -> Result<ByHost<Option<Tap>>, SpecError> {
    let tap = |host: HostId| {
        if wanted.capture_at(host).is_none() {
            return Ok(None);
        }
        let end = &ends.ends[host];
        let tap = Tap::open(&end.namespace, &end.interface, None, &[]);
        let tap = tap.map_err(|e| crate::host::system(host_name(host), &e))?;
        Ok(Some(if ends.addresses.is_some() { tap } else { tap.facing_the_host() }))
    };
    try_by_host(tap)
}
