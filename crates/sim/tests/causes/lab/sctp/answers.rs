//! Which causes are right answers for a chunk that the model sent again. Where two are, it says why.
//!
//! The model says of each packet why it left. What that means for a chunk follows from what its sender knew, which its
//! own capture shows: the SACKs that had arrived, and the expiries before.

use std::collections::HashMap;

use rexmit_analysis::sctp::SctpCause;
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_sim::TransmissionRow;
use rexmit_stack::Reason;
use rexmit_wire::sctp::{Chunk, SackChunk};

use super::view::{Sighting, view};
use crate::lab::Ran;
use crate::lab::ran::Place;

/// What an analysis should say of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The truth in the table's words.
    pub label: &'static str,
    /// The right causes.
    pub causes: Vec<SctpCause>,
}

/// The answers for all chunks that were sent again, by row.
pub fn answers(ran: &Ran) -> HashMap<usize, Answer> {
    let mut answers = HashMap::new();
    for (host, place) in [(SERVER, Place::Server), (CLIENT, Place::Client)] {
        let capture = ran.capture(place).expect("a host's capture");
        let mut sender = Sender::default();
        for sighting in view(ran, &capture) {
            if sighting.host == host {
                sender.sent(ran, &sighting, &mut answers);
            } else if !sighting.damaged {
                sender.received(&sighting);
            }
        }
    }
    answers
}

/// What a sender knows.
#[derive(Default)]
struct Sender {
    /// By TSN, relative.
    chunks: Vec<Known>,
    /// TSN 0 as sent.
    initial: u32,
    /// One past the cumulative TSN.
    una: i64,
    window: Option<u32>,
}

#[derive(Clone, Default)]
struct Known {
    /// Reported by a gap block, or below the cumulative TSN.
    acked: bool,
    /// SACKs since it was last sent whose blocks lie above it.
    reports: u32,
    /// T3 ran out since it was last sent, after so many reports.
    expired: Option<u32>,
    /// Missing reports have had it sent before: for sure, or perhaps.
    fast: bool,
    perhaps_fast: bool,
}

impl Sender {
    fn received(&mut self, sighting: &Sighting) {
        for chunk in &sighting.packet.chunks {
            match chunk {
                Chunk::Sack(sack) => self.sack(sack),
                Chunk::Shutdown { cumulative } => self.cumulative(*cumulative),
                _ => {}
            }
        }
    }

    fn place(&self, tsn: u32) -> i64 {
        self.una + i64::from(tsn.wrapping_sub(self.initial.wrapping_add(self.una as u32)) as i32)
    }

    fn cumulative(&mut self, tsn: u32) {
        self.una = self.una.max(self.place(tsn) + 1);
        let below = (self.una as usize).min(self.chunks.len());
        self.chunks[..below].iter_mut().for_each(|chunk| chunk.acked = true);
    }

    fn sack(&mut self, sack: &SackChunk) {
        let una = self.place(sack.cumulative) + 1;
        if self.chunks.is_empty() || una < self.una {
            return;
        }
        self.cumulative(sack.cumulative);
        self.window = Some(sack.window);
        let mut hole = una;
        for gap in &sack.gaps {
            let [from, to] = [gap.start, gap.end].map(|offset| una - 1 + i64::from(offset));
            for tsn in hole..=to {
                let chunk = &mut self.chunks[tsn as usize];
                chunk.acked = tsn >= from;
                chunk.reports += u32::from(tsn < from);
            }
            hole = to + 1;
        }
        self.chunks[hole as usize..].iter_mut().for_each(|chunk| chunk.acked = false);
    }

