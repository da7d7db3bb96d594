//! Links that follow a trace: mahimahi's opportunities against its own loop, written down here, and a CSV against the
//! same changes in a list.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::common::{burst, down, idents, ms, path, streams, udp};
use proptest::prelude::*;
use rexmit_path::{Direction, Fate, TraceFile};
use rexmit_units::{Duration, Instant};

/// A trace of these lines.
fn trace(lines: &str) -> TraceFile {
    TraceFile::survey("a.trace", Arc::new(lines.as_bytes().to_vec())).expect("a trace")
}

/// The direction `down` of a path that follows a trace of these lines.
fn following(toml: &str, lines: &str) -> Direction {
    let spec = path(toml).down();
    let built = Direction::with_trace(&spec, "down", Duration::ZERO, &mut streams, Some(&trace(lines)));
    built.expect("a valid path")
}

const LINK: &str = "rate = { trace = \"a.trace\" }\n";

/// Of each packet in order, when it leaves.
type Left = Vec<(Instant, u16)>;

/// mahimahi's LinkQueue (`rationalize` in src/frontend/link_queue.cc) with its infinite queue: packets of (arrival in ns,
/// bytes of IP), by their numbers. It ends once all have left, or once `most` opportunities have gone by.
fn link_queue(schedule: &[u64], repeats: bool, packets: &[(u64, u32)], most: usize) -> Left {
    const PACKET_SIZE: u32 = 1504;
    let (mut next_delivery, mut base, mut finished) = (0, 0, false);
    let (mut waiting, mut in_transit) = (VecDeque::new(), None::<(u16, u32)>);
    let mut coming: VecDeque<(u64, u16, u32)> =
        packets.iter().enumerate().map(|(n, &(at, len))| (at, n as u16, len + 4)).collect();
    let mut left = Vec::new();
    for _ in 0..most {
        if finished || left.len() == packets.len() {
            break;
        }
        let now = (schedule[next_delivery] + base) * 1_000_000;
        // `read_packet` calls `rationalize` first: what comes at the time of an opportunity is too late for it.
        while coming.front().is_some_and(|packet| packet.0 < now) {
            waiting.extend(coming.pop_front().map(|(_, n, len)| (n, len)));
        }
        next_delivery = (next_delivery + 1) % schedule.len();
        if next_delivery == 0 {
            base += schedule.last().unwrap();
            finished = !repeats;
        }
        let mut bytes_left = PACKET_SIZE;
        while bytes_left > 0 {
            let Some((n, packet_left)) = in_transit.take().or_else(|| waiting.pop_front()) else { break };
            let amount = packet_left.min(bytes_left);
            bytes_left -= amount;
            if packet_left == amount {
                left.push((Instant::from_nanos(now), n));
            } else {
                in_transit = Some((n, packet_left - amount));
            }
        }
    }
    left
}

/// Sends packets as [`link_queue`] takes them; what comes out, and when.
fn sent(direction: &mut Direction, packets: &[(u64, u32)]) -> Left {
    let mut out = Vec::new();
    for (n, &(at, len)) in packets.iter().enumerate() {
        let now = Instant::from_nanos(at);
        while let Some(due) = direction.poll_timer().filter(|due| *due <= now) {
            out.extend(direction.poll_receive(due).map(|packet| (due, packet.ip.ident)));
        }
        direction.send(now, udp(len, n as u16));
    }
    out.extend(idents(direction));
    out
}

#[test]
fn an_opportunity_carries_a_packet_of_1500_bytes() {
    let mut link = following(LINK, "2\n5\n5\n9\n");
    burst(&mut link, ms(1), 3, 1500);
    assert_eq!(idents(&mut link), [(ms(2), 1), (ms(5), 2), (ms(5), 3)]);
}

#[test]
fn an_opportunity_carries_several_short_packets_and_a_part_of_another() {
    let mut link = following(LINK, "2\n5\n9\n");
    // Five of 400 + 4 bytes: three and 292 bytes of the fourth, then its other 112 and the fifth.
    burst(&mut link, ms(1), 5, 400);
    assert_eq!(idents(&mut link), [(ms(2), 1), (ms(2), 2), (ms(2), 3), (ms(5), 4), (ms(5), 5)]);
}

