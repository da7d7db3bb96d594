//! The hosts of a scenario by their names: a server and a client, or those of a network.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};

use rexmit_network::two_hosts::{CLIENT, HOSTS, SERVER, host_name};
use rexmit_network::{ByHost, HostId, Name, tree};
use rexmit_stack::unknown_name;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::SpecError;
use crate::host_spec::HostSpec;

/// The hosts: as they are written, and one by one.
#[derive(Clone, Debug)]
pub struct Hosts {
    written: Vec<Written>,
    all: ByHost<Member>,
    /// Places among those that are written, by their names.
    places: HashMap<String, usize>,
}

/// A host as it is written, perhaps for many.
#[derive(Clone, Debug)]
struct Written {
    name: String,
    spec: HostSpec,
    /// The numbers of its hosts.
    hosts: Vec<HostId>,
}

/// A host of a scenario.
#[derive(Clone, Debug)]
struct Member {
    name: Name,
    /// Its place among those that are written.
    written: usize,
}

impl Hosts {
    fn new(given: BTreeMap<String, HostSpec>) -> Self {
        let mut given: Vec<_> = given.into_iter().collect();
        given.sort_by_cached_key(|(name, _)| (place_of_two(name), in_parts(name)));
        let (mut written, mut all, mut places) =
            (Vec::with_capacity(given.len()), ByHost::new(), HashMap::new());
        for (place, (name, spec)) in given.into_iter().enumerate() {
            let hosts = match spec.count {
                None => {
                    let fixed = HOSTS.into_iter().map(host_name).find(|fixed| *fixed == name);
                    let name = fixed.map_or_else(|| Name::Owned(name.clone()), Name::Borrowed);
                    vec![all.push(Member { name, written: place })]
                }
                Some(count) => {
                    let numbers = (1..=count).take(tree::MOST_HOSTS + 1);
                    let names = numbers.map(|number| Cow::Owned(format!("{name}-{number}")));
                    names.map(|name| all.push(Member { name, written: place })).collect()
                }
            };
            places.insert(name.clone(), place);
            written.push(Written { name, spec, hosts });
        }
        Self { written, all, places }
    }

    /// One of them.
    ///
    /// # Panics
    /// Of a host that is none of them.
    pub fn of(&self, host: HostId) -> &HostSpec {
        &self.written[self.all[host].written].spec
    }

    /// The name of one of them.
    ///
    /// # Panics
    /// As [`Self::of`].
    pub fn name(&self, host: HostId) -> &Name {
        &self.all[host].name
    }

    /// All of them, with their numbers and names: those of a group one by one.
    pub fn iter(&self) -> impl Iterator<Item = (HostId, &str, &HostSpec)> {
        self.all.iter().map(|(id, member)| (id, &*member.name, &self.written[member.written].spec))
    }

    /// As they are written: a group once, with its first host.
    pub fn written(&self) -> impl Iterator<Item = (HostId, &str, &HostSpec)> {
        self.written
            .iter()
            .filter_map(|Written { name, spec, hosts }| Some((*hosts.first()?, name.as_str(), spec)))
    }

    /// The same, to change them.
    pub(crate) fn written_mut(&mut self) -> impl Iterator<Item = (&str, &mut HostSpec)> {
        self.written.iter_mut().map(|written| (written.name.as_str(), &mut written.spec))
    }

    /// What `make` makes of each that is written, for each host.
    ///
    /// # Errors
    /// The first of `make`.
    pub(crate) fn each<T: Clone>(
        &self,
        mut make: impl FnMut(&str, &HostSpec) -> Result<T, SpecError>,
    ) -> Result<ByHost<T>, SpecError> {
        let made = self.written.iter().map(|written| make(&written.name, &written.spec));
        let made = made.collect::<Result<Vec<_>, _>>()?;
        Ok(self.all.values().map(|member| made[member.written].clone()).collect())
    }

    /// The hosts that a name stands for: one, or those of a group.
    pub fn named(&self, name: &str) -> Option<Vec<HostId>> {
        if let Some(place) = self.places.get(name) {
            return Some(self.written[*place].hosts.clone());
        }
        let (group, number) = name.rsplit_once('-')?;
        let group = &self.written[*self.places.get(group)?];
        group.spec.count?;
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        let host = *group.hosts.get(place)?;
        (*self.name(host) == name).then(|| vec![host])
    }

