//! The links before and behind the bottleneck, and bytes of the link layer.

use crate::common::{burst, down, down_at, idents, ms, udp, us};
use proptest::prelude::*;
use rexmit_path::Fate;
use rexmit_units::{Duration, Instant};

/// When what comes out comes out.
fn times(direction: &mut rexmit_path::Direction) -> Vec<Instant> {
    idents(direction).into_iter().map(|out| out.0).collect()
}

/// A packet takes its time on each of the two links, and packets sent at once pass one after the other.
#[test]
fn two_links_and_nothing_between() {
    let mut path = down("link = \"100 Mbit/s\"\ndelay = \"10 ms\"");
    let verdicts = burst(&mut path, ms(0), 3, 1250);
    // 0.1 ms on each link; the second link works while the first sends the next packet.
    let out = [10_200, 10_300, 10_400].map(us);
    assert_eq!(verdicts[2].fate, Fate::Delivered { at: Some(out[2]) });
    assert_eq!(times(&mut path), out);
}

/// The first link feeds the queue no faster than itself: what came at once finds places that are free by then.
#[test]
fn the_queue_is_behind_the_first_link() {
    // 1 ms a packet at the bottleneck, 0.1 ms on the link: the first has left 1.1 ms after it was sent.
    let bottleneck = "rate = \"10 Mbit/s\"\nqueue = \"10 packets\"";
    let drops = |toml: &str| burst(&mut down(toml), ms(0), 20, 1250).iter().filter(|v| v.is_drop()).count();
    assert_eq!(drops(bottleneck), 10);
    // Of 20 that enter within 2 ms, one leaves at 1.1 ms: the place is taken by the 11th, which enters then.
    assert_eq!(drops(&format!("{bottleneck}\nlink = \"100 Mbit/s\"")), 9);
}

/// Packets on the first link are not in the queue yet; those behind the bottleneck no longer.
#[test]
fn what_is_on_a_link_is_not_queued() {
    let mut path = down("rate = \"10 Mbit/s\"\nlink = \"100 Mbit/s\"");
    burst(&mut path, ms(0), 5, 1250);
    let at = [us(50), us(100), us(250), us(500), us(1_099), us(1_100), us(5_099), us(5_100)];
    assert_eq!(at.map(|at| path.queued(at).0), [0, 1, 2, 5, 5, 4, 1, 0]);
    assert_eq!(path.in_transit(), 5);
    assert_eq!(times(&mut path), [1_200, 2_200, 3_200, 4_200, 5_200].map(us));
}

/// EM-DN-1, -5 and -7 with links, as study 004 has them: packets of one tick leave the pipe together, and the link
/// behind it spaces them.
#[test]
fn dummynet_between_links() {
    let pipe = "shaper = \"dummynet\"\ntick = \"0.5 ms\"\ndelay = \"5 ms\"\nqueue = \"1 packet\"";
    // Without links: three packets of one tick come out at one instant, ten ticks after it.
    let mut alone = down(pipe);
    for (at, ident) in [(1_010, 1), (1_250, 2), (1_499, 3), (1_500, 4)] {
        alone.send(us(at), udp(1250, ident));
    }
    assert_eq!(idents(&mut alone), [(us(6_000), 1), (us(6_000), 2), (us(6_000), 3), (us(6_500), 4)]);
    // With them: 10 us a packet, behind each other on the second link.
    let mut between = down(&format!("{pipe}\nlink = \"1 Gbit/s\""));
    for (at, ident) in [(1_010, 1), (1_250, 2), (1_489, 3), (1_490, 4)] {
        between.send(us(at), udp(1250, ident));
    }
    assert_eq!(idents(&mut between), [(us(6_010), 1), (us(6_020), 2), (us(6_030), 3), (us(6_510), 4)]);
    // A delay that is not a multiple of the tick is cut, and the ticks have a phase.
    let mut odd =
        down_at(&format!("{pipe}\ndelay = \"5.3 ms\"").replace("delay = \"5 ms\"\n", ""), us(100) - us(0));
    odd.send(us(1_010), udp(1250, 1));
    assert_eq!(times(&mut odd), [us(5_600)]);
}

