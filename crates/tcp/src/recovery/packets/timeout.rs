//! An expiry of the retransmission timer: `tcp_retransmit_timer` and `tcp_enter_loss`.

use rexmit_stack::{Event, Reason};
use rexmit_units::Instant;

use super::Phase;
use crate::Connection;
use crate::congestion::{CongestionControl, Loss};

impl Connection {
    pub(crate) fn on_counted_timeout(&mut self, now: Instant) {
        if self.rtt.shift() >= self.profile.recovery.max_retransmits {
            self.enter_closed(Event::TimedOut);
            return;
        }
        if self.packets.queue.len() == 0 {
            return;
        }
        if self.halves_packets() {
            self.enter_loss_halving(now);
        } else {
            self.enter_loss(now);
        }
        self.packets.timeouts += 1;
        self.back_off();
        self.recovery.decision = Reason::Timeout { backoff: self.rtt.shift() };
        self.resend_packet(now, 0);
        self.recovery.decision = Reason::New;
        self.timers.rexmt = self.clock.deadline(now, self.rtt.rto());
    }

    /// `tcp_enter_loss`: all is lost that is not SACKed; the threshold is lowered once an episode.
    fn enter_loss(&mut self, now: Instant) {
        let phase = self.recovery.phase;
        let fresh = matches!(phase, Phase::Open | Phase::Disorder);
        self.packets.duplicates = 0;
        self.packets.queue.lose_all();
        let again = phase == Phase::Loss && self.packets.timeouts == 0;
        if fresh || self.recovery.recover <= self.snd.una || again {
            self.packets.prior_ssthresh = self.present_ssthresh();
            self.packets.prior_cwnd = self.cwnd_packets();
            let loss = Loss { in_flight: self.flight(), snd_wnd: self.snd.wnd, now };
            self.window.ssthresh = self.congestion.ssthresh_on_loss(&self.window, &loss);
            self.start_undo();
        }
        self.congestion.on_timeout(&mut self.window, now);
        self.set_cwnd_packets(self.packets.in_flight() + 1);
        self.packets.limited.since = now;
        let least = self.profile.recovery.dupack_threshold;
        if fresh && self.packets.sacked() >= least {
            self.packets.reordering = self.packets.reordering.min(least);
        }
        self.recovery.phase = Phase::Loss;
        self.recovery.recover = self.snd.nxt;
        self.packets.frto = self.profile.recovery.frto && (fresh || self.packets.timeouts > 0);
    }

    /// `tcp_init_undo`.
    pub(super) fn start_undo(&mut self) {
        self.packets.undo_marker = Some(self.snd.una);
        self.packets.undo_resent = match self.packets.queue.resent {
            0 => -1,
            n => i64::from(n),
        };
    }
}
