//! What an analysis may be told.

use crate::core::policy::Policy;
use crate::core::rows::Tables;

/// What an analysis may be told.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Options {
    /// Losses within this many RTTs count as one loss event: 2 as klaver-2005 section 3.2, 1 as RFC 5348 section 5.2.
    /// Each loss is held against the one before it, by the times at which the lost segments were sent; the RFC holds it
    /// against the first of the event, which differs where losses go on for longer than that.
    pub loss_event_rtts: f64,
    /// Which tables to keep.
    pub tables: Tables,
    /// Missing reports that make sctp_trace call a retransmission of SCTP fast: 4 for pedersen-2006's lksctp, 3 for
    /// RFC 9260, 1 for its modified runs.
    pub missing_reports: u32,
    /// The thresholds by which packets are judged.
    pub policy: &'static Policy,
}

impl Default for Options {
    fn default() -> Self {
        let tables = Tables { segments: false, rtt: false, chunks: false, held: false };
        Self { loss_event_rtts: 2.0, tables, missing_reports: 3, policy: Default::default() }
    }
}
