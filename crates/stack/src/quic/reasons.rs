//! Why the datagrams of a QUIC end leave, as they and the end's timers show it.

use crate::quic::QuicCarries;
use crate::{Counters, Reason};

/// What of an end's past counts for the reason of its next datagram.
#[derive(Clone, Copy, Debug, Default)]
pub struct QuicReasons {
    /// Probe timeouts in a row.
    backoff: u32,
    recovers: bool,
}

impl QuicReasons {
    /// Something new has been acknowledged.
    pub fn acknowledged(&mut self) {
        self.backoff = 0;
    }

    /// The timer of a probe has expired (RFC 9002 section 6.2).
    pub fn expired(&mut self, counters: &mut Counters) {
        self.backoff += 1;
        counters.timeouts += 1;
    }

    /// The reason of a datagram that carries this; `probes` says that the timer of a probe lets it out.
    pub fn of(&mut self, counters: &mut Counters, carries: &QuicCarries, probes: bool) -> Reason {
        if probes && Self::may_probe(carries) {
            if carries.crypto {
                return Reason::Control { backoff: self.backoff };
            }
            return Reason::TailProbe;
        }
        if carries.again > 0 {
            if std::mem::replace(&mut self.recovers, true) {
                return Reason::SackRecovery;
            }
            counters.fast_retransmits += 1;
            return Reason::Fast { duplicates: 0, sacked: 0 };
        }
        if carries.new > 0 || carries.datagram {
            self.recovers = false;
            return Reason::New;
        }
        if carries.is_ack_only() { Reason::Ack } else { Reason::Control { backoff: 0 } }
    }

    /// It would be sent for nothing but an answer: it carries nothing new of the application's.
    pub fn may_probe(carries: &QuicCarries) -> bool {
        carries.new == 0 && !carries.datagram && carries.elicits_ack()
    }

    /// What the sender is doing, as a state names it.
    pub fn phase(&self) -> &'static str {
        match (self.backoff, self.recovers) {
            (1.., _) => "loss",
            (0, true) => "recovery",
            (0, false) => "open",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_probe_is_one_until_something_is_acknowledged() {
        let (mut reasons, mut counters) = (QuicReasons::default(), Counters::NONE);
        let again = QuicCarries { again: 10, ..QuicCarries::default() };
        reasons.expired(&mut counters);
        assert_eq!(reasons.of(&mut counters, &again, true), Reason::TailProbe);
        let hello = QuicCarries { crypto: true, ..QuicCarries::default() };
        assert_eq!(reasons.of(&mut counters, &hello, true), Reason::Control { backoff: 1 });
        assert_eq!((reasons.phase(), counters.timeouts), ("loss", 1));
        reasons.acknowledged();
        assert_eq!(reasons.phase(), "open");
    }

    #[test]
    fn the_first_repeated_data_begin_a_recovery_and_new_data_end_it() {
        let (mut reasons, mut counters) = (QuicReasons::default(), Counters::NONE);
        let (new, again) = (
            QuicCarries { new: 10, ..QuicCarries::default() },
            QuicCarries { again: 10, ..QuicCarries::default() },
        );
        let names = [&new, &again, &again, &new, &again]
            .map(|carries| reasons.of(&mut counters, carries, false).name());
        assert_eq!(names, ["new", "fast", "sack-recovery", "new", "fast"]);
        assert_eq!((reasons.phase(), counters.fast_retransmits), ("recovery", 2));
    }
}
