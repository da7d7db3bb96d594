//! The options of a TCP header as bytes.

use crate::header::{be16, be32};
use crate::{SackBlocks, SeqNumber, TcpSegment, Timestamps};

const EOL: u8 = 0;
const NOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;
const TIMESTAMPS: u8 = 8;

/// Appends the options of `segment` in the order of BSD: MSS, window scale, timestamps, SACK-permitted,
/// SACK, unknown ones, then zeros up to a multiple of four: as many bytes as
/// [`TcpSegment::options_len`] says.
pub(crate) fn emit(segment: &TcpSegment, out: &mut Vec<u8>) {
    let start = out.len();
    let aligned = segment.options_are_aligned();
    let nops: &[u8] = if aligned { &[NOP, NOP] } else { &[] };
    if let Some(mss) = segment.mss {
        out.extend([MSS, 4]);
        out.extend(mss.to_be_bytes());
    }
    if let Some(shift) = segment.window_scale {
        out.extend(&nops[..nops.len() / 2]);
        out.extend([WINDOW_SCALE, 3, shift]);
    }
    if let Some(ts) = segment.timestamps {
        out.extend(nops);
        out.extend([TIMESTAMPS, 10]);
        out.extend(ts.value.to_be_bytes());
        out.extend(ts.echo.to_be_bytes());
    }
    if segment.sack_permitted {
        out.extend([SACK_PERMITTED, 2]);
    }
    if !segment.sack.is_empty() {
        out.extend(nops);
        out.extend([SACK, 2 + 8 * segment.sack.len() as u8]);
        for (left, right) in segment.sack.as_slice() {
            out.extend(left.0.to_be_bytes());
            out.extend(right.0.to_be_bytes());
        }
    }
    if let Some(unknown) = &segment.unknown_options {
        out.extend(unknown.iter());
    }
    out.resize(start + segment.options_len(), EOL);
}

/// Reads `options` into `segment`. An option of a known kind but a wrong length, or one that comes again, is
/// kept as unknown. An option whose length cannot be ends the list, as it does for a host (RFC 9293 section
/// 3.1 asks that it does no harm).
pub(crate) fn parse(mut options: &[u8], segment: &mut TcpSegment) {
    let mut unknown = Vec::new();
    while let Some(&kind) = options.first() {
        if kind == EOL {
            break;
        }
        if kind == NOP {
            options = &options[1..];
            continue;
        }
        let Some(&len) = options.get(1) else { break };
        let Some((option, rest)) = options.split_at_checked(len.into()) else { break };
        if len < 2 {
            break;
        }
        if !parse_known(kind, &option[2..], segment) {
            unknown.extend(option);
        }
        options = rest;
    }
    if !unknown.is_empty() {
        segment.unknown_options = Some(unknown.into());
    }
}

/// False where the option stays unknown.
fn parse_known(kind: u8, data: &[u8], segment: &mut TcpSegment) -> bool {
    match (kind, data.len()) {
        (MSS, 2) if segment.mss.is_none() => segment.mss = Some(be16(data, 0)),
        (WINDOW_SCALE, 1) if segment.window_scale.is_none() => segment.window_scale = Some(data[0]),
        (SACK_PERMITTED, 0) if !segment.sack_permitted => segment.sack_permitted = true,
        (TIMESTAMPS, 8) if segment.timestamps.is_none() => {
            segment.timestamps = Some(Timestamps { value: be32(data, 0), echo: be32(data, 4) });
        }
        (SACK, 8 | 16 | 24 | 32) if segment.sack.is_empty() => {
            let mut blocks = SackBlocks::default();
            for edges in data.chunks_exact(8) {
                blocks.push(SeqNumber(be32(edges, 0)), SeqNumber(be32(edges, 4)));
            }
            segment.sack = blocks;
        }
        _ => return false,
    }
    true
}
