//! A connection written packet by packet, for what no model here does.

use std::net::IpAddr;

use rexmit_capture::{Direction, Writer};
use rexmit_network::two_hosts::{self, CLIENT, SERVER, by_host, choose, peer};
use rexmit_network::{ConnectionId, HostId};
use rexmit_sim::{Earlier, Outcome, TransmissionRow};
use rexmit_stack::Reason;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, IpFields, Packet, Payload, SackBlocks, SeqNumber, TcpSegment, Transport};

use super::ran::Ran;

/// One way between the hosts.
const DELAY: Duration = Duration::from_millis(30);

/// A receiver that takes back what it has reported (RFC 2018 section 8), and a sender that finds that out by its
/// timer. Segments of 1000 bytes; the third of eight is lost, and so is its retransmission; the receiver then drops
/// the five that it holds out of order.
pub fn reneging(name: &str) -> Ran {
    let mut hand = Hand::default();
    hand.packet((0, CLIENT), (0, 0), Reason::Syn { backoff: 0 }, &[]);
    hand.packet((30, SERVER), (0, 0), Reason::SynAck { backoff: 0 }, &[]);
    hand.packet((60, CLIENT), (1, 0), Reason::Ack, &[]);
    for i in 0..8 {
        let sent = hand.packet((90 + i, SERVER), (1 + 1000 * i as i64, 1000), Reason::New, &[]);
        sent.lost = i == 2;
    }
    hand.acked = 1001;
    hand.packet((120, CLIENT), (1, 0), Reason::Ack, &[]);
    hand.acked = 2001;
    hand.packet((121, CLIENT), (1, 0), Reason::Ack, &[]);
    for i in 0..5 {
        hand.packet((123 + i, CLIENT), (1, 0), Reason::Ack, &[(3001, 4001 + 1000 * i as i64)]);
    }
    let fast = Reason::Fast { duplicates: 3, sacked: 3 };
    hand.again(155, (2001, 1000), fast, 2).lost = true;
    let timeout = Reason::Timeout { backoff: 1 };
    hand.again(1155, (2001, 1000), timeout, 3);
    hand.acked = 3001;
    hand.packet((1185, CLIENT), (1, 0), Reason::Ack, &[]); // Nothing of the five is reported any more.
    for i in 0..5 {
        let at = [1215, 1215, 1275, 1275, 1276][i as usize];
        hand.again(at, (3001 + 1000 * i, 1000), Reason::GoBackN, 2);
    }
    for (at, acked) in [(1246, 5001), (1305, 7001), (1306, 8001)] {
        hand.acked = acked;
        hand.packet((at, CLIENT), (1, 0), Reason::Ack, &[]);
    }
    hand.ran(name)
}

fn address(host: HostId) -> IpAddr {
    choose(host, [10, 0, 2, 1], [10, 0, 1, 1]).into()
}

fn port(host: HostId) -> u16 {
    choose(host, 5_001, 10_000)
}

fn initial(host: HostId) -> u32 {
    choose(host, 1_000_000, 5_000_000)
}

/// A packet before it is written.
struct Sent {
    row: TransmissionRow,
    packet: Packet,
    lost: bool,
}

/// Packets as they are written down.
#[derive(Default)]
struct Hand {
    sent: Vec<Sent>,
    /// What the client acknowledges.
    acked: i64,
}

impl Hand {
    /// A packet that leaves at this millisecond from this host: its first number and its bytes, and SACK blocks.
    fn packet(
        &mut self,
        (ms, from): (u64, HostId),
        (seq, len): (i64, u32),
        reason: Reason,
        sack: &[(i64, i64)],
    ) -> &mut Sent {
        let number = |host, at: i64| SeqNumber(initial(host).wrapping_add(at as u32));
        let to = peer(from);
        let opening = matches!(reason, Reason::Syn { .. } | Reason::SynAck { .. });
        let first = matches!(reason, Reason::Syn { .. });
        let flags = match (opening, first) {
            (true, true) => Flags::SYN,
            (true, false) => Flags::SYN.with(Flags::ACK),
            _ => Flags::ACK,
        };
        let mut blocks = SackBlocks::default();
        for &(left, right) in sack {
            blocks.push(number(to, left), number(to, right));
        }
        let acked = if from == CLIENT { self.acked.max(1) } else { 1 };
        let payload = match len {
            0 => Payload::EMPTY,
            len => Payload::Stream { offset: (seq - 1) as u64, len },
        };
        let segment = TcpSegment {
            src_port: port(from),
            dst_port: port(to),
            seq: number(from, seq),
            ack: if first { SeqNumber(0) } else { number(to, acked) },
            flags,
            window: 60_000,
            mss: opening.then_some(1000),
            sack_permitted: opening,
            sack: blocks,
            payload,
            ..TcpSegment::default()
        };
        let position = self.sent.iter().filter(|s| s.row.host == from).count() as u64 + 1;
        let time = Instant::ZERO + Duration::from_millis(ms);
        let ident = position as u16;
        let row = TransmissionRow {
            time,
            host: from,
            connection: ConnectionId::default(),
            position,
            ident,
            seq,
            chunk: None,
            len,
            flags,
            reason,
            transmission: 1,
            earlier: Earlier::None,
            arrived: Some(time + DELAY),
        };
        let packet = Packet {
            src: address(from),
            dst: address(to),
            ip: IpFields { ident, ..IpFields::default() },
            transport: Transport::Tcp(segment),
            damaged: false,
        };
        self.sent.push(Sent { row, packet, lost: false });
        self.sent.last_mut().expect("just pushed")
    }

    /// A segment that the server sends again, for the `times`-th time; the receiver has nothing of it.
    fn again(&mut self, ms: u64, range: (i64, u32), reason: Reason, times: u32) -> &mut Sent {
        let sent = self.packet((ms, SERVER), range, reason, &[]);
        sent.row.transmission = times;
        sent.row.earlier = Earlier::Lost;
        sent
    }

    fn ran(mut self, name: &str) -> Ran {
        self.sent.sort_by_key(|s| s.row.time);
        let mut seen = by_host(|_| Vec::new());
        for sent in &self.sent {
            seen[sent.row.host].push((sent.row.time, sent, Direction::Outbound));
            if !sent.lost {
                seen[peer(sent.row.host)].push((sent.row.time + DELAY, sent, Direction::Inbound));
            }
        }
        let captures = by_host(|host| {
            let records: &mut Vec<(Instant, &Sent, Direction)> = &mut seen[host];
            records.sort_by_key(|r| r.0);
            let mut writer = Writer::new(Vec::new(), two_hosts::host_name(host)).expect("memory");
            for (time, sent, direction) in records {
                writer.write_directed(*time, &sent.packet, Some(*direction), None).expect("memory");
            }
            writer.finish().expect("memory")
        });
        let lost = |sent: &Sent| if sent.lost { None } else { sent.row.arrived };
        let transmissions =
            self.sent.iter().map(|s| TransmissionRow { arrived: lost(s), ..s.row.clone() }).collect();
        let outcome = Outcome { transmissions, captures, ..Outcome::default() };
        Ran::of(name, outcome, by_host(address), by_host(|_| DELAY.as_nanos()))
    }
}
