//! What an emulation is of: a path with two ends, or a network of hosts.

use std::collections::HashMap;
use std::sync::Arc;

use rexmit_network::tree::{self, Place};
use rexmit_network::{ByLink, HostId, Network, two_hosts};
use rexmit_path::Direction;
use rexmit_scenario::{Resolved, SpecError, Streams, read_path};
use serde_json::{Value, json};

use super::Emulation;
use crate::packet::RealPacket;

/// Hosts at the most: each has a device, namespaces and processes on this machine, and one thread emulates all.
const MOST_HOSTS: usize = 250;

/// Hosts, and what lies between them.
pub struct Setting {
    /// Which hosts and links there are.
    pub network: Arc<Network>,
    /// The scenario of a network; `None` of a path.
    pub resolved: Option<Resolved>,
    /// What links do.
    pub links: ByLink<Direction<RealPacket>>,
}

impl Setting {
    /// What is wanted.
    ///
    /// # Errors
    /// The first key or value that does not fit.
    pub fn read(wanted: &Emulation) -> Result<Self, SpecError> {
        let streams = Streams::new(wanted.seed, "emulate");
        let Some(scenario) = &wanted.network else {
            let path = read_path(wanted.path.clone())?;
            let links = streams.links_of_path(&path, wanted.verdicts)?;
            return Ok(Self { network: Arc::new(two_hosts::network()), resolved: None, links });
        };
        let resolved = read_network(scenario.clone())?;
        let links = streams.links(&resolved, wanted.verdicts)?;
        Ok(Self { network: Arc::clone(&resolved.network), resolved: Some(resolved), links })
    }
}

/// What there is to know of a scenario's network before it is emulated: hosts with their names, those that they are written
/// under, addresses and variables; links, and whether they are written; what is odd; and what of the scenario is left out.
///
/// # Errors
/// What makes it a network that cannot be emulated.
pub fn about_network(scenario: Value) -> Result<Value, SpecError> {
    let sends = scenario.get("transfers").and_then(Value::as_array).is_some_and(|all| !all.is_empty());
    let resolved = read_network(scenario)?;
    let Resolved { network, scenario, .. } = &resolved;
    let mut written = network.by_host(|host| scenario.hosts.name(host).to_string());
    for name in scenario.hosts.names() {
        for host in scenario.hosts.named(name).unwrap_or_default() {
            name.clone_into(&mut written[host]);
        }
    }
    let hosts = network.hosts().map(|host| {
        let name = network.host_name(host);
        json!({
            "name": name,
            "written": written[host],
            "address": resolved.address(host),
            "variable": variable(name),
        })
    });
    let between = resolved.links.as_ref().map_or(0, |links| links.between.len());
    let links = network.links().map(|link| {
        let says = match tree::place(link, between) {
            Place::Between { .. } => true,
            Place::Access { host, .. } => scenario.hosts.of(host).access.is_some(),
        };
        json!({ "name": network.link_name(link), "written": says })
    });
    let mut left_out: Vec<String> = sends.then(|| "transfers".to_owned()).into_iter().collect();
    left_out.extend(resolved.unsupported_by_programs());
    Ok(json!({
        "hosts": hosts.collect::<Vec<_>>(),
        "links": links.collect::<Vec<_>>(),
        "warnings": resolved.warnings(),
        "left_out": left_out,
    }))
}

/// The host of this name in a network.
pub fn find(network: &Network, name: &str) -> Option<HostId> {
    network.hosts().find(|host| network.host_name(*host) == name)
}

/// The variable with a host's address.
pub fn variable(name: &str) -> String {
    format!("REXMIT_HOST_{}", name.to_ascii_uppercase().replace('-', "_"))
}

/// The network of a scenario, checked.
fn read_network(scenario: Value) -> Result<Resolved, SpecError> {
    let hosts = scenario.get("hosts").and_then(Value::as_object);
    let runs =
        hosts.into_iter().flatten().find(|(_, host)| host.get("program").is_some_and(|p| !p.is_null()));
    if let Some((name, _)) = runs {
        let text = format!(
            "hosts of a network run none by themselves: leave it out, and give --at {name} COMMAND or --server-at {name} \
             COMMAND"
        );
        return Err(SpecError::new(format!("hosts.{name}.program"), text));
    }
    let resolved = Resolved::without_traffic(scenario)?;
    if resolved.links.is_none() {
        return Err(SpecError::new(
            "hosts",
            "these are not hosts of a network: give each a point, as by at = \"left\"",
        ));
    }
    if let Some(key) = resolved.links_of_netem().into_iter().next() {
        let text = "a network has rexmit's own emulator at each of its links: leave it out";
        return Err(SpecError::new(key, text));
    }
    let count = resolved.network.hosts().count();
    if count > MOST_HOSTS {
        let text = format!(
            "{count} hosts: at most {MOST_HOSTS} are emulated on one machine; `rexmit run` has more, in virtual time"
        );
        return Err(SpecError::new("hosts", text));
    }
    let mut known = HashMap::new();
    for host in resolved.network.hosts() {
        let name = resolved.network.host_name(host);
        if let Some(other) = known.insert(variable(name), name) {
            let text = format!(
                "{other} and {name} would both have the variable {}: rename one of them",
                variable(name)
            );
            return Err(SpecError::new(format!("hosts.{name}"), text));
        }
    }
    Ok(resolved)
}

#[cfg(test)]
mod tests;
