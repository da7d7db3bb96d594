//! A DATA chunk that was sent again: found, judged, and its row written.

use rexmit_units::{Duration, Instant};

use super::super::board::Entry;
use super::super::data::{Out, give};
use super::super::judge::{self, Verdict};
use super::super::rows::{SctpCause, SctpEvidence, SctpProof, SctpRetransmissionRow, TraceClass};
use super::Half;
use super::packet::{Again, Lead, Packet};
use crate::core::rows::{Confidence, Need};
use crate::limits::WAITING_CHUNKS;

/// What was judged of it.
struct Judged {
    verdict: Verdict,
    evidence: SctpEvidence,
    /// What sctp_trace calls it.
    class: TraceClass,
    /// It had taken another path before.
    moved: bool,
}

impl Half {
    /// A chunk was sent again: judges it, and has its row wait for an answer.
    pub(super) fn sent_again(&mut self, packet: &mut Packet<'_>, again: &Again<'_>, out: &mut Out<'_>) {
        let time = packet.seen.time;
        let mut stale = Entry { last: time, known: true, acked: Some(time), ..Entry::default() };
        let entry = self.board.get(again.tsn).unwrap_or(&mut stale);
        entry.marked = self.view.is_marked(again.tsn, entry);
        let mut entry = entry.clone();
        let judged = self.judge(packet, again.tsn, &entry);
        let row = row(packet, again, &entry, &judged, out);
        entry.trace = self.trace.restart(entry.trace);
        (entry.reports, entry.strikes) = (0, 0);
        self.view.clear(&mut entry);
        entry.fast += u32::from(matches!(judged.verdict.0, SctpCause::Fast | SctpCause::FastAgain));
        entry.unclear |= judged.verdict.1.confidence() != Confidence::Certain;
        entry.row = Some(self.record(row, &entry, out));
        if let Some(kept) = self.board.get(again.tsn) {
            *kept = entry;
        }
        packet.position += 1;
        packet.outcome.again.chunks += 1;
        packet.outcome.again.bytes += u64::from(again.piece.len);
        packet.outcome.moved += u64::from(judged.moved);
    }

    /// The cause of a chunk, and what the first one of a packet shows of its sender.
    fn judge(&mut self, packet: &mut Packet<'_>, tsn: i64, entry: &Entry) -> Judged {
        let occasion = &packet.occasion;
        let verdict = match packet.lead {
            None => judge::lead(occasion, entry, &self.view),
            Some(lead) => judge::further(occasion, entry, &self.view, lead.verdict),
        };
        packet.lead.get_or_insert(Lead { tsn, verdict });
        let mut evidence = judge::evidence(occasion, entry, &self.view);
        if packet.position == 0 {
            // Farther off, some of what seems known was on its way.
            if occasion.at_sender()
                && let Some(strikes) = judge::strikes_alone(occasion, entry, &self.view)
            {
                self.view.learn(strikes);
            }
            if verdict.0 == SctpCause::Timeout {
                evidence.backoff = self.view.expiries + 1;
                let timer = evidence.since_timer.filter(|_| entry.reports == 0 && entry.first.is_some());
                let timer = timer.map(Duration::from_nanos);
                self.view.shortest_timer = self.view.shortest_timer.into_iter().chain(timer).min();
                packet.outcome.timeout = Some(entry.path);
            }
        }
        let moved = entry.transmissions > 0 && entry.path != packet.seen.path;
        Judged { verdict, evidence, class: self.trace.class(entry.trace), moved }
    }

    /// The row waits for an answer; returns its number.
    fn record(&mut self, row: SctpRetransmissionRow, entry: &Entry, out: &mut Out<'_>) -> u64 {
        let time = row.time;
        let number = self.pending.push(row, entry.row);
        if entry.acked.is_some() {
            // Its answer was seen before it.
            self.pending.acked(Some(number), time, None, &mut self.work);
        }
        if self.pending.len() > WAITING_CHUNKS {
            self.pending.leave(Some((time, Duration::from_nanos(u64::MAX))), |row| give(row, out));
        }
        number
    }
}

/// The row of a chunk, whose answer is not known yet.
fn row(
    packet: &Packet<'_>,
    again: &Again<'_>,
    entry: &Entry,
    judged: &Judged,
    out: &Out<'_>,
) -> SctpRetransmissionRow {
    let seen = packet.seen;
    let (need, proof) = match (entry.known, entry.acked) {
        (true, _) => (Need::Unnecessary, SctpProof::AckBefore),
        (false, Some(_)) => (Need::Spurious, SctpProof::EarlyAck),
        (false, None) => (Need::Unknown, SctpProof::None),
    };
    let since = |time: Instant| seen.time.saturating_since(time).as_nanos();
    SctpRetransmissionRow {
        association: out.association,
        side: out.side,
        number: seen.number,
        time: seen.time,
        src: seen.src,
        dst: seen.dst,
        tsn: again.tsn,
        stream: again.piece.stream,
        len: again.piece.len,
        position: packet.position,
        retransmission: entry.transmissions.max(1),
        first_number: entry.first.map(|(number, _)| number),
        delay_first: entry.first.map(|(_, time)| since(time)),
        delay_previous: (entry.transmissions > 1 || entry.first.is_some()).then(|| since(entry.last)),
        class: judged.class,
        class_reports: entry.trace,
        cause: judged.verdict.0,
        confidence: judged.verdict.1.confidence(),
        certain: judged.verdict.1.proof(),
        need,
        proof,
        moved: judged.moved,
        evidence: judged.evidence,
    }
}
