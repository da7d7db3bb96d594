//! Two captures of one flow: no input panics, and every row holds together with the others. The input is two captures
//! as they are, or steps that make two which tell of the same packets, with losses, copies, damage, super-packets and
//! clocks that differ.

use std::io::Cursor;

use rexmit_analysis::Filter;
use rexmit_analysis::pair::{End, Fate, Options, PairRows, PairRun};
use rexmit_capture::{Reader, Writer};
use rexmit_units::Instant;
use rexmit_wire::{
    Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps, Transport,
};

/// Runs one input: a byte of flags, then what they say.
pub fn run(data: &[u8]) {
    let Some((&flags, rest)) = data.split_first() else { return };
    let [a, b] = if flags & 1 == 1 { raw(rest) } else { made(flags, rest) };
    let (Ok(a), Ok(b)) = (Reader::new(Cursor::new(a)), Reader::new(Cursor::new(b))) else { return };
    let options =
        Options { same_clock: flags & 2 == 2, whole: flags & 4 == 4, crossings: true, ..Options::default() };
    let filter = (flags & 64 == 64).then(|| Filter::parse("tcp.port == 80").expect("a filter"));
    let mut pairing = PairRun::new(a, b, filter.as_ref(), &options);
    while pairing.step(100) {}
    let (rows, summaries) = pairing.finish();
    for summary in summaries {
        assert_eq!(summary.tcp + summary.sctp + summary.skipped.records(), summary.packets);
    }
    look(&rows);
}

/// What every row must say together with the others.
fn look(rows: &PairRows) {
    for summary in &rows.summaries {
        let s = summary;
        assert_eq!(s.packets, s.arrived + s.lost + s.damaged + s.not_comparable, "{s:?}");
        assert!(s.reordered <= s.arrived + s.damaged, "{s:?}");
        assert!(s.loss_rate.is_none_or(|rate| (0.0..=1.0).contains(&rate)), "{s:?}");
        assert!(s.delay.min <= s.delay.mean && s.delay.mean <= s.delay.max, "{s:?}");
        let of = |fate| {
            let mine = rows.crossings.iter().filter(|row| row.pair == s.pair && row.side == s.side);
            mine.filter(|row| row.fate == fate && !row.duplicate).count() as u64
        };
        assert_eq!((of(Fate::Lost), of(Fate::Arrived)), (s.lost, s.arrived), "{s:?}");
        let other = if s.near_sender == End::A { End::B } else { End::A };
        let judged =
            rows.retransmissions.iter().filter(|row| row.pair == s.pair && row.judged.side == s.side);
        assert!(judged.clone().all(|row| row.seen_at == s.near_sender || row.seen_at == other));
        assert!(s.lost_before + s.lost_between + s.lost_after <= judged.count() as u64, "{s:?}");
    }
    for row in &rows.crossings {
        assert!(row.number_sent.is_some() || row.number_received.is_some());
        assert_eq!(row.delay.is_some(), row.number_sent.is_some() && row.number_received.is_some());
        assert!(row.fate != Fate::Arrived || row.delay.is_some());
    }
}

/// A length of two bytes, a capture so long, and another one.
fn raw(data: &[u8]) -> [Vec<u8>; 2] {
    let Some((len, rest)) = data.split_first_chunk() else { return Default::default() };
    let (a, b) = rest.split_at(usize::from(u16::from_le_bytes(*len)).min(rest.len()));
    [a.to_vec(), b.to_vec()]
}

