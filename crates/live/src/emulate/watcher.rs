//! What looks after an emulation while packets pass: its programs, signals, its time.

use std::fs;
use std::io;
use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::sync::Arc;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use nix::sys::signalfd::SignalFd;
use rexmit_network::{HostId, Network};
use rexmit_units::{Duration, Instant};

use super::ends::Ends;
use super::keeper::{Keeper, Report, Started};
use super::record::Kept;
use super::report::{Event, Events, Summary};
use super::{Emulation, End, ProgramAt, Ready, Role};
use crate::sys::clock;
use crate::tap::Tap;

/// A server that listens nowhere is waited for this long, nanoseconds.
const PATIENCE: u64 = 5_000_000_000;
/// Both programs have ended, or were killed, within this time.
const END: Duration = Duration::from_secs(5);
/// By this variable a process is known that holds a host open.
const HOLDER: &str = "REXMIT_HOLDER";
/// What `timeout` answers with as well.
const OUT_OF_TIME: i32 = 124;

/// What looks after an emulation while packets pass.
pub struct Watcher<'a> {
    pub wanted: &'a Emulation,
    pub events: &'a mut Events,
    pub signals: SignalFd,
    pub user: Option<(u32, u32)>,
    pub ends: Ends,
    pub network: Arc<Network>,
    pub environment: Vec<(String, String)>,
    pub kept: Option<Kept>,
    /// Where each program runs.
    pub places: Vec<HostId>,
    /// Those that were started.
    pub programs: Vec<Running>,
    pub code: Option<i32>,
    /// It is to end; everything has, or is killed, by then.
    pub ending: Option<Instant>,
    pub beaten: Instant,
}

/// A program that was started.
pub struct Running {
    /// Its number among those that are wanted.
    number: usize,
    keeper: Keeper,
    /// How it has ended.
    code: Option<i32>,
}

