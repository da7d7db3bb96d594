//! What a profile says about loss recovery.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::is_default;

/// How losses are repaired when SACK is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SackRecovery {
    /// FreeBSD 6: cwnd of one segment at entry, then grown to ssthresh by awnd and partial ACKs
    /// (FB-FR-3, -5, -6).
    Bsd,
    /// RFC 6675: cwnd = ssthresh, a segment whenever cwnd - pipe allows.
    Rfc6675,
    /// Linux: segments count as lost by their distance from the highest SACKed byte (FACK, LX-ST-9), and
    /// cwnd is lowered by one for every second ACK (rate halving, LX-ST-7).
    RateHalving,
    /// Linux 6.1 without RACK: RFC 6675's threshold counted in packets, proportional rate reduction (RFC 6937),
    /// undo by timestamps and D-SACK, and F-RTO; without SACK the same on counted duplicates (LK-REC-1 to
    /// LK-REC-9). It goes with `plain = "counted-duplicates"`.
    Prr,
    /// Linux 2.6.15: the states, marks and windows of rate halving in whole packets, whatever their size (LX-ST-1
    /// to LX-ST-11); a retransmission is lost where data that left after it are reported; without SACK the same on
    /// counted duplicates. It goes with `plain = "counted-duplicates"`.
    CountedHalving,
}

impl SackRecovery {
    /// Packets are counted, with SACK or without.
    pub fn counts_packets(self) -> bool {
        matches!(self, Self::Prr | Self::CountedHalving)
    }
}

/// How losses are repaired without SACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PlainRecovery {
    /// Fast recovery ends with the first ACK of new data (RFC 5681 section 3.2).
    Reno,
    /// Fast recovery lasts until all that was outstanding is acknowledged, with BSD's accounting: limited
    /// transmit lessens the inflation, every partial ACK restarts the timer (FB-FR-4, FB-FR-8).
    NewReno,
    /// The same to the letter of RFC 6582 section 3.2: cwnd = ssthresh + 3 MSS at entry, one MSS added back
    /// only for a partial ACK of at least one, and only the first partial ACK restarts the timer.
    Rfc6582,
    /// Duplicates count as packets that have arrived, and the states are those of recovery with SACK
    /// (LK-REC-5, LX-ST-5). It goes with `sack = "prr"` and `sack = "counted-halving"`.
    CountedDuplicates,
}

/// How much leaves at each ACK of fast recovery.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum PrrRule {
    /// As much as the pipe leaves of ssthresh (RFC 6675 section 5).
    #[default]
    Off,
    /// Proportional rate reduction of 2013: below ssthresh as much as arrives and a segment with each ACK (RFC 6937
    /// section 3, PRR-SSRB).
    Rfc6937,
    /// Proportional rate reduction of 2025: below ssthresh as much as arrives, and a segment more with an ACK that moves
    /// una and shows no further loss (RFC 9937 section 6, SafeACK).
    Rfc9937,
}

/// The window with which recovery ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RecoveryExit {
    /// ssthresh, but flight + MSS if ssthresh would allow a burst (FB-FR-9; [000 Listing 4.1]).
    BsdSlowStart,
    /// min(ssthresh, max(flight, MSS) + MSS) (RFC 6582 section 3.2 step 3, first choice). Recovery after
    /// RFC 6675 keeps cwnd = ssthresh (its section 5 step 4.2).
    Rfc6582,
    /// ssthresh (RFC 6582, second choice; RFC 6675).
    Ssthresh,
    /// min(cwnd, ssthresh), and at most three segments more than what is in flight (LX-ST-10).
    Moderated,
}

/// From where `bsd` counts what is out in recovery, when a duplicate may let cwnd grow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BsdPipe {
    /// From the highest byte that was ever reported; before the first report of a connection the window does not
    /// grow (6.0 and later, FB-FR-5).
    #[default]
    HighestReport,
    /// From una, less what was reported and what is missing and was not sent again (5.4, FB-FR-5a). The two differ
    /// where nothing above una is reported.
    Una,
}

/// How far rate halving lowers cwnd by itself (LX-ST-7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HalvingFloor {
    /// As far as the congestion control says: `reno` to half of ssthresh, `bic` to ssthresh (2.6.15).
    #[default]
    Algorithm,
    /// To half of ssthresh, whatever the congestion control (2.6.9).
    HalfSsthresh,
}

