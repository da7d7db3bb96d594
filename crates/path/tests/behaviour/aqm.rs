//! Active queue management, by the pseudo-code of the RFCs and by hand.

use crate::common::{burst, down, idents, ms, path, udp, us};
use rexmit_path::{Aqm, Direction, Fate, Verdict};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, Transport};

/// 1250 bytes take 10 ms.
const SLOW: &str = "rate = \"1 Mbit/s\"\n";

fn final_verdicts(direction: &Direction) -> Vec<Verdict> {
    direction.log().iter().map(|row| row.verdict).collect()
}

/// Positions of the packets that were dropped.
fn dropped(direction: &Direction) -> Vec<u64> {
    final_verdicts(direction).iter().filter(|v| v.is_drop()).map(|v| v.position).collect()
}

/// An ECN-capable packet.
fn capable(ip_len: u32, ident: u16) -> Packet {
    let mut packet = udp(ip_len, ident);
    packet.ip.tos |= 0b10;
    packet
}

/// A packet of the flow from a port.
fn of_flow(port: u16, ip_len: u32, ident: u16) -> Packet {
    let mut packet = udp(ip_len, ident);
    if let Transport::Udp(datagram) = &mut packet.transport {
        datagram.src_port = port;
    }
    packet
}

/// RFC 8289, section 5: above the target from 10 ms on, so the first drop is due at 110 ms, the next 100, 100/sqrt(2),
/// 100/sqrt(3) ... ms later, each seen when the next packet leaves.
#[test]
fn codel_s_control_law() {
    let mut path = down(&format!("{SLOW}aqm = \"codel\"")).with_log();
    burst(&mut path, ms(0), 100, 1250);
    let out = idents(&mut path);
    // Packet 12 goes at 110 ms, and 13 leaves then. Drops are due at 210, 280.7, 338.4, 388.4 ms.
    assert_eq!(dropped(&path)[..5], [12, 23, 32, 38, 44]);
    let texts: Vec<String> = final_verdicts(&path)[10..13].iter().map(ToString::to_string).collect();
    assert_eq!(texts, ["delivered", "dropped by codel after 110 ms in the queue", "delivered"]);
    assert_eq!(out[11], (ms(120), 13));
    let counters = path.counters();
    assert_eq!(counters.dropped_by_aqm, dropped(&path).len() as u64);
    assert_eq!((counters.drops() + counters.received, counters.packets), (100, 100));
    assert_eq!(counters.dropped_bytes, counters.drops() * 1250);
}

/// RFC 8289, section 5.5: where dropping starts again soon, it starts at the rate where it was.
#[test]
fn codel_remembers_its_rate() {
    // 56 packets are gone by 0.5 s, with 8 drops or so; the next 60 come then, or after 16 intervals more.
    let episodes = |second: Instant| {
        let mut path = down(&format!("{SLOW}aqm = \"codel\"")).with_log();
        burst(&mut path, ms(0), 56, 1250);
        while let Some(due) = path.poll_timer().filter(|due| *due < second) {
            path.poll_receive(due);
        }
        burst(&mut path, second, 60, 1250);
        idents(&mut path);
        let drops = dropped(&path);
        let (first, then): (Vec<u64>, Vec<u64>) = drops.iter().partition(|position| **position <= 56);
        (first.len() as u32, then)
    };
    let (first, then) = episodes(ms(700));
    // The count was one more than the drops of the first episode, less the one that it began with.
    let gap = 100.0 / f64::from(first - 1).sqrt();
    // Between two drops as many packets leave as fit, at 10 ms each, until one leaves late enough.
    assert_eq!(then[1] - then[0], (gap / 10.0).ceil() as u64 + 1);
    let (_, later) = episodes(ms(2_700));
    assert_eq!(later[1] - later[0], 11);
}

