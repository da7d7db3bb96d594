//! What was sent again in a run, in a few rows.

use rexmit_tables::row;
use serde::{Deserialize, Serialize};

use crate::HostCell;

row! {
    /// Retransmissions of one end that have the same number and class. Standard deviations are of the sample, so that
    /// rows can be pooled with nothing lost.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct RetransmissionRow {
        connection: u32 = plain("number of the connection, from 0"),
        host: HostCell = plain("server or client: who sent them"),
        protocol: String = plain("tcp or sctp"),
        number: u32 = plain("1 for the first retransmission of a segment or chunk"),
        class: String =
            plain("of TCP the cause, of SCTP the class of sctp_trace (pedersen-2006 section 3.2)"),
        count: u64 = packets("segments or chunks"),
        not_needed: u64 = packets("of these, those that were spurious or acknowledged before"),
        bundled_in_fast: u64 = packets("of these, chunks bundled into a fast retransmit of another one"),
        cumulative_min_ms: f64 = ms("smallest time since the first transmission"),
        cumulative_max_ms: f64 = ms("largest time since the first transmission"),
        cumulative_mean_ms: f64 = ms("mean time since the first transmission"),
        cumulative_std_ms: f64 =
            ms("standard deviation of the sample (n - 1) of times since the first transmission, as tcptrace's; 0 of one"),
        consecutive_min_ms: f64 = ms("smallest time since the transmission before"),
        consecutive_max_ms: f64 = ms("largest time since the transmission before"),
        consecutive_mean_ms: f64 = ms("mean time since the transmission before"),
        consecutive_std_ms: f64 =
            ms("standard deviation of the sample (n - 1) of times since the transmission before, as tcptrace's; 0 of one"),
    }
}
