//! What a reader takes of a capture at most, so that a small file cannot cost much memory or time.
//!
//! Each limit is far beyond what capture programs write. What lies beyond one is passed over and counted in
//! [`Limited`], or ends the capture with an error of one line.

/// Interfaces of a capture, over all its sections. Further ones are passed over, and their packets.
pub const INTERFACES: usize = 4_096;
/// Bytes of an interface's name; the rest is cut off.
pub const NAME_BYTES: usize = 1_024;
/// Bytes of all interfaces' names together; further ones are left out.
pub const NAMES_BYTES: usize = 1 << 20;
/// Bytes of the comments of a packet; the rest is cut off.
pub const COMMENT_BYTES: usize = 1 << 16;
/// Bytes of a block or a packet. A longer one is taken for damage; capture programs keep up to 256 KiB of a packet.
pub const BLOCK_BYTES: u32 = 16 << 20;
/// Bytes that a compressed capture may always unpack to.
pub const UNPACKED_BYTES: u64 = 512 << 20;
/// Bytes that it may unpack to beyond that, for each of its own. gzip reaches 1,032 at most.
pub const UNPACKED_RATIO: u64 = 4_096;
/// Bytes of a zstd window that any capture may have (RFC 8878 section 3.1.1.1.2 asks decoders for as many).
pub const WINDOW_BYTES: u64 = 8 << 20;
/// Bytes of a larger window that are filled, for each byte of the compressed capture.
pub const WINDOW_RATIO: u64 = 24;

/// What a reader passed over.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limited {
    /// Interfaces beyond [`INTERFACES`].
    pub interfaces: u64,
    /// Packets of these.
    pub packets: u64,
    /// Names beyond [`NAME_BYTES`] or [`NAMES_BYTES`].
    pub names: u64,
}
