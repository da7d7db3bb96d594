//! The one definition of a scenario. Python and the JSON Schema come from it.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::net::IpAddr;
use std::sync::Arc;

use rexmit_network::two_hosts::{self, CLIENT, HOSTS, SERVER};
use rexmit_network::{ByHost, HostId, Id, Network};
use rexmit_path::{PathError, PathSpec};
use rexmit_stack::{Registry, StackFactory};
use rexmit_traffic::{Transfer, TransferError, TransferSpec};
use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::SpecError;
use crate::codes::add_to_schema;
use crate::error::{read, refuse_list};
use crate::hosts::Hosts;
use crate::intervals::Intervals;
use crate::kernel_names::name_kernels;
use crate::links::{LinkForm, Links};
use crate::measure::MeasureSpec;
use crate::profiles::{StackProfile, resolve_profile};
use crate::programs::{Program, ProgramsSpec, name_all_stacks, name_stacks, say_what_is_needed};
use crate::stack_programs::{add_program, name_stack_programs};
use crate::tables_of_flows::read_table;
use crate::traces::open_trace;

/// This many connections have a port of their own from 10000 on; others share them.
pub(crate) const OWN_PORTS: usize = 55_000;
/// The most connections of a run.
const MOST_CONNECTIONS: usize = 4_000_000;

/// Hosts, what lies between them and what they send: one run, wholly said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The hosts by their names: `server` and `client` with a `path` between them, or those of a network, each `at` a point.
    pub hosts: Hosts,
    /// The path between the hosts `server` and `client`. `down` is from server to client, `up` from client to server.
    #[serde(default)]
    pub path: PathSpec,
    /// The links of a network by their names, each between two points: `links.middle.between = ["left", "right"]`. They
    /// make a tree, so that packets have one way. Absent: the hosts are `server` and `client`, or all at one point.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(with = "BTreeMap<String, LinkForm>")]
    pub links: BTreeMap<String, Value>,
    /// A second path between second addresses of both hosts, for SCTP: hosts with two addresses each, whose first path
    /// is `path` (RFC 9260 section 6.4). Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub alternate: Option<PathSpec>,
    /// What is sent. May be absent where a host runs a program.
    #[serde(default)]
    pub transfers: Vec<TransferSpec>,
    /// What holds for the hosts' programs.
    #[serde(default, skip_serializing_if = "ProgramsSpec::is_empty")]
    pub programs: ProgramsSpec,
    /// The run ends at this virtual time at the latest; above zero. Default: 1 h.
    #[serde(default = "default_limit")]
    pub limit: Duration,
    /// Spans of time that are measured by themselves, in the table `intervals`: `"5 s"` for one after another, or
    /// `"0 s-150 s, 150 s-270 s"`. Absent: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intervals: Option<Intervals>,
    /// How late messages are, in the table `messages`: from the application's write to the moment at which the other
    /// application has read its last byte. Each write is a message; those of `requests` are not.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
    /// What connections and links did, in the tables `transfers` and `links`: `{ every = "1 s" }`, or `{}`. Absent: not
    /// for two hosts, and `{}` in a network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measure: Option<MeasureSpec>,
    /// What is sent again is counted by its number and cause, with its delays, in the table `retransmissions`: as
    /// `rexmit analyze` judges the packets at the sender's interface. Default: false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retransmissions: bool,
    /// Missing reports after which that table calls a retransmission of SCTP fast, as sctp_trace does: 4 for lksctp
    /// 2.6.15, 1 for the runs of pedersen-2006 with its modified fast retransmit; at least 1. Default: 3, as RFC 9260.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub sctp_threshold: Option<u32>,
}

fn default_limit() -> Duration {
    Duration::from_secs(3600)
}

/// A scenario whose names have been looked up and whose values have been checked.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario.
    pub scenario: Scenario,
    /// The hosts' transports, all of one protocol.
    pub stacks: ByHost<Arc<StackProfile>>,
    /// Its hosts, its links and the routes.
    pub network: Arc<Network>,
    /// The links of a network; `None` for a server and a client with a path.
    pub links: Option<Links>,
    /// What is sent.
    pub transfers: Vec<Transfer>,
    /// Whose protocol code each host runs.
    pub codes: ByHost<&'static dyn StackFactory>,
    /// Programs that hosts run.
    pub programs: ByHost<Option<Program>>,
}

