//! Packet scripts for tests: one line per packet, in the manner of tcpdump.
//!
//! ```text
//! MS SIDE FLAGS SEQ+LEN [ack N] [win N] [ws N] [sackok] [sack A-B,C-D] [if N] [id N] [damaged] [# comment of the capture]
//! 0.5 c S 100+0 win 65535 ws 1 sackok
//! ```
//! SIDE is `c` or `s`; FLAGS are letters of `SFPR` or `.`; ACK is set where `ack` stands.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use rexmit_analysis::packet::{Batch, Packet, Tcp, Transport};
use rexmit_analysis::rows::{ConnectionRow, Rows, SackRow, SegmentRow, SideName, Tables};
use rexmit_analysis::{Analyzer, Options};
use rexmit_units::Instant;
use rexmit_wire::{Checksum, Flags, SeqNumber};

/// What an analysis gives of the packets of a script.
pub struct Seen {
    /// All rows.
    pub rows: Rows,
}

/// Judges the packets of `script`.
pub fn play(script: &str) -> Seen {
    let tables = Tables { segments: true, rtt: true, chunks: false, held: false };
    let mut analyzer = Analyzer::new(&Options { tables, ..Options::default() });
    let mut batch = Batch::default();
    for (number, line) in script.lines().map(str::trim).filter(|line| !line.is_empty()).enumerate() {
        let (line, note) = match line.split_once(" # ") {
            Some((line, note)) => (line, Some(note)),
            None => (line, None),
        };
        let mut packet = parse(line, number as u64 + 1);
        packet.note = note.map(|note| {
            batch.notes.push(note.into());
            batch.notes.len() as u32 - 1
        });
        batch.packets.push(packet);
    }
    analyzer.push(&batch);
    analyzer.finish();
    let mut rows = analyzer.take_rows();
    rows.connections.sort_by_key(|row| row.connection);
    Seen { rows }
}

/// The same of a script with one connection.
pub fn play_one(script: &str) -> Seen {
    let seen = play(script);
    assert_eq!(seen.rows.connections.len(), 1);
    seen
}

impl Seen {
    /// The first connection.
    pub fn connection(&self) -> &ConnectionRow {
        &self.rows.connections[0]
    }

    /// What a side of the first connection sent.
    pub fn sent(&self, side: SideName) -> Vec<&SegmentRow> {
        self.rows.segments.iter().filter(|row| row.connection == 1 && row.side == side).collect()
    }

    /// What the other side acknowledged: number, right edge of the window, number among duplicates.
    pub fn acks_for(&self, side: SideName) -> Vec<(i64, i64, u32)> {
        let other = if side == SideName::Client { SideName::Server } else { SideName::Client };
        let edge = |row: &SegmentRow| row.ack.map(|ack| (ack, ack + row.window as i64, row.duplicate));
        self.sent(other).into_iter().filter_map(edge).collect()
    }

    /// The blocks that report the data of a side.
    pub fn sacks_for(&self, side: SideName) -> Vec<&SackRow> {
        self.rows.sacks.iter().filter(|row| row.side != side).collect()
    }
}

fn parse(line: &str, place: u64) -> Packet {
    let mut words = line.split_whitespace();
    let mut next = || words.next();
    let ms: f64 = number(next());
    let from_client = next() == Some("c");
    let flags =
        next().expect("flags").chars().fold(Flags::default(), |flags, letter| flags.with(flag(letter)));
    let (seq, len) = next().and_then(|range| range.split_once('+')).expect("SEQ+LEN");
    let mut tcp = Tcp {
        seq: SeqNumber(number(Some(seq))),
        flags,
        window: 1000,
        len: number(Some(len)),
        mss: flags.has(Flags::SYN).then_some(1460),
        ..Tcp::default()
    };
    // Each packet has an identification of its own: one that comes again is sent again, and no copy of the network.
    let (mut interface, mut damaged, mut ident) = (0, false, place as u16);
    while let Some(word) = next() {
        match word {
            "ack" => {
                tcp.ack = SeqNumber(number(next()));
                tcp.flags = tcp.flags.with(Flags::ACK);
            }
            "win" => tcp.window = number(next()),
            "ws" => tcp.window_scale = Some(number(next())),
            "sackok" => tcp.sack_permitted = true,
            "sack" => {
                for block in next().expect("blocks").split(',') {
                    let (left, right) = block.split_once('-').expect("LEFT-RIGHT");
                    assert!(tcp.sack.push(SeqNumber(number(Some(left))), SeqNumber(number(Some(right)))));
                }
            }
            "if" => interface = number(next()),
            "id" => ident = number(next()),
            "damaged" => damaged = true,
            other => panic!("unknown word {other} in {line}"),
        }
    }
    let address = |last: [u8; 4], port| SocketAddr::new(IpAddr::V4(Ipv4Addr::from(last)), port);
    let (client, server) = (address([10, 0, 1, 1], 40_000), address([10, 0, 2, 2], 80));
    let (src, dst) = if from_client { (client, server) } else { (server, client) };
    Packet {
        number: place,
        time: Instant::from_nanos((ms * 1e6) as u64),
        interface,
        src,
        dst,
        ttl: 64,
        tos: 0,
        ident,
        checksum: if damaged { Checksum::Bad } else { Checksum::Good },
        note: None,
        transport: Transport::Tcp(tcp),
    }
}

fn number<T: std::str::FromStr>(word: Option<&str>) -> T {
    word.and_then(|word| word.parse().ok()).expect("a number")
}

fn flag(letter: char) -> Flags {
    match letter {
        'S' => Flags::SYN,
        'F' => Flags::FIN,
        'P' => Flags::PSH,
        'R' => Flags::RST,
        '.' => Flags::default(),
        other => panic!("unknown flag {other}"),
    }
}
