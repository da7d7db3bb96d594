//! The bodies of the fuzz targets, run on a bounded number of inputs.

#[path = "../../../../fuzz/bodies/packet.rs"]
mod body;
#[path = "../../../../fuzz/bodies/fragments.rs"]
mod fragments;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn arbitrary_bytes(data in prop::collection::vec(any::<u8>(), 0..200)) {
        body::run(&data);
    }

    #[test]
    fn arbitrary_bytes_after_a_version(version in prop::sample::select(vec![0x45_u8, 0x46, 0x4f, 0x60]), data in prop::collection::vec(any::<u8>(), 0..200)) {
        body::run(&[vec![version], data].concat());
    }

    #[test]
    fn a_real_packet_with_some_bytes_changed(
        packet in crate::common::packet(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        cut_it in any::<bool>(),
    ) {
        let mut bytes = packet.emit();
        for (at, value) in changes {
            // Mostly in the headers, where the lengths are.
            let n = bytes.len().min(90);
            bytes[at.index(n)] = value;
        }
        if cut_it {
            bytes.truncate(cut.index(bytes.len() + 1));
        }
        body::run(&bytes);
    }

    #[test]
    fn fragments_of_one_datagram(data in prop::collection::vec(any::<u8>(), 0..400)) {
        fragments::run(&data);
    }
}
