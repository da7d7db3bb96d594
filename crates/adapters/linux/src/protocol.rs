//! What a guest and the process of a run tell each other: frames of a length and a message.
//!
//! The process asks and the guest answers, one message each. A frame is its length, 32 bits with the least significant byte
//! first, and so many bytes, a [`Request`] or an [`Answer`] in postcard's form. Before each answer stands [`MARK`], so that it
//! is told from what the guest's kernel prints.
//!
//! Times are nanoseconds of the run.

use std::net::{IpAddr, SocketAddr};

use rexmit_stack::{Cached, Delivery, Event, HeldBack, Snapshot, ToldCounters};
use rexmit_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

/// What each answer begins with: ASCII's record separator, which no kernel prints.
pub const MARK: u8 = 0x1e;

/// The longest frame: what a guest sends at one instant is far less.
pub const LONGEST: u32 = 1 << 28;

/// What a guest is asked for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Make the host of a run.
    Begin(Box<Begin>),
    /// Go to a time and act.
    Step(Step),
    /// Tell the state of this end.
    Look(u32),
    /// Forget the run.
    End,
}

/// A host of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Begin {
    /// Its name in the scenario.
    pub name: String,
    /// The scenario's table of it, as JSON.
    pub table: String,
    /// Its address.
    pub address: IpAddr,
    /// That of the other host, where there is one alone.
    pub peer: Option<IpAddr>,
    /// `tcp` or `sctp`.
    pub protocol: String,
    /// How far into the round of the kernel's wheel of timers the run starts, as a share of 2^64.
    pub phase: u64,
    /// The same in nanoseconds, where the scenario says it.
    pub phase_ns: Option<u64>,
    /// Seed of the kernel's random numbers.
    pub seed: u64,
}

/// Go to `now` and do these one after another.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Step {
    /// The time.
    pub now: u64,
    /// Timers that are due at `now` expire before the acts, not after them.
    pub timers_first: bool,
    /// What to do.
    pub acts: Vec<Act>,
}

/// What happens to a host from outside its kernel.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Act {
    /// A connection's end is made.
    Open(Opening),
    /// A packet arrives.
    Packet(Bytes),
    /// An end's application connects.
    Connect(u32),
    /// It writes so many bytes.
    Write(u32, u64, How),
    /// It reads up to so many bytes: of a stream, all at once; of messages, of the next one.
    Read(u32, u64),
    /// It closes.
    Close(u32),
    /// It resets.
    Abort(u32),
}

/// What an end is made from.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opening {
    /// Its number.
    pub end: u32,
    /// Its address.
    pub local: SocketAddr,
    /// The peer's.
    pub remote: SocketAddr,
    /// It connects; otherwise it waits.
    pub active: bool,
    /// Streams that it uses, of SCTP.
    pub streams: u16,
    /// A [`SocketWish`](rexmit_stack::SocketWish) as JSON, or nothing.
    pub wish: String,
}

/// [`Delivery`] as it travels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct How {
    stream: u16,
    unordered: bool,
    lifetime_ns: Option<u64>,
    max_retransmits: Option<u32>,
}

impl From<Delivery> for How {
    fn from(how: Delivery) -> Self {
        Self {
            stream: how.stream,
            unordered: how.unordered,
            lifetime_ns: how.lifetime.map(Duration::as_nanos),
            max_retransmits: how.max_retransmits,
        }
    }
}

impl From<How> for Delivery {
    fn from(how: How) -> Self {
        Self {
            stream: how.stream,
            unordered: how.unordered,
            lifetime: how.lifetime_ns.map(Duration::from_nanos),
            max_retransmits: how.max_retransmits,
            datagram: false,
        }
    }
}

/// A packet, or several: bytes that travel as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl Serialize for Bytes {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Bytes {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl serde::de::Visitor<'_> for Visitor {
            type Value = Bytes;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("bytes")
            }

            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Bytes, E> {
                Ok(Bytes(bytes.to_vec()))
            }

            fn visit_byte_buf<E>(self, bytes: Vec<u8>) -> Result<Bytes, E> {
                Ok(Bytes(bytes))
            }
        }
        from.deserialize_byte_buf(Visitor)
    }
}

/// What a guest answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Answer {
    /// The host is there.
    Ready,
    /// The step is done.
    Stepped(Stepped),
    /// The state of an end, if it has a connection.
    Looked(Option<Box<Looked>>),
    /// The run is forgotten.
    Ended,
    /// It cannot be.
    Wrong(String),
}

/// What came of a step.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Stepped {
    /// When the kernel's first timer is due.
    pub next: Option<u64>,
    /// By each act that writes or reads, how many bytes.
    pub counts: Vec<u64>,
    /// Where the bytes of the last read began in what the peer's application wrote, where they need not follow those
    /// before.
    pub read_at: Option<u64>,
    /// The packets that the host sent, one behind the other.
    pub packets: Bytes,
    /// How long each of them is.
    pub lengths: Vec<u32>,
    /// Ends to which something happened.
    pub ends: Vec<News>,
    /// What the host's kernel has counted since the start.
    pub counted: Counted,
    /// What went wrong in a socket, which ends the run.
    pub failure: Option<String>,
}

