//! The hosts of a scenario by their names: a server and a client, or those of a network.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::BTreeMap;

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
    /// Places among those that are written, in the order of their names.
    by_name: Vec<usize>,
}

/// A host as it is written, perhaps for many.
#[derive(Clone, Debug)]
struct Written {
    name: String,
    spec: HostSpec,
    /// The numbers of its hosts.
    hosts: Vec<HostId>,
}

impl Written {
    fn cmp_names(&self, name: &str) -> Ordering {
        self.name.as_str().cmp(name)
    }
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
        given.sort_by(|(one, _), (other, _)| {
            place_of_two(one).cmp(&place_of_two(other)).then_with(|| by_numbers(one, other))
        });
        let (mut written, mut all) = (Vec::with_capacity(given.len()), ByHost::new());
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
            written.push(Written { name, spec, hosts });
        }
        let mut by_name: Vec<usize> = (0..written.len()).collect();
        by_name.sort_by(|one, other| Written::cmp_names(&written[*one], &written[*other].name));
        Self { written, all, by_name }
    }

    /// One of them.
    ///
    /// # Panics
    /// For a host that is not one of them.
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
        if let Some(written) = self.find(name) {
            return Some(written.hosts.clone());
        }
        let (group, number) = name.rsplit_once('-')?;
        let group = self.find(group)?;
        group.spec.count?;
        let place = number.parse::<usize>().ok()?.checked_sub(1)?;
        let host = *group.hosts.get(place)?;
        (*self.name(host) == name).then(|| vec![host])
    }

    fn find(&self, name: &str) -> Option<&Written> {
        let place = self.by_name.binary_search_by(|place| self.written[*place].cmp_names(name)).ok()?;
        Some(&self.written[self.by_name[place]])
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
                let text =
                    "is missing: name the point that the host is at, one that a link joins, such as \"left\"";
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

/// Orders names so that numbers in them count as such: `reader-9` before `reader-10`.
pub(crate) fn by_numbers(one: &str, other: &str) -> Ordering {
    let (mut a, mut b) = (one.as_bytes(), other.as_bytes());
    while let (Some(first), Some(second)) = (a.first(), b.first()) {
        let order = if first.is_ascii_digit() && second.is_ascii_digit() {
            let (x, y) = (take_number(&mut a), take_number(&mut b));
            x.len().cmp(&y.len()).then_with(|| x.cmp(y))
        } else {
            let order = first.cmp(second);
            (a, b) = (&a[1..], &b[1..]);
            order
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    // Where only zeros before a number differ, the names still do.
    a.len().cmp(&b.len()).then_with(|| one.cmp(other))
}

/// The digits at the head, without the zeros before them.
fn take_number<'a>(text: &mut &'a [u8]) -> &'a [u8] {
    let len = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, rest) = text.split_at(len);
    *text = rest;
    let zeros = digits.iter().take_while(|byte| **byte == b'0').count();
    &digits[zeros..]
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
                host_name(SERVER): host("The host that `down` leads from."),
                host_name(CLIENT): host("The host that `down` leads to."),
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
    fn numbers_count_wherever_they_are() {
        let mut names = ["b2a", "b10a", "b2", "b02", "b", "a10", "a9"];
        names.sort_by(|one, other| by_numbers(one, other));
        assert_eq!(names, ["a9", "a10", "b", "b02", "b2", "b2a", "b10a"]);
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
