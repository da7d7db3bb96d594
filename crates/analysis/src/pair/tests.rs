//! Stories of packets between two captures, and what must be said of them.

pub(crate) mod story;

use rexmit_units::Instant;

use super::{ClockMethod, End, Fate, LostAt, NearBy, Options, PairRows};
use crate::rows::{Cause, Need, Proof, SideName};
use story::{captures, change, known, pair, tale, told};

/// Identification numbers as hosts give them; a lost segment, its recovery, and an ACK that is lost.
const STORY: &str = "
    0    c S 100+0 sackok ident 1 > 10
    10   s S 900+0 ack 101 sackok ident 50 > 10
    20   c . 101+0 ack 901 ident 2 > 10
    21   c . 101+1000 ack 901 ident 3 > 10
    22   c . 1101+1000 ack 901 ident 4 > lost
    23   c . 2101+1000 ack 901 ident 5 > 10
    24   c . 3101+1000 ack 901 ident 6 > 10
    25   c . 4101+1000 ack 901 ident 7 > 10
    31   s . 901+0 ack 1101 ident 51 > 10
    33   s . 901+0 ack 1101 sack 2101-3101 ident 52 > 10
    34   s . 901+0 ack 1101 sack 2101-4101 ident 53 > lost
    35   s . 901+0 ack 1101 sack 2101-5101 ident 54 > 10
    46   c . 1101+1000 ack 901 ident 8 > 10
    56   s . 901+0 ack 5101 ident 55 > 10
";

#[test]
fn each_packet_is_told() {
    let rows = tale(STORY);
    assert_eq!(
        told(&rows),
        [
            "Client 1>1 10 Arrived 0+0",
            "Client 3>3 10 Arrived 1+0",
            "Client 4>4 10 Arrived 1+1000",
            "Client 5>- Lost 1001+1000",
            "Client 6>6 10 Arrived 2001+1000",
            "Client 7>8 10 Arrived 3001+1000",
            "Client 8>10 10 Arrived 4001+1000",
            "Client 12>12 10 Arrived 1001+1000",
            "Server 2>2 10 Arrived 0+0",
            "Server 5>9 10 Arrived 1+0",
            "Server 7>10 10 Arrived 1+0",
            "Server 9>- Lost 1+0",
            "Server 11>11 10 Arrived 1+0",
            "Server 13>13 10 Arrived 1+0",
        ]
    );
}

#[test]
fn sums_and_the_cause_with_both_views() {
    let rows = tale(STORY);
    let [client, server] = &rows.summaries[..] else { panic!("two sides: {rows:?}") };
    assert_eq!((client.side, server.side), (SideName::Client, SideName::Server));
    assert_eq!((client.near_sender, server.near_sender), (End::A, End::B));
    assert_eq!(client.near_by, NearBy::RoundTrip);
    assert_eq!((client.packets, client.arrived, client.lost, client.not_comparable), (8, 7, 1, 0));
    assert_eq!((server.packets, server.arrived, server.lost), (6, 5, 1));
    assert_eq!(client.loss_rate, Some(1.0 / 8.0));
    assert_eq!((client.delay.count, client.delay.min, client.delay.max), (7, 1e7, 1e7));
    assert_eq!((client.lost_before, client.lost_between, client.lost_after, client.spurious), (0, 1, 0, 0));
    let [again] = &rows.retransmissions[..] else { panic!("one retransmission: {rows:?}") };
    assert_eq!((again.seen_at, again.number_received), (End::A, Some(12)));
    assert_eq!(again.lost_at, LostAt::Between);
    assert_eq!((again.judged.need, again.judged.proof), (Need::Needed, Proof::None));
}

#[test]
fn captures_may_be_named_in_either_order() {
    let [a, b] = captures(STORY);
    let rows = pair(&[b, a], &known());
    assert_eq!(rows.summaries[0].near_sender, End::B);
    assert_eq!((rows.summaries[0].lost, rows.summaries[1].lost), (1, 1));
    assert_eq!(rows.retransmissions[0].seen_at, End::B);
    assert_eq!(told(&rows)[3], "Client 5>- Lost 1001+1000");
}