impl Resolved {
    /// Reads and checks a scenario whose hosts choose from the stacks that are built in.
    ///
    /// # Errors
    /// The first key or value that does not fit.
    pub fn from_value(value: Value) -> Result<Self, SpecError> {
        Self::with_stacks(value, rexmit_stacks::registry())
    }

    /// The same of a scenario whose hosts choose from these stacks.
    ///
    /// # Errors
    /// As [`Self::from_value`].
    pub fn with_stacks(value: Value, registry: Registry) -> Result<Self, SpecError> {
        let resolved = Self::read(value, registry)?;
        if resolved.scenario.transfers.is_empty() && !resolved.has_programs() {
            return Err(SpecError::new("transfers", "nothing is sent: give at least one transfer"));
        }
        Ok(resolved)
    }

    /// The hosts and links of a scenario for programs that are not its own: what it sends is left out, and a host may
    /// leave its stack out.
    ///
    /// # Errors
    /// As [`Self::from_value`].
    pub fn without_traffic(mut value: Value) -> Result<Self, SpecError> {
        if let Some(scenario) = value.as_object_mut() {
            scenario.retain(|key, _| !["transfers", "programs"].contains(&key.as_str()));
        }
        name_all_stacks(&mut value);
        Self::read(value, rexmit_stacks::registry())
    }

    fn read(value: Value, registry: Registry) -> Result<Self, SpecError> {
        refuse_lists(&value)?;
        let mut value = value;
        name_stacks(&mut value);
        name_kernels(&mut value)?;
        name_stack_programs(&mut value)?;
        let names: Vec<String> =
            value["hosts"].as_object().map(|hosts| hosts.keys().cloned().collect()).unwrap_or_default();
        let mut scenario: Scenario = read(value).map_err(|e| e.beside_hosts(&names))?;
        scenario.hosts.check_tables(registry)?;
        let links = scenario.read_links()?;
        let network = Arc::new(scenario.network(links.as_ref())?);
        let stacks = scenario.hosts.each(|name, host| {
            let profile = resolve_profile(&host.stack);
            profile.map(Arc::new).map_err(|e| e.within(&format!("hosts.{name}.stack")))
        })?;
        let mut transfers = Vec::new();
        for (i, spec) in scenario.transfers.iter().enumerate() {
            let failed = |e: TransferError| match e {
                TransferError::Host { key, what } => SpecError::new(format!("transfers.{i}.{key}"), what),
                e => SpecError::new(format!("transfers.{i}"), e.to_string()),
            };
            let named = |name: &str| {
                let known = || scenario.hosts.names().take(20).map(str::to_owned).collect();
                scenario.hosts.named(name).ok_or_else(known)
            };
            transfers.push(spec.resolve_with(&named, &mut read_table).map_err(failed)?);
        }
        check_protocols(&scenario.hosts, &stacks)?;
        let codes = scenario.hosts.codes(registry, &stacks)?;
        let programs = scenario.hosts.programs()?;
        let resolved = Self { scenario, stacks, network, links, transfers, codes, programs };
        resolved.check()?;
        Ok(resolved)
    }

    fn check(&self) -> Result<(), SpecError> {
        let scenario = &self.scenario;
        self.check_programs()?;
        if scenario.limit.is_zero() {
            return Err(SpecError::new("limit", "a run without time; allowed: above 0 s, such as \"1 h\""));
        }
        for (i, transfer) in scenario.transfers.iter().enumerate() {
            if let Some((key, text)) = transfer.beyond_protocol(self.protocol()) {
                return Err(SpecError::new(format!("transfers.{i}.{key}"), text));
            }
        }
        if scenario.sctp_threshold == Some(0) {
            return Err(SpecError::new("sctp_threshold", "0 reports trigger nothing; allowed: at least 1"));
        }
        self.check_count(self.least_connections())?;
        self.scenario.measure.as_ref().map_or(Ok(()), MeasureSpec::check)?;
        self.check_names()?;
        for (_, name, host) in scenario.hosts.written() {
            if !(68..=65_535).contains(&host.mtu) {
                return Err(SpecError::new(
                    format!("hosts.{name}.mtu"),
                    "an MTU is between 68 and 65535 bytes",
                ));
            }
            host.linux.check(name)?;
        }
        match &self.links {
            None => self.check_two(),
            Some(links) => {
                self.check_addresses()?;
                links.check(&scenario.hosts)
            }
        }
    }

