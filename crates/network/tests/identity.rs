//! Numbers, tables of them, and the form of two hosts.

use std::net::IpAddr;

use proptest::prelude::*;
use rexmit_network::two_hosts::{
    self, ALTERNATE_DOWN, ALTERNATE_UP, CLIENT, DOWN, HOSTS, LINKS, SERVER, Side, UP,
};
use rexmit_network::{ByHost, ConnectionId, EndId, EndIndex, Ends, HostId, Id, Link, LinkId, Node, Table};

fn address(last: u8) -> IpAddr {
    IpAddr::from([10, 0, 0, last])
}

#[test]
fn a_wrong_name_is_an_error() {
    for side in [Side::Server, Side::Client] {
        let read: Side = serde_json::from_value(side.name().into()).unwrap();
        assert_eq!((read, read.host()), (side, side.host()));
    }
    for wrong in ["sevrer", "Server", "", "client "] {
        let error = serde_json::from_value::<Side>(wrong.into()).unwrap_err().to_string();
        assert_eq!(error, format!("unknown variant `{wrong}`, expected `server` or `client`"));
    }
}

#[test]
#[should_panic(expected = "host number 2 is neither the server nor the client")]
fn a_third_host_is_not_taken_for_one_of_the_two() {
    two_hosts::choose(HostId::new(2), (), ());
}

#[test]
fn sides_and_hosts_say_the_same() {
    for side in [Side::Server, Side::Client] {
        assert_eq!(two_hosts::host_name(side.host()), side.name());
        assert_eq!(two_hosts::peer(side.host()), side.other().host());
        assert_eq!(serde_json::to_value(side).unwrap(), side.name());
    }
}

#[test]
fn links_lead_from_one_host_to_the_other() {
    let network = two_hosts::network_with_alternate(&two_hosts::by_host(|host| address(host.number() as u8)));
    assert_eq!(network.links().collect::<Vec<_>>(), LINKS);
    assert_eq!(LINKS.map(two_hosts::link_name), ["down", "up", "alternate-down", "alternate-up"]);
    for (link, from, to) in [
        (DOWN, SERVER, CLIENT),
        (UP, CLIENT, SERVER),
        (ALTERNATE_DOWN, SERVER, CLIENT),
        (ALTERNATE_UP, CLIENT, SERVER),
    ] {
        assert_eq!(network.link(link), Link { from: Node::Host(from), to: Node::Host(to) });
    }
}

#[test]
fn a_packet_takes_the_path_of_its_destination() {
    let second = two_hosts::by_host(|host| address(10 + host.number() as u8));
    let (one, two) = (two_hosts::network(), two_hosts::network_with_alternate(&second));
    assert_eq!(one.links().collect::<Vec<_>>(), [DOWN, UP]);
    for network in [&one, &two] {
        assert_eq!(network.hosts().collect::<Vec<_>>(), HOSTS);
        assert_eq!((network.default_route(SERVER), network.default_route(CLIENT)), (DOWN, UP));
        assert_eq!((network.route(SERVER, address(1)), network.route(CLIENT, address(2))), (DOWN, UP));
    }
    // A host's own second address is not a destination of its packets.
    assert_eq!(
        (two.route(SERVER, second[CLIENT]), two.route(SERVER, second[SERVER])),
        (ALTERNATE_DOWN, DOWN)
    );
    assert_eq!((two.route(CLIENT, second[SERVER]), two.route(CLIENT, second[CLIENT])), (ALTERNATE_UP, UP));
    assert_eq!(one.route(SERVER, second[CLIENT]), DOWN);
}

#[test]
fn both_paths_count_as_one_way() {
    let counts: Table<LinkId, u64> = [1, 10, 100, 1000].into_iter().collect();
    assert_eq!(two_hosts::down_and_up(&counts, |n| *n), (101, 1010));
}

