//! One side of a connection: the data that it sends, and what comes back for them.

mod kinds;
mod watched;

use rexmit_units::{Duration, Instant};
use rexmit_wire::Flags;

use super::acks::{Ack, AckState, News};
use super::board::{Before, Board, Stamp};
use super::clock::Clock;
use super::held::{Again, Watch};
use super::judge::Judge;
use super::loss::Lost;
use super::measures::{Answered, Covered, Level, Measures};
use super::missing::Missing;
use super::pace::Pace;
use super::passed::{Out, Passed, Placed, wire_packets};
use super::pending::{Answer, Pending, Waiting};
use super::space::Space;
use super::stamps::{self, Stamps, Told};
use super::trial::{Report, Trial, Verdict};
use super::view::{View, Way};
use crate::core::policy::TcpPolicy;
use crate::limits::{Limit, STEPS_PER_PACKET, Steps, Work};
use crate::rows::{Confidence, Kind, Need, Proof, RetransmissionRow, SideName};

/// The data of one side.
#[derive(Debug)]
pub(super) struct Half {
    policy: &'static TcpPolicy,
    /// Who sends them.
    pub side: SideName,
    /// Their sequence numbers.
    pub space: Space,
    /// One past the highest number seen, or acknowledged.
    pub edge: i64,
    /// Data, SYN or FIN was seen.
    pub started: bool,
    /// Acknowledgments as seen here.
    pub acks: AckState,
    /// Round-trip times.
    pub clock: Clock,
    /// What is counted.
    pub measures: Measures,
    /// Packets that did not come here.
    pub missing: Missing,
    /// The other side sent its SYN once more.
    pub asked_again: bool,
    /// Its receiver's windows are known: the SYNs told how they are scaled.
    pub window_known: bool,
    /// Data up to here were probably sent before and lost on their way here.
    lost_to: i64,
    board: Board,
    view: View,
    judge: Judge,
    pending: Pending,
    last_sent: Option<Instant>,
    pace: Pace,
    /// Bytes of data in its last packet that had any.
    last_len: u32,
    /// The latest TSval.
    newest_stamp: u32,
    /// The latest transmission of what is acknowledged.
    delivered: Instant,
    /// The last report of what lies above all reported before.
    reported: Option<Report>,
    stamps: Stamps,
    /// What its last packet tells by its timestamps.
    told: Told,
    /// When a retransmission was lost before it came here, as identifications show.
    lost_again: Option<Instant>,
    work: Work,
    /// What held the side back, from its first data on.
    held: Option<Box<Watch>>,
    /// Whether rows of that are asked for.
    keep_held: bool,
    /// The judgement of the packet that has just been taken, if it is a retransmission.
    again: Option<Again>,
    /// Something was acknowledged that did not come here.
    has_gaps: bool,
    /// Times that most of the board was forgotten.
    given_up: u64,
}

/// The packet that brought an acknowledgment.
pub(super) struct AckPacket {
    pub number: u64,
    /// Its TSecr.
    pub echo: Option<u32>,
}

/// A retransmission and its cause.
struct Judged {
    /// Which transmission of its data it is, from 1.
    transmission: u32,
    before: Before,
    verdict: Verdict,
}

/// A packet that takes sequence space, or probes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sent {
    pub seq: i64,
    pub end: i64,
    pub len: u32,
    pub flags: Flags,
    pub stamp: Stamp,
    /// Its TSecr.
    pub echo: Option<u32>,
    /// Packets of its side that are missing before it.
    pub missing: u16,
}

/// What the connection knows and its halves need.
#[derive(Clone, Copy, Debug)]
pub(super) struct Terms {
    /// Number of the connection.
    pub connection: u32,
    /// Both sides permitted SACK.
    pub sack: bool,
    /// The sender's SYN looks like that of a system that probes for tail losses.
    pub probes: bool,
    /// The receiver's maximum segment size, less options: bytes of data in a full segment.
    pub mss: u32,
}

impl Half {
    /// A side that has sent nothing.
    pub(super) fn new(side: SideName, policy: &'static TcpPolicy, keep_held: bool) -> Self {
        Self {
            policy,
            side,
            space: Space::default(),
            edge: 0,
            started: false,
            acks: AckState::default(),
            clock: Clock::new(policy),
            measures: Measures::default(),
            missing: Missing::new(&policy.missing),
            asked_again: false,
            window_known: false,
            lost_to: 0,
            board: Board::default(),
            view: View::default(),
            judge: Judge::default(),
            pending: Pending::default(),
            last_sent: None,
            pace: Pace::default(),
            last_len: 0,
            newest_stamp: 0,
            delivered: Instant::default(),
            reported: None,
            stamps: Stamps::default(),
            told: Told::default(),
            lost_again: None,
            work: Work::default(),
            held: None,
            keep_held,
            again: None,
            has_gaps: false,
            given_up: 0,
        }
    }

