//! The rows of the tables of SCTP.
//!
//! TSNs are relative to the initial one of their side: 0 is the first DATA chunk of an association whose opening was
//! seen, otherwise the first that was seen. Times in nanoseconds unless said.

use std::net::{IpAddr, SocketAddr};

use rexmit_units::Instant;

pub use crate::core::causes::SctpCause;
use crate::core::certain::Certain;
use crate::core::rows::{Confidence, Kind, Need, bytes};
use crate::core::side::SideName;
use crate::core::spread::Spread;
use crate::limits::Counts;

/// The rows of SCTP, one vector per table.
#[derive(Debug, Default)]
pub struct SctpRows {
    /// Associations that have ended.
    pub associations: Vec<AssociationRow>,
    /// Their paths: one for each pair of addresses and direction.
    pub paths: Vec<PathRow>,
    /// Their streams.
    pub streams: Vec<StreamRow>,
    /// DATA chunks, one row per transmission; only with [`crate::rows::Tables::chunks`].
    pub chunks: Vec<ChunkRow>,
    /// SACKs; only with [`crate::rows::Tables::chunks`].
    pub sacks: Vec<SctpSackRow>,
    /// Retransmissions of DATA chunks.
    pub retransmissions: Vec<SctpRetransmissionRow>,
    /// Retransmissions of control chunks.
    pub controls: Vec<ControlRow>,
    /// RTT samples; only with [`crate::rows::Tables::rtt`].
    pub rtt: Vec<SctpRttRow>,
    /// What limits did.
    pub limits: Counts,
    /// Bytes of the lists of [`Self::sacks`].
    pub(crate) lists: u64,
}

impl SctpRows {
    /// About their bytes.
    pub(crate) fn bytes(&self) -> u64 {
        let Self { associations, paths, streams, chunks, sacks, retransmissions, controls, rtt, .. } = self;
        let large = bytes(associations) + bytes(chunks) + bytes(retransmissions) + bytes(paths);
        large + bytes(streams) + bytes(sacks) + self.lists + bytes(controls) + bytes(rtt)
    }
}

/// An SCTP association.
#[derive(Clone, Debug, PartialEq)]
pub struct AssociationRow {
    /// Its number in the capture, from 1, in the order of first packets; counted apart from TCP connections.
    pub association: u32,
    /// Number of the interface in the capture.
    pub interface: u32,
    /// Time of its first packet.
    pub start: Instant,
    /// Time of its last packet.
    pub end: Instant,
    /// Packets of both sides, copies included.
    pub packets: u64,
    /// What was seen of its opening and its end.
    pub handshake: SctpHandshake,
    /// Share of the round-trip time between the place of the capture and the client, 0 at the client and 1 at the
    /// server; `None` where the packets do not tell.
    pub client_share: Option<f64>,
    /// The side that opened it; where no opening was seen, the sender of the first packet.
    pub client: SctpSideRow,
    /// The other one.
    pub server: SctpSideRow,
}

/// What was seen of an association's opening and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SctpHandshake {
    /// An INIT was seen.
    pub init: bool,
    /// An INIT-ACK was seen.
    pub init_ack: bool,
    /// A COOKIE-ECHO was seen.
    pub cookie_echo: bool,
    /// A COOKIE-ACK was seen.
    pub cookie_ack: bool,
    /// A SHUTDOWN was seen.
    pub shutdown: bool,
    /// A SHUTDOWN-COMPLETE was seen.
    pub shutdown_complete: bool,
    /// An ABORT was seen.
    pub abort: bool,
    /// From INIT to INIT-ACK, neither sent twice: to the server and back.
    pub init_rtt: Option<u64>,
    /// From INIT-ACK to COOKIE-ECHO, neither sent twice: to the client and back.
    pub client_rtt: Option<u64>,
    /// From COOKIE-ECHO to COOKIE-ACK, neither sent twice: to the server and back.
    pub cookie_rtt: Option<u64>,
}