#[test]
fn a_list_is_for_two_hosts_or_refused() {
    let read = |text| two_hosts::pair::<_, u32>(&mut serde_json::Deserializer::from_str(text));
    let both = read("[7, 8]").unwrap();
    assert_eq!((both[SERVER], both[CLIENT]), (7, 8));
    assert_eq!(serde_json::to_string(&both).unwrap(), "[7,8]");
    for wrong in ["[]", "[7]", "[7, 8, 9]"] {
        assert!(read(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn a_table_has_what_it_was_given_and_nothing_else() {
    let mut table = ByHost::new();
    assert_eq!((table.push('a'), table.push('b')), (SERVER, CLIENT));
    table[CLIENT] = 'c';
    assert_eq!(table.iter().collect::<Vec<_>>(), [(SERVER, &'a'), (CLIENT, &'c')]);
    assert_eq!((table.get(CLIENT), table.get(HostId::new(2))), (Some(&'c'), None));
}

/// A connection of which an end cannot be made leaves no trace.
#[test]
fn a_connection_is_there_with_both_ends_or_not_at_all() {
    let hosts = [SERVER, CLIENT];
    let mut ends = Ends::new();
    let made = ends.push_with(hosts, |host| Ok::<_, ()>(host.number()));
    assert_eq!(made, Ok(ConnectionId::new(0)));
    for fails in hosts {
        assert_eq!(ends.push_with(hosts, |host| if host == fails { Err("no") } else { Ok(7) }), Err("no"));
        assert_eq!((ends.connections(), ends.len()), (1, 2));
    }
    let made = ends.push_with(hosts, |host| Ok::<_, ()>(10 + host.number()));
    assert_eq!(made, Ok(ConnectionId::new(1)));
    let all: Vec<_> = ends.iter().map(|(at, end)| (ends.host(at), *end)).collect();
    assert_eq!(all, [(SERVER, 0), (CLIENT, 1), (SERVER, 10), (CLIENT, 11)]);
}

proptest! {
    #[test]
    fn ids_round_trip(number in any::<u16>(), large in any::<u32>()) {
        prop_assert_eq!(HostId::from_index(HostId::new(number).index()).number(), number);
        prop_assert_eq!(LinkId::from_index(LinkId::new(large).index()).number(), large);
        let connection = ConnectionId::new(large);
        prop_assert_eq!(ConnectionId::from_index(connection.index()), connection);
        let text = serde_json::to_string(&connection).unwrap();
        prop_assert_eq!(&text, &large.to_string());
        prop_assert_eq!(serde_json::from_str::<ConnectionId>(&text).unwrap(), connection);
        prop_assert_eq!(EndIndex::new(large).number(), large);
    }

    /// Of connections between any hosts, not two alone.
    #[test]
    fn an_end_is_found_and_so_is_its_peer(
        pairs in prop::collection::vec((0..9_u16, 0..9_u16).prop_filter("two hosts", |(a, b)| a != b), 1..20)
    ) {
        let mut ends = Ends::new();
        for (n, (one, other)) in pairs.iter().enumerate() {
            let (one, other) = (HostId::new(*one), HostId::new(*other));
            let connection = ends.push([(one, (n, one)), (other, (n, other))]);
            prop_assert_eq!(connection.index(), n);
        }
        for (at, (n, host)) in ends.iter() {
            let end = EndId { connection: ConnectionId::from_index(*n), host: *host };
            prop_assert_eq!((ends.id(at), ends.find(end)), (end, Some(at)));
            let peer = ends.id(at.peer());
            prop_assert_eq!(peer.connection, end.connection);
            prop_assert_ne!(peer.host, end.host);
            prop_assert_eq!(at.peer().peer(), at);
        }
        let found: Vec<_> = ends.pairs().flatten().copied().collect();
        prop_assert_eq!(found, ends.values().copied().collect::<Vec<_>>());
        let nobody = EndId { connection: ConnectionId::new(0), host: HostId::new(9) };
        prop_assert_eq!(ends.find(nobody), None);
        let beyond = EndId { connection: ConnectionId::from_index(pairs.len()), host: HostId::new(pairs[0].0) };
        prop_assert_eq!(ends.find(beyond), None);
    }
}