/// The overhead counts on the links, at the shaper and in a queue of bytes, and nowhere else.
#[test]
fn overhead_counts_below_ip() {
    let mut path = down("rate = \"10 Mbit/s\"\noverhead = \"14 bytes\"\nqueue = \"2528 bytes\"");
    // 1264 bytes on the wire: 1.0112 ms each, two of them just fit.
    let drops: Vec<bool> = burst(&mut path, ms(0), 3, 1250).iter().map(|v| v.is_drop()).collect();
    assert_eq!(drops, [false, false, true]);
    assert_eq!(path.queued(ms(0)), (2, 2528));
    assert_eq!((path.counters().bytes, path.counters().dropped_bytes), (3750, 1250));
    assert_eq!(times(&mut path), [1_011_200, 2_022_400].map(Instant::from_nanos));

    let mut links = down("link = \"10 Mbit/s\"\noverhead = \"14 bytes\"");
    links.send(ms(0), udp(1250, 1));
    assert_eq!(times(&mut links), [Instant::from_nanos(2_022_400)]);
    let mut pipe = down("rate = \"10 kbit/s\"\nshaper = \"dummynet\"\noverhead = \"14 bytes\"");
    pipe.send(ms(0), udp(1486, 1));
    assert_eq!(times(&mut pipe), [ms(1200)]);
}

/// Each direction may have its own.
#[test]
fn directions_have_their_own_links() {
    let spec =
        crate::common::path("link = \"1 Gbit/s\"\nup.link = \"10 Mbit/s\"\nup.overhead = \"14 bytes\"");
    assert_eq!(spec.down().link.map(|r| r.bits_per_second()), Some(1_000_000_000));
    assert_eq!(spec.up().link.map(|r| r.bits_per_second()), Some(10_000_000));
    assert_eq!((spec.down().overhead.as_u64(), spec.up().overhead.as_u64()), (0, 14));
}

/// Patterns see a packet as it leaves the first link, a delay that varies comes behind the second.
#[test]
fn impairments_between_the_links() {
    let mut path = down("link = \"10 Mbit/s\"\ndown.drop = { time = \"1 ms-2 ms\" }");
    let verdicts = burst(&mut path, ms(0), 3, 1250);
    // They leave the first link at 1, 2 and 3 ms.
    assert_eq!(verdicts.iter().map(|v| v.is_drop()).collect::<Vec<_>>(), [true, false, false]);
    assert_eq!(times(&mut path), [ms(3), ms(4)]);
    let mut held = down("link = \"10 Mbit/s\"\ndown.hold = { position = 1, by = \"5 ms\" }");
    burst(&mut held, ms(0), 2, 1250);
    assert_eq!(idents(&mut held), [(ms(3), 2), (ms(7), 1)]);
}

proptest! {
    /// Packets come out of the second link no faster than it sends, in their order, and none before it has passed
    /// everything.
    #[test]
    fn the_second_link_spaces_packets(
        packets in prop::collection::vec((0..400_000u64, 28..1500u32), 1..150),
        shaper in prop_oneof![Just("exact"), Just("dummynet")],
        rate in prop::option::of(1_000_000..50_000_000u64),
        overhead in 0..30u64,
    ) {
        let rate = rate.map(|r| format!("rate = \"{r} bit/s\"\n")).unwrap_or_default();
        let toml = format!(
            "{rate}shaper = \"{shaper}\"\ndelay = \"3 ms\"\nlink = \"20 Mbit/s\"\noverhead = \"{overhead} bytes\"\n\
             queue = \"10000 packets\"\ndown.changes = [{{ at = \"4 ms\", delay = \"1 ms\" }}]"
        );
        let mut path = down(&toml);
        let (mut now, mut sent) = (Instant::ZERO, Vec::new());
        for (ident, &(gap, len)) in packets.iter().enumerate() {
            now += Duration::from_nanos(gap);
            path.send(now, udp(len, ident as u16));
            sent.push((now, (u64::from(len) + overhead) * 400));
        }
        let out = idents(&mut path);
        prop_assert_eq!(out.len(), sent.len());
        prop_assert!(out.is_sorted_by_key(|o| o.1));
        for (one, (entered, on_link)) in out.iter().zip(&sent) {
            prop_assert!(one.0 >= *entered + Duration::from_nanos(2 * on_link));
        }
        for (pair, (_, on_link)) in out.windows(2).zip(&sent[1..]) {
            prop_assert!(pair[1].0 - pair[0].0 >= Duration::from_nanos(*on_link));
        }
    }
}