/// One side of an association: what it sent, and how that was acknowledged.
#[derive(Clone, Debug, PartialEq)]
pub struct SctpSideRow {
    /// Its address and port in the first packet.
    pub address: SocketAddr,
    /// All its addresses, those of its INIT or INIT-ACK and those seen; the first one included.
    pub addresses: Vec<IpAddr>,
    /// The verification tag of packets to it; `None` where none was seen.
    pub tag: Option<u32>,
    /// Its initial TSN, or the first TSN seen of it, as sent.
    pub initial_tsn: Option<u32>,
    /// True if the initial TSN comes from its INIT or INIT-ACK.
    pub initial_tsn_known: bool,
    /// Streams that it asked to send on, as its INIT or INIT-ACK says.
    pub outbound_streams: Option<u16>,
    /// Streams that it accepts.
    pub inbound_streams: Option<u16>,
    /// It offered I-DATA (RFC 8260).
    pub interleaving: bool,
    /// It offered FORWARD-TSN (RFC 3758).
    pub partial_reliability: bool,
    /// Packets that it sent, copies not counted.
    pub packets: u64,
    /// Packets with DATA or I-DATA.
    pub data_packets: u64,
    /// DATA and I-DATA chunks, retransmissions included.
    pub chunks: u64,
    /// Chunks, each TSN counted once.
    pub unique_chunks: u64,
    /// Messages: chunks with the end bit, each counted once.
    pub messages: u64,
    /// Bytes of user data, retransmissions included.
    pub bytes: u64,
    /// Bytes of user data, each TSN counted once.
    pub unique_bytes: u64,
    /// Chunks sent again.
    pub retransmitted_chunks: u64,
    /// Bytes of user data sent again.
    pub retransmitted_bytes: u64,
    /// Chunks that were overtaken on their way here.
    pub reordered_chunks: u64,
    /// The same packet again: duplicated by the network, or captured at two ports.
    pub copies: u64,
    /// Packets whose CRC32c is wrong although the capture also holds right ones of this side.
    pub damaged: u64,
    /// Packets that the capture cut through, so that chunks may be missing.
    pub cut: u64,
    /// TSNs that the other side acknowledged and this capture does not hold.
    pub unseen_chunks: u64,
    /// TSNs that it gave up by FORWARD-TSN.
    pub abandoned_chunks: u64,
    /// Time of its first DATA.
    pub first_data: Option<Instant>,
    /// Time of its last DATA.
    pub last_data: Option<Instant>,
    /// Time at which its data were last acknowledged further.
    pub last_acked: Option<Instant>,
    /// Bytes of user data that were acknowledged, by the cumulative TSN at the end.
    pub acked_bytes: u64,
    /// Acknowledged bytes over the time from the first DATA to the last acknowledgment, bit/s; `None` for no data.
    pub goodput: Option<f64>,
    /// All bytes of user data over the time from the first to the last packet with DATA, bit/s.
    pub throughput: Option<f64>,
    /// Most bytes outstanding.
    pub max_outstanding: u64,
    /// Retransmissions of its DATA chunks by cause.
    pub causes: CauseCounts,
    /// Retransmissions that were spurious or unnecessary.
    pub not_needed: u64,
    /// Control chunks that it sent again.
    pub control_retransmissions: u64,
    /// HEARTBEATs that it sent.
    pub heartbeats: u64,
    /// HEARTBEAT-ACKs that it sent.
    pub heartbeat_acks: u64,
    /// SACKs that it sent.
    pub sacks: u64,
    /// SACKs with gap blocks.
    pub gap_sacks: u64,
    /// Duplicate TSNs that its SACKs report.
    pub duplicate_tsns: u64,
    /// SACKs that took back a gap block that an earlier one had reported (RFC 9260 section 6.2.1).
    pub reneged: u64,
    /// Smallest window that it advertised, bytes.
    pub min_window: Option<u32>,
    /// Largest window that it advertised, bytes.
    pub max_window: Option<u32>,
    /// Times at which it closed its window.
    pub zero_windows: u64,
    /// Time for which its window was closed.
    pub zero_window_time: u64,
    /// Delay between a single packet of DATA in order and its SACK for it, as seen here: the SACK timer, where the
    /// capture is at this side.
    pub sack_delay: Spread,
    /// Packets with DATA of the other side for each SACK.
    pub packets_per_sack: Option<f64>,
    /// RTT samples of its DATA: TSNs sent once.
    pub rtt: Spread,
    /// RTT samples of its HEARTBEATs.
    pub rtt_heartbeat: Spread,
}

