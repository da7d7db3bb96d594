//! Patterns at work on a direction: positions, times and what packets are.

use crate::common::{burst, down, idents, ms, path, tcp, udp};
use rexmit_path::{Direction, Fate};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, Packet};

const SYN_ACK: Flags = Flags(0x12);
const ACK: Flags = Flags(0x10);
const FIN_ACK: Flags = Flags(0x11);

/// Positions of the packets dropped by the pattern `toml`, which is `drop` of the direction.
fn dropped(pattern: &str, packets: &[Packet]) -> Vec<u64> {
    let mut direction = down(&format!("down.drop = {pattern}"));
    let verdicts = packets.iter().map(|p| direction.send(Instant::ZERO, p.clone()));
    let all: Vec<u64> = verdicts.filter(|v| v.is_drop()).map(|v| v.position).collect();
    assert_eq!(direction.counters().dropped_by_pattern, all.len() as u64);
    all
}

/// The server's packets of a short flow to `port`, its data in segments of 1000 bytes.
fn flow(port: u16, segments: u64) -> Vec<Packet> {
    let data = (0..segments).map(|n| tcp(port, ACK, n * 1000, 1000));
    let end = [tcp(port, FIN_ACK, segments * 1000, 0), tcp(port, ACK, segments * 1000 + 1, 0)];
    std::iter::once(tcp(port, SYN_ACK, 0, 0)).chain(data).chain(end).collect()
}

/// T-EM-11: pattern position 1 drops the SYN-ACK.
#[test]
fn t_em_11_position_1_is_the_syn_ack() {
    let mut direction = down("down.drop = 1");
    let verdict = direction.send(ms(3), flow(5000, 1)[0].clone());
    assert_eq!(verdict.fate, Fate::DroppedByPattern { position: 1 });
    assert_eq!(verdict.to_string(), "dropped by pattern at position 1");
    assert!(!direction.send(ms(4), flow(5000, 1)[1].clone()).is_drop());
    assert_eq!(direction.counters().drops(), 1);
}

/// T-EM-12: position 20 with two retransmissions before: the 20th packet that passes, not the final ACK.
#[test]
fn t_em_12_retransmissions_count() {
    let mut packets = flow(5000, 17);
    assert_eq!(packets.len(), 20);
    packets.insert(5, tcp(5000, ACK, 0, 1000));
    packets.insert(6, tcp(5000, ACK, 1000, 1000));
    assert_eq!(dropped("20", &packets), [20]);
    assert!(packets[19].tcp().expect("TCP").seq_len() > 0);
}

/// EM-DN-11: position 0 loses nothing.
#[test]
fn position_0_loses_nothing() {
    assert!(dropped("0", &flow(5000, 10)).is_empty());
    assert_eq!(path("down.drop = 0").warnings("path").len(), 1);
    assert_eq!(path("down.drop = 1").warnings("path"), Vec::<String>::new());
}

#[test]
fn lists_ranges_and_periods() {
    let packets = flow(5000, 17);
    assert_eq!(dropped("\"1,4,10-12\"", &packets), [1, 4, 10, 11, 12]);
    assert_eq!(dropped("\"18-\"", &packets), [18, 19, 20]);
    assert_eq!(dropped("{ position = \"2,8\", period = 8 }", &packets), [2, 8, 10, 16, 18]);
    assert_eq!(dropped("[3, \"5-6\", { match = \"fin\" }]", &packets), [3, 5, 6, 19]);
}

/// EM-DN-12: a pattern of the generator repeats after 16 x factor packets.
#[test]
fn generator_patterns_repeat() {
    let packets: Vec<Packet> = (0..70).map(|n| udp(100, n)).collect();
    assert_eq!(dropped("{ position = 4, period = 32 }", &packets), [4, 36, 68]);
}

#[test]
fn positions_of_a_flow() {
    let mut packets = Vec::new();
    for (a, b) in flow(5000, 4).into_iter().zip(flow(5001, 4)) {
        packets.extend([a, b]);
    }
    assert_eq!(dropped("{ position = 3 }", &packets), [3]);
    assert_eq!(dropped("{ position = 3, flow = true }", &packets), [5, 6]);
    assert_eq!(dropped("{ position = 3, flow = 5001 }", &packets), [6]);
    assert_eq!(dropped("{ match = \"syn-ack\", flow = 5001 }", &packets), [2]);
    assert_eq!(dropped("{ match = \"data\", nth = 2 }", &packets), [5, 6]);
}

