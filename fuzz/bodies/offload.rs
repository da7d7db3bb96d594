//! Bytes as what an interface with offloads hands over: a virtio-net header and a frame. No input panics; packets are
//! as long as they say and hold the frame's data in order; merged again they are the frame that came. Where the frame
//! is a right one, all checksums of its packets are right, also after a mark.

use rexmit_frames::offload::{Offload, PartialChecksum, Segmentation};
use rexmit_frames::packet::{Frame, HEADER_ROOM, RealPacket, Run};
use rexmit_frames::pool::Pool;
use rexmit_path::Carried;
use rexmit_wire::{Flags, IpFields, Packet, Payload, SeqNumber, TcpSegment, Timestamps, Transport};

/// Runs one input: a first byte that says whether the rest is raw or makes a frame as a host's kernel makes it.
pub fn run(data: &[u8]) {
    match data {
        [0..=127, rest @ ..] => raw(rest),
        [_, rest @ ..] => made(rest),
        [] => {}
    }
}

/// The header's ten bytes, one that says where the IP packet begins, and the frame.
fn raw(data: &[u8]) {
    let Some((header, [link, bytes @ ..])) = data.split_first_chunk() else { return };
    let Ok(offload) = Offload::decode(*header) else { return };
    assert_eq!(Offload::decode(offload.encode()).expect("it was written by us"), offload);
    let link = usize::from(*link % 4) * 7;
    if link > bytes.len() {
        return;
    }
    let Ok(frame) = Frame::new(Pool::default().copy(bytes), link, offload) else { return };
    let packets = split(frame);
    assert!(packets.len() == 1 || offload.segmentation.is_some());
    let merged = merged(&packets);
    let mut room = [0; HEADER_ROOM];
    let out = merged.write(&mut room);
    assert_eq!(out.head.len() + out.body.len(), bytes.len());
    assert!(bytes.ends_with(out.body), "the data are not touched");
    effects(packets);
}

