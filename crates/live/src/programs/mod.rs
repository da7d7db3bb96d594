//! Programs at the hosts of a run: started, kept, heard.
//!
//! The engine inside a guest's kernel has no processes: a run there is told of no [`Begin`], so that nothing of this is
//! linked into it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use rexmit_network::two_hosts::{CLIENT, HOSTS, SERVER, by_host, host_name};
use rexmit_network::{ByHost, HostId};
use rexmit_scenario::{Elsewhere, HostCell, Program, ProgramRow, Resolved, SpecError, program_key};
use rexmit_units::Duration;
use serde::{Deserialize, Serialize};

use crate::emulate::{Report, Started, is_listening};
use crate::guest;
use crate::host::Host;
use crate::sys::namespace::Namespace;
use crate::sys::poll::Poll;
use crate::sys::process::kill_children;

mod child;

use child::Child;

/// Numbers of programs for [`Poll`], by host; above those of sockets.
pub const PROGRAMS: u64 = 1 << 40;

/// The server's program is started this long before the client's, nanoseconds.
pub const SERVER_FIRST: u64 = 5_000_000_000;

/// The folder next to programs' own ones, in the temporary one, for what they print.
const KEPT: &str = "kept";
/// Most bytes of it in a guest, where it has memory of its own: a program that fills its folder can still say so.
const MOST_KEPT: u64 = 64 << 20;
/// Most bytes of what a program prints that are kept, by stream.
const MOST_PRINTED: u64 = 256 << 10;
/// Most bytes of its file.
const MOST_FILE: u64 = 4 << 20;

/// Where programs are at home.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramPlace {
    /// The folder that they begin in.
    pub folder: PathBuf,
    /// A folder for what they write of themselves; nothing is in it yet.
    pub temporary: PathBuf,
    /// Their environment, except what a run adds.
    pub environment: BTreeMap<String, String>,
    /// What they see as their root, where it is a different one.
    #[serde(default)]
    pub root: Option<PathBuf>,
    /// The user and group that they are, where this process is root of a user namespace only.
    #[serde(default)]
    pub user: Option<(u32, u32)>,
    /// They are in PID namespaces of their own: nothing else ends with the run.
    pub contained: bool,
    /// Folders that they may write to.
    #[serde(default)]
    pub writable: Vec<PathBuf>,
    /// What becomes of what they write elsewhere, in a guest.
    #[serde(default)]
    pub elsewhere: Elsewhere,
}

/// Makes what looks after the programs of a run.
pub type Begin = fn(&Resolved, &ByHost<Host>, &ProgramPlace) -> Result<Box<dyn Programs>, SpecError>;

/// The programs of a run under way. Times are nanoseconds of CLOCK_MONOTONIC.
pub trait Programs {
    /// Starts that of a host, if there is one.
    ///
    /// # Errors
    /// Where no process can be made.
    fn start(&mut self, host: HostId, at: u64, poll: &Poll) -> io::Result<()>;

    /// Whether the server's program, if there is one, waits for somebody, or is over.
    fn server_is_ready(&self) -> bool;

    /// Hears what there is to hear of the one with this number of [`Poll`].
    fn handle(&mut self, number: u64, at: u64);

    /// The client's has ended, if there is one.
    fn client_is_over(&self) -> bool;

    /// All have ended, with all that they had started.
    fn are_over(&self) -> bool;

    /// Asks all to end; with `limit`, because the run has reached that.
    fn end(&mut self, limit: Option<Duration>);

    /// What became of them, once they are over or not waited for, in a run that started at `start`; nothing of them is
    /// left then.
    fn finish(&mut self, start: u64) -> Finished;
}

/// What became of the programs of a run.
#[derive(Debug, Default)]
pub struct Finished {
    /// The rows.
    pub rows: Vec<ProgramRow>,
    /// The client's ended with 0, or there is none.
    pub completed: bool,
    /// When the client's ended.
    pub time_ns: u64,
    /// What is wrong, in one line.
    pub error: Option<String>,
}

/// As [`Begin`].
///
/// # Errors
/// A variable in a command that is not there; a folder that cannot be made.
pub fn begin(
    resolved: &Resolved,
    hosts: &ByHost<Host>,
    place: &ProgramPlace,
) -> Result<Box<dyn Programs>, SpecError> {
    let mut seats: ByHost<Option<Seat>> = by_host(|_| None);
    for host in HOSTS {
        let Some(program) = &resolved.programs[host] else { continue };
        let own = &hosts[host];
        own.set_default_congestion(host_name(host))?;
        let seat = Seat::new(resolved, host, program, &own.namespace, place);
        seats[host] = Some(seat.map_err(|e| e.within(program_key(host)))?);
    }
    Ok(Box::new(Kept { seats, contained: place.contained, unready: false, asked: None }))
}

