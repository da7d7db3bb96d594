//! Changes of the rate and outages, against a reference in continuous time and against the originals of the shapers,
//! tick by tick.

use crate::common::{burst, down, idents, ms, udp};
use proptest::prelude::*;
use rexmit_path::{Direction, Fate};
use rexmit_units::Instant;

/// The rate in bit/s from an instant (ns) on.
type Change = (u64, u64);

/// A packet as a test sends it: when (ns), length.
type Sent = (u64, u32);

/// One bit in bit/s times ns.
const BIT: u128 = 1_000_000_000;

/// What a line of these rates could have sent from the start to `now`, in bits times 10^9: the integral of its rate.
fn work(changes: &[Change], now: u64) -> u128 {
    let ends = changes.iter().skip(1).map(|c| c.0).chain([u64::MAX]);
    let stretch =
        |(from, rate): Change, until: u64| u128::from(until.min(now).saturating_sub(from)) * u128::from(rate);
    changes.iter().zip(ends).map(|(change, until)| stretch(*change, until)).sum()
}

/// The first whole nanosecond at which the integral has reached `needed`; `None` for never.
fn reached(changes: &[Change], needed: u128) -> Option<u64> {
    let (mut below, mut at) = (0, u64::MAX - 1);
    if work(changes, at) < needed {
        return None;
    }
    while below < at {
        let half = below + (at - below) / 2;
        if work(changes, half) >= needed { at = half } else { below = half + 1 }
    }
    Some(at)
}

/// When each packet leaves a line in continuous time behind a queue; `Err` where it is full.
fn reference(changes: &[Change], limit: &str, packets: &[Sent]) -> Vec<Result<Option<u64>, ()>> {
    let mut all: Vec<Result<Option<u64>, ()>> = Vec::new();
    let mut sent = 0;
    for (now, len) in packets {
        let inside = || {
            let left =
                |leaves: &Result<Option<u64>, ()>| leaves.is_ok_and(|at| at.is_none_or(|at| at > *now));
            packets
                .iter()
                .zip(&all)
                .filter(move |(_, leaves)| left(leaves))
                .map(|(packet, _)| u64::from(packet.1))
        };
        let (number, unit) = limit.split_once(' ').expect("a number and a unit");
        let number: u64 = number.parse().expect("a number");
        let room = match unit {
            "packets" => (inside().count() as u64) < number,
            _ => inside().sum::<u64>() + u64::from(*len) <= number,
        };
        if !room {
            all.push(Err(()));
            continue;
        }
        sent = work(changes, *now).max(sent) + u128::from(*len) * 8 * BIT;
        all.push(Ok(reached(changes, sent)));
    }
    all
}

/// When each packet leaves a direction, looked at before each arrival; `Err` where the queue was full.
fn measured(mut direction: Direction, packets: &[Sent]) -> Vec<Result<Option<u64>, ()>> {
    direction.keep_late_verdicts();
    let mut all: Vec<Result<Option<u64>, ()>> = Vec::new();
    let mut fates = Vec::new();
    let out = |direction: &mut Direction, upto: Instant, all: &mut Vec<Result<Option<u64>, ()>>| {
        while let Some(due) = direction.poll_timer().filter(|due| *due <= upto) {
            while let Some(packet) = direction.poll_receive(due) {
                all[usize::from(packet.ip.ident)] = Ok(Some(due.as_nanos()));
            }
        }
    };
    for (ident, (now, len)) in packets.iter().enumerate() {
        let now = Instant::from_nanos(*now);
        out(&mut direction, now, &mut all);
        all.push(Ok(None));
        fates.push(direction.send(now, udp(*len, ident as u16)).fate);
    }
    out(&mut direction, Instant::from_nanos(u64::MAX - 1), &mut all);
    while let Some(late) = direction.poll_verdict() {
        fates[late.position as usize - 1] = late.fate;
    }
    for (one, fate) in all.iter_mut().zip(fates) {
        match fate {
            Fate::QueueFull { .. } => *one = Err(()),
            Fate::Delivered { at } => assert_eq!(at.map(Instant::as_nanos), one.expect("not dropped")),
            Fate::Undecided => assert_eq!(*one, Ok(None), "it came out without a verdict"),
            other => panic!("{other:?}"),
        }
    }
    all
}

