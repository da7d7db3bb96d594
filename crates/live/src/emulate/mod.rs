//! `rexmit emulate`: real programs behind the emulator, each in a namespace of its own: at two ends of a path, or at the
//! hosts of a network; or two interfaces with the emulator between them.
//!
//! One process with one thread: [`serve`] reads an [`Emulation`], makes the hosts, runs the programs under a
//! keeper each, and drives the links until the commands are over. What it has to say it writes line by line as
//! JSON ([`Event`]). It leaves nothing: namespaces have no name, devices go when they are closed, the kernel kills all
//! that a program has started when its keeper ends, and what cannot go by itself stands in a [`record`], from which it is undone even
//! after a kill.

use std::fs;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use rexmit_network::two_hosts::{by_host, choose, pair_if_any};
use rexmit_network::{ByHost, HostId, Network};
use rexmit_scenario::{SpecError, VerdictRow};
use serde::{Deserialize, Serialize};
use serde_json::Value;

mod ends;
mod guest;
mod keeper;
mod probe;
pub mod record;
mod report;
mod session;
mod setting;
mod watcher;

pub use guest::{GuestPlace, serve_in_guest};
pub(crate) use keeper::{Keeper, Report, Started, failure};
pub use probe::{Probe, probe};
pub use report::{Event, Summary, Traffic};
pub use session::serve;
pub use setting::about_network;
pub(crate) use watcher::is_listening;

/// What is to be emulated.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Emulation {
    /// What names it in the environment of its programs, and its record.
    pub id: String,
    /// The process that has asked for it; the emulation ends with it.
    pub parent: i32,
    /// The path, as a study writes it.
    pub path: Value,
    /// A scenario with a network of hosts in its place, as a study writes it.
    pub network: Option<Value>,
    /// Seed of its random streams.
    pub seed: u64,
    /// The programs, those of one role in the order in which they are started. Without one that is waited for: until it is
    /// stopped. Without one at a path's server: that end is this host.
    pub programs: Vec<ProgramAt>,
    /// Two interfaces to take over instead, `eth1` or `blue:eth1`: the server's side and the client's.
    #[serde(deserialize_with = "pair_if_any")]
    pub between: Option<ByHost<String>>,
    /// When commands may start, seen from each server.
    pub ready: Ready,
    /// The client's address and the server's; absent: the first pair that is free.
    pub addresses: Option<[IpAddr; 2]>,
    /// MTU of both interfaces, bytes; 0 for 1500.
    pub mtu: u32,
    /// It ends after this many nanoseconds at the latest.
    pub duration_ns: Option<u64>,
    /// By host, the capture at its end, as pcapng; empty for none.
    pub captures: ByHost<Option<PathBuf>>,
    /// The path's verdicts are kept.
    pub verdicts: bool,
    /// How it waits for a packet's time.
    pub mode: Mode,
    /// Nanoseconds between two [`Event::Now`]; none are sent where absent.
    pub beat_ns: Option<u64>,
    /// The terminal's foreground process group, which the command is of; without one it reads nothing.
    pub foreground: Option<i32>,
    /// Commands' standard output goes to standard error.
    pub to_stderr: bool,
    /// What programs see as /etc/hosts; absent: this machine's.
    pub host_names: Option<PathBuf>,
    /// Where records are kept; absent: nowhere.
    pub records: Option<PathBuf>,
    /// What the environment of all programs has besides this process's own.
    pub environment: Vec<(String, String)>,
    /// This process is the first of a guest with a virtual clock.
    pub guest: Option<GuestPlace>,
}

impl Emulation {
    /// The addresses that are asked for.
    fn addresses_by_host(&self) -> Option<ByHost<IpAddr>> {
        let [client, server] = self.addresses?;
        Some(by_host(|host| choose(host, server, client)))
    }

    /// Where the capture at a host's end goes, if there is one.
    fn capture_at(&self, host: HostId) -> Option<&Path> {
        self.captures.get(host)?.as_deref()
    }

    /// Whether a program runs at the host of this name.
    fn runs_at(&self, host: &str) -> bool {
        self.programs.iter().any(|program| program.host == host)
    }

    /// Whether it ends with its commands.
    fn has_commands(&self) -> bool {
        self.programs.iter().any(|program| program.role.is_waited_for())
    }

    /// The one in the file `job`.
    ///
    /// # Errors
    /// A file that cannot be read, or is not such a job.
    pub fn read(job: &Path) -> io::Result<Self> {
        Ok(serde_json::from_slice(&fs::read(job)?)?)
    }
}

/// A program to run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramAt {
    /// Its host's name.
    pub host: String,
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// What it is to the others.
    pub role: Role,
}

/// What a program is to the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// COMMAND: it has the terminal, and is waited for.
    Command,
    /// A shell: it has the terminal, and all others end with it.
    Shell,
    /// A command at some host: it is waited for.
    Beside,
    /// It is started first, and asked to end when no command is left.
    Server,
    /// It does nothing but hold its host's namespaces open, for somebody who would enter them.
    Holder,
}

impl Role {
    /// The emulation goes on while it runs.
    pub fn is_waited_for(self) -> bool {
        matches!(self, Self::Command | Self::Shell | Self::Beside)
    }

    /// The terminal is its own.
    pub fn has_terminal(self) -> bool {
        matches!(self, Self::Command | Self::Shell)
    }
}

/// When the server is ready.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// Once a socket in its namespace listens (TCP) or is bound (UDP).
    #[default]
    Listening,
    /// Once one listens on this TCP port.
    Port(u16),
    /// After this many nanoseconds.
    After(u64),
}

/// How the emulator waits for a packet's time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// Never: it looks at the clock all the time.
    Busy,
    /// It sleeps until shortly before, then looks at the clock.
    #[default]
    Hybrid,
    /// It sleeps until the kernel wakes it.
    Sleep,
}

impl From<Mode> for crate::Mode {
    fn from(mode: Mode) -> Self {
        match mode {
            Mode::Busy => Self::BusyPoll,
            Mode::Hybrid => Self::HYBRID,
            Mode::Sleep => Self::Sleep,
        }
    }
}

/// Why there is no emulation.
pub(crate) enum End {
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

/// Makes the table of verdicts in a network.
pub type VerdictTable<'a> = &'a dyn Fn(&[VerdictRow], &Network) -> Value;
