//! The bytes that applications write.

use std::sync::LazyLock;

use rexmit_wire::Payload;

/// The bytes of a stream repeat after so many.
const PERIOD: usize = 10;
/// The most that one call of the library takes.
pub(crate) const MOST: usize = 65_535;

static BYTES: LazyLock<Vec<u8>> =
    LazyLock::new(|| (0..(MOST + PERIOD) as u64).map(Payload::stream_byte).collect());

/// The bytes of a stream from `at`, `len` or [`MOST`] of them.
pub(crate) fn piece(at: u64, len: u64) -> &'static [u8] {
    let from = (at % PERIOD as u64) as usize;
    &BYTES[from..from + len.min(MOST as u64) as usize]
}

/// How many of these bytes are not those that a stream has from `at`.
pub(crate) fn misplaced(at: u64, bytes: &[u8]) -> u64 {
    let right = piece(at, bytes.len() as u64);
    if bytes == right {
        return 0;
    }
    let pairs = bytes.iter().zip(right.iter().chain(std::iter::repeat(&0)));
    pairs.filter(|(byte, right)| byte != right).count() as u64
}