/// Changes as a scenario has them, the first being the rate at the start.
fn toml(changes: &[Change], rest: &str) -> String {
    let list =
        changes.iter().skip(1).map(|(at, rate)| format!("{{ at = \"{at} ns\", rate = \"{rate} bit/s\" }}"));
    let list: Vec<String> = list.collect();
    format!("rate = \"{} bit/s\"\nchanges = [{}]\n{rest}", changes[0].1, list.join(", "))
}

fn packets() -> impl Strategy<Value = Vec<Sent>> {
    let gap = prop_oneof![Just(0), 0..20u64, 0..5_000_000u64];
    prop::collection::vec((gap, 28..1500u32), 1..60).prop_map(|gaps| {
        let mut now = 0;
        gaps.into_iter()
            .map(|(gap, len)| {
                now += gap;
                (now, len)
            })
            .collect()
    })
}

/// Rates from 1 bit/s to 100 Gbit/s, odd ones, and outages.
fn changes(outages: bool) -> impl Strategy<Value = Vec<Change>> {
    let rate = prop_oneof![1..1_000u64, 1_000..1_000_000u64, 1_000_000..100_000_000_000u64];
    let none = if outages { 2 } else { 0 };
    let any = prop_oneof![3 => rate.clone(), none => Just(0)];
    let at = prop_oneof![0..100_000_000u64, 0..100u64, (0..100u64).prop_map(|n| n * 1_000_000)];
    (rate, prop::collection::btree_map(at, any, 0..12)).prop_map(|(start, later)| {
        let mut all = vec![(0, start)];
        all.extend(later);
        all
    })
}

