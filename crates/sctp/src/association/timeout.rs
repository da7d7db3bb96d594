//! What time has run out (RFC 9260 section 6.3.3; SC-T-1 to SC-T-3).

use rexmit_stack::Event;
use rexmit_units::Instant;

use super::output::Trigger;
use super::{Association, OFF, State};
use crate::outbound::Place;
use crate::profile::BackoffRule;

impl Association {
    /// Acts on every timer that is due.
    pub(super) fn on_timer(&mut self, now: Instant) {
        if self.timers.guard <= now {
            self.on_guard();
        }
        if self.timers.sack <= now {
            self.timers.sack = OFF;
            self.owed.now = true;
            self.flush(now, Trigger::Usual);
        }
        if self.timers.control <= now {
            self.timers.control = OFF;
            match self.state {
                State::CookieWait | State::CookieEchoed => self.on_t1(now),
                _ => self.on_t2(now),
            }
        }
        for path in 0..self.paths.len() {
            if self.paths[path].t3 <= now {
                self.on_t3(now, path);
            }
            if self.paths[path].pace <= now {
                self.paths[path].pace = OFF;
                self.flush(now, Trigger::Usual);
            }
            if self.paths[path].heartbeat_due <= now {
                self.on_heartbeat_due(now, path);
            }
        }
    }

    /// T3-rtx has run out on a path.
    fn on_t3(&mut self, now: Instant, path: usize) {
        self.paths[path].t3 = OFF;
        self.counters.timeouts += 1;
        if !self.note_error(path) {
            return;
        }
        // (a)
        let of = &mut self.paths[path];
        of.congestion.inner().on_timeout(&mut of.window, now);
        self.recovery_exit = None;
        self.paths[path].backoff += 1;
        let backoff = self.paths[path].backoff;
        let late = self.profile.recovery.backoff == BackoffRule::AfterRestart;
        if !late {
            self.back_off(path);
        }
        // (b)
        let to = self.alternate(path);
        for at in 0..self.out.sent.len() {
            let chunk = &self.out.sent[at];
            if chunk.place == Place::Outstanding && usize::from(chunk.path) == path {
                self.mark(at, to);
            }
        }
        // (c) and (d)
        let forwarded = self.forwarded;
        self.flush(now, Trigger::Timeout { backoff });
        if self.forwarded == forwarded {
            self.forward_again(now, path);
        }
        if late {
            self.back_off(path); // (e)
        }
    }

    /// The timeout doubles, unless the stream is thin and that is off (SC-E-5).
    fn back_off(&mut self, path: usize) {
        if self.profile.thin.backoff || !self.is_thin() {
            self.paths[path].rto.back_off();
        }
    }

    /// A path did not answer (RFC 9260 sections 8.1 and 8.2). False: the association has ended because of it.
    pub(super) fn note_error(&mut self, path: usize) -> bool {
        let limits = &self.profile.association;
        self.errors += 1;
        if self.errors > limits.max_retransmits {
            self.enter_closed(Event::TimedOut);
            return false;
        }
        let path = &mut self.paths[path];
        path.errors += 1;
        path.active &= path.errors <= limits.path_max_retransmits;
        true
    }
}
