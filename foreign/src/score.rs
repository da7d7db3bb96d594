//! What the analysis says beside what the sender says.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Cursor;
use std::net::IpAddr;

use rexmit_analysis::rows::{Cause, Confidence, RetransmissionRow};
use rexmit_analysis::{Run, RunOptions};
use rexmit_capture::Reader;
use rexmit_wire::{Flags, SeqNumber};

use crate::answers::{Expected, expected, family};
use crate::host::{Sending, Why};
use crate::numbers::end;
use crate::world::{Place, Ran, Truth};

/// What was found at one place, as seen from the host that retransmits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Score {
    /// Retransmissions that passed, of which a capture can know: something of them or above them had passed before.
    pub in_truth: u64,
    /// Packets beside them that repeat what was sent before without a reason of their sender's own ([`Why::Open`]).
    pub open: u64,
    /// Retransmissions of `in_truth` that are not listed.
    pub missed: u64,
    /// Packets that are listed and repeat nothing.
    pub extra: u64,
    /// Retransmissions with a cause of the right family.
    pub family: u64,
    /// Those with the right cause.
    pub exact: u64,
    /// Listed ones that are called certain.
    pub certain: u64,
    /// Those of them whose family is wrong.
    pub certain_family_wrong: u64,
    /// Those of them whose cause is wrong.
    pub certain_exact_wrong: u64,
}

/// A judgement that was not right.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The scenario.
    pub seed: u64,
    /// Where.
    pub place: Place,
    /// The packet's number in the capture, from 1.
    pub number: u64,
    /// What was judged of it; `None` if it is not listed.
    pub judged: Option<RetransmissionRow>,
    /// Its family is right.
    pub family: bool,
    /// What its sender says of it.
    pub sending: Sending,
}

/// Scores by place, and what was not right.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    /// By place.
    pub scores: [Score; 3],
    /// Runs that a fault of the sender's ended.
    pub broken_off: u64,
    /// By place, what the sender did and what is said of it (`None`: not listed), with `true` if certain.
    pub causes: BTreeMap<(Place, String, Option<Cause>, bool), u64>,
    /// Judgements that were not right.
    pub findings: Vec<Finding>,
}

impl Tally {
    /// Adds another one.
    pub fn add(&mut self, other: Self) {
        for (into, from) in self.scores.iter_mut().zip(other.scores) {
            into.add(from);
        }
        self.broken_off += other.broken_off;
        for (key, count) in other.causes {
            *self.causes.entry(key).or_default() += count;
        }
        self.findings.extend(other.findings);
    }

    /// Judgements called certain, at all places.
    pub fn certain(&self) -> u64 {
        self.scores.iter().map(|score| score.certain).sum()
    }

    /// Those of them whose family is wrong.
    pub fn certain_family_wrong(&self) -> u64 {
        self.scores.iter().map(|score| score.certain_family_wrong).sum()
    }

    /// Those of them whose cause is wrong.
    pub fn certain_exact_wrong(&self) -> u64 {
        self.scores.iter().map(|score| score.certain_exact_wrong).sum()
    }

    /// How many runs were broken off, and the scores, one line per place: its name, and the numbers in the order of [`Score`].
    pub fn lines(&self) -> String {
        let mut out = format!("broken-off {}\n", self.broken_off);
        for (place, score) in Place::ALL.into_iter().zip(self.scores) {
            let numbers = score.numbers().map(|number| number.to_string()).join(" ");
            let _ = writeln!(out, "{} {numbers}", place.name());
        }
        out
    }

    /// Truth by judged cause, with how many of it are certain.
    pub fn matrix(&self) -> String {
        let mut out = String::new();
        for ((place, truth, cause, certain), count) in &self.causes {
            let said = cause.map_or("(not listed)", Cause::name);
            let sure = if *certain { "certain" } else { "" };
            let _ = writeln!(out, "{:9} {truth:12} {said:14} {sure:8} {count:8}", place.name());
        }
        out
    }
}

impl Score {
    fn add(&mut self, other: Self) {
        self.in_truth += other.in_truth;
        self.open += other.open;
        self.missed += other.missed;
        self.extra += other.extra;
        self.family += other.family;
        self.exact += other.exact;
        self.certain += other.certain;
        self.certain_family_wrong += other.certain_family_wrong;
        self.certain_exact_wrong += other.certain_exact_wrong;
    }

    fn numbers(&self) -> [u64; 9] {
        let &Self { in_truth, open, missed, extra, family, exact, certain, .. } = self;
        let wrong = [self.certain_family_wrong, self.certain_exact_wrong];
        [in_truth, open, missed, extra, family, exact, certain, wrong[0], wrong[1]]
    }
}

