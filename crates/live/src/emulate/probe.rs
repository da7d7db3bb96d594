//! Whether this process could emulate, and how: its parts are made, and gone again at its end.

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::geteuid;
use rexmit_network::two_hosts::{SERVER, host_name};
use rexmit_scenario::SpecError;
use serde::{Deserialize, Serialize};

use super::{Emulation, ProgramAt, Role, ends};
use crate::guest::become_root;
use crate::sys::process::{Kind, copy_off, mount_proc};
use crate::sys::tun::Tun;
use crate::wire::Carrier;

/// What an emulation has here.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Probe {
    /// It is root of a user namespace only, so both ends are programs.
    pub rootless: bool,
    /// What carries its packets.
    pub carrier: Carrier,
    /// Why no TUN device can be made, if so.
    pub closed: Option<String>,
    /// Programs see their own processes in /proc.
    pub own_proc: bool,
}

/// Makes two hosts, as an emulation does. This process must have one thread; it is root of a user namespace afterwards.
///
/// # Errors
/// Why there can be no emulation: one line with what to do.
pub fn probe() -> Result<Probe, SpecError> {
    let wrong = |e: std::io::Error| SpecError::new("", e.to_string());
    let rootless = !geteuid().is_root();
    become_root().map_err(wrong)?;
    let server = ProgramAt { host: host_name(SERVER).to_owned(), argv: Vec::new(), role: Role::Server };
    let two_programs = Emulation { programs: vec![server], ..Emulation::default() };
    let (ends, _) = ends::create(&two_programs)?;
    let first = copy_off(Kind::First, || i32::from(mount_proc().is_err())).map_err(wrong)?;
    let own_proc = matches!(waitpid(first, None), Ok(WaitStatus::Exited(_, 0)));
    let carrier = ends.carrier.unwrap_or(Carrier::Veth);
    Ok(Probe { rootless, carrier, closed: Tun::is_open().err().map(|e| e.to_string()), own_proc })
}
