//! What of a scenario an engine does not support, told before it starts.

use rexmit_network::HostId;
use rexmit_path::{EmulatorKind, PathSpec};

use crate::connections::SERVICE_PORTS;
use crate::scenario::{OWN_PORTS, Resolved};
use crate::{HostSpec, SpecError};

impl Resolved {
    /// What of the scenario a run in virtual time does not support, by its keys: settings of real kernels, and what the
    /// hosts' code does not support.
    ///
    /// # Errors
    /// Code that is not there on this machine, or that cannot run the scenario at all.
    pub fn unsupported_in_virtual_time(&self) -> Result<Vec<String>, SpecError> {
        self.refuse_programs()?;
        let sctp = self.is_sctp();
        let of = |(id, name, host): (HostId, &str, &HostSpec)| {
            let keys: Vec<String> = if self.codes[id].about().is_linux {
                host.linux.of_another_protocol(sctp).collect()
            } else {
                let table = serde_json::to_value(&host.linux).unwrap_or_default();
                table.as_object().into_iter().flat_map(|t| t.keys().cloned()).collect()
            };
            keys.into_iter().map(|key| format!("hosts.{name}.linux.{key}")).collect::<Vec<_>>()
        };
        let hosts = self.scenario.hosts.written().flat_map(of);
        let mut unsupported: Vec<String> = hosts.chain(self.links_of_netem()).collect();
        unsupported.extend(self.limits_beyond_linux(|writes| self.codes[writes].about().is_linux));
        unsupported.extend(self.unsupported_by_code()?);
        Ok(unsupported)
    }

    /// Limits of messages that lksctp does not support where Linux is the writer: it takes one per message (RFC 6458
    /// section 5.3.7).
    fn limits_beyond_linux(&self, linux: impl Fn(HostId) -> bool + Copy) -> impl Iterator<Item = String> {
        self.scenario.transfers.iter().enumerate().filter_map(move |(i, transfer)| {
            let both = transfer.lifetime.is_some() && transfer.max_retransmits.is_some();
            (both && self.transfers[i].senders().any(&linux))
                .then(|| format!("transfers.{i}.max_retransmits"))
        })
    }

    /// Options of sockets that Linux has nothing for.
    fn sockets_beyond_linux(&self) -> impl Iterator<Item = String> {
        let wishes =
            self.transfers.iter().enumerate().filter_map(|(i, one)| one.wish().map(|wish| (i, wish)));
        wishes.flat_map(|(i, wish)| {
            wish.beyond_linux(self.is_sctp()).into_iter().map(move |key| format!("transfers.{i}.{key}"))
        })
    }

    /// That a real kernel lacks ports for this many connections.
    fn beyond_ports(&self) -> Option<String> {
        let (all, transfers) = (self.least_connections(), self.transfers.len());
        if transfers > SERVICE_PORTS {
            return Some(format!("transfers ({transfers}, of which {SERVICE_PORTS} have a port)"));
        }
        (all > OWN_PORTS).then(|| format!("transfers ({all} connections, of which {OWN_PORTS} have a port)"))
    }

    /// Which hosts' settings programs on a real kernel do not get, by their keys: what it has no knob for, and options
    /// of sockets, which programs open themselves.
    pub fn unsupported_by_programs(&self) -> Vec<String> {
        let of = |(id, name, host): (HostId, &str, &HostSpec)| {
            let mut unsupported = host.kernel_settings().unsupported;
            unsupported.extend(host.linux.of_sockets().into_iter().map(|key| format!("linux.{key}")));
            let foreign = host.code.is_some() && !self.codes[id].about().is_linux;
            unsupported.extend(foreign.then(|| "code".to_string()));
            unsupported.into_iter().map(|key| format!("hosts.{name}.{key}")).collect::<Vec<_>>()
        };
        self.scenario.hosts.written().flat_map(of).collect()
    }

    /// The links that are another emulator's, by their keys.
    pub fn links_of_netem(&self) -> Vec<String> {
        let of_netem = |(_, path): &(String, &PathSpec)| path.emulator == Some(EmulatorKind::Netem);
        self.paths().filter(of_netem).map(|(name, _)| format!("{name}.emulator")).collect()
    }

    /// Refuses a protocol that no kernel has.
    ///
    /// # Errors
    /// QUIC, and what runs it.
    pub fn refuse_kernels(&self) -> Result<(), SpecError> {
        let Some((_, name, _)) = self.scenario.hosts.written().next().filter(|_| self.is_quic()) else {
            return Ok(());
        };
        let text = "no kernel speaks QUIC: give the hosts the code of one that does (`rexmit doctor` names them) and take backend model, or run a program";
        Err(SpecError::new(format!("hosts.{name}.stack"), text))
    }

    /// What of the scenario a real kernel does not support, by its keys.
    pub fn unsupported_by_kernel(&self) -> Vec<String> {
        let sctp = self.is_sctp();
        let of = |(id, name, host): (HostId, &str, &HostSpec)| {
            let mut unsupported = host.kernel_settings().unsupported;
            unsupported.extend(host.linux.of_another_protocol(sctp).map(|key| format!("linux.{key}")));
            let foreign = host.code.is_some() && !self.codes[id].about().is_linux;
            unsupported.extend(foreign.then(|| "code".to_string()));
            unsupported.into_iter().map(|key| format!("hosts.{name}.{key}")).collect::<Vec<_>>()
        };
        let netems = if self.links.is_some() { self.links_of_netem() } else { Vec::new() };
        // netem tells nothing of its queue.
        let measure = self.links.is_none()
            && self.scenario.measure.is_some()
            && self.scenario.path.emulator == Some(EmulatorKind::Netem);
        let alternate = self.scenario.alternate.is_some().then(|| "alternate".to_string());
        let stacks = self.scenario.hosts.written().flat_map(|(_, name, spec)| spec.settings_of_stacks(name));
        let hosts =
            self.scenario.hosts.written().flat_map(of).chain(stacks.map(|setting| setting.to_string()));
        hosts
            .chain(self.limits_beyond_linux(|_| true))
            .chain(self.sockets_beyond_linux())
            .chain(self.sockets_of_programs())
            .chain(self.scenario.path.beyond_netem())
            .chain(alternate)
            .chain(netems)
            .chain(self.beyond_ports())
            .chain(measure.then(|| "measure (with path.emulator = \"netem\")".to_string()))
            .collect()
    }
}
