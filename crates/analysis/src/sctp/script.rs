//! Packet scripts for tests: one line per packet.
//!
//! ```text
//! MS SIDE[@ADDRESS] CHUNK; CHUNK ... [| ident N] [ttl N] [cut N] [damaged]
//! 0.5 c data 3+100; data 4
//! 9 s sack 3 5-6,8-8 dup 2,2 win 0
//! ```
//! SIDE is `c` or `s`, ADDRESS the number of the path (1 unless given); all numbers of chunks are as on the wire.
//! Chunks: `data TSN[+LEN] [stream N] [u]`, `idata` likewise, `sack CUM [BLOCKS] [dup TSNS] [win N]`, `init TSN`, `initack TSN`,
//! `cookie`, `cookieack`, `hb INFO`, `hback INFO`, `shutdown CUM`, `shutdownack`, `complete`, `abort`, `forward TSN`.
//! Without an opening in the script, the tags are those that its packets carry.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rexmit_units::Instant;
use rexmit_wire::sctp::{self, Chunk, DataChunk, Gap, InitChunk, SackChunk};
use rexmit_wire::{Checksum, Payload};

use super::{Associations, SctpRetransmissionRow, SctpRows};
use crate::options::Options;
use crate::packet::{Packet, Transport};
use crate::rows::Tables;

/// The rows that the packets of `script` make, with all tables and the threshold of pedersen-2006.
pub(crate) fn play(script: &str) -> SctpRows {
    play_with(script, 4)
}

pub(crate) fn play_with(script: &str, missing_reports: u32) -> SctpRows {
    let tables = Tables { segments: true, rtt: true, chunks: true, held: false };
    play_by(&Options { tables, missing_reports, ..Options::default() }, script)
}

/// The same with other options.
pub(crate) fn play_by(options: &Options, script: &str) -> SctpRows {
    let mut associations = Associations::new(options);
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    for (at, line) in lines.enumerate() {
        let (packet, bytes, wire_len) = parse(line, at as u64 + 1);
        associations.push(&packet, &bytes, wire_len);
    }
    associations.finish(usize::MAX);
    associations.take_rows()
}

/// Takes the packet of a line, the first one.
pub(crate) fn push(associations: &mut Associations, line: &str) {
    let (packet, bytes, wire_len) = parse(line, 1);
    associations.push(&packet, &bytes, wire_len);
}

/// A line for each retransmission: number of the packet, TSN, number of the retransmission, class, cause, confidence.
pub(crate) fn judged(rows: &SctpRows) -> Vec<String> {
    rows.retransmissions.iter().map(line).collect()
}

fn line(row: &SctpRetransmissionRow) -> String {
    format!(
        "{} {} R{} {} {} {:?}",
        row.number,
        row.tsn,
        row.retransmission,
        row.class.name(),
        row.cause.name(),
        row.confidence
    )
    .to_lowercase()
}

fn parse(line: &str, number: u64) -> (Packet, Vec<u8>, u32) {
    let (line, extra) = line.split_once('|').unwrap_or((line, ""));
    let (ms, rest) = line.split_once(' ').expect("MS");
    let (side, chunks) = rest.trim().split_once(' ').expect("SIDE");
    let (side, path) = side.split_once('@').unwrap_or((side, "1"));
    let from_client = side == "c";
    let path: u8 = path.parse().expect("a path");
    let client = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path, 1)), 5000);
    let server = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, path, 2)), 80);
    let chunks: Vec<Chunk> = chunks.split(';').map(|text| chunk(text.trim(), from_client)).collect();
    let tag = match &chunks[0] {
        Chunk::Init(_) => 0,
        _ if from_client => SERVER_TAG,
        _ => CLIENT_TAG,
    };
    let (src, dst) = if from_client { (client, server) } else { (server, client) };
    let mut bytes = sctp::Packet { src_port: src.port(), dst_port: dst.port(), tag, chunks }.emit();
    let wire_len = bytes.len() as u32;
    let mut packet = Packet {
        number,
        time: Instant::from_nanos((ms.parse::<f64>().expect("a time") * 1e6).round() as u64),
        interface: 0,
        src,
        dst,
        ttl: 64,
        tos: 0,
        ident: number as u16,
        checksum: Checksum::Good,
        note: None,
        transport: Transport::Sctp { bytes: 0..0, wire_len },
    };
    let mut words = extra.split_whitespace();
    while let Some(word) = words.next() {
        match word {
            "ident" => packet.ident = parsed(words.next()),
            "ttl" => packet.ttl = parsed(words.next()),
            "cut" => bytes.truncate(parsed(words.next())),
            "damaged" => packet.checksum = Checksum::Bad,
            other => panic!("unknown word {other}"),
        }
    }
    (packet, bytes, wire_len)
}

