//! What held a side back: each moment between two of its packets with data goes to one thing.
//!
//! A sender that waits shows what for by what ends the wait. Data that follow an acknowledgment at once had waited for it:
//! for the receiver's window where they would not have fitted before, else for a window of the sender's own. Data that
//! follow nothing had not been written before. A retransmission says itself what brought it ([`super::judge`]), and
//! what is left is its repair. So a wait is judged when it is over, and what comes after the last packet counts
//! nowhere.
//!
//! The sender's own windows are told apart by what they do: a congestion window grows, a send buffer does not; where
//! round trips are longer than the shortest, a queue stands before the slowest link, and that is what limits.
//!
//! That is T-RAT's way (Zhang, Breslau, Paxson and Shenker, On the Characteristics and Origins of Internet Flow Rates,
//! SIGCOMM 2002) but for the unit, which is a wait and not a part of a flow, and for what is certain.
//!
//! Not told: pacing from an application that writes slowly or, with more outstanding, from a congestion window; Nagle's
//! algorithm from an application that writes little; and what slows down the sender's host.

mod run;
mod wait;
mod written;

use rexmit_units::{Duration, Instant};

use crate::core::held::{Held, HeldTimes};
use crate::core::rows::Confidence;
use crate::rows::{Cause, HeldRow, SideName};
use run::Run;
pub(super) use wait::{Again, Step};
use wait::{Last, Own, Repair, Wait, at_once, is_busy, is_short, prompt, rtt, window_left};
use written::Written;

/// What held one side back.
#[derive(Debug)]
pub(super) struct Watch {
    side: SideName,
    last: Option<Last>,
    wait: Option<Wait>,
    repair: Option<Repair>,
    run: Run,
    /// The smallest RTT samples of this handful and of the one before.
    low: [Option<Duration>; 2],
    samples: u8,
    /// The most that was outstanding since the start, a loss or an idle period: this much its congestion window lets
    /// out.
    widest: u64,
    /// Data that followed nothing have left, after a full segment: a sender that paces does so while more is written.
    may_pace: bool,
    out: Written,
    /// Where the last part ended.
    until: Instant,
}

/// RTT samples of a handful.
const HANDFUL: u8 = 8;

impl Watch {
    /// Of a side that has sent nothing. `keep` if rows are asked for.
    pub(super) fn new(side: SideName, keep: bool) -> Self {
        Self {
            side,
            last: None,
            wait: None,
            repair: None,
            run: Run::default(),
            low: [None; 2],
            samples: 0,
            widest: 0,
            may_pace: false,
            out: Written::new(keep),
            until: Instant::default(),
        }
    }

    /// An unambiguous RTT sample.
    pub(super) fn sample(&mut self, rtt: Duration) {
        if self.samples == HANDFUL {
            self.low = [None, self.low[0]];
            self.samples = 0;
        }
        self.samples += 1;
        self.low[0] = Some(self.low[0].map_or(rtt, |low| low.min(rtt)));
    }

    /// All up to `una` is acknowledged, which the sender knows at `time`.
    #[inline]
    pub(super) fn acknowledged(&mut self, una: i64, time: Instant) {
        if let Some(repair) = &mut self.repair
            && una >= repair.recover
        {
            repair.over.get_or_insert(time);
        }
    }

    /// A packet with data leaves.
    pub(super) fn sent(&mut self, step: &Step<'_>) {
        match self.last {
            None => self.until = step.time,
            Some(last) if self.follows(step, &last) => {
                if let Some(wait) = &mut self.wait {
                    wait.burst = wait.burst.max(step.time);
                    wait.last_number = step.number;
                    wait.bytes += u64::from(step.len);
                } else {
                    self.wait = Some(Wait::burst(step, &last));
                }
            }
            Some(last) => {
                self.settle();
                let wait = self.judge(step, &last);
                self.wait = Some(wait);
            }
        }
        if let Some(again) = &step.again {
            self.note_repair(again, step);
        }
        let outstanding = step.edge - step.known.una - step.known.sacked_bytes;
        self.widest = self.widest.max(outstanding.max(0) as u64);
        self.last = Some(Last {
            time: step.time.max(self.until),
            number: step.number,
            len: step.len,
            edge: step.edge,
            flight: outstanding.max(0) as u64,
            una: step.known.una,
            sacked: step.known.sacked_bytes > 0,
        });
    }

    /// It left together with the one before: nothing held it back in between.
    fn follows(&self, step: &Step<'_>, last: &Last) -> bool {
        if step.time <= last.time {
            return true;
        }
        if step.again.is_some() {
            return false;
        }
        if !step.sent_at.near {
            // A queue on the way has set them apart.
            let since = step.busy_since.unwrap_or(step.time);
            let busy = step.time.saturating_since(since);
            let full = !is_short(step.len, step) && !is_short(last.len, step);
            return full && !busy.is_zero() && busy <= rtt(step);
        }
        let begun = self.wait.as_ref().map_or(last.time, Wait::end);
        step.time.saturating_since(begun) <= at_once(step)
    }

