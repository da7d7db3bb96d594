//! The links of a network: what is written of each, and the network that hosts and links make.

use std::collections::BTreeMap;

use rexmit_network::tree::{self, Between, HostAt, Place};
use rexmit_network::{HostId, LinkId, Network};
use rexmit_path::{DirectionOverride, DirectionSpec, PathSpec};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::SpecError;
use crate::error::{read, refuse_list};
use crate::hosts::{Hosts, by_numbers};
use crate::scenario::check_path;

/// What results call hosts' own links.
pub(crate) const ACCESS: &str = "access";

/// A link between two points, and what it does to packets: all that `path` has. What stands here holds for both
/// directions, each of which counts its own packets and has its own random numbers; `from` overrides it.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct LinkForm {
    /// The two points that it joins.
    pub between: [String; 2],
    /// By the name of a point, what differs for packets that come from there: `from.left.drop = "18"`.
    #[serde(default)]
    pub from: BTreeMap<String, DirectionOverride>,
    /// Its settings.
    #[serde(flatten)]
    pub path: PathSpec,
}

/// A link between two points.
#[derive(Clone, Debug)]
pub struct NamedLink {
    /// Its name.
    pub name: String,
    /// The points that it joins.
    pub ends: [String; 2],
    /// What it does to packets: `down` from the first point to the second.
    pub path: PathSpec,
}

/// The links of a network.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Those between points, in the order of their names.
    pub between: Vec<NamedLink>,
}

impl Links {
    /// Reads what is written under `links`.
    ///
    /// # Errors
    /// The first key or value that does not fit.
    pub(crate) fn read(written: &BTreeMap<String, Value>) -> Result<Self, SpecError> {
        let mut between = Vec::with_capacity(written.len());
        for (name, value) in written {
            let others = written.keys().filter(|other| *other != name).map(String::as_str);
            between.push(read_link(name, value, others)?);
        }
        between.sort_by(|one: &NamedLink, other| by_numbers(&one.name, &other.name));
        Ok(Self { between })
    }

    /// The network of these hosts and links.
    ///
    /// # Errors
    /// What keeps them from being one.
    pub(crate) fn network(&self, hosts: &Hosts) -> Result<Network, SpecError> {
        let at = |(_, name, spec): (HostId, &str, &crate::HostSpec)| HostAt {
            name: name.to_owned(),
            at: spec.at.clone().unwrap_or_default(),
        };
        let hosts: Vec<HostAt> = hosts.iter().map(at).collect();
        let links: Vec<Between> = self
            .between
            .iter()
            .map(|link| Between { name: link.name.clone(), ends: link.ends.clone() })
            .collect();
        tree::network(&hosts, &links).map_err(|e| SpecError::new(e.key, e.message))
    }

    /// Checks what each link says.
    pub(crate) fn check(&self, hosts: &Hosts) -> Result<(), SpecError> {
        for link in &self.between {
            check_path(&link.path, &format!("links.{}", link.name), None).map_err(|e| link.by_ends(e))?;
        }
        for (_, name, spec) in hosts.written() {
            let Some(access) = &spec.access else { continue };
            check_path(access, &format!("hosts.{name}.access"), Some([spec.mtu.into(); 2]))?;
        }
        Ok(())
    }

    /// What a direction of a link does, and how its random streams are called.
    pub(crate) fn direction(&self, link: LinkId, hosts: &Hosts) -> (DirectionSpec, String, &'static str) {
        let of = |path: &PathSpec, down: bool| if down { path.down() } else { path.up() };
        let name = |down: bool| if down { "down" } else { "up" };
        match tree::place(link, self.between.len()) {
            Place::Between { number, back } => {
                let link = &self.between[number];
                (of(&link.path, !back), format!("links.{}.", link.name), name(!back))
            }
            Place::Access { host, to_host } => {
                let access = hosts.of(host).access.as_deref();
                let spec = access.map_or_else(DirectionSpec::default, |access| of(access, to_host));
                (spec, format!("hosts.{}.", hosts.name(host)), name(to_host))
            }
        }
    }

