//! The one definition of a scenario. Python and the JSON Schema come from it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rexmit_network::two_hosts::{self, CLIENT, HOSTS, SERVER, host_name};
use rexmit_network::{ByHost, HostId};
use rexmit_path::{EmulatorKind, PathError, PathSpec};
use rexmit_stack::{Registry, StackFactory};
use rexmit_traffic::{Transfer, TransferSpec};
use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::SpecError;
use crate::codes::add_to_schema;
use crate::error::{read, refuse_list};
use crate::intervals::Intervals;
use crate::kernel_names::name_kernels;
use crate::linux::LinuxSpec;
use crate::profiles::{StackProfile, resolve_profile};
use crate::programs::{Program, ProgramForm, ProgramsSpec, name_stacks, say_what_is_needed};
use crate::traces::open_trace;

/// Every connection has a port of its own from 10000 on.
const MAX_CONNECTIONS: u64 = 55_000;

/// Two hosts, the path between them and what they send: one run, wholly said.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// The two hosts.
    pub hosts: Hosts,
    /// The path between them. `down` is from server to client, `up` from client to server.
    #[serde(default)]
    pub path: PathSpec,
    /// A second path between second addresses of both hosts, of SCTP: hosts with two addresses each, whose first path
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
    /// application has read its last byte. Each write is a message; of `requests`, none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub messages: bool,
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

/// The two hosts.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// The host at the upper end of `down`.
    pub server: HostSpec,
    /// The host at its lower end.
    pub client: HostSpec,
}

impl Hosts {
    /// One of them.
    ///
    /// # Panics
    /// Of a host that is none of the two.
    pub fn of(&self, host: HostId) -> &HostSpec {
        two_hosts::choose(host, &self.server, &self.client)
    }

    /// The same, to change it.
    ///
    /// # Panics
    /// As [`Self::of`].
    pub(crate) fn of_mut(&mut self, host: HostId) -> &mut HostSpec {
        two_hosts::choose(host, &mut self.server, &mut self.client)
    }

    /// Both, with their numbers and names.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &'static str, &HostSpec)> {
        HOSTS.into_iter().map(|host| (host, host_name(host), self.of(host)))
    }
}

/// One host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostSpec {
    /// Its TCP or SCTP: the name of a profile (`"freebsd-6.0"`, `"lksctp-2.6.15"`), a file (`"./mine.toml"`), or a table
    /// that inherits and changes single values (`{ inherits = "freebsd-6.0", recovery.dupack_threshold = 2 }`). Both
    /// hosts have the same protocol. `"linux:6.12"` is the kernel itself: the profile `linux-6.1`, the code `linux`, and
    /// `linux.version` 6.12; `"linux:"` the kernel of `--kernel`.
    #[schemars(schema_with = "stack_schema")]
    pub stack: Value,
    /// Whose protocol code it runs in virtual time: `"model"`, rexmit's own, which behaves as the profile `stack` says; or a
    /// third party's, to which the profile gives the protocol and the single values that it changes; `"linux"` is the
    /// kernel, in a guest of its own for each host, set as the table `linux` says. The hosts may differ.
    /// Default: the stack that the backend names, as `stack:NAME` does; otherwise the model.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// MTU of its interface in bytes. Default: 1500.
    #[serde(default = "default_mtu")]
    pub mtu: u32,
    /// Its address. Default: 10.0.2.1 for the server, 10.0.1.1 for the client.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub address: Option<IpAddr>,
    /// Its address on the path `alternate`. Default: 10.0.4.1 for the server, 10.0.3.1 for the client.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub alternate_address: Option<IpAddr>,
    /// Phase of the kernel's tick: the part of a tick that has passed when the run starts. Default: drawn for
    /// each run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tick_phase: Option<Duration>,
    /// A program that it runs, on the backends `uml` and `kernel`: `"curl -so /dev/null http://$REXMIT_SERVER:8000/file"`, or
    /// a table `{ command = "...", environment = { A = "b" }, file = "result.json" }`. The server's is started 5 s before
    /// the client's, with which the run starts; the run is over when the client's has ended and all transfers have. Then the
    /// server's gets SIGTERM. A host with a program may leave `stack` out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub program: Option<ProgramForm>,
    /// Settings of a real Linux kernel, for the backends `uml` and `kernel` and for hosts with the code `linux`; the model
    /// has no such knobs.
    #[serde(default, skip_serializing_if = "LinuxSpec::is_empty")]
    pub linux: LinuxSpec,
    /// Tables of settings of third-party stacks, by the names of these; [`Resolved`] refuses other keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub tables: BTreeMap<String, Value>,
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<IpAddr>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let wrong = |_| {
        let allowed = "allowed: such as \"10.0.2.1\" or \"fd00::1\"";
        serde::de::Error::custom(format!("{text:?} is no IP address; {allowed}"))
    };
    text.parse().map(Some).map_err(wrong)
}

