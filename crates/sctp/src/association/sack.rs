//! SACKs (RFC 9260 section 6.2.1), in the order of section 4 of the notes on lksctp.

use std::net::IpAddr;

use rexmit_units::Instant;
use rexmit_wire::SeqNumber;
use rexmit_wire::sctp::{Gap, SackChunk};

use super::output::Trigger;
use super::{Association, OFF};
use crate::congestion::Sacked;
use crate::outbound::Place;
use crate::path::Tally;
use crate::profile::SackOrder;

/// What a SACK has brought.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct News {
    /// The highest TSN that it acknowledges for the first time.
    pub highest: Option<SeqNumber>,
    /// The cumulative TSN has moved.
    pub moved: bool,
}

/// What a peer says that it has.
struct Report {
    /// It has everything up to this TSN.
    cumulative: SeqNumber,
    /// First and last TSNs of what it has above.
    blocks: Vec<(SeqNumber, SeqNumber)>,
    /// Bytes that it can still take, if it says so.
    window: Option<u32>,
}

impl News {
    fn acknowledges(&mut self, tsn: SeqNumber) {
        self.highest = Some(self.highest.map_or(tsn, |highest| highest.max(tsn)));
    }
}

impl Association {
    pub(super) fn on_sack(&mut self, now: Instant, from: IpAddr, sack: &SackChunk) {
        if !self.state.is_up() {
            self.faults.unexpected_chunks += 1;
            return;
        }
        let cumulative = SeqNumber(sack.cumulative);
        if cumulative < self.out.ack_point() {
            self.faults.old_sacks += 1; // step 1
            return;
        }
        if cumulative >= self.out.next_tsn() {
            self.faults.sacks_of_unsent += 1;
            return;
        }
        let blocks = self.blocks(cumulative, &sack.gaps);
        if self.profile.thin.is_used() {
            self.in_flight.sacked(cumulative, !sack.gaps.is_empty());
        }
        self.counters.dup_acks += u64::from(!sack.gaps.is_empty());
        self.take_in(now, from, Report { cumulative, blocks, window: Some(sack.window) });
    }

    /// The cumulative TSN of a SHUTDOWN: a SACK that says nothing of blocks and window (RFC 9260 section 9.2).
    pub(super) fn acknowledge_by_shutdown(&mut self, now: Instant, from: IpAddr, cumulative: SeqNumber) {
        if cumulative > self.out.ack_point() && cumulative < self.out.next_tsn() {
            let known = self.out.acked.iter().filter(|(_, last)| *last > cumulative);
            let blocks = known.map(|(first, last)| ((*first).max(cumulative + 1), *last)).collect();
            self.take_in(now, from, Report { cumulative, blocks, window: None });
        }
    }

    fn take_in(&mut self, now: Instant, from: IpAddr, report: Report) {
        let Report { cumulative, blocks, window } = report;
        let mut news = News { moved: cumulative > self.out.ack_point(), ..News::default() };
        // Steps 2 to 4.
        self.acknowledge_to(now, cumulative, &mut news);
        self.acknowledge_gaps(now, blocks, &mut news);
        if let Some(departures) = &mut self.departures {
            departures.forget_below(self.out.base);
        }
        if self.recovery_exit.is_some_and(|exit| exit <= cumulative) {
            self.recovery_exit = None;
        }
        let lively = self.account(now, news.moved);
        if !lively && self.out.peer_window == 0 && !self.out.sent.is_empty() {
            // A closed window is answered: the peer is there (RFC 9260 section 6.1).
            self.forgive(from);
        }
        let reports = self.strike(&news);
        if self.profile.recovery.sack_order == SackOrder::RetransmitFirst {
            self.retransmit_fast(now, reports);
            self.note_window(window); // step 8
        } else {
            self.note_window(window);
            self.retransmit_fast(now, reports);
        }
        self.pass_over(now);
        self.wake_writer();
        self.flush(now, Trigger::Usual); // step 9
    }

    fn note_window(&mut self, window: Option<u32>) {
        if let Some(window) = window {
            self.out.peer_window = u64::from(window).saturating_sub(self.out.outstanding);
        }
    }

