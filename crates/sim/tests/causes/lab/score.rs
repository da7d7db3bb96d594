//! What the analysis says beside what the model did.

use std::collections::BTreeMap;
use std::io::Cursor;

use rexmit_analysis::rows::{Cause, Confidence, Need, RetransmissionRow};
use rexmit_analysis::{Run, RunOptions};
use rexmit_capture::Reader;
use rexmit_network::HostId;
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_sim::Earlier;

use super::answers::{Expected, expected};
use super::ran::{Place, Ran};
use super::view::{Sighting, view};

/// Where a capture was made, as seen from the sender of the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Sender,
    Receiver,
    Middle,
}

impl Side {
    pub const ALL: [Self; 3] = [Self::Sender, Self::Receiver, Self::Middle];

    pub fn of(place: Place, host: HostId) -> Self {
        match (place, host) {
            (Place::Middle, _) => Self::Middle,
            (Place::Server, SERVER) | (Place::Client, CLIENT) => Self::Sender,
            _ => Self::Receiver,
        }
    }
}

/// What became of one packet's judgement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verdict {
    /// The right cause.
    Right,
    /// Another cause.
    Wrong,
    /// The analysis says that it does not know.
    Unknown,
    /// A retransmission that this capture shows, and the analysis does not list.
    Missed,
    /// Listed, and no retransmission.
    FalseAlarm,
    /// It said that it was not needed, and it was.
    FalseProof,
}

/// A judgement that was not right.
#[derive(Clone, Debug)]
pub struct Finding {
    pub case: usize,
    pub place: Place,
    pub side: Side,
    pub verdict: Verdict,
    /// Number of the packet in the capture.
    pub number: u64,
    /// What the analysis says of it.
    pub judged: Option<Judged>,
}

/// A judgement, as far as tables and listings of any protocol need it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub cause: Said,
    pub confidence: Confidence,
    pub need: Need,
    /// It as text.
    pub text: String,
}

impl Judged {
    pub fn of(row: &RetransmissionRow) -> Self {
        let text = format!(
            "{:?} {:?}, {:?} ({:?}), transmission {}, {:?}",
            row.cause, row.confidence, row.need, row.proof, row.transmission, row.evidence
        );
        let cause = (row.cause as u8, row.cause.name());
        Self { cause, confidence: row.confidence, need: row.need, text }
    }
}

/// A cause of some protocol: its place in tables, and its name.
pub type Said = (u8, &'static str);

/// Truths and judgements, counted.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By side, truth and judged cause (`None`: not listed).
    pub causes: BTreeMap<(Side, &'static str, Option<Said>), u64>,
    pub verdicts: BTreeMap<(Side, Verdict), u64>,
    /// By side, confidence, and whether the cause was right.
    pub confidence: BTreeMap<(Side, Confidence, bool), u64>,
    /// By side, what had become of earlier copies, and the judged need.
    pub needs: BTreeMap<(Side, &'static str, &'static str), u64>,
    /// By side, retransmissions that the capture cannot show: nothing of them or above them was seen before.
    pub invisible: BTreeMap<Side, u64>,
    pub packets: u64,
    pub findings: Vec<Finding>,
}

impl Tally {
    pub fn add(&mut self, other: Self) {
        fn sum<K: Ord>(into: &mut BTreeMap<K, u64>, from: BTreeMap<K, u64>) {
            from.into_iter().for_each(|(k, n)| *into.entry(k).or_default() += n);
        }
        sum(&mut self.causes, other.causes);
        sum(&mut self.verdicts, other.verdicts);
        sum(&mut self.confidence, other.confidence);
        sum(&mut self.needs, other.needs);
        sum(&mut self.invisible, other.invisible);
        self.packets += other.packets;
        self.findings.extend(other.findings);
    }

    pub fn count(&self, side: Side, verdict: Verdict) -> u64 {
        self.verdicts.get(&(side, verdict)).copied().unwrap_or(0)
    }

    /// Retransmissions of a side that an analysis can see.
    pub fn judged(&self, side: Side) -> u64 {
        [Verdict::Right, Verdict::Wrong, Verdict::Unknown, Verdict::Missed]
            .iter()
            .map(|v| self.count(side, *v))
            .sum()
    }

    /// The share of these that got the right cause.
    pub fn right(&self, side: Side) -> f64 {
        self.count(side, Verdict::Right) as f64 / self.judged(side).max(1) as f64
    }

    /// The share of these that is not listed at all.
    pub fn missed(&self, side: Side) -> f64 {
        self.count(side, Verdict::Missed) as f64 / self.judged(side).max(1) as f64
    }

    /// Wrong judgements of a side that the analysis was certain of.
    pub fn certain_and_wrong(&self, side: Side) -> u64 {
        self.confidence.get(&(side, Confidence::Certain, false)).copied().unwrap_or(0)
    }
}

/// The retransmissions that the analysis finds in a capture, by the number of their packet.
pub fn analyse(capture: &[u8]) -> BTreeMap<u64, RetransmissionRow> {
    let reader = Reader::new(Cursor::new(capture.to_vec())).expect("a capture of ours");
    let mut run = Run::new(reader, &RunOptions::default());
    let mut found = BTreeMap::new();
    while let Some(rows) = run.step(4096) {
        found.extend(rows.retransmissions.into_iter().map(|row| (row.number, row)));
    }
    let summary = run.finish();
    assert!(summary.broken_off.is_none(), "{:?}", summary.broken_off);
    found
}

/// Judges the captures of a run, which is case number `case`.
pub fn judge(ran: &Ran, case: usize) -> Tally {
    let mut tally = Tally::default();
    for place in Place::ALL {
        let Some(capture) = ran.capture(place) else { continue };
        let mut found = analyse(&capture);
        for sighting in view(ran, &capture) {
            tally.packets += 1;
            let judged = found.remove(&sighting.number);
            let mut score = Score { tally: &mut tally, ran, case, place, sighting: &sighting };
            score.take(judged);
        }
        assert!(found.is_empty(), "{}: rows of packets that are not there: {found:?}", ran.name);
    }
    tally
}

/// One packet of one capture.
struct Score<'a> {
    tally: &'a mut Tally,
    ran: &'a Ran,
    case: usize,
    place: Place,
    sighting: &'a Sighting,
}