#[test]
fn packets_by_what_they_are() {
    // 1 SYN-ACK, 2-5 data, 6 data 1 again, 7 data 5, 8 data 1 again, 9 FIN, 10 ACK, 11 SYN-ACK again
    let mut packets = flow(5000, 5);
    packets.insert(5, tcp(5000, ACK, 0, 1000));
    packets.insert(7, tcp(5000, ACK, 0, 1000));
    packets.push(tcp(5000, SYN_ACK, 0, 0));
    packets.push(tcp(5000, Flags::SYN, 0, 0));
    packets.push(tcp(5000, Flags::RST, 0, 0));
    assert_eq!(dropped("{ match = \"syn-ack\" }", &packets), [1, 11]);
    assert_eq!(dropped("{ match = \"syn-ack\", nth = 2 }", &packets), [11]);
    assert_eq!(dropped("{ match = \"syn\" }", &packets), [12]);
    assert_eq!(dropped("{ match = \"rst\" }", &packets), [13]);
    assert_eq!(dropped("{ match = \"fin\" }", &packets), [9]);
    assert_eq!(dropped("{ match = \"pure-ack\" }", &packets), [10]);
    assert_eq!(dropped("{ match = \"data\" }", &packets), [2, 3, 4, 5, 6, 7, 8]);
    // By sequence: the fifth segment is the seventh packet, and retransmissions do not count.
    assert_eq!(dropped("{ match = \"data\", nth = \"1,5\" }", &packets), [2, 7]);
    assert_eq!(dropped("{ match = \"data\", nth = 1, period = 2 }", &packets), [2, 4, 7]);
    assert_eq!(dropped("{ match = \"retransmission\" }", &packets), [6, 8]);
    assert_eq!(dropped("{ match = \"retransmission\", nth = 2 }", &packets), [8]);
}

#[test]
fn nth_pure_ack() {
    let packets: Vec<Packet> = (0..6).map(|_| tcp(5000, ACK, 0, 0)).collect();
    assert_eq!(dropped("{ match = \"pure-ack\", nth = \"2-3\" }", &packets), [2, 3]);
}

#[test]
fn retransmissions_of_given_data() {
    let seg = |n: u64| tcp(5000, ACK, n * 1000, 1000);
    // 2-4 data; 5, 6: segment 2 again; 7: segment 3 again; 8: 1.5 segments over the end of segment 2
    let mut packets = vec![tcp(5000, SYN_ACK, 0, 0), seg(0), seg(1), seg(2), seg(1), seg(1), seg(2)];
    packets.push(tcp(5000, ACK, 1500, 1000));
    assert_eq!(dropped("{ retransmission = { segment = 2 } }", &packets), [5, 6]);
    assert_eq!(dropped("{ retransmission = { segment = 2, nth = 2 } }", &packets), [6]);
    assert_eq!(dropped("{ retransmission = { offset = 1999 } }", &packets), [5, 6, 8]);
    assert_eq!(dropped("{ retransmission = { offset = 2000, nth = \"1-2\" } }", &packets), [7, 8]);
    assert!(dropped("{ retransmission = { offset = 0 } }", &packets).is_empty());
}

#[test]
fn times_hold_their_start_and_not_their_end() {
    let sent = |pattern: &str| {
        let mut direction = down(&format!("down.drop = {pattern}"));
        let verdicts = (0..12).map(|n| direction.send(ms(n), udp(100, n as u16)));
        let hit: Vec<u64> =
            verdicts.enumerate().filter(|(_, v)| v.is_drop()).map(|(i, _)| i as u64).collect();
        hit
    };
    assert_eq!(sent("{ time = \"1 ms-2 ms, 5 ms-7.5 ms\" }"), [1, 5, 6, 7]);
    assert_eq!(sent("{ time = \"10 ms-\" }"), [10, 11]);
    assert_eq!(sent("{ time = \"0 s-1 ms\", period = \"4 ms\" }"), [0, 4, 8]);
    assert_eq!(sent("{ switches = \"4 ms, 8 ms\" }"), [4, 5, 6, 7]);
    assert_eq!(sent("{ switches = \"4 ms, 8 ms\", start = 1 }"), [0, 1, 2, 3, 8, 9, 10, 11]);
    assert_eq!(sent("{ switches = \"4 ms, 4 ms\" }"), [] as [u64; 0]);
}