/// Retransmissions of DATA chunks by their cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CauseCounts {
    /// [`SctpCause::Fast`].
    pub fast: u64,
    /// [`SctpCause::FastAgain`].
    pub fast_again: u64,
    /// [`SctpCause::Timeout`].
    pub timeout: u64,
    /// [`SctpCause::AfterTimeout`].
    pub after_timeout: u64,
    /// [`SctpCause::BundledMissing`].
    pub bundled_missing: u64,
    /// [`SctpCause::BundledInFlight`].
    pub bundled_in_flight: u64,
    /// [`SctpCause::WithNew`].
    pub with_new: u64,
    /// [`SctpCause::WithCookie`].
    pub with_cookie: u64,
    /// [`SctpCause::WindowProbe`].
    pub window_probe: u64,
    /// [`SctpCause::Unknown`].
    pub unknown: u64,
}

/// What went from one address to another.
#[derive(Clone, Debug, PartialEq)]
pub struct PathRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent it.
    pub side: SideName,
    /// From.
    pub src: IpAddr,
    /// To.
    pub dst: IpAddr,
    /// Time of the first packet.
    pub start: Instant,
    /// Time of the last packet.
    pub end: Instant,
    /// Packets, copies not counted.
    pub packets: u64,
    /// DATA chunks, retransmissions included.
    pub chunks: u64,
    /// Bytes of user data, retransmissions included.
    pub bytes: u64,
    /// DATA chunks sent again on this path, whatever path they took before.
    pub retransmitted_chunks: u64,
    /// Bytes of them.
    pub retransmitted_bytes: u64,
    /// Of these, chunks that had taken another path before.
    pub moved_chunks: u64,
    /// Timeouts of DATA on this path: retransmissions that were judged to be caused by T3 of chunks sent here.
    pub timeouts: u64,
    /// HEARTBEATs.
    pub heartbeats: u64,
    /// HEARTBEATs that were answered.
    pub heartbeats_answered: u64,
    /// RTT samples of DATA on this path.
    pub rtt: Spread,
    /// RTT samples of HEARTBEATs.
    pub rtt_heartbeat: Spread,
}

/// A stream of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StreamRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent on it.
    pub side: SideName,
    /// Stream identifier.
    pub stream: u16,
    /// DATA chunks, retransmissions included.
    pub chunks: u64,
    /// DATA chunks, each TSN counted once.
    pub unique_chunks: u64,
    /// Messages: chunks with the end bit, each counted once.
    pub messages: u64,
    /// Of these, unordered ones.
    pub unordered: u64,
    /// Bytes of user data, each TSN counted once.
    pub unique_bytes: u64,
}

/// A transmission of a DATA or I-DATA chunk.
#[derive(Clone, Debug, PartialEq)]
pub struct ChunkRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent it.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// From.
    pub src: IpAddr,
    /// To.
    pub dst: IpAddr,
    /// TSN, relative.
    pub tsn: i64,
    /// Stream identifier.
    pub stream: u16,
    /// Stream sequence number of DATA, message identifier of I-DATA.
    pub message: u32,
    /// It begins a message.
    pub begin: bool,
    /// It ends a message.
    pub end: bool,
    /// It is delivered without order.
    pub unordered: bool,
    /// It is I-DATA.
    pub interleaved: bool,
    /// Bytes of user data.
    pub len: u32,
    /// What it is: New, Retransmission, Reordered, Copy or Probe.
    pub kind: Kind,
    /// How often this TSN has been sent, this time included; copies take the number of what they copy.
    pub transmission: u32,
    /// Bytes that its side has sent and that are not acknowledged, after this packet.
    pub outstanding: u64,
}

