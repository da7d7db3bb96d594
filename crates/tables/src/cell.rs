//! What a column's values may be, and how each is written.

use std::fmt::Display;
use std::io::Write;
use std::net::{IpAddr, SocketAddr};

use rexmit_units::{Duration, Instant};
use serde_json::Value;

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
    /// Floating-point numbers of eight bytes.
    F64,
    /// The same, NaN for no value.
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
            Self::F64 => "<f8",
            Self::MaybeF64 => "<f8?",
            Self::Names(names) => return format!("dict:{}", serde_json::json!(names)),
            Self::Text => "utf8-json",
        };
        name.to_owned()
    }

    /// The values of a column of this type as JSON, null where there is none; `bytes` as [`Cell::put`] wrote them.
    pub(crate) fn values(self, bytes: &[u8], len: usize) -> Vec<Value> {
        match self {
            Self::Bool => bytes.iter().map(|&byte| (byte != 0).into()).collect(),
            Self::U8 => bytes.iter().map(|&byte| byte.into()).collect(),
            Self::U16 => numbers(bytes, |value| u16::from_le_bytes(value).into()),
            Self::U32 => numbers(bytes, |value| u32::from_le_bytes(value).into()),
            Self::U64 => numbers(bytes, |value| u64::from_le_bytes(value).into()),
            Self::MaybeU64 => numbers(bytes, |value| known(u64::from_le_bytes(value), u64::MAX)),
            Self::I64 => numbers(bytes, |value| i64::from_le_bytes(value).into()),
            Self::MaybeI64 => numbers(bytes, |value| known(i64::from_le_bytes(value), i64::MIN)),
            // Of what is not a number JSON has nothing but null.
            Self::F64 | Self::MaybeF64 => numbers(bytes, |value| f64::from_le_bytes(value).into()),
            Self::Names(names) => bytes.iter().map(|&code| names[usize::from(code)].into()).collect(),
            Self::Text if len == 0 => Vec::new(),
            Self::Text => serde_json::from_slice(&[bytes, b"]"].concat()).unwrap_or_default(),
        }
    }
}

fn numbers<const N: usize>(bytes: &[u8], value: impl Fn([u8; N]) -> Value) -> Vec<Value> {
    bytes.as_chunks().0.iter().map(|chunk| value(*chunk)).collect()
}

fn known<T: PartialEq + Into<Value>>(value: T, nothing: T) -> Value {
    if value == nothing { Value::Null } else { value.into() }
}

/// A value of a column.
pub trait Cell {
    /// What the column is.
    const TYPE: Type;
    /// Whether there may be no value.
    const NULLABLE: bool = false;
    /// Bytes a value, about.
    const SIZE: usize;
    /// Appends it to a column of `len` values.
    fn put(&self, out: &mut Vec<u8>, len: usize);
}

/// One of a few names.
pub trait Named {
    /// All names; a value is written as its place among them.
    const NAMES: &'static [&'static str];
    /// Its place.
    fn code(&self) -> u8;
}

impl<N: Named> Cell for N {
    const TYPE: Type = Type::Names(N::NAMES);
    const SIZE: usize = 1;

    fn put(&self, out: &mut Vec<u8>, _len: usize) {
        out.push(self.code());
    }
}

macro_rules! numbers {
    ($($type:ty => $kind:expr, |$value:ident| $number:expr;)*) => {$(
        impl Cell for $type {
            const TYPE: Type = $kind;
            const NULLABLE: bool = matches!($kind, Type::MaybeU64 | Type::MaybeI64 | Type::MaybeF64);
            const SIZE: usize = 8;

            fn put(&self, out: &mut Vec<u8>, _len: usize) {
                let $value = *self;
                out.extend_from_slice(&$number.to_le_bytes());
            }
        }
    )*};
}

numbers! {
    bool => Type::Bool, |value| u8::from(value);
    u8 => Type::U8, |value| value;
    u16 => Type::U16, |value| value;
    u32 => Type::U32, |value| value;
    u64 => Type::U64, |value| value;
    Instant => Type::U64, |value| value.as_nanos();
    Duration => Type::U64, |value| value.as_nanos();
    i64 => Type::I64, |value| value;
    f64 => Type::F64, |value| value;
    Option<u8> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u16> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u32> => Type::MaybeU64, |value| value.map_or(u64::MAX, u64::from);
    Option<u64> => Type::MaybeU64, |value| value.unwrap_or(u64::MAX);
    Option<Instant> => Type::MaybeU64, |value| value.map_or(u64::MAX, Instant::as_nanos);
    Option<Duration> => Type::MaybeU64, |value| value.map_or(u64::MAX, Duration::as_nanos);
    Option<i64> => Type::MaybeI64, |value| value.unwrap_or(i64::MIN);
    Option<f64> => Type::MaybeF64, |value| value.unwrap_or(f64::NAN);
}

macro_rules! texts {
    ($($type:ty, $nullable:literal, |$text:ident| $value:expr;)*) => {$(
        impl Cell for $type {
            const TYPE: Type = Type::Text;
            const NULLABLE: bool = $nullable;
            const SIZE: usize = 8;

            fn put(&self, out: &mut Vec<u8>, len: usize) {
                let $text = self;
                put_text($value, out, len);
            }
        }
    )*};
}

texts! {
    &str, false, |text| Some(text);
    String, false, |text| Some(text);
    Option<&str>, true, |text| *text;
    Option<String>, true, |text| text.as_deref();
}

fn put_text(text: Option<&str>, out: &mut Vec<u8>, len: usize) {
    out.push(if len == 0 { b'[' } else { b',' });
    match text {
        // Writing into memory cannot fail.
        Some(text) => serde_json::to_writer(out, text).unwrap_or_default(),
        None => out.extend_from_slice(b"null"),
    }
}

/// Values apart by blanks, whose text needs no escape.
#[derive(Clone, Copy, Debug)]
pub struct Joined<'a, T>(pub &'a [T]);

impl<T: Display> Cell for Joined<'_, T> {
    const TYPE: Type = Type::Text;
    const SIZE: usize = 12;

    fn put(&self, out: &mut Vec<u8>, len: usize) {
        plain_text(out, len, |out| {
            for (at, value) in self.0.iter().enumerate() {
                write!(out, "{}{value}", if at == 0 { "" } else { " " }).unwrap_or_default();
            }
        });
    }
}

impl Cell for SocketAddr {
    const TYPE: Type = Type::Text;
    const SIZE: usize = 24;

    fn put(&self, out: &mut Vec<u8>, len: usize) {
        plain_text(out, len, |out| write!(out, "{self}").unwrap_or_default());
    }
}

impl Cell for IpAddr {
    const TYPE: Type = Type::Text;
    const SIZE: usize = 18;

    fn put(&self, out: &mut Vec<u8>, len: usize) {
        plain_text(out, len, |out| write!(out, "{self}").unwrap_or_default());
    }
}

/// Writes a value whose text needs no escape straight into a JSON list. Writing into memory cannot fail.
fn plain_text(out: &mut Vec<u8>, len: usize, write: impl FnOnce(&mut Vec<u8>)) {
    out.extend_from_slice(if len == 0 { b"[\"" } else { b",\"" });
    write(out);
    out.push(b'"');
}
