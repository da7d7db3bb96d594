//! Every threshold by which packets are judged, with its source.
//!
//! [`Policy::STANDARD`] is given to an analysis by its [`Options`](crate::Options), and by that to the judges of TCP, of
//! SCTP and of pairs. No judge has a time, a ratio or a count of its own. Each threshold has a test of its own name in
//! `policy/tests`, in which an answer changes when it moves. Three kinds of numbers stand next to what they serve, as
//! named constants: those that a protocol fixes, the bounds of memory and work (`limits`), and the numerical method by
//! which pairs are matched and the line of their clocks is fitted (`pair/clock`, `pair/lane`, `pair/holes`).
//!
//! A source that says `inferred` stands in no document: it follows from the reason beside it, and from captures whose
//! truth is known (`crates/sim/tests/causes`, `tests/captures`).

use rexmit_units::Duration;

/// A part of a duration, or a multiple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    numerator: u64,
    denominator: u64,
}

impl Ratio {
    /// `numerator` parts of `denominator`, which is not zero.
    pub const fn new(numerator: u64, denominator: u64) -> Self {
        assert!(denominator > 0, "a ratio has a denominator");
        Self { numerator, denominator }
    }

    /// This much of a duration, in whole parts.
    #[inline]
    pub fn of(self, whole: Duration) -> Duration {
        whole / self.denominator * self.numerator
    }

    /// This much of a count, in whole parts.
    #[inline]
    pub fn of_count(self, whole: u64) -> u64 {
        whole / self.denominator * self.numerator
    }
}

/// A value that a policy holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A time.
    Duration(Duration),
    /// A part or multiple of a time or a count.
    Ratio(Ratio),
    /// How many.
    Count(u64),
}

impl Value {
    /// The same, `numerator / denominator` times as large.
    #[must_use]
    pub fn scaled(self, numerator: u64, denominator: u64) -> Self {
        match self {
            Self::Duration(time) => Self::Duration(time * numerator / denominator),
            Self::Ratio(ratio) => {
                Self::Ratio(Ratio::new(ratio.numerator * numerator, ratio.denominator * denominator))
            }
            Self::Count(count) => Self::Count(count * numerator / denominator),
        }
    }
}

macro_rules! value {
    ($variant:ident, $type:ty) => {
        impl From<$type> for Value {
            fn from(value: $type) -> Self {
                Self::$variant(value)
            }
        }
        impl From<Value> for $type {
            fn from(value: Value) -> Self {
                match value {
                    Value::$variant(value) => value,
                    other => unreachable!("{other:?} is of another kind"),
                }
            }
        }
    };
}

value!(Duration, Duration);
value!(Ratio, Ratio);
value!(Count, u64);

/// A threshold by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    /// Its name: `tcp.timer.min_rto`.
    pub name: &'static str,
    /// What it is.
    pub value: Value,
    /// Where it comes from.
    pub source: &'static str,
}

/// Groups of thresholds: each field has a type, a value and a source.
macro_rules! thresholds {
    ($($(#[$doc:meta])* $group:ident in $prefix:literal {
        $($(#[$meaning:meta])* $field:ident: $type:ty = $value:expr, $source:literal;)*
    })*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $group {
                $($(#[$meaning])* #[doc = concat!(" Source: ", $source, ".")] pub $field: $type,)*
            }

            impl $group {
                /// What is used where nothing else is asked for.
                pub const STANDARD: Self = Self { $($field: $value,)* };

                fn list(&self) -> impl Iterator<Item = Threshold> + use<> {
                    [$(Threshold {
                        name: concat!($prefix, ".", stringify!($field)),
                        value: Value::from(self.$field),
                        source: $source,
                    },)*].into_iter()
                }

                fn change(&mut self, name: &str, change: &mut impl FnMut(Value) -> Value) {
                    $(if name == concat!($prefix, ".", stringify!($field)) {
                        self.$field = change(Value::from(self.$field)).into();
                    })*
                }
            }
        )*
    };
}

const fn us(us: u64) -> Duration {
    Duration::from_micros(us)
}

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

const fn s(s: u64) -> Duration {
    Duration::from_secs(s)
}

/// All thresholds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Policy {
    /// Those of TCP.
    pub tcp: TcpPolicy,
    /// Those of SCTP.
    pub sctp: SctpPolicy,
    /// Those of pairs of captures.
    pub pair: PairPolicy,
}

/// The thresholds of TCP, by what they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TcpPolicy {
    /// Where the capture was made.
    pub place: TcpPlace,
    /// When a retransmission timer can have run out.
    pub timer: TcpTimer,
    /// Whether an acknowledgment prompted a packet.
    pub prompt: TcpPrompt,
    /// What a sender elsewhere knew.
    pub far: TcpFar,
    /// The same packet twice, or packets that changed places.
    pub copies: TcpCopies,
    /// What was lost before it came here.
    pub missing: TcpMissing,
    /// Whether a retransmission was needed.
    pub need: TcpNeed,
    /// What is counted.
    pub counts: TcpCounts,
    /// What held a sender back.
    pub held: TcpHeld,
}

/// The thresholds of SCTP, by what they decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpPolicy {
    /// Where the capture was made.
    pub place: SctpPlace,
    /// When T3 can have run out.
    pub timer: SctpTimer,
    /// Whether a SACK prompted a packet.
    pub prompt: SctpPrompt,
    /// The same packet twice.
    pub copies: SctpCopies,
    /// Whether a retransmission was needed.
    pub need: SctpNeed,
    /// When an association is over.
    pub ends: SctpEnds,
}