/// The same in a guest, whose files are its machine's.
///
/// # Errors
/// As [`begin`]; a guest whose kernel has no overlays.
pub fn begin_in_guest(
    resolved: &Resolved,
    hosts: &ByHost<Host>,
    place: &ProgramPlace,
) -> Result<Box<dyn Programs>, SpecError> {
    let wrong = |e: io::Error| SpecError::writing("in the guest", &e);
    guest::cover("/tmp", &place.writable).map_err(wrong)?;
    guest::memory(&place.temporary.join(KEPT), MOST_KEPT).map_err(wrong)?;
    let root = match place.elsewhere {
        Elsewhere::ReadOnly => None,
        Elsewhere::Gone => Some(guest::copy_of_root(&place.writable).map_err(wrong)?),
    };
    begin(resolved, hosts, &ProgramPlace { root, ..place.clone() })
}

struct Kept {
    seats: ByHost<Option<Seat>>,
    contained: bool,
    /// The server's listened nowhere when the client's was started.
    unready: bool,
    /// They have been asked to end, and the limit of the run where that was why.
    asked: Option<Option<Duration>>,
}

/// A host's program.
struct Seat {
    argv: Vec<String>,
    environment: BTreeMap<String, String>,
    folder: PathBuf,
    root: Option<PathBuf>,
    user: Option<(u32, u32)>,
    namespace: Namespace,
    /// What it prints, and prints as errors: to write to, and where that is.
    printed: [(File, PathBuf); 2],
    /// Its temporary folder.
    own: PathBuf,
    file: Option<PathBuf>,
    child: Option<Child>,
    started: u64,
    ended: Option<(u64, u32)>,
    /// Before it was asked to.
    by_itself: bool,
    failure: Option<String>,
}

impl Seat {
    fn new(
        resolved: &Resolved,
        host: HostId,
        program: &Program,
        namespace: &Namespace,
        place: &ProgramPlace,
    ) -> Result<Self, SpecError> {
        let name = host_name(host);
        let own = place.temporary.join(name);
        let wrong = |path: &Path| {
            let path = path.display().to_string();
            move |e: io::Error| SpecError::writing(&path, &e)
        };
        rexmit_files::make_folder(&own).map_err(wrong(&own))?;
        if let Some((user, group)) = place.user {
            std::os::unix::fs::chown(&own, Some(user), Some(group)).ok();
        }
        let kept = place.temporary.join(KEPT);
        rexmit_files::make_folder(&kept).map_err(wrong(&kept))?;
        let printed = ["output", "errors"].map(|what| kept.join(format!("{name}.{what}")));
        let made = printed
            .map(|path| rexmit_files::create_private(&path).map_err(wrong(&path)).map(|file| (file, path)));
        let [output, errors] = made;
        let mut environment = place.environment.clone();
        environment.extend(program.environment.clone());
        let addresses = [("REXMIT_SERVER", SERVER), ("REXMIT_CLIENT", CLIENT)];
        environment
            .extend(addresses.map(|(key, host)| (key.to_string(), resolved.address(host).to_string())));
        environment.insert("TMPDIR".into(), own.display().to_string());
        Ok(Self {
            argv: program.expanded(&environment)?,
            environment,
            folder: place.folder.clone(),
            root: place.root.clone(),
            user: place.user,
            namespace: namespace.try_clone().map_err(wrong(&own))?,
            printed: [output?, errors?],
            file: program.file.as_ref().map(|file| own.join(file)),
            own,
            child: None,
            started: 0,
            ended: None,
            by_itself: false,
            failure: None,
        })
    }

    fn start(&mut self, at: u64, contained: bool) -> io::Result<()> {
        let environment: Vec<_> = self.environment.iter().map(|(k, v)| (k.clone(), v.clone())).collect();
        self.started = at;
        self.child = Some(Child::start(&Started {
            argv: &self.argv,
            environment: &environment,
            inherits: false,
            folder: Some(&self.folder),
            root: self.root.as_deref(),
            namespace: Some(&self.namespace),
            foreground: None,
            printed: Some(self.printed.each_ref().map(|(file, _)| file)),
            to_stderr: false,
            host_names: None,
            user: self.user,
            contained,
            held: self.printed[0].0.as_fd(),
        })?);
        Ok(())
    }

    fn hear(&mut self, at: u64) {
        let Some(child) = &mut self.child else { return };
        for report in child.hear() {
            match report {
                Report::Started | Report::Note(_) => {}
                Report::Failed { why, code } => {
                    self.failure = Some(why);
                    self.ended = Some((at, code as u32));
                }
                Report::Exited { code } => self.ended = Some((at, code as u32)),
            }
        }
    }

    fn is_over(&self) -> bool {
        self.child.as_ref().is_none_or(Child::is_over)
    }

    fn row(&self, host: HostId, start: u64) -> ProgramRow {
        let since = |at: u64| at as i64 - start as i64;
        let text = |path: &Path, most| {
            // Whatever a program has left there: a pipe would be waited for.
            let file = rexmit_files::open(path, libc::O_NONBLOCK).ok();
            let regular = |file: &File| file.metadata().is_ok_and(|about| about.is_file());
            file.filter(regular).map(|mut file| text_of(&mut file, most))
        };
        let [output, errors] = self.printed.each_ref().map(|(_, path)| text(path, MOST_PRINTED));
        ProgramRow {
            host: HostCell::of_two(host),
            code: self.ended.filter(|_| self.by_itself).map(|(_, code)| code),
            started_ns: since(self.started),
            ended_ns: self.ended.map(|(at, _)| since(at)),
            output: output.unwrap_or_default(),
            errors: errors.unwrap_or_default(),
            file: self.file.as_ref().and_then(|path| text(path, MOST_FILE)),
        }
    }
}

