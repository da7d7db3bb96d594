//! The kernel as an entry of the registry of stacks.

use std::cell::RefCell;
use std::rc::Rc;

use rexmit_stack::{
    About, Determinism, EndSettings, HostSettings, RngCore, RunSettings, SettingError, SocketWish, StackEnd,
    StackFactory, StackRun,
};

use crate::end::{Host, LinuxEnd};
use crate::error::GuestError;
use crate::pool::{Kernel, kernel_of};
use crate::protocol::Begin;

/// The Linux kernel as a stack that hosts can run.
#[derive(Clone, Copy, Debug)]
pub struct LinuxStack;

static ABOUT: About = About {
    name: "linux",
    summary: "the Linux kernel, in a guest of its own for each host",
    version: Some("the kernel of `hosts.X.linux.version`, or that of --kernel"),
    protocols: &["tcp", "sctp"],
    determinism: Determinism::Bytes,
    one_run_at_a_time: false,
    is_linux: true,
    transmissions: false,
    settings: None,
};

impl StackFactory for LinuxStack {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let mut unsupported: Vec<String> =
            host.table.unknown_to_linux().iter().map(|key| host.key(key)).collect();
        unsupported.extend(host.alternate_address.map(|_| "alternate".to_string()));
        Ok(unsupported)
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        Ok(wish.beyond_linux(host.protocol == "sctp"))
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let hosts = run.hosts.iter().map(|host| Planned::new(host, run)).collect::<Result<_, _>>()?;
        Ok(Box::new(Run { hosts }))
    }
}

struct Run {
    hosts: Vec<Planned>,
}

/// A host, which is made with its first connection.
struct Planned {
    kernel: Kernel,
    begin: Begin,
    host: Option<Rc<RefCell<Host>>>,
    ends: u32,
}

impl Planned {
    fn new(host: &HostSettings<'_>, run: &RunSettings<'_>) -> Result<Self, SettingError> {
        let table = host.table.to_value();
        let version = table["linux"]["version"].as_str().unwrap_or_default();
        let kernel = kernel_of(version).ok_or_else(|| {
            let text = match version {
                "" => "no kernel is there to run: `rexmit kernel build` makes one".to_string(),
                version => format!("no kernel {version} is there to run: `rexmit kernel build` makes one"),
            };
            SettingError::new(host.key("linux.version"), text)
        })?;
        let begin = Begin {
            name: host.name.into(),
            table: table.to_string(),
            address: host.address,
            peer: host.peer,
            protocol: host.protocol.into(),
            phase: (run.streams)(&host.key("tick")).next_u64(),
            phase_ns: host.table.tick_phase_ns(),
            seed: (run.streams)(&host.key("kernel.random")).next_u64(),
        };
        Ok(Self { kernel, begin, host: None, ends: 0 })
    }

    fn host(&mut self) -> Result<Rc<RefCell<Host>>, SettingError> {
        if let Some(host) = &self.host {
            return Ok(host.clone());
        }
        // A guest may have ended before anybody has asked it for something.
        let host = Host::begin(&self.kernel, &self.begin).or_else(|error| match error {
            GuestError::Ended { .. } => Host::begin(&self.kernel, &self.begin),
            error => Err(error),
        });
        let host = host.map_err(refused)?;
        Ok(self.host.insert(Rc::new(RefCell::new(host))).clone())
    }
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let planned = &mut self.hosts[host];
        let at = planned.host()?;
        let number = planned.ends;
        planned.ends += 1;
        let messages = planned.begin.protocol == "sctp";
        let made = LinuxEnd::open(at, number, messages, end);
        Ok(Box::new(made.map_err(refused)?))
    }
}

fn refused(error: GuestError) -> SettingError {
    SettingError::new("", error.to_string())
}