/// Loss recovery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RecoveryConfig {
    /// With SACK.
    pub sack: SackRecovery,
    /// Without SACK.
    pub plain: PlainRecovery,
    /// Duplicate ACKs that trigger a fast retransmit.
    pub dupack_threshold: u32,
    /// A changed window makes an ACK a window update, not a duplicate (RFC 5681 section 2 (e); FB-DUP-1).
    pub changed_window_is_no_duplicate: bool,
    /// A FIN without data whose acknowledgment is old counts as a duplicate ACK, and is not looked at further: FreeBSD
    /// 6 tests only the length of the data. RFC 5681 section 2 (c) excludes it.
    #[serde(default)]
    pub bare_fin_is_duplicate: bool,
    /// Most segments sent by limited transmit in an episode (RFC 3042); 0 turns it off.
    pub limited_transmit: u32,
    /// With SACK, duplicates at or below `recover` may not start recovery (RFC 6582 section 3.2 step 1);
    /// FreeBSD does not test this (FB-FR-1).
    pub sack_entry_guard: bool,
    /// A partial ACK in recovery is answered even when no data can go (FB-FR-7).
    pub partial_ack_answers: bool,
    /// `bsd`: from where what is out is counted, when duplicates let the window grow.
    #[serde(default, skip_serializing_if = "is_default")]
    pub bsd_pipe: BsdPipe,
    /// `bsd`: a partial ACK may raise cwnd above ssthresh: 5.4 does not cap it there (FB-FR-6).
    #[serde(default, skip_serializing_if = "is_default")]
    pub partial_ack_uncapped: bool,
    /// The window with which recovery ends.
    pub exit: RecoveryExit,
    /// An ACK within srtt/2 of the first timeout restores cwnd, ssthresh and nxt (FB-RTO-7).
    pub bad_retransmit_undo: bool,
    /// Only the first timeout of a segment lowers ssthresh (RFC 5681 section 3.1, last paragraph).
    pub ssthresh_once_per_segment: bool,
    /// A timeout in fast recovery leaves ssthresh as the recovery set it (Linux 2.6, tcp_input.c).
    #[serde(default)]
    pub ssthresh_kept_in_recovery: bool,
    /// Forget SACK reports at a timeout (RFC 6675 section 5.1, RFC 2018 section 5).
    pub forget_sack_at_timeout: bool,
    /// `rate-halving` and `counted-halving`: all that lies more than the threshold below the highest reported byte
    /// is lost (FACK). Otherwise only the first segment is, and the next with each duplicate or partial ACK
    /// (LX-ST-9, LX-FR-1).
    #[serde(default = "yes", skip_serializing_if = "is_yes")]
    pub fack: bool,
    /// `rate-halving` and `counted-halving`: how far an ACK of recovery may lower cwnd (LX-ST-7).
    #[serde(default, skip_serializing_if = "is_default")]
    pub halving_floor: HalvingFloor,
    /// `rate-halving` and `counted-halving`: a reduction is taken back where timestamps or D-SACK show that nothing
    /// had to be sent again (LX-ST-11). Until that is settled, a recovery that has ended still leaves the sender in doubt: its ACKs count
    /// as dubious ones (LX-ST-10).
    #[serde(default, skip_serializing_if = "is_default")]
    pub reduction_undo: bool,
    /// `rfc6675`: how much leaves at each ACK of fast recovery (RF-PRR-1 to RF-PRR-4).
    #[serde(default, skip_serializing_if = "is_default")]
    pub prr: PrrRule,
    /// `rfc6675` and `prr`, with SACK: F-RTO asks after a timeout whether it was needed (RFC 5682 section 3.1; RF-FRTO-1 to
    /// RF-FRTO-3, of Linux LK-REC-8).
    #[serde(default, skip_serializing_if = "is_default")]
    pub frto: bool,
    /// `prr` and `counted-halving`: how far the threshold of duplicates may follow reordering that was seen; 0: not at
    /// all.
    #[serde(default, skip_serializing_if = "is_default")]
    pub max_reordering: u32,
    /// With fewer than four segments out and nothing new to send, as many duplicates or reports as segments are out,
    /// less one, begin recovery (RFC 5827 section 3.2, counted in segments).
    #[serde(default, skip_serializing_if = "is_default")]
    pub early_retransmit: bool,
    /// `rfc6675` and `prr`, with SACK: what is lost is told by time, not by the number of reports (RACK, RFC 8985
    /// section 6). With `rfc6675` as the RFC has it (RF-RACK-1 to RF-RACK-7), with `prr` as Linux does it (LK-RACK-1 to
    /// LK-RACK-7), which is the kernel's `net.ipv4.tcp_recovery = 1`.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rack: bool,
    /// With SACK, silence of two round trips sends a probe: new data, or else the last segment again (tail loss probe,
    /// RFC 8985 section 7; with `prr` as Linux does it, LK-TLP-1 to LK-TLP-3, which is its `tcp_early_retrans = 3`).
    #[serde(default, skip_serializing_if = "is_default")]
    pub tail_probe: bool,
    /// With fewer than four segments out and waiting, an ACK restarts the timer less the time that the earliest of
    /// them has been out already (RFC 7765 section 4).
    #[serde(default, skip_serializing_if = "is_default")]
    pub rto_restart: bool,
    /// Retransmissions of a segment before the connection is given up.
    pub max_retransmits: u32,
}

impl RecoveryConfig {
    /// Rules that are kept segment by segment or packet by packet go with what does so.
    pub(super) fn check(&self) -> Result<(), (&'static str, String)> {
        let by_segment = self.sack == SackRecovery::Rfc6675;
        if self.rack && !by_segment && self.sack != SackRecovery::Prr {
            let text = "goes with recovery.sack = \"rfc6675\", and as Linux does it with \"prr\"";
            return Err(("recovery.rack", text.into()));
        }
        if self.prr != PrrRule::Off && !by_segment {
            let text = "goes with recovery.sack = \"rfc6675\"; recovery.sack = \"prr\" is Linux's own";
            return Err(("recovery.prr", text.into()));
        }
        Ok(())
    }
}

/// Rules of Linux for thin streams: fewer than four packets out, after the first slow start (`tcp_stream_is_thin`).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct ThinConfig {
    /// The first six timeouts of a segment do not double the interval while the stream is thin
    /// (`tcp_thin_linear_timeouts`).
    #[serde(skip_serializing_if = "is_default")]
    pub linear_timeouts: bool,
    /// With SACK and nothing new to send, this many reports begin recovery while the stream is thin; 1 is the former
    /// `tcp_thin_dupack`. 0: no such rule.
    #[serde(skip_serializing_if = "is_default")]
    pub fast_retransmit_after: u32,
}

fn yes() -> bool {
    true
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn is_yes(value: &bool) -> bool {
    *value
}
