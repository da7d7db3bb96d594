//! What was lost, and what is done about it. One file per way to recover.

mod bsd_sack;
mod doubts;
mod few;
mod newreno;
mod packets;
mod probe;
mod rate_halving;
mod rfc6675;
mod sack;
mod scoreboard;

use rexmit_stack::Reason;
use rexmit_units::Instant;
use rexmit_wire::{SeqNumber, TcpSegment};

use crate::Connection;
use crate::congestion::{CongestionControl, During, Loss};
use crate::profile::{PlainRecovery, RecoveryExit, SackRecovery};

use doubts::Doubts;
pub(crate) use few::Outstanding;
pub(crate) use packets::Packets;
use probe::Probe;
pub(crate) use scoreboard::Scoreboard;

/// What the sender is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    /// Nothing is suspected.
    Open,
    /// Duplicates have come, fewer than the threshold.
    Disorder,
    /// Fast recovery.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

impl Phase {
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }

    /// For congestion control, which rests in recovery.
    pub fn during(self) -> During {
        match self {
            Self::Open | Self::Recovery => During::Open,
            Self::Disorder => During::Disorder,
            Self::Loss => During::Loss,
        }
    }
}

/// What a first timeout overwrote, should it prove a mistake (FB-RTO-6, FB-RTO-7).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Undo {
    pub cwnd: u32,
    pub ssthresh: u32,
    pub recover: SeqNumber,
    pub recovering: bool,
    pub until_tick: u64,
}

/// The state of loss recovery.
#[derive(Clone, Debug)]
pub(crate) struct Recovery {
    pub phase: Phase,
    /// Highest sequence number sent when recovery began (RFC 6582 `recover`).
    pub recover: SeqNumber,
    pub dupacks: u32,
    /// Segments sent by limited transmit in this episode.
    pub limited: u32,
    /// nxt when SACK recovery began (BSD `sack_newdata`).
    pub new_data: SeqNumber,
    /// Bytes of new data that duplicates let out since the last ACK of new data.
    pub limited_bytes: u32,
    /// Every second ACK in rate halving.
    pub halving: u32,
    /// Rate halving: all before this that is not SACKed is lost.
    pub lost_to: SeqNumber,
    /// One past RescueRxt of RFC 6675.
    pub rescue: SeqNumber,
    /// Partial ACKs of this recovery.
    pub partials: u32,
    pub undo: Option<Undo>,
    /// Rate halving: was the last reduction needed?
    pub doubts: Doubts,
    /// A tail loss probe that is not settled.
    pub probe: Option<Probe>,
    /// Why the next segment that is sent again is sent, or new data, where something has just decided on that;
    /// else [`Reason::New`].
    pub decision: Reason,
}

/// What the next segment may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Permit {
    /// From a hole: `len` bytes from `seq`.
    Hole { seq: SeqNumber, len: u32 },
    /// From nxt: so many bytes; negative where more is outstanding than allowed.
    Next { len: i64 },
}

impl Recovery {
    pub fn new(iss: SeqNumber) -> Self {
        Self {
            phase: Phase::Open,
            recover: iss,
            dupacks: 0,
            limited: 0,
            new_data: iss,
            limited_bytes: 0,
            halving: 0,
            lost_to: iss,
            rescue: iss,
            partials: 0,
            undo: None,
            doubts: Doubts::default(),
            probe: None,
            decision: Reason::New,
        }
    }

    /// Why new data leave.
    #[inline]
    pub fn new_reason(&self) -> Reason {
        match self.decision {
            Reason::LimitedTransmit | Reason::TailProbe => self.decision,
            _ => Reason::New,
        }
    }

    /// Keeps `recover` from falling so far behind that it wraps.
    pub fn follow_una(&mut self, una: SeqNumber, sack: bool) {
        if self.phase == Phase::Disorder || (self.phase == Phase::Loss && una >= self.recover) {
            self.phase = Phase::Open;
        }
        if self.phase != Phase::Recovery && una > self.recover && (sack || una.diff(self.recover) > 1 << 30) {
            self.recover = una;
        }
    }
}

impl Connection {
    /// May duplicates of `ack` start fast recovery?
    pub(crate) fn may_enter_recovery(&self, ack: SeqNumber) -> bool {
        let config = &self.profile.recovery;
        if self.marks.sack {
            // RFC 6675 section 5.1: not before all that a timeout found outstanding is acknowledged.
            return !config.sack_entry_guard || ack >= self.recovery.recover;
        }
        // RFC 6582 section 3.2 step 2.
        config.plain == PlainRecovery::Reno || ack > self.recovery.recover
    }

    /// The threshold of duplicates is reached.
    pub(crate) fn enter_recovery(&mut self, now: Instant) {
        // RFC 5681 section 3.2 step 2: what limited transmit sent does not count.
        let in_flight = self.flight().saturating_sub(self.recovery.limited_bytes);
        let loss = Loss { in_flight, snd_wnd: self.snd.wnd, now };
        self.begin_doubts();
        self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
        self.recovery.phase = Phase::Recovery;
        self.recovery.recover = self.snd.max;
        self.recovery.partials = 0;
        self.recovery.limited_bytes = 0;
        self.recovery.new_data = self.snd.nxt;
        self.stop_timing();
        self.counters.fast_retransmits += 1;
        // It goes for the first segment sent again, which BSD may have to wait for (FB-FR-3).
        self.recovery.decision = self.fast_reason();
        match self.profile.recovery.sack {
            _ if !self.marks.sack => self.enter_newreno(now),
            SackRecovery::Bsd => self.enter_bsd_sack(now),
            SackRecovery::Rfc6675 => self.enter_rfc6675(now),
            SackRecovery::RateHalving => self.enter_rate_halving(now),
            // They begin recovery themselves.
            SackRecovery::Prr | SackRecovery::CountedHalving => {}
        }
    }