fn limit() -> impl Strategy<Value = String> {
    prop_oneof![
        (1..20u32).prop_map(|n| format!("{n} packets")),
        (1500..20_000u32).prop_map(|n| format!("{n} bytes")),
        Just("1000 packets".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    /// A packet leaves when the integral of the rate since its service began has reached its bits, to the nanosecond, and
    /// is dropped where the queue is full: with departures known at once, and event by event.
    #[test]
    fn departures_are_those_of_continuous_time(changes in changes(true), limit in limit(), packets in packets()) {
        let expected = reference(&changes, &limit, &packets);
        let queue = format!("queue = \"{limit}\"");
        prop_assert_eq!(&measured(down(&toml(&changes, &queue)), &packets), &expected);
        for idle in ["codel = { target = \"5000000 h\" }", "red = { min = \"100 packets\", max = \"200 packets\" }"] {
            let managed = toml(&changes, &format!("{queue}\naqm = {{ {idle} }}"));
            prop_assert_eq!(&measured(down(&managed), &packets), &expected);
        }
    }

    /// EM-CI-8: each Tc brings credit by the rate of its moment, and none in an outage.
    #[test]
    fn the_credit_of_cisco_comes_tick_by_tick(changes in changes(true), packets in packets()) {
        let shaper = "shaper = \"cisco\"\ntick = \"1 ms\"\nqueue = \"1000 packets\"";
        let got = measured(down(&toml(&changes, shaper)), &packets);
        let departures: Vec<Option<u64>> = got.into_iter().map(|one| one.expect("room")).collect();
        for (n, expected) in cisco(&changes, &packets).into_iter().enumerate() {
            // The reference ends after a second.
            let in_time = departures[n].filter(|at| *at < 1_000_000_000);
            prop_assert_eq!(in_time, expected, "packet {}", n);
        }
    }

    /// EM-DN-15: dummynet leaves the timer as it is when it is given another rate, and counts ticks at the new one.
    #[test]
    fn the_timer_of_dummynet_is_left_alone(changes in changes(false), packets in packets()) {
        let shaper = "shaper = \"dummynet\"\ntick = \"1 ms\"\nqueue = \"1000 packets\"";
        let got = measured(down(&toml(&changes, shaper)), &packets);
        for (n, expected) in dummynet(&changes, &packets).into_iter().enumerate() {
            let in_time = got[n].expect("room").filter(|at| *at < 1_000_000_000);
            prop_assert_eq!(in_time, expected, "packet {}", n);
        }
    }
}

/// The rate at an instant.
fn rate_at(changes: &[Change], now: u64) -> u128 {
    changes.iter().rfind(|c| c.0 <= now).map_or(0, |c| c.1.into())
}

const TICK: u64 = 1_000_000;

/// A router with a Tc of 1 ms, for a second.
fn cisco(changes: &[Change], packets: &[Sent]) -> Vec<Option<u64>> {
    let bound = |committed: u128| committed.max(1500 * 8 * BIT) + committed;
    let mut credit = bound(rate_at(changes, 0) * u128::from(TICK));
    let mut left = vec![None; packets.len()];
    let mut head = 0;
    for tick in 0..1_000 {
        let now = tick * TICK;
        let committed = rate_at(changes, now) * u128::from(TICK);
        // A packet that waits gets all that it needs; else there is a bound.
        let waits = packets.get(head).is_some_and(|packet| packet.0 < now);
        credit = if waits { credit + committed } else { (credit + committed).min(bound(committed)) };
        while let Some((at, len)) = packets.get(head).filter(|packet| packet.0 < now + TICK) {
            let need = u128::from(*len) * 8 * BIT;
            if need > credit {
                break;
            }
            credit -= need;
            left[head] = Some(now.max(*at));
            head += 1;
        }
    }
    left
}

/// A pipe of FreeBSD 6 with ticks of 1 ms, for a second.
fn dummynet(changes: &[Change], packets: &[Sent]) -> Vec<Option<u64>> {
    let mut left = vec![None; packets.len()];
    let (mut head, mut credit, mut set, mut timer) = (0, 0u128, 0, None);
    let mut configured = 0;
    for tick in 0..1_000u64 {
        let now = tick * TICK;
        let waits = |head: usize, upto: u64| packets.get(head).filter(|packet| packet.0 < upto);
        // Configurations since the last tick take the credit.
        if changes.iter().filter(|c| c.0 <= now).count() > configured {
            configured = changes.iter().filter(|c| c.0 <= now).count();
            credit = 0;
        }
        if timer == Some(tick) {
            let bandwidth = rate_at(changes, now) * u128::from(TICK);
            credit += u128::from(tick - set) * bandwidth;
            timer = None;
            while let Some((_, len)) = waits(head, now) {
                let need = u128::from(*len) * 8 * BIT;
                if need > credit {
                    (set, timer) = (tick, Some(tick + (need - credit).div_ceil(bandwidth) as u64));
                    break;
                }
                credit -= need;
                left[head] = Some(now);
                head += 1;
            }
        }
        if timer.is_none()
            && let Some((at, len)) = waits(head, now + TICK)
        {
            // The queue was empty: the first packet since the tick sets the timer.
            let bandwidth = rate_at(changes, *at) * u128::from(TICK);
            credit = 0;
            (set, timer) = (tick, Some(tick + (u128::from(*len) * 8 * BIT).div_ceil(bandwidth) as u64));
        }
    }
    left
}

/// The packet in service goes on at the new rate: a dip costs what it did not send, and no more.
#[test]
fn a_dip_does_not_outlast_itself() {
    let dip = "rate = \"8 Mbit/s\"\nchanges = [{ at = \"5500 us\", rate = \"8 kbit/s\" }, { at = \"10500 us\", rate = \"8 Mbit/s\" }]";
    let mut direction = down(dip);
    burst(&mut direction, ms(5), 3, 1000);
    // Half of it has been sent before, five bytes in the dip.
    let at: Vec<u64> = idents(&mut direction).iter().map(|out| out.0.as_nanos()).collect();
    assert_eq!(at, [10_995_000, 11_995_000, 12_995_000]);
}

/// In an outage packets queue, and what finds the queue full is dropped; then they leave as if it had not been.
#[test]
fn an_outage_queues() {
    for unit in ["bit/s", "kbit/s", "Gbit/s"] {
        let outage = format!(
            "rate = \"8 Mbit/s\"\ndelay = \"1 ms\"\nqueue = \"3 packets\"\ndown.changes = [{{ at = \"2500 us\", rate = \"0 \
             {unit}\" }}, {{ at = \"1 s\", rate = \"8 Mbit/s\" }}]"
        );
        let mut direction = down(&outage);
        let fates: Vec<bool> = burst(&mut direction, ms(2), 4, 1000).iter().map(|v| v.is_drop()).collect();
        assert_eq!(fates, [false, false, false, true]);
        let at: Vec<u64> = idents(&mut direction).iter().map(|out| out.0.as_nanos()).collect();
        assert_eq!(at, [1_001_500_000, 1_002_500_000, 1_003_500_000]);
    }
}

/// Behind an outage without an end packets wait for ever, without a verdict, and so does what comes later.
#[test]
fn a_line_that_is_cut_keeps_its_packets() {
    for aqm in ["none", "codel"] {
        let cut = format!(
            "rate = \"8 Mbit/s\"\naqm = \"{aqm}\"\nchanges = [{{ at = \"0 s\", rate = \"0 bit/s\" }}]"
        );
        let mut direction = down(&cut);
        let fates: Vec<Fate> = burst(&mut direction, ms(2), 3, 1000).iter().map(|v| v.fate).collect();
        assert_eq!(fates, [Fate::Undecided; 3], "{aqm}");
        assert!(direction.poll_receive(Instant::from_nanos(u64::MAX - 1)).is_none());
        assert_eq!(direction.in_transit(), 3);
        assert_eq!(direction.queued(ms(1_000_000)), (3, 3000));
    }
}

/// EM-TB-11: another rate fills the bucket of tbf; its timer stays, and the next packet makes it look.
#[test]
fn another_rate_fills_the_bucket_of_tbf() {
    // The second packet waits for 1000 bytes at 8 kbit/s, a second.
    let tbf = "rate = \"8 kbit/s\"\nshaper = \"tbf\"\nburst = \"1000 bytes\"\nchanges = [{ at = \"300 ms\", rate = \"9 kbit/s\" }]";
    let mut direction = down(tbf);
    burst(&mut direction, ms(0), 2, 1000);
    assert_eq!(idents(&mut direction).iter().map(|out| out.0).collect::<Vec<_>>(), [ms(0), ms(1000)]);
    let mut direction = down(tbf);
    burst(&mut direction, ms(0), 2, 1000);
    assert_eq!(direction.poll_receive(ms(400)).map(|packet| packet.ip.ident), Some(1));
    direction.send(ms(400), udp(1000, 3));
    // The third gets what has come since: 9 kbit/s, from an empty bucket.
    let rest: Vec<(Instant, u16)> = idents(&mut direction);
    assert_eq!(rest, [(ms(400), 2), (ms(400 + 889), 3)]);
}

/// What the shapers cannot do is refused in a line.
#[test]
fn outages_that_cannot_be() {
    let message = |toml: &str| crate::common::path(toml).check("path", None).expect_err(toml).to_string();
    let cut = "changes = [{ at = \"1 s\", rate = \"0 bit/s\" }]";
    assert_eq!(
        message(&format!("rate = \"1 Mbit/s\"\nshaper = \"dummynet\"\n{cut}")),
        "path.down.changes.0.rate: 0 bit/s: dummynet takes it as no limit (EM-DN-7); an outage is for the shapers exact and cisco"
    );
    assert!(
        message(&format!("rate = \"1 Mbit/s\"\nshaper = \"tbf\"\n{cut}")).contains("tbf cannot be given it")
    );
    for by in ["packet = 5", "when = { position = 5 }"] {
        let text = message(&format!(
            "changes = [{{ at = \"1 s\", rate = \"1 kbit/s\" }}, {{ {by}, rate = \"0 bit/s\" }}]"
        ));
        assert!(text.contains("path.down.changes.1: this direction has an outage"), "{text}");
    }
    let text =
        toml::from_str::<rexmit_path::PathSpec>("rate = \"0 kbit/s\"").expect_err("refused").to_string();
    assert!(text.contains("an outage is a change of it, such as changes = [{ at = \"0 s\""), "{text}");
}
