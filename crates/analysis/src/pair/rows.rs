//! The rows that two captures of the same flows give.
//!
//! The two captures are called A and B, in the order in which they were named. All times are told by A's clock; those
//! of B are corrected by what [`ClockRow`] says. Connections have a number of their own here, the pair, besides their
//! numbers in both captures.

use rexmit_units::Instant;

use crate::rows::{RetransmissionRow, Rows, SideName, Spread};

/// One of the two captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// The first one.
    A,
    /// The second one.
    B,
}

impl End {
    /// The other one.
    #[must_use]
    pub fn other(self) -> Self {
        match self {
            Self::A => Self::B,
            Self::B => Self::A,
        }
    }
}

/// All that two captures give.
#[derive(Debug, Default)]
pub struct PairRows {
    /// How B's clock runs against A's.
    pub clock: ClockRow,
    /// Two rows for each connection that both captures hold: the packets of the client, and those of the server.
    pub summaries: Vec<PairSummary>,
    /// A row for each packet that is in either capture of a paired connection, more for a super-packet; only where
    /// [`Options::crossings`](super::Options::crossings) asks for them. By pair, side, then the time of sending.
    pub crossings: Vec<CrossingRow>,
    /// Retransmissions of paired connections, judged by both captures; by pair, side, then time.
    pub retransmissions: Vec<PairRetransmissionRow>,
    /// Numbers of the connections that only A holds, and of those that only B holds.
    pub unpaired: [Vec<u32>; 2],
    /// What A alone gives: its connections, and the tables that were asked for.
    pub a: Rows,
    /// What B alone gives.
    pub b: Rows,
}

/// How the offset of the clocks is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ClockMethod {
    /// No packet is in both captures, or none that is the only one of its kind: delays are not corrected.
    #[default]
    Unknown,
    /// The user says that both captures were made by one clock: delays are true.
    Same,
    /// Packets of both directions: the smallest delays of both are taken to be equal.
    BothWays,
    /// Packets of one direction only: its smallest delay is taken to be zero, so that delays are above the smallest.
    OneWay,
}

/// B's clock against A's: `B = A + offset + skew (A - at)`. From the lower envelopes of the delays of both directions
/// (Moon, Skelly and Towsley 1999, with one line for both).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClockRow {
    /// How the offset is known.
    pub method: ClockMethod,
    /// The time of A at which the offset is stated: that of the middle one of the packets that tell.
    pub at: Instant,
    /// How much more B's clock shows than A's at that time, nanoseconds.
    pub offset: i64,
    /// The least and the largest offset that lets no packet arrive before it was sent; `None` where nothing bounds
    /// it. With equal paths both ways they lie half the smallest round-trip time away from the offset.
    pub offset_low: Option<i64>,
    /// See [`offset_low`](Self::offset_low).
    pub offset_high: Option<i64>,
    /// How much faster B's clock runs, parts per million; 0 where the bounds lie so far apart that they say nothing.
    pub skew: f64,
    /// The least and the largest skew that lets no packet arrive before it was sent.
    pub skew_low: Option<f64>,
    /// See [`skew_low`](Self::skew_low).
    pub skew_high: Option<f64>,
    /// Smallest delay there and back between the captures, nanoseconds; half of it is the uncertainty of each delay.
    pub round_trip: Option<u64>,
    /// Times at which a clock was set. The values above are of the first stretch between them; each delay is corrected
    /// by the line of its own stretch.
    pub steps: Vec<ClockStep>,
    /// Packets from A to B, and from B to A, that the estimate rests on.
    pub packets: [u64; 2],
}

/// A clock was set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ClockStep {
    /// When, by A's clock: the first packet after it.
    pub time: Instant,
    /// By how much B's clock went forward against A's, nanoseconds.
    pub size: i64,
}

/// What became of a packet between the captures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Both captures hold it.
    Arrived,
    /// It arrived with a wrong checksum that it did not have when it was sent: its receiver drops it.
    Damaged,
    /// Only the capture near its sender holds it, and the other one was running.
    Lost,
    /// Only the capture near its receiver holds it, and the other one was running: that capture missed it, or
    /// something between them made it.
    NotSent,
    /// Only one capture holds it, and nothing says that the other one was running then; or it is a copy that a tap
    /// made.
    NotComparable,
}

