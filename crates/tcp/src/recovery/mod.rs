//! What was lost, and what is done about it: one file per way to recover, each with its own scoreboard and undo.
//!
//! [`LossRecovery`] is what a connection asks: what an acknowledgment and an expiry mean, what may leave next. Each
//! implementation stands beside its source:
//!
//! | file | source |
//! |---|---|
//! | `newreno` | RFC 5681 section 3.2, RFC 6582, and FreeBSD's order of steps; without SACK |
//! | `bsd_sack` | FreeBSD 5.4 to 7.2, tcp_input.c and tcp_sack.c |
//! | `rfc6675` | RFC 6675 |
//! | `by_segment` | RFC 8985, RFC 6675, RFC 9937, RFC 6937 and RFC 5682, each a key |
//! | `linux_2_6_9` | net/ipv4/tcp_input.c of Linux 2.6.9, with SACK, in bytes where the kernel counts packets: FACK and rate halving |
//! | `linux_2_6_15` | net/ipv4/tcp_input.c of Linux 2.6.15: rate halving, in packets |
//! | `linux_6_1` | net/ipv4/tcp_input.c of Linux 6.1: proportional rate reduction (RFC 6937), F-RTO (RFC 5682) |
//!
//! What several of them are made of: the holes that SACK leaves (`scoreboard`), duplicates as BSD counts them
//! (`duplicates`), the undo of a first timeout (`bad_retransmit`), packets as Linux counts them (`packets`).
//! `few` and `probe` are rules for few segments, whatever the way to recover. [`OwnRecovery`] takes a strategy from outside
//! this crate; it sees of a connection what [`Tcb`] shows publicly.

mod bad_retransmit;
mod bsd_sack;
mod by_segment;
mod duplicates;
mod few;
mod linux_2_6_15;
mod linux_2_6_9;
mod linux_6_1;
mod newreno;
mod own;
mod packets;
mod probe;
mod rfc6675;
mod scoreboard;

use std::fmt::Debug;

use rexmit_units::Instant;
use rexmit_wire::{SeqNumber, TcpSegment};

use crate::congestion::During;
pub use crate::connection::{Growth, NewAck, SendState, Tcb};
use crate::profile::SackRecovery;

use bsd_sack::BsdSack;
use by_segment::BySegment;
pub use duplicates::{Duplicate, Duplicates};
pub(crate) use few::Few;
use linux_2_6_9::Linux269;
use linux_2_6_15::Linux2615;
use linux_6_1::Linux61;
use newreno::NewReno;
use own::Own;
pub use own::OwnRecovery;
use rfc6675::Rfc6675;

/// What the sender is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// Nothing is suspected.
    Open,
    /// Duplicates have come, fewer than the threshold.
    Disorder,
    /// The window goes down for a mark of ECN: Linux's state CWR.
    Cwr,
    /// Fast recovery.
    Recovery,
    /// A timeout is being repaired.
    Loss,
}

impl Phase {
    /// As tables have it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Disorder => "disorder",
            Self::Cwr => "cwr",
            Self::Recovery => "recovery",
            Self::Loss => "loss",
        }
    }

    /// For congestion control, which rests in recovery.
    pub fn during(self) -> During {
        match self {
            Self::Open | Self::Cwr | Self::Recovery => During::Open,
            Self::Disorder => During::Disorder,
            Self::Loss => During::Loss,
        }
    }
}

/// What the next segment may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Permit {
    /// From a hole: `len` bytes from `seq`.
    Hole {
        /// The first of them.
        seq: SeqNumber,
        /// How many.
        len: u32,
    },
    /// From nxt: this many bytes; negative where more is outstanding than allowed. `again`: when they have left, what
    /// may follow is asked for again.
    Next {
        /// How many.
        len: i64,
        /// See above.
        again: bool,
    },
}

impl Permit {
    /// This many bytes from nxt.
    #[inline]
    pub fn next(len: i64) -> Self {
        Self::Next { len, again: false }
    }
}