    /// Refuses more connections than a run can have.
    pub(crate) fn check_count(&self, connections: usize) -> Result<(), SpecError> {
        if connections > MOST_CONNECTIONS {
            let text = format!("{connections} connections: at most {MOST_CONNECTIONS} fit into one run");
            return Err(SpecError::new("transfers", text));
        }
        Ok(())
    }

    /// Refuses names of transfers that appear twice.
    fn check_names(&self) -> Result<(), SpecError> {
        let mut known = HashSet::new();
        let transfers = &self.scenario.transfers;
        // A transfer without a name is called by its number.
        let numbers = transfers.iter().enumerate().filter(|(_, transfer)| transfer.name.is_none());
        let numbers: HashSet<String> = numbers.map(|(i, _)| i.to_string()).collect();
        for (i, transfer) in transfers.iter().enumerate() {
            let Some(name) = &transfer.name else { continue };
            let text = if name.is_empty() {
                "is empty; leave it out, or give one".to_string()
            } else if numbers.contains(name) {
                format!("{name:?} is what results call transfer {name}, which has no name; give another")
            } else if !known.insert(name) {
                format!("{name:?} is the name of another transfer, and results tell them by it; give another")
            } else {
                continue;
            };
            return Err(SpecError::new(format!("transfers.{i}.name"), text));
        }
        Ok(())
    }

    /// What a transfer is called in results.
    pub fn transfer_name(&self, number: usize) -> String {
        let name = self.scenario.transfers.get(number).and_then(|transfer| transfer.name.clone());
        name.unwrap_or_else(|| number.to_string())
    }

    /// What is measured of connections and links, if anything.
    pub fn measured(&self) -> Option<MeasureSpec> {
        let default = || self.links.as_ref().map(|_| MeasureSpec::default());
        self.scenario.measure.clone().or_else(default)
    }

    fn check_two(&self) -> Result<(), SpecError> {
        let scenario = &self.scenario;
        let (server, client) = (self.address(SERVER), self.address(CLIENT));
        if server.is_ipv4() != client.is_ipv4() || server == client {
            return Err(SpecError::new("hosts", "the two addresses must differ and be of one family"));
        }
        let mtu = HOSTS.map(|host| scenario.hosts.of(host).mtu.into());
        check_path(&scenario.path, "path", Some(mtu))?;
        self.check_alternate(mtu)
    }

    /// Refuses addresses of a network that appear twice, or of two families.
    fn check_addresses(&self) -> Result<(), SpecError> {
        let mut known = HashMap::new();
        for (host, name, _) in self.scenario.hosts.iter() {
            let address = self.address(host);
            if let Some(other) = known.insert(address, name) {
                let text = format!("{address} is the address of {other} as well: give one of them another");
                return Err(SpecError::new(format!("hosts.{name}.address"), text));
            }
        }
        let v4 = known.keys().filter(|address| address.is_ipv4()).count();
        if v4 != 0 && v4 != known.len() {
            let text = "the addresses must be of one family: give each host one, as by hosts.NAME.address = \"fd00::1\"";
            return Err(SpecError::new("hosts", text));
        }
        Ok(())
    }

    fn check_alternate(&self, mtu: [u64; 2]) -> Result<(), SpecError> {
        let Some(path) = &self.scenario.alternate else {
            let mut hosts = self.scenario.hosts.iter();
            return match hosts.find(|(.., host)| host.alternate_address.is_some()) {
                None => Ok(()),
                Some((_, name, _)) => {
                    let text =
                        "there is no path to it: give `alternate`, such as alternate.delay = \"10 ms\"";
                    Err(SpecError::new(format!("hosts.{name}.alternate_address"), text))
                }
            };
        };
        if self.protocol() != "sctp" {
            let text = "TCP and QUIC have one path; of SCTP only, such as hosts.*.stack = \"rfc9260\"";
            return Err(SpecError::new("alternate", text));
        }
        let mut all = HOSTS.map(|host| self.address(host)).to_vec();
        all.extend(HOSTS.map(|host| self.alternate_address(host)));
        let family = all[0].is_ipv4();
        let differ = all.iter().enumerate().all(|(n, address)| !all[..n].contains(address));
        if !differ || all.iter().any(|address| address.is_ipv4() != family) {
            let text = "the addresses of both paths must differ and be of one family";
            return Err(SpecError::new("hosts", text));
        }
        check_path(path, "alternate", Some(mtu))
    }

