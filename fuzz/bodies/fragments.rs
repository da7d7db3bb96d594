//! Bytes as fragments of one datagram, in any order, with gaps, overlaps, and heads only: no input panics, memory is
//! bounded, and what comes out as whole is the datagram that all were cut from.

use std::net::Ipv4Addr;
use std::sync::LazyLock;

use rexmit_units::Instant;
use rexmit_wire::{IpPacket, Reassembler};

/// The datagram.
static WHOLE: LazyLock<Vec<u8>> = LazyLock::new(|| (0..65_535_u32).map(|at| (at % 251) as u8).collect());

/// Runs one input: four bytes a fragment.
pub fn run(data: &[u8]) {
    let whole = &*WHOLE;
    let mut to = Reassembler::new();
    for (number, step) in data.chunks_exact(4).enumerate() {
        // Few numbers and coarse places, so that fragments meet.
        let offset = usize::from(step[0] % 32) * 64;
        let len = (usize::from(step[1] % 16) + 1) * 32 - usize::from(step[1] >> 6) * 3;
        let more = step[2] & 1 == 1;
        let kept = if step[2] & 2 == 0 { len } else { len.min(usize::from(step[2])) };
        let bytes = fragment(&whole[offset..offset + kept], (offset, len, more), step[2] >> 6);
        let packet = IpPacket::parse(&bytes, 20 + len).expect("the header is whole");
        // Time moves on by up to 25 s, now and then back.
        let time = Instant::from_nanos(u64::from(step[3]) * 100_000_000 + number as u64 * 1_000_000);
        let Ok(Some(seen)) = to.push(time, u32::from(step[3] & 1), &packet) else { continue };
        assert!(seen.fragment.is_none() && seen.body.len() <= seen.body_len);
        assert_eq!(seen.body, &whole[..seen.body.len()], "nothing but what was there");
        assert!(to.incomplete() <= number as u64);
    }
}

fn fragment(body: &[u8], (offset, len, more): (usize, usize, bool), ident: u8) -> Vec<u8> {
    let mut bytes = vec![0x45, 0];
    bytes.extend((20 + len as u16).to_be_bytes());
    bytes.extend([0, ident]);
    let place = offset as u16 / 8 + if more { 0x2000 } else { 0 };
    bytes.extend(place.to_be_bytes());
    bytes.extend([64, 17, 0, 0]);
    bytes.extend(Ipv4Addr::LOCALHOST.octets());
    bytes.extend(Ipv4Addr::LOCALHOST.octets());
    bytes.extend(body);
    bytes
}
