//! One emulation from its job to its end.

use std::fs::File;
use std::io;
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::sync::Arc;
use std::thread;

use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getegid, geteuid};
use rexmit_capture::Options;
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_network::{ByHost, HostId, Network};
use rexmit_path::Direction;
use rexmit_scenario::{Resolved, SpecError, VerdictLog};
use rexmit_units::{Duration, Instant};
use serde_json::Value;

use super::ends::{self, Ends};
use super::record::{self, Interface, Kept};
use super::report::{Event, Events, Summary};
use super::setting::{Setting, find, variable};
use super::watcher::Watcher;
use super::{Emulation, End, Role, VerdictTable};
use crate::drive::{DriveOptions, DriveReport, drive};
use crate::emulator::Emulator;
use crate::guest;
use crate::port::Side;
use crate::sys::clock;
use crate::sys::process::{die_with, kill_children, show_instead, signals};
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
    /// The network's scenario, if there is one.
    resolved: Option<Resolved>,
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
        let Setting { network, resolved, links } = Setting::read(wanted)?;
        let places = wanted.programs.iter().map(|program| {
            let unknown = || SpecError::new("programs", format!("{} is not a host", program.host));
            find(&network, &program.host).ok_or_else(unknown)
        });
        let places = places.collect::<Result<Vec<_>, _>>()?;
        let kept = keep(wanted)?;
        let made = make(wanted, resolved.as_ref());
        let addresses = resolved.as_ref().map(|resolved| network.by_host(|host| resolved.address(host)));
        let made = made
            .and_then(|(ends, ports)| Ok((taps(wanted, &network, addresses.as_ref(), &ends)?, ends, ports)));
        let (taps, ends, ports) = match made {
            Ok(made) => made,
            Err(e) => {
                kept.map(Kept::undo);
                return Err(e);
            }
        };
        let capturing = taps.values().any(Option::is_some);
        let environment = environment(wanted, &network, &ends);
        let mut emulator = Emulator::new(network, ports, links, capturing);
        if let Some(addresses) = &addresses {
            emulator = emulator.only_between(addresses);
        }
        let watcher = Watcher {
            wanted,
            events,
            signals,
            user,
            ends,
            network: emulator.shared_network(),
            environment,
            kept,
            places,
            programs: Vec::new(),
            code: None,
            ending: None,
            beaten: Instant::ZERO,
        };
        let driven = DriveReport::default();
        Ok(Self { wanted, resolved, emulator, driven, start: clock::monotonic(), taps, watcher })
    }

    /// Runs all programs, and the links between them, until the commands are over.
    fn run(&mut self) -> Result<(), End> {
        let addresses = self.watcher.ends.addresses.clone();
        self.watcher.events.say(&Event::Up { addresses })?;
        self.watcher.start(|role| role == Role::Holder)?;
        self.watcher.start(|role| role == Role::Server)?;
        self.watcher.wait_for_servers()?;
        if self.watcher.ending.is_some() {
            return Ok(());
        }
        self.watcher.start(Role::is_waited_for)?;
        // All keepers were made while there was only one thread. What has been sent before waits in its interface: the
        // links' clock begins with the commands.
        let options = if self.wanted.guest.is_some() {
            DriveOptions::virtual_time()
        } else {
            DriveOptions { mode: self.wanted.mode.into(), touch: TOUCH, ..DriveOptions::default() }
        };
        let (watch, emulator) = (Watch::of(self.emulator.network()), &mut self.emulator);
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
            let text = format!("the emulation was aborted: one of its interfaces is gone or failing: {e}");
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
        let links = self.emulator.links();
        let unreached = match &self.resolved {
            Some(resolved) => resolved.unreached(links),
            None => links.values().flat_map(Direction::unreached).collect(),
        };
        let unreached = unreached.iter().map(ToString::to_string).collect();
        let now = Instant::ZERO + self.driven.time;
        let summary = Summary::of(&mut self.emulator, &self.driven, now);
        Ok(Event::Over {
            code: self.watcher.code,
            device: self.watcher.ends.carrier,
            invalid: summary.invalid(),
            summary,
            unreached,
            verdicts: if self.wanted.verdicts {
                table(&verdicts, self.emulator.network())
            } else {
                Value::Null
            },
        })
    }

    fn write_captures(&mut self) -> Result<(), End> {
        let start = self.start.saturating_add_signed(clock::realtime_offset());
        let network = self.emulator.shared_network();
        for (host, tap) in self.taps.iter_mut() {
            let (Some(tap), Some(file)) = (tap, self.wanted.capture_at(host)) else { continue };
            let name = network.host_name(host);
            let about = Options {
                description: Some(match self.wanted.network {
                    None => format!("the {name}'s end of an emulated path"),
                    Some(_) => format!("the host {name} of an emulated network"),
                }),
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
    let network = Arc::clone(&watcher.network);
    Ok(watcher.look(now, &|| Summary::so_far(&network, &watch.live(), now))?.is_continue())
}

/// Makes what is to be emulated between.
fn make(wanted: &Emulation, resolved: Option<&Resolved>) -> Result<(Ends, ByHost<Side>), SpecError> {
    if let Some(file) = wanted.host_names.as_ref().filter(|_| wanted.guest.is_some()) {
        // Programs have no mounts of their own in a guest, which has no others.
        show_instead(file, Path::new("/etc/hosts")).map_err(|e| SpecError::new("", e.to_string()))?;
    }
    match (resolved, &wanted.between) {
        (Some(resolved), _) => ends::create_network(wanted, resolved),
        (None, Some(names)) => ends::take_over(names),
        (None, None) => ends::create(wanted),
    }
}

/// What the environment of all programs has.
fn environment(wanted: &Emulation, network: &Network, ends: &Ends) -> Vec<(String, String)> {
    let mut environment = vec![(record::VARIABLE.to_owned(), wanted.id.clone())];
    if let Some(addresses) = &ends.addresses {
        let name = |host| match (host, &wanted.network) {
            (SERVER, None) => "REXMIT_SERVER".to_owned(),
            (CLIENT, None) => "REXMIT_CLIENT".to_owned(),
            _ => variable(network.host_name(host)),
        };
        environment.extend(addresses.iter().map(|(host, address)| (name(host), address.to_string())));
    }
    environment.extend(wanted.environment.iter().cloned());
    environment
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

/// Begins the captures that are wanted: of a network, of packets to its `addresses`, as it carries no others.
fn taps(
    wanted: &Emulation,
    network: &Network,
    addresses: Option<&ByHost<IpAddr>>,
    ends: &Ends,
) -> Result<ByHost<Option<Tap>>, SpecError> {
    let addresses: Vec<IpAddr> = addresses.into_iter().flat_map(ByHost::values).copied().collect();
    network.try_by_host(|host: HostId| {
        if wanted.capture_at(host).is_none() {
            return Ok(None);
        }
        let end = &ends.ends[host];
        let tap = Tap::open(&end.namespace, &end.interface, None, &addresses);
        let tap = tap.map_err(|e| crate::host::system(network.host_name(host), &e))?;
        Ok(Some(if ends.addresses.is_some() { tap } else { tap.facing_the_host() }))
    })
}
