//! Recovery that counts packets: Linux 6.1's states, with proportional rate reduction (RFC 6937), undo by
//! timestamps and D-SACK, and F-RTO (RFC 5682); and those of 2.6.15, with rate halving (`halving`).
//!
//! The names of the functions of net/ipv4/tcp_input.c stand at their counterparts. The states are those of
//! the other ways to recover, and one set of rules serves connections with SACK and without: without it,
//! duplicates are counted as SACKed packets.
//!
//! Not modelled: RACK and TLP (RFC 8985), so this is the kernel with `tcp_recovery=0` and
//! `tcp_early_retrans=0`; ECN and its state CWR; where packets of the send queue end; the pacing that RACK's
//! timer would need; the wait of half a round trip after a report that was taken back
//! (`tcp_check_sack_reneging`): only the timeout forgets.

mod ack;
mod alert;
mod device;
mod halving;
mod queue;
mod send;
mod timeout;
mod undo;
mod undo_halving;

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

use crate::Connection;
use crate::profile::SackRecovery;

use super::Phase;
pub(crate) use device::DevicePacket;
pub(crate) use queue::{News, SentQueue};

/// `ssthresh` where there is none, in packets (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// What the kernel keeps in `struct tcp_sock` for this.
#[derive(Clone, Debug)]
pub(crate) struct Packets {
    pub queue: SentQueue,
    /// Without SACK: duplicates, each of them a packet that has arrived.
    duplicates: u32,
    /// Degree of reordering that is not taken for loss.
    reordering: u32,
    /// Reordering was seen, so that distances are no proof any more (`tcp_disable_fack`).
    reorders: bool,
    /// una when the windows were lowered, as long as that may be undone.
    undo_marker: Option<SeqNumber>,
    /// Packets sent again since then and not reported as duplicates; none: -1.
    undo_resent: i64,
    /// Timestamp of the first of them.
    first_resent: Option<u32>,
    /// Windows before they were lowered, in packets; a threshold of 0 forbids the undo.
    prior_ssthresh: u32,
    prior_cwnd: u32,
    prr_delivered: u32,
    prr_out: u32,
    /// F-RTO is asking whether the timeout was needed.
    frto: bool,
    /// Expiries since una moved.
    timeouts: u32,
    /// Packets that have arrived.
    delivered: u64,
    /// Duplicates that the peer reported, and packets sent again.
    reported: u64,
    resends: u64,
    /// Echo of the last timestamp.
    echo: Option<u32>,
    limited: Limited,
    pub device: DevicePacket,
    /// In this round of sending data wait although cwnd has room.
    deferred: bool,
    /// When anything last left.
    pub last_sent: Instant,
    /// The shortest round trip so far.
    least_rtt: Duration,
}

/// Was the window full in the last round trip (`tcp_cwnd_validate`)?
#[derive(Clone, Copy, Debug)]
struct Limited {
    by_cwnd: bool,
    most_out: u32,
    until: SeqNumber,
    /// Most packets out since `since`, while the window was not full.
    used: u32,
    since: Instant,
}

impl Packets {
    pub fn new(reordering: u32, iss: SeqNumber) -> Self {
        Self {
            queue: SentQueue::default(),
            duplicates: 0,
            reordering,
            reorders: false,
            undo_marker: None,
            undo_resent: 0,
            first_resent: None,
            prior_ssthresh: 0,
            prior_cwnd: 0,
            prr_delivered: 0,
            prr_out: 0,
            frto: false,
            timeouts: 0,
            delivered: 0,
            reported: 0,
            resends: 0,
            echo: None,
            limited: Limited { by_cwnd: false, most_out: 0, until: iss, used: 0, since: Instant::ZERO },
            device: DevicePacket::default(),
            deferred: false,
            last_sent: Instant::ZERO,
            least_rtt: Duration::from_secs(3600),
        }
    }

    /// Packets that have arrived out of order (`sacked_out`).
    fn sacked(&self) -> u32 {
        self.queue.sacked + self.duplicates
    }

    /// `tcp_packets_in_flight`.
    fn in_flight(&self) -> u32 {
        self.queue.in_flight().saturating_sub(self.duplicates)
    }

    /// A round of sending begins.
    pub fn begin_round(&mut self) {
        (self.device, self.deferred) = (DevicePacket::default(), false);
    }

    /// A round trip was measured.
    pub fn note_rtt(&mut self, rtt: Duration) {
        self.least_rtt = self.least_rtt.min(rtt);
    }

    /// `tcp_any_retrans_done`.
    fn any_resent(&self) -> bool {
        self.queue.resent > 0 || self.queue.head().is_some_and(|p| p.ever_resent)
    }
}

impl Connection {
    /// Packets are counted, with SACK or without.
    #[inline]
    pub(crate) fn counts_packets(&self) -> bool {
        self.profile.recovery.sack.counts_packets()
    }

    /// They are counted, and the window goes down by rate halving.
    fn halves_packets(&self) -> bool {
        self.profile.recovery.sack == SackRecovery::CountedHalving
    }

    fn cwnd_packets(&self) -> u32 {
        self.window.cwnd / self.window.mss
    }

    fn set_cwnd_packets(&mut self, n: u32) {
        self.window.cwnd = n.saturating_mul(self.window.mss);
    }

    fn ssthresh_packets(&self) -> u32 {
        match self.window.ssthresh {
            u32::MAX => NO_THRESHOLD,
            bytes => bytes / self.window.mss,
        }
    }

    fn set_ssthresh_packets(&mut self, n: u32) {
        let bytes = n.saturating_mul(self.window.mss);
        self.window.ssthresh = if n >= NO_THRESHOLD { u32::MAX } else { bytes };
    }

    /// Three quarters of the window at least, outside recovery (`tcp_current_ssthresh`).
    fn present_ssthresh(&self) -> u32 {
        let (cwnd, ssthresh) = (self.cwnd_packets(), self.ssthresh_packets());
        if self.in_recovery() { ssthresh } else { ssthresh.max((cwnd >> 1) + (cwnd >> 2)) }
    }
}
