//! Super-packets: split into packets on the wire, and merged again.

#[path = "../../../fuzz/bodies/offload.rs"]
mod body;

use body::pseudo_sum;
use proptest::prelude::*;
use rexmit_live::offload::{Offload, PartialChecksum, Segmentation};
use rexmit_live::packet::{Frame, HEADER_ROOM, RealPacket, Run};
use rexmit_live::pool::Pool;
use rexmit_path::Carried;
use rexmit_wire::{Flags, IpFields, Packet, Payload, SeqNumber, TcpSegment, Timestamps, Transport};

/// A super-packet as a host's stack leaves it to the interface.
#[derive(Clone, Debug)]
struct Super {
    v6: bool,
    size: u16,
    data: Vec<u8>,
    seq: u32,
    ident: u16,
    timestamps: bool,
    cwr: bool,
}

impl Super {
    /// Its packet, as long as it is.
    fn packet(&self) -> Packet {
        let (src, dst) = if self.v6 {
            ("fd00::1".parse().unwrap(), "fd00::2".parse().unwrap())
        } else {
            ("10.0.0.1".parse().unwrap(), "10.0.0.2".parse().unwrap())
        };
        let mut flags = Flags::ACK.with(Flags::PSH).with(Flags::FIN);
        if self.cwr {
            flags = flags.with(Flags::CWR);
        }
        let segment = TcpSegment {
            src_port: 5001,
            dst_port: 49152,
            seq: SeqNumber(self.seq),
            ack: SeqNumber(77),
            flags,
            window: 512,
            timestamps: self.timestamps.then_some(Timestamps { value: 5, echo: 6 }),
            payload: Payload::Bytes(self.data.clone().into()),
            ..TcpSegment::default()
        };
        let ip = IpFields { ident: self.ident, tos: 0b10, ..IpFields::default() };
        Packet { src, dst, ip, transport: Transport::Tcp(segment), damaged: false }
    }

    /// The frame, whose checksum is that of the pseudo-header alone, and its bytes.
    fn frame(&self) -> (Vec<u8>, Frame) {
        let mut bytes = self.packet().emit();
        let tcp = if self.v6 { 40 } else { 20 };
        let sum = pseudo_sum(&bytes, tcp);
        bytes[tcp + 16..tcp + 18].copy_from_slice(&sum.to_be_bytes());
        let header = (bytes.len() - self.data.len()) as u16;
        let offload = Offload {
            segmentation: Some(Segmentation { v6: self.v6, size: self.size, header }),
            checksum: Some(PartialChecksum { start: tcp as u16, offset: 16 }),
        };
        let frame = Frame::new(Pool::default().copy(&bytes), 0, offload).unwrap();
        (bytes, frame)
    }
}

fn supers() -> impl Strategy<Value = Super> {
    let data = (1_usize..20_000, any::<u8>())
        .prop_map(|(len, seed)| (0..len).map(|i| (i as u8).wrapping_mul(31) ^ seed).collect());
    (any::<bool>(), 500_u16..1461, data, any::<u32>(), any::<u16>(), any::<[bool; 2]>()).prop_map(
        |(v6, size, data, seq, ident, [timestamps, cwr])| Super {
            v6,
            size,
            data,
            seq,
            ident,
            timestamps,
            cwr,
        },
    )
}

fn tcp(packet: &Packet) -> &TcpSegment {
    let Transport::Tcp(segment) = &packet.transport else { panic!("no TCP segment: {packet:?}") };
    segment
}

