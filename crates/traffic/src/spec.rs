//! A transfer as people write it, and how it is checked.

use std::sync::Arc;

use rexmit_network::HostId;
use rexmit_network::two_hosts::{self, Side};
use rexmit_stack::quic::PLACE_BYTES;
use rexmit_stack::{Delivery, SocketSpec, SocketWish, unknown_name};
use rexmit_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::flows::{Flows, FlowsError, FlowsSpec, Read, TableFile};
use crate::random::MessagesSpec;
use crate::sleep::SleepSpec;
use crate::transfer::{Stream, Transfer, Workload};
use crate::workload::{Bulk, BurstsSpec, RequestsSpec, Writes};

/// One transfer of a scenario: data in one direction over one connection, or over several alike. Exactly one of
/// `writes`, `bulk`, `requests`, `messages` and `flows` says what is sent. Two transfers in opposite directions are two-way
/// traffic.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferSpec {
    /// What it is called in results. Absent: its number in the list, from 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The host that sends the data; with `requests`, the one that answers: `server` or `client`, or one of a network.
    /// The name of a group of hosts stands for all of them: each has connections of its own, to the host `to` or, where
    /// that is a group of as many, to the one with its number.
    pub from: String,
    /// The host that receives it; with `requests`, the one that asks.
    pub to: String,
    /// The one that opens the connection. Absent: the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<String>,
    /// When the connection is opened, after the start of the run.
    #[serde(default)]
    pub start: Duration,
    /// What is written, each write waiting until the socket has taken the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// For how long, or how much, is written without a pause. A write that has begun when the time is over
    /// is finished; no other begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<Bulk>,
    /// Size of each write of `bulk` and of each of `flows`; the last may be shorter. Absent: 64 KiB; with `datagrams` 1000
    /// bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_size: Option<Bytes>,
    /// Each write begins this much later than the one before, or when the socket has taken that one whole, if that is
    /// later: a thin stream. A close follows as long after the last write. Absent: no pause.
    #[serde(default)]
    pub pause: Duration,
    /// How pauses end on a kernel with ticks: `{ tick = "4 ms", rule = "nanosleep" }` or `"itimer"`. With `bursts`, the last
    /// pause of a burst is what the others leave of `every`. Absent: to the nanosecond.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sleep: Option<SleepSpec>,
    /// Outgoing streams that messages take in turn, for SCTP and QUIC. Absent: 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub streams: Option<u16>,
    /// Messages are delivered without order, for SCTP. Absent: in order within their stream.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unordered: Option<bool>,
    /// A message is given up once this old, for SCTP (RFC 3758). Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lifetime: Option<Duration>,
    /// A message is given up rather than retransmitted more often than this, for SCTP (RFC 7496). Absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_retransmits: Option<u32>,
    /// Each write is a DATAGRAM frame of QUIC (RFC 9221): it is never sent again, and read as it arrives, in any order. Writes
    /// of 8 bytes and more, which hold the place of the write, and no more than fits into a packet. Absent: bytes of streams.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datagrams: Option<bool>,
    /// The `writes` again and again, `pause` apart within a burst: `{ count = 100, every = "1 s" }`. Absent: once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bursts: Option<BurstsSpec>,
    /// Requests of `to`, each answered by `from`:
    /// `{ count = 10, request = "200 bytes", response = "10 kB", think = "5 ms", pause = "1 s" }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub requests: Option<RequestsSpec>,
    /// Messages of random sizes at random times:
    /// `{ time = "60 s", size = "lognormal 100 bytes 0.8", every = "exponential 250 ms" }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub messages: Option<MessagesSpec>,
    /// Connections that arrive at random and carry some bytes each:
    /// `{ count = 1000, every = "exponential 5 ms", size = "web-search" }`,
    /// `{ time = "60 s", load = 0.6, of = "50 Mbit/s", size = "data-mining" }`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub flows: Option<Box<FlowsSpec>>,
    /// Connections of this kind; between groups of hosts, for each pair. `flows` have their own number, and pairs take
    /// them in turn.
    #[serde(default = "one")]
    pub connections: u32,
    /// Each connection is opened this much later than the one before.
    #[serde(default)]
    pub stagger: Duration,
    /// How the receiver reads. Absent: all there is, as soon as it is there.
    #[serde(default)]
    pub read: ReadSpec,
    /// Congestion control of both ends, in the words of the hosts' code: `"bbr"` for Linux (TCP_CONGESTION), `"cubic"`
    /// for the model. Absent: the hosts'.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Other options of the sockets at both ends: `{ nagle = false, send_buffer = "64 KiB" }`. Absent: as the hosts have
    /// them.
    #[serde(default, skip_serializing_if = "SocketSpec::is_empty")]
    pub socket: SocketSpec,
    /// The sender closes after its last write, and the receiver after the end of the stream; with `requests`, the
    /// asking side closes after its last response, and the answering side then. Otherwise neither closes.
    #[serde(default = "yes")]
    pub close: bool,
}