#[test]
fn other_effects() {
    let mut direction = down(
        r#"
        rate = "8 Mbit/s"
        delay = "10 ms"
        down.corrupt = 1
        down.duplicate = 2
        down.hold = { position = 3, by = "5 ms" }
        down.reorder = { position = 5, past = 2 }
        "#,
    );
    let texts: Vec<String> = burst(&mut direction, ms(0), 8, 1000).iter().map(|v| v.to_string()).collect();
    assert_eq!(
        texts[..5],
        [
            "delivered, corrupted",
            "delivered, duplicated",
            "delivered, held for 5 ms",
            "delivered",
            "delivered, held back past 2 packets"
        ]
    );
    // A packet takes 1 ms; the copy of packet 2 takes its own.
    let expected = [(11, 1), (12, 2), (13, 2), (15, 4), (17, 6), (18, 7), (18, 5), (19, 3), (19, 8)];
    assert_eq!(idents(&mut direction), expected.map(|(t, n)| (ms(t), n)));
    assert_eq!(direction.counters().received, 9);
}

#[test]
fn corrupted_packets_are_damaged() {
    let mut direction = down("down.corrupt = 1");
    burst(&mut direction, ms(0), 2, 100);
    assert!(direction.poll_receive(ms(0)).expect("first").damaged);
    assert!(!direction.poll_receive(ms(0)).expect("second").damaged);
}

/// RFC 3168: only an ECN-capable packet may be marked.
#[test]
fn marks_only_ecn_capable_packets() {
    let mut direction = down("down.mark = \"1-3\"");
    let texts: Vec<String> = [0b00, 0b10, 0b01, 0b10]
        .into_iter()
        .map(|tos| {
            let mut packet = udp(100, 1);
            packet.ip.tos = tos;
            direction.send(ms(0), packet).to_string()
        })
        .collect();
    let marked = "delivered, marked congestion experienced";
    assert_eq!(texts, ["delivered", marked, marked, "delivered"]);
    let tos: Vec<u8> = std::iter::from_fn(|| direction.poll_receive(ms(0))).map(|p| p.ip.tos).collect();
    assert_eq!(tos, [0b00, 0b11, 0b11, 0b10]);
}

#[test]
fn held_in_order_makes_others_wait() {
    let mut direction =
        down("delay = \"10 ms\"\ndown.hold = { position = 1, by = \"5 ms\", keep_order = true }");
    direction.send(ms(0), udp(100, 1));
    direction.send(ms(1), udp(100, 2));
    direction.send(ms(7), udp(100, 3));
    assert_eq!(idents(&mut direction), [(ms(15), 1), (ms(15), 2), (ms(17), 3)]);
}

#[test]
fn reordered_packet_comes_out_without_followers() {
    let mut direction =
        down("delay = \"10 ms\"\ndown.reorder = { position = 1, past = 3, within = \"40 ms\" }");
    burst(&mut direction, ms(0), 2, 100);
    assert_eq!(idents(&mut direction), [(ms(10), 2), (ms(50), 1)]);
}

#[test]
fn changes_of_rate_and_delay() {
    let changes = |list: &str| {
        let toml = format!("rate = \"8 Mbit/s\"\ndelay = \"10 ms\"\ndown.changes = [{list}]");
        let mut direction = down(&toml);
        burst(&mut direction, ms(0), 4, 1000);
        idents(&mut direction).iter().map(|p| p.0.as_nanos() / 1_000_000).collect::<Vec<_>>()
    };
    assert_eq!(changes(""), [11, 12, 13, 14]);
    assert_eq!(changes("{ packet = 3, rate = \"4 Mbit/s\" }"), [11, 12, 14, 16]);
    assert_eq!(changes("{ at = \"2 ms\", rate = \"4 Mbit/s\" }"), [11, 12, 14, 16]);
    assert_eq!(changes("{ at = \"3 ms\", delay = \"20 ms\" }"), [11, 12, 23, 24]);
    // By pattern, each time that it names a packet: two settings in turn.
    let in_turn = "{ when = { position = 1, period = 2 }, rate = \"4 Mbit/s\" }, \
                   { when = { position = 2, period = 2 }, rate = \"8 Mbit/s\" }";
    assert_eq!(changes(in_turn), [12, 13, 15, 16]);
    // A shorter delay lets no packet overtake.
    assert_eq!(changes("{ packet = 2, delay = \"1 ms\" }"), [11, 11, 11, 11]);
    assert_eq!(
        changes("{ packet = 2, rate = \"2 Mbit/s\" }, { at = \"5 ms\", rate = \"8 Mbit/s\" }"),
        [11, 15, 16, 17]
    );
}