/// A SACK. TSNs are relative to the initial one of the side whose DATA it acknowledges.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SctpSackRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent it.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// Cumulative TSN; -1 where nothing has arrived.
    pub cumulative: i64,
    /// Gap ack blocks in its order, from the first to the last TSN.
    pub gaps: Box<[TsnBlock]>,
    /// TSNs that arrived again.
    pub duplicates: Box<[i64]>,
    /// Window that it advertises, bytes.
    pub window: u32,
}

/// TSNs from `first` to `last`, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TsnBlock {
    /// The first.
    pub first: i64,
    /// The last.
    pub last: i64,
}

/// The classes of sctp_trace (pedersen-2006 section 3.2 and appendix B.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TraceClass {
    /// "Retr Timeout": the first retransmitted chunk of its packet, with fewer reports than the threshold.
    Timeout,
    /// "Fast Retransmit".
    Fast,
    /// "B: Reported missing": a further chunk of a timeout's packet, with reports.
    BundledMissing,
    /// "B: In flight": a further chunk of a timeout's packet, without.
    BundledInFlight,
}

/// What proves that a retransmission was not needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SctpProof {
    /// Nothing does.
    None,
    /// A SACK reports its TSN as duplicate.
    DuplicateTsn,
    /// Its acknowledgment came sooner than the retransmission could have caused it.
    EarlyAck,
    /// An acknowledgment of it had been seen before it was sent.
    AckBefore,
}

/// What a judgement rests on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SctpEvidence {
    /// SACKs whose gap blocks lie above it that the sender had seen since it was last sent.
    pub reports: u32,
    /// Of these, those that acknowledged something above it for the first time (RFC 9260 section 7.2.4, HTNA).
    pub strikes: u32,
    /// Bytes outstanding when it was sent, this chunk counted once.
    pub outstanding: u64,
    /// Time since the sender last saw a SACK; `None` if it saw none.
    pub since_sack: Option<u64>,
    /// Time since T3 was started last, as far as the packets tell.
    pub since_timer: Option<u64>,
    /// The retransmission timeout as the packets let one estimate it at that time, before any doubling, with the
    /// lower bound of RFC 9260 (1 s) or what this sender was seen to use; `None` without an RTT sample.
    pub rto: Option<u64>,
    /// Expiries in a row, this one included; zero where no timer did it.
    pub backoff: u32,
    /// Time from the place of the capture to the sender and back that was taken; `None` where it is not known.
    pub sender_loop: Option<u64>,
    /// The window that the other side had last advertised, bytes.
    pub window: Option<u32>,
}

/// A retransmission of a DATA chunk, and what was judged of it.
#[derive(Clone, Debug, PartialEq)]
pub struct SctpRetransmissionRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent it.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// From.
    pub src: IpAddr,
    /// To.
    pub dst: IpAddr,
    /// TSN, relative.
    pub tsn: i64,
    /// Stream identifier.
    pub stream: u16,
    /// Bytes of user data.
    pub len: u32,
    /// Its place among the retransmitted chunks of its packet, from 0.
    pub position: u32,
    /// Number of the retransmission of this TSN, from 1; one whose first transmission was not seen is counted all the
    /// same.
    pub retransmission: u32,
    /// Number of the packet that first carried it; `None` if it was not seen here.
    pub first_number: Option<u64>,
    /// Time since that: the cumulative delay of pedersen-2006.
    pub delay_first: Option<u64>,
    /// Time since the transmission before: the consecutive delay.
    pub delay_previous: Option<u64>,
    /// What sctp_trace calls it.
    pub class: TraceClass,
    /// The missing reports that sctp_trace counts.
    pub class_reports: u32,
    /// What made the sender send it.
    pub cause: SctpCause,
    /// How sure that is.
    pub confidence: Confidence,
    /// Where it is certain: what excludes other causes.
    pub certain: Option<Certain>,
    /// Whether it was needed.
    pub need: Need,
    /// What proves that it was not.
    pub proof: SctpProof,
    /// It took another path than the transmission before.
    pub moved: bool,
    /// What the cause rests on.
    pub evidence: SctpEvidence,
}