    /// The side sent a packet that takes sequence space.
    pub(super) fn sent(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        if !self.started {
            self.started = true;
            if self.acks.window.is_none() {
                self.acks.una = sent.seq;
            }
            self.edge = self.edge.max(sent.seq);
        }
        if !self.clock.delay().is_zero() {
            self.pace.packet(sent.stamp.time, &self.policy.far);
        }
        self.stamp(sent);
        let way = self.way(sent.stamp.time);
        let longest = self.view.sent(&way, sent.echo);
        if let Some(longest) = longest {
            self.clock.loop_is_at_most(longest);
        }
        let placed = if sent.seq >= self.edge && sent.end > sent.seq {
            self.sent_new(sent, terms)
        } else {
            self.sent_again(sent, terms)
        };
        if sent.end > self.edge {
            self.edge = sent.end;
            self.space.reached(sent.end);
        }
        if (sent.stamp.tsval.wrapping_sub(self.newest_stamp) as i32) > 0 || self.newest_stamp == 0 {
            self.newest_stamp = sent.stamp.tsval;
        }
        if sent.len > 0 {
            self.last_len = sent.len;
        }
        if !matches!(placed.kind, Kind::Copy) {
            self.last_sent = Some(sent.stamp.time);
        }
        placed
    }

    /// A packet comes; `pool` are the steps of work left for all beyond those that packets grant.
    pub(super) fn begin(&mut self, pool: u64) {
        self.work.begin(STEPS_PER_PACKET, pool);
    }

    /// The packet is over.
    pub(super) fn end(&mut self, steps: &mut Steps) {
        self.work.end(steps);
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        let known = self.acks.sacked.heap() + self.view.heap();
        let held = self.held.as_ref().map_or(0, |watch| size_of::<Watch>() + watch.heap());
        self.board.heap() + self.pending.heap() + self.measures.heap() + known + held
    }

    /// The side sent a packet that takes none. It shows too what the side had got by then; and a side that sends no
    /// data would otherwise be taken never to get anything.
    pub(super) fn sent_bare(&mut self, sent: &Sent) {
        self.stamp(sent);
        let way = self.way(sent.stamp.time);
        self.view.sent(&way, sent.echo);
    }

    fn stamp(&mut self, sent: &Sent) {
        let &Stamp { time, tsval: value, .. } = &sent.stamp;
        self.told = self.stamps.sent(sent.echo.map(|echo| stamps::Packet { time, value, echo }));
    }

