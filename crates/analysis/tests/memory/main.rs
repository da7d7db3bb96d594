//! Memory in proportion to the size of a capture, as it is given: what is packed counts packed.
//!
//! All that is allocated is counted, the rows that are handed over and their columns included. One capture is judged at
//! a time, so this is one test in a program of its own.

#[path = "../limits/build.rs"]
#[allow(dead_code, reason = "shared with the tests of limits")]
mod build;

use peak_alloc::PeakAlloc;
use rexmit_analysis::limits::Limit;
use rexmit_wire::sctp::Chunk;
use rexmit_wire::{Flags, IpFields, Packet, Payload, Transport};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use build::{Capture, Judged, data, init, judge, open, sack, sctp, tcp};

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// What the documentation states: bytes for any file, and for each of its bytes.
const BASE: usize = 64_000_000;
const PER_BYTE: usize = 100;

#[test]
fn memory_stays_in_proportion_to_the_file() {
    let flooded = is_bounded("INITs", inits(60_000));
    assert!(flooded.limited(Limit::Memory) > 0 && flooded.flows == 60_000);
    let scanned = is_bounded("SYNs", syns(150_000));
    assert_eq!(scanned.flows, 150_000);
    is_bounded("open connections", connections(30_000));
    is_bounded("packets of many chunks", many_chunks(60));
    is_bounded("holes of many associations", holes(60));
    is_bounded("retransmitted chunks", again(60));
    is_bounded("SACKs of many blocks", blocks(200));
    is_bounded("fragments", fragments(100_000));
    is_bounded("comments", comments(1_500));
    is_bounded("segments that nothing acknowledges", segments(150_000));
}

/// Judges a capture, plain and packed, and checks what that takes; gives what became of the packed one.
#[track_caller]
fn is_bounded(name: &str, capture: Capture) -> Judged {
    let plain = capture.finish();
    let packed = compress_to_vec(&plain[..], CompressionLevel::Fastest);
    println!("{name}: {} bytes, packed {}", plain.len(), packed.len());
    measured(name, plain);
    measured(name, packed)
}

#[track_caller]
fn measured(name: &str, bytes: Vec<u8>) -> Judged {
    let len = bytes.len();
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let judged = judge(bytes);
    let took = MEMORY.peak_usage() - before;
    println!("  {took} bytes for {len}; {:?}", judged.summary.limits.acted().collect::<Vec<_>>());
    assert!(took <= BASE + PER_BYTE * len, "{name}: {took} bytes for a capture of {len}");
    judged
}

/// A client of its own for each number.
fn client(mut packet: Packet, number: u32) -> Packet {
    packet.src = [10, (number >> 16) as u8, (number >> 8) as u8, number as u8].into();
    packet
}

fn inits(count: u32) -> Capture {
    let mut capture = Capture::new();
    (0..count).for_each(|n| capture.packet(1, &client(init(7, n), n)));
    capture
}

fn syns(count: u32) -> Capture {
    let mut capture = Capture::new();
    (0..count).for_each(|n| capture.packet(1, &client(tcp(7, true, (n, 0), 0, Flags::SYN, &[]), n)));
    capture
}

fn connections(count: u16) -> Capture {
    let mut capture = Capture::new();
    for port in 0..count {
        open(&mut capture, 1_000 + port);
        capture.packet(1, &tcp(1_000 + port, true, (1, 9), 1, Flags::ACK, &[]));
        capture.packet(1, &tcp(1_000 + port, false, (1, 9), 10, Flags::ACK, &[]));
    }
    capture
}

fn many_chunks(packets: u16) -> Capture {
    let mut capture = Capture::new();
    for port in 0..packets {
        capture.packet(1, &sctp(1_000 + port, true, vec![Chunk::CookieAck; 16_000]));
        capture.packet(1, &sctp(1_000 + port, true, (0..3_000).map(data).collect()));
    }
    capture
}

fn holes(associations: u16) -> Capture {
    let mut capture = Capture::new();
    for port in 0..associations {
        capture.packet(1, &sctp(1_000 + port, true, vec![data(1), data(65_000)]));
        capture.packet(1, &sctp(1_000 + port, false, vec![data(1), data(65_000)]));
    }
    capture
}

fn again(packets: u32) -> Capture {
    let mut capture = Capture::new();
    (0..packets).for_each(|_| capture.packet(1_000_000, &sctp(7, true, (0..3_000).map(data).collect())));
    capture
}

/// From elsewhere than the sender, which knows of them later.
fn blocks(packets: u32) -> Capture {
    let mut capture = Capture::new();
    capture.packet(1, &init(7, 14));
    let gaps: Vec<_> = (1..16_000).map(|n| (4 * n, 4 * n)).collect();
    capture.packet(1, &sctp(7, true, (1..60).map(data).collect()));
    for n in 0..packets {
        capture.packet(100_000, &sctp(7, false, vec![sack(0, &gaps, Vec::new())]));
        capture.packet(1, &sctp(7, true, vec![data(60 + n)]));
    }
    capture
}

fn fragments(count: u32) -> Capture {
    let mut capture = Capture::new();
    for n in 0..count {
        let ip = IpFields { ident: n as u16, ..IpFields::default() };
        let transport = Transport::Other { protocol: 6, payload: Payload::Bytes([0; 8].into()) };
        let packet = client(
            Packet { src: [0; 4].into(), dst: [10, 9, 9, 9].into(), ip, transport, damaged: false },
            n >> 16,
        );
        let mut bytes = packet.emit();
        // More fragments follow.
        bytes[6] = 0x20;
        capture.bytes(1, &bytes);
    }
    capture
}

fn comments(count: u32) -> Capture {
    let mut capture = Capture::new();
    let comment = "c".repeat(60_000);
    for n in 0..count {
        capture.noted(1, &client(tcp(7, true, (n, 0), 0, Flags::SYN, &[]), n), &comment);
    }
    capture
}

fn segments(count: u32) -> Capture {
    let mut capture = Capture::new();
    open(&mut capture, 7);
    capture.packet(1, &tcp(7, true, (1, 1), 1, Flags::ACK, &[]));
    capture.packet(1, &tcp(7, false, (1, 0), 2, Flags::ACK, &[]));
    (0..count).for_each(|n| capture.packet(1, &tcp(7, true, (4 + 2 * n, 1), 1, Flags::ACK, &[])));
    capture
}