    /// All paths with their keys in a scenario, those of access links included.
    pub(crate) fn paths<'a>(&'a self, hosts: &'a Hosts) -> impl Iterator<Item = (String, &'a PathSpec)> {
        let links = self.between.iter().map(|link| (format!("links.{}", link.name), &link.path));
        let access = hosts
            .written()
            .filter_map(|(_, name, spec)| Some((format!("hosts.{name}.access"), spec.access.as_deref()?)));
        links.chain(access)
    }
}

impl NamedLink {
    /// The link as it is written, with every default.
    pub(crate) fn to_value(&self) -> Value {
        let mut value = serde_json::to_value(self.path.with_defaults()).unwrap_or_default();
        let Some(table) = value.as_object_mut() else { return value };
        let ways =
            ["down", "up"].map(|way| table.remove(way).filter(|own| own != &Value::Object(Map::new())));
        let from: Map<String, Value> =
            self.ends.iter().zip(ways).filter_map(|(end, own)| Some((end.clone(), own?))).collect();
        table.insert("between".to_owned(), self.ends.to_vec().into());
        if !from.is_empty() {
            table.insert("from".to_owned(), from.into());
        }
        value
    }

    /// An error whose key has the direction by the name of the point where it begins.
    fn by_ends(&self, error: SpecError) -> SpecError {
        let mut text = error.to_string();
        for (way, end) in ["down", "up"].into_iter().zip(&self.ends) {
            let key = format!("links.{}.{way}", self.name);
            text = text.replace(&key, &format!("links.{}.from.{end}", self.name));
        }
        // What a link has in their place.
        let text = text.replace(", down, up", ", between, from");
        SpecError { key: String::new(), message: text, ..error }
    }
}

/// Reads one link.
fn read_link<'a>(
    name: &str,
    value: &Value,
    others: impl Iterator<Item = &'a str>,
) -> Result<NamedLink, SpecError> {
    let key = |key: &str| format!("links.{name}{key}");
    if name == ACCESS {
        let text = "is what results call the hosts' own links; give the link another name";
        return Err(SpecError::new(key(""), text));
    }
    refuse_list(value, || key(""))?;
    let Some(table) = value.as_object() else {
        let text =
            "is not a table; allowed: such as { between = [\"left\", \"right\"], rate = \"50 Mbit/s\" }";
        return Err(SpecError::new(key(""), text));
    };
    let mut table: Map<String, Value> = table.clone();
    let Some(between) = table.remove("between").filter(|between| !between.is_null()) else {
        let mut text =
            "is missing: name the two points that the link joins, such as [\"left\", \"right\"]".to_owned();
        // The name may be a slip for that of another.
        let others: Vec<&str> = others.take(12).collect();
        if !others.is_empty() {
            text += &format!(" (other links: {})", others.join(", "));
        }
        return Err(SpecError::new(key(".between"), text));
    };
    let ends: [String; 2] = serde_json::from_value(between).map_err(|_| {
        SpecError::new(key(".between"), "names two points; allowed: such as [\"left\", \"right\"]")
    })?;
    let [one, other] = &ends;
    for way in ["down", "up"] {
        if table.contains_key(way) {
            let text = format!(
                "a link has its directions by the points where they begin: write from.{one} or from.{other}"
            );
            return Err(SpecError::new(key(&format!(".{way}")), text));
        }
    }
    match table.remove("from") {
        None | Some(Value::Null) => {}
        Some(Value::Object(from)) => {
            for (end, own) in from {
                let Some(place) = ends.iter().position(|known| *known == end) else {
                    let known: Vec<&str> = ends.iter().map(String::as_str).collect();
                    let text = rexmit_stack::unknown_name("point", &end, &known);
                    return Err(SpecError::new(key(&format!(".from.{end}")), text));
                };
                refuse_list(&own, || key(&format!(".from.{end}")))?;
                table.insert(["down", "up"][place].to_owned(), own);
            }
        }
        Some(_) => {
            let text = format!("is not a table; allowed: such as from.{one}.drop = \"18\"");
            return Err(SpecError::new(key(".from"), text));
        }
    }
    let mut link = NamedLink { name: name.to_owned(), ends, path: PathSpec::default() };
    link.path = read(Value::Object(table)).map_err(|e| link.by_ends(e.within(&key(""))))?;
    Ok(link)
}