impl Watcher<'_> {
    /// Starts the programs of some roles.
    pub fn start(&mut self, of: impl Fn(Role) -> bool) -> Result<(), End> {
        for (number, program) in self.wanted.programs.iter().enumerate().filter(|(_, p)| of(p.role)) {
            let mut environment = self.environment.clone();
            if self.wanted.network.is_some() {
                environment.push(("REXMIT_HOST".to_owned(), program.host.clone()));
            }
            if program.role == Role::Holder {
                environment.push((HOLDER.to_owned(), "1".to_owned()));
            }
            let keeper = Keeper::start(&Started {
                argv: &program.argv,
                environment: &environment,
                inherits: true,
                folder: None,
                root: None,
                printed: None,
                namespace: self
                    .ends
                    .addresses
                    .as_ref()
                    .map(|_| &self.ends.ends[self.places[number]].namespace),
                foreground: self.wanted.foreground.filter(|_| program.role.has_terminal()),
                to_stderr: program.role == Role::Server || self.wanted.to_stderr,
                host_names: self.wanted.host_names.as_deref(),
                // Whoever would enter a namespace has to be as high as it.
                user: self.user.filter(|_| program.role != Role::Holder),
                // A guest's kernel has no such namespaces, and ends with all that it runs.
                contained: self.wanted.guest.is_none(),
                held: self.events.0.as_fd(),
            })?;
            self.programs.push(Running { number, keeper, code: None });
        }
        Ok(())
    }

    /// Waits until each server's command is ready for the others.
    pub fn wait_for_servers(&mut self) -> Result<(), End> {
        let begin = clock::monotonic();
        let servers = self.wanted.programs.iter().enumerate().filter(|(_, p)| p.role == Role::Server);
        for (number, server) in servers {
            loop {
                let waited = clock::monotonic() - begin;
                self.hear(Instant::ZERO, true)?;
                if self.ending.is_some() {
                    return Ok(());
                }
                if self.is_ready(self.places[number], waited)? {
                    break;
                }
                if waited > PATIENCE && !matches!(self.wanted.ready, Ready::After(_)) {
                    let what = match self.wanted.ready {
                        Ready::Port(port) => format!("TCP port {port}"),
                        _ => "any port".into(),
                    };
                    let (name, [commands_are, _]) = (self.name(server), self.commands());
                    self.events.note(format!(
                        "{name} does not listen on {what} after 5 s; {commands_are} started all the same \
                         (--server-ready says what to wait for)"
                    ))?;
                    break;
                }
                self.wait(10, &[]);
            }
        }
        Ok(())
    }

    /// What a program is called.
    fn name(&self, program: &ProgramAt) -> String {
        let what = if program.role == Role::Server { "the server command" } else { "the command" };
        match self.wanted.network {
            None => what.to_owned(),
            Some(_) => format!("{what} at {}", program.host),
        }
    }

    /// What is started once servers are ready, with its verb of now and of before.
    fn commands(&self) -> [&'static str; 2] {
        match self.wanted.programs.iter().any(|program| program.role.has_terminal()) {
            true => ["COMMAND is", "COMMAND was"],
            false => ["the commands are", "the commands were"],
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
        let live = self.programs.iter().filter(|program| !program.keeper.is_over());
        all.extend(live.map(|program| PollFd::new(program.keeper.as_fd(), PollFlags::POLLIN)));
        all.extend(taps.iter().map(|tap| PollFd::new(tap.as_fd(), PollFlags::POLLIN)));
        // An interruption is no different from an event: everything is looked at.
        let _ = poll(&mut all, PollTimeout::try_from(ms).unwrap_or(PollTimeout::MAX));
    }

    fn is_ready(&self, host: HostId, waited: u64) -> io::Result<bool> {
        let server = &self.ends.ends[host].namespace;
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
            if self.wanted.has_commands() {
                self.code = Some(OUT_OF_TIME);
                let [_, commands_were] = self.commands();
                self.events.note(format!("{commands_were} ended after {limit} (--duration)"))?;
            }
            self.end(now);
        }
        let finished = self.programs.iter().all(|program| program.keeper.is_over());
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
                if self.wanted.has_commands() {
                    self.code.get_or_insert(128 + signal.ssi_signo as i32);
                }
                self.end(now);
            }
        }
        for place in 0..self.programs.len() {
            let Running { number, keeper, .. } = &mut self.programs[place];
            if keeper.is_over() {
                continue;
            }
            let program = &self.wanted.programs[*number];
            let (reports, killed) = (keeper.hear(), keeper.was_killed());
            for report in reports {
                match (report, program.role) {
                    // A host that nobody can enter is no worse a host.
                    (Report::Started, _) | (_, Role::Holder) => {}
                    (Report::Note(text), _) => self.events.note(text)?,
                    (Report::Failed { why, code }, role) => {
                        let code = if role.is_waited_for() { code } else { 1 };
                        return Err(End::Told { text: format!("{}{why}", self.option(program)), code });
                    }
                    (Report::Exited { code }, Role::Server) => {
                        self.server_ended(program, code, before_command)?;
                    }
                    (Report::Exited { code }, _) => {
                        self.programs[place].code = Some(code);
                        self.command_ended(program, code, now)?;
                    }
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

    /// The option that has named a program, before what is wrong with it.
    fn option(&self, program: &ProgramAt) -> String {
        match (program.role, &self.wanted.network) {
            (Role::Server, None) => "--server: ".to_owned(),
            (Role::Server, Some(_)) => format!("--server-at {}: ", program.host),
            (Role::Beside, _) => format!("--at {}: ", program.host),
            _ => String::new(),
        }
    }

    fn server_ended(&mut self, program: &ProgramAt, code: i32, before_command: bool) -> Result<(), End> {
        if self.ending.is_some() {
            return Ok(());
        }
        let name = self.name(program);
        if before_command {
            let [_, commands_were] = self.commands();
            let text = format!("{name} ended with exit code {code} before {commands_were} started");
            return Err(End::Told { text, code: 1 });
        }
        if code != 0 {
            self.events.note(format!("{name} has ended with exit code {code}"))?;
        }
        Ok(())
    }

    /// A command has ended: all ends with the last, or with the shell.
    fn command_ended(&mut self, program: &ProgramAt, code: i32, now: Instant) -> Result<(), End> {
        let left = self
            .programs
            .iter()
            .any(|other| self.wanted.programs[other.number].role.is_waited_for() && other.code.is_none());
        if program.role == Role::Shell || !left {
            let codes = self.programs.iter().filter_map(|other| other.code);
            let shell = (program.role == Role::Shell).then_some(code);
            let failed = shell.or_else(|| codes.into_iter().find(|code| *code != 0));
            self.code.get_or_insert(failed.unwrap_or(0));
            self.end(now);
        } else if code != 0 && self.ending.is_none() {
            let name = self.name(program);
            self.events.note(format!("{name} has ended with exit code {code}"))?;
        }
        Ok(())
    }

    /// Asks everything to end.
    pub fn end(&mut self, now: Instant) {
        if self.ending.is_none() {
            self.ending = Some(now + END);
            for program in &self.programs {
                program.keeper.end();
            }
        }
    }

    /// Ends what still runs without a path: nobody waits for it.
    pub fn end_programs(&mut self) {
        let begin = clock::monotonic();
        for Running { keeper, .. } in &mut self.programs {
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
