//! Networks of hosts that hang on points: every packet comes to its host, and what is not a tree is refused.

use proptest::prelude::*;
use rexmit_network::tree::{Between, HostAt, Place, network, place};
use rexmit_network::{HostId, Id, Link, LinkId, Node, PointId};

fn host(name: &str, at: &str) -> HostAt {
    HostAt { name: name.to_owned(), at: at.to_owned() }
}

fn link(name: &str, one: &str, other: &str) -> Between {
    Between { name: name.to_owned(), ends: [one.to_owned(), other.to_owned()] }
}

#[test]
fn links_come_before_access_links_and_each_has_two_directions() {
    let of = network(&[host("a", "left"), host("b", "right")], &[link("middle", "left", "right")]).unwrap();
    let names: Vec<_> = of.links().map(|link| of.link_name(link).to_string()).collect();
    assert_eq!(names, ["middle/left-right", "middle/right-left", "a/up", "a/down", "b/up", "b/down"]);
    let places: Vec<_> = of.links().map(|link| place(link, 1)).collect();
    assert_eq!(places[1], Place::Between { number: 0, back: true });
    assert_eq!(places[4], Place::Access { host: HostId::new(1), to_host: false });
    let (left, right) = (PointId::new(0), PointId::new(1));
    assert_eq!(of.link(LinkId::new(0)), Link { from: Node::Point(left), to: Node::Point(right) });
    assert_eq!(of.forward(left, HostId::new(1)), LinkId::new(0));
    assert_eq!(of.forward(right, HostId::new(1)), LinkId::new(5));
    assert_eq!(of.default_route(HostId::new(0)), LinkId::new(2));
}

#[test]
fn hosts_of_one_point_need_no_link() {
    let of = network(&[host("a", "hub"), host("b", "hub"), host("c", "hub")], &[]).unwrap();
    assert_eq!((of.links().count(), of.points()), (6, 1));
    let error = network(&[host("a", "hub"), host("b", "bub")], &[]).unwrap_err();
    assert_eq!(error.key, "hosts.b.at");
}

#[test]
fn a_circle_is_told_by_its_links_and_its_points() {
    let hosts = [host("a", "one"), host("b", "three")];
    let links = [
        link("x", "one", "two"),
        link("y", "two", "three"),
        link("z", "three", "one"),
        link("aside", "two", "four"),
    ];
    let error = network(&[&hosts[..], &[host("c", "four")]].concat(), &links).unwrap_err();
    assert!(error.message.contains("the links x, y, z form a loop"), "{}", error.message);
    let points = error.message.split(['(', ')']).nth(1).unwrap();
    assert_eq!(points.split(" - ").count(), 4, "{points}");
    assert!(!points.contains("four"), "{points}");
}

proptest! {
    /// Point n > 0 is joined with some point before it, and hosts hang on any.
    #[test]
    fn every_packet_comes_to_its_host(
        parents in proptest::collection::vec(any::<prop::sample::Index>(), 0..40),
        hosts in proptest::collection::vec(any::<prop::sample::Index>(), 2..20),
    ) {
        let name = |point: usize| format!("p{point}");
        let links: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(n, parent)| link(&format!("l{n}"), &name(n + 1), &name(parent.index(n + 1))))
            .collect();
        let points = links.len() + 1;
        let mut all: Vec<_> =
            hosts.iter().enumerate().map(|(n, at)| host(&format!("h{n}"), &name(at.index(points)))).collect();
        // Nothing leads nowhere.
        all.extend((0..points).map(|point| host(&format!("own{point}"), &name(point))));
        let of = network(&all, &links).unwrap();
        prop_assert_eq!(of.points(), points);
        for from in of.hosts() {
            for to in of.hosts().filter(|to| *to != from) {
                let mut at = of.link(of.default_route(from)).to;
                let mut hops = 0;
                while let Node::Point(point) = at {
                    let next = of.forward(point, to);
                    prop_assert_eq!(of.link(next).from, at);
                    at = of.link(next).to;
                    hops += 1;
                    prop_assert!(hops <= points + 1);
                }
                prop_assert_eq!(at, Node::Host(to));
            }
        }
    }

    /// One link more than a tree has closes a circle, whichever it is.
    #[test]
    fn one_more_link_is_a_circle(
        parents in proptest::collection::vec(any::<prop::sample::Index>(), 1..20),
        more in (any::<prop::sample::Index>(), any::<prop::sample::Index>()),
    ) {
        let name = |point: usize| format!("p{point}");
        let mut links: Vec<_> = parents
            .iter()
            .enumerate()
            .map(|(n, parent)| link(&format!("l{n}"), &name(n + 1), &name(parent.index(n + 1))))
            .collect();
        let points = links.len() + 1;
        let (one, other) = (more.0.index(points), more.1.index(points));
        prop_assume!(one != other);
        links.push(link("more", &name(one), &name(other)));
        let hosts: Vec<_> = (0..points).map(|point| host(&format!("h{point}"), &name(point))).collect();
        let error = network(&hosts, &links).unwrap_err();
        prop_assert!(error.message.contains("form a loop") && error.message.contains("more"), "{}", error.message);
        prop_assert!(!error.message.contains('\n'));
        prop_assert_eq!(HostId::from_index(0).index(), 0);
    }
}