    /// The names that [`Self::named`] knows, those of single hosts of a group left out.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.written.iter().map(|written| written.name.as_str())
    }

    /// True where one of them has what hosts of a network have.
    pub(crate) fn hang_on_points(&self) -> bool {
        let hangs = |host: &HostSpec| host.at.is_some() || host.access.is_some() || host.count.is_some();
        self.written.iter().any(|written| hangs(&written.spec))
    }

    /// Refuses others than the server and the client.
    pub(crate) fn check_two(&self) -> Result<(), SpecError> {
        let two = HOSTS.map(host_name);
        if let Some(name) = self.names().find(|name| !two.contains(name)) {
            let text = format!(
                "{}; other hosts are those of a network, which has `links`, and where each host has `at`",
                unknown_name("key", name, &two)
            );
            return Err(SpecError::new(format!("hosts.{name}"), text));
        }
        match two.into_iter().find(|name| self.named(name).is_none()) {
            Some(missing) => Err(SpecError::new("hosts", format!("`{missing}` is missing"))),
            None => Ok(()),
        }
    }

    /// Refuses groups of none, and hosts at no point.
    pub(crate) fn check_network(&self) -> Result<(), SpecError> {
        for Written { name, spec, .. } in &self.written {
            let key = |key: &str| format!("hosts.{name}.{key}");
            if spec.count == Some(0) {
                return Err(SpecError::new(key("count"), "no host; allowed: at least 1"));
            }
            if spec.count.is_some() && spec.address.is_some() {
                let text = "hosts of a group have an address each: leave it out";
                return Err(SpecError::new(key("address"), text));
            }
            if spec.alternate_address.is_some() {
                let text = "a host of a network has one address: leave it out";
                return Err(SpecError::new(key("alternate_address"), text));
            }
            if spec.at.is_none() {
                let text = "is missing: name the point that the host hangs on, one that a link joins, such as \"left\"";
                return Err(SpecError::new(key("at"), text));
            }
        }
        Ok(())
    }
}

/// The server first, then the client, then others.
fn place_of_two(name: &str) -> usize {
    HOSTS.into_iter().position(|host| host_name(host) == name).unwrap_or(HOSTS.len())
}

/// A name in parts, so that those which are numbers are ordered as such: `reader-9` before `reader-10`.
pub(crate) fn in_parts(name: &str) -> Vec<(Option<u64>, String)> {
    let parts = name.split_inclusive(|c: char| !c.is_ascii_digit());
    parts.map(|part| (part.parse().ok(), part.to_owned())).collect()
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.written.iter().map(|written| (&written.name, &written.spec)))
    }
}

impl<'de> Deserialize<'de> for Hosts {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(from).map(Self::new)
    }
}

impl JsonSchema for Hosts {
    fn schema_name() -> Cow<'static, str> {
        "Hosts".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut host = |about: &str| {
            let mut host = generator.subschema_for::<HostSpec>();
            host.insert("description".to_owned(), about.into());
            host
        };
        json_schema!({
            "type": "object",
            "description": "The hosts by their names: `server` and `client`, or those of a network, each `at` a point.",
            "properties": {
                host_name(SERVER): host("The host at the upper end of `down`."),
                host_name(CLIENT): host("The host at its lower end."),
            },
            "additionalProperties": host("A host of a network, whose name this is."),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn hosts(names: serde_json::Value) -> Hosts {
        serde_json::from_value(names).unwrap()
    }

    #[test]
    fn numbers_in_names_order_hosts_and_the_two_come_first() {
        let host = || json!({ "stack": "rfc" });
        let of =
            hosts(json!({ "b-10": host(), "client": host(), "b-9": host(), "a": host(), "server": host() }));
        let names: Vec<_> = of.iter().map(|(_, name, _)| name).collect();
        assert_eq!(names, ["server", "client", "a", "b-9", "b-10"]);
    }

    #[test]
    fn a_group_has_a_host_for_each_number_and_each_can_be_named() {
        let of = hosts(json!({ "reader": { "stack": "rfc", "count": 12 }, "sink": { "stack": "rfc" } }));
        let ids = |name: &str| of.named(name).map(|all| all.iter().map(|id| id.number()).collect::<Vec<_>>());
        assert_eq!(ids("reader"), Some((0..12).collect()));
        assert_eq!(ids("reader-12"), Some(vec![11]));
        assert_eq!(ids("sink"), Some(vec![12]));
        for unknown in ["reader-0", "reader-13", "reader-012", "sink-1", "raeder"] {
            assert_eq!(ids(unknown), None, "{unknown}");
        }
        assert_eq!(of.name(HostId::new(9)), "reader-10");
    }
}
