//! Hosts that hang on points, and links that join these: a tree, so that each packet has one way.
//!
//! A link between two points is two [`LinkId`]s, the first from the point that is named first. After them come the
//! hosts' access links: from a host to its point, and from there to the host.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;

use crate::network::{Name, Node};
use crate::{ByHost, HostId, Id, Link, LinkId, Network, PointId};

/// The most points: what is kept for each pair of them takes memory.
pub const MOST_POINTS: usize = 2000;
/// The most hosts: each has an address of its own in 10.1.0.0/16.
pub const MOST_HOSTS: usize = 60_000;

/// A host as it is written: its name, and the point that it attaches to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostAt {
    /// Its name.
    pub name: String,
    /// The name of its point.
    pub at: String,
}

/// A link as it is written: its name, and the two points that it joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Between {
    /// Its name.
    pub name: String,
    /// The names of its points.
    pub ends: [String; 2],
}

/// Why hosts and links are not a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeError {
    /// The setting: `hosts.near.at`, `links.middle.between`.
    pub key: String,
    /// What is wrong and what to write.
    pub message: String,
}

impl TreeError {
    fn new(key: impl Into<String>, message: impl Into<String>) -> Self {
        Self { key: key.into(), message: message.into() }
    }
}

/// Which direction of which link a [`LinkId`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// The link with this number among those between points, from the point named first, or back.
    Between {
        /// From 0.
        number: usize,
        /// From the second point to the first.
        back: bool,
    },
    /// The access link of a host.
    Access {
        /// Whose.
        host: HostId,
        /// From the point to the host.
        to_host: bool,
    },
}

/// Which direction of which link this is, in a network with this many links between points.
pub fn place(link: LinkId, links: usize) -> Place {
    let (number, odd) = (link.index() / 2, link.index() % 2 == 1);
    match number.checked_sub(links) {
        None => Place::Between { number, back: odd },
        Some(host) => Place::Access { host: HostId::from_index(host), to_host: odd },
    }
}

/// Which link a packet takes at a point.
#[derive(Clone, Debug, Default)]
pub(crate) struct Forwarding {
    /// The point of each host, and the link from there to the host.
    hosts: ByHost<(PointId, LinkId)>,
    /// By point and destination point, row by row, the link to the next point.
    next: Vec<LinkId>,
    points: usize,
}

impl Forwarding {
    #[inline]
    pub fn next(&self, at: PointId, to: HostId) -> LinkId {
        let (point, link) = self.hosts[to];
        if point == at { link } else { self.next[at.index() * self.points + point.index()] }
    }

    pub fn points(&self) -> usize {
        self.points
    }
}

/// The network of these hosts and links, in their order.
///
/// # Errors
/// A host at no point of a link, a link that leads nowhere, links that form a loop or leave parts apart, a name that is
/// there twice, too many of something.
pub fn network(hosts: &[HostAt], links: &[Between]) -> Result<Network, TreeError> {
    check_names(hosts, links)?;
    let points = Points::of(hosts, links)?;
    points.check_tree(hosts)?;
    let mut all = Vec::with_capacity(2 * (links.len() + hosts.len()));
    let mut names = Vec::with_capacity(all.capacity());
    for link in links {
        let [one, other] = link.ends.each_ref().map(|end| points.id(end));
        for (from, to, ends) in [(one, other, [0, 1]), (other, one, [1, 0])] {
            all.push(Link { from: Node::Point(from), to: Node::Point(to) });
            names.push(format!("{}/{}-{}", link.name, link.ends[ends[0]], link.ends[ends[1]]));
        }
    }
    let mut routes = ByHost::with_capacity(hosts.len());
    let mut at = ByHost::with_capacity(hosts.len());
    for host in hosts {
        let point = points.id(&host.at);
        let up = LinkId::from_index(all.len());
        let id = routes.push(up);
        at.push((point, LinkId::from_index(all.len() + 1)));
        all.push(Link { from: Node::Host(id), to: Node::Point(point) });
        all.push(Link { from: Node::Point(point), to: Node::Host(id) });
        names.extend(["up", "down"].map(|way| format!("{}/{way}", host.name)));
    }
    let forwarding = Forwarding { hosts: at, next: points.next(), points: points.names.len() };
    Ok(Network {
        links: all.into_iter().collect(),
        routes,
        others: Vec::new(),
        forwarding,
        host_names: hosts.iter().map(|host| Name::Owned(host.name.clone())).collect(),
        link_names: names.into_iter().map(Name::Owned).collect(),
    })
}