fn chunk(text: &str, from_client: bool) -> Chunk {
    let (kind, rest) = text.split_once(' ').unwrap_or((text, ""));
    let mut words = rest.split_whitespace();
    match kind {
        "data" | "idata" => data(kind == "idata", &mut words),
        "sack" => Chunk::Sack(sack(&mut words)),
        "init" => Chunk::Init(Box::new(init(from_client, parsed(words.next())))),
        "initack" => Chunk::InitAck(Box::new(init(from_client, parsed(words.next())))),
        "cookie" => Chunk::CookieEcho([1, 2, 3].into()),
        "cookieack" => Chunk::CookieAck,
        "hb" => Chunk::Heartbeat(words.next().expect("INFO").as_bytes().into()),
        "hback" => Chunk::HeartbeatAck(words.next().expect("INFO").as_bytes().into()),
        "shutdown" => Chunk::Shutdown { cumulative: parsed(words.next()) },
        "shutdownack" => Chunk::ShutdownAck,
        "complete" => Chunk::ShutdownComplete { reflected: false },
        "abort" => Chunk::Abort { reflected: false, causes: vec![12] },
        "forward" => Chunk::ForwardTsn { cumulative: parsed(words.next()), skipped: Vec::new() },
        other => panic!("unknown chunk {other}"),
    }
}

fn data<'a>(interleaved: bool, words: &mut impl Iterator<Item = &'a str>) -> Chunk {
    let tsn = words.next().expect("TSN");
    let (tsn, len) = tsn.split_once('+').unwrap_or((tsn, "100"));
    let mut chunk = DataChunk {
        tsn: parsed(Some(tsn)),
        begin: true,
        end: true,
        fragment: interleaved.then_some(0),
        payload: Payload::Stream { offset: 0, len: parsed(Some(len)) },
        ..DataChunk::default()
    };
    while let Some(word) = words.next() {
        match word {
            "stream" => chunk.stream = parsed(words.next()),
            "u" => chunk.unordered = true,
            other => panic!("unknown word {other}"),
        }
    }
    Chunk::Data(chunk)
}

fn sack<'a>(words: &mut impl Iterator<Item = &'a str>) -> SackChunk {
    let cumulative: u32 = parsed(words.next());
    let mut sack = SackChunk { cumulative, window: 100_000, ..SackChunk::default() };
    while let Some(word) = words.next() {
        match word {
            "dup" => {
                sack.duplicates =
                    words.next().expect("TSNS").split(',').map(|tsn| parsed(Some(tsn))).collect()
            }
            "win" => sack.window = parsed(words.next()),
            blocks => sack.gaps.extend(blocks.split(',').map(|block| {
                let (start, end) = block.split_once('-').expect("FIRST-LAST");
                let offset = |tsn: &str| parsed::<u32>(Some(tsn)).wrapping_sub(cumulative) as u16;
                Gap { start: offset(start), end: offset(end) }
            })),
        }
    }
    sack
}

fn init(from_client: bool, initial_tsn: u32) -> InitChunk {
    InitChunk {
        initiate_tag: if from_client { CLIENT_TAG } else { SERVER_TAG },
        window: 100_000,
        outbound_streams: 10,
        inbound_streams: 20,
        initial_tsn,
        addresses: if from_client { vec![[10, 0, 1, 1].into(), [10, 0, 2, 1].into()] } else { Vec::new() },
        ..InitChunk::default()
    }
}

fn parsed<T: std::str::FromStr>(word: Option<&str>) -> T {
    word.and_then(|word| word.parse().ok()).expect("a number")
}

const CLIENT_TAG: u32 = 0xc11e;
const SERVER_TAG: u32 = 0x5e24;
