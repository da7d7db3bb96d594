use std::net::Ipv4Addr;

use super::*;

fn host(number: usize) -> IpAddr {
    Ipv4Addr::from(0x0a00_0000 + number as u32).into()
}

#[test]
fn what_another_connection_had_is_told_and_zero_says_nothing() {
    let mut idents = Idents::default();
    assert_eq!(idents.pass(host(1), 0, 7), None);
    assert_eq!(idents.pass(host(1), 0, 8), None);
    assert_eq!(idents.pass(host(1), 1, 0), None);
    assert_eq!(idents.pass(host(1), 1, 9), Some(8));
    assert_eq!(idents.pass(host(1), 0, 10), Some(9));
    assert_eq!(idents.pass(host(2), 1, 11), None);
}

#[test]
fn no_host_takes_the_place_of_another_one() {
    // Where hosts shared slots by a hash with random keys, two of 256 nearly always shared one, and any two now and then.
    let mut idents = Idents::default();
    for connection in 0..10 {
        for number in 0..HOSTS {
            let before = idents.pass(host(number), connection, 100 + connection as u16);
            assert_eq!(before, connection.checked_sub(1).map(|last| 100 + last as u16), "{number}");
        }
    }
}

#[test]
fn what_is_forgotten_depends_on_the_packets_alone() {
    let told = || {
        let mut idents = Idents::default();
        // Steps of different lengths through more hosts than are remembered.
        let numbers = (0..20 * HOSTS).map(|step| step * step % (5 * HOSTS + 1));
        let told = numbers.zip(0..).map(|(number, step)| idents.pass(host(number), step, 1 + step as u16));
        told.collect::<Vec<_>>()
    };
    let first = told();
    assert!(first.contains(&None) && first.iter().any(Option::is_some));
    assert!((0..10).all(|_| told() == first));
}

#[test]
fn the_last_hosts_are_remembered_and_no_more_than_twice_as_many() {
    for others in [HOSTS - 1, 2 * HOSTS] {
        let mut idents = Idents::default();
        // Wherever in the row the host stands.
        for number in 0..HOSTS / 3 {
            idents.pass(host(1_000 + number), 0, 1);
        }
        idents.pass(host(1), 0, 5);
        for number in 0..others {
            idents.pass(host(2_000 + number), 0, 1);
        }
        assert!(idents.recent.len() <= HOSTS && idents.earlier.len() <= HOSTS);
        assert_eq!(idents.pass(host(1), 1, 6), (others < HOSTS).then_some(5), "{others}");
    }
}
