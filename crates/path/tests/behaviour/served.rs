//! What holds for every bottleneck that is served event by event, under every sequence of packets.

use crate::common::{down, idents, ms, udp};
use proptest::prelude::*;
use rexmit_path::{Direction, Duplicated, Fate, Verdict};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Packet, Transport};

/// A packet as a test sends it: gap (ns), length, port of its flow.
type Sent = (u64, u32, u16);

fn packet((_, len, port): Sent, ident: u16) -> Packet {
    let mut packet = udp(len, ident);
    packet.ip.tos = if port % 2 == 0 { 0b10 } else { 0 };
    if let Transport::Udp(datagram) = &mut packet.transport {
        datagram.src_port = port;
    }
    packet
}

/// Everything that a direction says of packets.
#[derive(Debug, Default, PartialEq)]
struct Said {
    /// The final verdicts, by position.
    verdicts: Vec<Verdict>,
    /// What came out: when, and its identification.
    out: Vec<(Instant, u16)>,
}

/// Sends packets, receiving what is due before each where it `looks`; checks what must hold at each step.
fn run(direction: Direction, packets: &[Sent], looks: bool) -> Said {
    let mut direction = direction.with_log();
    direction.keep_late_verdicts();
    let mut said = Said::default();
    let mut now = Instant::ZERO;
    for (ident, sent) in packets.iter().enumerate() {
        now += Duration::from_nanos(sent.0);
        while let Some(due) = direction.poll_timer().filter(|due| looks && *due <= now) {
            said.out.extend(direction.poll_receive(due).map(|p| (due, p.ip.ident)));
        }
        said.verdicts.push(direction.send(now, packet(*sent, ident as u16)));
        settle(&mut direction, &mut said);
        let counters = direction.counters();
        let copies = counters.packets;
        let inside = direction.in_transit() as u64;
        assert!(counters.received + counters.drops() + inside <= counters.packets + copies);
        assert!(counters.received + counters.drops() + inside >= counters.packets);
    }
    while let Some(due) = direction.poll_timer() {
        while let Some(packet) = direction.poll_receive(due) {
            said.out.push((due, packet.ip.ident));
        }
        settle(&mut direction, &mut said);
    }
    let logged: Vec<Verdict> = direction.log().iter().map(|row| row.verdict).collect();
    assert_eq!(logged, said.verdicts, "the log and what was said at once or later");
    assert_eq!(direction.in_transit(), 0);
    assert_eq!(direction.queued(Instant::FAR_FUTURE), (0, 0));
    let counters = direction.counters();
    assert_eq!(counters.packets + counters.duplicated, counters.received + counters.drops());
    said
}

/// Takes late verdicts, each for a packet that was undecided.
fn settle(direction: &mut Direction, said: &mut Said) {
    while let Some(verdict) = direction.poll_verdict() {
        let place = &mut said.verdicts[verdict.position as usize - 1];
        assert!(!place.is_final() && verdict.is_final(), "{place:?} became {verdict:?}");
        *place = verdict;
    }
}

fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![Just(0), 0..5_000_000u64];
    prop::collection::vec((gap, 28..1500u32, 1..6u16), 1..200)
}

fn managed() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "none",
        "codel",
        "fq-codel",
        "pie",
        "red",
        "{ codel = { target = \"1 ms\", interval = \"5 ms\" } }",
        "{ fq_codel = { target = \"0 s\", interval = \"2 ms\", quantum = \"100 bytes\" } }",
        "{ pie = { target = \"1 ms\", update = \"1 ms\", burst = \"0 s\", mean_packet = \"1 bytes\" } }",
        "{ red = { min = \"2 packets\", max = \"4 packets\", weight = \"50 %\", probability = \"50 %\" } }",
        "{ red = { min = \"2000 bytes\", max = \"4000 bytes\", weight = \"50 %\", gentle = false } }",
    ])
    .prop_map(|aqm: &str| aqm)
}

fn value(aqm: &str) -> String {
    if aqm.starts_with('{') { aqm.to_owned() } else { format!("\"{aqm}\"") }
}

/// A shape with some shaper, and whether it needs its packets to be of some length.
fn shape() -> impl Strategy<Value = String> {
    let shaper = prop::sample::select(vec!["exact", "tbf", "cisco"]);
    let queue = prop_oneof![
        (1..20u32).prop_map(|n| format!("{n} packets")),
        (1500..20_000u32).prop_map(|n| format!("{n} bytes")),
    ];
    let link = prop::option::of(1_000_000..100_000_000u64);
    let all = (shaper, 10_000..50_000_000u64, 0..20_000u64, queue, link, 0..40u64);
    all.prop_map(|(shaper, rate, delay, queue, link, overhead)| {
        let link = link.map(|l| format!("link = \"{l} bit/s\"\n")).unwrap_or_default();
        format!(
            "rate = \"{rate} bit/s\"\ndelay = \"{delay} us\"\nqueue = \"{queue}\"\nshaper = \"{shaper}\"\n\
             overhead = \"{overhead} bytes\"\n{link}"
        )
    })
}