/// A control chunk that may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Control {
    /// INIT, by T1-init.
    Init,
    /// INIT-ACK, because the INIT came again.
    InitAck,
    /// COOKIE-ECHO, by T1-cookie.
    CookieEcho,
    /// COOKIE-ACK, because the COOKIE-ECHO came again.
    CookieAck,
    /// HEARTBEAT on a path whose last one was not answered.
    Heartbeat,
    /// SHUTDOWN, by T2-shutdown.
    Shutdown,
    /// SHUTDOWN-ACK, by T2-shutdown.
    ShutdownAck,
    /// SHUTDOWN-COMPLETE, because the SHUTDOWN-ACK came again.
    ShutdownComplete,
}

/// A control chunk that was sent again.
#[derive(Clone, Debug, PartialEq)]
pub struct ControlRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent it.
    pub side: SideName,
    /// Number of the packet in the capture.
    pub number: u64,
    /// When it was seen.
    pub time: Instant,
    /// From.
    pub src: IpAddr,
    /// To.
    pub dst: IpAddr,
    /// Which chunk.
    pub chunk: Control,
    /// Number of the retransmission, from 1.
    pub retransmission: u32,
    /// Time since the first transmission.
    pub delay_first: u64,
    /// Time since the transmission before.
    pub delay_previous: u64,
}

/// How an RTT sample of SCTP was taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SctpMethod {
    /// INIT to INIT-ACK, INIT-ACK to COOKIE-ECHO or COOKIE-ECHO to COOKIE-ACK, none of them sent twice.
    Handshake,
    /// The highest TSN that a SACK acknowledges for the first time, sent once.
    Sack,
    /// HEARTBEAT to its HEARTBEAT-ACK.
    Heartbeat,
}

/// A sample of the round-trip time between the place of the capture and the receiver of the chunk, and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SctpRttRow {
    /// Number of the association.
    pub association: u32,
    /// Who sent the chunk.
    pub side: SideName,
    /// Number of the packet that ends it.
    pub number: u64,
    /// When it ended.
    pub time: Instant,
    /// Its length.
    pub rtt: u64,
    /// How it was taken.
    pub method: SctpMethod,
    /// Where the chunk went.
    pub dst: IpAddr,
    /// The timed TSN, relative; `None` for control chunks.
    pub tsn: Option<i64>,
}

impl TraceClass {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeout => "timeout",
            Self::Fast => "fast",
            Self::BundledMissing => "bundled-reported-missing",
            Self::BundledInFlight => "bundled-in-flight",
        }
    }
}

impl Control {
    /// Its name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Init => "init",
            Self::InitAck => "init-ack",
            Self::CookieEcho => "cookie-echo",
            Self::CookieAck => "cookie-ack",
            Self::Heartbeat => "heartbeat",
            Self::Shutdown => "shutdown",
            Self::ShutdownAck => "shutdown-ack",
            Self::ShutdownComplete => "shutdown-complete",
        }
    }
}

impl CauseCounts {
    /// The count of a cause.
    pub fn get(&self, cause: SctpCause) -> u64 {
        let mut copy = *self;
        *copy.of(cause)
    }

    pub(crate) fn add(&mut self, cause: SctpCause) {
        *self.of(cause) += 1;
    }

    fn of(&mut self, cause: SctpCause) -> &mut u64 {
        match cause {
            SctpCause::Fast => &mut self.fast,
            SctpCause::FastAgain => &mut self.fast_again,
            SctpCause::Timeout => &mut self.timeout,
            SctpCause::AfterTimeout => &mut self.after_timeout,
            SctpCause::BundledMissing => &mut self.bundled_missing,
            SctpCause::BundledInFlight => &mut self.bundled_in_flight,
            SctpCause::WithNew => &mut self.with_new,
            SctpCause::WithCookie => &mut self.with_cookie,
            SctpCause::WindowProbe => &mut self.window_probe,
            SctpCause::Unknown => &mut self.unknown,
        }
    }
}