    /// The gap blocks as TSNs, ascending and apart; impossible ones are left out.
    fn blocks(&mut self, cumulative: SeqNumber, gaps: &[Gap]) -> Vec<(SeqNumber, SeqNumber)> {
        let mut blocks: Vec<(SeqNumber, SeqNumber)> = Vec::with_capacity(gaps.len());
        let mut ascends = true;
        for gap in gaps {
            let (first, last) = (cumulative + u32::from(gap.start), cumulative + u32::from(gap.end));
            if gap.start == 0 || gap.end < gap.start {
                self.faults.bad_gaps += 1;
            } else if last >= self.out.next_tsn() {
                self.faults.sacks_of_unsent += 1;
            } else {
                ascends &= blocks.last().is_none_or(|(_, end)| *end + 1 < first);
                blocks.push((first, last));
            }
        }
        if !ascends {
            self.faults.bad_gaps += 1;
            blocks.sort_unstable_by_key(|(first, _)| first.diff(cumulative));
            blocks.dedup_by(|next, kept| {
                let joins = next.0 <= kept.1 + 1;
                if joins {
                    kept.1 = kept.1.max(next.1);
                }
                joins
            });
        }
        blocks
    }

    /// Everything up to the cumulative TSN goes.
    fn acknowledge_to(&mut self, now: Instant, cumulative: SeqNumber, news: &mut News) {
        while self.out.base <= cumulative {
            let Some(chunk) = self.out.sent.pop_front() else { break };
            let tsn = self.out.base;
            self.out.base += 1;
            self.out.buffered -= u64::from(chunk.len);
            if self.departures.is_some() {
                self.note_arrival(now, tsn, chunk.len, chunk.place != Place::Abandoned);
            }
            let tally = &mut self.paths[usize::from(chunk.path)].tally;
            match chunk.place {
                Place::Outstanding => {
                    tally.acked += u64::from(chunk.len);
                    tally.restart = true;
                    news.acknowledges(tsn);
                    if chunk.timed {
                        self.take_sample(now, usize::from(chunk.path), chunk.sent_at);
                    }
                }
                Place::Acked => tally.restart = true,
                Place::Queued => {
                    self.out.queued -= 1;
                    news.acknowledges(tsn);
                }
                Place::Abandoned => self.out.abandoned -= 1,
            }
        }
    }

    /// What the gap blocks newly acknowledge, and what they no longer do.
    fn acknowledge_gaps(&mut self, now: Instant, blocks: Vec<(SeqNumber, SeqNumber)>, news: &mut News) {
        let known = std::mem::take(&mut self.out.acked);
        let base = self.out.base;
        let known: Vec<_> = match known.first() {
            Some((first, _)) if *first < base => {
                let above = known.into_iter().filter(|(_, last)| *last >= base);
                above.map(|(first, last)| (first.max(base), last)).collect()
            }
            _ => known,
        };
        if known != blocks {
            without(&known, &blocks, |tsn| self.renege(tsn));
            without(&blocks, &known, |tsn| self.acknowledge_gap(now, tsn, news));
        }
        self.out.acked = blocks;
    }

    fn acknowledge_gap(&mut self, now: Instant, tsn: SeqNumber, news: &mut News) {
        let at = self.out.index(tsn);
        if self.departures.is_some() {
            let (len, arrived) = (self.out.sent[at].len, self.out.sent[at].place != Place::Abandoned);
            self.note_arrival(now, tsn, len, arrived);
        }
        let chunk = &mut self.out.sent[at];
        let path = usize::from(chunk.path);
        match chunk.place {
            Place::Outstanding => {
                chunk.place = Place::Acked;
                self.paths[path].tally.acked += u64::from(chunk.len);
                if chunk.timed {
                    chunk.timed = false;
                    let sent_at = chunk.sent_at;
                    self.take_sample(now, path, sent_at);
                }
            }
            Place::Queued => {
                chunk.place = Place::Acked;
                self.out.queued -= 1;
            }
            Place::Acked | Place::Abandoned => return,
        }
        news.acknowledges(tsn);
    }

    /// A chunk was acknowledged and no longer is: it is outstanding again (RFC 9260 section 6.2.1 D iii).
    fn renege(&mut self, tsn: SeqNumber) {
        self.faults.reneged += 1;
        let at = self.out.index(tsn);
        let chunk = &mut self.out.sent[at];
        if chunk.place == Place::Acked {
            chunk.place = Place::Outstanding;
            chunk.missing = 0;
            let tally = &mut self.paths[usize::from(chunk.path)].tally;
            tally.reneged += u64::from(chunk.len);
            tally.restart = true;
        }
    }

    /// The round-trip time of a chunk that has left once (RFC 9260 section 6.3.1; SC-K-2).
    fn take_sample(&mut self, now: Instant, path: usize, sent_at: Instant) {
        let rtt = self.clock.span(self.clock.ticks(now) - self.clock.ticks(sent_at));
        let least = self.least_rto();
        let tick = self.profile.clock.tick;
        let path = &mut self.paths[path];
        path.timing = false;
        path.rto.sample(rtt, least, tick);
    }

