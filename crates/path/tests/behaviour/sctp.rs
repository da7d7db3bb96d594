//! Patterns that name SCTP packets by their chunks, as values and as bytes.

use crate::common::{down, ms};
use rexmit_path::{Fate, Summary};
use rexmit_wire::sctp::{self, Chunk, DataChunk, InitChunk, SackChunk};
use rexmit_wire::{IpFields, Packet, Payload, Transport};

fn packet(chunks: Vec<Chunk>, as_bytes: bool) -> Packet {
    let packet = sctp::Packet { src_port: 5001, dst_port: 10_000, tag: 7, chunks };
    let transport = match as_bytes {
        false => Transport::Sctp(packet),
        true => Transport::Other { protocol: 132, payload: Payload::Bytes(packet.emit().into()) },
    };
    let (src, dst) = ([10, 0, 2, 1].into(), [10, 0, 1, 1].into());
    Packet { src, dst, ip: IpFields::default(), transport, damaged: false }
}

fn init(initial_tsn: u32) -> Chunk {
    Chunk::Init(Box::new(InitChunk { initial_tsn, ..InitChunk::default() }))
}

fn data(tsn: u32) -> Chunk {
    let payload = Payload::Stream { offset: 0, len: 100 };
    Chunk::Data(DataChunk { tsn, begin: true, end: true, payload, ..DataChunk::default() })
}

fn sack() -> Chunk {
    Chunk::Sack(SackChunk::default())
}

/// An association whose first TSN is the last before the numbers begin again, with a TSN sent again alone and one sent
/// again before a new one.
fn association() -> Vec<Vec<Chunk>> {
    let first = u32::MAX;
    let tsn = |n: u32| data(first.wrapping_add(n));
    vec![
        vec![init(first)],
        vec![tsn(0)],
        vec![tsn(1), tsn(2)],
        vec![sack()],
        vec![tsn(1)],
        vec![sack(), tsn(3)],
        vec![tsn(2), tsn(4)],
        vec![Chunk::Shutdown { cumulative: 0 }],
        vec![Chunk::Abort { reflected: false, causes: Vec::new() }],
    ]
}

/// Numbers, from 1, of the packets that a pattern names.
fn named(pattern: &str) -> Vec<usize> {
    let run = |as_bytes| {
        let mut direction = down(&format!("down.drop = {pattern}"));
        let all = association().into_iter().enumerate();
        let dropped = all.filter_map(|(n, chunks)| {
            let verdict = direction.send(ms(0), packet(chunks, as_bytes));
            matches!(verdict.fate, Fate::DroppedByPattern { .. }).then_some(n + 1)
        });
        dropped.collect::<Vec<_>>()
    };
    let (values, bytes) = (run(false), run(true));
    assert_eq!(values, bytes, "{pattern}");
    values
}

#[test]
fn packets_are_named_by_their_chunks() {
    for (pattern, expected) in [
        ("{ match = \"syn\" }", vec![1]),
        ("{ match = \"data\" }", vec![2, 3, 5, 6, 7]),
        ("{ match = \"data\", nth = 3 }", vec![6]),
        ("{ match = \"retransmission\" }", vec![5, 7]),
        ("{ match = \"pure-ack\" }", vec![4]),
        ("{ match = \"fin\" }", vec![8]),
        ("{ match = \"rst\" }", vec![9]),
        ("{ retransmission = { offset = 1 } }", vec![5]),
        ("{ retransmission = { segment = 2 } }", vec![5]),
        ("{ retransmission = { offset = 2 } }", vec![7]),
    ] {
        assert_eq!(named(pattern), expected, "{pattern}");
    }
}

#[test]
fn the_log_says_the_same_of_bytes_as_of_values() {
    for (chunks, bytes) in [(vec![sack()], 0), (vec![sack(), data(1), data(2)], 200), (vec![init(7)], 0)] {
        let [value, read] = [false, true].map(|as_bytes| Summary::from(&packet(chunks.clone(), as_bytes)));
        assert_eq!(value, read);
        assert_eq!((read.src_port, read.dst_port, read.payload), (5001, 10_000, bytes));
    }
    let cut =
        Transport::Other { protocol: 132, payload: Payload::Bytes([0x13, 0x89, 0x27].as_slice().into()) };
    let cut = Packet { transport: cut, ..packet(Vec::new(), true) };
    assert_eq!(Summary::from(&cut), Summary { ip_len: 23, protocol: 132, ..Summary::default() });
}