#[test]
fn changes_by_what_a_packet_is() {
    let mut direction = down("down.changes = [{ when = { match = \"data\", nth = 2 }, delay = \"1 s\" }]");
    let fates: Vec<_> = flow(5000, 3).into_iter().map(|p| direction.send(ms(0), p).fate).collect();
    let at: Vec<u64> = fates
        .iter()
        .map(|f| match f {
            Fate::Delivered { at: Some(at) } => at.as_nanos() / 1_000_000,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(at, [0, 0, 1000, 1000, 1000, 1000]);
    assert!(direction.unreached().is_empty());
    let direction = down("down.changes = [{ packet = 3, delay = \"1 s\" }]");
    assert_eq!(texts(&direction), ["path.down.changes.0: position 3 was never reached (0 packets came)"]);
}

fn texts(direction: &Direction) -> Vec<String> {
    direction.unreached().iter().map(ToString::to_string).collect()
}

#[test]
fn what_was_never_reached() {
    let unreached = |pattern: &str| {
        let mut direction = down(&format!("down.drop = {pattern}"));
        for packet in flow(5000, 7) {
            direction.send(ms(5), packet);
        }
        texts(&direction)
    };
    let none = Vec::<String>::new();
    assert_eq!(unreached("10"), none);
    assert_eq!(unreached("0"), none);
    assert_eq!(unreached("\"3-\""), none);
    assert_eq!(unreached("{ position = 5, period = 8 }"), none);
    assert_eq!(unreached("\"9-30\""), ["path.down.drop: position 11-30 was never reached (10 packets came)"]);
    assert_eq!(
        unreached("{ position = 15, period = 10 }"),
        ["path.down.drop: position 15 was never reached (10 packets came)"]
    );
    assert_eq!(unreached("{ match = \"data\", nth = 8 }").len(), 1);
    assert_eq!(unreached("{ match = \"data\", nth = 7 }"), none);
    assert_eq!(unreached("{ match = \"rst\" }"), ["path.down.drop: no packet was a rst"]);
    assert_eq!(unreached("{ retransmission = { segment = 1 } }").len(), 1);
    assert_eq!(unreached("{ time = \"6 ms-7 ms\" }").len(), 1);
    assert_eq!(unreached("{ time = \"5 ms-7 ms\" }"), none);
    assert_eq!(unreached("{ time = \"1 ms-2 ms\" }"), ["path.down.drop: no packet came at its times"]);
}

#[test]
fn a_pattern_that_met_no_packet_is_counted() {
    let unmet = |toml: &str| {
        let mut direction = down(toml);
        for packet in flow(5000, 7) {
            direction.send(ms(5), packet);
        }
        direction.unmet()
    };
    for met in ["10", "0", "\"3-\"", "\"9-30\"", "{ match = \"data\" }", "{ time = \"5 ms-7 ms\" }"] {
        assert_eq!(unmet(&format!("down.drop = {met}")), 0, "{met}");
    }
    let all = [
        "11",
        "\"11-\"",
        "[11, 40]",
        "{ position = 15, period = 10 }",
        "{ match = \"data\", nth = 8 }",
        "{ match = \"rst\" }",
        "{ retransmission = { segment = 1 } }",
        "{ time = \"6 ms-7 ms\" }",
        "{ time = \"1 ms-2 ms\" }",
    ];
    for never in all {
        assert_eq!(unmet(&format!("down.drop = {never}")), 1, "{never}");
    }
    assert_eq!(unmet("down.drop = 40\ndown.mark = 3\ndown.corrupt = [50, 60]"), 2);
    assert_eq!(unmet("up.drop = 40"), 0);
}

#[test]
fn log_has_a_row_a_packet() {
    let spec = path("queue = \"2 packets\"\nrate = \"1 Mbit/s\"\ndown.drop = 2").down();
    let mut direction =
        Direction::new(&spec, "down", Duration::ZERO, &mut crate::common::streams).expect("valid").with_log();
    let verdicts = burst(&mut direction, ms(7), 4, 200);
    let rows = direction.log();
    assert_eq!(rows.iter().map(|r| r.verdict).collect::<Vec<_>>(), verdicts);
    assert_eq!((rows[1].time, rows[1].packet.ip_len, rows[1].packet.dst_port), (ms(7), 200, 5000));
    let texts: Vec<String> = rows.iter().map(|r| r.verdict.to_string()).collect();
    assert_eq!(
        texts,
        ["delivered", "dropped by pattern at position 2", "delivered", "dropped: queue full (2 packets)"]
    );
}