    /// The protocol that the hosts speak: `tcp`, `sctp` or `quic`.
    pub fn protocol(&self) -> &'static str {
        self.stacks.values().next().map_or("tcp", |stack| stack.protocol())
    }

    /// The protocol is QUIC.
    pub fn is_quic(&self) -> bool {
        self.protocol() == "quic"
    }

    /// The protocol is SCTP.
    pub(crate) fn is_sctp(&self) -> bool {
        self.protocol() == "sctp"
    }

    /// Address of a host.
    pub fn address(&self, host: HostId) -> IpAddr {
        let default = || match &self.links {
            None => two_hosts::choose(host, [10, 0, 2, 1], [10, 0, 1, 1]),
            Some(_) => {
                let (net, own) = (host.index() / 254, host.index() % 254);
                [10, 1, net as u8, own as u8 + 1]
            }
        };
        self.scenario.hosts.of(host).address.unwrap_or_else(|| IpAddr::from(default()))
    }

    /// The address of the other host of a server and a client; `None` in a network.
    pub fn only_peer(&self, host: HostId) -> Option<IpAddr> {
        self.links.is_none().then(|| self.address(two_hosts::peer(host)))
    }

    /// Address of a host on the path `alternate`.
    pub fn alternate_address(&self, host: HostId) -> IpAddr {
        self.scenario.alternate_address(host)
    }

    /// The scenario as JSON with every default written out and the profiles whole.
    pub fn to_value(&self) -> Value {
        let mut scenario = self.scenario.clone();
        if self.links.is_none() {
            scenario.path = scenario.path.with_defaults();
        }
        scenario.alternate = scenario.alternate.map(|path| path.with_defaults());
        let firsts: Vec<HostId> = scenario.hosts.written().map(|(host, ..)| host).collect();
        for (host, (_, spec)) in firsts.iter().zip(scenario.hosts.written_mut()) {
            if spec.count.is_none() {
                spec.address = Some(self.address(*host));
            }
            spec.access = spec.access.take().map(|access| Box::new(access.with_defaults()));
        }
        let mut value = serde_json::to_value(&scenario).unwrap_or_default();
        for (host, (name, spec)) in firsts.iter().zip(scenario.hosts.written_mut()) {
            let mut profile = self.stacks[*host].to_value();
            add_program(&mut profile, &spec.stack);
            value["hosts"][name]["profile"] = profile;
        }
        for link in self.links.iter().flat_map(|links| &links.between) {
            value["links"][&link.name] = link.to_value();
        }
        value
    }

    /// All paths with their keys: `path` and `alternate`, or those of links.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (String, &PathSpec)> {
        let two = self.links.is_none().then(|| ("path".to_owned(), &self.scenario.path));
        let alternate = self.scenario.alternate.iter().map(|path| ("alternate".to_owned(), path));
        let links = self.links.iter().flat_map(|links| links.paths(&self.scenario.hosts));
        two.into_iter().chain(alternate).chain(links)
    }

    /// What is not wrong but probably not intended.
    pub fn warnings(&self) -> Vec<String> {
        self.paths().flat_map(|(key, path)| path.warnings(&key)).collect()
    }
}

impl Scenario {
    /// The links of a network; `None` for a server and a client with a path.
    fn read_links(&self) -> Result<Option<Links>, SpecError> {
        if self.links.is_empty() && !self.hosts.hang_on_points() {
            return self.hosts.check_two().map(|()| None);
        }
        let paths = [("path", self.path != PathSpec::default()), ("alternate", self.alternate.is_some())];
        if let Some((key, _)) = paths.into_iter().find(|(_, given)| *given) {
            let text = "a network has `links`, and hosts their `access`: leave it out";
            return Err(SpecError::new(key, text));
        }
        self.hosts.check_network()?;
        Links::read(&self.links).map(Some)
    }

    /// Its hosts, with the links of a network or those of `path` and of `alternate`.
    fn network(&self, links: Option<&Links>) -> Result<Network, SpecError> {
        match (links, &self.alternate) {
            (Some(links), _) => links.network(&self.hosts),
            (None, None) => Ok(two_hosts::network()),
            (None, Some(_)) => Ok(two_hosts::network_with_alternate(&two_hosts::by_host(|host| {
                self.alternate_address(host)
            }))),
        }
    }