#[test]
fn what_an_opportunity_does_not_carry_is_lost() {
    let mut link = following(LINK, "2\n5\n9\n");
    link.send(ms(1), udp(40, 1));
    assert_eq!(idents(&mut link), [(ms(2), 1)]);
    // The rest of the opportunity at 2 ms is gone, and so is the one at 5 ms for a packet that comes then.
    link.send(ms(2), udp(40, 2));
    assert_eq!(idents(&mut link), [(ms(5), 2)]);
    link.send(ms(5), udp(40, 3));
    assert_eq!(idents(&mut link), [(ms(9), 3)]);
}

#[test]
fn a_trace_begins_again_at_the_time_of_its_last_line() {
    let mut link = following(LINK, "3\n10\n");
    burst(&mut link, ms(0), 5, 1500);
    assert_eq!(idents(&mut link), [(ms(3), 1), (ms(10), 2), (ms(13), 3), (ms(20), 4), (ms(23), 5)]);
}

#[test]
fn a_trace_that_is_over_carries_nothing_more() {
    let mut link = following("rate = { trace = \"a.trace\", repeat = false }", "3\n10\n");
    burst(&mut link, ms(0), 3, 1500);
    assert_eq!(idents(&mut link), [(ms(3), 1), (ms(10), 2)]);
    assert_eq!(link.in_transit(), 1);
}

#[test]
fn an_hour_without_packets_passes_at_once() {
    let mut link = following(LINK, "3\n10\n");
    let late = Instant::from_nanos(3_600_000_000_000 * 24 * 365 + 4_000_000);
    link.send(late, udp(1500, 1));
    assert_eq!(idents(&mut link), [(late + Duration::from_millis(6), 1)]);
}

#[test]
fn the_queue_before_a_trace_is_that_of_any_link() {
    let mut link = following(&format!("{LINK}queue = \"2 packets\""), "5\n6\n7\n");
    let verdicts = burst(&mut link, ms(1), 3, 1500);
    assert!(matches!(verdicts[2].fate, Fate::QueueFull { .. }));
    assert_eq!(idents(&mut link), [(ms(5), 1), (ms(6), 2)]);
}

#[test]
fn queue_management_counts_the_wait_until_the_opportunity() {
    let toml = format!("{LINK}aqm = {{ codel = {{ target = \"5 ms\", interval = \"20 ms\" }} }}");
    let every_10_ms: String = (1..=100).map(|n| format!("{}\n", n * 10)).collect();
    let mut link = following(&toml, &every_10_ms);
    link.keep_late_verdicts();
    burst(&mut link, ms(1), 50, 1500);
    assert!(idents(&mut link).len() < 50);
    assert!(link.counters().dropped_by_aqm > 0);
}

#[test]
fn a_delay_is_added_behind_the_opportunity() {
    let mut link = following(
        &format!("{LINK}delay = \"30 ms\"\nchanges = [{{ at = \"4 s\", delay = \"1 ms\" }}]"),
        "3\n",
    );
    burst(&mut link, ms(0), 2, 1500);
    assert_eq!(idents(&mut link), [(ms(33), 1), (ms(36), 2)]);
}

proptest! {
    /// Each packet leaves at the opportunity at which it leaves mahimahi's queue.
    #[test]
    fn packets_leave_as_from_mahimahi(
        steps in prop::collection::vec(0..6u64, 1..30),
        gaps in prop::collection::vec((prop_oneof![Just(0), 0..9_000_000u64, Just(2_000_000)], 28..1500u32), 1..80),
        repeats: bool,
    ) {
        let mut at = 0;
        let mut schedule: Vec<u64> = steps.iter().map(|step| { at += step; at }).collect();
        if at == 0 {
            schedule.push(1);
        }
        let mut at = 0;
        let packets: Vec<(u64, u32)> = gaps.iter().map(|&(gap, len)| { at += gap; (at, len) }).collect();
        let lines: String = schedule.iter().map(|time| format!("{time}\n")).collect();
        let mut link = following(&format!("rate = {{ trace = \"a.trace\", repeat = {repeats} }}"), &lines);
        prop_assert_eq!(sent(&mut link, &packets), link_queue(&schedule, repeats, &packets, 1_000_000));
    }

    /// A CSV is the same as its rows in a list of changes, behind every shaper that has changes.
    #[test]
    fn rows_are_changes(
        steps in prop::collection::vec((1..8u64, 1..20u64, 0..30u64), 1..40),
        packets in prop::collection::vec((prop_oneof![Just(0), 0..9_000_000u64], 28..1500u32), 1..80),
        shaper in prop_oneof![Just("exact"), Just("dummynet"), Just("cisco"), Just("tbf")],
        aqm in prop_oneof![Just("none"), Just("codel")],
    ) {
        let mut at = 0;
        let mut csv = String::from("time,rate (kbit/s),delay (ms)\n0 s,4000,20\n");
        let mut list = Vec::new();
        let mut last = (8, 20);
        for (step, rate, delay) in steps {
            at += step;
            // A row that says the same again is not a change of a shaper that is configured anew.
            if (rate, delay) != last {
                csv += &format!("{at} ms,{},{delay}\n", rate * 500);
                let rate_part = if rate == last.0 { String::new() } else { format!("rate = \"{} kbit/s\", ", rate * 500) };
                list.push(format!("{{ at = \"{at} ms\", {rate_part}delay = \"{delay} ms\" }}"));
            }
            last = (rate, delay);
        }
        let aqm = if shaper == "dummynet" { "none" } else { aqm };
        let more = format!("shaper = \"{shaper}\"\naqm = \"{aqm}\"\nlink = \"100 Mbit/s\"\n");
        let listed = format!("rate = \"4 Mbit/s\"\ndelay = \"20 ms\"\nchanges = [{}]\n{more}", list.join(", "));
        let mut at = 0;
        let packets: Vec<(u64, u32)> = packets.iter().map(|&(gap, len)| { at += gap; (at, len) }).collect();
        let mut traced = following(&format!("{LINK}{more}"), &csv);
        prop_assert_eq!(sent(&mut traced, &packets), sent(&mut down(&listed), &packets));
    }
}