/// A packet, or a part of a super-packet, on its way between the captures.
#[derive(Clone, Debug, PartialEq)]
pub struct CrossingRow {
    /// Number of the pair, from 1.
    pub pair: u32,
    /// Who sent it.
    pub side: SideName,
    /// Its number in the capture near its sender ([`PairSummary::near_sender`]).
    pub number_sent: Option<u64>,
    /// Its number in the other capture; `None` where it did not arrive there.
    pub number_received: Option<u64>,
    /// When the capture near its sender saw it.
    pub time_sent: Option<Instant>,
    /// When the other one did, by A's clock as well.
    pub time_received: Option<Instant>,
    /// Nanoseconds between these; below zero where the clocks are not known well enough.
    pub delay: Option<i64>,
    /// First sequence number: 0 is the SYN.
    pub seq: i64,
    /// Bytes of data: of a super-packet, those of this part.
    pub len: u32,
    /// What became of it.
    pub fate: Fate,
    /// It arrived already: the network made a copy.
    pub duplicate: bool,
    /// A packet that was sent later arrived before it (RFC 4737 section 3.3).
    pub reordered: bool,
}

/// The packets of one side of a connection between the captures.
#[derive(Clone, Debug, PartialEq)]
pub struct PairSummary {
    /// Number of the pair, from 1, in the order of A.
    pub pair: u32,
    /// Number of the connection in A.
    pub connection_a: u32,
    /// Number of the connection in B.
    pub connection_b: u32,
    /// True if the captures show different addresses: something between them translates these.
    pub translated: bool,
    /// Who sent the packets of this row.
    pub side: SideName,
    /// The capture that sees these packets first.
    pub near_sender: End,
    /// How it is known which capture that is.
    pub near_by: NearBy,
    /// Packets of this side that the capture near it holds, copies by taps not counted; each segment of a super-packet
    /// counts, as far as a SYN tells how long segments are.
    pub packets: u64,
    /// Of these, those that arrived at the other capture undamaged.
    pub arrived: u64,
    /// Those that were lost between the captures.
    pub lost: u64,
    /// Those that arrived damaged.
    pub damaged: u64,
    /// Those of which it cannot be said.
    pub not_comparable: u64,
    /// Packets that only the capture near the receiver holds.
    pub not_sent: u64,
    /// Copies that the network made: arrivals of a packet that had arrived.
    pub duplicated: u64,
    /// Arrivals that a packet sent later overtook.
    pub reordered: u64,
    /// Lost and damaged packets for each packet that can be compared; `None` for none.
    pub loss_rate: Option<f64>,
    /// Delay between the captures of the packets that arrived first, nanoseconds.
    pub delay: Spread,
    /// Retransmissions whose earlier transmission was lost before the capture near the sender.
    pub lost_before: u64,
    /// Retransmissions whose earlier transmissions were lost, or damaged, between the captures.
    pub lost_between: u64,
    /// Retransmissions whose earlier transmission arrived at the capture near the receiver and not at the receiver.
    pub lost_after: u64,
    /// Retransmissions of what had arrived, or was on its way.
    pub spurious: u64,
}

/// How it is known which capture is nearer to a side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NearBy {
    /// Answers to it take longer to be seen there.
    RoundTrip,
    /// Both captures have one clock, and packets are seen there first.
    Clock,
    /// Its packets' time to live is larger there.
    Hops,
    /// The other connections of the captures.
    Others,
    /// Nothing tells; A is taken to be near the client.
    Assumed,
}

/// Where an earlier transmission was lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LostAt {
    /// Before the capture near the sender: that one did not see it.
    Before,
    /// Between the captures, or damaged there.
    Between,
    /// After the capture near the receiver.
    After,
    /// It was not lost.
    Nowhere,
    /// The captures do not tell.
    Unknown,
}

/// A retransmission, judged by both captures.
#[derive(Clone, Debug, PartialEq)]
pub struct PairRetransmissionRow {
    /// Number of the pair.
    pub pair: u32,
    /// The capture near its sender: [`judged`](Self::judged) gives numbers, times and sequence numbers as that one has
    /// them. The other one, where only that saw the retransmission.
    pub seen_at: End,
    /// Its number in the other capture, where it arrived there, damaged or not.
    pub number_received: Option<u64>,
    /// When it arrived there, by A's clock.
    pub time_received: Option<Instant>,
    /// Where the earlier transmissions of it were lost; the nearest to the receiver, where there are several.
    pub lost_at: LostAt,
    /// What the capture near the sender judges. Whether it was needed, and the proof, are of both captures.
    pub judged: RetransmissionRow,
}