#[test]
fn a_translated_connection_is_known_by_its_numbers() {
    let [a, mut b] = captures(STORY);
    change(&mut b, |packet, _| {
        let inside = "10.0.1.1".parse::<std::net::IpAddr>().unwrap();
        for address in [&mut packet.src, &mut packet.dst] {
            if address.ip() == inside {
                *address = "192.0.2.7:6123".parse().unwrap();
            }
        }
        packet.ident = packet.ident.wrapping_mul(7).wrapping_add(1);
    });
    let rows = pair(&[a, b], &known());
    assert!(rows.summaries[0].translated);
    assert_eq!(told(&rows), told(&tale(STORY)));
}

/// Without identifications and timestamps, duplicate ACKs are equal: the one that is missing shows in the times.
#[test]
fn of_equal_packets_the_missing_one_shows_in_the_times() {
    let acks: String = (0..8)
        .map(|n| format!("{} s . 901+0 ack 101 > {}\n", 40 + 3 * n, if n == 5 { "lost" } else { "10" }))
        .collect();
    let rows = tale(&format!(
        "0  c S 100+0 > 10
         10 s S 900+0 ack 101 > 10
         20 c . 101+0 ack 901 > 10
         21 c . 101+1000 ack 901 > lost
         22 c . 1101+1000 ack 901 > 10\n{acks}
         90 c . 101+1000 ack 901 > 10
         100 s . 901+0 ack 2101 > 10"
    ));
    let lost: Vec<_> = rows.crossings.iter().filter(|row| row.fate == Fate::Lost).collect();
    assert_eq!(lost.len(), 2, "{:#?}", told(&rows));
    assert_eq!(lost[1].time_sent, Some(Instant::from_nanos(55_000_000)));
}

#[test]
fn copies_and_overtaken_packets() {
    let rows = tale(
        "0  c S 100+0 ident 1 > 10
         10 s S 900+0 ack 101 ident 9 > 10
         20 c . 101+1000 ack 901 ident 2 > 18
         21 c . 1101+1000 ack 901 ident 3 > 10
         22 c . 2101+1000 ack 901 ident 4 > 10 12
         23 c . 3101+1000 ack 901 ident 5 > 10 damaged
         24 c . 4101+1000 ack 901 ident 6 > unsent 10
         39 s . 901+0 ack 3101 ident 10 > 10
         39 s . 901+0 ack 3101 ident 10 > lost",
    );
    assert_eq!(
        told(&rows),
        [
            "Client 1>1 10 Arrived 0+0",
            "Client 3>8 18 Arrived 1+1000 reordered",
            "Client 4>3 10 Arrived 1001+1000",
            "Client 5>4 10 Arrived 2001+1000",
            "Client 5>6 12 Arrived 2001+1000 duplicate",
            "Client 6>5 10 Damaged 3001+1000",
            "Client ->7 NotSent 4001+1000",
            "Server 2>2 10 Arrived 0+0",
            "Server 9>7 10 Arrived 1+0",
            "Server 10>- NotComparable 1+0",
        ]
    );
    let client = &rows.summaries[0];
    assert_eq!((client.reordered, client.duplicated, client.damaged, client.not_sent), (1, 1, 1, 1));
    // The second sight of the last ACK is the tap's own.
    assert_eq!(rows.summaries[1].packets, 2);
    assert_eq!(rows.summaries[1].lost, 0);
}

/// A bit error in a field that is compared.
#[test]
fn a_damaged_header_is_known_all_the_same() {
    let [a, mut b] = captures(STORY);
    change(&mut b, |packet, tcp| {
        if packet.ident == 6 {
            tcp.ack += 4096;
            packet.checksum = rexmit_wire::Checksum::Bad;
        }
    });
    let rows = pair(&[a, b], &known());
    let told = told(&rows);
    assert!(told.contains(&"Client 7>8 10 Damaged 3001+1000".to_owned()), "{told:#?}");
    assert_eq!((rows.summaries[0].lost, rows.summaries[0].damaged, rows.summaries[0].not_sent), (1, 1, 0));
}