fn check_names(hosts: &[HostAt], links: &[Between]) -> Result<(), TreeError> {
    if hosts.len() > MOST_HOSTS {
        let text = format!("{} hosts: at most {MOST_HOSTS} fit into one network", hosts.len());
        return Err(TreeError::new("hosts", text));
    }
    let mut known: HashMap<&str, &'static str> = HashMap::with_capacity(hosts.len());
    for (key, name) in
        hosts.iter().map(|host| ("hosts", &host.name)).chain(links.iter().map(|link| ("links", &link.name)))
    {
        let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
        if name.is_empty() || !name.chars().all(fits) {
            let text = "a name has only letters, digits, - and _, such as left or reader-1";
            return Err(TreeError::new(format!("{key}.{name}"), text));
        }
        if let Some(other) = known.insert(name, key) {
            let text = format!(
                "the name appears twice, in {other} as well (count = N makes {name}-1 to {name}-N of a host): give one \
                 of them another"
            );
            return Err(TreeError::new(format!("{key}.{name}"), text));
        }
    }
    Ok(())
}

/// The points, and which links join which.
struct Points<'a> {
    names: Vec<&'a str>,
    ids: HashMap<&'a str, PointId>,
    /// By point, the links to others.
    joined: Vec<Vec<(PointId, LinkId)>>,
    links: &'a [Between],
}

impl<'a> Points<'a> {
    fn of(hosts: &'a [HostAt], links: &'a [Between]) -> Result<Self, TreeError> {
        let mut points = Self { names: Vec::new(), ids: HashMap::new(), joined: Vec::new(), links };
        for (number, link) in links.iter().enumerate() {
            let key = || format!("links.{}.between", link.name);
            if link.ends[0] == link.ends[1] {
                let text = format!("it leads from {:?} to itself: name two points", link.ends[0]);
                return Err(TreeError::new(key(), text));
            }
            if let Some(host) = hosts.iter().find(|host| link.ends.contains(&host.name)) {
                let text = format!(
                    "{:?} is a host: a link joins points, and a host attaches to one, as with hosts.{}.at = \"left\"",
                    host.name, host.name
                );
                return Err(TreeError::new(key(), text));
            }
            let [one, other] = link.ends.each_ref().map(|end| points.add(end));
            points.joined[one.index()].push((other, LinkId::from_index(2 * number)));
            points.joined[other.index()].push((one, LinkId::from_index(2 * number + 1)));
        }
        let joined = points.names.len();
        for host in hosts {
            points.add(&host.at);
        }
        // Where there is no link, all hosts are at one point.
        let allowed = if links.is_empty() { 1 } else { joined };
        if let Some(alone) = points.names.get(allowed) {
            let host = hosts.iter().find(|host| host.at == *alone).map_or("", |host| host.name.as_str());
            let known: Vec<String> =
                points.names[..allowed].iter().take(20).map(|name| format!("{name:?}")).collect();
            let text = format!(
                "no link leads to the point {alone:?}; points that links join: {}; or write a link, such as \
                 links.more.between = [{}, {alone:?}]",
                known.join(", "),
                known[0]
            );
            return Err(TreeError::new(format!("hosts.{host}.at"), text));
        }
        if points.names.len() > MOST_POINTS {
            let text = format!("{} points: at most {MOST_POINTS} fit into one network", points.names.len());
            return Err(TreeError::new("links", text));
        }
        Ok(points)
    }

    fn add(&mut self, name: &'a str) -> PointId {
        *self.ids.entry(name).or_insert_with(|| {
            self.names.push(name);
            self.joined.push(Vec::new());
            PointId::from_index(self.names.len() - 1)
        })
    }

    fn id(&self, name: &str) -> PointId {
        self.ids[name]
    }

