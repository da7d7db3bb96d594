//! What a column's values may be, and how each is written.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};

use rexmit_units::Instant;
use rexmit_wire::Flags;

use crate::pair::{End, Fate, LostAt, NearBy};
use crate::rows::{Cause, Confidence, Kind, Method, Need, Proof, SideName};
use crate::sctp::{Control, SctpCause, SctpMethod, SctpProof, TraceClass, TsnBlock};

/// The type of a column's values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// Truth values, a byte each.
    Bool,
    /// Unsigned numbers of a byte.
    U8,
    /// Unsigned numbers of two bytes.
    U16,
    /// Unsigned numbers of four bytes.
    U32,
    /// Unsigned numbers of eight bytes.
    U64,
    /// The same, the largest for no value.
    MaybeU64,
    /// Signed numbers of eight bytes.
    I64,
    /// The same, the smallest for no value.
    MaybeI64,
    /// Floating-point numbers of eight bytes, NaN for no value.
    MaybeF64,
    /// A byte that is an index into these names.
    Names(&'static [&'static str]),
    /// Text where there is any, as a JSON list.
    Text,
}

impl Type {
    /// Its name: numpy's, with a question mark where there may be no value; `dict:` and a JSON list; `utf8-json`.
    pub fn name(self) -> String {
        let name = match self {
            Self::Bool => "|b1",
            Self::U8 => "u1",
            Self::U16 => "<u2",
            Self::U32 => "<u4",
            Self::U64 => "<u8",
            Self::MaybeU64 => "<u8?",
            Self::I64 => "<i8",
            Self::MaybeI64 => "<i8?",
            Self::MaybeF64 => "<f8?",
            Self::Names(names) => return format!("dict:{}", serde_json::json!(names)),
            Self::Text => "utf8-json",
        };
        name.to_owned()
    }
}

/// A value of a column.
pub trait Cell {
    /// What the column is.
    const TYPE: Type;
    /// Bytes a value, about.
    const SIZE: usize;
    /// Appends it to a column of `len` values.
    fn put(self, out: &mut Vec<u8>, len: usize);
}

/// One of a few names.
pub trait Named {
    /// All names; a value is written as its place among them.
    const NAMES: &'static [&'static str];
    /// Its place.
    fn code(self) -> u8;
}

impl<N: Named> Cell for N {
    const TYPE: Type = Type::Names(N::NAMES);
    const SIZE: usize = 1;

    fn put(self, out: &mut Vec<u8>, _len: usize) {
        out.push(self.code());
    }
}

macro_rules! numbers {
    ($($type:ty => $kind:expr, |$value:ident| $number:expr;)*) => {$(
        impl Cell for $type {
            const TYPE: Type = $kind;
            const SIZE: usize = 8;

            fn put(self, out: &mut Vec<u8>, _len: usize) {
                let $value = self;
                out.extend_from_slice(&$number.to_le_bytes());
            }
        }
    )*};
}

numbers! {
    bool => Type::Bool, |value| u8::from(value);
    u8 => Type::U8, |value| value;
    Flags => Type::U8, |value| value.0;
    u16 => Type::U16, |value| value;
    u32 => Type::U32, |value| value;
    u64 => Type::U64, |value| value;
    Instant => Type::U64, |value| value.as_nanos();
    i64 => Type::I64, |value| value;
    Option<u8> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u16> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u32> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u64> => Type::MaybeU64, |value| value.unwrap_or(u64::MAX);
    Option<Instant> => Type::MaybeU64, |value| value.map_or(u64::MAX, Instant::as_nanos);
    Option<i64> => Type::MaybeI64, |value| value.unwrap_or(i64::MIN);
    Option<f64> => Type::MaybeF64, |value| value.unwrap_or(f64::NAN);
}

impl Cell for Option<&str> {
    const TYPE: Type = Type::Text;
    const SIZE: usize = 5;

    fn put(self, out: &mut Vec<u8>, len: usize) {
        out.push(if len == 0 { b'[' } else { b',' });
        match self {
            Some(text) => out.extend_from_slice(serde_json::Value::from(text).to_string().as_bytes()),
            None => out.extend_from_slice(b"null"),
        }
    }
}

/// Writes values whose text needs no escape straight into a JSON list.
macro_rules! plain_texts {
    ($($type:ty, $size:literal, |$value:ident, $out:ident| $write:expr;)*) => {$(
        impl Cell for $type {
            const TYPE: Type = Type::Text;
            const SIZE: usize = $size;

            fn put(self, $out: &mut Vec<u8>, len: usize) {
                let $value = self;
                $out.extend_from_slice(if len == 0 { b"[\"" } else { b",\"" });
                $write;
                $out.push(b'"');
            }
        }
    )*};
}

