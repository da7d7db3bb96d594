//! A TCP connection in one row.

use std::net::SocketAddr;

use rexmit_units::Instant;

use crate::core::held::HeldTimes;
use crate::core::spread::Spread;

/// Where a capture seems to have been made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Vantage {
    /// Share of the round-trip time between the place of the capture and the client, 0 at the client and 1 at the
    /// server; `None` where the packets do not tell.
    pub client_share: Option<f64>,
}

/// A TCP connection.
#[derive(Clone, Debug, PartialEq)]
pub struct ConnectionRow {
    /// Its number in the capture, from 1, in the order of first packets.
    pub connection: u32,
    /// Number of the interface in the capture.
    pub interface: u32,
    /// Time of its first packet.
    pub start: Instant,
    /// Time of its last packet.
    pub end: Instant,
    /// Packets of both sides, copies included.
    pub packets: u64,
    /// What was seen of its opening and its end.
    pub handshake: Handshake,
    /// Where the capture seems to have been made.
    pub vantage: Vantage,
    /// The side that opened it.
    pub client: SideRow,
    /// The other one.
    pub server: SideRow,
}

/// What was seen of a connection's opening and end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Handshake {
    /// A SYN was seen.
    pub syn: bool,
    /// A SYN-ACK was seen.
    pub syn_ack: bool,
    /// FINs seen: 0, 1 or 2 sides.
    pub fins: u8,
    /// A RST was seen.
    pub reset: bool,
    /// Nanoseconds from SYN to SYN-ACK, neither sent twice.
    pub server_rtt: Option<u64>,
    /// Nanoseconds from SYN-ACK to the client's ACK, neither sent twice.
    pub client_rtt: Option<u64>,
}

/// What a side's SYN offered; a capability is in force where both offered it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    /// Its SYN was seen; if not, what stands here is what its packets show.
    pub syn: bool,
    /// Maximum segment size, bytes.
    pub mss: Option<u16>,
    /// Window scale, a shift count; more than 14 counts as 14 (RFC 7323 section 2.3).
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub sack_permitted: bool,
    /// Timestamps; without a SYN, whether its packets carry them.
    pub timestamps: bool,
    /// ECN asked for or granted (RFC 3168 section 6.1.1).
    pub ecn: bool,
}

impl Capabilities {
    /// Bytes of a header that timestamps take (RFC 7323 appendix A).
    pub(crate) const TIMESTAMPS: u32 = 12;

    /// Bytes of data in a full segment to the side that offered these, from one that offered `sender`; `None` where no
    /// SYN tells the MSS.
    pub(crate) fn segment_from(&self, sender: &Self) -> Option<u32> {
        let options = if self.timestamps && sender.timestamps { Self::TIMESTAMPS } else { 0 };
        self.mss.map(|mss| u32::from(mss).saturating_sub(options).max(1))
    }
}

