//! Segments as a protocol diagram writes them: `data(1..1449)`, `ack(1449).sack([(2897, 4345)])`.
//!
//! The same value serves as what the peer sends and as what the test expects; in an expectation whatever is
//! not stated is not compared. Sequence numbers are relative: the SYN is 0, the first byte 1.

use std::fmt;
use std::ops::Range;

use rexmit_wire::Flags;

/// A segment, or a pattern of one.
#[derive(Clone, Debug, Default)]
pub struct Seg {
    pub syn: bool,
    pub fin: bool,
    pub rst: bool,
    /// The flags of ECN, and its field in the IP header (RFC 3168).
    pub ece: Option<bool>,
    pub cwr: Option<bool>,
    pub ecn: Option<u8>,
    pub psh: Option<bool>,
    pub seq: Option<u32>,
    pub len: Option<u32>,
    pub ack: Option<u32>,
    /// The field as it stands in the header, unscaled.
    pub win: Option<u16>,
    pub mss: Option<u16>,
    pub wscale: Option<Option<u8>>,
    pub sack_ok: Option<bool>,
    /// Value and echo; `Some(None)`: no timestamps at all.
    pub ts: Option<Option<(u32, u32)>>,
    pub has_ts: Option<bool>,
    pub sack: Option<Vec<(u32, u32)>>,
}

/// A SYN.
pub fn syn() -> Seg {
    Seg { syn: true, seq: Some(0), len: Some(0), ..Seg::default() }
}

/// A SYN that acknowledges the other's.
pub fn syn_ack() -> Seg {
    Seg { ack: Some(1), ..syn() }
}

/// A segment without data.
pub fn ack(n: u32) -> Seg {
    Seg { ack: Some(n), len: Some(0), ..Seg::default() }
}

/// Bytes `range` of the stream, the first being 1.
pub fn data(range: Range<u32>) -> Seg {
    Seg { seq: Some(range.start), len: Some(range.end - range.start), ..Seg::default() }
}

/// A FIN at sequence number `seq`.
pub fn fin(seq: u32) -> Seg {
    Seg { fin: true, seq: Some(seq), len: Some(0), ..Seg::default() }
}

/// A reset at sequence number `seq`.
pub fn rst(seq: u32) -> Seg {
    Seg { rst: true, seq: Some(seq), len: Some(0), ..Seg::default() }
}

impl Seg {
    pub fn seq(mut self, n: u32) -> Self {
        self.seq = Some(n);
        self
    }
    pub fn ack(mut self, n: u32) -> Self {
        self.ack = Some(n);
        self
    }
    /// The window field, unscaled.
    pub fn win(mut self, field: u16) -> Self {
        self.win = Some(field);
        self
    }
    pub fn mss(mut self, n: u16) -> Self {
        self.mss = Some(n);
        self
    }
    pub fn wscale(mut self, shift: u8) -> Self {
        self.wscale = Some(Some(shift));
        self
    }
    pub fn no_wscale(mut self) -> Self {
        self.wscale = Some(None);
        self
    }
    pub fn sack_ok(mut self) -> Self {
        self.sack_ok = Some(true);
        self
    }
    pub fn no_sack_ok(mut self) -> Self {
        self.sack_ok = Some(false);
        self
    }
    /// Carries timestamps, whichever.
    pub fn ts(mut self) -> Self {
        self.has_ts = Some(true);
        self
    }
    pub fn no_ts(mut self) -> Self {
        self.ts = Some(None);
        self.has_ts = Some(false);
        self
    }
    /// Timestamps of exactly this value and echo.
    pub fn ts_val(mut self, value: u32, echo: u32) -> Self {
        self.ts = Some(Some((value, echo)));
        self
    }
    pub fn psh(mut self) -> Self {
        self.psh = Some(true);
        self
    }
    pub fn no_psh(mut self) -> Self {
        self.psh = Some(false);
        self
    }
    /// With the echo of a mark.
    pub fn ece(mut self) -> Self {
        self.ece = Some(true);
        self
    }
    pub fn no_ece(mut self) -> Self {
        self.ece = Some(false);
        self
    }
    /// With the news that the window has been lowered.
    pub fn cwr(mut self) -> Self {
        self.cwr = Some(true);
        self
    }
    pub fn no_cwr(mut self) -> Self {
        self.cwr = Some(false);
        self
    }
    /// Not ECN-capable, ECN-capable, marked.
    pub fn not_ect(mut self) -> Self {
        self.ecn = Some(0);
        self
    }
    pub fn ect(mut self) -> Self {
        self.ecn = Some(2);
        self
    }
    pub fn ce(mut self) -> Self {
        self.ecn = Some(3);
        self
    }
    /// With a FIN behind the data.
    pub fn fin(mut self) -> Self {
        self.fin = true;
        self
    }
    pub fn sack(mut self, blocks: impl IntoIterator<Item = (u32, u32)>) -> Self {
        self.sack = Some(blocks.into_iter().collect());
        self
    }
    pub fn no_sack(self) -> Self {
        self.sack([])
    }

