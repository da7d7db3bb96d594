use std::net::SocketAddr;

use proptest::prelude::*;
use rexmit_units::Instant;
use rexmit_wire::Checksum;

use super::Filter;
use crate::packet::{Packet, Tcp, Transport};

fn packet(src: &str, dst: &str) -> Packet {
    let address = |text: &str| text.parse::<SocketAddr>().expect("an address and a port");
    Packet {
        number: 7,
        time: Instant::ZERO,
        interface: 1,
        src: address(src),
        dst: address(dst),
        ttl: 64,
        tos: 0,
        ident: 0,
        checksum: Checksum::Unknown,
        note: None,
        transport: Transport::Tcp(Tcp::default()),
    }
}

fn sctp() -> Packet {
    let transport = Transport::Sctp { bytes: 0..0, wire_len: 0 };
    Packet { transport, ..packet("10.0.0.1:7000", "10.0.0.2:7001") }
}

fn passes(filter: &str, packet: &Packet) -> bool {
    Filter::parse(filter).unwrap_or_else(|e| panic!("{filter}: {e}")).passes(packet)
}

fn error(filter: &str) -> String {
    let error = Filter::parse(filter).expect_err(filter).to_string();
    assert!(!error.contains('\n'));
    error
}

#[test]
fn fields_are_compared_with_values() {
    let seen = packet("10.0.0.1:40000", "192.168.3.4:5001");
    for (filter, expected) in [
        ("tcp", true),
        ("sctp", false),
        ("ip", true),
        ("ipv6", false),
        ("tcp.port == 5001", true),
        ("tcp.port==40000", true),
        ("tcp.port eq 80", false),
        ("tcp.srcport == 5001", false),
        ("tcp.dstport == 0x1389", true),
        ("tcp.dstport < 5001", false),
        ("tcp.dstport <= 5001", true),
        ("tcp.srcport gt 39999", true),
        ("tcp.srcport >= 40001", false),
        ("tcp.srcport lt 0", false),
        ("tcp.port", true),
        ("sctp.port", false),
        ("sctp.port == 5001", false),
        ("ip.addr == 10.0.0.1", true),
        ("ip.src == 192.168.3.4", false),
        ("ip.dst == 192.168.0.0/16", true),
        ("ip.dst == 192.168.7.0/16", true),
        ("ip.dst == 192.168.0.0/24", false),
        ("ip.addr == 0.0.0.0/0", true),
        ("ipv6.addr == ::/0", false),
        ("frame.interface_id == 1", true),
        ("frame.interface_id != 1", false),
        ("frame.number in {1..7}", true),
        ("frame.number > 7", false),
    ] {
        assert_eq!(passes(filter, &seen), expected, "{filter}");
    }
}

#[test]
fn unequal_means_that_no_end_is_equal_and_that_there_is_one() {
    let seen = packet("10.0.0.1:40000", "10.0.0.2:5001");
    assert!(!passes("tcp.port != 5001", &seen));
    assert!(passes("tcp.port ne 80", &seen));
    assert!(!passes("sctp.port != 80", &seen));
    assert!(passes("!(sctp.port == 80)", &seen));
    assert!(!passes("ipv6.addr != ::1", &seen));
    assert!(passes("ip.addr != 10.0.0.3", &seen));
}

#[test]
fn sets_hold_values_ranges_and_prefixes() {
    let seen = packet("10.0.0.1:40000", "10.0.0.2:5001");
    assert!(passes("tcp.port in {80, 5001}", &seen));
    assert!(passes("tcp.port in {80 443 5000..5005}", &seen));
    assert!(!passes("tcp.port in {80,5002..6000}", &seen));
    assert!(passes("ip.src in {192.168.0.0/16, 10.0.0.0/30}", &seen));
    assert!(passes("ip.src in {10.0.0.0 .. 10.0.0.1}", &seen));
    assert!(!passes("not ip.src in {10.0.0.0..10.0.0.1}", &seen));
}

#[test]
fn versions_and_transports_are_told_apart() {
    let six = packet("[fd00::1]:40000", "[fd00::2]:80");
    assert!(passes("ipv6 && !ip", &six));
    assert!(passes("ipv6.src == fd00::1 and ipv6.dst == fd00::/64", &six));
    assert!(passes("ipv6.addr == fd00::/8", &six));
    assert!(!passes("ipv6.addr == fe00::/8", &six));
    assert!(!passes("ip.addr == 0.0.0.0/0", &six));
    assert!(passes("sctp and not tcp", &sctp()));
    assert!(passes("sctp.srcport == 7000 && sctp.dstport == 7001 && sctp.port == 7001", &sctp()));
    assert!(!passes("tcp.port == 7000", &sctp()));
}

