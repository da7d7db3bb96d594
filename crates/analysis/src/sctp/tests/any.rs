//! Any packets at all: nothing panics, and what must add up does.

use std::net::SocketAddr;

use proptest::collection::vec;
use proptest::prelude::*;
use rexmit_units::Instant;
use rexmit_wire::Checksum;
use rexmit_wire::sctp::{Chunk, DataChunk, Gap, Packet as Wire, SackChunk};

use super::super::{Associations, SctpRows};
use crate::options::Options;
use crate::packet::{Packet, Transport};
use crate::rows::Tables;

/// A packet: milliseconds since the one before, who sends, its chunks, bytes cut off.
type Step = (u32, bool, Vec<Chunk>, usize);

fn play(steps: &[Step], initial: u32) -> SctpRows {
    let tables = Tables { segments: true, rtt: true, chunks: true, held: false };
    let mut associations = Associations::new(&Options { tables, ..Options::default() });
    let ends: [SocketAddr; 2] = [([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into()];
    let mut time = 0;
    for (at, (wait, from_client, chunks, cut)) in steps.iter().enumerate() {
        time += u64::from(*wait) * 1_000_000;
        let [client, server] = ends;
        let (from, to, tag) = if *from_client { (client, server, 7) } else { (server, client, 8) };
        let chunks = chunks.iter().map(|chunk| shift(chunk, initial)).collect();
        let wire = Wire { src_port: from.port(), dst_port: to.port(), tag, chunks };
        let mut bytes = wire.emit();
        let wire_len = bytes.len() as u32;
        bytes.truncate((bytes.len() - cut.min(&bytes.len())).max(12));
        let packet = Packet {
            number: at as u64 + 1,
            time: Instant::from_nanos(time),
            interface: 0,
            src: from,
            dst: to,
            ttl: 64,
            tos: 0,
            ident: at as u16,
            checksum: Checksum::Unknown,
            note: None,
            transport: Transport::Sctp { bytes: 0..0, wire_len },
        };
        associations.push(&packet, &bytes, wire_len);
    }
    associations.finish(usize::MAX);
    associations.take_rows()
}

/// The chunk with all TSNs moved up by `initial`.
fn shift(chunk: &Chunk, initial: u32) -> Chunk {
    let mut chunk = chunk.clone();
    match &mut chunk {
        Chunk::Data(data) => data.tsn = data.tsn.wrapping_add(initial),
        Chunk::Sack(sack) => {
            sack.cumulative = sack.cumulative.wrapping_add(initial);
            sack.duplicates.iter_mut().for_each(|tsn| *tsn = tsn.wrapping_add(initial));
        }
        _ => {}
    }
    chunk
}

fn chunk(tsns: u32) -> impl Strategy<Value = Chunk> {
    let gaps = vec((1..20_u16, 0..5_u16).prop_map(|(start, len)| Gap { start, end: start + len }), 0..4);
    let sack = (0..tsns, gaps, vec(0..tsns, 0..2), prop_oneof![Just(0), Just(9000)]).prop_map(
        |(cumulative, gaps, duplicates, window)| {
            Chunk::Sack(SackChunk { cumulative, window, gaps, duplicates })
        },
    );
    let data = (0..tsns).prop_map(|tsn| Chunk::Data(DataChunk { tsn, ..DataChunk::default() }));
    prop_oneof![
        data.clone(),
        data,
        sack,
        prop_oneof![
            Just(Chunk::CookieEcho([0; 4].into())),
            Just(Chunk::CookieAck),
            Just(Chunk::Heartbeat([1].into())),
            Just(Chunk::HeartbeatAck([1].into())),
            Just(Chunk::ShutdownAck),
            (0..tsns).prop_map(|cumulative| Chunk::Shutdown { cumulative }),
            (0..tsns).prop_map(|cumulative| Chunk::ForwardTsn { cumulative, skipped: Vec::new() }),
        ]
    ]
}

fn steps(tsns: u32) -> impl Strategy<Value = Vec<Step>> {
    let step =
        (0..400_u32, any::<bool>(), vec(chunk(tsns), 1..4), prop_oneof![4 => Just(0), 1 => 0..60_usize]);
    vec(step, 0..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_must_add_up_does(steps in steps(30)) {
        let rows = play(&steps, 1_000);
        prop_assert_eq!(rows.associations.len(), usize::from(!steps.is_empty()));
        for row in &rows.associations {
            for side in [&row.client, &row.server] {
                prop_assert!(side.unique_chunks + side.retransmitted_chunks >= side.chunks);
                prop_assert!(side.not_needed <= side.retransmitted_chunks);
                prop_assert!(side.acked_bytes <= side.unique_bytes);
            }
            let again = row.client.retransmitted_chunks + row.server.retransmitted_chunks;
            prop_assert_eq!(rows.retransmissions.len() as u64, again);
        }
        for row in &rows.retransmissions {
            prop_assert!(row.delay_previous <= row.delay_first || row.delay_first.is_none());
            prop_assert!(row.evidence.strikes <= row.evidence.reports);
        }
        let chunks: u64 = rows.paths.iter().map(|row| row.chunks).sum();
        prop_assert_eq!(rows.chunks.len() as u64, chunks);
    }

    /// Where TSNs begin changes nothing.
    #[test]
    fn initial_tsns_do_not_matter(steps in steps(30), initial in any::<u32>()) {
        let (one, other) = (play(&steps, 0), play(&steps, initial));
        prop_assert_eq!(one.retransmissions, other.retransmissions);
        prop_assert_eq!(one.chunks, other.chunks);
    }

    #[test]
    fn any_tsns(steps in steps(u32::MAX)) {
        play(&steps, 5);
    }
}
