//! The send queue of Linux 6.1 and who fills it (LK-QUEUE-..., LK-PUSH-1).

use rexmit_stack::Event;
use serde_json::{Value, json};

use super::at;
use super::common::*;

const MSS: u64 = 1448;

fn reno(mut changes: Value) -> Script {
    changes["congestion"] = json!({ "algorithm": "reno" });
    let peer = Peer { wscale: Some(7), win: 510, ..Peer::default() };
    Script::server(profile("linux-6.1", changes)).with_peer(peer)
}

/// Writes until no more is taken: how much was.
fn fill(t: &mut Script) -> u64 {
    let mut all = 0;
    loop {
        let taken = t.write(65_536);
        all += taken;
        if taken < 65_536 {
            t.drain();
            return all;
        }
    }
}

/// LK-QUEUE-6: a writer that a packet has woken is told nothing if the next packet takes the room again. The memory at each
/// acknowledgment is that of Linux 6.1.192: a third of it would be free at the 32nd segment, before the second packet leaves.
#[test]
fn lk_queue_6_what_leaves_after_the_wake_takes_the_room_again() {
    let mut t = reno(json!({}));
    t.establish(300);
    t.was_told(Event::Writable);
    assert_eq!(fill(&mut t), 54 * MSS);
    let mut written = Vec::new();
    for una in (1..=16).chain((18..=32).step_by(2)).chain(33..=34) {
        t.advance_ms(if matches!(una, 1 | 11 | 32) { 280 } else { 1 });
        t.recv(ack(at(una + 1)));
        t.drain();
        if t.was_told(Event::Writable) {
            fill(&mut t);
            written.push(una);
        }
    }
    assert_eq!(written, [18, 34]);
}

/// LK-PUSH-1: the rate is that of the last acknowledgment, whatever has become of cwnd since: after a pause a packet has as many
/// segments as before.
#[test]
fn lk_push_1_the_rate_is_that_of_the_last_acknowledgment() {
    let mut t = reno(json!({}));
    t.establish(10);
    t.write(36 * MSS);
    t.drain();
    for una in 1..=26 {
        t.advance_ms(if una % 10 == 1 { 10 } else { 0 });
        t.recv(ack(at(una + 1)));
        t.drain();
    }
    t.advance_ms(10);
    t.recv(ack(at(37)));
    t.advance_ms(3_000);
    t.write(20 * MSS);
    let pushed: Vec<u32> = t
        .drain()
        .iter()
        .filter(|(_, s)| s.psh == Some(true))
        .map(|(_, s)| (s.seq.unwrap() - 1) / 1448 + 1)
        .collect();
    assert_eq!(pushed, [41, 46]);
}
