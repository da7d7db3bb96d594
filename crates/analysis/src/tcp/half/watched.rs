//! What held a side back, as its packets pass.

use super::super::held::{Step, Watch};
use super::super::passed::{Out, Passed};
use super::super::view::Way;
use super::Half;
use crate::core::held::HeldTimes;

impl Half {
    /// What held the packet back.
    pub(super) fn watch(&mut self, passed: &Passed<'_>) {
        let (side, keep) = (self.side, self.keep_held);
        let watch = self.held.get_or_insert_with(|| Box::new(Watch::new(side, keep)));
        let way = Way { now: passed.time, delay: self.clock.delay(), policy: &self.policy.far };
        watch.sent(&Step {
            policy: self.policy,
            time: passed.time,
            number: passed.number,
            len: passed.tcp.len,
            mss: passed.mss,
            edge: self.edge,
            again: self.again,
            known: self.view.state(&self.acks),
            clock: &self.clock,
            sent_at: self.view.sent_at(&way),
            window_known: self.window_known,
            near: self.clock.is_surely_near() && !self.has_gaps && !self.judge.sends_elsewhere(),
            busy_since: self.pace.busy_since,
        });
    }

    /// The rows of what held it back that have become complete.
    pub(in crate::tcp) fn take_held(&mut self, out: &mut Out<'_>) {
        if let Some(watch) = &mut self.held {
            watch.take_rows(out.connection, &mut out.rows.held);
        }
    }

    /// What held it back, and for how long.
    pub(in crate::tcp) fn held_times(&self) -> HeldTimes {
        self.held.as_ref().map(|watch| *watch.times()).unwrap_or_default()
    }
}