    fn fast_reason(&self) -> Reason {
        let above = self.board.sacked_bytes(self.snd.una) / self.snd.mss.max(1);
        let count = |n: u32| u16::try_from(n).unwrap_or(u16::MAX);
        Reason::Fast { duplicates: count(self.recovery.dupacks), sacked: count(above) }
    }

    /// A further duplicate in recovery (or, in plain Reno, beyond the threshold).
    pub(crate) fn recover_on_duplicate(&mut self, now: Instant) {
        if !self.marks.sack {
            self.window.cwnd = self.window.cwnd.saturating_add(self.snd.mss);
            self.output(now);
            return;
        }
        match self.profile.recovery.sack {
            SackRecovery::Bsd => self.bsd_sack_on_duplicate(),
            SackRecovery::Rfc6675
            | SackRecovery::RateHalving
            | SackRecovery::Prr
            | SackRecovery::CountedHalving => {}
        }
        self.output(now);
    }

    /// An ACK of new data, before una moves: a partial one keeps recovery going.
    pub(crate) fn recover_on_new_ack(&mut self, now: Instant, segment: &TcpSegment) {
        if !self.in_recovery() {
            return;
        }
        if segment.ack >= self.recovery.recover || self.is_plain_reno() {
            self.leave_recovery_window(segment.ack);
        } else if !self.marks.sack {
            self.newreno_partial_ack(now, segment.ack);
        } else {
            match self.profile.recovery.sack {
                SackRecovery::Bsd => self.bsd_sack_partial_ack(now, segment.ack),
                // Their turn comes when una has moved.
                SackRecovery::Rfc6675
                | SackRecovery::RateHalving
                | SackRecovery::Prr
                | SackRecovery::CountedHalving => {}
            }
        }
    }

    fn is_plain_reno(&self) -> bool {
        !self.marks.sack && self.profile.recovery.plain == PlainRecovery::Reno
    }

    /// Plain Reno grows cwnd on the very ACK that ends recovery (FB-FR-11).
    pub(crate) fn plain_reno_grows(&self) -> bool {
        self.is_plain_reno()
    }

    /// The window with which recovery ends.
    fn leave_recovery_window(&mut self, ack: SeqNumber) {
        let (mss, ssthresh) = (self.snd.mss, self.window.ssthresh);
        let flight = self.snd.max.diff(ack) as u32;
        self.window.cwnd = if self.is_plain_reno() {
            self.window.cwnd.min(ssthresh)
        } else {
            match self.profile.recovery.exit {
                // FB-FR-9.
                RecoveryExit::BsdSlowStart if ack + ssthresh > self.snd.max => flight + mss,
                RecoveryExit::BsdSlowStart => ssthresh,
                RecoveryExit::Rfc6582 if self.uses_pipe() => ssthresh,
                RecoveryExit::Rfc6582 => ssthresh.min(flight.max(mss) + mss),
                RecoveryExit::Moderated => self.window.cwnd.min(ssthresh),
                RecoveryExit::Ssthresh => ssthresh,
            }
        };
    }

    /// Recovery ends when `recover` is reached; called before una moves.
    pub(crate) fn end_recovery(&mut self, now: Instant, ack: SeqNumber) {
        if self.in_recovery() && (ack >= self.recovery.recover || self.is_plain_reno()) {
            self.recovery.phase = Phase::Open;
            self.recovery.decision = Reason::New;
            self.congestion.on_recovery_exit(&self.window, now);
            if self.uses_pipe() && self.halves() {
                self.congestion.set_credit(self.recovery.halving); // LX-ST-13
            }
        }
    }

    /// What the next segment may be: by the way of recovery while in it, else by the windows.
    pub(crate) fn permit(&mut self) -> Permit {
        if self.marks.probing {
            return self.permit_probe();
        }
        if self.counts_packets() {
            return self.permit_packets();
        }
        if self.uses_pipe() {
            return match self.recovery.phase {
                Phase::Open => self.permit_by_window(),
                Phase::Disorder => self.permit_in_disorder(),
                Phase::Recovery => self.permit_in_recovery(),
                Phase::Loss => self.permit_after_timeout(),
            };
        }
        if self.in_recovery() && self.marks.sack {
            return self.permit_bsd_sack();
        }
        self.permit_by_window()
    }

    /// The smallest of the peer's window, cwnd and, where it is in use, the window by bandwidth (FB-OUT-4).
    #[inline]
    pub(crate) fn send_window(&self) -> u32 {
        self.snd.wnd.min(self.window.cwnd).min(self.inflight.window())
    }

    /// What the smallest of the windows leaves.
    pub(crate) fn permit_by_window(&self) -> Permit {
        Permit::Next { len: i64::from(self.buffer.len().min(self.send_window())) - self.off() }
    }

    /// Why what ends at `end` leaves again, from a hole or from nxt: what has just been decided goes for the
    /// first segment that it lets out.
    #[inline(never)]
    pub(crate) fn resend_reason(&mut self, hole: bool, end: SeqNumber) -> Reason {
        let decision = self.recovery.decision;
        if !matches!(decision, Reason::New | Reason::LimitedTransmit) {
            self.recovery.decision = Reason::New;
            return decision;
        }
        match self.recovery.phase {
            Phase::Recovery if hole => Reason::SackRecovery,
            // Nothing is repaired, so nxt went back for a probe of a closed window alone.
            Phase::Open | Phase::Disorder if end > self.snd.max => Reason::New,
            _ => Reason::GoBackN,
        }
    }

    /// Distance in bytes from the start of the send buffer to nxt.
    pub(crate) fn off(&self) -> i64 {
        i64::from(self.snd.nxt.diff(self.snd.una))
    }
}