// Writing into memory cannot fail.
plain_texts! {
    SocketAddr, 24, |address, out| write!(out, "{address}").unwrap_or_default();
    IpAddr, 18, |address, out| write!(out, "{address}").unwrap_or_default();
    &[IpAddr], 18, |addresses, out| for (at, address) in addresses.iter().enumerate() {
        write!(out, "{}{address}", if at == 0 { "" } else { " " }).unwrap_or_default();
    };
    &[TsnBlock], 10, |blocks, out| for (at, block) in blocks.iter().enumerate() {
        let gap = if at == 0 { "" } else { " " };
        write!(out, "{gap}{}-{}", block.first, block.last).unwrap_or_default();
    };
    &[i64], 4, |numbers, out| for (at, number) in numbers.iter().enumerate() {
        write!(out, "{}{number}", if at == 0 { "" } else { " " }).unwrap_or_default();
    };
}

macro_rules! names {
    ($($type:ident { $($value:ident = $name:literal),* $(,)? })*) => {$(
        impl Named for $type {
            const NAMES: &'static [&'static str] = &[$($name),*];

            fn code(self) -> u8 {
                // Those of the list, in its order.
                enum Code { $($value),* }
                (match self { $(Self::$value => Code::$value),* }) as u8
            }
        }
    )*};
}

names! {
    SideName { Client = "client", Server = "server" }
    Kind {
        Bare = "bare",
        New = "new",
        Retransmission = "retransmission",
        Reordered = "reordered",
        Copy = "copy",
        Probe = "probe",
    }
    Method { Handshake = "handshake", Ack = "ack", Sack = "sack", Timestamp = "timestamp" }
    Confidence { Unknown = "unknown", Likely = "likely", Certain = "certain" }
    Need { Needed = "needed", Spurious = "spurious", Unnecessary = "unnecessary", Unknown = "unknown" }
    Proof {
        None = "none",
        Dsack = "dsack",
        Timestamps = "timestamps",
        EarlyAck = "early-ack",
        AckBefore = "ack-before",
        Arrived = "arrived",
    }
    End { A = "a", B = "b" }
    NearBy {
        RoundTrip = "round-trip",
        Clock = "clock",
        Hops = "hops",
        Others = "others",
        Assumed = "assumed",
    }
    LostAt {
        Before = "before",
        Between = "between",
        After = "after",
        Nowhere = "nowhere",
        Unknown = "unknown",
    }
    Fate {
        Arrived = "arrived",
        Damaged = "damaged",
        Lost = "lost",
        NotSent = "not-sent",
        NotComparable = "not-comparable",
    }
    TraceClass {
        Timeout = "timeout",
        Fast = "fast",
        BundledMissing = "bundled-reported-missing",
        BundledInFlight = "bundled-in-flight",
    }
    SctpCause {
        Fast = "fast",
        FastAgain = "fast-again",
        Timeout = "timeout",
        AfterTimeout = "after-timeout",
        BundledMissing = "bundled-reported-missing",
        BundledInFlight = "bundled-in-flight",
        WithNew = "with-new-data",
        WithCookie = "with-cookie",
        WindowProbe = "window-probe",
        Unknown = "unknown",
    }
    SctpProof {
        None = "none",
        DuplicateTsn = "duplicate-tsn",
        EarlyAck = "early-ack",
        AckBefore = "ack-before",
    }
    SctpMethod { Handshake = "handshake", Sack = "sack", Heartbeat = "heartbeat" }
    Control {
        Init = "init",
        InitAck = "init-ack",
        CookieEcho = "cookie-echo",
        CookieAck = "cookie-ack",
        Heartbeat = "heartbeat",
        Shutdown = "shutdown",
        ShutdownAck = "shutdown-ack",
        ShutdownComplete = "shutdown-complete",
    }
    Cause {
        Syn = "syn",
        SynAck = "syn-ack",
        Fin = "fin",
        Fast = "fast",
        PartialAck = "partial-ack",
        SackRecovery = "sack-recovery",
        TailProbe = "tail-probe",
        Timeout = "timeout",
        GoBackN = "go-back-n",
        WindowProbe = "window-probe",
        KeepAlive = "keep-alive",
        Unknown = "unknown",
    }
}
