//! Bytes as frames of any link layer: no input panics, each record is a packet or counted as none, and what is told of
//! a packet lies in the bytes given.

use rexmit_analysis::Decoder;
use rexmit_analysis::packet::{Batch, Transport};
use rexmit_capture::{LinkType, Record};
use rexmit_units::Instant;

const LINKS: [LinkType; 12] = [
    LinkType::ETHERNET,
    LinkType::RAW,
    LinkType::NULL,
    LinkType::LOOP,
    LinkType::PPP,
    LinkType::PPP_HDLC,
    LinkType::CHDLC,
    LinkType::LINUX_SLL,
    LinkType::LINUX_SLL2,
    LinkType::IPV4,
    LinkType::IPV6,
    LinkType(147),
];

/// Runs one input: link layer, length kept, bytes cut off, then the frame, and so on.
pub fn run(mut data: &[u8]) {
    let (mut decoder, mut batch) = (Decoder::new(None), Batch::default());
    while let [link, kept, cut_off, rest @ ..] = data {
        let (frame, rest) = rest.split_at(usize::from(*kept).min(rest.len()));
        data = rest;
        let record = Record {
            link: LINKS[usize::from(*link) % LINKS.len()],
            time: Instant::from_nanos(decoder.records() * 1_000_000_000),
            original_len: frame.len() as u32 + u32::from(*cut_off) * 7,
            data: frame.to_vec(),
            ..Record::default()
        };
        decoder.push(&record.as_ref(), &mut batch);
    }
    let skipped = decoder.skipped();
    assert_eq!(skipped.records() + batch.packets.len() as u64, decoder.records());
    assert!(skipped.incomplete_datagrams <= skipped.fragments);
    let mut at = 0;
    for packet in &batch.packets {
        assert_eq!(packet.src.is_ipv4(), packet.dst.is_ipv4());
        if let Transport::Sctp { bytes, wire_len } = &packet.transport {
            assert_eq!(bytes.start, at);
            assert!(bytes.len() >= 12 && bytes.len() as u32 <= *wire_len);
            at = bytes.end;
        }
    }
    assert_eq!(at as usize, batch.bytes.len());
}