const EFFECTS: &str = r#"
    down.drop = { position = "3,5-6", period = 11 }
    down.corrupt = { position = 4, period = 7 }
    down.mark = { position = 6, period = 9 }
    down.duplicate = { position = 2, period = 5 }
    down.hold = { position = 3, period = 13, by = "3 ms" }
    down.reorder = { position = 7, period = 17, past = 3, within = "20 ms" }
    down.loss = "2 %"
    down.jitter = { spread = "2 ms", distribution = "normal", reorder = true }
    down.changes = [{ at = "20 ms", rate = "3 Mbit/s" }, { packet = 30, delay = "1 ms" }]
"#;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each packet comes out or has a verdict that says why not; no drop is silent, no verdict comes twice.
    #[test]
    fn packets_are_conserved(shape in shape(), aqm in managed(), packets in packets(), effects: bool) {
        let toml = format!("{shape}aqm = {}\n{}", value(aqm), if effects { EFFECTS } else { "" });
        let Said { verdicts, out } = run(down(&toml), &packets, true);
        prop_assert!(out.is_sorted_by_key(|o| o.0));
        for (ident, verdict) in verdicts.iter().enumerate() {
            let came: Vec<Instant> = out.iter().filter(|o| o.1 == ident as u16).map(|o| o.0).collect();
            let copies = usize::from(verdict.effects.duplicated == Duplicated::Delivered);
            match verdict.fate {
                Fate::Delivered { at } => {
                    prop_assert_eq!(came.len(), 1 + copies);
                    prop_assert!(at.is_none_or(|at| came.contains(&at)));
                }
                Fate::Undecided => prop_assert!(false, "undecided at the end"),
                _ => prop_assert_eq!(came.len(), copies),
            }
        }
    }

    /// Packets of a flow keep their order, and all do where the queue is one.
    #[test]
    fn order_is_kept(shape in shape(), aqm in managed(), packets in packets()) {
        let out = run(down(&format!("{shape}aqm = {}", value(aqm))), &packets, true).out;
        for flow in 1..6 {
            let of_flow = out.iter().map(|o| o.1).filter(|ident| packets[usize::from(*ident)].2 == flow);
            prop_assert!(of_flow.is_sorted());
        }
        prop_assert!(aqm.contains("fq") || out.is_sorted_by_key(|o| o.1));
    }

    /// Whether anybody looks in between changes nothing, and runs repeat.
    #[test]
    fn looking_changes_nothing(shape in shape(), aqm in managed(), packets in packets(), effects: bool) {
        let toml = format!("{shape}aqm = {}\n{}", value(aqm), if effects { EFFECTS } else { "" });
        let (seen, unseen) = (run(down(&toml), &packets, true), run(down(&toml), &packets, false));
        let by_packet = |out: &[(Instant, u16)]| {
            let mut out = out.to_vec();
            out.sort_unstable();
            out
        };
        // Received late, packets of the past come out at the first instant at which somebody looks.
        prop_assert_eq!(&seen.verdicts, &unseen.verdicts);
        let idents = |said: &Said| by_packet(&said.out).iter().map(|o| o.1).collect::<std::collections::BTreeSet<_>>();
        prop_assert_eq!(idents(&seen), idents(&unseen));
        prop_assert_eq!(run(down(&toml), &packets, true), seen);
    }

    /// What the queue holds follows from the log's times in it. A second copy has none: nothing is duplicated here.
    #[test]
    fn the_log_tells_what_the_queue_holds(shape in shape(), aqm in managed(), packets in packets(), effects: bool) {
        let once = |line: &&str| !line.contains("duplicate");
        let effects = if effects { EFFECTS.lines().filter(once).collect::<Vec<_>>().join("\n") } else { String::new() };
        let mut direction = down(&format!("{shape}aqm = {}\n{effects}", value(aqm))).with_log();
        let (mut now, mut held) = (Instant::ZERO, Vec::new());
        for (ident, sent) in packets.iter().enumerate() {
            now += Duration::from_nanos(sent.0);
            direction.send(now, packet(*sent, ident as u16));
            // Of several packets of an instant, behind the last.
            if packets.get(ident + 1).is_none_or(|next| next.0 > 0) {
                held.push((now, direction.queued(now).0));
            }
        }
        idents(&mut direction);
        for (now, held) in held {
            let stays = direction.log().iter().filter_map(|row| row.stay);
            let inside = stays.filter(|stay| stay.entered <= now && stay.left.is_none_or(|left| left > now));
            prop_assert_eq!(inside.count() as u64, held, "at {:?}", now);
        }
        for row in direction.log() {
            let left = row.stay.and_then(|stay| stay.left);
            match row.verdict.fate {
                Fate::Delivered { at } => prop_assert!(left.is_some() && at.is_none_or(|at| Some(at) >= left)),
                Fate::DroppedFromQueue { .. } => prop_assert!(left.is_some()),
                Fate::DroppedByPattern { .. } | Fate::DroppedByLoss => prop_assert!(row.stay.is_none()),
                _ => {}
            }
        }
    }

    /// Management that never acts is a plain queue, to the nanosecond: both kinds of direction are the same then.
    #[test]
    fn idle_management_is_a_plain_queue(shape in shape(), packets in packets(), effects: bool) {
        let shape = shape.replace("\"tbf\"", "\"exact\"");
        // A change by a packet is for what is in the queue as well, where that is served event by event.
        let effects = if effects { EFFECTS.replace("packet = 30", "at = \"30 ms\"") } else { String::new() };
        let plain = run(down(&format!("{shape}{effects}")), &packets, true);
        for aqm in [
            "{ codel = { target = \"1 h\" } }",
            "{ pie = { alpha = 0.0, beta = 0.0 } }",
            "{ red = { min = \"1000 packets\", max = \"2000 packets\" } }",
        ] {
            let managed = run(down(&format!("{shape}aqm = {aqm}\n{effects}")), &packets, true);
            prop_assert_eq!(&managed, &plain, "{}", aqm);
        }
    }

    /// One flow alone is under CoDel, whether flows are told apart or not, but for who is dropped at the hard limit.
    #[test]
    fn one_flow_under_fq_codel_is_under_codel(packets in packets(), rate in 100_000..5_000_000u64) {
        let packets: Vec<Sent> = packets.iter().map(|p| (p.0, p.1, 1)).collect();
        let out = |aqm: &str| {
            let aqm = format!("{{ {aqm} = {{ target = \"2 ms\", interval = \"10 ms\" }} }}");
            run(down(&format!("rate = \"{rate} bit/s\"\naqm = {aqm}")), &packets, true).out
        };
        prop_assert_eq!(out("codel"), out("fq_codel"));
    }

    /// Flows that all have enough to send get the same bytes, to a quantum and a packet.
    #[test]
    fn flows_share_equally(lengths in prop::collection::vec(100..1500u32, 2..6)) {
        let mut path = down("rate = \"1 Mbit/s\"\naqm = { fq_codel = { target = \"1 h\" } }\nqueue = \"5000 packets\"");
        for (port, len) in lengths.iter().enumerate() {
            for _ in 0..(400_000 / len) {
                path.send(Instant::ZERO, packet((0, *len, port as u16), port as u16));
            }
        }
        let mut bytes = vec![0u64; lengths.len()];
        while let Some(due) = path.poll_timer().filter(|due| *due < ms(2_000)) {
            if let Some(packet) = path.poll_receive(due) {
                bytes[usize::from(packet.ip.ident)] += packet.ip_len();
            }
        }
        let (least, most) = (bytes.iter().min().expect("some"), bytes.iter().max().expect("some"));
        prop_assert!(most - least <= 2 * 1514 + 1500, "{bytes:?}");
    }
}

