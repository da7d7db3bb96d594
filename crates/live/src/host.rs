//! A host: a network namespace with one interface, set as the scenario says.

use std::fs;
use std::io;
use std::net::IpAddr;

use rexmit_scenario::{HostSpec, LinuxSpec, SpecError};
use socket2::{Domain, Socket, Type};

use crate::port::Side;
use crate::sys::link::{Links, Metrics, set_offloads};
use crate::sys::namespace::Namespace;
use crate::sysctl::{self, Sysctls};
use crate::wire::{Shape, Wires};

/// The name of a host's interface.
pub const INTERFACE: &str = "eth0";

/// Packets that wait at most between a host and the emulator; more are counted as lost before it.
const QUEUE: u32 = 10_000;

/// The addresses of a host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Addresses {
    /// Its own.
    pub own: IpAddr,
    /// The only other one that it reaches; `None` for all.
    pub peer: Option<IpAddr>,
}

/// A host that is ready to open sockets.
#[derive(Debug)]
pub struct Host {
    /// Its namespace.
    pub namespace: Namespace,
    /// What its kernel was asked for.
    pub linux: LinuxSpec,
    /// Sysctls that are not as the kernel had them.
    sysctls: Sysctls,
}

impl Host {
    /// Makes a host called `name`, without an interface yet; with `again`, one that may serve other runs, too.
    ///
    /// # Errors
    /// A missing privilege; a setting that this kernel does not have.
    pub fn create(name: &str, spec: &HostSpec, again: bool) -> Result<Self, SpecError> {
        let namespace = Namespace::create().map_err(|e| {
            if e.kind() != io::ErrorKind::StorageFull {
                return system(name, &e);
            }
            let most = sysctl::read("user.max_net_namespaces").unwrap_or_default();
            let text = format!(
                "no room for another network namespace, of which this kernel allows {}; the model takes so many hosts",
                most.trim()
            );
            SpecError::new(format!("hosts.{name}"), text)
        })?;
        let linux = spec.kernel_settings().linux;
        let mut host = Self { namespace, linux, sysctls: Sysctls::new(again) };
        host.set(name)?;
        Ok(host)
    }

    /// Whether another run may have it when this one is over: nothing of its settings would stay.
    pub fn may_serve_again(&self) -> bool {
        self.sysctls.may_be_set_back()
    }

    /// Lets a host that another run had be as this one wants it.
    ///
    /// # Errors
    /// A setting that this kernel does not have.
    pub fn become_anew(&mut self, name: &str, spec: &HostSpec) -> Result<(), SpecError> {
        self.linux = spec.kernel_settings().linux;
        self.set(name)
    }

    /// Lets its sockets have the congestion control that it is to have, where nobody asks for another.
    ///
    /// # Errors
    /// One that the kernel has not, or lets no namespace have; the host has this name.
    pub fn set_default_congestion(&self, host: &str) -> Result<(), SpecError> {
        let Some(name) = &self.linux.congestion else { return Ok(()) };
        let set = || Ok(sysctl::write("net.ipv4.tcp_congestion_control", name));
        let key = format!("hosts.{host}.linux.congestion");
        let wrong = |error: io::Error| SpecError::new(key, no_default_congestion(name, &error));
        self.namespace.within(set).map_err(|e| system(host, &e))?.map_err(wrong)
    }

    /// Gives it the interface of this shape, by which it reaches others; the interface's other side.
    ///
    /// # Errors
    /// A missing privilege or device.
    pub fn connect(&self, wires: &Wires, shape: &Shape<'_>, addresses: Addresses) -> io::Result<Side> {
        self.namespace.within(|| {
            let side = wires.connect(shape)?;
            self.bring_up(shape.mtu, addresses)?;
            wires.settle(shape.name)?;
            Ok(side)
        })
    }