/// Judges the captures of a run.
pub fn judge(ran: &Ran, seed: u64) -> Tally {
    let mut tally = Tally { broken_off: u64::from(ran.broken_off), ..Tally::default() };
    for place in Place::ALL {
        let mut found = analyse(&ran.captures[place as usize]);
        // One past the highest number that has passed, of each host of each connection.
        let mut edges: BTreeMap<Side, SeqNumber> = BTreeMap::new();
        for (number, &index) in (1..).zip(&ran.passed[place as usize]) {
            let truth = &ran.truths[index];
            let visible = passes(truth, &mut edges);
            let spot = Spot { seed, place, number, truth, visible };
            tally.take(&spot, found.remove(&number));
        }
        assert!(found.is_empty(), "rows of packets that are not there: {found:?}");
    }
    tally
}

/// A packet of a capture.
struct Spot<'a> {
    seed: u64,
    place: Place,
    number: u64,
    truth: &'a Truth,
    /// Something of it or above it has passed before.
    visible: bool,
}

impl Tally {
    fn take(&mut self, spot: &Spot<'_>, judged: Option<RetransmissionRow>) {
        let segment = spot.truth.packet.tcp().expect("TCP alone is sent");
        let bare_fin = segment.flags.has(Flags::FIN) && segment.payload.is_empty();
        let place = spot.place.seen_from(spot.truth.by_sender);
        let score = &mut self.scores[place as usize];
        let is_open = spot.truth.sending == Sending::Again(Why::Open);
        let expected = expected(spot.truth.sending, bare_fin);
        let causes = match (expected, &judged) {
            (Expected::Nothing | Expected::Either(_), None) => return,
            (Expected::Retransmission(_), None) if !spot.visible => return,
            (Expected::Nothing, Some(_)) => {
                score.extra += 1;
                &[][..]
            }
            (Expected::Either(causes), Some(_)) => causes,
            (Expected::Retransmission(causes), _) if is_open => {
                score.open += 1;
                causes
            }
            (Expected::Retransmission(causes), _) => {
                score.in_truth += 1;
                score.missed += u64::from(judged.is_none());
                causes
            }
        };
        let said = judged.as_ref().map(|row| row.cause);
        let exact = said.is_some_and(|cause| causes.contains(&cause));
        let families = || causes.iter().filter_map(|cause| family(*cause));
        let right = said.and_then(family).is_some_and(|said| families().any(|family| family == said));
        let certain = judged.as_ref().is_some_and(|row| row.confidence == Confidence::Certain);
        if matches!(expected, Expected::Retransmission(_)) && !is_open {
            score.family += u64::from(right);
            score.exact += u64::from(exact);
        }
        score.certain += u64::from(certain);
        score.certain_family_wrong += u64::from(certain && !right);
        score.certain_exact_wrong += u64::from(certain && !exact);
        let did = format!("{:?}", spot.truth.sending).replace("Again(", "").replace(')', "");
        *self.causes.entry((place, did, said, certain)).or_default() += 1;
        if !exact {
            let &Spot { seed, place, number, .. } = spot;
            let sending = spot.truth.sending;
            self.findings.push(Finding { seed, place, number, judged, family: right, sending });
        }
    }
}

/// A host of a connection: addresses and ports as its packets have them.
type Side = (IpAddr, IpAddr, u16, u16);

/// Notes that a packet passes; true if something of it or above it has passed before.
fn passes(truth: &Truth, edges: &mut BTreeMap<Side, SeqNumber>) -> bool {
    let packet = &truth.packet;
    let segment = packet.tcp().expect("TCP alone is sent");
    let side = (packet.src, packet.dst, segment.src_port, segment.dst_port);
    let end = end(segment);
    let edge = edges.get(&side).copied();
    if end > segment.seq {
        edges.insert(side, edge.map_or(end, |edge| edge.max(end)));
    }
    edge.is_some_and(|edge| segment.seq < edge)
}

/// The retransmissions that the analysis finds in a capture, by the number of their packet.
fn analyse(capture: &[u8]) -> BTreeMap<u64, RetransmissionRow> {
    let reader = Reader::new(Cursor::new(capture.to_vec())).expect("a capture of ours");
    let mut run = Run::new(reader, &RunOptions::default());
    let rows = std::iter::from_fn(|| run.step(4096)).flat_map(|rows| rows.retransmissions);
    let found = rows.map(|row| (row.number, row)).collect();
    let broken_off = run.finish().broken_off;
    assert!(broken_off.is_none(), "{broken_off:?}");
    found
}