/// One side of a connection: what it sent, and how that was acknowledged.
#[derive(Clone, Debug, PartialEq)]
pub struct SideRow {
    /// Its address and port.
    pub address: SocketAddr,
    /// What its SYN offered.
    pub offered: Capabilities,
    /// Packets that it sent, copies not counted, damaged ones counted.
    pub packets: u64,
    /// Of these, packets without data, SYN, FIN and RST.
    pub pure_acks: u64,
    /// Packets with data, retransmissions included; a super-packet counts as one.
    pub data_packets: u64,
    /// The same with each super-packet (of segmentation or receive offload, longer than the MSS) counted as the
    /// packets of one MSS that it is on the wire. Without a SYN the MSS is taken for 1460.
    pub wire_data_packets: u64,
    /// Bytes of data, retransmissions included. SYN and FIN are not data.
    pub bytes: u64,
    /// Bytes of data that this capture holds, each counted once.
    pub unique_bytes: u64,
    /// Packets with data that were retransmissions.
    pub retransmitted_packets: u64,
    /// Bytes of data sent again: of a retransmission that brings new bytes too, the old ones; and those whose first
    /// transmission was lost before it came here, which are among `unique_bytes` as well.
    pub retransmitted_bytes: u64,
    /// Packets that were overtaken on their way here.
    pub reordered_packets: u64,
    /// The same packet again: duplicated by the network, or captured at two ports.
    pub copies: u64,
    /// Packets that were damaged on the path.
    pub damaged: u64,
    /// Bytes that the other side acknowledged and this capture does not hold: it has gaps, or began late.
    pub unseen_bytes: u64,
    /// Time of its first packet with data.
    pub first_data: Option<Instant>,
    /// Time of its last packet with data.
    pub last_data: Option<Instant>,
    /// Time at which its data was last acknowledged further.
    pub last_acked: Option<Instant>,
    /// Bytes acknowledged cumulatively, SYN and FIN not counted: delivered for sure. Of a capture that begins late,
    /// those since its first packet.
    pub acked_bytes: u64,
    /// Acknowledged bytes over the time from the first data to the last acknowledgment that moved forward, bit/s;
    /// `None` without data or without acknowledgments.
    pub goodput: Option<f64>,
    /// All bytes of data over the time from the first to the last packet with data, bit/s.
    pub throughput: Option<f64>,
    /// New bytes sent before its first acknowledgment of data could reach it: the initial window as used. Where the
    /// capture is not at this side, what passes here up to a loop time (from here to this side and back, by the
    /// handshake) after the acknowledgment. This and all on outstanding data is 0 or `None` in a capture of one
    /// direction, which does not tell.
    pub initial_window: u64,
    /// Most bytes outstanding: sent as seen here, and acknowledged neither cumulatively nor by SACK. (tcptrace's
    /// outstanding window takes no notice of SACK.)
    pub max_outstanding: u64,
    /// Time average of these bytes over the time in which there were any. (tcptrace's average takes in the time in
    /// which there were none.)
    pub mean_outstanding: Option<f64>,
    /// F_avg of klaver-2005 chapter 4, (4.8): mean number of segments outstanding right after the sending of each
    /// segment that gives a sample for [`rtt`](Self::rtt), this segment included. Super-packets count as segments of
    /// one MSS, and data reported by SACK are not outstanding.
    pub f_avg: Option<f64>,
    /// Smallest window that it advertised after the handshake, bytes; a closed one is 0 (tcptrace leaves those out).
    /// Windows of RSTs count nowhere.
    pub min_window: Option<u64>,
    /// Largest window that it advertised, the handshake's included, bytes.
    pub max_window: Option<u64>,
    /// Times at which it closed its window.
    pub zero_windows: u64,
    /// Nanoseconds for which its window was closed, up to the end of the connection where it never opened again.
    pub zero_window_time: u64,
    /// Nanoseconds for which the other side's window, not this side's own will, may have held it back: less than one
    /// MSS was left of it, with data outstanding or the window closed.
    pub window_limited_time: u64,
    /// Duplicate acknowledgments that it sent, as RFC 5681 section 2 has them: data outstanding, no data, SYN or FIN,
    /// same number and same window as the one before. (tcptrace counts repetitions of the number.)
    pub duplicate_acks: u64,
    /// Acknowledgments with SACK blocks that it sent.
    pub sack_acks: u64,
    /// Duplicate SACK blocks that it sent.
    pub dsacks: u64,
    /// Data packets of the other side (on the wire) for each acknowledgment that moved forward.
    pub packets_per_ack: Option<f64>,
    /// Times after which it acknowledged a single packet in order, nanoseconds, as seen here: the way to this side and
    /// back is part of them.
    pub ack_delay: Spread,
    /// Estimate of its delayed-ACK timer, nanoseconds: the longest of these, where the capture is at this side (its
    /// quickest answer took less than 2 ms) and it kept any acknowledgment for 5 ms or more.
    pub ack_timer: Option<u64>,
    /// Periods of more than one retransmission timeout (estimated, at least 1 s) in which it had nothing outstanding
    /// and sent no data, and then sent more. Neither what comes before its first data nor the time for which the other
    /// side's window was closed is one.
    pub idle_periods: u64,
    /// Their length together, nanoseconds.
    pub idle_time: u64,
    /// RTT samples of its data by acknowledgments that are unambiguous ([`super::Method::Ack`]), from here to the other
    /// side and back. SYN and a FIN without data give none here. Percentiles of this and the other distributions are
    /// by nearest rank, exact up to 2048 samples and within 0.4 % beyond.
    pub rtt: Spread,
    /// By timestamps ([`super::Method::Timestamp`]).
    pub rtt_timestamps: Spread,
    /// By SACK ([`super::Method::Sack`]).
    pub rtt_sack: Spread,
    /// Acknowledgments that moved forward and gave no sample because the newest segment that they cover was sent
    /// twice: tcptrace's ambiguous ACKs.
    pub ambiguous_retransmitted: u64,
    /// Acknowledgments that moved forward and gave no sample because data before the newest segment had been missing:
    /// they were sent after it (tcptrace's post-loss ACKs), did not pass here, or arrived late. Only what the same
    /// acknowledgment covers counts; tcptrace also drops samples when data that were sent again had been acknowledged
    /// before.
    pub ambiguous_missing: u64,
    /// Loss events.
    pub loss_events: u64,
    /// Segments with data judged lost: retransmissions that were needed, in packets on the wire. What was lost and
    /// never sent again, or not answered before the end, is not among them.
    pub lost_segments: u64,
    /// Lost segments for each data packet on the wire.
    pub loss_rate: Option<f64>,
    /// Loss events for each data packet on the wire: p of klaver-2005 (3.1).
    pub loss_event_rate: Option<f64>,
    /// Times at which the receiver took back what it had reported by SACK (RFC 2018 section 8).
    pub reneged: u64,
    /// What held it back between its first and its last packet with data, and for how long.
    pub held: HeldTimes,
}

impl SideRow {
    pub(crate) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            offered: Capabilities::default(),
            packets: 0,
            pure_acks: 0,
            data_packets: 0,
            wire_data_packets: 0,
            bytes: 0,
            unique_bytes: 0,
            retransmitted_packets: 0,
            retransmitted_bytes: 0,
            reordered_packets: 0,
            copies: 0,
            damaged: 0,
            unseen_bytes: 0,
            first_data: None,
            last_data: None,
            last_acked: None,
            acked_bytes: 0,
            goodput: None,
            throughput: None,
            initial_window: 0,
            max_outstanding: 0,
            mean_outstanding: None,
            f_avg: None,
            min_window: None,
            max_window: None,
            zero_windows: 0,
            zero_window_time: 0,
            window_limited_time: 0,
            duplicate_acks: 0,
            sack_acks: 0,
            dsacks: 0,
            packets_per_ack: None,
            ack_delay: Spread::default(),
            ack_timer: None,
            idle_periods: 0,
            idle_time: 0,
            rtt: Spread::default(),
            rtt_timestamps: Spread::default(),
            rtt_sack: Spread::default(),
            ambiguous_retransmitted: 0,
            ambiguous_missing: 0,
            loss_events: 0,
            lost_segments: 0,
            loss_rate: None,
            loss_event_rate: None,
            reneged: 0,
            held: HeldTimes::default(),
        }
    }
}