/// A sender's capture before its network card has cut the packets.
#[test]
fn a_super_packet_is_matched_with_its_parts() {
    let [mut a, b] = captures(
        "0  c S 100+0 ident 1 > 10
         10 s S 900+0 ack 101 ident 9 > 10
         20 c . 101+3000 ack 901 ident 2 > lost
         20.001 c . 101+1000 ack 901 ident 2 > 10
         20.002 c . 1101+1000 ack 901 ident 3 > lost
         20.003 c . 2101+1000 ack 901 ident 4 > 10.5
         31 s . 901+0 ack 1101 ident 10 > 10
         45 c . 1101+1000 ack 901 ident 5 > 10
         55 s . 901+0 ack 3101 ident 11 > 10",
    );
    // The pieces are on the wire only.
    a.packets.retain(|packet| packet.time.as_nanos() % 1_000_000 == 0);
    let rows = pair(&[a, b], &known());
    let told = told(&rows);
    for line in ["1+1000", "2001+1000"] {
        assert!(
            told.iter()
                .any(|told| told.contains("Client 3>") && told.contains("Arrived") && told.ends_with(line))
        );
    }
    assert!(told.iter().any(|told| told.contains("Client 3>- Lost 1001+1000")), "{told:#?}");
    assert_eq!((rows.summaries[0].packets, rows.summaries[0].lost), (5, 1));
    assert_eq!(rows.retransmissions[0].lost_at, LostAt::Between);
}

/// Nothing arrives that shows how many segments were lost together, nor how many arrived together.
#[test]
fn a_super_packet_counts_as_its_segments() {
    let story = |fate: &str| {
        format!(
            "0  c S 100+0 mss 1000 > 10
             10 s S 900+0 ack 101 mss 1000 > 10
             20 c . 101+2500 ack 901 > {fate}
             21 c . 2601+1000 ack 901 > 10
             60 c . 101+2500 ack 901 > 10
             80 s . 901+0 ack 3601 > 10"
        )
    };
    let lost = &tale(&story("lost")).summaries[0];
    assert_eq!((lost.packets, lost.lost, lost.arrived), (8, 3, 5));
    let whole = &tale(&story("10")).summaries[0];
    assert_eq!((whole.packets, whole.lost, whole.arrived), (8, 0, 8));
    let rows = tale(&story("lost"));
    let told = told(&rows);
    for line in ["1+1000", "1001+1000", "2001+500"] {
        assert!(told.contains(&format!("Client 3>- Lost {line}")), "{line}: {told:#?}");
    }
    // A header may claim any length, and a SYN any MSS: neither may buy a row per byte.
    let claims = story("lost").replace("mss 1000", "mss 1");
    assert_eq!(tale(&claims).summaries[0].packets, 4);
}

/// A receiver's capture after its network card has put the packets together.
#[test]
fn a_merged_packet_is_matched_with_what_it_was() {
    let [a, mut b] = captures(
        "0  c S 100+0 ident 1 > 10
         10 s S 900+0 ack 101 ident 9 > 10
         20 c . 101+1000 ack 901 ident 2 > 10.5
         20.1 c . 1101+1000 ack 901 ident 3 > lost
         20.2 c . 2101+1000 ack 901 ident 4 > lost
         31 s . 901+0 ack 3101 ident 10 > 10",
    );
    change(&mut b, |_, tcp| {
        if tcp.len == 1000 {
            tcp.len = 3000;
        }
    });
    let rows = pair(&[a, b], &known());
    let sum = &rows.summaries[0];
    assert_eq!((sum.packets, sum.arrived, sum.lost, sum.reordered), (4, 4, 0, 0), "{:#?}", told(&rows));
}

