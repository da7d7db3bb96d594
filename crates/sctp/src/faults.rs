//! What came that no correct peer would send, counted by its kind.

/// Counters of faults; none of them ends in a panic, and each has one rule of RFC 9260 that says what is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// Bytes that are not an SCTP packet: a chunk shorter than its header or longer than the packet (section 3.2).
    pub malformed_packets: u64,
    /// Chunks whose fixed fields are not there, or whose contents contradict each other (section 3.3).
    pub malformed_chunks: u64,
    /// Packets with the wrong verification tag (section 8.5).
    pub wrong_tags: u64,
    /// Packets that belong to no association (section 8.4).
    pub out_of_the_blue: u64,
    /// INIT chunks beside others, or with a tag in the header (section 8.5.1).
    pub bad_inits: u64,
    /// INIT chunks in a state in which none is expected (section 5.2).
    pub unexpected_inits: u64,
    /// INIT-ACK chunks in a state in which none is expected (section 5.2.3).
    pub unexpected_init_acks: u64,
    /// Cookies whose code is wrong (section 5.1.5 step 2).
    pub bad_cookies: u64,
    /// Cookies that are too old (section 5.2.6).
    pub stale_cookies: u64,
    /// Cookies that belong to no association as section 5.2.4 tells them apart.
    pub unexpected_cookies: u64,
    /// Associations that the peer restarted (section 5.2.4 A).
    pub restarts: u64,
    /// Chunks of unknown types (section 3.2).
    pub unknown_chunks: u64,
    /// Chunks in a state in which they mean nothing.
    pub unexpected_chunks: u64,
    /// SACKs whose cumulative TSN is behind (section 6.2.1 i).
    pub old_sacks: u64,
    /// SACKs or blocks for what was never sent.
    pub sacks_of_unsent: u64,
    /// Gap blocks that end before they begin, or that do not ascend.
    pub bad_gaps: u64,
    /// TSNs that were acknowledged by gap blocks and no longer are (section 6.2.1).
    pub reneged: u64,
    /// DATA chunks that had come before (section 6.2).
    pub duplicate_data: u64,
    /// DATA chunks without user data (section 6.2).
    pub empty_data: u64,
    /// DATA chunks on streams that do not exist (section 6.5).
    pub bad_streams: u64,
    /// DATA chunks beyond the window or the reach of gap blocks.
    pub data_beyond_window: u64,
    /// DATA chunks whose place in their stream or message is impossible.
    pub misordered_data: u64,
    /// HEARTBEAT-ACKs that answer no heartbeat of this side (section 8.3).
    pub bad_heartbeat_acks: u64,
    /// ERROR chunks that came (section 3.3.10).
    pub errors: u64,
}
