//! What the analysis says of chunks beside what the model did.

use std::collections::{BTreeMap, HashMap};
use std::io::Cursor;

use rexmit_analysis::sctp::{SctpCause, SctpRetransmissionRow};
use rexmit_analysis::{Run, RunOptions};
use rexmit_capture::Reader;
use rexmit_sim::Earlier;

use super::answers::{Answer, answers};
use super::view::{Sighting, view};
use crate::lab::Ran;
use crate::lab::ran::Place;
use crate::lab::score::{Judged, Side, Spot, Tally, Verdict};

/// The retransmitted chunks that the analysis finds in a capture, by the number of their packet and their TSN.
pub fn analyse(capture: &[u8]) -> BTreeMap<(u64, i64), SctpRetransmissionRow> {
    let reader = Reader::new(Cursor::new(capture.to_vec())).expect("a capture of ours");
    let mut run = Run::new(reader, &RunOptions::default());
    let mut found = BTreeMap::new();
    while let Some(rows) = run.step(4096) {
        found.extend(rows.sctp.retransmissions.into_iter().map(|row| ((row.number, row.tsn), row)));
    }
    let summary = run.finish();
    assert!(summary.broken_off.is_none(), "{:?}", summary.broken_off);
    found
}

/// Judges the captures of a run, which is case number `case`.
pub fn judge(ran: &Ran, case: usize) -> Tally {
    let answers = answers(ran);
    let mut tally = Tally::default();
    for place in Place::ALL {
        let Some(capture) = ran.capture(place) else { continue };
        let mut found = analyse(&capture);
        // By sender and TSN: the transmissions that this capture holds.
        let mut seen = HashMap::<_, u32>::new();
        for sighting in view(ran, &capture) {
            tally.packets += 1;
            let spot = Spot { case, place, side: Side::of(place, sighting.host), number: sighting.number };
            for &row in sighting.rows.iter().filter(|i| ran.rows()[**i].chunk.is_some()) {
                let judged = found.remove(&(sighting.number, ran.rows()[row].seq));
                let times = seen.entry((sighting.host, ran.rows()[row].seq)).or_default();
                let partly = *times + 1 < ran.rows()[row].transmission;
                *times += u32::from(!sighting.copy && !sighting.damaged);
                let chunk = Chunk { ran, row, spot, sighting: &sighting, partly };
                chunk.score(judged, &answers, &mut tally);
            }
        }
        assert!(found.is_empty(), "{}: rows of chunks that are not there: {found:?}", ran.name);
    }
    tally
}

/// A chunk of a packet of a capture.
struct Chunk<'a> {
    ran: &'a Ran,
    row: usize,
    spot: Spot,
    sighting: &'a Sighting,
    /// Some earlier transmission of it did not come here.
    partly: bool,
}

impl Chunk<'_> {
    fn score(
        &self,
        judged: Option<SctpRetransmissionRow>,
        answers: &HashMap<usize, Answer>,
        tally: &mut Tally,
    ) {
        let truth = &self.ran.rows()[self.row];
        let answer = answers.get(&self.row).filter(|_| !self.sighting.copy);
        let visible = truth.seq < self.sighting.high && !self.sighting.damaged;
        let verdict = match (answer, &judged) {
            (None, None) => return,
            (None, Some(_)) => Verdict::FalseAlarm,
            (Some(_), None) if !visible => {
                *tally.invisible.entry(self.spot.side).or_default() += 1;
                return;
            }
            (Some(_), None) => Verdict::Missed,
            (Some(answer), Some(row)) if self.fits(answer, row.cause) => Verdict::Right,
            (Some(_), Some(row)) if row.cause == SctpCause::Unknown => Verdict::Unknown,
            (Some(_), Some(_)) => Verdict::Wrong,
        };
        let label = match answer {
            Some(answer) => answer.label,
            None if self.sighting.copy => "copy of the path",
            None => "new",
        };
        let earlier = if answer.is_some() { truth.earlier } else { Earlier::None };
        tally.note(&self.spot, (label, earlier), verdict, judged.as_ref().map(said));
    }

    fn fits(&self, answer: &Answer, cause: SctpCause) -> bool {
        // Another fast retransmit looks like the first one where that was lost on its way here.
        let first = self.partly && cause == SctpCause::Fast;
        answer.causes.contains(&cause) || first && answer.causes.contains(&SctpCause::FastAgain)
    }
}

fn said(row: &SctpRetransmissionRow) -> Judged {
    let text = format!(
        "TSN {}: {:?} {:?}, {:?} ({:?}), retransmission {}, {:?}",
        row.tsn, row.cause, row.confidence, row.need, row.proof, row.retransmission, row.evidence
    );
    let cause = (row.cause as u8, row.cause.name());
    Judged { cause, confidence: row.confidence, need: row.need, text }
}
