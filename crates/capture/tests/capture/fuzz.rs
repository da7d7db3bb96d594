//! The body of the fuzz target, run on a bounded number of inputs.

#[path = "../../../../fuzz/bodies/capture.rs"]
mod body;

use proptest::prelude::*;
use rexmit_capture::{Direction, Writer};

use crate::{common, packed};

/// A capture of ours, or the same packets as classic pcap.
fn capture(classic: bool) -> Vec<u8> {
    let events = common::connection(false);
    if classic {
        let mut bytes = Vec::new();
        for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 101] {
            bytes.extend(word.to_le_bytes());
        }
        for event in events {
            let data = event.packet.emit();
            for word in [1, 2, data.len() as u32, data.len() as u32] {
                bytes.extend(word.to_le_bytes());
            }
            bytes.extend(data);
        }
        return bytes;
    }
    let mut writer = Writer::new(Vec::new(), "server").unwrap();
    for event in events {
        let direction = Some(Direction::Outbound);
        writer.write_directed(event.time, &event.packet, direction, event.comment).unwrap();
    }
    writer.finish().unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes(magic in 0_usize..4, data in prop::collection::vec(any::<u8>(), 0..300)) {
        let magic: &[u8] = match magic {
            0 => &[],
            1 => &[0x0a, 0x0d, 0x0d, 0x0a, 28, 0, 0, 0, 0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0],
            2 => &[0xd4, 0xc3, 0xb2, 0xa1],
            _ => &[0xa1, 0xb2, 0x3c, 0x4d],
        };
        body::run(&[magic, &data].concat());
    }

    #[test]
    fn a_real_capture_with_some_bytes_changed(
        classic in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = capture(classic);
        for (i, (at, value)) in changes.into_iter().enumerate() {
            // Half of them in the headers and the first packets.
            let n = if i % 2 == 0 { bytes.len() } else { 400 };
            bytes[at.index(n)] = value;
        }
        bytes.truncate(cut.index(bytes.len() * 2));
        body::run(&bytes);
    }

    #[test]
    fn a_packed_capture_with_some_bytes_changed(
        form in 0_usize..3,
        classic in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = packed::packed(form, &capture(classic));
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        bytes.truncate(cut.index(bytes.len() * 2));
        body::run(&bytes);
    }
}
