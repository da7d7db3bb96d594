//! Hostile captures, made packet by packet, and what comes of them.

use std::io::Cursor;

use rexmit_analysis::limits::Limit;
use rexmit_analysis::rows::Tables;
use rexmit_analysis::{Options, Run, RunOptions, Summary};
use rexmit_capture::{Reader, Writer};
use rexmit_units::Instant;
use rexmit_wire::sctp::{self, Chunk, DataChunk, Gap, InitChunk, SackChunk};
use rexmit_wire::{Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Transport};

/// A capture that grows.
pub struct Capture {
    writer: Writer<Vec<u8>>,
    time: u64,
    ident: u16,
}

#[allow(dead_code, reason = "shared with the test of memory")]
impl Capture {
    pub fn new() -> Self {
        Self { writer: Writer::new(Vec::new(), "hostile").unwrap(), time: 1_000_000_000, ident: 0 }
    }

    /// A packet so many microseconds after the one before.
    pub fn packet(&mut self, after: u64, packet: &Packet) {
        self.time += after * 1_000;
        self.writer.write_packet(Instant::from_nanos(self.time), packet, None).unwrap();
    }

    /// The same from a host that numbers its packets, `step` more than the one before.
    pub fn numbered(&mut self, after: u64, mut packet: Packet, step: u16) {
        self.ident = self.ident.wrapping_add(step);
        packet.ip.ident = self.ident;
        self.packet(after, &packet);
    }

    /// The same with a comment.
    pub fn noted(&mut self, after: u64, packet: &Packet, comment: &str) {
        self.time += after * 1_000;
        self.writer.write_packet(Instant::from_nanos(self.time), packet, Some(comment)).unwrap();
    }

    /// Bytes as they are.
    pub fn bytes(&mut self, after: u64, packet: &[u8]) {
        self.time += after * 1_000;
        self.writer.write_bytes(Instant::from_nanos(self.time), packet, None, None).unwrap();
    }

    pub fn finish(self) -> Vec<u8> {
        self.writer.finish().unwrap()
    }
}

/// What an analysis came to.
pub struct Judged {
    pub summary: Summary,
    pub steps: u64,
    pub flows: u64,
}

impl Judged {
    pub fn limited(&self, limit: Limit) -> u64 {
        self.summary.limits.of(limit)
    }
}

/// Judges a capture, every table kept.
pub fn judge(bytes: Vec<u8>) -> Judged {
    let reader = Reader::new(Cursor::new(bytes)).expect("a capture");
    let tables = Tables { segments: true, rtt: true, chunks: true, held: false };
    let options = RunOptions { analysis: Options { tables, ..Options::default() }, filter: None };
    let mut run = Run::new(reader, &options);
    let mut tables = rexmit_analysis::tables::Tables::new();
    let (mut flows, mut steps) = (0, 0);
    while let Some(rows) = run.step(1 << 16) {
        // As Python has them.
        drop(tables.take(&rows));
        flows += (rows.connections.len() + rows.sctp.associations.len()) as u64;
        steps = run.steps();
    }
    Judged { summary: run.finish(), steps, flows }
}

fn host(number: u8) -> std::net::IpAddr {
    [10, 0, 0, number].into()
}

/// A packet of SCTP between two hosts, of the client on `port` or back.
pub fn sctp(port: u16, up: bool, chunks: Vec<Chunk>) -> Packet {
    let tag = if matches!(chunks[0], Chunk::Init(_)) { 0 } else { u32::from(port) << 1 | u32::from(up) };
    let (src_port, dst_port) = if up { (port, 80) } else { (80, port) };
    let packet = sctp::Packet { src_port, dst_port, tag, chunks };
    let (src, dst) = if up { (host(1), host(2)) } else { (host(2), host(1)) };
    Packet { src, dst, ip: IpFields::default(), transport: Transport::Sctp(packet), damaged: false }
}

#[allow(dead_code, reason = "shared with the test of memory")]
pub fn init(port: u16, number: u32) -> Packet {
    let init = InitChunk {
        initiate_tag: number,
        window: 1000,
        outbound_streams: 1,
        inbound_streams: 1,
        initial_tsn: 1,
        ..InitChunk::default()
    };
    sctp(port, true, vec![Chunk::Init(init.into())])
}

pub fn data(tsn: u32) -> Chunk {
    Chunk::Data(DataChunk { tsn, payload: Payload::Stream { offset: 0, len: 1 }, ..DataChunk::default() })
}

pub fn sack(cumulative: u32, gaps: &[(u16, u16)], duplicates: Vec<u32>) -> Chunk {
    let gaps = gaps.iter().map(|&(start, end)| Gap { start, end }).collect();
    Chunk::Sack(SackChunk { cumulative, window: 50_000, gaps, duplicates })
}

/// A segment of `port`'s client, or to it.
#[allow(clippy::too_many_arguments, reason = "a segment as it is written: where, which data, which answer")]
pub fn tcp(
    port: u16,
    up: bool,
    (seq, len): (u32, u32),
    ack: u32,
    flags: Flags,
    sack: &[(u32, u32)],
) -> Packet {
    let mut blocks = SackBlocks::default();
    for &(left, right) in sack {
        blocks.push(SeqNumber(left), SeqNumber(right));
    }
    let (src_port, dst_port) = if up { (port, 80) } else { (80, port) };
    let segment = TcpSegment {
        src_port,
        dst_port,
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 60_000,
        sack: blocks,
        sack_permitted: flags.has(Flags::SYN),
        window_scale: flags.has(Flags::SYN).then_some(14),
        payload: Payload::Stream { offset: 0, len },
        ..TcpSegment::default()
    };
    let (src, dst) = if up { (host(1), host(2)) } else { (host(2), host(1)) };
    Packet { src, dst, ip: IpFields::default(), transport: Transport::Tcp(segment), damaged: false }
}

/// SYN, SYN-ACK and ACK; the client's and the server's data begin at 1.
pub fn open(capture: &mut Capture, port: u16) {
    capture.packet(1, &tcp(port, true, (0, 0), 0, Flags::SYN, &[]));
    capture.packet(10, &tcp(port, false, (0, 0), 1, Flags::SYN.with(Flags::ACK), &[]));
    capture.packet(10, &tcp(port, true, (1, 0), 1, Flags::ACK, &[]));
}