    /// RTO.Min, which may be different while the stream is thin (SC-E-3).
    pub(super) fn least_rto(&self) -> rexmit_units::Duration {
        let usual = self.profile.rto.min;
        self.profile.thin.min_rto.filter(|_| self.is_thin()).unwrap_or(usual)
    }

    /// Windows, errors and T3 of each path (steps 5 and 6). True if anything was newly acknowledged.
    fn account(&mut self, now: Instant, moved: bool) -> bool {
        let mut lively = false;
        // T3 goes on while FORWARD-TSN is not acknowledged (RFC 3758 section 3.5 C5).
        let forwards = (self.out.abandoned > 0).then(|| self.send_path());
        for at in 0..self.paths.len() {
            let path = &mut self.paths[at];
            let Tally { acked, reneged, restart } = std::mem::take(&mut path.tally);
            if self.departures.is_some() {
                path.take_rate_sample(now, path.flight + reneged - acked);
            }
            if acked > 0 {
                lively = true;
                path.errors = 0;
                path.backoff = 0;
                path.active = true;
                path.confirmed = true;
                self.errors = 0;
                let recovering = self.recovery_exit.is_some();
                let (flight, srtt) = (path.flight, path.rto.srtt());
                let sacked = Sacked { now, acked, flight, moved, recovering, srtt };
                path.congestion.inner().on_sack(&mut path.window, &sacked);
            }
            path.flight = path.flight + reneged - acked;
            self.out.outstanding = self.out.outstanding + reneged - acked;
            if path.flight == 0 {
                path.congestion.inner().on_drained();
                if forwards != Some(at) {
                    path.t3 = OFF;
                }
            } else if restart && path.flight > 0 {
                self.restart_t3(now, at);
            }
        }
        if forwards.is_some() {
            self.keep_t3_for_forward(now);
        }
        lively
    }

    /// T3 restarts with the whole timeout, or less the age of the earliest outstanding chunk (SC-E-4).
    pub(super) fn restart_t3(&mut self, now: Instant, path: usize) {
        let rto = self.paths[path].rto.get();
        let oldest = self.profile.timer.restart_less_age.then(|| self.earliest(path)).flatten();
        let due = match oldest {
            // One that is due already fires on the next tick.
            Some(sent_at) => {
                self.clock.deadline(sent_at, rto).max(self.clock.deadline(now, Default::default()))
            }
            None => self.clock.deadline(now, rto),
        };
        self.paths[path].t3 = due;
    }

    /// When the earliest chunk that is outstanding on a path left last.
    fn earliest(&self, path: usize) -> Option<Instant> {
        let ours = |chunk: &&crate::outbound::Sent| {
            usize::from(chunk.path) == path && chunk.place == Place::Outstanding
        };
        self.out.sent.iter().find(ours).map(|chunk| chunk.sent_at)
    }

    /// The peer has shown that it is there.
    fn forgive(&mut self, from: IpAddr) {
        self.errors = 0;
        if let Some(path) = self.path_of(from) {
            self.paths[path].errors = 0;
        }
    }
}

/// Calls `each` for every TSN in the ranges of `these` that is in none of `those`.
fn without(
    these: &[(SeqNumber, SeqNumber)],
    those: &[(SeqNumber, SeqNumber)],
    mut each: impl FnMut(SeqNumber),
) {
    let mut rest = those;
    for (first, last) in these {
        let mut tsn = *first;
        while tsn <= *last {
            while rest.first().is_some_and(|(_, end)| *end < tsn) {
                rest = &rest[1..];
            }
            match rest.first() {
                Some((start, end)) if *start <= tsn => tsn = *end + 1,
                _ => {
                    each(tsn);
                    tsn += 1;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_in_one_and_not_in_the_other() {
        let ranges =
            |r: &[(u32, u32)]| -> Vec<_> { r.iter().map(|(a, b)| (SeqNumber(*a), SeqNumber(*b))).collect() };
        let mut seen = Vec::new();
        let these = ranges(&[(u32::MAX, 3), (5, 6), (9, 12)]);
        let those = ranges(&[(0, 1), (3, 5), (11, 20)]);
        without(&these, &those, |tsn| seen.push(tsn.0));
        assert_eq!(seen, [u32::MAX, 2, 6, 9, 10]);
    }
}