/// Where packets are ECN-capable, they are marked at the moments at which others would be dropped.
#[test]
fn codel_marks() {
    let mut path = down(&format!("{SLOW}aqm = \"codel\"")).with_log();
    for ident in 1..=40 {
        path.send(ms(0), capable(1250, ident));
    }
    let out = crate::common::drain(&mut path);
    assert_eq!((out.len(), path.counters().drops()), (40, 0));
    let marked: Vec<u16> = out.iter().filter(|o| o.1.ip.tos & 0b11 == 0b11).map(|o| o.1.ip.ident).collect();
    // At 110, 210, 290 and 340 ms.
    assert_eq!(marked, [12, 22, 30, 35]);
    assert_eq!(path.counters().marked, 4);
    let text = "delivered, marked congestion experienced by codel";
    assert_eq!(final_verdicts(&path)[11].to_string(), text);
    let mut path = down(&format!("{SLOW}aqm = {{ codel = {{ ecn = false }} }}"));
    for ident in 1..=40 {
        path.send(ms(0), capable(1250, ident));
    }
    idents(&mut path);
    assert!(path.counters().drops() > 0 && path.counters().marked == 0);
}

/// RFC 8289, section 5.6: not a byte more than a packet waits: nothing is dropped, however long it takes.
#[test]
fn codel_leaves_the_last_packet() {
    let mut path = down("rate = \"10 kbit/s\"\naqm = \"codel\"").with_log();
    for second in 0..60 {
        path.send(ms(second * 1000), udp(1250, second as u16));
        path.advance(ms(second * 1000 + 999));
    }
    idents(&mut path);
    assert_eq!(path.counters().drops(), 0);
}

/// RFC 8290, sections 4.1 and 4.2: quanta of 1514 bytes by hand, new flows before old ones.
#[test]
fn fq_codel_takes_turns() {
    let mut path = down(&format!("{SLOW}aqm = \"fq-codel\""));
    for ident in 1..=5 {
        path.send(ms(0), of_flow(1, 1500, ident));
    }
    for ident in 11..=18 {
        path.send(ms(0), of_flow(2, 500, ident));
    }
    // The first leaves at once: 14 bytes of its quantum are left, enough for another. Then the other flow, new, sends
    // until its 1514 are used up; then both as old ones.
    let order: Vec<u16> = idents(&mut path).into_iter().map(|o| o.1).collect();
    assert_eq!(order, [1, 2, 11, 12, 13, 14, 3, 15, 16, 17, 4, 18, 5]);
}

/// RFC 8290, section 4: a flow that sends little does not wait for others' queues.
#[test]
fn fq_codel_prefers_sparse_flows() {
    let waits = |aqm: &str| {
        let mut path =
            down(&format!("rate = \"10 Mbit/s\"\naqm = \"{aqm}\"\nqueue = \"200 packets\"")).with_log();
        for step in 0..100u64 {
            // 20 ms of data each 20 ms, and a small packet in between.
            (0..20).for_each(|_| assert!(!path.send(ms(step * 20), of_flow(1, 1250, 1)).is_drop()));
            path.send(us(step * 20_000 + 4_300), of_flow(2, 100, 2));
        }
        idents(&mut path);
        let small = path.log().iter().filter(|row| row.packet.src_port == 2);
        let wait = small.map(|row| match row.verdict.fate {
            Fate::Delivered { at: Some(at) } => at - row.time,
            other => panic!("{other:?}"),
        });
        wait.max().expect("some")
    };
    // Behind the packet being sent, 1 ms, and its own 0.08 ms.
    assert!(waits("fq-codel") <= Duration::from_micros(1_080), "{}", waits("fq-codel"));
    // In one queue it waits for all that came before.
    assert!(waits("codel") >= Duration::from_millis(15), "{}", waits("codel"));
}

