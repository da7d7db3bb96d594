//! One host as people write it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use rexmit_path::PathSpec;
use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::linux::LinuxSpec;
use crate::programs::ProgramForm;

/// One host.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[schemars(deny_unknown_fields)]
pub struct HostSpec {
    /// Its TCP or SCTP: the name of a profile (`"freebsd-6.0"`, `"lksctp-2.6.15"`), a file (`"./mine.toml"`), or a table
    /// that inherits and changes single values (`{ inherits = "freebsd-6.0", recovery.dupack_threshold = 2 }`). Both
    /// hosts have the same protocol. `"linux:6.12"` is the kernel itself: the profile `linux-6.1`, the code `linux`, and
    /// `linux.version` 6.12; `"linux:"` the kernel of `--kernel`. `{ program = "./mine --fast" }` is a program of yours, in
    /// virtual time: the code `program`.
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
    /// Its address. Default: 10.0.2.1 for the server, 10.0.1.1 for the client; in a network 10.1.0.1 and so on.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub address: Option<IpAddr>,
    /// Its address on the path `alternate`. Default: 10.0.4.1 for the server, 10.0.3.1 for the client.
    #[serde(default, deserialize_with = "address", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub alternate_address: Option<IpAddr>,
    /// The point of a network that it attaches to, by its access link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Its access link, with all that `path` has: `up` from the host to its point, `down` from there to the host. Absent: one
    /// without a limit of its rate and without delay.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub access: Option<Box<PathSpec>>,
    /// This many hosts alike, each with an access link of its own, in a network: for `reader` these are `reader-1`,
    /// `reader-2` and so on, and `reader` stands for all of them in transfers. Absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub count: Option<u32>,
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
    /// Tables of settings of third-party stacks, by the names of these; [`crate::Resolved`] refuses other keys.
    #[serde(flatten)]
    #[schemars(skip)]
    pub tables: BTreeMap<String, Value>,
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<IpAddr>, D::Error> {
    let Some(text) = Option::<String>::deserialize(from)? else { return Ok(None) };
    let wrong = |_| {
        let allowed = "allowed: such as \"10.0.2.1\" or \"fd00::1\"";
        serde::de::Error::custom(format!("{text:?} is not an IP address; {allowed}"))
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
