//! A first timeout that proves a mistake is taken back: FreeBSD's `t_badrxtwin` (FB-RTO-6, FB-RTO-7).

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Phase;
use crate::congestion::CongestionControl;
use crate::connection::Tcb;

/// What a first timeout overwrote.
#[derive(Clone, Copy, Debug)]
struct Before {
    cwnd: u32,
    ssthresh: u32,
    recover: SeqNumber,
    recovering: bool,
    until_tick: u64,
}

/// The undo of the last timeout, while there may be one.
#[derive(Clone, Debug, Default)]
pub(super) struct BadRetransmit {
    before: Option<Box<Before>>,
}

impl BadRetransmit {
    /// FB-RTO-6: what the first timeout of a segment overwrites is kept for srtt / 2.
    pub fn remember(&mut self, tcb: &Tcb, now: Instant, recover: SeqNumber, phase: Phase) {
        if !tcb.profile.recovery.bad_retransmit_undo || tcb.rtt.shift() > 0 {
            return;
        }
        let half = tcb.rtt.srtt().map_or(0, |s| s.as_nanos() / 2);
        let tick = tcb.clock.span(1).as_nanos();
        self.before = Some(Box::new(Before {
            cwnd: tcb.window.cwnd,
            ssthresh: tcb.window.ssthresh,
            recover,
            recovering: phase == Phase::Recovery,
            until_tick: tcb.clock.ticks(now) + half / tick,
        }));
    }

    /// FB-RTO-7: the first timeout was a mistake if new data are acknowledged this soon after it. The state goes
    /// back to where it was.
    #[inline]
    pub fn undo(&mut self, tcb: &mut Tcb, now: Instant, recover: &mut SeqNumber, phase: &mut Phase) {
        if self.before.is_some() {
            self.undo_if_soon(tcb, now, recover, phase);
        }
    }

    #[cold]
    fn undo_if_soon(&mut self, tcb: &mut Tcb, now: Instant, recover: &mut SeqNumber, phase: &mut Phase) {
        let Some(before) = self.before.take() else { return };
        if tcb.rtt.shift() == 1 && tcb.clock.ticks(now) < before.until_tick {
            tcb.window.cwnd = before.cwnd;
            tcb.window.ssthresh = before.ssthresh;
            *recover = before.recover;
            *phase = if before.recovering { Phase::Recovery } else { Phase::Open };
            tcb.snd.nxt = tcb.snd.max;
            tcb.congestion.on_spurious();
        }
    }
}