/// RFC 8290, section 4.1: at the hard limit the flow with the most bytes loses, at its head; the verdict is late.
#[test]
fn fq_codel_drops_from_the_fattest_flow() {
    let mut path = down(&format!("{SLOW}aqm = \"fq-codel\"\nqueue = \"5 packets\"")).with_log();
    path.keep_late_verdicts();
    for ident in 1..=5 {
        path.send(ms(0), of_flow(1, 1250, ident));
    }
    assert!(path.send(ms(1), of_flow(2, 1250, 6)).fate == Fate::Undecided);
    let late = path.poll_verdict().expect("another gave way");
    assert_eq!((late.position, late.to_string()), (2, "dropped: queue full (5 packets)".to_owned()));
    assert_eq!(path.queued(ms(1)).0, 5);
    let order: Vec<u16> = idents(&mut path).into_iter().map(|o| o.1).collect();
    assert_eq!(order, [1, 3, 6, 4, 5]);
}

/// Flows without packets are forgotten when nothing of them matters any more, and nothing else changes.
#[test]
fn fq_codel_serves_many_flows() {
    let mut path = down("rate = \"1 Gbit/s\"\naqm = \"fq-codel\"");
    let mut received = 0;
    for n in 0..60_000u64 {
        let now = us(n * 200);
        path.send(now, of_flow(n as u16, 1250, n as u16));
        while path.poll_receive(now).is_some() {
            received += 1;
        }
    }
    received += idents(&mut path).len();
    assert_eq!((received, path.counters().drops()), (60_000, 0));
}

/// Sends 20 % more than the link takes for `seconds`; the mean wait of packets that leave in the last half, in ms, and
/// the share that was dropped.
fn overload(aqm: &str, seconds: u64) -> (f64, f64) {
    let mut path = down(&format!("rate = \"10 Mbit/s\"\naqm = {aqm}\nqueue = \"2000 packets\""));
    let (mut sum, mut number) = (0.0, 0.0);
    let packets = seconds * 1200;
    for n in 0..packets {
        let now = Instant::from_nanos(n * 833_333);
        while let Some(due) = path.poll_timer().filter(|due| *due <= now) {
            if let Some(packet) = path.poll_receive(due).filter(|_| n > packets / 2) {
                // Its identification is the number modulo 2^16, which it has been sent at.
                let back = (n as u16).wrapping_sub(packet.ip.ident);
                sum += (due - Instant::from_nanos((n - u64::from(back)) * 833_333)).as_millis_f64();
                number += 1.0;
            }
        }
        path.send(now, udp(1250, n as u16));
    }
    (sum / number, path.counters().drops() as f64 / packets as f64)
}

/// RFC 8033: under load that does not react, PIE drops the surplus, one in six, and keeps the delay at its target.
#[test]
fn pie_holds_its_target() {
    let (wait, share) = overload("\"pie\"", 60);
    assert!((14.0..19.0).contains(&wait), "{wait} ms");
    assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
    let (wait, _) = overload("{ pie = { target = \"40 ms\" } }", 60);
    assert!((37.0..46.0).contains(&wait), "{wait} ms");
}

/// RFC 8033, section 4.4: a burst of less than 150 ms is let through.
#[test]
fn pie_allows_a_burst() {
    let mut path = down("rate = \"10 Mbit/s\"\naqm = \"pie\"");
    burst(&mut path, ms(0), 140, 1250);
    let passed = idents(&mut path).len();
    assert_eq!(passed, 140);
}

/// RED: a queue that stays long is kept short of its upper threshold; one that is short loses nothing.
#[test]
fn red_keeps_its_average() {
    // At 20 % too much, the probability must be a sixth, between `probability` and 1: gentle, above 15 packets.
    let (wait, share) = overload("\"red\"", 60);
    assert!((15.0..20.0).contains(&wait), "{wait} ms");
    assert!((share - 1.0 / 6.0).abs() < 0.01, "{share}");
    let mut path = down("rate = \"10 Mbit/s\"\naqm = \"red\"");
    for n in 0..1000 {
        burst(&mut path, ms(n * 10), 4, 1250);
    }
    idents(&mut path);
    assert_eq!(path.counters().drops(), 0);
}