/// Six bytes a packet.
fn made(flags: u8, data: &[u8]) -> [Vec<u8>; 2] {
    let mut seen: [Vec<(u64, Vec<u8>)>; 2] = Default::default();
    let mut time = 1_000_000_000;
    for (number, step) in data.chunks_exact(6).take(MOST).enumerate() {
        let &[kind, seq, ack, wait, delay, fate] = step else { continue };
        time += u64::from(wait) * u64::from(wait) * 1_000;
        let up = kind & 1 == 0;
        let parts = if fate & 0xc0 == 0xc0 { 3 } else { 1 };
        let sent = packet(kind, [seq, ack], number, parts, 0);
        let got: Vec<Packet> = (0..parts).map(|part| packet(kind, [seq, ack], number, 1, part)).collect();
        let (near, far) = if up { (0, 1) } else { (1, 0) };
        if fate & 3 != 3 {
            seen[near].push((by_clock(near, time, flags), bytes(&sent, near, flags)));
        }
        let arrival = time + u64::from(delay) * 400_000;
        for copy in 0..=u64::from(fate & 0x1c == 0x1c) {
            for packet in &got {
                if fate & 3 == 2 {
                    continue;
                }
                let mut bytes = bytes(packet, far, flags);
                if fate & 0x3c == 0x20 {
                    bytes.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1);
                }
                seen[far].push((by_clock(far, arrival + copy * 50_000, flags), bytes));
            }
        }
    }
    seen.map(|mut packets| {
        packets.sort_by_key(|(time, _)| *time);
        let mut writer = Writer::new(Vec::new(), "fuzz").expect("memory takes all");
        for (time, bytes) in packets {
            writer.write_bytes(Instant::from_nanos(time), &bytes, None, None).expect("memory takes all");
        }
        writer.finish().expect("memory takes all")
    })
}

/// B's clock is ahead, and runs too fast where the flags say so.
fn by_clock(end: usize, time: u64, flags: u8) -> u64 {
    match (end, flags & 8 == 8) {
        (0, _) | (1, false) => time,
        _ => time + 3_000_000 + time / 10_000,
    }
}

/// A packet as a capture has it; behind a translator the client has another address.
fn bytes(packet: &Packet, end: usize, flags: u8) -> Vec<u8> {
    let mut packet = packet.clone();
    if end == 1 && flags & 16 == 16 {
        for address in [&mut packet.src, &mut packet.dst] {
            if *address == CLIENT {
                *address = [192, 0, 2, 1].into();
            }
        }
    }
    packet.ip.ttl = if end == 0 { 64 } else { 60 };
    packet.emit()
}

/// Part `part` of a segment, or `parts` of them as one.
fn packet(kind: u8, [seq, ack]: [u8; 2], number: usize, parts: u32, part: u32) -> Packet {
    let up = kind & 1 == 0;
    let len = if kind & 6 == 0 { 0 } else { 100 };
    let flags = match kind >> 3 {
        31 => Flags::SYN,
        30 => Flags::SYN.with(Flags::ACK),
        29 => Flags::FIN.with(Flags::ACK),
        28 => Flags::RST,
        _ => Flags::ACK,
    };
    let mut sack = SackBlocks::default();
    if kind & 0x60 == 0x20 {
        let left = u32::from(ack) * 100 + 200;
        sack.push(SeqNumber(left), SeqNumber(left + 100 * u32::from(seq % 4 + 1)));
    }
    let (src_port, dst_port) = if up { (40_000, 80) } else { (80, 40_000) };
    let segment = TcpSegment {
        src_port,
        dst_port,
        seq: SeqNumber(u32::from(seq % 64) * 100 + part * len),
        ack: SeqNumber(u32::from(ack % 64) * 100),
        flags,
        window: 60_000,
        sack_permitted: flags.has(Flags::SYN),
        timestamps: (kind & 0x40 == 0x40).then_some(Timestamps { value: number as u32, echo: ack.into() }),
        sack,
        payload: Payload::Stream { offset: 0, len: len * parts },
        ..TcpSegment::default()
    };
    let (src, dst) = if up { (CLIENT, SERVER) } else { (SERVER, CLIENT) };
    let ident = if kind & 0x80 == 0 { number as u16 + part as u16 } else { 0 };
    let ip = IpFields { ident, ..IpFields::default() };
    Packet { src, dst, ip, transport: Transport::Tcp(segment), damaged: false }
}

/// Packets at most: of more, nothing new is learnt.
const MOST: usize = 200;
const CLIENT: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 1));
const SERVER: std::net::IpAddr = std::net::IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
