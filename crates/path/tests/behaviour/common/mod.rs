//! What the tests of the path share.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_path::{Direction, PathSpec, Verdict};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, IpFields, Packet, Payload, SeqNumber, TcpSegment, Transport, UdpDatagram};

/// The path that `toml` writes.
pub fn path(toml: &str) -> PathSpec {
    toml::from_str(toml).unwrap_or_else(|e| panic!("{toml}: {e}"))
}

/// A stream for each name, always the same.
pub fn streams(name: &str) -> Xoshiro256PlusPlus {
    let seed = name.bytes().fold(7u64, |h, b| h.wrapping_mul(31).wrapping_add(u64::from(b)));
    Xoshiro256PlusPlus::seed_from_u64(seed)
}

/// The direction from server to client of the path that `toml` writes, its first tick at 0.
pub fn down(toml: &str) -> Direction {
    down_at(toml, Duration::ZERO)
}

/// As [`down`], with the first tick at `phase`.
pub fn down_at(toml: &str, phase: Duration) -> Direction {
    Direction::new(&path(toml).down(), "down", phase, &mut streams).expect("a valid path")
}

pub fn ms(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000_000)
}

pub fn us(n: u64) -> Instant {
    Instant::from_nanos(n * 1_000)
}

/// A UDP packet of `ip_len` bytes; `ident` tells it from others.
pub fn udp(ip_len: u32, ident: u16) -> Packet {
    let payload = Payload::Stream { offset: 0, len: ip_len - 28 };
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields { ident, ..IpFields::default() },
        transport: Transport::Udp(UdpDatagram::new(4000, 5000, payload)),
        damaged: false,
    }
}

/// A TCP segment from port 80 to `port`; sequence numbers start at `u32::MAX - 1000`, so that they wrap.
pub fn tcp(port: u16, flags: Flags, offset: u64, len: u32) -> Packet {
    let isn = SeqNumber(u32::MAX - 1000);
    let seq = if flags.has(Flags::SYN) { isn } else { isn + 1 + offset as u32 };
    Packet {
        src: [10, 0, 0, 1].into(),
        dst: [10, 0, 0, 2].into(),
        ip: IpFields::default(),
        transport: Transport::Tcp(TcpSegment {
            src_port: 80,
            dst_port: port,
            seq,
            ack: SeqNumber(1),
            flags,
            window: 65535,
            payload: Payload::Stream { offset, len },
            ..TcpSegment::default()
        }),
        damaged: false,
    }
}

/// What comes out, in order: when, and the packet.
pub fn drain(direction: &mut Direction) -> Vec<(Instant, Packet)> {
    let mut all = Vec::new();
    while let Some(due) = direction.poll_timer() {
        while let Some(packet) = direction.poll_receive(due) {
            all.push((due, packet));
        }
    }
    all
}

/// As [`drain`], each packet by its identification.
pub fn idents(direction: &mut Direction) -> Vec<(Instant, u16)> {
    drain(direction).into_iter().map(|(at, packet)| (at, packet.ip.ident)).collect()
}

/// Sends packets `1..=n` of `ip_len` bytes at `now`.
pub fn burst(direction: &mut Direction, now: Instant, n: u16, ip_len: u32) -> Vec<Verdict> {
    (1..=n).map(|ident| direction.send(now, udp(ip_len, ident))).collect()
}
