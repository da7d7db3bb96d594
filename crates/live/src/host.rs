//! A host: a network namespace with one interface, set as the scenario says.

use std::fs;
use std::io;
use std::net::IpAddr;

use rexmit_files::set_kernel_value;
use rexmit_scenario::{HostSpec, LinuxSpec, SpecError};
use socket2::{Domain, Socket, Type};

use crate::port::Side;
use crate::sys::link::{Links, Metrics, set_offloads};
use crate::sys::namespace::Namespace;
use crate::wire::{Shape, Wires};

/// The name of a host's interface.
pub const INTERFACE: &str = "eth0";

/// Packets that wait at most between a host and the emulator; more are counted as lost before it.
const QUEUE: u32 = 10_000;

/// A host that is ready to open sockets.
#[derive(Debug)]
pub struct Host {
    /// Its namespace.
    pub namespace: Namespace,
    /// What its kernel was asked for.
    pub linux: LinuxSpec,
}

impl Host {
    /// Makes a host called `name`, without an interface yet.
    ///
    /// # Errors
    /// A missing privilege; a setting that this kernel does not have.
    pub fn create(name: &str, spec: &HostSpec) -> Result<Self, SpecError> {
        let namespace = Namespace::create().map_err(|e| system(name, &e))?;
        let host = Self { namespace, linux: spec.kernel_settings().linux };
        host.namespace.within(|| Ok(host.set(name))).map_err(|e| system(name, &e))??;
        Ok(host)
    }

    /// Gives it the interface of this shape with `address`, by which it reaches `peer`; the interface's other side.
    ///
    /// # Errors
    /// A missing privilege or device.
    pub fn connect(
        &self,
        wires: &Wires,
        shape: &Shape<'_>,
        [address, peer]: [IpAddr; 2],
    ) -> io::Result<Side> {
        self.namespace.within(|| {
            let side = wires.connect(shape)?;
            self.bring_up(shape.mtu, address, peer)?;
            wires.settle(shape.name)?;
            Ok(side)
        })
    }

    /// Sets up the interface that it has; to be called in its namespace.
    ///
    /// # Errors
    /// Those of the interface.
    pub fn bring_up(&self, mtu: u32, address: IpAddr, peer: IpAddr) -> io::Result<()> {
        if address.is_ipv4() {
            // Else the interface would speak by itself, and its packets would count.
            write_sysctl(&format!("net.ipv6.conf.{INTERFACE}.disable_ipv6"), "1").ok();
        }
        let links = Links::open()?;
        links.up("lo", None, None)?;
        set_offloads(INTERFACE, self.linux.offloads.unwrap_or(false))?;
        links.quiet(INTERFACE)?;
        links.up(INTERFACE, Some(mtu), Some(QUEUE))?;
        links.add_address(INTERFACE, address)?;
        let metrics = Metrics {
            initial_window: self.linux.initial_window,
            initial_receive_window: self.linux.initial_receive_window,
            rto_min_ms: self.linux.rto_min.map(|d| (d.as_nanos() / 1_000_000) as u32),
            quick_ack: self.linux.quick_ack,
        };
        links.add_route(INTERFACE, peer, &metrics)
    }

    /// Lets connections keep their hash, where the kernel has the switch and nobody has set it.
    ///
    /// A sender gives its packets a hash, and another one after a timeout. Disciplines that tell flows apart take it,
    /// and between namespaces it stays with the packet: a flow's new packets would pass its old ones. On a wire no hash
    /// travels. To be called in its namespace.
    pub fn keep_hash(&self) {
        if !self.linux.sysctl.contains_key(TXREHASH) {
            write_sysctl(TXREHASH, "0").ok();
        }
    }

    /// Sets what sysctls set, and tries what sockets will be asked for.
    fn set(&self, host: &str) -> Result<(), SpecError> {
        let wrong = |text: String| SpecError::new(format!("hosts.{host}.linux"), text);
        let mut left = self.linux.sysctls();
        for (name, _) in &left {
            if !is_of_the_network(name) {
                return Err(wrong(format!(
                    "sysctl {name} is not of a host's network: only those of net are"
                )));
            }
        }
        // Some limit each other (net.sctp.rto_min and rto_max): what is refused now may be taken after the others.
        loop {
            let mut refused = Vec::new();
            let (before, mut why) = (left.len(), None);
            for (name, value) in left {
                if let Err(e) = write_sysctl(&name, &value) {
                    why.get_or_insert_with(|| refusal(&name, &value, &e));
                    refused.push((name, value));
                }
            }
            match why {
                Some(why) if refused.len() == before => return Err(wrong(why)),
                Some(_) => left = refused,
                None => break,
            }
        }
        let Some(name) = &self.linux.congestion else { return Ok(()) };
        let tried =
            Socket::new(Domain::IPV4, Type::STREAM, None).and_then(|s| s.set_tcp_congestion(name.as_bytes()));
        tried.map_err(|e| wrong(no_congestion_control(name, &e)))
    }
}

/// Whether a connection takes another hash after a timeout (Linux 5.18 and later).
const TXREHASH: &str = "net.core.txrehash";

/// Why a congestion control could not be chosen, and which can be.
fn no_congestion_control(name: &str, error: &io::Error) -> String {
    if error.kind() != io::ErrorKind::NotFound {
        return format!("congestion control {name:?} cannot be set: {error}");
    }
    let known = fs::read_to_string(sysctl_path("net.ipv4.tcp_available_congestion_control"));
    let known = known.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(", ");
    format!("{} has no congestion control {name:?}; it has {known}", this_kernel())
}

/// The kernel under this process, by its version.
fn this_kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    if release.trim().is_empty() { "this kernel".to_string() } else { format!("Linux {}", release.trim()) }
}

/// Why a sysctl could not be set.
fn refusal(name: &str, value: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{} has no sysctl {name} for a namespace", this_kernel()),
        io::ErrorKind::InvalidInput => format!("{name} of {} does not take {value:?}", this_kernel()),
        _ => format!("{name} of {} cannot be set to {value:?}: {error}", this_kernel()),
    }
}

/// Others are of the machine and not of a namespace: they would stay.
fn is_of_the_network(name: &str) -> bool {
    name.starts_with("net.") && !name.contains('/') && !name.contains("..")
}

fn sysctl_path(name: &str) -> String {
    format!("/proc/sys/{}", name.replace('.', "/"))
}

/// Sets a sysctl of this thread's namespace.
fn write_sysctl(name: &str, value: &str) -> io::Result<()> {
    set_kernel_value(sysctl_path(name), value)
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
