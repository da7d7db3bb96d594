//! What is read of a packet at most, and kept of fragments, so that no packet costs much memory or time.

/// Headers within each other: tags, labels, extension headers of IPv6. RFC 8504 section 5.3 allows stopping at 8.
pub const LAYERS: usize = 32;
/// Bytes that datagrams of which fragments are missing take together. The oldest are given up for new ones.
pub const FRAGMENT_BYTES: usize = 8 << 20;
/// Fragments of a datagram. One of 64 KiB over links of 68 bytes (RFC 791 section 3.2) has 1,366.
pub const FRAGMENTS: usize = 2_048;
