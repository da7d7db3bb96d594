use rexmit_capture::{Reader, Writer};

use super::time_sequence;
use crate::script::{packets, play_one};

const SCRIPT: &str = "
    0 c S 100+0 win 60000 ws 1 sackok
    5 s S 900+0 ack 101 win 50000 ws 2 sackok
    10 c . 101+0 ack 901 win 30000
    11 s . 901+100 ack 101 # dropped by pattern at position 2
    12 s P 1001+100 ack 101
    20 c . 101+0 ack 901 win 30000 sack 1001-1101
    50 s . 901+100 ack 101
    60 c . 101+0 ack 1101 win 30000";

fn written() -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), "server").expect("a header");
    for (time, _, packet, note) in packets(SCRIPT) {
        writer.write_packet(time, &packet, note).expect("a packet");
    }
    writer.finish().expect("an end")
}

#[test]
fn a_capture_gives_what_its_packets_give() {
    let bytes = written();
    let found = time_sequence(Reader::new(&bytes[..]).expect("a capture"));
    assert!(found.broken_off.is_none());
    assert_eq!(found.unreadable, 0);
    let [seen] = &found.connections[..] else { panic!("one connection") };
    assert_eq!(seen.interface_name.as_deref(), Some("server"));
    let mut expected = play_one(SCRIPT);
    assert_eq!(expected.server.segments[1].note.as_deref(), Some("dropped by pattern at position 2"));
    // The writer sets times on a calendar.
    let epoch = seen.start.as_nanos();
    expected.shift(epoch);
    expected.interface_name = Some("server".into());
    assert_eq!(*seen, expected);
}

#[test]
fn a_capture_that_breaks_off_gives_what_stands_before() {
    let bytes = written();
    let found = time_sequence(Reader::new(&bytes[..bytes.len() - 10]).expect("a capture"));
    let error = found.broken_off.expect("an error").to_string();
    assert!(error.contains("ends within"), "{error}");
    assert_eq!(found.connections[0].packets, 7);
}