    /// A packet leaves: answers for its chunks.
    fn sent(&mut self, ran: &Ran, sighting: &Sighting, answers: &mut HashMap<usize, Answer>) {
        let chunk_rows = sighting.rows.iter().filter(|i| ran.rows()[**i].chunk.is_some());
        let mut lead = true;
        for (&i, data) in chunk_rows.zip(sighting.packet.data()) {
            let row = &ran.rows()[i];
            self.initial = data.tsn.wrapping_sub(row.seq as u32);
            if row.transmission == 1 {
                self.chunks.push(Known::default());
                continue;
            }
            let answer = self.answer(row, lead);
            lead = false;
            let fast = [SctpCause::Fast, SctpCause::FastAgain];
            let known = &mut self.chunks[row.seq as usize];
            (known.reports, known.expired) = (0, None);
            known.fast |= answer.causes.iter().all(|cause| fast.contains(cause));
            known.perhaps_fast |= answer.causes.iter().any(|cause| fast.contains(cause));
            answers.insert(i, answer);
        }
        let expired = matches!(ran.rows()[sighting.rows[0]].reason, Reason::Timeout { .. });
        if expired && !lead {
            let sent: Vec<i64> = sighting.rows.iter().map(|i| ran.rows()[*i].seq).collect();
            for (tsn, chunk) in self.chunks.iter_mut().enumerate() {
                if !chunk.acked && !sent.contains(&(tsn as i64)) {
                    chunk.expired = Some(chunk.reports);
                }
            }
        }
    }

    fn answer(&self, row: &TransmissionRow, lead: bool) -> Answer {
        use SctpCause::{AfterTimeout, BundledInFlight, BundledMissing, Timeout, WindowProbe, WithNew};
        let known = &self.chunks[row.seq as usize];
        let bundled = if known.reports > 0 { BundledMissing } else { BundledInFlight };
        let answer = |label, causes: &[SctpCause]| Answer { label, causes: causes.to_vec() };
        let with_fast =
            |label, others: &[SctpCause]| Answer { label, causes: [known.fast_causes(), others].concat() };
        match (row.reason, known.expired) {
            // A probe of a closed window is sent again by T3.
            (Reason::Timeout { .. }, _) if lead && self.window == Some(0) => {
                answer("timeout", &[Timeout, WindowProbe])
            }
            (Reason::Timeout { .. }, _) if lead => answer("timeout", &[Timeout]),
            (Reason::Timeout { .. }, _) if known.reports > 0 => answer("  bundled, missing", &[bundled]),
            (Reason::Timeout { .. }, _) => answer("  bundled, in flight", &[bundled]),
            // What waits since an expiry goes first, in whatever packet: both had it sent.
            (Reason::Fast { .. }, Some(_)) => with_fast("fast, expired before", &[AfterTimeout]),
            (Reason::Fast { .. }, None) if lead && known.reports > 0 => with_fast("fast", &[]),
            (Reason::Fast { .. }, None) if known.reports == 0 => answer("  fast's, in flight", &[bundled]),
            // Whether it had reports enough itself, or was bundled.
            (Reason::Fast { duplicates, .. }, None) if known.reports < duplicates.into() => {
                with_fast("  fast's, missing", &[bundled])
            }
            (Reason::Fast { .. }, None) => with_fast("  fast's, missing", &[]),
            (Reason::RetransmitQueue, None) if known.reports == 0 => answer("queue of fast", &[bundled]),
            (Reason::RetransmitQueue, None) => with_fast("queue of fast", &[]),
            (Reason::RetransmitQueue, Some(0)) => answer("queue of timeout", &[AfterTimeout]),
            // Missing reports had it wait in a recovery that the expiry ended, or lift it over the window later.
            (Reason::RetransmitQueue, Some(_)) => with_fast("queue of timeout, missing", &[AfterTimeout]),
            (Reason::New | Reason::WindowProbe, _) => answer("with new", &[WithNew]),
            (reason, _) => panic!("a chunk is sent again by {reason:?}"),
        }
    }
}

impl Known {
    /// A fast retransmit is the first of its chunk, or another, or one or the other where that is not sure.
    fn fast_causes(&self) -> &'static [SctpCause] {
        match (self.fast, self.perhaps_fast) {
            (true, _) => &[SctpCause::FastAgain],
            (false, false) => &[SctpCause::Fast],
            (false, true) => &[SctpCause::Fast, SctpCause::FastAgain],
        }
    }
}
