//! One emulation from its job to its end.

use std::fs::{self, File};
use std::io;
use std::ops::ControlFlow;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use nix::unistd::{Pid, getegid, geteuid};
use rexmit_capture::Options;
use rexmit_path::{Direction, DirectionSpec, PathSpec};
use rexmit_scenario::{HOSTS, SpecError, Streams, VerdictRow, read_path};
use rexmit_units::{Duration, Instant};
use serde_json::Value;

use super::drive::{PORTS, drive};
use super::ends::{self, Ends};
use super::keeper::{Keeper, Program, Report};
use super::record::{self, Kept};
use super::report::{Event, Events, Summary};
use super::{Emulation, Ready, VerdictTable};
use crate::emulator::Emulator;
use crate::guest;
use crate::packet::RealPacket;
use crate::sys::clock;
use crate::sys::poll::Poll;
use crate::sys::process::{adopt_orphans, die_with, kill_children, signals};
use crate::tap::Tap;

/// Numbers for [`Poll`]: the signals' and the programs'.
const SIGNALS: u64 = PORTS[1] + 1;
const PROGRAMS: [u64; 2] = [SIGNALS + 1, SIGNALS + 2];
/// A server that listens nowhere is waited for so long, nanoseconds.
const PATIENCE: u64 = 5_000_000_000;
/// Both programs have ended, or were killed, within this time.
const END: Duration = Duration::from_secs(5);
/// An emulation whose packets are later than this on average does not count.
const LATE: u64 = 5_000_000;
/// What `timeout` answers with as well.
const OUT_OF_TIME: i32 = 124;

