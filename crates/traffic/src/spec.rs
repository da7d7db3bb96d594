//! A transfer as people write it, and as it is once checked.

use rexmit_units::{Bytes, Duration, Instant, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::apps::{Receiver, Sender};
use crate::workload::{Bulk, Writes};

/// One of the two hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Side {
    /// The host `server`.
    Server,
    /// The host `client`.
    Client,
}

impl Side {
    /// The other host.
    pub const fn other(self) -> Self {
        match self {
            Self::Server => Self::Client,
            Self::Client => Self::Server,
        }
    }

    /// As in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Client => "client",
        }
    }
}

/// One transfer of a scenario: data in one direction over one connection, or over several alike.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TransferSpec {
    /// Who sends the data.
    pub from: Side,
    /// Who receives it.
    pub to: Side,
    /// Who opens the connection. Absent: the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub opened_by: Option<Side>,
    /// When the connection is opened, after the start of the run.
    #[serde(default)]
    pub start: Duration,
    /// What is written, each write waiting until the socket has taken the one before. Either this or `bulk`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writes: Option<Writes>,
    /// For how long, or how much, is written without a pause. A write that has begun when the time is over
    /// is finished; no other begins.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<Bulk>,
    /// Size of each write of `bulk`; the last may be shorter. Absent: 64 KiB.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write_size: Option<Bytes>,
    /// Each write begins so much later than the one before, or when the socket has taken that one whole if this
    /// is later still: a thin stream. A close follows as late after the last write. Absent: no pause.
    #[serde(default)]
    pub pause: Duration,
    /// Connections of this kind.
    #[serde(default = "one")]
    pub connections: u32,
    /// Each connection is opened so much later than the one before.
    #[serde(default)]
    pub stagger: Duration,
    /// How the receiver reads. Absent: all there is, as soon as it is there.
    #[serde(default)]
    pub read: ReadSpec,
    /// The sender closes after its last write, and the receiver after the end of the stream. Otherwise
    /// neither closes.
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
const BULK_WRITE: Bytes = Bytes(64 << 10);

/// Why a transfer makes no sense. Each message names the key and what is allowed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TransferError {
    /// Data would stay on one host.
    #[error("`from` and `to` are both \"{}\": one must be \"{}\"", .0.name(), .0.other().name())]
    SameHost(Side),
    /// Nothing says what to write.
    #[error(
        "one of `writes` (such as \"5000 bytes, 8 x 2500 bytes\") and `bulk` (such as \"10 s\" or \"10 MB\") is missing"
    )]
    NoWorkload,
    /// Both say what to write.
    #[error("`writes` and `bulk` exclude each other: keep one of them")]
    TwoWorkloads,
    /// The writes have their own sizes.
    #[error("`write_size` belongs to `bulk`: `writes` states the size of each write itself")]
    WriteSizeWithWrites,
    /// This size must be at least one byte.
    #[error("`{0}` must be at least 1 byte")]
    NoBytes(&'static str),
    /// There is no connection.
    #[error("`connections` must be at least 1")]
    NoConnections,
    /// A reader with a rate needs to know how much a read takes.
    #[error("`read.rate` needs `read.size`, such as \"50000 bytes\"")]
    RateWithoutSize,
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

    fn empty(from: Side) -> Self {
        Self {
            from,
            to: from.other(),
            opened_by: None,
            start: Duration::ZERO,
            writes: None,
            bulk: None,
            write_size: None,
            pause: Duration::ZERO,
            connections: 1,
            stagger: Duration::ZERO,
            read: ReadSpec::default(),
            close: true,
        }
    }

    /// The same transfer with every default written out.
    pub fn with_defaults(mut self) -> Self {
        self.opened_by.get_or_insert(self.to);
        if self.bulk.is_some() {
            self.write_size.get_or_insert(BULK_WRITE);
        }
        self
    }

    /// Checks the whole, and gives what applications are made from.
    pub fn resolve(&self) -> Result<Transfer, TransferError> {
        if self.from == self.to {
            return Err(TransferError::SameHost(self.from));
        }
        if self.connections == 0 {
            return Err(TransferError::NoConnections);
        }
        for (key, size) in [("write_size", self.write_size), ("read.size", self.read.size)] {
            if size == Some(Bytes::ZERO) {
                return Err(TransferError::NoBytes(key));
            }
        }
        if self.read.rate.is_some() && self.read.size.is_none() {
            return Err(TransferError::RateWithoutSize);
        }
        Ok(Transfer {
            from: self.from,
            opener: self.opened_by.unwrap_or(self.to),
            start: self.start,
            stagger: self.stagger,
            connections: self.connections,
            workload: self.workload()?,
            pause: self.pause,
            read: self.read,
            close: self.close,
        })
    }

    fn workload(&self) -> Result<Workload, TransferError> {
        match (&self.writes, self.bulk, self.write_size) {
            (Some(_), Some(_), _) => Err(TransferError::TwoWorkloads),
            (None, None, _) => Err(TransferError::NoWorkload),
            (Some(_), None, Some(_)) => Err(TransferError::WriteSizeWithWrites),
            (Some(writes), None, None) => Ok(Workload::Writes(writes.clone())),
            (None, Some(bulk), size) => {
                Ok(Workload::Bulk { bulk, write_size: size.unwrap_or(BULK_WRITE).as_u64() })
            }
        }
    }
}

/// A checked transfer. Cloning is cheap: copies share their list of writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Transfer {
    from: Side,
    opener: Side,
    start: Duration,
    stagger: Duration,
    connections: u32,
    pub(crate) workload: Workload,
    pub(crate) pause: Duration,
    pub(crate) read: ReadSpec,
    pub(crate) close: bool,
}

/// What a sender writes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Workload {
    Writes(Writes),
    /// In writes of so many bytes.
    Bulk {
        bulk: Bulk,
        write_size: u64,
    },
}

impl Transfer {
    /// Who sends.
    pub fn from(&self) -> Side {
        self.from
    }

    /// Who connects.
    pub fn opener(&self) -> Side {
        self.opener
    }

    /// How many connections alike; at least 1.
    pub fn connections(&self) -> u32 {
        self.connections
    }

    /// Bytes that one connection carries, where that is known beforehand.
    pub fn total(&self) -> Option<u64> {
        match &self.workload {
            Workload::Writes(writes) => Some(writes.total()),
            Workload::Bulk { bulk: Bulk::Bytes(bytes), .. } => Some(bytes.as_u64()),
            Workload::Bulk { bulk: Bulk::Time(_), .. } => None,
        }
    }

    /// When copy `copy` (from 0) is opened.
    pub fn opened_at(&self, copy: u32) -> Instant {
        Instant::ZERO + self.start + self.stagger * u64::from(copy)
    }

    /// The two applications of copy `copy`, from 0.
    pub fn applications(&self, copy: u32) -> (Sender, Receiver) {
        (Sender::new(self, copy), Receiver::new(self, copy))
    }

    /// When the application on `side` of this copy connects; `None` where it waits for the peer.
    pub(crate) fn connects_at(&self, side: Side, copy: u32) -> Option<Instant> {
        (side == self.opener).then(|| self.opened_at(copy))
    }
}