/// Six bytes of fields, then the data.
fn made(data: &[u8]) {
    let Some((&[kind, size, room, seq, ident, tos], data)) = data.split_first_chunk() else { return };
    let v6 = kind & 1 == 1;
    // Sizes as small as the data allow, but not a packet for each byte.
    let size = usize::from(size) * 6 + data.len() / 64 + 1;
    let packet = packet(v6, data, [kind, room, seq, ident, tos]);
    let Transport::Tcp(segment) = &packet.transport else { return };
    let tcp = if v6 { 40 } else { 20 };
    let header = tcp + segment.header_len();
    let mut bytes = packet.emit();
    let sum = pseudo_sum(&bytes, tcp);
    bytes[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
    let offload = Offload {
        segmentation: (kind & 2 == 2).then_some(Segmentation {
            v6,
            size: size as u16,
            header: header as u16,
        }),
        checksum: Some(PartialChecksum { start: tcp as u16, offset: 16 }),
    };
    let frame = Frame::new(Pool::default().copy(&bytes), 0, offload).expect("a right frame");
    let packets = split(frame);
    let size = if kind & 2 == 2 { size } else { data.len().max(1) };
    assert_eq!(packets.len(), data.len().div_ceil(size).max(1));

    let mut at = 0;
    for (n, real) in packets.iter().enumerate() {
        let one = Packet::parse(&real.to_bytes()).expect("a packet");
        assert!(!one.damaged, "wrong checksum of packet {n}");
        let Transport::Tcp(part) = &one.transport else { panic!("no TCP") };
        assert_eq!(part.seq.0, segment.seq.0.wrapping_add(at as u32));
        if packets.len() > 1 {
            let last = n + 1 == packets.len();
            assert!(last || !part.flags.any(Flags::FIN.with(Flags::PSH)), "FIN and PSH are the last one's");
            assert!(n == 0 || !part.flags.has(Flags::CWR), "CWR is the first one's");
        }
        assert!(v6 || one.ip.ident == packet.ip.ident.wrapping_add(n as u16));
        assert_eq!(part.payload_bytes(), &data[at..(at + size).min(data.len())]);
        at = (at + size).min(data.len());
    }
    assert_eq!(at, data.len());

    let run = merged(&packets);
    let mut room = [0; HEADER_ROOM];
    let out = run.write(&mut room);
    assert_eq!([out.head, out.body].concat(), bytes, "all merged again are the bytes that came");
    // A part is a super-packet of the same packets.
    let part = &packets[packets.len() / 3..];
    let run = merged(part);
    let out = run.write(&mut room);
    let again = Frame::new(Pool::default().copy(&[out.head, out.body].concat()), 0, out.offload);
    let again: Vec<_> = split(again.expect("a right frame")).iter().map(RealPacket::to_bytes).collect();
    assert_eq!(again, part.iter().map(RealPacket::to_bytes).collect::<Vec<_>>());
    effects(packets);
}

/// The packets of a frame, each as long as it says.
fn split(frame: Frame) -> Vec<RealPacket> {
    let packets: Vec<RealPacket> = frame.split().collect();
    for packet in &packets {
        assert_eq!(packet.to_bytes().len() as u64, packet.ip_len());
        let _ = (packet.flow(), packet.packet());
    }
    packets
}

fn merged(packets: &[RealPacket]) -> Run {
    let mut run = Run::new(packets[0].clone());
    for packet in &packets[1..] {
        run.extend(packet.clone()).expect("the next one of the same frame");
    }
    run
}

/// A mark leaves checksums right; damage makes a wrong one where there is one, and neither changes a length or another
/// packet.
fn effects(mut packets: Vec<RealPacket>) {
    let n = packets.len() / 2;
    let others = packets.len() > 1;
    let before = packets[0].to_bytes();
    let one = Packet::parse(&packets[n].to_bytes());
    let len = packets[n].ip_len();
    let marked = packets[n].mark();
    if let Ok(one) = &one {
        let now = packets[n].packet();
        assert_eq!(now.damaged, one.damaged);
        assert_eq!(marked, one.ip.tos & 3 != 0);
        assert_eq!(now.ip.tos, if marked { one.ip.tos | 3 } else { one.ip.tos });
        packets[n].damage();
        assert!(packets[n].packet().damaged || !matches!(one.transport, Transport::Tcp(_)) || one.damaged);
    } else {
        packets[n].damage();
    }
    assert_eq!(packets[n].ip_len(), len);
    assert!(!others || n == 0 || packets[0].to_bytes() == before);
}

fn packet(v6: bool, data: &[u8], [kind, room, seq, ident, tos]: [u8; 5]) -> Packet {
    let ends = if v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.0.0.2") };
    let segment = TcpSegment {
        src_port: 5001,
        dst_port: 49_152,
        seq: SeqNumber(u32::MAX - u32::from(seq)),
        ack: SeqNumber(77),
        flags: Flags(room),
        window: 512,
        timestamps: (kind & 4 == 4).then_some(Timestamps { value: 5, echo: 6 }),
        mss: (kind & 8 == 8).then_some(1_000),
        payload: if data.is_empty() { Payload::EMPTY } else { Payload::Bytes(data.into()) },
        ..TcpSegment::default()
    };
    let ip = IpFields { ident: u16::MAX - u16::from(ident), tos, ..IpFields::default() };
    let (src, dst) = (ends.0.parse().expect("an address"), ends.1.parse().expect("an address"));
    Packet { src, dst, ip, transport: Transport::Tcp(segment), damaged: false }
}

/// The sum over the pseudo-header (RFC 9293 section 3.1), word by word.
pub fn pseudo_sum(bytes: &[u8], tcp: usize) -> u16 {
    let addresses = if tcp == 40 { &bytes[8..40] } else { &bytes[12..20] };
    let words = addresses.chunks(2).map(|w| u32::from(u16::from_be_bytes([w[0], w[1]])));
    let mut sum = words.sum::<u32>() + 6 + (bytes.len() - tcp) as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

trait PayloadBytes {
    fn payload_bytes(&self) -> &[u8];
}

impl PayloadBytes for TcpSegment {
    fn payload_bytes(&self) -> &[u8] {
        match &self.payload {
            Payload::Bytes(bytes) => bytes,
            Payload::Stream { .. } => &[],
        }
    }
}