thresholds! {
    /// Where a capture of TCP was made.
    TcpPlace in "tcp.place" {
        /// A loop to the sender that is shorter counts as none.
        at_sender: Duration = us(200), "inferred: a host answers a SYN within that";
        /// So does one that is a smaller part of the round trip.
        at_sender_share: Ratio = Ratio::new(1, 5), "inferred: jitter of the rest hides it";
        /// The capture is surely the sender's own where the loop is shorter.
        surely_near: Duration = ms(1), "inferred: a busy host answers a SYN within that";
        /// Or where it is a smaller part of the way to the receiver and back.
        surely_near_share: Ratio = Ratio::new(1, 20), "inferred: nothing that is judged by it hangs on so little";
        /// An answer that comes sooner is jitter at the receiver, and bounds nothing.
        soonest_answer: Duration = ms(1), "inferred: a receiver takes up to that to answer";
    }

    /// When a retransmission timer of TCP can have run out.
    TcpTimer in "tcp.timer" {
        /// Lower bound of the retransmission timeout.
        min_rto: Duration = ms(200), "Linux TCP_RTO_MIN, include/net/tcp.h; RFC 6298 section 2.4 has 1 s, which few keep";
        /// The timeout without an RTT sample, at the sender.
        unsampled: Duration = ms(180), "inferred: less than the shortest lower bound, Linux's 200 ms";
        /// The same elsewhere.
        unsampled_far: Duration = ms(200), "Linux TCP_RTO_MIN, include/net/tcp.h";
        /// A timer may have run out after this much of the timeout that is estimated.
        run_share: Ratio = Ratio::new(8, 10), "inferred: the sender's RTT samples are not ours";
        /// No timer runs out sooner than after this much of the shortest RTT.
        soonest_share: Ratio = Ratio::new(9, 10), "RFC 6298 section 2: RTO is SRTT and more; a tenth for our samples";
        /// No SYN is repeated by its timer sooner.
        syn: Duration = ms(200), "inferred: RFC 6298 section 2.1 has 1 s, and systems that have less, no less than Linux's lower bound";
        /// A tail loss probe waits this many smoothed RTTs.
        probe_rtts: u64 = 2, "RFC 8985 section 7.2";
        /// Of one of these, this much may be the difference between its RTT and ours.
        probe_rtt_error: Ratio = Ratio::new(1, 2), "inferred: a queue may have grown since our last sample";
        /// It waits for a delayed acknowledgment of a single segment too.
        probe_ack_delay: Duration = ms(200), "RFC 8985 section 7.2, as Linux TCP_RTO_MIN in tcp_schedule_loss_probe";
        /// And for the granularity of timers.
        probe_margin: Duration = ms(50), "inferred: timers of 100 and 250 Hz, and packets that waited at the interface";
        /// Its time is met within this much of it
        probe_error: Ratio = Ratio::new(1, 100), "inferred: samples of its sender that are not ours";
        /// or this.
        probe_tick: Duration = ms(4), "inferred: a timer of 250 Hz";
        /// The lower bound of a timer of the standard.
        first_rto: Duration = s(1), "RFC 6298 section 2.4";
        /// No timer that waits for reordering runs for longer than this many of the greatest RTTs that were seen
        reordering_rtts: u64 = 2, "RFC 8985 section 6.2, steps 4 and 5: RACK.rtt, and a reordering window of SRTT at most";
        /// and this.
        reordering_margin: Duration = ms(50), "inferred: Linux TCP_TIMEOUT_MIN, 20 ms at 100 Hz, and packets that waited at the interface";
        /// A recovery is over, away from the sender, if nothing was sent again for this many RTTs.
        settled_rtts: u64 = 2, "inferred: one for the repair, one for its answer";
    }

    /// Whether an acknowledgment prompted a retransmission of TCP.
    TcpPrompt in "tcp.prompt" {
        /// A packet is an answer if it follows within this much of the RTT,
        share: Ratio = Ratio::new(1, 20), "inferred: far less than acknowledgments are apart from a timer's expiry";
        /// but within this in any case,
        least: Duration = ms(1), "inferred: a host takes so long at most to answer";
        /// and never later,
        most: Duration = ms(5), "inferred: a host takes so long at most to answer";
        /// plus this much of the loop to the sender.
        loop_share: Ratio = Ratio::new(1, 10), "inferred: jitter of that loop";
        /// It is an answer beyond doubt within this much of that time.
        at_once_share: Ratio = Ratio::new(1, 4), "inferred: a timer's expiry falls into so short a time rarely";
        /// Duplicate ACKs, or segments reported by SACK, that start a fast retransmit.
        duplicates: u64 = 3, "RFC 5681 section 3.2, RFC 6675 DupThresh";
    }

    /// What a sender of TCP elsewhere knew, and when.
    TcpFar in "tcp.far" {
        /// Nothing but a timer follows a silence of this many RTTs.
        silence: Ratio = Ratio::new(115, 100), "inferred: what an acknowledgment prompts comes within one";
        /// An answer takes at least this much of the loop, where timestamps show how long queues are.
        soonest_stamped: Ratio = Ratio::new(85, 100), "inferred: the handshake's packets are shorter, and may have met queues";
        /// And this much where nothing shows it.
        soonest: Ratio = Ratio::new(1, 2), "inferred: half of the handshake's loop may have been queues";
        /// With timestamps, this much of the loop is allowed for queues.
        queues_stamped: Ratio = Ratio::new(1, 4), "inferred: the granularity of timestamps";
        /// And this many times what they showed of late.
        queues_grown: u64 = 2, "inferred: a queue doubles in a round trip at most while a window opens";
        /// An answer may be late by this much of the loop
        late_share: Ratio = Ratio::new(1, 10), "inferred: jitter of that loop";
        /// and by this.
        late: Duration = ms(10), "inferred: a host's timer tick";
        /// By its own clock, a sender that has got nothing for this long answers nothing.
        stamped_silence: Duration = ms(20), "inferred: four times what a host takes to answer, for the ticks of its clock";
        /// RACK waits this much of the RTT for reordering.
        reordering: Ratio = Ratio::new(1, 4), "RFC 8985 section 6.2, RACK_update_reo_wnd: min_RTT/4";
        /// An acknowledgment has arrived after this much less than the loop.
        arrival_error: Ratio = Ratio::new(1, 20), "inferred: jitter of that loop";
        /// The same where the timestamps of both are equal.
        arrival_error_stamped: Ratio = Ratio::new(1, 4), "inferred: the clock of timestamps stands still for a while";
        /// One that has not arrived after this many times what queues add was lost.
        lost_queues: u64 = 4, "inferred: queues grow no faster";
        /// and this much of the loop.
        lost_share: Ratio = Ratio::new(1, 4), "inferred: jitter of that loop";
        /// Packets come with a pause if this much lies between them,
        pause: Duration = ms(1), "inferred: the scheduler of a host";
        /// and this many times what usually does.
        pause_gaps: u64 = 4, "inferred: a loss doubles the distance, two in a row treble it";
        /// What usually lies between them follows longer distances by this part.
        gap_growth: u64 = 16, "inferred: slow, since the slowest link lets packets come no closer";
    }

    /// The same packet of TCP twice, or packets that changed places.
    TcpCopies in "tcp.copies" {
        /// Two ports of a tap show a packet within that.
        tap: Duration = ms(1), "inferred: packets that wait for their interrupt together";
        /// And within this much of the round trip, which no retransmission can be.
        tap_share: Ratio = Ratio::new(1, 4), "inferred: no sender repeats a packet so soon";
        /// Timestamps change within that.
        slow_clock: Duration = ms(10), "RFC 7323 section 5.4 allows 1 s; 10 ms is the slowest usual";
        /// What follows itself within this much of the loop to the sender is a copy.
        follows_share: Ratio = Ratio::new(1, 2), "inferred: no answer can have prompted it";
        /// What fills a hole within this much of the loop to the sender was overtaken.
        overtaken_share: Ratio = Ratio::new(9, 10), "inferred: no answer can have prompted it; a tenth for jitter";
        /// That loop, where the handshake does not show it.
        overtaken: Duration = ms(3), "inferred: reordering in a network rarely takes longer";
        /// Identifications of packets sent near each other are no farther apart.
        idents: u64 = 4096, "inferred: more than a window of packets, and less than an eighth of the 32,768 that order them";
        /// No SYN is repeated sooner.
        syn_again: Duration = ms(100), "inferred: below any initial timeout; more than a tap or a network's copy takes";
    }

    /// What was lost before it came to the capture of TCP.
    TcpMissing in "tcp.missing" {
        /// Identifications count packets where other steps than one are this many times rarer,
        leaps: u64 = 3, "inferred: losses are rarer than what arrives";
        /// and packets without data this many times rarer than all.
        bare: u64 = 8, "inferred: what is missing is then seldom one of these";
        /// What was lost together comes again within this many round trips.
        burst_rtts: u64 = 2, "inferred: slow start after a timeout leaves no longer pauses";
        /// After a retransmission, what is missing may be another for this many round trips.
        repair_rtts: u64 = 2, "inferred: one for the repair, one for its answer";
        /// What was lost comes again after this much of a round trip.
        soonest_share: Ratio = Ratio::new(8, 10), "inferred: nothing else tells the sender; the shortest RTT may be ours, not its";
    }

    /// Whether a retransmission of TCP was needed.
    TcpNeed in "tcp.need" {
        /// A report of a duplicate is waited for this many RTTs after the acknowledgment
        patience_rtts: u64 = 3, "inferred: the copy arrives within one, its report in another";
        /// and for this at least.
        patience: Duration = ms(500), "RFC 5681 section 4.2: an acknowledgment is delayed no longer";
        /// An answer within this much of the shortest round trip is that of an earlier transmission.
        early_share: Ratio = Ratio::new(1, 2), "inferred: what RFC 3522 tells by timestamps, told by time; the queues of our samples may have drained";
    }

    /// What is counted of TCP.
    TcpCounts in "tcp.counts" {
        /// What follows the end of a connection within that belongs to it.
        linger: Duration = s(120), "inferred: twice an MSL of a minute, as systems have it; RFC 9293 section 3.4.2 has one of two minutes";
        /// A wrong checksum means damage where good ones are this many times as many.
        damaged: u64 = 4, "inferred: where a network card fills checksums in, nearly all are wrong";
        /// Nothing outstanding for longer is an idle period.
        idle: Duration = s(1), "RFC 5681 section 4.1 has the RTO, whose lower bound RFC 6298 section 2.4 sets at 1 s";
        /// Answers of a receiver that come as soon show its own delay, and no way.
        near_receiver: Duration = ms(2), "inferred: a host answers within that";
        /// From this much on it is a timer's.
        delayed_ack: Duration = ms(5), "inferred: more than a host takes to answer; delayed acknowledgments take 40 ms and more";
        /// The initial window is over this much of the loop to the sender after the first acknowledgment.
        first_answer_share: Ratio = Ratio::new(9, 10), "inferred: no answer can have prompted data before; a tenth for jitter";
        /// A SYN with a window of this many whole segments is of a system that probes for tail losses.
        probing_window: u64 = 20, "Linux tcp_default_init_rwnd until 4.19: twice TCP_INIT_CWND of 10; tcp_select_initial_window since: 65535 bytes in whole segments";
    }

    /// What held a sender of TCP back.
    TcpHeld in "tcp.held" {
        /// Its congestion window held it back beyond doubt if this many acknowledgments in a row prompted full
        /// segments.
        waits: u64 = 4, "inferred: an application does not write that often just when an acknowledgment arrives";
        /// A window that has not grown for this many RTTs is not a congestion window.
        flat_rtts: u64 = 8, "inferred: RFC 5681 section 3.1 grows it by a segment an RTT, half of one with delayed ACKs";
        /// A queue stands if round trips take this much of the shortest
        standing_share: Ratio = Ratio::new(5, 4), "inferred: a quarter is more than jitter of most paths";
        /// and this more.
        standing: Duration = ms(1), "inferred: a receiver takes up to that to answer";
        /// With segments outstanding, one that leaves within this much of an RTT of another is paced.
        paced_share: Ratio = Ratio::new(1, 4), "inferred: a pace spreads a window over the round trip";
        /// A send buffer holds it if pauses that are longer take this much of the time in which no more becomes
        /// outstanding.
        gaps_share: Ratio = Ratio::new(1, 2), "inferred: a full buffer waits for the acknowledgments of a burst, a pace leaves no such pause";
        /// This much of the receiver's window may stay free until one large segment fills it.
        deferred_share: Ratio = Ratio::new(1, 3), "Linux net.ipv4.tcp_tso_win_divisor, tcp_tso_should_defer, net/ipv4/tcp_output.c";
    }

    /// Where a capture of SCTP was made.
    SctpPlace in "sctp.place" {
        /// A capture this near to a side counts as made there.
        at_side: Duration = ms(2), "inferred: a host answers a handshake's chunk within that";
        /// Or as small a part of the whole way.
        at_side_share: Ratio = Ratio::new(1, 20), "inferred: jitter of the rest hides it";
        /// The loop is this much of what was timed.
        loop_share: Ratio = Ratio::new(9, 10), "inferred: what brings an answer may be shorter than what was timed";
    }

    /// When T3 of SCTP can have run out.
    SctpTimer in "sctp.timer" {
        /// Lower bound of the retransmission timeout, where no other was seen.
        min_rto: Duration = s(1), "RFC 9260 section 16, RTO.Min; Linux net.sctp.rto_min has the same";
        /// No timer is shorter without an RTT sample.
        unsampled: Duration = ms(200), "inferred: the shortest lower bound that is known, Linux TCP's";
        /// Few senders take a lower bound below this, a tenth allowed.
        shortest: Duration = ms(180), "inferred: the shortest lower bound that is known, less a tenth";
        /// A timer may have run out after this much of the timeout that is estimated.
        run_share: Ratio = Ratio::new(9, 10), "inferred: the sender's RTT samples are not ours";
        /// And has run out after this much.
        late_share: Ratio = Ratio::new(6, 5), "inferred: granularity of timers";
        /// Doublings of it that are looked at.
        doublings: u64 = 6, "RFC 9260 section 6.3.3 E2: 1 s doubled to RTO.Max of 60 s";
        /// What is added to the RTT at least.
        granularity: Duration = ms(4), "RFC 9260 section 6.3.1 G: four times 1 ms, the finest that is known";
        /// Without a SACK for this long, none prompted a packet.
        silence: Duration = ms(10), "inferred: five times what a host takes to answer";
    }

    /// Whether a SACK prompted a retransmission of SCTP.
    SctpPrompt in "sctp.prompt" {
        /// A packet is an answer if it follows a SACK within that,
        at_once: Duration = ms(2), "inferred: a host takes so long at most to answer";
        /// plus this much of the loop to the sender.
        loop_share: Ratio = Ratio::new(1, 4), "inferred: jitter of that loop";
        /// Missing reports that start a fast retransmit, where no other number was seen.
        reports: u64 = 3, "RFC 9260 section 7.2.4";
        /// And the most that a standard has.
        reports_most: u64 = 4, "RFC 2960 section 7.2.4";
        /// SACKs that came together may report this many more.
        together: u64 = 2, "inferred: two SACKs wait for their interrupt together";
        /// SACKs are few where no more came
        few: u64 = 2, "inferred: an acknowledgment for each second packet";
        /// in this many times the time of an answer.
        few_answers: u64 = 2, "inferred: one for the SACK that prompted it, one for the SACK before";
        /// A SACK comes no later than this after it could.
        latest: Duration = s(5), "inferred: longer than any queue that is known";
    }

    /// The same packet of SCTP twice.
    SctpCopies in "sctp.copies" {
        /// A copy comes within that.
        longest: Duration = s(1), "inferred: longer than any queue between two ports";
        /// So does one whose sender does not number its packets.
        at_once: Duration = ms(10), "inferred: no T3 is so short";
        /// Identifications of neighbours are no farther apart where their sender counts its packets.
        idents: u64 = 256, "inferred: more than a burst of packets; far less than a step of numbers at random";
        /// After more than this many of them its sender does count.
        counted: u64 = 4, "inferred: four such steps at random in a row come once in 10^8 packets";
    }

    /// Whether a retransmission of SCTP was needed.
    SctpNeed in "sctp.need" {
        /// A report of a duplicate is waited for this long,
        grace: Duration = s(1), "inferred: the copy's arrival and a delayed SACK of 500 ms (RFC 9260 section 6.2)";
        /// and for this many round trips.
        grace_rtts: u64 = 2, "inferred: one for the copy, one for its report";
        /// An answer within this much of the shortest round trip is that of an earlier transmission.
        early_share: Ratio = Ratio::new(3, 4), "inferred: paths jitter; what is clearly sooner than anything before";
    }

    /// When an association of SCTP is over.
    SctpEnds in "sctp.ends" {
        /// What follows the end of an association within that belongs to it.
        linger: Duration = s(5), "inferred: what was on its way";
        /// An opening that nobody answers is given up.
        half_open: Duration = s(600), "RFC 9260 section 16: Max.Init.Retransmits of 8, from 1 s doubled up to 60 s, take 243 s; from the 3 s of RFC 4960, 333 s";
    }

    /// Two captures of the same flows.
    PairPolicy in "pair" {
        /// Clocks of captures tell no less.
        resolution: Duration = us(1), "pcap counts microseconds";
        /// A packet may seem to arrive this much before it was sent.
        tolerance: Duration = us(2), "pcap counts microseconds, at both ends";
        /// Or this much where chance has tilted the line of the clocks.
        slack: Duration = ms(1), "inferred: the error of a skew over the length of a capture";
        /// A packet takes at most this much longer than those around it.
        patience: Duration = s(1), "inferred: longer than a queue's change between neighbours";
        /// Equal packets of a host that numbers them are two if this much lies between them.
        again: Duration = s(1), "inferred: identifications of 16 bits come again no sooner at 65,536 packets a second";
        /// Packets this near to a step of a clock may have been under way then.
        under_way: Duration = s(1), "inferred: longer than any delay but that of a satellite's full buffer";
        /// A tap shows the copy no later.
        tap: Duration = ms(1), "inferred: packets that wait for their interrupt together";
        /// The same where hosts number their packets, so that no others are equal.
        tap_numbered: Duration = ms(10), "inferred: a timer tick between the two ports";
        /// Of a hundred packets, this many are copies in a capture that shows each twice.
        doubled: u64 = 40, "inferred: nearly every second one";
        /// A receiver knows what arrived after this many times the way from the capture to it.
        beyond_ways: u64 = 2, "inferred: there, and back to the capture again in a queue as long";
        /// A receiver answers at once within that.
        answer: Duration = ms(1), "inferred: a host takes so long at most to answer";
        /// A capture is at the receiver if answers take no more than this much of the round trip.
        at_receiver_share: Ratio = Ratio::new(1, 20), "inferred: jitter of the rest hides it";
    }
}