    /// Of a packet of the side that passes here at `now`.
    fn way(&self, now: Instant) -> Way<'static> {
        Way { now, delay: self.clock.delay(), policy: &self.policy.far }
    }

    /// Bytes sent and not acknowledged, cumulatively or by SACK.
    pub(super) fn outstanding(&self) -> u64 {
        (self.edge - self.acks.una - self.acks.sacked_bytes).max(0) as u64
    }

    /// One of its packets has been taken: counts it.
    pub(super) fn measure(&mut self, passed: &Passed<'_>) {
        self.measures.packet(passed);
        let in_stream = matches!(passed.placed.kind, Kind::New | Kind::Retransmission | Kind::Reordered);
        if in_stream && passed.tcp.len > 0 {
            let idle = self.clock.rto().unwrap_or_default().max(self.policy.counts.idle);
            let flight = self.measures.sent(passed, &self.level(), idle);
            if passed.end == self.edge {
                self.board.set_flight(flight);
            }
            if passed.placed.kind != Kind::Reordered {
                self.watch(passed);
            }
        }
        self.again = None;
    }

    /// What is outstanding.
    fn level(&self) -> Level {
        let una = self.acks.una;
        Level {
            outstanding: self.outstanding(),
            left: self.window_known.then_some(self.acks.window).flatten().map(|w| una + w as i64 - self.edge),
            closed: self.acks.window == Some(0),
            pieces: self.board.len() as u32,
            unacknowledged: (self.edge - una).max(0) as u64,
        }
    }

    /// The other side acknowledged.
    pub(super) fn acknowledged(
        &mut self,
        ack: &Ack,
        packet: &AckPacket,
        terms: &Terms,
        out: &mut Out<'_>,
    ) -> News {
        let had = self.acks.una;
        let disorder = self.acks.disorders > 0;
        let first = self.acks.window.is_none();
        let mut news = self.acks.apply(ack, self.edge);
        if first && self.started {
            // It covers what was seen before it.
            news.advanced = (ack.ack - had).max(0);
        }
        if let Some(watch) = &mut self.held {
            watch.acknowledged(self.acks.una, ack.time);
        }
        self.view.queue(ack, self.edge, self.clock.delay());
        self.stamps.acknowledged(ack.stamp, ack.bare);
        if ack.ack > self.edge {
            // Acknowledged data were sent, seen here or not.
            if self.started || self.edge > 0 {
                self.measures.unseen(ack.ack - self.edge);
                self.has_gaps = true;
            }
            self.edge = ack.ack;
        }
        self.space.reached(ack.ack.min(self.edge));
        let answered = Answered {
            ack,
            number: packet.number,
            echo: packet.echo,
            news: &news,
            had,
            duplicates: self.acks.duplicates,
            disorder,
            sack: terms.sack,
            soonest_effect: self.policy.counts.first_answer_share.of(self.clock.delay()),
            side: self.side,
        };
        if news.advanced > 0 {
            self.judge.progress(self.acks.una, self.edge);
            self.take_progress(&answered, terms.mss, out);
        } else if let Some(piece) = news.sacked_in_order.and_then(|top| self.board.piece_at(top - 1)) {
            self.reported = Some(Report { at: ack.time, sent: piece.last });
            self.measures.reported(piece, &answered, out);
        }
        self.measures.acknowledged(&answered, &self.level(), out);
        if !self.pending.is_empty() {
            let answer = Answer { time: ack.time, ack: ack.ack, echo: packet.echo, news: &news };
            self.pending.answer(&answer);
        }
        news
    }

    /// Hands out the retransmissions of which nothing more is to be learnt at `now`.
    pub(super) fn release(&mut self, now: Instant, out: &mut Out<'_>) {
        if self.pending.is_empty() {
            return;
        }
        let need = &self.policy.need;
        let patience = (self.clock.rtt().unwrap_or_default() * need.patience_rtts).max(need.patience);
        let early = self.early();
        let measures = &mut self.measures;
        self.pending.release(now, patience, early, |waiting| {
            measures.judged(&waiting.row, &waiting.lost, out);
            out.rows.retransmissions.push(waiting.row);
        });
    }

    /// Within that, no answer is to a retransmission.
    fn early(&self) -> Option<Duration> {
        self.clock.soonest_answer().map(|soonest| self.policy.need.early_share.of(soonest))
    }

    /// Hands out all that are left.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        let early = self.early();
        let measures = &mut self.measures;
        self.pending.drain(early, |waiting| {
            measures.judged(&waiting.row, &waiting.lost, out);
            out.rows.retransmissions.push(waiting.row);
        });
        measures.finish(out);
        if let Some(watch) = &mut self.held {
            watch.finish();
        }
        self.take_held(out);
        let (hurried, left_out) = self.view.limited();
        let limits = &mut out.rows.limits;
        limits.add(Limit::Segments, self.board.forgotten);
        limits.add(Limit::Waiting, self.pending.closed);
        limits.add(Limit::Ranges, self.acks.sacked.left_out + left_out);
        limits.add(Limit::UnderWay, hurried + self.measures.hurried());
        limits.add(Limit::Steps, self.given_up);
    }

    /// `una` has moved: pieces leave the board, and the newest gives an RTT sample if nothing is ambiguous.
    fn take_progress(&mut self, answered: &Answered<'_>, mss: u32, out: &mut Out<'_>) {
        let mut covered = Covered::default();
        let delivered = &mut self.delivered;
        self.board.acknowledge(answered.ack.ack, |piece| {
            *delivered = (*delivered).max(piece.last);
            covered.add(piece, mss);
        });
        if let Some(rtt) = self.measures.covered(&covered, answered, out) {
            self.clock.sample(rtt);
            if let Some(watch) = &mut self.held {
                watch.sample(rtt);
            }
        }
        self.has_gaps |= covered.unseen > 0;
    }

    /// All of it lies above what was seen. It was sent before all the same, where packets are missing that carried
    /// neither what comes before it nor anything else.
    fn sent_new(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        self.find_lost(sent, terms);
        self.find_lost_again(sent, terms);
        let known = self.edge;
        self.board.append(known, sent.seq..sent.end, &sent.stamp);
        // What was lost together comes again together.
        let round_trip = self.clock.rtt().unwrap_or(self.clock.delay());
        let waited = self.last_sent.map_or(Duration::ZERO, |last| sent.stamp.time.saturating_since(last));
        if sent.missing == 0 && waited > round_trip * self.policy.missing.burst_rtts {
            self.lost_to = 0;
        }
        if sent.seq >= self.lost_to {
            return Placed { kind: Kind::New, transmission: 1, fresh: sent.len, again: 0 };
        }
        self.edge = self.lost_to.max(sent.end);
        let before = Before { count: 0, unseen: sent.end - sent.seq, first: None, last: None };
        let verdict = self.ask(sent, &before, terms);
        self.edge = known;
        self.wait(sent, &Judged { transmission: 2, before, verdict }, terms);
        Placed { kind: Kind::Retransmission, transmission: 2, fresh: sent.len, again: sent.len }
    }

    /// Part of it, at least, lies below the edge.
    fn sent_again(&mut self, sent: &Sent, terms: &Terms) -> Placed {
        let below = sent.seq..sent.end.min(self.edge);
        if !self.work.spend(self.board.steps(&below)) {
            self.board.give_up();
            self.given_up += 1;
        }
        if self.is_copy(sent) {
            return Placed::bare(Kind::Copy);
        }
        if self.acks.window.is_none() && sent.end <= self.acks.una {
            // The capture began between packets that had changed places.
            return Placed { kind: Kind::Reordered, transmission: 1, fresh: sent.len, again: 0 };
        }
        if self.is_overtaken(sent) {
            let before = self.board.again(below, &sent.stamp);
            let fresh = sent.len.min(before.unseen as u32);
            return Placed { kind: Kind::Reordered, transmission: 1, fresh, again: 0 };
        }
        let again = sent.len.min((below.end - below.start) as u32);
        let before = self.board.again(below, &sent.stamp);
        let verdict = self.ask(sent, &before, terms);
        if sent.end > self.edge {
            self.board.append(self.edge, self.edge..sent.end, &sent.stamp);
        }
        let transmission = u32::from(before.count.max(1)) + 1;
        self.wait(sent, &Judged { transmission, before, verdict }, terms);
        let fresh = sent.len - again + again.min(before.unseen as u32);
        Placed { kind: Kind::Retransmission, transmission, fresh, again }
    }

    fn ask(&mut self, sent: &Sent, before: &Before, terms: &Terms) -> Verdict {
        let view = self.view.state(&self.acks);
        self.judge.judge(&Trial {
            policy: self.policy,
            now: sent.stamp.time,
            sent_at: self.view.sent_at(&self.way(sent.stamp.time)),
            seq: sent.seq,
            end: sent.end,
            len: sent.len,
            flags: sent.flags,
            before,
            view,
            seen: &self.acks,
            edge: self.edge,
            clock: &self.clock,
            mss: terms.mss,
            sack: terms.sack,
            probes: terms.probes,
            last_sent: self.last_sent,
            busy_since: self.pace.busy_since,
            delivered: self.delivered,
            reported: self.reported,
            stepped: self.view.may_have_stepped_to(sent.seq),
            told: self.told,
            lost_again: self.lost_again,
            after_higher: self.told.silent.is_some() && self.is_after_higher(sent),
        })
    }

    fn is_after_higher(&self, sent: &Sent) -> bool {
        let later = sent.stamp.tsval.wrapping_sub(self.newest_stamp) as i32 > 0;
        later && self.board.seen_from(sent.end).is_some()
    }

    /// Writes the row, which waits for its answer.
    fn wait(&mut self, sent: &Sent, judged: &Judged, terms: &Terms) {
        let Judged { transmission, before, verdict } = judged;
        self.again = Some(Again {
            cause: verdict.cause,
            certain: verdict.certainty.confidence() == Confidence::Certain,
            recover: verdict.evidence.recover.unwrap_or(self.edge),
        });
        let view = self.view.state(&self.acks);
        let acked = sent.end <= view.una || view.sacked.covers(&(sent.seq..sent.end));
        let since = |time: Instant| sent.stamp.time.saturating_since(time).as_nanos();
        let (need, proof) = if acked && sent.end > sent.seq {
            (Need::Unnecessary, Proof::AckBefore)
        } else if sent.end <= self.acks.una {
            (Need::Spurious, Proof::AckBefore)
        } else {
            (Need::Unknown, Proof::None)
        };
        let row = RetransmissionRow {
            connection: terms.connection,
            side: self.side,
            number: sent.stamp.number,
            time: sent.stamp.time,
            seq: sent.seq,
            end: sent.end,
            len: sent.len,
            transmission: *transmission,
            first_number: before.first.map(|piece| piece.number),
            delay_first: before.first.map(|piece| since(piece.first)),
            delay_previous: before.last.map(|stamp| since(stamp.time)),
            cause: verdict.cause,
            confidence: verdict.certainty.confidence(),
            certain: verdict.certainty.proof(),
            need,
            proof,
            evidence: verdict.evidence,
        };
        let acked_at = (sent.end <= self.acks.una).then_some(sent.stamp.time);
        let first = sent.seq <= view.una;
        let lost = Lost {
            order: before.last.map_or(sent.stamp.order, |last| last.order),
            packets: wire_packets(sent.len, terms.mss) as u32,
            rtt: self.clock.rtt(),
        };
        self.pending.push(Waiting { row, tsval: sent.stamp.tsval, first, acked_at, answered_in: None, lost });
    }
}
