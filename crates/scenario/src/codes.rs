//! Whose protocol code each host runs, and what the registry of stacks adds to a scenario.

use std::any::Any;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use rexmit_network::{ByHost, HostId};
use rexmit_stack::{HostSettings, HostTable, Registry, StackFactory, unknown_name};
use serde_json::{Value, json};

use crate::host_spec::HostSpec;
use crate::hosts::Hosts;
use crate::profiles::StackProfile;
use crate::{Resolved, SpecError};

/// The keys of a host that no stack adds.
pub(crate) const HOST_KEYS: [&str; 11] = [
    "stack",
    "code",
    "mtu",
    "address",
    "alternate_address",
    "at",
    "access",
    "count",
    "tick_phase",
    "program",
    "linux",
];

impl Hosts {
    /// Refuses keys that neither a host nor a stack of this registry has, and impossible settings of stacks. What is
    /// null counts as absent.
    pub(crate) fn check_tables(&mut self, registry: Registry) -> Result<(), SpecError> {
        for (name, host) in self.written_mut() {
            host.tables.retain(|_, table| !table.is_null());
            for (key, table) in &host.tables {
                let place = format!("hosts.{name}.{key}");
                let Some(stack) = registry.with_settings(key) else {
                    let tables = registry.tables().map(|stack| stack.about().name);
                    let known: Vec<&str> = HOST_KEYS.into_iter().chain(tables).collect();
                    return Err(SpecError::new(place, unknown_name("key", key, &known)));
                };
                crate::error::refuse_list(table, || place.clone())?;
                stack.check_settings(table).map_err(|e| SpecError::from(e).within(&place))?;
            }
        }
        Ok(())
    }

    /// Whose code each host runs.
    pub(crate) fn codes(
        &self,
        registry: Registry,
        profiles: &ByHost<Arc<StackProfile>>,
    ) -> Result<ByHost<&'static dyn StackFactory>, SpecError> {
        let mut protocols = self.written().map(|(host, ..)| profiles[host].protocol());
        self.each(|name, spec| {
            let protocol = protocols.next().unwrap_or_default();
            registry.find(registry.chosen(spec.code.as_deref()), protocol).map_err(|error| {
                let key = if spec.code.is_some() { "code" } else { "stack" };
                SpecError::from(error).within(&format!("hosts.{name}.{key}"))
            })
        })
    }
}

impl HostSpec {
    /// What the tables of stacks set, for the host that is this one.
    pub(crate) fn settings_of_stacks(&self, host: &str) -> impl Iterator<Item = IdleSetting> {
        self.tables.iter().flat_map(move |(stack, table)| {
            let keys = table.as_object().into_iter().flat_map(|table| table.keys());
            keys.map(move |key| IdleSetting { host: host.to_owned(), stack: stack.clone(), key: key.clone() })
        })
    }
}

/// A setting of a stack at a host that does not run its code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleSetting {
    /// The host's name.
    pub host: String,
    /// The stack's name.
    pub stack: String,
    /// The key in its table.
    pub key: String,
}

impl fmt::Display for IdleSetting {
    /// Its key in a scenario.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hosts.{}.{}.{}", self.host, self.stack, self.key)
    }
}

impl HostTable for HostSpec {
    fn to_value(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    fn unknown_to_linux(&self) -> Vec<String> {
        self.kernel_settings().unsupported
    }

    fn tick_phase_ns(&self) -> Option<u64> {
        self.tick_phase.map(rexmit_units::Duration::as_nanos)
    }
}

impl Resolved {
    /// What the scenario says of `host`, for the code that it runs.
    pub fn host_settings(&self, host: HostId) -> HostSettings<'_> {
        let (spec, profile) = (self.scenario.hosts.of(host), &self.stacks[host]);
        let profile_of_its_crate: &dyn Any = match &**profile {
            StackProfile::Tcp(profile) => profile,
            StackProfile::Sctp(profile) => profile,
            StackProfile::Quic(profile) => profile,
        };
        HostSettings {
            name: self.scenario.hosts.name(host),
            stack: &spec.stack,
            settings: spec.tables.get(self.codes[host].about().name),
            table: spec,
            profile: profile_of_its_crate,
            protocol: profile.protocol(),
            mtu: spec.mtu,
            address: self.address(host),
            peer: self.only_peer(host),
            alternate_address: self.scenario.alternate.as_ref().map(|_| self.alternate_address(host)),
            qlog: false,
        }
    }

    /// True where a host runs the code of Linux.
    pub fn runs_linux(&self) -> bool {
        self.codes.values().any(|code| code.about().is_linux)
    }

    /// Settings of stacks whose code their host does not run.
    pub fn idle_settings(&self) -> impl Iterator<Item = IdleSetting> {
        let hosts = self.scenario.hosts.written();
        hosts.flat_map(|(host, name, spec)| {
            let own = self.codes[host].about().name;
            spec.settings_of_stacks(name).filter(move |setting| setting.stack != own)
        })
    }