    /// Sets up the interface that it has; to be called in its namespace.
    ///
    /// # Errors
    /// Those of the interface.
    pub fn bring_up(&self, mtu: u32, Addresses { own, peer }: Addresses) -> io::Result<()> {
        if own.is_ipv4() {
            // Else the interface would speak by itself, and its packets would count.
            sysctl::write(&format!("net.ipv6.conf.{INTERFACE}.disable_ipv6"), "1").ok();
        } else {
            // Likewise: without an address of the link there are no solicitations of routers, which draw random numbers
            // and wake this thread, and no reports of groups.
            sysctl::write(&format!("net.ipv6.conf.{INTERFACE}.addr_gen_mode"), "1").ok();
        }
        let links = Links::open()?;
        links.up("lo", None, None)?;
        set_offloads(INTERFACE, self.linux.offloads.unwrap_or(false))?;
        links.quiet(INTERFACE)?;
        links.up(INTERFACE, Some(mtu), Some(QUEUE))?;
        links.add_address(INTERFACE, own)?;
        let metrics = metrics(&self.linux);
        match peer {
            Some(peer) => links.add_route(INTERFACE, peer, &metrics),
            None => links.add_default_route(INTERFACE, own, &metrics),
        }
    }

    /// Lets connections keep their hash, where the kernel has the switch and nobody has set it.
    ///
    /// A sender gives its packets a hash, and another one after a timeout. Disciplines that tell flows apart take it,
    /// and between namespaces it stays with the packet: a flow's new packets would pass its old ones. On a wire no hash
    /// travels. To be called in its namespace.
    pub fn keep_hash(&self) {
        if !self.linux.sysctl.contains_key(TXREHASH) {
            sysctl::write(TXREHASH, "0").ok();
        }
    }

    /// Sets what sysctls set, and tries what sockets will be asked for.
    fn set(&mut self, host: &str) -> Result<(), SpecError> {
        let Self { namespace, linux, sysctls } = self;
        let wrong = |text: String| SpecError::new(format!("hosts.{host}.linux"), text);
        let set = || {
            if let Err(text) = sysctls.become_these(linux.sysctls()) {
                return Ok(Err(wrong(text)));
            }
            let Some(name) = &linux.congestion else { return Ok(Ok(())) };
            let tried = Socket::new(Domain::IPV4, Type::STREAM, None)
                .and_then(|s| s.set_tcp_congestion(name.as_bytes()));
            Ok(tried.map_err(|e| wrong(no_congestion_control(name, &e))))
        };
        namespace.within(set).map_err(|e| system(host, &e))?
    }
}

/// What of a host's settings goes with its route.
pub fn metrics(linux: &LinuxSpec) -> Metrics {
    Metrics {
        initial_window: linux.initial_window,
        initial_receive_window: linux.initial_receive_window,
        rto_min_ms: linux.rto_min.map(|d| (d.as_nanos() / 1_000_000) as u32),
        quick_ack: linux.quick_ack,
    }
}

/// Whether a connection takes another hash after a timeout (Linux 5.18 and later).
const TXREHASH: &str = "net.core.txrehash";

/// Why a congestion control could not be chosen, and which can be.
fn no_congestion_control(name: &str, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return format!("congestion control {name:?} cannot be set: {error}");
    }
    let known = sysctl::read("net.ipv4.tcp_available_congestion_control");
    let known = known.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(", ");
    format!("{} has no congestion control {name:?}; it has {known}", this_kernel())
}

/// Why a congestion control could not become a namespace's default.
fn no_default_congestion(name: &str, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::PermissionDenied {
        return no_congestion_control(name, error);
    }
    // The kernel keeps the names for all namespaces together, so they are not ours to change.
    let key = "net.ipv4.tcp_allowed_congestion_control";
    let known = sysctl::read(key).unwrap_or_default();
    let known = known.split_whitespace().collect::<Vec<_>>().join(" ");
    format!(
        "this machine lets programs use only {known}: write sysctl {key}='{known} {name}', or name one of these"
    )
}

/// The kernel under this process, by its version.
pub fn this_kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if release.trim().is_empty() { "this kernel".to_string() } else { format!("Linux {}", release.trim()) }
}

/// An error of the system while a host is made, with the remedy where it is known.
pub fn system(host: &str, error: &io::Error) -> SpecError {
    let remedy = match error.kind() {
        io::ErrorKind::PermissionDenied => {
            ": it needs CAP_NET_ADMIN and CAP_SYS_ADMIN, which this process has not, though it is root here"
        }
        io::ErrorKind::NotFound => {
            ": this kernel lacks network namespaces, or both TUN devices and veth pairs"
        }
        _ => "",
    };
    SpecError {
        os_error: error.raw_os_error(),
        ..SpecError::new("", format!("host {host}: {error}{remedy}"))
    }
}