#[test]
fn and_binds_closer_than_or_and_not_closest() {
    let seen = packet("10.0.0.1:1", "10.0.0.2:2");
    assert!(passes("tcp or sctp and ipv6", &seen));
    assert!(!passes("(tcp or sctp) and ipv6", &seen));
    assert!(passes("not sctp and tcp", &seen));
    assert!(!passes("not (sctp or tcp)", &seen));
    assert!(passes("!!tcp", &seen));
    assert!(passes("tcp.port==1||sctp&&ipv6||ipv6", &seen));
}

#[test]
fn an_error_names_the_column_and_what_could_stand_there() {
    let known = "ip, ipv6, tcp, sctp, frame.interface_id, frame.number, ip.addr, ip.src, ip.dst, ipv6.addr, \
                 ipv6.src, ipv6.dst, tcp.port, tcp.srcport, tcp.dstport, sctp.port, sctp.srcport, sctp.dstport";
    for (filter, expected) in [
        ("", "column 1: a condition is missing here"),
        ("tcp and", "column 8: a condition is missing here"),
        ("tcp.prt == 1", &format!("column 1: 'tcp.prt' is not known; known are {known}")),
        ("tcp.port == http", "column 13: 'http' is not a number from 0 to 65535"),
        ("tcp.port == 65536", "column 13: '65536' is not a number from 0 to 65535"),
        ("tcp.port ==", "column 12: a number from 0 to 65535 is missing here"),
        ("tcp.port = 80", "column 10: '=' where 'and', 'or' or the end is expected"),
        ("tcp tcp", "column 5: 'tcp' where 'and', 'or' or the end is expected"),
        ("ip.addr == fd00::1", "column 12: 'fd00::1' is not an IPv4 address or prefix such as 10.0.0.0/8"),
        (
            "ip.src == 10.0.0.0/33",
            "column 11: '10.0.0.0/33' is not an IPv4 address or prefix such as 10.0.0.0/8",
        ),
        ("ipv6.src == 10.0.0.1", "column 13: '10.0.0.1' is not an IPv6 address or prefix such as fd00::/8"),
        ("ip.src < 10.0.0.0/8", "column 10: a prefix is compared by == or != only"),
        ("(tcp", "column 5: ')' is missing here"),
        ("(tcp tcp", "column 6: 'tcp' where ')' is expected"),
        ("tcp)", "column 4: ')' where 'and', 'or' or the end is expected"),
        ("tcp.port in 80", "column 13: '80' where '{' is expected"),
        ("tcp.port in {80", "column 16: a number from 0 to 65535 is missing here"),
        ("tcp.port in {}", "column 14: '}' is not a number from 0 to 65535"),
        ("tcp.port in {9..8}", "column 14: a range that ends before it begins"),
        ("ä == 1 && tcp", &format!("column 1: 'ä' is not known; known are {known}")),
        ("tcp && ä", &format!("column 8: 'ä' is not known; known are {known}")),
    ] {
        assert_eq!(error(filter), expected, "{filter}");
    }
    let deep = "(".repeat(60);
    assert_eq!(error(&deep), "column 51: parentheses and negations are nested more than 50 deep");
    assert!(error(&"!".repeat(60)).contains("nested"));
    let wide = ["tcp"; 5_000].join(" or (tcp) and not ");
    assert!(passes(&wide, &packet("10.0.0.1:1", "10.0.0.2:2")));
}

proptest! {
    #[test]
    fn any_port_is_found_by_its_number(port in any::<u16>(), other in any::<u16>()) {
        let seen = packet(&format!("10.0.0.1:{port}"), "10.0.0.2:2");
        let source = |operator: &str| passes(&format!("tcp.srcport {operator} {other}"), &seen);
        prop_assert_eq!(source("=="), port == other);
        prop_assert_eq!(source("!="), port != other);
        prop_assert_eq!(source("<"), port < other);
        prop_assert_eq!(source("<="), port <= other);
        prop_assert_eq!(source(">"), port > other);
        prop_assert_eq!(source(">="), port >= other);
    }

    #[test]
    fn a_prefix_holds_the_addresses_that_begin_with_it(address in any::<u32>(), other in any::<u32>(), len in 0_u32..=32) {
        let (address, other) = (std::net::Ipv4Addr::from(address), std::net::Ipv4Addr::from(other));
        let same = len == 0 || address.to_bits() >> (32 - len) == other.to_bits() >> (32 - len);
        let seen = packet(&format!("{address}:1"), "10.0.0.2:2");
        prop_assert_eq!(passes(&format!("ip.src == {other}/{len}"), &seen), same);
    }
}