proptest! {
    #[test]
    fn packets_of_a_super_packet_are_those_that_the_kernel_would_send(whole in supers()) {
        let (_, frame) = whole.frame();
        let count = frame.packets() as usize;
        prop_assert_eq!(count, whole.data.len().div_ceil(whole.size.into()));
        let mut data = Vec::new();
        for (n, real) in frame.split().enumerate() {
            let bytes = real.to_bytes();
            prop_assert_eq!(bytes.len() as u64, real.ip_len());
            let packet = Packet::parse(&bytes).unwrap();
            prop_assert!(!packet.damaged, "wrong checksum of packet {}", n);
            let segment = tcp(&packet);
            let at = n * usize::from(whole.size);
            prop_assert_eq!(segment.seq.0, whole.seq.wrapping_add(at as u32));
            let last = n + 1 == count;
            prop_assert_eq!(segment.flags.has(Flags::FIN.with(Flags::PSH)), last);
            prop_assert_eq!(segment.flags.has(Flags::CWR), whole.cwr && n == 0);
            if !whole.v6 {
                prop_assert_eq!(packet.ip.ident, whole.ident.wrapping_add(n as u16));
            }
            let Payload::Bytes(part) = &segment.payload else { panic!("no bytes") };
            prop_assert!(last || part.len() == usize::from(whole.size));
            data.extend_from_slice(part);
        }
        prop_assert_eq!(data, whole.data);
    }

    #[test]
    fn all_packets_merged_again_are_the_bytes_that_came(whole in supers()) {
        let (bytes, frame) = whole.frame();
        let count = frame.packets();
        let run = merged(frame.split());
        let mut room = [0; HEADER_ROOM];
        let out = run.write(&mut room);
        prop_assert_eq!([out.head, out.body].concat(), bytes);
        prop_assert_eq!(out.offload.segmentation.is_some(), count > 1);
        prop_assert_eq!(out.offload.checksum.map(|c| c.offset), Some(16));
    }

    #[test]
    fn a_part_is_again_a_super_packet_of_the_same_packets(whole in supers(), cut in any::<[u16; 2]>()) {
        let (_, frame) = whole.frame();
        let packets: Vec<RealPacket> = frame.split().collect();
        let cut = cut.map(|c| usize::from(c) % packets.len());
        let part = &packets[cut[0].min(cut[1])..=cut[0].max(cut[1])];
        let run = merged(part.iter().cloned());
        let mut room = [0; HEADER_ROOM];
        let out = run.write(&mut room);
        let again = Pool::default().copy(&[out.head, out.body].concat());
        let again = Frame::new(again, 0, out.offload).unwrap();
        let again: Vec<_> = again.split().map(|p| p.to_bytes()).collect();
        let direct: Vec<_> = part.iter().map(RealPacket::to_bytes).collect();
        prop_assert_eq!(again, direct);
    }

    #[test]
    fn effects_change_one_packet_and_leave_the_others(whole in supers(), which in any::<u16>()) {
        let (_, frame) = whole.frame();
        let mut packets: Vec<RealPacket> = frame.split().collect();
        let before: Vec<_> = packets.iter().map(RealPacket::to_bytes).collect();
        let n = usize::from(which) % packets.len();
        prop_assert!(packets[n].mark());
        let marked = Packet::parse(&packets[n].to_bytes()).unwrap();
        prop_assert!(marked.ip.tos & 0b11 == 0b11 && !marked.damaged);
        packets[n].damage();
        prop_assert!(Packet::parse(&packets[n].to_bytes()).unwrap().damaged);
        for (i, packet) in packets.iter().enumerate().filter(|(i, _)| *i != n) {
            prop_assert_eq!(&packet.to_bytes(), &before[i]);
        }
        // It is not part of the super-packet any more.
        if n + 1 < packets.len() {
            prop_assert!(Run::new(packets[n].clone()).extend(packets[n + 1].clone()).is_err());
        }
    }

    #[test]
    fn arbitrary_frames(data in prop::collection::vec(any::<u8>(), 0..600)) {
        body::run(&data);
    }

    #[test]
    fn a_header_is_written_as_it_was_read(header in any::<[u16; 4]>(), kind in 0_u8..3, partial in any::<bool>()) {
        let segmentation = (kind > 0).then_some(Segmentation { v6: kind == 2, size: header[0], header: header[1] });
        let checksum = partial.then_some(PartialChecksum { start: header[2], offset: header[3] });
        let offload = Offload { segmentation, checksum };
        prop_assert_eq!(Offload::decode(offload.encode()).unwrap(), offload);
    }
}

/// The packets in one run.
fn merged(packets: impl IntoIterator<Item = RealPacket>) -> Run {
    let mut packets = packets.into_iter();
    let mut run = Run::new(packets.next().unwrap());
    for packet in packets {
        run.extend(packet).unwrap();
    }
    run
}

#[test]
fn a_copy_does_not_merge_with_its_original() {
    let whole =
        Super { v6: false, size: 1000, data: vec![7; 3000], seq: 1, ident: 2, timestamps: true, cwr: false };
    let packets: Vec<RealPacket> = whole.frame().1.split().collect();
    let mut run = Run::new(packets[0].clone());
    assert!(run.extend(packets[0].clone()).is_err());
    assert!(run.extend(packets[2].clone()).is_err());
    assert!(run.extend(packets[1].clone()).is_ok());
    assert_eq!(run.packets(), 2);
}

#[test]
fn what_is_no_offer_is_refused() {
    assert!(Offload::decode([0, 5, 0, 0, 0, 0, 0, 0, 0, 0]).is_err(), "UDP segmentation");
    let bytes = Pool::default().copy(&[0x45; 30]);
    let offload = Offload {
        segmentation: Some(Segmentation { v6: false, size: 1000, header: 40 }),
        checksum: Some(PartialChecksum { start: 20, offset: 16 }),
    };
    assert!(Frame::new(bytes, 0, offload).is_err(), "headers longer than the packet");
    let bytes = Pool::default().copy(&[0x45; 30]);
    let offload = Offload { segmentation: None, checksum: Some(PartialChecksum { start: 20, offset: 16 }) };
    assert!(Frame::new(bytes, 0, offload).is_err(), "a checksum behind the packet");
}
