//! What was sent again in a run, in a few rows.

use serde::{Deserialize, Serialize};

/// Retransmissions of one end that have the same number and class. Delays are in milliseconds, standard deviations of
/// the sample (n - 1; 0 of one), so that rows can be pooled with nothing lost.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RetransmissionRow {
    /// Number of the connection, from 0.
    pub connection: u32,
    /// `server` or `client`: who sent them.
    pub host: String,
    /// `tcp` or `sctp`.
    pub protocol: String,
    /// 1 for the first retransmission of a segment or chunk.
    pub number: u32,
    /// Of TCP the cause, of SCTP the class of sctp_trace (pedersen-2006 section 3.2).
    pub class: String,
    /// Segments or chunks.
    pub count: u64,
    /// Of these, those that were not needed.
    pub not_needed: u64,
    /// Of these, chunks bundled into a fast retransmit of another one.
    pub bundled_in_fast: u64,
    /// Smallest time since the first transmission.
    pub cumulative_min_ms: f64,
    /// Largest time since the first transmission.
    pub cumulative_max_ms: f64,
    /// Mean time since the first transmission.
    pub cumulative_mean_ms: f64,
    /// Standard deviation of times since the first transmission.
    pub cumulative_std_ms: f64,
    /// Smallest time since the transmission before.
    pub consecutive_min_ms: f64,
    /// Largest time since the transmission before.
    pub consecutive_max_ms: f64,
    /// Mean time since the transmission before.
    pub consecutive_mean_ms: f64,
    /// Standard deviation of times since the transmission before.
    pub consecutive_std_ms: f64,
}