    /// What held the packet back since the last one.
    fn judge(&mut self, step: &Step<'_>, last: &Last) -> Wait {
        let mut wait = Wait::new(step, last);
        let mut from = last.time;
        if step.known.window.is_none() || step.clock.loop_time.is_none() {
            wait.add(step.time, Held::Unknown, false);
            return wait;
        }
        if step.again.is_some_and(|again| again.cause == Cause::WindowProbe) {
            wait.add(step.time, Held::ReceiveWindow, false);
            return wait;
        }
        if let Some(again) = &step.again
            && matches!(again.cause, Cause::Timeout | Cause::TailProbe)
        {
            let started = step.known.advanced_at.filter(|_| step.sent_at.near).unwrap_or(from);
            let started = started.max(from).min(step.time);
            self.before_timer(&mut wait, started, step, last);
            let certain = again.certain && again.cause == Cause::Timeout && step.near;
            wait.add(step.time, Held::Timer, certain);
            return wait;
        }
        if let Some(repair) = self.repair {
            let over = if step.known.una < repair.recover {
                step.time
            } else {
                let late = step.clock.delay();
                repair.over.map_or(step.time, |over| over + late).max(from).min(step.time)
            };
            wait.add(over, Held::Recovery, repair.certain && step.near && repair.lasts(step, last));
            if step.known.una < repair.recover {
                return wait;
            }
            self.repair = None;
            from = over;
        }
        if from < step.time {
            self.open(&mut wait, from, step, last);
        }
        wait
    }

    /// What came before a timer was started for the last time.
    fn before_timer(&self, wait: &mut Wait, started: Instant, step: &Step<'_>, last: &Last) {
        let full = window_left(step.known.reach, step, last).is_some_and(|left| left < i64::from(step.mss));
        let by = match &self.repair {
            Some(_) => Held::Recovery,
            None if full => Held::ReceiveWindow,
            None => self.run.kind(),
        };
        wait.add(started, by, false);
    }

    /// What held it back outside of any repair.
    fn open(&mut self, wait: &mut Wait, from: Instant, step: &Step<'_>, last: &Last) {
        let known = step.known;
        let moved = known.moved_at.filter(|moved| *moved > last.time || !step.sent_at.near);
        let late = moved.map(|moved| {
            step.time.saturating_since(moved).saturating_sub(step.clock.delay() + step.sent_at.extra)
        });
        let prompted = late.is_some_and(|late| late <= prompt(step));
        let beyond_doubt =
            step.near && late.is_some_and(|late| late <= step.policy.prompt.at_once_share.of(prompt(step)));
        let segment = i64::from(step.len.min(step.mss));
        let flight = last.edge - known.una - known.sacked_bytes;
        // What the receiver allowed before it moved: the segment did not fit.
        let before = window_left(known.reach_before, step, last);
        let did_not_fit = before.is_some_and(|left| left < segment);
        let little = before.is_some_and(|left| left < i64::from(step.mss));
        let busy = is_busy(step);
        let standing = self.is_standing(step) || busy;
        if prompted && little {
            let by = if standing { Held::PathRate } else { Held::ReceiveWindow };
            wait.add(step.time, by, by == Held::ReceiveWindow && did_not_fit && beyond_doubt);
            return;
        }
        if prompted && !standing && before.is_some_and(|left| self.is_deferred(left, step, last)) {
            wait.add(step.time, Held::ReceiveWindow, false);
            return;
        }
        let paced = !prompted
            && step.sent_at.near
            && flight >= 4 * i64::from(step.mss)
            && step.time.saturating_since(last.time) <= step.policy.held.paced_share.of(rtt(step));
        let asked = flight <= 0 && !known.moved_bare;
        let short = is_short(step.len, step) || is_short(last.len, step);
        // Away from the sender a queue may hold up what an acknowledgment prompted.
        let held_up = !step.sent_at.near && flight > 0;
        if prompted && !asked || (paced || busy || held_up) && !short {
            wait.own = Some(Own {
                peak: last.flight,
                standing,
                short,
                certain: !short && beyond_doubt && known.moved_bare && !paced,
                mss: step.mss.into(),
                rtt: rtt(step),
                policy: &step.policy.held,
            });
            wait.add(step.time, Held::SlowStart, false);
            return;
        }
        let needed = if flight <= 0 { i64::from(step.mss) } else { segment };
        let fits = window_left(known.reach, step, last).is_none_or(|left| left >= needed);
        if !prompted && !fits {
            // A probe, or a sender that would wait no longer for a whole segment (RFC 9293, section 3.8.6.2.1).
            wait.add(step.time, Held::ReceiveWindow, false);
            return;
        }
        if flight <= 0 && !prompted {
            let clear = known.moved_at.map_or(from, |at| at + step.clock.delay()).max(from).min(step.time);
            let idle = step.time.saturating_since(clear);
            if step.clock.rto().is_some_and(|rto| idle > rto) {
                self.run.idle();
                self.widest = 0;
            }
            self.may_pace |= !is_short(last.len, step);
            wait.add(clear, Held::Application, false);
            wait.add(step.time, Held::Application, step.near && !self.may_pace);
            return;
        }
        wait.add(step.time, Held::Application, false);
    }

