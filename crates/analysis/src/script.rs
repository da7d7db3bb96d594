//! Packet scripts for tests: one line per packet, in the manner of tcpdump.
//!
//! ```text
//! MS SIDE FLAGS SEQ+LEN [ack N] [win N] [ws N] [sackok] [sack A-B,C-D] [if N] [damaged] [# comment of the capture]
//! 0.5 c S 100+0 win 65535 ws 1 sackok
//! ```
//! SIDE is `c` or `s`; FLAGS are letters of `SFPR` or `.`; ACK is set where `ack` stands.

use std::net::{IpAddr, Ipv4Addr};

use rexmit_units::Instant;
use rexmit_wire::{Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Transport};

/// The packets of a script: time, interface, packet and comment.
pub(crate) fn packets(script: &str) -> impl Iterator<Item = (Instant, u32, Packet, Option<&str>)> {
    script.lines().map(str::trim).filter(|line| !line.is_empty()).map(|line| {
        let (line, note) = match line.split_once(" # ") {
            Some((line, note)) => (line, Some(note)),
            None => (line, None),
        };
        let (time, interface, packet) = parse(line);
        (time, interface, packet, note)
    })
}

fn parse(line: &str) -> (Instant, u32, Packet) {
    let mut words = line.split_whitespace();
    let mut next = || words.next();
    let ms: f64 = number(next());
    let from_client = next() == Some("c");
    let flags =
        next().expect("flags").chars().fold(Flags::default(), |flags, letter| flags.with(flag(letter)));
    let (seq, len) = next().and_then(|range| range.split_once('+')).expect("SEQ+LEN");
    let mut tcp = TcpSegment {
        src_port: if from_client { 40_000 } else { 80 },
        dst_port: if from_client { 80 } else { 40_000 },
        seq: SeqNumber(number(Some(seq))),
        ack: SeqNumber(0),
        flags,
        window: 1000,
        urgent: 0,
        mss: flags.has(Flags::SYN).then_some(1460),
        window_scale: None,
        sack_permitted: false,
        sack_before_timestamps: false,
        timestamps: None,
        sack: SackBlocks::default(),
        unknown_options: None,
        payload: Payload::Stream { offset: 0, len: number(Some(len)) },
    };
    let (mut interface, mut damaged) = (0, false);
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
            "damaged" => damaged = true,
            other => panic!("unknown word {other} in {line}"),
        }
    }
    let (client, server) = (IpAddr::V4(Ipv4Addr::new(10, 0, 1, 1)), IpAddr::V4(Ipv4Addr::new(10, 0, 2, 2)));
    let (src, dst) = if from_client { (client, server) } else { (server, client) };
    let packet = Packet { src, dst, ip: IpFields::default(), transport: Transport::Tcp(tcp), damaged };
    (Instant::from_nanos((ms * 1e6) as u64), interface, packet)
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
