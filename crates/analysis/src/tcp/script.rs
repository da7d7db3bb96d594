//! Packet scripts for tests of [`Analyzer`]: one line per packet, in the manner of tcpdump.
//!
//! ```text
//! MS SIDE FLAGS SEQ+LEN [ack N] [win N] [ws N] [mss N] [sackok] [sack A-B,C-D] [ts VAL/ECR] [ident N] [urg N] [ttl N]
//!     [if N] [damaged] [# comment of the capture]
//! 0.5 c S 100+0 win 65535 ws 1 sackok ts 7/0
//! ```
//! SIDE is `c` or `s`, or `c2` and so on for further clients at other ports; FLAGS are letters of `SFPREC` or `.`; ACK
//! is set where `ack` stands. Windows are 1000 where nothing is said, SYNs have an MSS of 1460, and identifications
//! are 0, which says nothing. The first packet has number 1. Lines that start with `;` are remarks.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::str::FromStr;

use rexmit_units::Instant;
use rexmit_wire::{Checksum, Flags, SeqNumber, Timestamps};

use crate::packet::{Batch, Packet, Tcp, Transport};
use crate::rows::{ConnectionRow, Rows, Tables};
use crate::{Analyzer, Options};

/// All that an analysis gives for the packets of `script`, every table kept.
pub(crate) fn analyse(script: &str) -> Rows {
    let tables = Tables { segments: true, rtt: true, chunks: true, held: true };
    analyse_with(&Options { tables, ..Options::default() }, script)
}

/// The same with other options.
pub(crate) fn analyse_with(options: &Options, script: &str) -> Rows {
    let mut analyzer = Analyzer::new(options);
    analyzer.push(&batch(script));
    analyzer.finish();
    analyzer.take_rows()
}

/// The only connection that the packets of `script` make.
pub(crate) fn connection(script: &str) -> ConnectionRow {
    let mut rows = analyse(script);
    assert_eq!(rows.connections.len(), 1, "connections");
    rows.connections.remove(0)
}

/// The packets of `script`.
pub(crate) fn batch(script: &str) -> Batch {
    let mut batch = Batch::default();
    let lines = script.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(';'));
    for (line, number) in lines.zip(1..) {
        let (line, note) = match line.split_once(" # ") {
            Some((line, note)) => (line, Some(note)),
            None => (line, None),
        };
        let mut packet = parse(line, number);
        if let Some(note) = note {
            packet.note = Some(batch.notes.len() as u32);
            batch.notes.push(note.into());
        }
        batch.packets.push(packet);
    }
    batch
}

fn parse(line: &str, number: u64) -> Packet {
    let mut words = line.split_whitespace();
    let mut next = || words.next().unwrap_or_else(|| panic!("a word is missing in: {line}"));
    let ms: f64 = value(next());
    let (from_client, port) = side(next());
    let flags = next().chars().fold(Flags::default(), |flags, letter| flags.with(flag(letter)));
    let (seq, len) = pair(next(), '+');
    let mut tcp = Tcp {
        seq: SeqNumber(seq),
        len,
        flags,
        window: 1000,
        mss: flags.has(Flags::SYN).then_some(1460),
        ..Tcp::default()
    };
    let (client, server) = ends(port);
    let (src, dst) = if from_client { (client, server) } else { (server, client) };
    let mut packet = Packet {
        number,
        time: Instant::from_nanos((ms * 1e6).round() as u64),
        interface: 0,
        src,
        dst,
        ttl: 64,
        tos: 0,
        ident: 0,
        checksum: Checksum::Good,
        note: None,
        transport: Transport::Tcp(Tcp::default()),
    };
    while let Some(word) = words.next() {
        let mut next = || words.next().unwrap_or_else(|| panic!("a value is missing in: {line}"));
        match word {
            "if" => packet.interface = value(next()),
            "ident" => packet.ident = value(next()),
            "ttl" => packet.ttl = value(next()),
            "damaged" => packet.checksum = Checksum::Bad,
            word => option(&mut tcp, word, &mut next),
        }
    }
    packet.transport = Transport::Tcp(tcp);
    packet
}

fn option<'a>(tcp: &mut Tcp, word: &str, next: &mut impl FnMut() -> &'a str) {
    match word {
        "ack" => {
            tcp.ack = SeqNumber(value(next()));
            tcp.flags = tcp.flags.with(Flags::ACK);
        }
        "win" => tcp.window = value(next()),
        "ws" => tcp.window_scale = Some(value(next())),
        "mss" => tcp.mss = Some(value(next())),
        "urg" => tcp.urgent = value(next()),
        "sackok" => tcp.sack_permitted = true,
        "ts" => {
            let (value, echo) = pair(next(), '/');
            tcp.timestamps = Some(Timestamps { value, echo });
        }
        "sack" => {
            for block in next().split(',') {
                let (left, right) = pair(block, '-');
                assert!(tcp.sack.push(SeqNumber(left), SeqNumber(right)), "more than four blocks");
            }
        }
        other => panic!("unknown word {other}"),
    }
}

/// Whether the client sends it, and the client's port.
fn side(word: &str) -> (bool, u16) {
    let (name, nth) = word.split_at(1);
    let nth: u16 = if nth.is_empty() { 1 } else { value(nth) };
    match name {
        "c" => (true, 39_999 + nth),
        "s" => (false, 39_999 + nth),
        other => panic!("unknown side {other}"),
    }
}

fn ends(port: u16) -> (SocketAddr, SocketAddr) {
    let (client, server) = (Ipv4Addr::new(10, 0, 1, 1), Ipv4Addr::new(10, 0, 2, 2));
    (SocketAddr::new(IpAddr::V4(client), port), SocketAddr::new(IpAddr::V4(server), 80))
}

fn pair(word: &str, between: char) -> (u32, u32) {
    let (left, right) = word.split_once(between).unwrap_or_else(|| panic!("no {between} in {word}"));
    (value(left), value(right))
}

fn value<T: FromStr>(word: &str) -> T {
    word.parse().unwrap_or_else(|_| panic!("{word} is not a number"))
}

fn flag(letter: char) -> Flags {
    match letter {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'P' => Flags::PSH,
        'R' => Flags::RST,
        'E' => Flags::ECE,
        'C' => Flags::CWR,
        '.' => Flags::default(),
        other => panic!("unknown flag {other}"),
    }
}
