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
/// SACK, unknown ones; or of Linux: MSS, SACK-permitted, timestamps, window scale and so on. Then zeros up to a
/// multiple of four: as many bytes as [`TcpSegment::options_len`] says.
pub(crate) fn emit(segment: &TcpSegment, out: &mut Vec<u8>) {
    let start = out.len();
    let aligned = segment.options_are_aligned();
    let joined = segment.joins_sack_and_timestamps();
    let nops: &[u8] = if aligned { &[NOP, NOP] } else { &[] };
    let scale = |out: &mut Vec<u8>| {
        if let Some(shift) = segment.window_scale {
            out.extend(&nops[..nops.len() / 2]);
            out.extend([WINDOW_SCALE, 3, shift]);
        }
    };
    if let Some(mss) = segment.mss {
        out.extend([MSS, 4]);
        out.extend(mss.to_be_bytes());
    }
    if !joined {
        scale(out);
    }
    if let Some(ts) = segment.timestamps {
        out.extend(if joined { &[SACK_PERMITTED, 2] } else { nops });
        out.extend([TIMESTAMPS, 10]);
        out.extend(ts.value.to_be_bytes());
        out.extend(ts.echo.to_be_bytes());
    }
    if joined {
        scale(out);
    } else if segment.sack_permitted {
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

/// The options of a TCP header that this crate knows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpOptions {
    /// Maximum segment size (RFC 9293 section 3.7.1).
    pub mss: Option<u16>,
    /// Window scale (RFC 7323 section 2), the shift count.
    pub window_scale: Option<u8>,
    /// SACK-permitted (RFC 2018 section 2).
    pub sack_permitted: bool,
    /// SACK-permitted stands right before the timestamps.
    pub sack_before_timestamps: bool,
    /// Timestamps (RFC 7323 section 3).
    pub timestamps: Option<Timestamps>,
    /// SACK (RFC 2018 section 3).
    pub sack: SackBlocks,
}

impl TcpOptions {
    /// What the bytes of options say; what is not known is passed over.
    #[inline]
    pub fn parse(options: &[u8]) -> Self {
        // What almost every segment has and nothing else (RFC 7323, appendix A).
        if let [NOP, NOP, TIMESTAMPS, 10, data @ ..] = options
            && data.len() == 8
        {
            return Self { timestamps: Some(timestamps(data)), ..Self::default() };
        }
        Self::parse_all(options, &mut |_| {})
    }

    /// Reads `options` and gives the bytes (kind, length, data) of those that are not known. An option of a known
    /// kind but a wrong length, or one that comes again, is not known either. An option whose length cannot be ends
    /// the list, as it does for a host (RFC 9293 section 3.1 asks that it does no harm).
    pub(crate) fn parse_all(mut options: &[u8], unknown: &mut dyn FnMut(&[u8])) -> Self {
        let mut found = Self::default();
        // What stands right before, where that is known: a SACK-permitted that is not says nothing of the layout.
        let mut before = None;
        while let Some(&kind) = options.first() {
            if kind == EOL {
                break;
            }
            let previous = before.take();
            if kind == NOP {
                options = &options[1..];
                continue;
            }
            let Some(&len) = options.get(1) else { break };
            let Some((option, rest)) = options.split_at_checked(len.into()) else { break };
            if len < 2 {
                break;
            }
            if found.parse_known(kind, &option[2..]) {
                found.sack_before_timestamps |= (previous, kind) == (Some(SACK_PERMITTED), TIMESTAMPS);
                before = Some(kind);
            } else {
                unknown(option);
            }
            options = rest;
        }
        found
    }

    /// False where the option stays unknown.
    fn parse_known(&mut self, kind: u8, data: &[u8]) -> bool {
        match (kind, data.len()) {
            (MSS, 2) if self.mss.is_none() => self.mss = Some(be16(data, 0)),
            (WINDOW_SCALE, 1) if self.window_scale.is_none() => self.window_scale = Some(data[0]),
            (SACK_PERMITTED, 0) if !self.sack_permitted => self.sack_permitted = true,
            (TIMESTAMPS, 8) if self.timestamps.is_none() => self.timestamps = Some(timestamps(data)),
            (SACK, 8 | 16 | 24 | 32) if self.sack.is_empty() => {
                for edges in data.chunks_exact(8) {
                    self.sack.push(SeqNumber(be32(edges, 0)), SeqNumber(be32(edges, 4)));
                }
            }
            _ => return false,
        }
        true
    }
}

fn timestamps(data: &[u8]) -> Timestamps {
    Timestamps { value: be32(data, 0), echo: be32(data, 4) }
}