#[test]
fn what_a_capture_did_not_live_to_see_is_not_lost() {
    let [a, mut b] = captures(STORY);
    // B ends before the retransmission, and begins after the handshake.
    b.packets.retain(|packet| (25_000_000..45_000_000).contains(&packet.time.as_nanos()));
    let rows = pair(&[a, b], &Options { whole: false, ..known() });
    let client = &rows.summaries[0];
    assert_eq!((client.packets, client.lost), (8, 1), "{:#?}", told(&rows));
    assert_eq!(client.not_comparable, 2);
    let whole = pair(&captures(STORY), &Options { whole: false, ..known() });
    assert_eq!((whole.summaries[0].lost, whole.summaries[1].lost), (1, 1));
}

#[test]
fn a_retransmission_of_what_had_arrived_is_spurious() {
    let rows = tale(
        "0    c S 100+0 ident 1 > 10
         10   s S 900+0 ack 101 ident 9 > 10
         20   c . 101+1000 ack 901 ident 2 > 10
         31   s . 901+0 ack 1101 ident 10 > lost
         320  c . 101+1000 ack 901 ident 3 > 10
         331  s . 901+0 ack 1101 ident 11 > 10",
    );
    let row = &rows.retransmissions[0];
    assert_eq!(row.judged.cause, Cause::Timeout);
    assert_eq!(
        (row.judged.need, row.judged.proof, row.lost_at),
        (Need::Spurious, Proof::Arrived, LostAt::Nowhere)
    );
    assert_eq!((rows.summaries[0].spurious, rows.summaries[0].lost_between), (1, 0));
}

/// The far capture is not at the receiver: what it holds may be lost all the same.
#[test]
fn what_is_lost_after_the_far_capture() {
    let rows = tale(
        "0    c S 100+0 sackok ident 1 > 10
         50   s S 900+0 ack 101 sackok ident 9 > 10
         60   c . 101+0 ack 901 ident 2 > 10
         61   c . 101+1000 ack 901 ident 3 > 10
         111  s . 901+0 ack 1101 ident 10 > 10
         122  c . 1101+1000 ack 901 ident 4 > 10
         123  c . 2101+1000 ack 901 ident 5 > 10
         173  s . 901+0 ack 1101 sack 2101-3101 ident 11 > 10
         260  c . 3101+1000 ack 901 ident 6 > 10
         310  s . 901+0 ack 1101 sack 2101-4101 ident 12 > 10
         440  c . 1101+1000 ack 901 ident 7 > 10
         490  s . 901+0 ack 4101 ident 13 > 10",
    );
    let row = &rows.retransmissions[0];
    assert_eq!((row.lost_at, row.judged.need), (LostAt::After, Need::Needed), "{row:#?}");
    assert_eq!(rows.summaries[0].lost_after, 1);
}

/// A retransmission whose first transmission never came to the near capture.
#[test]
fn what_is_lost_before_the_near_capture() {
    let rows = tale(
        "0    c S 100+0 ident 1 > 10
         10   s S 900+0 ack 101 ident 9 > 10
         20   c . 101+0 ack 901 ident 2 > 10
         22   c . 1101+1000 ack 901 ident 4 > 10
         33   s . 901+0 ack 101 ident 10 > 10
         343  c . 101+1000 ack 901 ident 5 > 10
         353  s . 901+0 ack 2101 ident 11 > 10",
    );
    assert_eq!(rows.retransmissions[0].lost_at, LostAt::Before);
    assert_eq!(rows.summaries[0].lost_before, 1);
}

#[test]
fn connections_of_one_capture_only_are_named() {
    let [a, mut b] = captures(&STORY.replace(" c ", " c2 ").replace(" s ", " s2 "));
    let [more, _] = captures(STORY);
    b.packets.extend(more.packets.into_iter().filter(|packet| packet.ident < 3));
    b.packets.iter_mut().zip(1..).for_each(|(packet, number)| packet.number = number);
    let rows = pair(&[a, b], &known());
    assert_eq!(rows.unpaired, [vec![], vec![2]]);
    assert_eq!(rows.summaries.len(), 2);
}