/// Random decisions have a stream of their own: what random loss takes stays the same.
#[test]
fn streams_are_independent() {
    let lost = |aqm: &str| -> Vec<u64> {
        let packets: Vec<Sent> = (0..3000).map(|_| (100_000, 1000, 1)).collect();
        let toml = format!("rate = \"10 Mbit/s\"\naqm = \"{aqm}\"\ndown.loss = \"5 %\"");
        let said = run(down(&toml), &packets, true);
        said.verdicts.iter().filter(|v| v.fate == Fate::DroppedByLoss).map(|v| v.position).collect()
    };
    assert_eq!(lost("pie"), lost("none"));
    assert_eq!(lost("red"), lost("none"));
}

/// Absurd values neither overflow nor hang.
#[test]
fn extremes() {
    for shaper in ["exact", "tbf", "cisco"] {
        for rate in ["1 bit/s", "18446744073 Gbit/s"] {
            for aqm in ["none", "codel", "fq-codel", "pie", "red"] {
                let toml = format!(
                    "rate = \"{rate}\"\nshaper = \"{shaper}\"\naqm = \"{aqm}\"\ndelay = \"5124095 h\"\nlink = \"1 bit/s\""
                );
                let mut path = down(&toml);
                for start in [Instant::ZERO, ms(1), Instant::from_nanos(u64::MAX / 2)] {
                    (0..5).for_each(|ident| assert!(!path.send(start, udp(1500, ident)).is_drop()));
                }
                let received = idents(&mut path).len() as u64;
                assert_eq!(received + path.counters().drops(), 15, "{toml}");
            }
        }
    }
}