    /// The sender left room in the receiver's window, to fill it with one large segment: no more than Linux keeps back
    /// for that (`tcp_tso_should_defer`), which counts such a wait as the window's. Its congestion window has let more out.
    fn is_deferred(&self, left: i64, step: &Step<'_>, last: &Last) -> bool {
        let window = step.known.window.unwrap_or_default();
        let most = step.policy.held.deferred_share.of_count(window);
        left < most as i64 && last.flight + u64::from(step.mss) <= self.widest
    }

    /// A queue stands on the path.
    fn is_standing(&self, step: &Step<'_>) -> bool {
        let (share, margin) = (step.policy.held.standing_share, step.policy.held.standing);
        let low = self.low.iter().flatten().min();
        let shortest = step.clock.soonest();
        let slow = low.zip(shortest).is_some_and(|(low, least)| *low > share.of(least) + margin);
        let delay = step.clock.delay();
        let far = !step.sent_at.near && step.sent_at.extra + delay > share.of(delay) + margin;
        slow || far
    }

    fn note_repair(&mut self, again: &Again, step: &Step<'_>) {
        let begun = self.repair.is_some();
        match again.cause {
            Cause::TailProbe | Cause::WindowProbe | Cause::KeepAlive => return,
            Cause::Timeout => {
                self.repair = Some(Repair::new(again, step));
            }
            _ => {
                let repair = self.repair.get_or_insert(Repair::new(again, step));
                repair.recover = repair.recover.max(again.recover);
                repair.certain &= again.certain;
                repair.over = None;
            }
        }
        if !begun || again.cause == Cause::Timeout {
            self.run.lost();
            self.widest = 0;
        }
        self.acknowledged(step.known.una, step.time);
    }

    /// The wait is over, and so is what followed it: it is written.
    fn settle(&mut self) {
        let (Some(wait), Some(last)) = (self.wait.take(), self.last) else { return };
        let Wait { own, burst, first_number, last_number, bytes, .. } = wait;
        let parts = wait.parts.into_iter().flatten();
        let count = parts.clone().count();
        for (at, part) in (1..).zip(parts) {
            let ends = at == count;
            let row = HeldRow {
                connection: 0,
                side: self.side,
                start: self.until,
                end: part.end.max(self.until),
                by: part.by,
                confidence: if part.certain { Confidence::Certain } else { Confidence::Likely },
                bytes: if ends { bytes } else { 0 },
                first_number,
                last_number,
            };
            self.until = row.end;
            match own.filter(|_| ends) {
                None => self.put(row),
                Some(own) => self.put_own(row, &own, last.flight),
            }
        }
        if burst > self.until {
            // What left together, apart by what a host or a link takes for it.
            let by = self.run.last.unwrap_or(Held::SlowStart);
            let row = HeldRow {
                connection: 0,
                side: self.side,
                start: self.until,
                end: burst,
                by,
                confidence: Confidence::Likely,
                bytes: if count == 0 { bytes } else { 0 },
                first_number,
                last_number,
            };
            self.until = burst;
            self.run.follow(row, &mut self.out);
        }
    }

    fn put(&mut self, row: HeldRow) {
        self.run.end(&mut self.out);
        self.run.last = Some(row.by);
        self.out.write(row);
    }

    /// A wait for a window of its own; `flight` is outstanding since.
    fn put_own(&mut self, mut row: HeldRow, own: &Own, flight: u64) {
        let short = own.short && flight < own.policy.waits * own.mss;
        if flight + 2 * own.mss < own.peak || short {
            // It did not fill its window again, and so had nothing to fill it with.
            row.by = Held::Application;
            row.confidence = Confidence::Likely;
            return self.put(row);
        }
        row.by = if own.standing { Held::PathRate } else { self.run.kind() };
        let certain = own.certain && !own.standing;
        row.confidence = if certain { Confidence::Certain } else { Confidence::Likely };
        self.run.add(row, flight, own, &mut self.out);
    }

    /// Rows that have become complete.
    pub(super) fn take_rows(&mut self, connection: u32, all: &mut Vec<HeldRow>) {
        all.extend(self.out.take().map(|row| HeldRow { connection, ..row }));
    }

    /// The side sends no more.
    pub(super) fn finish(&mut self) {
        self.settle();
        self.run.end(&mut self.out);
        self.out.finish();
    }

    /// What held it back, and for how long.
    pub(super) fn times(&self) -> &HeldTimes {
        &self.out.times
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        self.out.heap()
    }
}

#[cfg(test)]
mod tests;
