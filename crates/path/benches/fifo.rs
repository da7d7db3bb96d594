//! What a packet costs: rate, delay and queue, no impairments; then bottlenecks that are served event by event. Prints
//! ns a packet for sending and receiving, by length of the queue. Run with `cargo bench -p rexmit-path`.

use std::hint::black_box;
use std::time::Instant as Clock;

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_path::{Direction, PathSpec};
use rexmit_units::{Bytes, Duration, Instant, QueueLimit, Rate};
use rexmit_wire::{Flags, IpFields, Packet, Payload, SeqNumber, TcpSegment, Transport};

const PACKETS: u64 = 5_000_000;

fn main() {
    for shaper in ["exact", "dummynet", "cisco"] {
        for (what, depth, impaired) in [
            ("idle", 1, false),
            ("100 deep", 100, false),
            ("1700 deep", 1700, false),
            ("drop pattern", 100, true),
        ] {
            measure(
                &format!("{shaper:9} {what:13}"),
                &mut direction((shaper, "none"), depth, impaired),
                depth,
            );
        }
    }
    for (shaper, aqm) in [
        ("tbf", "none"),
        ("exact", "codel"),
        ("tbf", "codel"),
        ("exact", "fq-codel"),
        ("exact", "pie"),
        ("exact", "red"),
    ] {
        for depth in [1, 100] {
            let name = format!("{shaper:9} {:13}", format!("{aqm}, {depth}"));
            measure(&name, &mut direction((shaper, aqm), depth, false), depth);
        }
    }
}

fn measure(name: &str, direction: &mut Direction, depth: u64) {
    let best = (0..3).map(|_| run(direction, depth)).fold(f64::INFINITY, f64::min);
    println!("{name} {best:6.1} ns a packet");
}

fn direction((shaper, aqm): (&str, &str), depth: u64, impaired: bool) -> Direction {
    let mut spec = PathSpec {
        rate: Rate::from_bits_per_second(1_000_000_000).map(Into::into),
        delay: Some(Duration::from_millis(20)),
        queue: Some(QueueLimit::Packets(depth + 200).into()),
        ..PathSpec::default()
    };
    spec.shaper = serde_json::from_value(shaper.into()).ok();
    spec.aqm = serde_json::from_value(aqm.into()).ok();
    // What comes in a jiffy at this rate.
    spec.burst = (shaper == "tbf").then_some(Bytes(125_000));
    if impaired {
        spec.down.drop = serde_json::from_value("18,1000000000-".into()).ok();
    }
    let mut streams = |_: &str| Xoshiro256PlusPlus::seed_from_u64(1);
    Direction::new(&spec.down(), "down", Duration::ZERO, &mut streams).expect("a valid path")
}

/// Sends at the rate of the link, `depth` packets ahead, and receives what is due.
fn run(direction: &mut Direction, depth: u64) -> f64 {
    let mut now = direction.poll_timer().unwrap_or(Instant::ZERO);
    while direction.poll_receive(now).is_some() {
        now = direction.poll_timer().unwrap_or(now);
    }
    let packet = packet();
    for _ in 0..depth {
        direction.send(now, packet.clone());
    }
    let start = Clock::now();
    for _ in 0..PACKETS {
        now += Duration::from_micros(12);
        black_box(direction.send(now, packet.clone()));
        while direction.poll_timer().is_some_and(|due| due <= now) {
            black_box(direction.poll_receive(now));
        }
    }
    start.elapsed().as_nanos() as f64 / PACKETS as f64
}

fn packet() -> Packet {
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields::default(),
        transport: Transport::Tcp(TcpSegment {
            src_port: 80,
            dst_port: 5000,
            seq: SeqNumber(0),
            ack: SeqNumber(0),
            flags: Flags::ACK,
            window: 65535,
            payload: Payload::Stream { offset: 0, len: 1460 },
            ..TcpSegment::default()
        }),
        damaged: false,
    }
}