/// An acceptable segment, whose acknowledgment is not above what was sent.
#[derive(Clone, Copy, Debug)]
pub struct Arrival<'a> {
    /// When it arrived.
    pub now: Instant,
    /// The segment.
    pub segment: &'a TcpSegment,
    /// Its window in bytes.
    pub window: u32,
}

/// What becomes of a segment whose acknowledgment has been taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rest {
    /// The rest of it is not looked at.
    Skip,
    /// Its window and its data are taken.
    Take,
    /// The same, and then an attempt to send follows.
    TakeAndSend,
}

/// What lets a sender go on, besides acknowledgments and the retransmission timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resume {
    /// The last segment that is out leaves again, as a probe for a lost tail; where the recovery has the timer, new data
    /// may leave instead.
    TailProbe,
    /// What was overtaken and has not arrived is lost.
    Reordering,
    /// The pause of a paced sender is over: as much leaves as may.
    Pace,
}

/// A segment that leaves.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// Its first sequence number.
    pub seq: SeqNumber,
    /// Bytes of data.
    pub len: u32,
    /// It carries the FIN.
    pub fin: bool,
    /// From a hole: nxt stays where it is.
    pub hole: bool,
    /// Nothing of it has been sent before.
    pub is_new: bool,
}

impl Sent {
    /// Sequence numbers that it takes.
    pub fn space(&self) -> u32 {
        self.len + u32::from(self.fin)
    }
}

/// The state of recovery as others see it. Counts of packets are 0 where recovery counts bytes.
#[derive(Clone, Copy, Debug)]
pub struct Status {
    /// What the sender is doing.
    pub phase: Phase,
    /// Segments sent and not acknowledged (`packets_out`).
    pub out: u32,
    /// Packets of the send queue that they were sent as, where these hold several.
    pub packets: u32,
    /// Those of them that are believed to be in the network.
    pub in_flight: u32,
    /// When the earliest of them left last.
    pub oldest: Option<Instant>,
    /// How many packets may overtake one without its being taken for lost.
    pub reordering: u32,
}

impl Status {
    /// That of a way to recover that counts bytes.
    pub fn in_bytes(phase: Phase) -> Self {
        Self { phase, out: 0, packets: 0, in_flight: 0, oldest: None, reordering: 0 }
    }
}

/// One way to recover.
///
/// 1. *what arrived*: [`Self::on_ack`], which grows or lowers the window, sends again, and moves una;
/// 2. *what ran out*: [`Self::on_timeout`] for the retransmission timer, [`Self::resume`] for others;
/// 3. *what leaves*: each segment is asked for ([`Self::next_unsacked`], [`Self::permit`]) and told
///    ([`Self::on_sent`]); [`Self::after_round`] when no more may follow;
/// 4. *what others ask*: [`Self::status`].
pub trait LossRecovery: Debug + Send + Sync {
    /// Takes the acknowledgment of a segment.
    fn on_ack(&mut self, tcb: &mut Tcb, arrival: &Arrival<'_>) -> Rest;

    /// The retransmission timer of an established connection has expired.
    fn on_timeout(&mut self, tcb: &mut Tcb, now: Instant);

    /// Another timer lets something leave.
    fn resume(&mut self, tcb: &mut Tcb, now: Instant, why: Resume);

    /// What the next segment may be.
    fn permit(&mut self, tcb: &mut Tcb) -> Permit;

    /// A segment leaves; nxt and the timers have not moved.
    fn on_sent(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent);

    /// From `nxt`, which lies below what was sent, past what is known to have arrived.
    fn next_unsacked(&self, nxt: SeqNumber) -> SeqNumber {
        nxt
    }

    /// The application is about to write.
    fn before_write(&mut self, _tcb: &mut Tcb) {}

    /// Data waited, and all has left that could; `sent`: some of it was new.
    fn after_round(&mut self, _tcb: &mut Tcb, _now: Instant, _sent: bool) {}

    /// New data or a FIN have left, with all that could.
    fn after_new(&mut self, _tcb: &mut Tcb, _now: Instant) {}

    /// Does it lower the window itself where an acknowledgment tells of a mark of ECN? Else its connection does, as after a loss.
    fn heeds_echoes(&self) -> bool {
        false
    }

    /// The state as others see it.
    fn status(&self) -> Status;
}

/// una moves, with SACK: a state ends, and `recover` follows.
fn follow_una(phase: &mut Phase, recover: &mut SeqNumber, una: SeqNumber) {
    if *phase == Phase::Disorder || (*phase == Phase::Loss && una >= *recover) {
        *phase = Phase::Open;
    }
    if *phase != Phase::Recovery {
        *recover = (*recover).max(una);
    }
}

/// The way to recover of one connection.
#[derive(Debug)]
pub(crate) enum Recovery {
    NewReno(NewReno),
    BsdSack(BsdSack),
    Rfc6675(Rfc6675),
    BySegment(Box<BySegment>),
    Linux269(Box<Linux269>),
    Linux2615(Box<Linux2615>),
    Linux61(Box<Linux61>),
    /// One from outside this crate.
    Own(Box<Own>),
}

impl Recovery {
    /// Until the options are agreed on nothing is lost but a SYN, which is the handshake's business.
    pub fn before_handshake(tcb: &Tcb) -> Self {
        Self::NewReno(NewReno::new(tcb))
    }

