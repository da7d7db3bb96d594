//! Packets around a judgement, in the form of the packet scripts of `crates/analysis/src/tcp/script.rs`, so that a wrong
//! one becomes a test.

use std::fmt::Write;
use std::io::Cursor;
use std::ops::Range;

use rexmit_capture::{DEFAULT_EPOCH_NS, Reader};
use rexmit_wire::{Flags, SeqNumber, TcpSegment};

use crate::host::Sending;
use crate::score::Finding;
use crate::world::{Ends, Place, Ran, Truth};

/// Packets that are shown before and after the one in question.
const AROUND: (u64, u64) = (40, 4);

/// The packets around a judgement, with what their sender says of each.
pub fn listing(ran: &Ran, finding: &Finding) -> String {
    let Finding { seed, place, number, judged, .. } = finding;
    let mut out = format!("; scenario {seed}, {}, packet {number}\n", place.name());
    match judged {
        None => out.push_str("; not listed\n"),
        Some(row) => {
            let _ = writeln!(
                out,
                "; judged: {:?} {:?}, transmission {}, {:?}",
                row.cause, row.confidence, row.transmission, row.evidence
            );
        }
    }
    let index = ran.passed[*place as usize][*number as usize - 1];
    let numbers = number.saturating_sub(AROUND.0)..number + AROUND.1;
    out + &packets(ran, *place, numbers, Some(ports(&ran.truths[index])))
}

/// The ports of a connection, the smaller first.
fn ports(truth: &Truth) -> [u16; 2] {
    let segment = truth.packet.tcp().expect("TCP alone is sent");
    [segment.src_port.min(segment.dst_port), segment.src_port.max(segment.dst_port)]
}

/// The packets of a capture with these numbers, and those of the handshake; of one connection, if its ports are given.
pub fn packets(ran: &Ran, place: Place, numbers: Range<u64>, connection: Option<[u16; 2]>) -> String {
    let mut out = String::new();
    let mut initial: Ends<Option<SeqNumber>> = Ends::default();
    let passed = &ran.passed[place as usize];
    let times = Reader::new(Cursor::new(&ran.captures[place as usize][..])).expect("a capture of ours");
    for ((number, &index), record) in (1..).zip(passed).zip(times) {
        let truth = &ran.truths[index];
        if connection.is_some_and(|of| of != ports(truth)) {
            continue;
        }
        let segment = truth.packet.tcp().expect("TCP alone is sent");
        let (own, peer) = initial.of_packet(truth);
        let first = *own.get_or_insert(segment.seq);
        if !numbers.contains(&number) && !segment.flags.has(Flags::SYN) && number > 3 {
            continue;
        }
        let ns = record.expect("a whole capture").time.as_nanos() - DEFAULT_EPOCH_NS;
        let name = if truth.by_sender { "s" } else { "c" };
        let peer = peer.unwrap_or_default();
        let _ = write!(out, "{:.3} {name} {}", ns as f64 / 1e6, line(segment, first, peer));
        match truth.sending {
            Sending::New => out.push('\n'),
            sending => {
                let _ = writeln!(out, " # {number} {sending:?}");
            }
        }
    }
    out
}

fn line(segment: &TcpSegment, first: SeqNumber, peer: SeqNumber) -> String {
    let letters = [(Flags::SYN, 'S'), (Flags::FIN, 'F'), (Flags::RST, 'R'), (Flags::PSH, 'P')];
    let flags: String = letters.iter().filter(|(flag, _)| segment.flags.has(*flag)).map(|l| l.1).collect();
    let flags = if flags.is_empty() { "." } else { &flags };
    let mut out = format!("{flags} {}+{}", segment.seq.diff(first), segment.payload.len());
    if segment.flags.has(Flags::ACK) {
        let _ = write!(out, " ack {}", segment.ack.diff(peer));
    }
    let _ = write!(out, " win {}", segment.window);
    if let Some(scale) = segment.window_scale {
        let _ = write!(out, " ws {scale}");
    }
    if let Some(mss) = segment.mss {
        let _ = write!(out, " mss {mss}");
    }
    if segment.sack_permitted {
        out.push_str(" sackok");
    }
    if let Some(stamps) = segment.timestamps {
        let _ = write!(out, " ts {}/{}", stamps.value, stamps.echo);
    }
    for (i, (left, right)) in segment.sack.as_slice().iter().enumerate() {
        let _ =
            write!(out, "{}{}-{}", if i == 0 { " sack " } else { "," }, left.diff(peer), right.diff(peer));
    }
    out
}
