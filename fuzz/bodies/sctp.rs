//! Bytes as an SCTP packet: no input panics, no view reaches beyond the packet, and what was read is written and read
//! again as the same packet.

use rexmit_wire::sctp::{Body, End, Header, Packet};

/// Runs one input.
pub fn run(data: &[u8]) {
    for cut_off in [0, 1, 40, 70_000] {
        let Ok(header) = Header::new(data, data.len() + cut_off) else { return };
        assert_eq!(header.checksum_ok().is_none(), cut_off > 0);
        let (mut bytes, mut chunks) = (0, header.chunks());
        for chunk in &mut chunks {
            bytes += chunk.len();
            assert!(chunk.value().len() <= chunk.len() - 4);
            look(&chunk.body());
        }
        assert!(bytes <= data.len() - 12 + cut_off);
        // Walking on after the end gives nothing more.
        assert!(chunks.next().is_none() && chunks.end().is_some());
        assert!(cut_off > 0 || chunks.end() != Some(End::Cut));
    }
    let Ok(packet) = Packet::parse(data) else { return };
    let bytes = packet.emit();
    assert_eq!(Packet::parse(&bytes).as_ref(), Ok(&packet));
    assert_eq!(Header::new(&bytes, bytes.len()).unwrap().checksum_ok(), Some(true));
}

/// Calls every accessor.
fn look(body: &Body<'_>) {
    match body {
        Body::Data(data) => {
            assert!(data.user_data().len() <= data.user_len() as usize);
            let _ = (data.tsn(), data.stream(), data.message(), data.protocol(), data.fragment());
        }
        Body::Init(init) | Body::InitAck(init) => {
            assert!(init.parameters().count() >= init.addresses().count());
            let _ = (init.initiate_tag(), init.window(), init.outbound_streams(), init.inbound_streams());
            let _ = (init.initial_tsn(), init.supports(0x40));
        }
        Body::Sack(sack) => {
            assert!(sack.gaps().count() <= usize::from(sack.gap_count()));
            assert!(sack.duplicates().count() <= usize::from(sack.duplicate_count()));
            let _ = (sack.cumulative(), sack.window());
        }
        Body::Abort { causes, .. } | Body::Error(causes) => assert!(causes.count() <= 65_535 / 4),
        Body::ForwardTsn(forward) => {
            let _ = (forward.cumulative(), forward.skipped().count());
        }
        _ => {}
    }
}