#[test]
fn a_csv_that_repeats_holds_its_first_row_at_the_time_of_its_last() {
    let toml = "rate = { trace = \"a.csv\", repeat = true }";
    // 1500 bytes take 12 ms at 1 Mbit/s and 1.2 ms at 10 Mbit/s.
    let mut link = following(toml, "time (ms),rate (Mbit/s)\n0,1\n100,10\n200,5\n");
    for (n, at) in [0, 100, 200, 300, 10_000, 10_100].into_iter().enumerate() {
        link.send(ms(at), udp(1500, n as u16));
    }
    let took: Vec<u64> = idents(&mut link)
        .iter()
        .zip([0, 100, 200, 300, 10_000, 10_100])
        .map(|((out, _), at)| (out.as_nanos() - at * 1_000_000) / 100_000)
        .collect();
    assert_eq!(took, [120, 12, 120, 12, 120, 12]);
}

#[test]
fn the_last_row_of_a_csv_holds_for_ever() {
    let mut link = following("rate = { trace = \"a.csv\" }", "time (s),rate (Mbit/s)\n0,10\n1,1\n");
    link.send(ms(5_000), udp(1500, 1));
    assert_eq!(idents(&mut link), [(ms(5_012), 1)]);
}

#[test]
fn loss_follows_its_column_and_moves_no_other_draw() {
    let csv = "time (s),loss (%)\n0,0\n1,100\n2,0\n";
    let toml = "changes = { trace = \"a.csv\" }\njitter = \"5 ms\"\ndelay = \"20 ms\"\n";
    let mut traced = following(toml, csv);
    let mut plain = down("jitter = \"5 ms\"\ndelay = \"20 ms\"\n");
    let packets: Vec<(u64, u32)> = (0..300).map(|n| (n * 10_000_000, 100)).collect();
    let all = sent(&mut plain, &packets);
    let some = sent(&mut traced, &packets);
    let kept: Left = all.into_iter().filter(|(_, n)| !(100..200).contains(n)).collect();
    // What is not lost comes out when it would have, but for packets that waited for one that is lost now.
    let numbers = |left: &Left| left.iter().map(|(_, n)| *n).collect::<Vec<_>>();
    assert_eq!(numbers(&some), numbers(&kept));
    assert_eq!(some[..100], kept[..100]);
    assert_eq!(traced.counters().dropped_by_loss, 100);
}

#[test]
fn a_trace_longer_than_a_reader_keeps_is_read_again() {
    // The router's credit looks back to its last packet: 20,000 rows before.
    let rows: String = (0..20_000).map(|n| format!("{n},{}\n", 1 + n % 7)).collect();
    let csv = format!("time (ms),rate (Mbit/s)\n{rows}");
    let list: Vec<String> =
        (1..20_000).map(|n| format!("{{ at = \"{n} ms\", rate = \"{} Mbit/s\" }}", 1 + n % 7)).collect();
    let more = "shaper = \"cisco\"\n";
    let mut listed = down(&format!("rate = \"1 Mbit/s\"\n{more}changes = [{}]", list.join(", ")));
    let mut traced = following(&format!("{LINK}{more}"), &csv);
    let packets: Vec<(u64, u32)> =
        (0..40).map(|n| (if n < 20 { n * 1_000_000 } else { 19_000_000_000 + n * 1_000 }, 1500)).collect();
    assert_eq!(sent(&mut traced, &packets), sent(&mut listed, &packets));
}

