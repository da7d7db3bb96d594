//! The two ends of the path: namespaces of their own, or this host.

use std::fs;
use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use rexmit_scenario::{HostSpec, LinuxSpec, SpecError};
use serde_json::Value;

use super::Emulation;
use crate::host::{Host, INTERFACE, system};
use crate::sys::link::{Links, Metrics, index, set_offloads};
use crate::sys::namespace::Namespace;
use crate::sys::tun::Tun;

/// Where the interface of one end is.
#[derive(Debug)]
pub struct End {
    /// Its namespace.
    pub namespace: Namespace,
    /// Its name there.
    pub interface: String,
}

/// Both ends, the server's first, with the emulator's side of each.
#[derive(Debug)]
pub struct Ends {
    /// Where they are.
    pub ends: [End; 2],
    /// The client's address, then the server's.
    pub addresses: [IpAddr; 2],
}

/// The client's address and the server's, unless others are asked for (100.64.0.0/10 is nobody's, RFC 6598).
const FIRST: [[u8; 4]; 2] = [[100, 64, 0, 2], [100, 64, 0, 1]];
/// Emulations on one host at a time, at most.
const MOST: u8 = 60;
/// As Ethernet has it.
const MTU: u32 = 1500;
/// Packets that wait between this host and the emulator at most, as for a [`Host`].
const QUEUE: u32 = 10_000;

/// Makes both ends.
///
/// # Errors
/// A missing privilege, addresses that are taken, a kernel without TUN devices or namespaces.
pub fn create(wanted: &Emulation) -> Result<(Ends, [Tun; 2]), SpecError> {
    let on_host = wanted.server.is_empty();
    let addresses = if on_host { free(wanted.addresses)? } else { chosen(wanted.addresses) };
    let [client, server] = addresses;
    let mtu = if wanted.mtu == 0 { MTU } else { wanted.mtu };
    let (client_end, client_port) = in_namespace("client", mtu, client, server)?;
    let defaulted = client_end.namespace.within(|| Links::open()?.add_default_route(INTERFACE, client));
    defaulted.map_err(|e| system("client", &e))?;
    let (server_end, server_port) = if on_host {
        on_this_host(mtu, server, client).map_err(|e| system("server (this host)", &e))?
    } else {
        in_namespace("server", mtu, server, client)?
    };
    Ok((Ends { ends: [server_end, client_end], addresses }, [server_port, client_port]))
}

fn in_namespace(name: &str, mtu: u32, address: IpAddr, peer: IpAddr) -> Result<(End, Tun), SpecError> {
    let linux = LinuxSpec::default();
    let spec = HostSpec { stack: Value::Null, mtu, address: None, tick_phase: None, linux };
    let (host, port) = Host::create(name, &spec, address, peer)?;
    // So that ping works for everybody; a kernel that has no such thing needs none.
    let allowed = host.namespace.within(|| fs::write("/proc/sys/net/ipv4/ping_group_range", "0 2147483647"));
    allowed.ok();
    Ok((End { namespace: host.namespace, interface: INTERFACE.to_owned() }, port))
}

fn on_this_host(mtu: u32, address: IpAddr, peer: IpAddr) -> io::Result<(End, Tun)> {
    let (interface, port) = unused_tun()?;
    // Else the interface would speak by itself.
    fs::write(
        format!("/proc/sys/net/ipv6/conf/{interface}/disable_ipv6"),
        if address.is_ipv4() { "1" } else { "0" },
    )
    .ok();
    let links = Links::open()?;
    set_offloads(&interface, false)?;
    links.up(&interface, Some(mtu), Some(QUEUE))?;
    links.add_address(&interface, address)?;
    links.add_route(&interface, peer, &Metrics::default())?;
    Ok((End { namespace: Namespace::current()?, interface }, port))
}

/// A TUN device under the first name that nobody has.
fn unused_tun() -> io::Result<(String, Tun)> {
    let mut last = None;
    for name in (0..MOST).map(|n| format!("rexmit{n}")).filter(|name| index(name).is_err()) {
        match Tun::open(&name) {
            Ok(tun) => return Ok((name, tun)),
            // Another emulation was quicker.
            Err(e) if e.kind() == io::ErrorKind::ResourceBusy => last = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(last.unwrap_or_else(|| io::Error::other(format!("{MOST} emulations run on this host already"))))
}

fn chosen(wanted: Option<[IpAddr; 2]>) -> [IpAddr; 2] {
    wanted.unwrap_or(FIRST.map(IpAddr::from))
}

/// The addresses, where this host has neither; without a wish the first such pair.
fn free(wanted: Option<[IpAddr; 2]>) -> Result<[IpAddr; 2], SpecError> {
    let all = getifaddrs().map_err(|e| SpecError::new("", format!("this host's addresses: {e}")))?;
    let taken: Vec<(String, IpAddr)> = all
        .filter_map(|one| {
            let address = one.address?;
            let v4 = address.as_sockaddr_in().map(|a| IpAddr::from(a.ip()));
            let v6 = address.as_sockaddr_in6().map(|a| IpAddr::from(a.ip()));
            Some((one.interface_name, v4.or(v6)?))
        })
        .collect();
    let owner = |pair: &[IpAddr; 2]| taken.iter().find(|(_, address)| pair.contains(address));
    if let Some(pair) = wanted {
        return match owner(&pair) {
            None => Ok(pair),
            Some((name, address)) => {
                let text = format!("{address} is the address of {name} on this host already: choose another");
                Err(SpecError::new("--address", text))
            }
        };
    }
    let pairs = (0..MOST).map(|n| FIRST.map(|[a, b, c, d]| IpAddr::from([a, b, c, d + 4 * n])));
    let mut free = pairs.filter(|pair| owner(pair).is_none());
    free.next().ok_or_else(|| {
        SpecError::new("", "every address that would be given is taken on this host: give --address")
    })
}
