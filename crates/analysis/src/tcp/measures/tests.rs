use crate::tcp::script::{analyse, connection};

#[test]
fn a_script_makes_a_connection() {
    let row = connection(
        "
        0  c S 100+0 sackok ts 1/0
        10 s S 500+0 ack 101 sackok ts 9/1
        10 c . 101+0 ack 501 ts 2/9
        11 c P 101+10 ack 501 ts 2/9 ident 4
        21 s . 501+0 ack 111 ts 10/2
        ",
    );
    assert_eq!((row.client.packets, row.server.packets), (3, 2));
    assert_eq!((row.client.data_packets, row.client.bytes), (1, 10));
    assert_eq!(row.handshake.server_rtt, Some(10_000_000));
}

#[test]
fn a_second_client_makes_a_second_connection() {
    let rows = analyse("0 c S 100+0\n0 c2 S 100+0\n1 s2 S 1+0 ack 101");
    assert_eq!(rows.connections.iter().map(|row| row.packets).collect::<Vec<_>>(), [1, 2]);
}