/// A capture misses all packets for a time: what went to it then is not lost, and what came from there was missed.
#[test]
fn a_hole_in_a_capture_is_no_loss() {
    let mut story = String::from(
        "0    c S 100+0 sackok ident 1 > 10
         10   s S 900+0 ack 101 sackok ident 500 > 10
         20   c . 101+0 ack 901 ident 2 > 10\n",
    );
    for n in 0..30 {
        let seq = 101 + 1000 * n;
        story += &format!("{} c . {seq}+1000 ack 901 ident {} > 10\n", 40 + 2 * n, 10 + n);
        story += &format!("{} s . 901+0 ack {} ident {} > 10\n", 50 + 2 * n, seq + 1000, 510 + n);
    }
    let [mut a, b] = captures(&story);
    a.packets.retain(|packet| !(70_000_001..88_000_000).contains(&packet.time.as_nanos()));
    a.packets.iter_mut().zip(1..).for_each(|(packet, number)| packet.number = number);
    let rows = pair(&[a, b], &Options::default());
    let [client, server] = &rows.summaries[..] else { panic!("two sides: {rows:?}") };
    assert_eq!((client.lost, client.not_sent, client.arrived), (0, 8, 24));
    assert_eq!((server.lost, server.not_comparable), (0, 8), "{server:?}");
}

/// A tap with two ports shows each packet twice, at either end, of hosts that number their packets or do not.
#[test]
fn a_doubled_capture_changes_nothing() {
    let options = Options { crossings: true, ..Options::default() };
    let sums = |rows: &PairRows| rows.summaries.clone();
    for (numbered, lag) in [(true, 5_000), (false, 5_000), (true, 3_000_000)] {
        let mut ends = captures(STORY);
        if !numbered {
            ends.iter_mut().for_each(|batch| change(batch, |packet, _| packet.ident = 0));
        }
        let right = pair(&ends, &options);
        assert_eq!((right.summaries[0].lost, right.summaries[1].lost), (1, 1));
        for end in [0, 1] {
            let mut ends = ends.clone();
            let copies = ends[end].packets.clone().into_iter().map(|mut packet| {
                packet.time = Instant::from_nanos(packet.time.as_nanos() + lag);
                packet
            });
            ends[end].packets.extend(copies.collect::<Vec<_>>());
            ends[end].packets.sort_by_key(|packet| packet.time);
            ends[end].packets.iter_mut().zip(1..).for_each(|(packet, number)| packet.number = number);
            let rows = pair(&ends, &options);
            assert_eq!(rows.clock, right.clock, "{numbered} {lag} {end}");
            assert_eq!(sums(&rows), sums(&right), "{numbered} {lag} {end}");
        }
    }
}

/// The tap doubles one direction only: what is one packet still tells of the clocks.
#[test]
fn copies_of_one_direction_hide_no_clock() {
    let [mut a, b] = captures(STORY);
    let copies: Vec<_> = a.packets.iter().filter(|packet| packet.ident < 50).cloned().collect();
    a.packets.extend(copies.into_iter().map(|mut packet| {
        packet.time = Instant::from_nanos(packet.time.as_nanos() + 5_000);
        packet
    }));
    a.packets.sort_by_key(|packet| packet.time);
    a.packets.iter_mut().zip(1..).for_each(|(packet, number)| packet.number = number);
    let rows = pair(&[a, b], &Options::default());
    assert_eq!(rows.clock.method, ClockMethod::BothWays);
    assert_eq!((rows.summaries[0].lost, rows.summaries[0].duplicated), (1, 0));
}

#[test]
fn no_packet_in_common_is_no_clock() {
    let [a, _] = captures(STORY);
    let rows = pair(&[a, Default::default()], &Options::default());
    assert_eq!(rows.clock.method, ClockMethod::Unknown);
    assert_eq!((rows.summaries.len(), rows.unpaired[0].len()), (0, 1));
    let none: PairRows = pair(&Default::default(), &Options::default());
    assert!(none.summaries.is_empty() && none.unpaired.iter().all(Vec::is_empty));
}