    /// Refuses what is not a tree, and ends of it where nobody is.
    fn check_tree(&self, hosts: &[HostAt]) -> Result<(), TreeError> {
        let mut came: BTreeMap<PointId, Option<(PointId, LinkId)>> = BTreeMap::new();
        let Some(first) = hosts.first().map(|host| self.id(&host.at)) else {
            return Err(TreeError::new("hosts", "there is none: give at least two"));
        };
        came.insert(first, None);
        let mut open = VecDeque::from([first]);
        while let Some(at) = open.pop_front() {
            for (to, link) in &self.joined[at.index()] {
                let back = came[&at].is_some_and(|(_, by)| by.index() / 2 == link.index() / 2);
                if back {
                    continue;
                }
                if came.contains_key(to) {
                    return Err(self.circle(&came, at, *to, *link));
                }
                came.insert(*to, Some((at, *link)));
                open.push_back(*to);
            }
        }
        if let Some(apart) = (0..self.names.len()).find(|n| !came.contains_key(&PointId::from_index(*n))) {
            let name = self.names[apart];
            let link = self.links.iter().find(|link| link.ends.iter().any(|end| end == name));
            let text = format!(
                "nothing joins {name:?} with {:?}, where the host {} is: write a link between the two parts",
                self.names[first.index()],
                hosts[0].name
            );
            return Err(TreeError::new(
                format!("links.{}.between", link.map_or("", |link| link.name.as_str())),
                text,
            ));
        }
        let mut used = vec![false; self.names.len()];
        hosts.iter().for_each(|host| used[self.id(&host.at).index()] = true);
        let dead = (0..self.names.len()).find(|n| self.joined[*n].len() == 1 && !used[*n]);
        if let Some(dead) = dead {
            let link = &self.links[self.joined[dead][0].1.index() / 2];
            let text = format!(
                "it leads nowhere: no host and no other link is at {:?}; hang a host on it (hosts.NAME.at = {:?}), or \
                 name another point",
                self.names[dead], self.names[dead]
            );
            return Err(TreeError::new(format!("links.{}.between", link.name), text));
        }
        Ok(())
    }

    /// The circle that `link` closes, which leads from `at` to a point where one has been before.
    fn circle(
        &self,
        came: &BTreeMap<PointId, Option<(PointId, LinkId)>>,
        at: PointId,
        to: PointId,
        link: LinkId,
    ) -> TreeError {
        let way = |mut point: PointId| {
            let mut way = vec![(point, None)];
            while let Some((before, by)) = came[&point] {
                way.push((before, Some(by)));
                point = before;
            }
            way
        };
        let (one, other) = (way(at), way(to));
        let meet = one.iter().find(|(point, _)| other.iter().any(|(p, _)| p == point)).map_or(at, |m| m.0);
        let until = |way: &[(PointId, Option<LinkId>)]| {
            let len = way.iter().position(|(point, _)| *point == meet).unwrap_or(0);
            way[..=len].to_vec()
        };
        let (one, other) = (until(&one), until(&other));
        let mut points = String::new();
        for (point, _) in one.iter().rev().chain(&other) {
            let _ = write!(points, "{} - ", self.names[point.index()]);
        }
        let points = points.trim_end_matches(" - ");
        let name = |link: &LinkId| self.links[link.index() / 2].name.clone();
        let mut all: Vec<String> =
            one.iter().chain(&other).filter_map(|(_, by)| by.as_ref()).map(name).collect();
        all.push(name(&link));
        all.sort();
        let text = format!(
            "the links {} form a loop ({points}): leave one of them out, since packets have one way through a network",
            all.join(", ")
        );
        TreeError::new(format!("links.{}", name(&link)), text)
    }

    /// By point and destination, the link to take; of a point to itself, some link.
    fn next(&self) -> Vec<LinkId> {
        let count = self.names.len();
        let mut next = vec![LinkId::default(); count * count];
        for destination in 0..count {
            let mut open = VecDeque::from([PointId::from_index(destination)]);
            let mut seen = vec![false; count];
            seen[destination] = true;
            while let Some(at) = open.pop_front() {
                for (from, link) in &self.joined[at.index()] {
                    if !std::mem::replace(&mut seen[from.index()], true) {
                        // The link leads from `at` to `from`; packets take it the other way.
                        next[from.index() * count + destination] = LinkId::from_index(link.index() ^ 1);
                        open.push_back(*from);
                    }
                }
            }
        }
        next
    }
}