/// How a receiver reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ReadSpec {
    /// Most bytes that one read takes. Absent: all there is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
    /// After a read of n bytes the next one waits as long as n bytes take at this rate; needs `size`.
    /// Absent: no wait.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
}

fn one() -> u32 {
    1
}

fn yes() -> bool {
    true
}

/// Size of a bulk write where none is given.
pub(crate) const BULK_WRITE: Bytes = Bytes(64 << 10);
/// The same of datagrams: it fits into the smallest packets that QUIC has (RFC 9000 section 14).
const DATAGRAM_WRITE: Bytes = Bytes(1_000);

/// Why a transfer makes no sense. Each message names the key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Data would stay on one host.
    #[error("`from` and `to` are both \"{0}\"; allowed: two hosts")]
    SameHost(String),
    /// There is no such host.
    #[error("`{key}`: {what}")]
    Host {
        /// `from`, `to` or `opened_by`.
        key: &'static str,
        /// What is wrong, and what is known.
        what: String,
    },
    /// Hosts of two groups belong together by their numbers.
    #[error("`from` is {0} hosts and `to` is {1}; allowed: equal numbers, or one host")]
    Groups(usize, usize),
    /// Nothing says what to write.
    #[error(
        "one of `writes` (such as \"5000 bytes, 8 x 2500 bytes\"), `bulk` (such as \"10 s\" or \"10 MB\"), \
         `requests` (such as {{ request = \"200 bytes\", response = \"10 kB\" }}), `messages` (such as \
         {{ time = \"60 s\", size = \"100 bytes\", every = \"250 ms\" }}) and `flows` (such as {{ count = 1000, \
         every = \"exponential 5 ms\", size = \"web-search\" }}) is missing"
    )]
    NoWorkload,
    /// Several say what to write.
    #[error("`{0}` and `{1}` exclude each other: keep one of them")]
    TwoWorkloads(&'static str, &'static str),
    /// The others have their own sizes.
    #[error("`write_size` belongs to `bulk`: `{0}` states the size of each write itself")]
    WriteSizeWithout(&'static str),
    /// There is nothing to repeat.
    #[error("`bursts` repeats `writes`, such as \"4 x 100 bytes\": it does not fit `{0}`")]
    BurstsWithout(&'static str),
    /// A burst would begin before the last write of the one before.
    #[error("`bursts.every` must be above {0}, which is from a burst's first write to its last")]
    BurstTooLong(Duration),
    /// Requests have a pause of their own.
    #[error(
        "`pause` is between writes: the time between a response and the next request is `requests.pause`"
    )]
    PauseWithRequests,
    /// Drawn messages have pauses of their own.
    #[error("`pause` is between writes: the time between messages is `messages.every` and `messages.within`")]
    PauseWithMessages,
    /// Nothing would happen, or all of it at once.
    #[error("`{0}` must be above 0 s")]
    NoTime(&'static str),
    /// There must be at least one.
    #[error("`{0}` must be at least 1")]
    NoCount(&'static str),
    /// No counter holds this much.
    #[error("`{0}` make more than 2^64 - 1 bytes together")]
    TooMuch(&'static str),
    /// This size must be at least one byte.
    #[error("`{0}` must be at least 1 byte")]
    NoBytes(&'static str),
    /// Sleeps end at ticks.
    #[error("`sleep.tick` must be above zero, such as \"4 ms\"")]
    NoTick,
    /// Requests think and pause to the nanosecond, and are a stream of bytes.
    #[error("`{0}` does not fit `requests`")]
    NotWithRequests(&'static str),
    /// Datagrams are by themselves, and may be lost.
    #[error("`{0}` does not fit `datagrams`: {1}")]
    NotWithDatagrams(&'static str, &'static str),
    /// The place of a write must fit into its datagram.
    #[error("`datagrams` have {least} bytes and more, and {0} makes one of {1}", least = PLACE_BYTES)]
    ShortDatagram(&'static str, u64),
    /// A reader with a rate needs to know how much a read takes.
    #[error("`read.rate` needs `read.size`, such as \"50000 bytes\"")]
    RateWithoutSize,
    /// Of flows.
    #[error(transparent)]
    Flows(#[from] FlowsError),
    /// No socket takes it.
    #[error("`socket.{0}`: {1}")]
    Option(&'static str, &'static str),
}

impl TransferSpec {
    /// One connection with these writes, opened by the receiver at once, everything else at its default.
    pub fn writes(from: Side, writes: Writes) -> Self {
        Self { writes: Some(writes), ..Self::empty(from) }
    }

    /// The same for a bulk transfer.
    pub fn bulk(from: Side, bulk: Bulk) -> Self {
        Self { bulk: Some(bulk), ..Self::empty(from) }
    }

    /// The same for requests, answered by `from`.
    pub fn requests(from: Side, requests: RequestsSpec) -> Self {
        Self { requests: Some(requests), ..Self::empty(from) }
    }

    fn empty(from: Side) -> Self {
        Self {
            name: None,
            from: from.name().to_owned(),
            to: from.other().name().to_owned(),
            opened_by: None,
            start: Duration::ZERO,
            writes: None,
            bulk: None,
            write_size: None,
            pause: Duration::ZERO,
            sleep: None,
            streams: None,
            unordered: None,
            lifetime: None,
            max_retransmits: None,
            datagrams: None,
            bursts: None,
            requests: None,
            messages: None,
            flows: None,
            connections: 1,
            stagger: Duration::ZERO,
            read: ReadSpec::default(),
            congestion: None,
            socket: SocketSpec::default(),
            close: true,
        }
    }

    /// The same transfer with every default written out.
    pub fn with_defaults(mut self) -> Self {
        self.opened_by.get_or_insert(self.to.clone());
        if self.bulk.is_some() || self.flows.is_some() {
            self.write_size.get_or_insert(self.bulk_write());
        }
        self
    }

    /// The size of bulk writes.
    pub(crate) fn bulk_write(&self) -> Bytes {
        self.write_size.unwrap_or(if self.datagrams == Some(true) { DATAGRAM_WRITE } else { BULK_WRITE })
    }

    /// Checks the whole, and gives what applications are made from, where the hosts are `server` and `client` and no file is
    /// named.
    ///
    /// # Errors
    /// The first key that does not fit, and what is allowed.
    pub fn resolve(&self) -> Result<Transfer, TransferError> {
        self.resolve_with(&server_or_client, &mut |file| {
            Err(format!("{}: files are not read here", file.file))
        })
    }

    /// The same, where `named` gives the hosts that a name stands for, or else the names that there are, and `read` the whole
    /// text of each file that the transfer names, or one line that names the file and says why not.
    ///
    /// # Errors
    /// The first key that does not fit, and what is allowed; of a file its name and the line in it.
    pub fn resolve_with(
        &self,
        named: &HostsNamed<'_>,
        read: &mut dyn FnMut(&TableFile) -> Result<String, String>,
    ) -> Result<Transfer, TransferError> {
        let pairs = self.pairs(named)?;
        if self.connections == 0 {
            return Err(TransferError::NoCount("connections"));
        }
        if self.streams == Some(0) {
            return Err(TransferError::NoCount("streams"));
        }
        if self.sleep.is_some_and(|sleep| sleep.tick.is_zero()) {
            return Err(TransferError::NoTick);
        }
        for (key, size) in [("write_size", self.write_size), ("read.size", self.read.size)] {
            if size == Some(Bytes::ZERO) {
                return Err(TransferError::NoBytes(key));
            }
        }
        if self.read.rate.is_some() && self.read.size.is_none() {
            return Err(TransferError::RateWithoutSize);
        }
        self.check_datagrams()?;
        self.socket.check().map_err(|(key, text)| TransferError::Option(key, text))?;
        let wish = SocketWish { congestion: self.congestion.clone(), socket: self.socket.clone() };
        Ok(Transfer {
            pairs,
            opened_by_sender: self.opened_by.as_ref() == Some(&self.from),
            start: self.start,
            stagger: self.stagger,
            connections: self.connections,
            workload: self.workload(read)?,
            pause: self.pause,
            sleep: self.sleep,
            streams: self.streams.unwrap_or(1),
            delivery: Delivery {
                stream: 0,
                unordered: self.unordered.unwrap_or(false),
                lifetime: self.lifetime,
                max_retransmits: self.max_retransmits,
                datagram: self.datagrams.unwrap_or(false),
            },
            read: self.read,
            wish: (wish != SocketWish::default()).then(|| Arc::new(wish)),
            close: self.close,
        })
    }

    /// The pairs of hosts, sender and receiver, of one connection of each kind.
    fn pairs(&self, named: &HostsNamed<'_>) -> Result<Arc<[[HostId; 2]]>, TransferError> {
        let hosts = |key, name: &str| {
            named(name).map_err(|known| {
                let known: Vec<&str> = known.iter().map(String::as_str).collect();
                TransferError::Host { key, what: unknown_name("host", name, &known) }
            })
        };
        let (from, to) = (hosts("from", &self.from)?, hosts("to", &self.to)?);
        if let Some(opener) = &self.opened_by
            && ![&self.from, &self.to].contains(&opener)
        {
            let what = format!("\"{opener}\" is neither end; allowed: \"{}\", \"{}\"", self.from, self.to);
            return Err(TransferError::Host { key: "opened_by", what });
        }
        let count = from.len().max(to.len());
        if [from.len(), to.len()].iter().any(|len| ![1, count].contains(len)) {
            return Err(TransferError::Groups(from.len(), to.len()));
        }
        let pair = |n: usize| [from[n % from.len()], to[n % to.len()]];
        let pairs: Arc<[_]> = (0..count).map(pair).collect();
        if pairs.iter().any(|[from, to]| from == to) {
            return Err(TransferError::SameHost(self.from.clone()));
        }
        Ok(pairs)
    }

    /// Which of the five it is. In a file they are keys of one table, and serde cannot put keys of an enum into a table
    /// that refuses unknown ones; so they stand beside each other until here, and nothing else reads them.
    fn workload(&self, read: &mut Read<'_>) -> Result<Workload, TransferError> {
        let given = [
            ("writes", self.writes.is_some()),
            ("bulk", self.bulk.is_some()),
            ("requests", self.requests.is_some()),
            ("messages", self.messages.is_some()),
            ("flows", self.flows.is_some()),
        ];
        let mut given = given.into_iter().filter_map(|(name, given)| given.then_some(name));
        let kind = given.next().ok_or(TransferError::NoWorkload)?;
        if let Some(other) = given.next() {
            return Err(TransferError::TwoWorkloads(kind, other));
        }
        if self.write_size.is_some() && self.bulk.is_none() && self.flows.is_none() {
            return Err(TransferError::WriteSizeWithout(kind));
        }
        if self.bursts.is_some() && self.writes.is_none() {
            return Err(TransferError::BurstsWithout(kind));
        }
        if let Some(writes) = &self.writes {
            let bursts = self.bursts.map_or(Ok(1), |bursts| self.check_bursts(writes, bursts))?;
            let every = self.bursts.map_or(Duration::ZERO, |bursts| bursts.every);
            return Ok(Workload::Stream(Stream::Writes { writes: writes.clone(), bursts, every }));
        }
        if let Some(requests) = &self.requests {
            return self.check_requests(requests).map(|()| Workload::Requests(requests.clone()));
        }
        if let Some(messages) = &self.messages {
            if !self.pause.is_zero() {
                return Err(TransferError::PauseWithMessages);
            }
            return messages.check().map(|()| Workload::Stream(Stream::Drawn(messages.clone())));
        }
        let write_size = self.bulk_write().as_u64();
        if let Some(flows) = &self.flows {
            return self.check_flows(flows, read).map(|flows| Workload::Flows { flows, write_size });
        }
        let stream = self.bulk.map(|bulk| Stream::Bulk { bulk, write_size });
        stream.map(Workload::Stream).ok_or(TransferError::NoWorkload)
    }

    /// How many bursts.
    fn check_bursts(&self, writes: &Writes, bursts: BurstsSpec) -> Result<u64, TransferError> {
        if bursts.count == 0 {
            return Err(TransferError::NoCount("bursts.count"));
        }
        if writes.total().checked_mul(bursts.count).is_none() {
            return Err(TransferError::TooMuch("bursts"));
        }
        let lasts = self.pause * (writes.count() - 1);
        if bursts.every <= lasts {
            return Err(TransferError::BurstTooLong(lasts));
        }
        Ok(bursts.count)
    }

    fn check_requests(&self, requests: &RequestsSpec) -> Result<(), TransferError> {
        if requests.count == 0 {
            return Err(TransferError::NoCount("requests.count"));
        }
        if !self.pause.is_zero() {
            return Err(TransferError::PauseWithRequests);
        }
        if let Some(key) = self.sleep.map(|_| "sleep").or(self.of_messages().next()) {
            return Err(TransferError::NotWithRequests(key));
        }
        requests.total().map(drop).ok_or(TransferError::TooMuch("requests"))
    }

    fn check_flows(&self, flows: &FlowsSpec, read: &mut Read<'_>) -> Result<Flows, TransferError> {
        if self.connections != one() {
            return Err(FlowsError::Connections("connections").into());
        }
        if !self.stagger.is_zero() {
            return Err(FlowsError::Connections("stagger").into());
        }
        flows.resolve(read)
    }
}

/// The hosts that a name stands for; otherwise the names that there are.
pub type HostsNamed<'a> = dyn Fn(&str) -> Result<Vec<HostId>, Vec<String>> + 'a;

/// The host `server` or `client`, as [`HostsNamed`].
///
/// # Errors
/// Another name: the two.
pub fn server_or_client(name: &str) -> Result<Vec<HostId>, Vec<String>> {
    let host = two_hosts::HOSTS.into_iter().find(|host| two_hosts::host_name(*host) == name);
    let known = || two_hosts::HOSTS.map(|host| two_hosts::host_name(host).to_owned()).to_vec();
    host.map(|host| vec![host]).ok_or_else(known)
}