    /// Address of a host on the path `alternate`.
    fn alternate_address(&self, host: HostId) -> IpAddr {
        let default = two_hosts::choose(host, [10, 0, 4, 1], [10, 0, 3, 1]);
        self.hosts.of(host).alternate_address.unwrap_or(IpAddr::from(default))
    }
}

/// Refuses hosts that do not speak one protocol.
fn check_protocols(hosts: &Hosts, stacks: &ByHost<Arc<StackProfile>>) -> Result<(), SpecError> {
    let mut all = hosts.written().map(|(host, name, _)| (name, stacks[host].protocol()));
    let Some((first, spoken)) = all.next() else { return Ok(()) };
    let Some((name, other)) = all.find(|(_, protocol)| *protocol != spoken) else { return Ok(()) };
    let text = format!("{first} has {spoken}, {name} {other}: give both hosts stacks of one protocol");
    Err(SpecError::new("hosts", text))
}

/// Reads and checks a path by itself. Its keys are named as in a scenario: `path.down.drop`.
///
/// # Errors
/// The first key or value that does not fit.
pub fn read_path(value: Value) -> Result<PathSpec, SpecError> {
    refuse_lists(&serde_json::json!({ "path": &value }))?;
    let path: PathSpec = read(value).map_err(|e| e.within("path"))?;
    check_path(&path, "path", None)?;
    Ok(path)
}

/// Checks a path whose key in the scenario this is; with the MTUs of the hosts, where they are known.
pub(crate) fn check_path(path: &PathSpec, key: &str, mtu: Option<[u64; 2]>) -> Result<(), SpecError> {
    let failed = |e: PathError| SpecError::new("", e.to_string());
    path.check(key, mtu).map_err(failed)?;
    path.check_traces(key, &mut open_trace).map_err(failed)
}

/// Refuses lists where a scenario has tables.
fn refuse_lists(scenario: &Value) -> Result<(), SpecError> {
    let names = scenario.get("hosts").and_then(Value::as_object).into_iter().flat_map(|hosts| hosts.keys());
    let hosts: Vec<[&str; 2]> = names.map(|name| ["hosts", name.as_str()]).collect();
    let hosts = [&["hosts"][..], &["links"]].into_iter().chain(hosts.iter().map(|keys| &keys[..]));
    for keys in hosts.chain(TABLES_OF_PATHS) {
        let value = keys.iter().try_fold(scenario, |value, key| value.get(key));
        value.map_or(Ok(()), |value| refuse_list(value, || keys.join(".")))?;
    }
    let transfers = scenario.get("transfers").and_then(Value::as_array);
    for (i, transfer) in transfers.into_iter().flatten().enumerate() {
        refuse_list(transfer, || format!("transfers.{i}"))?;
        for key in ["read", "bursts", "requests"] {
            let table = transfer.get(key);
            table.map_or(Ok(()), |table| refuse_list(table, || format!("transfers.{i}.{key}")))?;
        }
    }
    for keys in TABLES_OF_PATHS {
        let table = keys.iter().try_fold(scenario, |value, key| value.get(key));
        let changes = table.and_then(|table| table.get("changes")).and_then(Value::as_array);
        for (i, change) in changes.into_iter().flatten().enumerate() {
            refuse_list(change, || format!("{}.changes.{i}", keys.join(".")))?;
        }
    }
    Ok(())
}

/// Where a scenario has settings of paths.
const TABLES_OF_PATHS: [&[&str]; 6] = [
    &["path"],
    &["path", "down"],
    &["path", "up"],
    &["alternate"],
    &["alternate", "down"],
    &["alternate", "up"],
];

/// The JSON Schema of a scenario.
pub fn schema() -> Value {
    let mut schema = serde_json::to_value(schemars::schema_for!(Scenario)).unwrap_or_default();
    add_to_schema(&mut schema, rexmit_stacks::registry());
    say_what_is_needed(&mut schema);
    schema
}

/// The JSON Schema of an SCTP profile that inherits nothing, without its key `protocol`.
pub fn sctp_profile_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(rexmit_sctp::Profile)).unwrap_or_default()
}

/// The JSON Schema of a QUIC profile that inherits nothing, without its key `protocol`.
pub fn quic_profile_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(rexmit_stack::quic::QuicProfile)).unwrap_or_default()
}

/// The JSON Schema of a TCP profile that inherits nothing.
pub fn profile_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(rexmit_tcp::Profile)).unwrap_or_default()
}