impl Score<'_> {
    fn take(&mut self, judged: Option<RetransmissionRow>) {
        let truth = &self.ran.rows()[self.sighting.row];
        let expected = match self.sighting.copy {
            true => Expected::Nothing,
            false => expected(truth),
        };
        let verdict = match (expected, &judged) {
            (Expected::Nothing | Expected::Either(_), None) => return,
            (Expected::Nothing, Some(_)) => Verdict::FalseAlarm,
            (Expected::Retransmission(_), None) if !self.sighting.visible || self.sighting.damaged => {
                *self.tally.invisible.entry(self.side()).or_default() += 1;
                return;
            }
            (Expected::Retransmission(_), None) => Verdict::Missed,
            (Expected::Retransmission(causes) | Expected::Either(causes), Some(row)) => match row.cause {
                cause if causes.contains(&cause) => Verdict::Right,
                Cause::Unknown => Verdict::Unknown,
                _ => Verdict::Wrong,
            },
        };
        let label = if self.sighting.copy { "copy of the path" } else { truth.reason.name() };
        let spot =
            Spot { case: self.case, place: self.place, side: self.side(), number: self.sighting.number };
        self.tally.note(&spot, (label, truth.earlier), verdict, judged.as_ref().map(Judged::of));
    }

    fn side(&self) -> Side {
        Side::of(self.place, self.sighting.host)
    }
}

/// A packet of a capture.
#[derive(Clone, Copy, Debug)]
pub struct Spot {
    pub case: usize,
    pub place: Place,
    pub side: Side,
    pub number: u64,
}

impl Tally {
    /// Counts a judgement of what was sent for the reason `label`, when its earlier copies had this fate.
    pub fn note(
        &mut self,
        spot: &Spot,
        (label, earlier): (&'static str, Earlier),
        verdict: Verdict,
        judged: Option<Judged>,
    ) {
        if let Some(judged) = &judged {
            self.compare_need(spot, judged, earlier);
            let key = (spot.side, judged.confidence, verdict == Verdict::Right);
            *self.confidence.entry(key).or_default() += 1;
        }
        let key = (spot.side, label, judged.as_ref().map(|judged| judged.cause));
        *self.causes.entry(key).or_default() += 1;
        self.find(spot, verdict, judged);
    }

    /// A retransmission that is said not to have been needed must not have been.
    fn compare_need(&mut self, spot: &Spot, judged: &Judged, earlier: Earlier) {
        let need = match judged.need {
            Need::Needed => "needed",
            Need::Spurious => "spurious",
            Need::Unnecessary => "unnecessary",
            Need::Unknown => "unknown",
        };
        *self.needs.entry((spot.side, earlier.name(), need)).or_default() += 1;
        let false_proof = match judged.need {
            Need::Spurious => earlier == Earlier::Lost,
            Need::Unnecessary => matches!(earlier, Earlier::Lost | Earlier::OnItsWay),
            Need::Needed | Need::Unknown => false,
        };
        if false_proof {
            self.find(spot, Verdict::FalseProof, Some(judged.clone()));
        }
    }

    fn find(&mut self, spot: &Spot, verdict: Verdict, judged: Option<Judged>) {
        *self.verdicts.entry((spot.side, verdict)).or_default() += 1;
        if verdict != Verdict::Right {
            let &Spot { case, place, side, number } = spot;
            self.findings.push(Finding { case, place, side, verdict, number, judged });
        }
    }
}
