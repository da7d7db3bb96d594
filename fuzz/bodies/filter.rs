//! Text as a filter: no input panics, an error is one line about a column of the text, and a filter's negation lets
//! pass what it does not.

use rexmit_analysis::Filter;
use rexmit_analysis::packet::{Packet, Tcp, Transport};
use rexmit_units::Instant;
use rexmit_wire::Checksum;

/// Runs one input.
pub fn run(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let filter = match Filter::parse(&text) {
        Ok(filter) => filter,
        Err(error) => {
            assert!((1..=text.chars().count() + 1).contains(&error.column));
            assert!(!error.to_string().trim().is_empty());
            return;
        }
    };
    let negated = Filter::parse(&format!("not ({text})"));
    for packet in packets() {
        // One parenthesis more may be one too many.
        if let Ok(negated) = &negated {
            assert_ne!(filter.passes(&packet), negated.passes(&packet));
        }
    }
}

fn packets() -> impl Iterator<Item = Packet> {
    let ends = [("10.0.0.1:80", "10.0.0.2:5001"), ("[fd00::1]:80", "[fd00::2]:7000")];
    let transports = [Transport::Tcp(Tcp::default()), Transport::Sctp { bytes: 0..0, wire_len: 0 }];
    ends.into_iter().zip(transports).map(|((src, dst), transport)| Packet {
        number: 1,
        time: Instant::ZERO,
        interface: 0,
        src: src.parse().expect("an address"),
        dst: dst.parse().expect("an address"),
        ttl: 64,
        tos: 0,
        ident: 0,
        checksum: Checksum::Unknown,
        note: None,
        transport,
    })
}
