//! Life of an association between two ends of one process, in virtual time.

#![cfg(test)]

mod common;

use common::{CLIENT, Pair, SERVER};
use rexmit_stack::Delivery;
use rexmit_usrsctp::{AVAILABLE, UsrsctpConfig};
use rexmit_wire::sctp::Header;

fn messages(count: usize, len: u64) -> Vec<(u64, Delivery)> {
    vec![(len, Delivery::default()); count]
}

fn bulk(loses: impl FnMut(usize, usize, &common::Sent) -> bool + 'static) -> Pair {
    let mut pair = Pair::new(&UsrsctpConfig::default());
    pair.loses = Box::new(loses);
    pair.connect();
    pair.to_write[CLIENT] = messages(500, 1_400);
    pair.write(CLIENT);
    while pair.bytes_read(SERVER) < 500 * 1_400 && pair.step() {}
    pair
}

#[test]
fn messages_arrive_whole_and_in_order() {
    if !AVAILABLE {
        return;
    }
    let pair = bulk(|_, _, _| false);
    let expected: Vec<_> = (0..500).map(|i| (i * 1_400, 1_400)).collect();
    assert_eq!(pair.reads[SERVER], expected);
    assert_eq!(pair.ends[SERVER].misplaced_bytes(), 0);
    assert_eq!(pair.ends[CLIENT].counters().retransmits, 0);
    for sent in &pair.log {
        assert_eq!(Header::new(&sent.bytes, sent.bytes.len()).unwrap().checksum_ok(), Some(true));
    }
}