fn default_mtu() -> u32 {
    1500
}

fn stack_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
    schemars::json_schema!({
        "description": "name of a profile, path of a TOML file, or a table that inherits and changes values",
        "anyOf": [
            { "type": "string" },
            { "type": "object", "properties": { "inherits": { "type": "string" } }, "additionalProperties": true }
        ]
    })
}

/// A scenario whose names have been looked up and whose values have been checked.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The scenario.
    pub scenario: Scenario,
    /// The hosts' transports, all of one protocol.
    pub stacks: ByHost<StackProfile>,
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
        refuse_lists(&value)?;
        let mut value = value;
        name_stacks(&mut value);
        name_kernels(&mut value)?;
        let mut scenario: Scenario = read(value)?;
        scenario.hosts.check_tables(registry)?;
        let stack = |(_, name, host): (HostId, &str, &HostSpec)| {
            resolve_profile(&host.stack).map_err(|e| e.within(&format!("hosts.{name}.stack")))
        };
        let stacks = scenario.hosts.iter().map(stack).collect::<Result<_, _>>()?;
        let mut transfers = Vec::new();
        for (i, spec) in scenario.transfers.iter().enumerate() {
            transfers
                .push(spec.resolve().map_err(|e| SpecError::new(format!("transfers.{i}"), e.to_string()))?);
        }
        check_protocols(&stacks)?;
        let codes = scenario.hosts.codes(registry, &stacks)?;
        let programs = scenario.hosts.programs()?;
        let resolved = Self { scenario, stacks, transfers, codes, programs };
        resolved.check()?;
        Ok(resolved)
    }

    fn check(&self) -> Result<(), SpecError> {
        let scenario = &self.scenario;
        self.check_programs()?;
        if scenario.transfers.is_empty() && !self.has_programs() {
            return Err(SpecError::new("transfers", "nothing is sent: give at least one transfer"));
        }
        if scenario.limit.is_zero() {
            return Err(SpecError::new("limit", "a run without time; allowed: above 0 s, such as \"1 h\""));
        }
        if self.is_tcp() {
            for (i, transfer) in scenario.transfers.iter().enumerate() {
                if let Some(key) = transfer.of_messages().next() {
                    let text = "TCP is a stream of bytes; of SCTP only, such as hosts.*.stack = \"rfc9260\"";
                    return Err(SpecError::new(format!("transfers.{i}.{key}"), text));
                }
            }
        }
        if scenario.sctp_threshold == Some(0) {
            return Err(SpecError::new("sctp_threshold", "no report is no reason; allowed: at least 1"));
        }
        let connections = self.connection_count() as u64;
        if connections > MAX_CONNECTIONS {
            let text = format!("{connections} connections: at most {MAX_CONNECTIONS} fit into one run");
            return Err(SpecError::new("transfers", text));
        }
        for (_, name, host) in scenario.hosts.iter() {
            if !(68..=65_535).contains(&host.mtu) {
                return Err(SpecError::new(
                    format!("hosts.{name}.mtu"),
                    "an MTU is between 68 and 65535 bytes",
                ));
            }
            host.linux.check(name)?;
        }
        let (server, client) = (self.address(SERVER), self.address(CLIENT));
        if server.is_ipv4() != client.is_ipv4() || server == client {
            return Err(SpecError::new("hosts", "the two addresses must differ and be of one family"));
        }
        let mtu = HOSTS.map(|host| scenario.hosts.of(host).mtu.into());
        check_path(&scenario.path, "path", Some(mtu))?;
        self.check_alternate(mtu)
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
        if self.is_tcp() {
            let text = "TCP has one path; of SCTP only, such as hosts.*.stack = \"rfc9260\"";
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

    /// The protocol that the hosts speak: `tcp` or `sctp`.
    pub fn protocol(&self) -> &'static str {
        self.stacks[SERVER].protocol()
    }

    /// The protocol is TCP.
    fn is_tcp(&self) -> bool {
        matches!(self.stacks[SERVER], StackProfile::Tcp(_))
    }

    /// Address of a host.
    pub fn address(&self, host: HostId) -> IpAddr {
        let default = two_hosts::choose(host, [10, 0, 2, 1], [10, 0, 1, 1]);
        self.scenario.hosts.of(host).address.unwrap_or(IpAddr::from(default))
    }

    /// Address of a host on the path `alternate`.
    pub fn alternate_address(&self, host: HostId) -> IpAddr {
        let default = two_hosts::choose(host, [10, 0, 4, 1], [10, 0, 3, 1]);
        self.scenario.hosts.of(host).alternate_address.unwrap_or(IpAddr::from(default))
    }

    /// What a run in virtual time cannot have of what the scenario says, by its keys: settings of real kernels, and what
    /// the hosts' code cannot have.
    ///
    /// # Errors
    /// Code that is not there on this machine, or that cannot run the scenario at all.
    pub fn unsupported_in_virtual_time(&self) -> Result<Vec<String>, SpecError> {
        self.refuse_programs()?;
        let sctp = !self.is_tcp();
        let of = |(id, name, host): (HostId, &'static str, &HostSpec)| {
            let keys: Vec<String> = if self.codes[id].about().is_linux {
                host.linux.of_another_protocol(sctp).collect()
            } else {
                let table = serde_json::to_value(&host.linux).unwrap_or_default();
                table.as_object().into_iter().flat_map(|t| t.keys().cloned()).collect()
            };
            keys.into_iter().map(move |key| format!("hosts.{name}.linux.{key}")).collect::<Vec<_>>()
        };
        let netem = |path: &PathSpec| path.emulator == Some(EmulatorKind::Netem);
        let paths = [("path", Some(&self.scenario.path)), ("alternate", self.scenario.alternate.as_ref())];
        let netems = paths.into_iter().filter(|(_, path)| path.is_some_and(netem));
        let hosts = self.scenario.hosts.iter().flat_map(of);
        let mut unsupported: Vec<String> =
            hosts.chain(netems.map(|(name, _)| format!("{name}.emulator"))).collect();
        unsupported.extend(self.limits_beyond_linux(|writes| self.codes[writes].about().is_linux));
        unsupported.extend(self.unsupported_by_code()?);
        Ok(unsupported)
    }

    /// Limits of messages that lksctp cannot have where it is Linux that writes: it takes one for a message (RFC 6458 section
    /// 5.3.7).
    fn limits_beyond_linux(&self, linux: impl Fn(HostId) -> bool) -> impl Iterator<Item = String> {
        self.scenario.transfers.iter().enumerate().filter_map(move |(i, transfer)| {
            let both = transfer.lifetime.is_some() && transfer.max_retransmits.is_some();
            (both && linux(self.transfers[i].from())).then(|| format!("transfers.{i}.max_retransmits"))
        })
    }

    /// Options of sockets that Linux has nothing for.
    fn sockets_beyond_linux(&self) -> impl Iterator<Item = String> {
        let wishes =
            self.transfers.iter().enumerate().filter_map(|(i, one)| one.wish().map(|wish| (i, wish)));
        wishes.flat_map(|(i, wish)| {
            wish.beyond_linux(!self.is_tcp()).into_iter().map(move |key| format!("transfers.{i}.{key}"))
        })
    }

    /// What a real kernel cannot have of what the scenario says, by their keys.
    pub fn unsupported_by_kernel(&self) -> Vec<String> {
        let sctp = !self.is_tcp();
        let of = |(id, name, host): (HostId, &'static str, &HostSpec)| {
            let mut unsupported = host.kernel_settings().unsupported;
            unsupported.extend(host.linux.of_another_protocol(sctp).map(|key| format!("linux.{key}")));
            let foreign = host.code.is_some() && !self.codes[id].about().is_linux;
            unsupported.extend(foreign.then(|| "code".to_string()));
            unsupported.into_iter().map(move |key| format!("hosts.{name}.{key}")).collect::<Vec<_>>()
        };
        let alternate = self.scenario.alternate.is_some().then(|| "alternate".to_string());
        let stacks = self.scenario.hosts.iter().flat_map(|(host, _, spec)| spec.settings_of_stacks(host));
        let hosts = self.scenario.hosts.iter().flat_map(of).chain(stacks.map(|setting| setting.to_string()));
        hosts
            .chain(self.limits_beyond_linux(|_| true))
            .chain(self.sockets_beyond_linux())
            .chain(self.sockets_of_programs())
            .chain(self.scenario.path.beyond_netem())
            .chain(alternate)
            .collect()
    }

    /// The scenario as JSON with every default written out and the profiles whole.
    pub fn to_value(&self) -> Value {
        let mut scenario = self.scenario.clone();
        scenario.path = scenario.path.with_defaults();
        scenario.alternate = scenario.alternate.map(|path| path.with_defaults());
        scenario.hosts.server.address = Some(self.address(SERVER));
        scenario.hosts.client.address = Some(self.address(CLIENT));
        let mut value = serde_json::to_value(&scenario).unwrap_or_default();
        for (host, profile) in self.stacks.iter() {
            value["hosts"][host_name(host)]["profile"] = profile.to_value();
        }
        value
    }

    /// What is not wrong but probably not meant.
    pub fn warnings(&self) -> Vec<String> {
        let alternate = self.scenario.alternate.iter().flat_map(|path| path.warnings("alternate"));
        self.scenario.path.warnings("path").into_iter().chain(alternate).collect()
    }
}

/// Refuses hosts that do not speak one protocol.
fn check_protocols(stacks: &ByHost<StackProfile>) -> Result<(), SpecError> {
    let [server, client] = [SERVER, CLIENT].map(|host| stacks[host].protocol());
    if server == client {
        return Ok(());
    }
    let text = format!("the server has {server}, the client {client}: give both stacks of one protocol");
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
fn check_path(path: &PathSpec, key: &str, mtu: Option<[u64; 2]>) -> Result<(), SpecError> {
    let failed = |e: PathError| SpecError::new("", e.to_string());
    path.check(key, mtu).map_err(failed)?;
    path.check_traces(key, &mut open_trace).map_err(failed)
}

/// Refuses lists where a scenario has tables.
fn refuse_lists(scenario: &Value) -> Result<(), SpecError> {
    let hosts = HOSTS.map(|host| ["hosts", host_name(host)]);
    let hosts = [&["hosts"][..]].into_iter().chain(hosts.iter().map(|keys| &keys[..]));
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

/// The JSON Schema of a TCP profile that inherits nothing.
pub fn profile_schema() -> Value {
    serde_json::to_value(schemars::schema_for!(rexmit_tcp::Profile)).unwrap_or_default()
}