/// RED marks below its upper threshold and drops above it (RFC 3168, section 7).
#[test]
fn red_marks_and_drops() {
    let toml = "rate = \"10 Mbit/s\"\naqm = { red = { weight = \"100 %\", probability = \"100 %\" } }";
    let mut path = down(toml).with_log();
    for ident in 1..=40 {
        path.send(ms(0), capable(1250, ident));
    }
    idents(&mut path);
    let text = |position: usize| final_verdicts(&path)[position - 1].to_string();
    // The average is the queue itself: packet 6 finds 4 that wait, packet 16 finds 14.
    assert_eq!(text(6), "delivered");
    let marked: Vec<usize> = (7..=16).filter(|p| text(*p).contains("marked")).collect();
    assert!(!marked.is_empty(), "marks between 5 and 15");
    assert!(marked.iter().all(|p| text(*p) == "delivered, marked congestion experienced by red"));
    assert!((17..=40).all(|p| text(p) == "dropped by red on arrival"), "{}", text(17));
}

/// Behind a bucket and a router's shaper as well.
#[test]
fn other_shapers() {
    for shaper in ["tbf", "cisco"] {
        let toml =
            format!("rate = \"1 Mbit/s\"\nshaper = \"{shaper}\"\naqm = \"codel\"\nqueue = \"50 packets\"");
        let mut path = down(&toml).with_log();
        burst(&mut path, ms(0), 60, 1250);
        idents(&mut path);
        let text = final_verdicts(&path).iter().map(ToString::to_string).find(|t| t.contains("codel"));
        assert!(text.is_some_and(|t| t.starts_with("dropped by codel after 1")), "{shaper}");
        // The bucket's packet at the head, or the one that the router works on, and 50 in all.
        assert!(path.counters().queue_full >= 8, "{shaper}");
    }
}

/// How parameters are written, and what is refused.
#[test]
fn texts() {
    let aqm = |toml: &str| path(toml).down().aqm;
    assert_eq!(aqm("aqm = \"codel\""), aqm("aqm = { codel = {} }"));
    assert_eq!(aqm("aqm = \"pie\"\ndown.aqm = \"none\""), Aqm::None);
    let Aqm::FqCodel(fq) = aqm("aqm = { fq_codel = { quantum = \"300 bytes\", interval = \"50 ms\" } }")
    else {
        panic!("not fq-codel");
    };
    assert_eq!(
        (fq.quantum.as_u64(), fq.interval, fq.target),
        (300, Duration::from_millis(50), Duration::from_millis(5))
    );
    for toml in ["\"codel\"", "\"fq-codel\"", "\"pie\"", "\"red\"", "\"none\""] {
        let spec = path(&format!("aqm = {toml}"));
        let text = toml::to_string(&spec).expect("TOML");
        assert_eq!(path(&text), spec);
    }
    let wrong = |toml: &str| toml::from_str::<rexmit_path::PathSpec>(toml).expect_err("refused").to_string();
    assert!(wrong("aqm = \"cake\"").contains("write \"none\", \"codel\", \"fq-codel\", \"pie\" or \"red\""));
    assert!(wrong("aqm = { codel = {}, pie = {} }").contains("exactly one"));
    assert!(wrong("aqm = { codel = { targe = \"5 ms\" } }").contains("target"));
    let refused = |toml: &str| path(toml).check("path", None).expect_err("refused").to_string();
    assert_eq!(
        refused("shaper = \"dummynet\"\naqm = \"codel\""),
        "path.down.aqm: the shaper dummynet has a plain queue; allowed: the shapers exact, tbf and cisco"
    );
    let red = |red: &str| refused(&format!("aqm = {{ red = {{ {red} }} }}"));
    assert_eq!(red("min = \"20 packets\""), "path.down.aqm.red.max: allowed: more than min");
    assert!(red("min = \"2 kB\"").contains("the unit of min"));
    assert!(refused("up.aqm = { pie = { update = \"0 s\" } }").starts_with("path.up.aqm.pie.update: "));
    assert!(refused("aqm = { pie = { alpha = -1.0 } }").starts_with("path.down.aqm.pie.alpha: "));
    assert!(
        refused("aqm = { codel = { interval = \"0 s\" } }").starts_with("path.down.aqm.codel.interval: ")
    );
}