macro_rules! groups {
    ($type:ident: $($field:ident $group:ident),*) => {
        impl $type {
            /// What is used where nothing else is asked for.
            pub const STANDARD: Self = Self { $($field: $group::STANDARD,)* };

            fn list(&self) -> impl Iterator<Item = Threshold> + use<> {
                std::iter::empty()$(.chain(self.$field.list()))*
            }

            fn change(&mut self, name: &str, change: &mut impl FnMut(Value) -> Value) {
                $(self.$field.change(name, change);)*
            }
        }

        impl Default for &'static $type {
            fn default() -> Self {
                const { &$type::STANDARD }
            }
        }
    };
}

groups!(TcpPolicy: place TcpPlace, timer TcpTimer, prompt TcpPrompt, far TcpFar, copies TcpCopies,
    missing TcpMissing, need TcpNeed, counts TcpCounts, held TcpHeld);
groups!(SctpPolicy: place SctpPlace, timer SctpTimer, prompt SctpPrompt, copies SctpCopies, need SctpNeed,
    ends SctpEnds);
groups!(Policy: tcp TcpPolicy, sctp SctpPolicy, pair PairPolicy);

impl Policy {
    /// Every threshold, in the order of this file.
    pub fn thresholds(&self) -> impl Iterator<Item = Threshold> + use<> {
        self.list()
    }

    /// The same with another value for the threshold of this name; `None` if there is none of that name. The new value
    /// is of the same kind as the old one.
    pub fn with(&self, name: &str, mut change: impl FnMut(Value) -> Value) -> Option<Self> {
        self.list().any(|threshold| threshold.name == name).then(|| {
            let mut policy = *self;
            policy.change(name, &mut change);
            policy
        })
    }
}

#[cfg(test)]
pub(crate) mod tests;
