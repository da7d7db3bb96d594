//! What results say of a link: its name, its ends, its rate.

use rexmit_network::tree::{self, Place};
use rexmit_network::{ByLink, LinkId, Network, two_hosts};
use rexmit_path::{Carried, Direction, DirectionSpec, Unreached};

use crate::Resolved;
use crate::links::ACCESS;

/// One direction of a link, for tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AboutLink {
    /// Its name, where it begins, where it ends.
    pub name: [String; 3],
    /// Its rate in bit/s, where it has one that stays.
    pub rate: Option<u64>,
    /// Bytes of the link layer besides each packet.
    pub overhead: u64,
}

impl Resolved {
    /// What a direction of a link does.
    pub fn direction(&self, link: LinkId) -> DirectionSpec {
        if let Some(links) = &self.links {
            return links.direction(link, &self.scenario.hosts).0;
        }
        let path = if self.is_alternate(link) {
            self.scenario.alternate.as_ref()
        } else {
            Some(&self.scenario.path)
        };
        let down = two_hosts::sender(link) == two_hosts::SERVER;
        path.map(|path| if down { path.down() } else { path.up() }).unwrap_or_default()
    }

    /// Whether a link lies between points or between a server and a client, or there are no others but access links.
    pub fn lies_between(&self, link: LinkId) -> bool {
        let Some(links) = &self.links else { return true };
        let between = links.between.len();
        between == 0 || matches!(tree::place(link, between), Place::Between { .. })
    }

    /// What patterns name and no packet has matched so far, by their keys in the scenario.
    pub fn unreached<P: Carried>(&self, links: &ByLink<Direction<P>>) -> Vec<Unreached> {
        let named = |(link, direction): (LinkId, &Direction<P>)| {
            let all = direction.unreached().into_iter();
            // A direction knows its links as a path's: path.down.drop.
            all.map(move |one| Unreached {
                pattern: one
                    .pattern
                    .splitn(3, '.')
                    .nth(2)
                    .map_or_else(|| one.pattern.clone(), |setting| format!("{}.{setting}", self.key(link))),
                ..one
            })
        };
        links.iter().flat_map(named).collect()
    }

    /// The key of a direction of a link.
    fn key(&self, link: LinkId) -> String {
        let way = |down: bool| if down { "down" } else { "up" };
        let Some(links) = &self.links else {
            let path = if self.is_alternate(link) { "alternate" } else { "path" };
            return format!("{path}.{}", way(two_hosts::sender(link) == two_hosts::SERVER));
        };
        match tree::place(link, links.between.len()) {
            Place::Between { number, back } => {
                let own = &links.between[number];
                format!("links.{}.from.{}", own.name, own.ends[usize::from(back)])
            }
            Place::Access { host, to_host } => {
                format!("hosts.{}.access.{}", self.network.host_name(host), way(to_host))
            }
        }
    }

    fn is_alternate(&self, link: LinkId) -> bool {
        self.links.is_none() && [two_hosts::ALTERNATE_DOWN, two_hosts::ALTERNATE_UP].contains(&link)
    }

    /// What results say of a link.
    pub fn about_link(&self, link: LinkId) -> AboutLink {
        let spec = self.direction(link);
        let Some(links) = &self.links else {
            let name = if self.is_alternate(link) { "alternate" } else { "path" };
            let [from, to] = [two_hosts::sender(link), two_hosts::receiver(link)].map(two_hosts::host_name);
            return about([name, from, to], &spec);
        };
        match tree::place(link, links.between.len()) {
            Place::Between { number, back } => {
                let own = &links.between[number];
                let [one, other] = [usize::from(back), usize::from(!back)].map(|end| own.ends[end].as_str());
                about([&own.name, one, other], &spec)
            }
            Place::Access { host, to_host } => {
                let (hosts, network): (_, &Network) = (&self.scenario.hosts, &self.network);
                let (own, point) =
                    (&**network.host_name(host), hosts.of(host).at.as_deref().unwrap_or_default());
                let [one, other] = if to_host { [point, own] } else { [own, point] };
                about([ACCESS, one, other], &spec)
            }
        }
    }
}

fn about(name: [&str; 3], spec: &DirectionSpec) -> AboutLink {
    let stays = spec.trace.is_none() && spec.impairments.changes.iter().all(|change| change.rate.is_none());
    AboutLink {
        name: name.map(str::to_owned),
        rate: spec.rate.filter(|_| stays).map(rexmit_units::Rate::bits_per_second),
        overhead: spec.overhead.as_u64(),
    }
}
