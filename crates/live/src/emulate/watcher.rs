//! What looks after an emulation while packets pass: its programs, signals, its time.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use rexmit_network::two_hosts::{CLIENT, HOSTS, SERVER};
use rexmit_network::{ByHost, HostId};
use rexmit_units::{Duration, Instant};

use super::ends::Ends;
use super::keeper::{Keeper, Report, Started};
use super::record::Kept;
use super::report::{Event, Events, Summary};
use super::{Emulation, End, Ready};
use crate::sys::clock;
use crate::tap::Tap;

/// A server that listens nowhere is waited for so long, nanoseconds.
const PATIENCE: u64 = 5_000_000_000;
/// Both programs have ended, or were killed, within this time.
const END: Duration = Duration::from_secs(5);
/// What `timeout` answers with as well.
const OUT_OF_TIME: i32 = 124;

/// What looks after an emulation while packets pass.
pub struct Watcher<'a> {
    pub wanted: &'a Emulation,
    pub events: &'a mut Events,
    pub signals: SignalFd,
    pub user: Option<(u32, u32)>,
    pub ends: Ends,
    pub environment: Vec<(String, String)>,
    pub kept: Option<Kept>,
    /// The server's, and the command at the client.
    pub programs: ByHost<Option<Keeper>>,
    pub code: Option<i32>,
    /// It is to end; everything has, or is killed, by then.
    pub ending: Option<Instant>,
    pub beaten: Instant,
}

impl Watcher<'_> {
    /// Starts a host's program: the client's is the command.
    pub fn start(&mut self, host: HostId) -> Result<(), End> {
        let command = host == CLIENT;
        let argv = if command { &self.wanted.command } else { &self.wanted.server };
        let keeper = Keeper::start(&Started {
            argv,
            environment: &self.environment,
            inherits: true,
            folder: None,
            root: None,
            printed: None,
            namespace: self.ends.addresses.as_ref().map(|_| &self.ends.ends[host].namespace),
            foreground: self.wanted.foreground.filter(|_| command),
            to_stderr: !command || self.wanted.to_stderr,
            user: self.user,
            // A guest's kernel has no such namespaces, and ends with all that it runs.
            contained: self.wanted.guest.is_none(),
            held: self.events.0.as_fd(),
        })?;
        self.programs[host] = Some(keeper);
        Ok(())
    }

    /// Waits until the server's command is ready for the other.
    pub fn wait_for_server(&mut self) -> Result<(), End> {
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
            self.wait(10, &[]);
        }
    }

    /// Milliseconds until `--duration` is over, for a path whose clock began at `start`.
    pub fn time_left(&self, start: u64) -> u32 {
        let passed = clock::monotonic().saturating_sub(start);
        let left = self.wanted.duration_ns.map_or(u64::MAX, |limit| limit.saturating_sub(passed));
        u32::try_from(left.div_ceil(1_000_000)).unwrap_or(u32::MAX)
    }

    /// Waits until a signal has come, a keeper has said something, one of the `taps` has seen something, or `ms`
    /// milliseconds are over.
    pub fn wait(&self, ms: u32, taps: &[&Tap]) {
        let mut all = vec![PollFd::new(self.signals.as_fd(), PollFlags::POLLIN)];
        let live = self.programs.values().flatten().filter(|keeper| !keeper.is_over());
        all.extend(live.map(|keeper| PollFd::new(keeper.as_fd(), PollFlags::POLLIN)));
        all.extend(taps.iter().map(|tap| PollFd::new(tap.as_fd(), PollFlags::POLLIN)));
        // An interruption is no different from an event: everything is looked at.
        let _ = poll(&mut all, PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX));
    }

    fn is_ready(&self, waited: u64) -> io::Result<bool> {
        let server = &self.ends.ends[SERVER].namespace;
        match self.wanted.ready {
            Ready::After(ns) => Ok(waited >= ns),
            Ready::Port(port) => Ok(server.within(listening)?.contains(&("tcp", port))),
            Ready::Listening => server.within(is_listening),
        }
    }

    /// Looks after everything; breaks when it is over.
    pub fn look(&mut self, now: Instant, summary: &dyn Fn() -> Summary) -> Result<ControlFlow<()>, End> {
        self.hear(now, false)?;
        let limit = self.wanted.duration_ns.map(Duration::from_nanos);
        if let (Some(limit), None) = (limit.filter(|l| now >= Instant::ZERO + *l), self.ending) {
            if !self.wanted.command.is_empty() {
                self.code = Some(OUT_OF_TIME);
                self.events.note(format!("COMMAND was ended after {limit} (--duration)"))?;
            }
            self.end(now);
        }
        let finished = self.programs.values().flatten().all(Keeper::is_over);
        let last = self.ending.is_some_and(|by| finished || now > by);
        let beat = self.wanted.beat_ns.is_some_and(|ns| now >= self.beaten + Duration::from_nanos(ns));
        if beat && !last {
            self.beaten = now;
            self.events.say_if_heard(&Event::Now(summary()))?;
        }
        Ok(if last { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }

    /// Acts on signals and on what keepers say.
    fn hear(&mut self, now: Instant, before_command: bool) -> Result<(), End> {
        while let Ok(Some(signal)) = self.signals.read_signal() {
            if self.ending.is_none() {
                if !self.wanted.command.is_empty() {
                    self.code.get_or_insert(128 + signal.ssi_signo as i32);
                }
                self.end(now);
            }
        }
        for host in HOSTS {
            let Some(keeper) = &mut self.programs[host] else { continue };
            if keeper.is_over() {
                continue;
            }
            let reports = keeper.hear();
            let killed = keeper.was_killed();
            for report in reports {
                match (report, host) {
                    (Report::Started, _) => {}
                    (Report::Note(text), _) => self.events.note(text)?,
                    (Report::Failed { why, code }, CLIENT) => return Err(End::Told { text: why, code }),
                    (Report::Failed { why, .. }, _) => {
                        return Err(End::Told { text: format!("--server: {why}"), code: 1 });
                    }
                    (Report::Exited { code }, CLIENT) => {
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
    pub fn end(&mut self, now: Instant) {
        if self.ending.is_none() {
            self.ending = Some(now + END);
            for keeper in self.programs.values().flatten() {
                keeper.end();
            }
        }
    }

    /// Ends what still runs without a path: nobody waits for it.
    pub fn end_programs(&mut self) {
        let begin = clock::monotonic();
        for keeper in self.programs.values_mut().flatten() {
            keeper.end();
            while !keeper.is_over() && clock::monotonic() - begin < END.as_nanos() {
                let _ = poll(&mut [PollFd::new(keeper.as_fd(), PollFlags::POLLIN)], PollTimeout::from(50_u8));
                keeper.hear();
            }
        }
    }
}

/// Whether any socket of this thread's namespace waits for somebody.
///
/// # Errors
/// None: what cannot be read is as if it were not there.
pub fn is_listening() -> io::Result<bool> {
    listening().map(|found| !found.is_empty())
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