/// Runs the emulation in the file `job` and answers to `answer`. This process must have one thread.
///
/// # Errors
/// A job that cannot be read, an answer that cannot be written. What is wrong with an emulation is an answer.
pub fn serve(job: &Path, answer: OwnedFd, table: VerdictTable<'_>) -> io::Result<()> {
    let wanted: Emulation = serde_json::from_slice(&fs::read(job)?)?;
    let mut events = Events(File::from(answer));
    let done = prepare(&wanted, &mut events).and_then(|(signals, user)| {
        let mut session = Session::create(&wanted, &mut events, signals, user)?;
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

/// Why there is no emulation.
enum End {
    Wrong(SpecError),
    Told { text: String, code: i32 },
}

impl From<SpecError> for End {
    fn from(error: SpecError) -> Self {
        Self::Wrong(error)
    }
}

impl From<io::Error> for End {
    fn from(error: io::Error) -> Self {
        Self::Told { text: error.to_string(), code: 1 }
    }
}

/// Makes this process one that ends with its parent and leaves nothing; the signals that end it, and who the
/// programs are to be where it had to become root.
fn prepare(wanted: &Emulation, events: &mut Events) -> Result<(SignalFd, Option<(u32, u32)>), End> {
    let signals = signals(&[Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGQUIT])?;
    let (user, group) = (geteuid(), getegid());
    guest::become_root()?;
    die_with(Pid::from_raw(wanted.parent), Signal::SIGTERM)?;
    adopt_orphans()?;
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
    emulator: Option<Emulator>,
    poll: Poll,
    /// The path's clock began here, nanoseconds of CLOCK_MONOTONIC.
    start: u64,
    taps: [Option<Tap>; 2],
    watcher: Watcher<'a>,
}

/// What looks after an emulation while packets pass.
struct Watcher<'a> {
    wanted: &'a Emulation,
    events: &'a mut Events,
    signals: SignalFd,
    user: Option<(u32, u32)>,
    ends: Ends,
    environment: Vec<(String, String)>,
    kept: Option<Kept>,
    /// The server's, then the command's.
    programs: [Option<Keeper>; 2],
    code: Option<i32>,
    /// It is to end; everything has, or is killed, by then.
    ending: Option<Instant>,
    beaten: Instant,
    last: Summary,
}

impl<'a> Session<'a> {
    fn create(
        wanted: &'a Emulation,
        events: &'a mut Events,
        signals: SignalFd,
        user: Option<(u32, u32)>,
    ) -> Result<Self, SpecError> {
        let path = read_path(wanted.path.clone())?;
        let directions = directions(&path, wanted)?;
        let (ends, ports) = ends::create(wanted)?;
        let capturing = wanted.captures.iter().any(Option::is_some);
        let mut taps = [None, None];
        for (n, end) in ends.ends.iter().enumerate() {
            if wanted.captures[n].is_some() {
                let tap = Tap::open((&end.namespace, &end.interface), None, &[]);
                taps[n] = Some(tap.map_err(|e| crate::host::system(HOSTS[n], &e))?);
            }
        }
        let [client, server] = ends.addresses;
        let emulator = Emulator::new(ports, directions, [server, client], capturing).for_anybody();
        let wrong = |e: io::Error| SpecError::writing("to the kernel", &e);
        let poll = Poll::new().map_err(wrong)?;
        for (port, number) in emulator.ports().iter().zip(PORTS) {
            poll.add_readable(port, number).map_err(wrong)?;
        }
        poll.add_readable(&signals, SIGNALS).map_err(wrong)?;
        let kept = match &wanted.records {
            Some(folder) => Kept::create(folder, &wanted.id, Vec::new()).ok(),
            None => None,
        };
        let mut environment = vec![
            ("REXMIT_SERVER".to_owned(), server.to_string()),
            ("REXMIT_CLIENT".to_owned(), client.to_string()),
            (record::VARIABLE.to_owned(), wanted.id.clone()),
        ];
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
            last: Summary::default(),
        };
        Ok(Self { wanted, emulator: Some(emulator), poll, start: clock::monotonic(), taps, watcher })
    }

    /// Runs both programs, and the path between them, until the command is over.
    fn run(&mut self) -> Result<(), End> {
        let Some(mut emulator) = self.emulator.take() else { return Ok(()) };
        let addresses = Some(self.watcher.ends.addresses);
        self.watcher.events.say(&Event::Up { addresses })?;
        let done = self.run_programs(&mut emulator);
        self.emulator = Some(emulator);
        done
    }

    fn run_programs(&mut self, emulator: &mut Emulator) -> Result<(), End> {
        if !self.wanted.server.is_empty() {
            self.watcher.start(0, &self.poll)?;
            self.watcher.wait_for_server()?;
        }
        if self.watcher.ending.is_none() && !self.wanted.command.is_empty() {
            self.watcher.start(1, &self.poll)?;
        }
        // What the server has sent before waits in its interface: the path's clock begins with the command.
        self.start = clock::monotonic();
        let (watcher, taps) = (&mut self.watcher, &mut self.taps);
        let mut failed = None;
        let driven = drive(emulator, &mut self.poll, (self.wanted.mode, self.start), &mut |emulator, now| {
            for tap in taps.iter_mut().flatten() {
                tap.drain()?;
            }
            watcher.look(emulator, now).or_else(|e| {
                failed = Some(e);
                Ok(ControlFlow::Break(()))
            })
        });
        driven.map_err(|e| {
            let text = format!("the emulation broke off: an interface of it is gone or fails: {e}");
            End::Told { text, code: 1 }
        })?;
        failed.map_or(Ok(()), Err)
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
        let Some(emulator) = self.emulator.take() else { return Err(io::Error::other("no emulator").into()) };
        self.write_captures(&emulator)?;
        let mut verdicts = Vec::new();
        for (direction, name) in emulator.directions().iter().zip(["down", "up"]) {
            verdicts.extend(direction.log().iter().map(|row| VerdictRow { direction: name, row: *row }));
        }
        verdicts.sort_by_key(|v| v.row.time);
        let unreached = emulator.directions().iter().flat_map(Direction::unreached);
        let summary = self.watcher.last;
        Ok(Event::Over {
            code: self.watcher.code,
            invalid: invalid(&summary),
            summary,
            unreached: unreached.map(|u| u.to_string()).collect(),
            verdicts: if self.wanted.verdicts { table(&verdicts) } else { Value::Null },
        })
    }

    fn write_captures(&mut self, emulator: &Emulator) -> Result<(), End> {
        let start = self.start.saturating_add_signed(clock::realtime_offset());
        for (n, tap) in self.taps.iter_mut().enumerate() {
            let (Some(tap), Some(file)) = (tap, &self.wanted.captures[n]) else { continue };
            let about = Options {
                description: Some(format!("the {}'s end of an emulated path", HOSTS[n])),
                epoch_ns: start,
                ..Options::default()
            };
            let verdicts = emulator.verdicts()[n];
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

impl Watcher<'_> {
    /// Starts a program: the server's (0) or the command (1).
    fn start(&mut self, which: usize, poll: &Poll) -> Result<(), End> {
        let command = which == 1;
        let argv = if command { &self.wanted.command } else { &self.wanted.server };
        let keeper = Keeper::start(&Program {
            argv,
            environment: &self.environment,
            namespace: Some(&self.ends.ends[which].namespace),
            foreground: command.then_some(self.wanted.foreground),
            to_stderr: !command || self.wanted.to_stderr,
            user: self.user,
        })?;
        poll.add_readable(&keeper, PROGRAMS[which])?;
        self.programs[which] = Some(keeper);
        Ok(())
    }

    /// Waits until the server's command is ready for the other.
    fn wait_for_server(&mut self) -> Result<(), End> {
        let begin = clock::monotonic();
        loop {
            let waited = clock::monotonic() - begin;
            self.hear(Instant::ZERO, true)?;
            if self.ending.is_some() || self.is_ready(waited)? {
                return Ok(());
            }
            if waited > PATIENCE && !matches!(self.wanted.ready, Ready::After(_)) {
                let what = match self.wanted.ready {
                    Ready::Port(port) => format!("TCP port {port}"),
                    _ => "any port".into(),
                };
                self.events.note(format!(
                    "the server command does not listen on {what} after 5 s; COMMAND is started all the same \
                     (--server-ready says what to wait for)"
                ))?;
                return Ok(());
            }
            let mut both = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
            both.extend(self.programs[0].as_ref().map(|k| PollFd::new(k.as_fd(), PollFlags::POLLIN)));
            let _ = poll(&mut both, PollTimeout::from(10_u8));
        }
    }

    fn is_ready(&self, waited: u64) -> io::Result<bool> {
        let server = &self.ends.ends[0].namespace;
        match self.wanted.ready {
            Ready::After(ns) => Ok(waited >= ns),
            Ready::Port(port) => Ok(server.within(listening)?.contains(&("tcp", port))),
            Ready::Listening => Ok(!server.within(listening)?.is_empty()),
        }
    }

    /// Looks after everything; breaks when it is over.
    fn look(&mut self, emulator: &mut Emulator, now: Instant) -> Result<ControlFlow<()>, End> {
        self.hear(now, false)?;
        let limit = self.wanted.duration_ns.map(Duration::from_nanos);
        if let (Some(limit), None) = (limit.filter(|l| now >= Instant::ZERO + *l), self.ending) {
            if !self.wanted.command.is_empty() {
                self.code = Some(OUT_OF_TIME);
                self.events.note(format!("COMMAND was ended after {limit} (--duration)"))?;
            }
            self.end(now);
        }
        let finished = self.programs.iter().flatten().all(Keeper::is_over);
        let last = self.ending.is_some_and(|by| finished || now > by);
        let beat = self.wanted.beat_ns.is_some_and(|ns| now >= self.beaten + Duration::from_nanos(ns));
        if last || beat {
            self.last = Summary::of(emulator, now, self.lost()?);
            if beat && !last {
                self.beaten = now;
                self.events.say_if_heard(&Event::Now(self.last.clone()))?;
            }
        }
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Acts on signals and on what keepers say.
    fn hear(&mut self, now: Instant, before_command: bool) -> Result<(), End> {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if self.ending.is_none() {
                self.code.get_or_insert(128 + signal.ssi_signo as i32);
                self.end(now);
            }
        }
        for which in [0, 1] {
            let Some(keeper) = &mut self.programs[which] else { continue };
            if keeper.is_over() {
                continue;
            }
            let reports = keeper.hear();
            let killed = keeper.was_killed();
            for report in reports {
                match (report, which) {
                    (Report::Started, _) => {}
                    (Report::Failed { why, code }, 1) => return Err(End::Told { text: why, code }),
                    (Report::Failed { why, .. }, _) => {
                        return Err(End::Told { text: format!("--server: {why}"), code: 1 });
                    }
                    (Report::Exited { code }, 1) => {
                        self.code.get_or_insert(code);
                        self.end(now);
                    }
                    (Report::Exited { code }, _) => self.server_ended(code, before_command)?,
                }
            }
            if killed && self.ending.is_none() {
                self.code.get_or_insert(128 + Signal::SIGKILL as i32);
                self.events.note("the process that keeps a program was killed: the emulation ends")?;
                self.end(now);
            }
        }
        Ok(())
    }

    fn server_ended(&mut self, code: i32, before_command: bool) -> Result<(), End> {
        if self.ending.is_some() {
            return Ok(());
        }
        if before_command {
            let text = format!("the server command ended with exit code {code} before COMMAND was started");
            return Err(End::Told { text, code: 1 });
        }
        if code != 0 {
            self.events.note(format!("the server command has ended with exit code {code}"))?;
        }
        Ok(())
    }

    /// Asks everything to end.
    fn end(&mut self, now: Instant) {
        if self.ending.is_none() {
            self.ending = Some(now + END);
            for keeper in self.programs.iter().flatten() {
                keeper.end();
            }
        }
    }

    /// Ends what still runs without a path: nobody waits for it.
    fn end_programs(&mut self) {
        let begin = clock::monotonic();
        for keeper in self.programs.iter_mut().flatten() {
            keeper.end();
            while !keeper.is_over() && clock::monotonic() - begin < END.as_nanos() {
                let _ = poll(&mut [PollFd::new(keeper.as_fd(), PollFlags::POLLIN)], PollTimeout::from(50_u8));
                keeper.hear();
            }
        }
    }

    /// Packets that interfaces lost before the emulator took them.
    fn lost(&self) -> io::Result<u64> {
        let mut lost = 0;
        for end in &self.ends.ends {
            let text = end.namespace.within(|| fs::read_to_string("/proc/thread-self/net/dev"))?;
            lost += dropped(&text, &end.interface).unwrap_or(0);
        }
        Ok(lost)
    }
}

/// Packets sent that an interface dropped, from `/proc/net/dev`.
fn dropped(text: &str, interface: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim().strip_prefix(interface)?.strip_prefix(':'))?;
    line.split_whitespace().nth(11)?.parse().ok()
}

/// Sockets of this thread's namespace that wait for somebody: protocol and port.
fn listening() -> io::Result<Vec<(&'static str, u16)>> {
    let mut found = Vec::new();
    // The state of a TCP socket that listens is 0A, that of a UDP socket that is not connected 07.
    for (file, protocol, state) in
        [("tcp", "tcp", "0A"), ("tcp6", "tcp", "0A"), ("udp", "udp", "07"), ("udp6", "udp", "07")]
    {
        // A kernel without IPv6 has no such file.
        let text = fs::read_to_string(format!("/proc/thread-self/net/{file}")).unwrap_or_default();
        for line in text.lines().skip(1) {
            let mut fields = line.split_whitespace().skip(1);
            let (Some(local), Some(_), Some(now)) = (fields.next(), fields.next(), fields.next()) else {
                continue;
            };
            let port = local.rsplit_once(':').and_then(|(_, port)| u16::from_str_radix(port, 16).ok());
            found.extend(port.filter(|_| now == state).map(|port| (protocol, port)));
        }
    }
    Ok(found)
}

/// Why an emulation was not what it should be.
fn invalid(summary: &Summary) -> Option<String> {
    if summary.missed > 0 {
        return Some(format!(
            "{} packets were lost before the emulator or refused behind it",
            summary.missed
        ));
    }
    let late = summary.late_mean_ns;
    (late > LATE).then(|| format!("packets came out {:.1} ms late on average", late as f64 / 1e6))
}

/// The path's two directions.
fn directions(path: &PathSpec, wanted: &Emulation) -> Result<[Direction<RealPacket>; 2], SpecError> {
    let streams = Streams::new(wanted.seed, "emulate");
    let mut stream = |name: &str| streams.get(name);
    let mut direction = |spec: DirectionSpec, name: &str| {
        // Both directions pass one machine: its ticks have one phase.
        let phase = streams.phase("path.tick", spec.tick);
        let built = Direction::new(&spec, name, phase, &mut stream);
        let built = built.map_err(|e| SpecError::new("", e.to_string()))?;
        Ok::<_, SpecError>(if wanted.verdicts { built.with_log() } else { built })
    };
    Ok([direction(path.down(), "down")?, direction(path.up(), "up")?])
}
