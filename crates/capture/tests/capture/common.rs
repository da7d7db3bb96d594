//! A small connection as packets.

use rexmit_units::Instant;
use rexmit_wire::{
    Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Timestamps, Transport, UdpDatagram,
};

/// One packet of the connection and what a capture says of it.
pub struct Event {
    pub time: Instant,
    pub packet: Packet,
    pub comment: Option<&'static str>,
}

/// Handshake, data with one damaged segment, SACK, retransmission, FIN; and a UDP datagram.
pub fn connection(ipv6: bool) -> Vec<Event> {
    const FIN: Flags = Flags::FIN.with(Flags::ACK);
    let syn_options = TcpSegment {
        mss: Some(1_460),
        window_scale: Some(1),
        sack_permitted: true,
        timestamps: Some(Timestamps { value: 0, echo: 0 }),
        ..segment(Flags::SYN, 0, 0)
    };
    let mut sack = SackBlocks::default();
    sack.push(SeqNumber(2_448), SeqNumber(3_896));
    let up = |segment: TcpSegment| (false, segment);
    let down = |segment: TcpSegment| (true, segment);
    let data = |n: u32| TcpSegment {
        payload: Payload::Stream { offset: u64::from(n) * 1_448, len: 1_448 },
        ..segment(Flags::ACK.with(Flags::PSH), 1_000 + n * 1_448, 501)
    };
    let script = [
        up(TcpSegment { seq: SeqNumber(500), ..syn_options.clone() }),
        down(TcpSegment {
            flags: Flags::SYN.with(Flags::ACK),
            seq: SeqNumber(999),
            ack: SeqNumber(501),
            ..syn_options
        }),
        up(segment(Flags::ACK, 501, 1_000)),
        down(data(0)),
        down(data(1)),
        up(TcpSegment { sack, ..segment(Flags::ACK, 501, 1_000) }),
        down(data(0)),
        up(segment(Flags::ACK, 501, 3_896)),
        down(segment(FIN, 3_896, 501)),
        up(segment(FIN, 501, 3_897)),
        down(segment(Flags::ACK, 3_897, 502)),
    ];
    let mut events = Vec::new();
    for (i, (is_down, segment)) in script.into_iter().enumerate() {
        let (mut packet, mut comment) = (packet(ipv6, is_down, segment), None);
        if i == 3 {
            packet.damaged = true;
            comment = Some("corrupted by pattern at position 2");
        }
        events.push(Event { time: Instant::from_nanos(i as u64 * 10_000_001), packet, comment });
    }
    let mut datagram = events[0].packet.clone();
    datagram.transport =
        Transport::Udp(UdpDatagram::new(7_000, 7_001, Payload::Bytes(b"odd".as_slice().into())));
    events.push(Event { time: Instant::from_nanos(200_000_000), packet: datagram, comment: None });
    events
}

/// From the client's port to the server's, as if sent by the client.
fn segment(flags: Flags, seq: u32, ack: u32) -> TcpSegment {
    TcpSegment {
        src_port: 40_000,
        dst_port: 5_000,
        seq: SeqNumber(seq),
        ack: SeqNumber(ack),
        flags,
        window: 33_304,
        urgent: 0,
        mss: None,
        window_scale: None,
        sack_permitted: false,
        sack_before_timestamps: false,
        timestamps: Some(Timestamps { value: seq, echo: ack }),
        sack: SackBlocks::default(),
        unknown_options: None,
        payload: Payload::EMPTY,
    }
}

fn packet(ipv6: bool, is_down: bool, mut segment: TcpSegment) -> Packet {
    let (mut src, mut dst) = if ipv6 {
        ([0xfd00, 0, 0, 0, 0, 0, 0, 2].into(), [0xfd00, 0, 0, 0, 0, 0, 0, 1].into())
    } else {
        ([10, 0, 0, 2].into(), [10, 0, 0, 1].into())
    };
    if is_down {
        std::mem::swap(&mut src, &mut dst);
        std::mem::swap(&mut segment.src_port, &mut segment.dst_port);
    }
    Packet { src, dst, ip: IpFields::default(), transport: Transport::Tcp(segment), damaged: false }
}