    /// One from outside, from the start.
    pub fn own(own: &OwnRecovery, tcb: &Tcb) -> Self {
        Self::Own(Box::new(Own::new(own, tcb)))
    }

    /// The options are agreed on: recovery begins as the profile says, or as whoever gave their own.
    pub fn begin(&mut self, tcb: &Tcb) {
        match self {
            Self::Own(own) => own.begin(tcb),
            _ => *self = Self::of_profile(tcb),
        }
    }

    fn of_profile(tcb: &Tcb) -> Self {
        match tcb.profile.recovery.sack {
            SackRecovery::Prr => Self::Linux61(Box::new(Linux61::new(tcb))),
            SackRecovery::CountedHalving => Self::Linux2615(Box::new(Linux2615::new(tcb))),
            _ if !tcb.marks.sack => Self::NewReno(NewReno::new(tcb)),
            SackRecovery::Bsd => Self::BsdSack(BsdSack::new(tcb)),
            SackRecovery::Rfc6675 if BySegment::is_wanted(tcb) => {
                Self::BySegment(Box::new(BySegment::new(tcb)))
            }
            SackRecovery::Rfc6675 => Self::Rfc6675(Rfc6675::new(tcb)),
            SackRecovery::RateHalving => Self::Linux269(Box::new(Linux269::new(tcb))),
        }
    }

    /// What the sender is doing.
    pub fn phase(&self) -> Phase {
        let status = match self {
            Self::NewReno(way) => way.status(),
            Self::BsdSack(way) => way.status(),
            Self::Rfc6675(way) => way.status(),
            Self::BySegment(way) => way.status(),
            Self::Linux269(way) => way.status(),
            Self::Linux2615(way) => way.status(),
            Self::Linux61(way) => way.status(),
            Self::Own(own) => own.way.status(),
        };
        status.phase
    }
}

/// The one place where a connection asks which way to recover it has: what follows is compiled for each of them.
macro_rules! with_recovery {
    ($connection:ident, |$tcb:ident, $recovery:ident| $call:expr) => {{
        use $crate::recovery::Recovery;
        let $tcb = &mut $connection.tcb;
        match &mut $connection.recovery {
            Recovery::NewReno($recovery) => $call,
            Recovery::BsdSack($recovery) => $call,
            Recovery::Rfc6675($recovery) => $call,
            Recovery::BySegment($recovery) => {
                let $recovery = &mut **$recovery;
                $call
            }
            Recovery::Linux269($recovery) => {
                let $recovery = &mut **$recovery;
                $call
            }
            Recovery::Linux2615($recovery) => {
                let $recovery = &mut **$recovery;
                $call
            }
            Recovery::Linux61($recovery) => {
                let $recovery = &mut **$recovery;
                $call
            }
            Recovery::Own(own) => {
                let $recovery = &mut *own.way;
                $call
            }
        }
    }};
}
pub(crate) use with_recovery;