    /// The flags with which the peer sends it.
    pub fn flags(&self) -> Flags {
        let mut flags = Flags::default();
        let on = [
            (self.syn, Flags::SYN),
            (self.fin, Flags::FIN),
            (self.rst, Flags::RST),
            (self.ece == Some(true), Flags::ECE),
            (self.cwr == Some(true), Flags::CWR),
            (self.psh == Some(true), Flags::PSH),
            (self.ack.is_some() || !(self.syn || self.rst), Flags::ACK),
        ];
        for (is_on, flag) in on {
            if is_on {
                flags = flags.with(flag);
            }
        }
        flags
    }

    /// Does `got`, in which everything is stated, agree with what is stated here?
    pub fn accepts(&self, got: &Self) -> bool {
        fn same<T: PartialEq>(want: &Option<T>, got: &Option<T>) -> bool {
            want.is_none() || want == got
        }
        (self.syn, self.fin, self.rst) == (got.syn, got.fin, got.rst)
            && same(&self.ece, &got.ece)
            && same(&self.cwr, &got.cwr)
            && same(&self.ecn, &got.ecn)
            && same(&self.psh, &got.psh)
            && same(&self.seq, &got.seq)
            && same(&self.len, &got.len)
            && same(&self.ack, &got.ack)
            && same(&self.win, &got.win)
            && same(&self.mss, &got.mss)
            && same(&self.wscale, &got.wscale)
            && same(&self.sack_ok, &got.sack_ok)
            && same(&self.ts, &got.ts)
            && same(&self.has_ts, &got.has_ts)
            && same(&self.sack, &got.sack)
    }
}

impl fmt::Display for Seg {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let letters = [
            (self.syn, 'S'),
            (self.fin, 'F'),
            (self.rst, 'R'),
            (self.ece == Some(true), 'E'),
            (self.cwr == Some(true), 'W'),
            (self.ecn == Some(2), 'C'),
            (self.ecn == Some(3), 'M'),
            (self.psh == Some(true), 'P'),
        ];
        let text: String = letters.iter().filter(|(on, _)| *on).map(|(_, c)| *c).collect();
        write!(f, "{:<2}", if text.is_empty() { "." } else { &text })?;
        if let Some(seq) = self.seq {
            match self.len {
                Some(len) => write!(f, " {seq}..{}", seq.wrapping_add(len))?,
                None => write!(f, " {seq}")?,
            }
        }
        if let Some(ack) = self.ack {
            write!(f, " ack {ack}")?;
        }
        if let Some(win) = self.win {
            write!(f, " win {win}")?;
        }
        if let Some(mss) = self.mss {
            write!(f, " mss {mss}")?;
        }
        if let Some(shift) = self.wscale {
            write!(f, " wscale {shift:?}")?;
        }
        if let Some(ok) = self.sack_ok {
            write!(f, " sackOK {ok}")?;
        }
        match (self.ts, self.has_ts) {
            (Some(ts), _) => write!(f, " ts {ts:?}")?,
            (None, Some(has)) => write!(f, " has ts {has}")?,
            _ => {}
        }
        match &self.sack {
            Some(blocks) if !blocks.is_empty() => write!(f, " sack {blocks:?}"),
            _ => Ok(()),
        }
    }
}