impl Seat {
    /// What is wrong with how it ended: by itself, or because the run reached its `limit`.
    fn wrong(&mut self, row: &ProgramRow, unready: bool, limit: Option<Duration>) -> Option<String> {
        if let Some(why) = self.failure.take() {
            return Some(why);
        }
        match (row.code, limit) {
            (Some(0), _) | (None, None) => None,
            (Some(code), _) => {
                let unready =
                    if unready { ", and the server's listened nowhere when it was started" } else { "" };
                let signal = code.checked_sub(128).and_then(|number| Signal::try_from(number as i32).ok());
                let signal = signal.map(|signal| format!(" ({signal})")).unwrap_or_default();
                Some(format!("exit code {code}{signal}{unready}{}", last_line(row)))
            }
            (None, Some(limit)) => Some(format!("did not end within {limit} (limit){}", last_line(row))),
        }
    }
}

impl Programs for Kept {
    fn start(&mut self, host: HostId, at: u64, poll: &Poll) -> io::Result<()> {
        if host == CLIENT {
            self.unready = !self.server_is_ready();
        }
        let Some(seat) = &mut self.seats[host] else { return Ok(()) };
        seat.start(at, self.contained)?;
        match seat.child.as_ref().and_then(Child::descriptor) {
            Some(descriptor) => poll.add_socket(descriptor, PROGRAMS + host.number() as u64),
            None => {
                seat.hear(at);
                seat.by_itself = true;
                Ok(())
            }
        }
    }

    fn server_is_ready(&self) -> bool {
        let Some(seat) = &self.seats[SERVER] else { return true };
        seat.ended.is_some() || seat.namespace.within(is_listening).unwrap_or(true)
    }

    fn handle(&mut self, number: u64, at: u64) {
        let host = HOSTS.into_iter().find(|host| host.number() as u64 == number - PROGRAMS);
        let asked = self.asked.is_some();
        if let Some(seat) = host.and_then(|host| self.seats[host].as_mut()) {
            let before = seat.ended.is_some();
            seat.hear(at);
            seat.by_itself |= !before && seat.ended.is_some() && !asked;
        }
    }

    fn client_is_over(&self) -> bool {
        self.seats[CLIENT].as_ref().is_none_or(|seat| seat.ended.is_some())
    }

    fn are_over(&self) -> bool {
        self.seats.values().flatten().all(Seat::is_over)
    }

    fn end(&mut self, limit: Option<Duration>) {
        self.asked = Some(limit);
        for child in self.seats.values().flatten().filter_map(|seat| seat.child.as_ref()) {
            child.end();
        }
    }

    fn finish(&mut self, start: u64) -> Finished {
        kill_children();
        let mut finished = Finished { completed: true, ..Finished::default() };
        for host in HOSTS {
            let Some(seat) = &mut self.seats[host] else { continue };
            let row = seat.row(host, start);
            if host == CLIENT {
                finished.completed = row.code == Some(0);
                finished.time_ns = row.ended_ns.unwrap_or(0).max(0) as u64;
            }
            if let Some(why) = seat.wrong(
                &row,
                host == CLIENT && self.unready,
                self.asked.flatten().filter(|_| host == CLIENT),
            ) {
                finished.error.get_or_insert(format!("{}: {why}", program_key(host)));
            }
            finished.rows.push(row);
            rexmit_files::remove_folder(&seat.own).ok();
            for (_, path) in &seat.printed {
                rexmit_files::remove(path).ok();
            }
        }
        finished
    }
}

/// What a program said last, as errors or else at all, with a colon before it; nothing if it said nothing.
fn last_line(row: &ProgramRow) -> String {
    /// Characters of it, at the most.
    const MOST: usize = 200;
    let last =
        |text: &str| text.lines().rev().map(str::trim).find(|line| !line.is_empty()).map(str::to_string);
    let line = last(&row.errors).or_else(|| last(&row.output));
    line.map(|line| format!(": {}", line.chars().take(MOST).collect::<String>())).unwrap_or_default()
}

/// What is in a file, as text: all, or its beginning and its end with a line between that says what is left out.
fn text_of(file: &mut File, most: u64) -> String {
    let read = |file: &mut File, from: u64, len: u64| {
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(from)).and_then(|_| file.take(len).read_to_end(&mut bytes)).ok();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    let len = file.metadata().map_or(0, |about| about.len());
    if len <= most {
        return read(file, 0, most);
    }
    let half = most / 2;
    let (first, last) = (read(file, 0, half), read(file, len - half, half));
    format!("{first}\n[{} bytes are left out here]\n{last}", len - 2 * half)
}