    /// What of the scenario the hosts' code does not support, by its keys.
    ///
    /// # Errors
    /// Code that is not there on this machine, or that cannot run the scenario at all.
    pub(crate) fn unsupported_by_code(&self) -> Result<Vec<String>, SpecError> {
        let mut unsupported = Vec::new();
        for (host, ..) in self.scenario.hosts.written() {
            let code = self.codes[host];
            if let Some(missing) = code.missing() {
                return Err(SpecError::new("", format!("stack {}: {missing}", code.about().name)));
            }
            unsupported.extend(code.check_host(&self.host_settings(host))?);
            for (i, transfer) in self.transfers.iter().enumerate() {
                let Some(wish) = transfer.wish() else { continue };
                let transfer = format!("transfers.{i}");
                let keys = code
                    .check_sockets(&self.host_settings(host), wish)
                    .map_err(|error| SpecError::from(error).within(&transfer))?;
                unsupported.extend(keys.into_iter().map(|key| format!("{transfer}.{key}")));
            }
        }
        // Both hosts may say so of one transfer.
        let mut seen = HashSet::new();
        unsupported.retain(|key| seen.insert(key.clone()));
        Ok(unsupported)
    }
}

/// Adds to the schema of a scenario what the stacks of a registry add: the choices of `code`, and their tables.
pub(crate) fn add_to_schema(schema: &mut Value, registry: Registry) {
    let names: Vec<&str> = registry.names().collect();
    let code = &mut schema["$defs"]["HostSpec"]["properties"]["code"];
    code["enum"] = json!(names);
    code["type"] = json!("string");
    for stack in registry.tables() {
        let about = stack.about();
        let Some(settings) = about.settings else { continue };
        let mut table = settings();
        let title = table["title"].as_str().unwrap_or(about.name).to_string();
        let Some(entries) = table.as_object_mut() else { continue };
        entries.remove("$schema");
        entries.remove("title");
        // What its types share with those of a scenario is there already, and the same.
        for (name, definition) in
            entries.remove("$defs").as_ref().and_then(Value::as_object).into_iter().flatten()
        {
            schema["$defs"][name] = definition.clone();
        }
        schema["$defs"][&title] = table;
        schema["$defs"]["HostSpec"]["properties"][about.name] = json!({
            "description": format!(
                "Settings of the stack `{0}`, {1}, where the host runs its code. Single values that `stack` changes in a \
                 profile count there too, where `{0}` has a setting for them.",
                about.name, about.summary,
            ),
            "anyOf": [{ "$ref": format!("#/$defs/{title}") }, { "type": "null" }],
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_has_the_keys_that_its_errors_name() {
        let schema = serde_json::to_value(schemars::schema_for!(HostSpec)).unwrap();
        let mut keys: Vec<&str> =
            schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known = HOST_KEYS.to_vec();
        keys.sort_unstable();
        known.sort_unstable();
        assert_eq!(keys, known);
        assert_eq!(schema["additionalProperties"], false);
    }

    fn refused(host: Value) -> String {
        let scenario = json!({
            "hosts": { "server": host, "client": { "stack": "rfc9260" } },
            "transfers": [{ "from": "server", "to": "client", "writes": "10 bytes" }],
        });
        Resolved::from_value(scenario).unwrap_err().to_string()
    }

    #[test]
    fn an_unknown_key_is_told_the_nearest_of_all() {
        assert_eq!(
            refused(json!({ "stack": "rfc9260", "stcak": 1 })),
            format!(
                "hosts.server.stcak: unknown key `stcak`: did you mean `stack`?; known here: {}",
                HOST_KEYS
                    .into_iter()
                    .chain(rexmit_stacks::registry().tables().map(|stack| stack.about().name))
                    .collect::<Vec<_>>()
                    .join(", ")
            )
        );
        for stack in rexmit_stacks::registry().tables() {
            let name = stack.about().name;
            let near = format!("{name}x");
            assert!(
                refused(json!({ "stack": "rfc9260", near: {} })).contains(&format!("did you mean `{name}`?"))
            );
            let wrong = refused(json!({ "stack": "rfc9260", name: { "no_such": 1 } }));
            assert!(
                wrong.starts_with(&format!("hosts.server.{name}.no_such: unknown key `no_such`")),
                "{wrong}"
            );
            assert!(refused(json!({ "stack": "rfc9260", name: [] })).contains("a list does not fit here"));
        }
    }

    #[test]
    fn an_unknown_code_is_told_the_nearest() {
        let told = refused(json!({ "stack": "rfc9260", "code": "modle" }));
        assert!(told.starts_with("hosts.server.code: unknown code `modle`: did you mean `model`?"), "{told}");
    }

    #[test]
    fn the_schema_has_every_stack_s_table() {
        let schema = crate::schema();
        let host = &schema["$defs"]["HostSpec"];
        for stack in rexmit_stacks::STACKS {
            let about = stack.about();
            assert!(host["properties"]["code"]["enum"].as_array().unwrap().contains(&json!(about.name)));
            let Some(settings) = about.settings else { continue };
            let reference = host["properties"][about.name]["anyOf"][0]["$ref"].as_str().unwrap();
            let table = &schema["$defs"][reference.trim_start_matches("#/$defs/")];
            assert_eq!(table["properties"], settings()["properties"], "{}", about.name);
        }
    }
}