/// What an application should know.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct News {
    /// Whose.
    pub end: u32,
    /// What happened, in order, by the numbers of [`EVENTS`].
    pub events: Vec<u8>,
    /// Bytes in order that wait for a read; of messages, those of the next one.
    pub readable: u64,
    /// Bytes that it has read and that were not those written at their place.
    pub misplaced: u64,
}

/// Events by their numbers.
pub const EVENTS: [Event; 7] = [
    Event::Connected,
    Event::Writable,
    Event::Readable,
    Event::EndOfStream,
    Event::Closed,
    Event::Reset,
    Event::TimedOut,
];

/// Counters of a host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counted {
    /// Data sent again, of TCP.
    pub retransmits: u64,
    /// Expiries of retransmission timers, those of handshakes included.
    pub timeouts: u64,
    /// Of SCTP, those of them that were of handshakes and shutdowns.
    pub control_timeouts: u64,
    /// Entries into fast recovery; of SCTP, fast retransmits.
    pub fast_retransmits: u64,
}

impl Counted {
    /// What was counted since an earlier look.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            retransmits: self.retransmits - before.retransmits,
            timeouts: self.timeouts - before.timeouts,
            control_timeouts: self.control_timeouts - before.control_timeouts,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
        }
    }
}

/// [`Snapshot`] as it travels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    state: String,
    phase: String,
    cwnd: u64,
    ssthresh: Option<u64>,
    in_flight: Option<u64>,
    snd_wnd: u64,
    send_queue: u64,
    recv_queue: Option<u64>,
    srtt: Option<u64>,
    rttvar: Option<u64>,
    rto: Option<u64>,
    rexmt_due: Option<u64>,
    data_segments: u64,
    retransmits: u64,
    packets: u64,
    busy: Option<u64>,
    receive_window: Option<u64>,
    send_buffer: Option<u64>,
}

/// Every name of a state and of a phase that a guest tells.
const NAMES: [&str; 23] = [
    "ESTABLISHED",
    "SYN-SENT",
    "SYN-RECEIVED",
    "FIN-WAIT-1",
    "FIN-WAIT-2",
    "TIME-WAIT",
    "CLOSED",
    "CLOSE-WAIT",
    "LAST-ACK",
    "LISTEN",
    "CLOSING",
    "COOKIE-WAIT",
    "COOKIE-ECHOED",
    "SHUTDOWN-PENDING",
    "SHUTDOWN-SENT",
    "SHUTDOWN-RECEIVED",
    "SHUTDOWN-ACK-SENT",
    "unknown",
    "open",
    "disorder",
    "cwr",
    "recovery",
    "loss",
];

impl From<&Snapshot> for Looked {
    fn from(told: &Snapshot) -> Self {
        Self {
            state: told.state.into(),
            phase: told.phase.into(),
            cwnd: told.cwnd,
            ssthresh: told.ssthresh,
            in_flight: told.in_flight,
            snd_wnd: told.snd_wnd,
            send_queue: told.send_queue,
            recv_queue: told.recv_queue,
            srtt: told.srtt.map(Duration::as_nanos),
            rttvar: told.rttvar.map(Duration::as_nanos),
            rto: told.rto.map(Duration::as_nanos),
            rexmt_due: told.rexmt_due.map(Instant::as_nanos),
            data_segments: told.counters.data_segments,
            retransmits: told.counters.retransmits,
            packets: told.counters.packets,
            busy: told.held.busy.map(Duration::as_nanos),
            receive_window: told.held.receive_window.map(Duration::as_nanos),
            send_buffer: told.held.send_buffer.map(Duration::as_nanos),
        }
    }
}

impl From<&Looked> for Snapshot {
    fn from(told: &Looked) -> Self {
        let name = |text: &str| NAMES.into_iter().find(|known| *known == text).unwrap_or("UNKNOWN");
        Self {
            state: name(&told.state),
            phase: name(&told.phase),
            cwnd: told.cwnd,
            ssthresh: told.ssthresh,
            in_flight: told.in_flight,
            snd_wnd: told.snd_wnd,
            send_queue: told.send_queue,
            recv_queue: told.recv_queue,
            srtt: told.srtt.map(Duration::from_nanos),
            rttvar: told.rttvar.map(Duration::from_nanos),
            rto: told.rto.map(Duration::from_nanos),
            rexmt_due: told.rexmt_due.map(Instant::from_nanos),
            counters: ToldCounters {
                data_segments: told.data_segments,
                retransmits: told.retransmits,
                packets: told.packets,
                ..ToldCounters::default()
            },
            cached: Cached::default(),
            held: HeldBack {
                by: None,
                busy: told.busy.map(Duration::from_nanos),
                receive_window: told.receive_window.map(Duration::from_nanos),
                send_buffer: told.send_buffer.map(Duration::from_nanos),
            },
        }
    }
}

/// A message as the bytes of a frame, its length before it.
///
/// # Errors
/// Never for the types above.
pub fn frame(message: &impl Serialize) -> Result<Vec<u8>, postcard::Error> {
    let mut bytes = postcard::to_extend(message, vec![0; 4])?;
    let len = (bytes.len() - 4) as u32;
    bytes[..4].copy_from_slice(&len.to_le_bytes());
    Ok(bytes)
}

/// A message of the bytes of a frame, without its length.
///
/// # Errors
/// Bytes that are none.
pub fn message<'a, T: Deserialize<'a>>(bytes: &'a [u8]) -> Result<T, postcard::Error> {
    postcard::from_bytes(bytes)
}
