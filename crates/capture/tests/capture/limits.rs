//! Small files that would cost much: each meets a limit, and says so.

use rexmit_capture::limits::{
    BLOCK_BYTES, COMMENT_BYTES, INTERFACES, Limited, NAME_BYTES, NAMES_BYTES, UNPACKED_BYTES, UNPACKED_RATIO,
};
use rexmit_capture::{ReadError, Reader};

use crate::build::{Bytes, bytes};

const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// A section with so many interfaces of a name.
fn interfaces(count: usize, name: &[u8]) -> Bytes {
    let mut file = bytes(false);
    file.section();
    for _ in 0..count {
        file.block(INTERFACE, |b| {
            b.u16(101).u16(0).u32(0).u16(2).u16(name.len() as u16).raw(name);
            b.raw(&[0; 3][..name.len().next_multiple_of(4) - name.len()]);
        });
    }
    file
}

fn packet(file: &mut Bytes, interface: u32, comments: &[&str]) {
    file.block(ENHANCED_PACKET, |b| {
        b.u32(interface).u32(0).u32(0).u32(4).u32(4).raw(&[0x45; 4]);
        for comment in comments {
            b.u16(1).u16(comment.len() as u16).raw(comment.as_bytes());
            b.raw(&[0; 3][..comment.len().next_multiple_of(4) - comment.len()]);
        }
    });
}

/// Reads all; gives the interfaces of the packets, and what the reader says at the end.
fn read(file: &Bytes) -> (Vec<u32>, Reader<&[u8]>) {
    let mut reader = Reader::new(&file.out[..]).expect("a capture");
    let mut seen = Vec::new();
    while let Some(record) = reader.next_ref().expect("no damage") {
        seen.push(record.interface);
    }
    (seen, reader)
}

#[test]
fn interfaces_beyond_the_limit_are_passed_over_with_their_packets() {
    let mut file = interfaces(INTERFACES + 12, b"");
    let last = INTERFACES as u32 - 1;
    for interface in [0, last, last + 1, last + 12, 7] {
        packet(&mut file, interface, &[]);
    }
    let (seen, reader) = read(&file);
    assert_eq!(seen, [0, last, 7]);
    assert_eq!(reader.interfaces().len(), INTERFACES);
    assert_eq!(reader.limited(), Limited { interfaces: 12, packets: 2, names: 0 });
    // One that nothing describes is damage, as ever.
    packet(&mut file, last + 13, &[]);
    let mut reader = Reader::new(&file.out[..]).expect("a capture");
    assert!(matches!(reader.by_ref().last(), Some(Err(ReadError::Corrupt { .. }))));
}

#[test]
fn long_names_are_cut_and_many_left_out() {
    let most = NAMES_BYTES / NAME_BYTES;
    let file = interfaces(most + 3, &[b'a'; 4 * NAME_BYTES]);
    let (_, reader) = read(&file);
    let lengths: Vec<_> =
        reader.interfaces().iter().map(|one| one.name.as_ref().map_or(0, String::len)).collect();
    assert_eq!(lengths[..most], vec![NAME_BYTES; most]);
    assert_eq!(lengths[most..], [0; 3]);
    assert_eq!(reader.limited().names, most as u64 + 3);
}

#[test]
fn names_that_are_no_text_do_not_grow_beyond_the_limit() {
    // Each byte becomes a replacement character of three.
    let file = interfaces(INTERFACES, &[0xff; NAME_BYTES]);
    let (_, reader) = read(&file);
    let bytes: usize = reader.interfaces().iter().flat_map(|one| &one.name).map(String::len).sum();
    assert!(bytes <= NAMES_BYTES, "{bytes}");
}

#[test]
fn comments_of_a_packet_are_cut() {
    let long = "x".repeat(60_000);
    let mut file = interfaces(1, b"");
    packet(&mut file, 0, &[&long]);
    packet(&mut file, 0, &[&long, &long, &long]);
    let mut reader = Reader::new(&file.out[..]).expect("a capture");
    let mut comment = || {
        let record = reader.next_ref().expect("no damage").expect("a packet");
        record.comment_within_limit().map(|(comment, cut)| (comment.len(), cut))
    };
    assert_eq!(comment(), Some((60_000, false)));
    assert_eq!(comment(), Some((COMMENT_BYTES, true)));
}

/// A frame of zstd with a window of 2^(10 + `window`) bytes: stretches of a byte, and bytes as they are.
fn zstd(window: u8, parts: &[(&[u8], usize)]) -> Vec<u8> {
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0, window << 3];
    for (plain, zeros) in parts {
        out.extend(((plain.len() as u32) << 3).to_le_bytes().iter().take(3));
        out.extend(*plain);
        let mut left = *zeros;
        while left > 0 {
            let len = left.min(128 << 10);
            out.extend(((len as u32) << 3 | 1 << 1).to_le_bytes().iter().take(3));
            out.push(0);
            left -= len;
        }
    }
    out.extend([1, 0, 0]);
    out
}

/// Packets of 16 MiB of zeros.
fn bomb(window: u8, packets: u64) -> Vec<u8> {
    let mut header = bytes(false);
    header.u32(0xa1b2_c3d4).u16(2).u16(4).u32(0).u32(0).u32(0).u32(101);
    let mut packet = bytes(false);
    packet.u32(0).u32(0).u32(BLOCK_BYTES).u32(BLOCK_BYTES);
    let mut parts = vec![(&header.out[..], 0)];
    parts.extend((0..packets).map(|_| (&packet.out[..], BLOCK_BYTES as usize)));
    zstd(window, &parts)
}

/// Packets read, and the error in words.
fn read_packed(file: &[u8]) -> (u64, Option<String>) {
    let mut reader = match Reader::new(file) {
        Ok(reader) => reader,
        Err(error) => return (0, Some(error.to_string())),
    };
    let mut packets = 0;
    loop {
        match reader.next_ref() {
            Ok(Some(_)) => packets += 1,
            Ok(None) => return (packets, None),
            Err(error) => return (packets, Some(error.to_string())),
        }
    }
}

#[test]
fn a_small_file_that_unpacks_to_much_ends_with_a_line() {
    let packet = u64::from(BLOCK_BYTES);
    let free = UNPACKED_BYTES / packet - 1;
    assert_eq!(read_packed(&bomb(7, free)), (free, None));
    let file = bomb(7, 2 * free);
    assert!(free * packet + file.len() as u64 * UNPACKED_RATIO < 2 * free * packet);
    let (packets, error) = read_packed(&file);
    assert!(packets < 2 * free, "{packets}");
    let error = error.expect("a limit");
    assert!(error.contains("unpacks to far more than a capture of its size does"), "{error}");
}

#[test]
fn a_large_window_is_filled_only_where_the_file_is_large_too() {
    // 8 MiB, and 64 MiB.
    assert_eq!(read_packed(&bomb(13, 3)), (3, None));
    let (packets, error) = read_packed(&bomb(16, 3));
    assert_eq!(packets, 0);
    assert!(error.expect("a limit").contains("its zstd window is too large for a file of its size"));
}