#[test]
fn what_does_not_go_with_a_trace_is_refused() {
    let mahimahi = trace("3\n10\n");
    let csv = trace("time (s),rate (Mbit/s),loss (%)\n0,10,1\n5,0,2\n");
    let late = trace("time (s),rate (Mbit/s)\n1,10\n");
    let slow = trace("time (s),delay (ms)\n0,10\n");
    let cases = [
        (
            "",
            &mahimahi,
            "shaper = \"tbf\"",
            "path.down.shaper: tbf: the lines of a.trace say when packets leave: leave it out",
        ),
        (
            "",
            &mahimahi,
            "queue = \"50 ms\"",
            "path.down.queue: a queue in time needs one rate, and a trace has many: write \
          such as \"100 packets\" or \"64 KiB\"",
        ),
        (
            "",
            &mahimahi,
            "changes = [{ at = \"1 s\", rate = \"1 Mbit/s\" }]",
            "path.down.changes: the lines of a.trace say when \
          packets leave: leave the changes of the rate out",
        ),
        (
            "changes",
            &mahimahi,
            "",
            "path.down.changes: a.trace has mahimahi's lines, opportunities to send: write \
          path.down.rate = { trace = ... }",
        ),
        (
            "",
            &csv,
            "shaper = \"tbf\"",
            "path.down.rate: a.trace has a rate of 0 bit/s: tbf cannot be given it (EM-TB-11); an \
          outage is for the shapers exact and cisco",
        ),
        (
            "",
            &csv,
            "loss = \"1 %\"",
            "path.down.loss: a.trace has a column of its own for it: leave one of them out",
        ),
        ("", &late, "", "path.down.rate: a.trace begins at 1 s: add a row for the time 0"),
        (
            "",
            &slow,
            "",
            "path.down.rate: a.trace has no column rate: add one, or write path.down.changes = { trace = ... }",
        ),
    ];
    for (key, trace, more, text) in cases {
        let key = if key.is_empty() { "rate" } else { key };
        let spec = path(&format!("{key} = {{ trace = \"a.trace\" }}\n{more}")).down();
        let built = Direction::<rexmit_wire::Packet>::with_trace(
            &spec,
            "down",
            Duration::ZERO,
            &mut streams,
            Some(trace),
        );
        assert_eq!(built.err().expect(text).to_string(), text);
    }
    let two = path("rate = { trace = \"a\" }\nchanges = { trace = \"b\" }");
    let text = "path.changes: a link follows one trace: leave this one or that of the rate out";
    assert_eq!(two.check("path", None).unwrap_err().to_string(), text);
    let short = path("rate = { trace = \"a.trace\", repeat = true }").down();
    let short = Direction::<rexmit_wire::Packet>::with_trace(
        &short,
        "down",
        Duration::ZERO,
        &mut streams,
        Some(&trace("time (ms),rate (Mbit/s)\n0,1\n")),
    );
    let text = "path.down.rate: a.trace ends at 0 s, too soon to begin again: its last row must be at 1 ms at least, or \
                leave repeat out";
    assert_eq!(short.err().expect(text).to_string(), text);
}

#[test]
fn a_pipe_of_dummynets_may_be_set_again_so_often_that_nothing_leaves() {
    // 1,024 bits take 64 s at 16 bit/s and 43 s at 24. Whatever a timer that was set at 24 bit/s finds at 16 is too little,
    // and the next setting takes it.
    let settings =
        "rate = \"1 Mbit/s\"\nchanges = { trace = \"a.trace\", repeat = true }\nshaper = \"dummynet\"";
    let mut link = following(settings, "time (s),rate (bit/s)\n4,16\n12,24\n");
    for n in 0..4 {
        link.send(ms(4_000 * n), udp(128, n as u16));
    }
    let left = [(ms(2), 0), (ms(68_000), 1), (ms(132_000), 2), (Instant::FAR_FUTURE, 3)];
    assert_eq!(idents(&mut link), left);
}
