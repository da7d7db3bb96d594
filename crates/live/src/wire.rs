//! What carries packets between a host and the emulator: a TUN device or, where this process may open none, a veth pair.
//!
//! /dev/net/tun belongs to root in an image without udev, and a container has none. A veth pair needs no device file, only
//! what a network namespace gives. Both carry the same packets: IP of the same MTU, with whole checksums, and nothing that
//! the stack says by itself. A veth pair carries no super-packets.

use std::io;

use rexmit_files::set_kernel_value;
use serde::{Deserialize, Serialize};

use crate::port::{Ethernet, OffloadTun, Side};
use crate::sys::inside::{self, Interface};
use crate::sys::link::{Links, set_offloads, split_in_stack};
use crate::sys::namespace::Namespace;
use crate::sys::tun::Tun;

/// Kinds of interfaces that hosts have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Carrier {
    /// A TUN device.
    Tun,
    /// One end of a veth pair; the emulator has the other one through a packet socket.
    Veth,
}

/// Makes interfaces of hosts.
#[derive(Debug)]
pub struct Wires {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Tun,
    /// The driver's own, inside a guest's kernel: what a TUN device is to the host, without its file.
    Inside,
    /// The emulator's ends are in a namespace of their own.
    Veth(Namespace),
}

/// An interface to make.
#[derive(Clone, Copy, Debug)]
pub struct Shape<'a> {
    /// Its name.
    pub name: &'a str,
    /// The name of the emulator's end, if it has one; it differs from those of others.
    pub other: &'a str,
    /// Bytes of an IP packet, at most.
    pub mtu: u32,
    /// The emulator takes super-packets from it, if it carries them.
    pub super_packets: bool,
}

/// Every host's end has this address, so that each takes what is sent to it and nobody need ask.
const ADDRESS: [u8; 6] = [2, 0, 0, 0, 0, 1];

impl Wires {
    /// Of the kind that this process may open.
    ///
    /// # Errors
    /// Where it may make no namespace for the other ends of veth pairs.
    pub fn open() -> io::Result<Self> {
        if inside::is_inside() {
            return Ok(Self { kind: Kind::Inside });
        }
        Self::of(if Tun::is_open().is_ok() { Carrier::Tun } else { Carrier::Veth })
    }

    /// Of this kind.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub fn of(carrier: Carrier) -> io::Result<Self> {
        let kind = match carrier {
            Carrier::Tun => Kind::Tun,
            Carrier::Veth => Kind::Veth(Namespace::create()?),
        };
        Ok(Self { kind })
    }

    /// Their kind.
    pub fn carrier(&self) -> Carrier {
        match self.kind {
            Kind::Tun | Kind::Inside => Carrier::Tun,
            Kind::Veth(_) => Carrier::Veth,
        }
    }

    /// Makes an interface in this thread's namespace, which is down; the emulator's side of it.
    ///
    /// # Errors
    /// `ResourceBusy` or `AlreadyExists` where the name is taken; a missing privilege.
    pub fn connect(&self, shape: &Shape<'_>) -> io::Result<Side> {
        let Shape { name, other, mtu, super_packets } = *shape;
        let emulators = match &self.kind {
            Kind::Tun if super_packets => return Ok(Box::new(OffloadTun(Tun::with_offloads(name)?))),
            Kind::Tun => return Ok(Box::new(Tun::open(name)?)),
            Kind::Inside => {
                let made = Interface::open(name)?.ok_or(io::ErrorKind::NotConnected)?;
                return Ok(Box::new(made));
            }
            Kind::Veth(emulators) => emulators,
        };
        let links = Links::open()?;
        links.add_veth(name, other, emulators)?;
        links.set_hardware_address(name, &ADDRESS)?;
        set_offloads(name, false)?;
        self.settle(name)?;
        emulators.within(|| {
            // Else it would speak by itself; a kernel without IPv6 does not.
            set_kernel_value(format!("/proc/sys/net/ipv6/conf/{other}/disable_ipv6"), "1").ok();
            let links = Links::open()?;
            links.quiet(other)?;
            links.up(other, Some(mtu), None)?;
            Ok(Box::new(Ethernet::open(other, mtu as usize)?) as Side)
        })
    }

    /// To be called once a host has set the offloads of its interface: takes back what the emulator cannot do for it.
    ///
    /// # Errors
    /// Where there is no such interface.
    pub fn settle(&self, name: &str) -> io::Result<()> {
        match self.kind {
            Kind::Tun | Kind::Inside => Ok(()),
            Kind::Veth(_) => split_in_stack(name),
        }
    }
}
