//! A transfer once it is checked: what its connections are, and their applications.

use std::sync::Arc;

use rexmit_network::HostId;
use rexmit_stack::{Delivery, SocketWish};
use rexmit_units::{Bytes, Duration, Instant};

use crate::apps::{App, Receiver, Requester, Responder, Sender};
use crate::flows::{Flow, Flows};
use crate::random::MessagesSpec;
use crate::sleep::SleepSpec;
use crate::spec::{BULK_WRITE, ReadSpec};
use crate::workload::{Bulk, RequestsSpec, Writes};

/// A checked transfer. Cloning is cheap: copies share their list of writes.
#[derive(Clone, Debug, PartialEq)]
pub struct Transfer {
    /// Sender and receiver, by turns.
    pub(crate) pairs: Arc<[[HostId; 2]]>,
    pub(crate) opened_by_sender: bool,
    pub(crate) start: Duration,
    pub(crate) stagger: Duration,
    pub(crate) connections: u32,
    pub(crate) workload: Workload,
    pub(crate) pause: Duration,
    pub(crate) sleep: Option<SleepSpec>,
    pub(crate) streams: u16,
    /// How messages are delivered, whose stream is chosen in turn.
    pub(crate) delivery: Delivery,
    pub(crate) read: ReadSpec,
    pub(crate) wish: Option<Arc<SocketWish>>,
    pub(crate) close: bool,
}

/// What the two applications do.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Workload {
    /// Data in one direction.
    Stream(Stream),
    Requests(RequestsSpec),
    /// A stream on each connection, in writes of this many bytes.
    Flows {
        flows: Flows,
        write_size: u64,
    },
}

/// What a sender writes.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Stream {
    /// The list this many times, each beginning this much later than the one before.
    Writes { writes: Writes, bursts: u64, every: Duration },
    /// In writes of this many bytes.
    Bulk { bulk: Bulk, write_size: u64 },
    /// As drawn.
    Drawn(MessagesSpec),
}

impl Transfer {
    /// Who sends the data of copy `copy` (from 0); with requests, who answers.
    pub fn from(&self, copy: u32) -> HostId {
        self.pair(copy)[0]
    }

    /// Who receives them; with requests, who asks.
    pub fn to(&self, copy: u32) -> HostId {
        self.pair(copy)[1]
    }

    /// Who connects.
    pub fn opener(&self, copy: u32) -> HostId {
        self.pair(copy)[usize::from(!self.opened_by_sender)]
    }

    /// Hosts that send its data, each once for each that it sends to.
    pub fn senders(&self) -> impl Iterator<Item = HostId> {
        self.pairs.iter().map(|pair| pair[0])
    }

    #[inline]
    fn pair(&self, copy: u32) -> [HostId; 2] {
        self.pairs[copy as usize % self.pairs.len()]
    }

    /// How many connections alike, over all pairs of hosts; at least 1, and none of [`Self::flows`].
    pub fn connections(&self) -> u32 {
        if self.flows().is_some() {
            return 0;
        }
        u32::try_from(self.pairs.len()).unwrap_or(u32::MAX).saturating_mul(self.connections)
    }

    /// What it is where its connections arrive at random: they are known once a run has drawn them.
    pub fn flows(&self) -> Option<&Flows> {
        match &self.workload {
            Workload::Flows { flows, .. } => Some(flows),
            Workload::Stream(_) | Workload::Requests(_) => None,
        }
    }

    /// Outgoing streams that its messages take in turn.
    pub fn streams(&self) -> u16 {
        self.streams
    }

    /// Its writes are DATAGRAM frames of QUIC.
    pub fn datagrams(&self) -> bool {
        self.delivery.datagram
    }

    /// What its connections ask of their sockets, where they ask for something.
    pub fn wish(&self) -> Option<&Arc<SocketWish>> {
        self.wish.as_ref()
    }

    /// Bytes that one connection carries, requests and responses together, where that is known beforehand.
    pub fn total(&self) -> Option<u64> {
        match &self.workload {
            Workload::Stream(Stream::Writes { writes, bursts, .. }) => writes.total().checked_mul(*bursts),
            Workload::Stream(Stream::Bulk { bulk: Bulk::Bytes(bytes), .. }) => Some(bytes.as_u64()),
            Workload::Stream(Stream::Bulk { bulk: Bulk::Time(_), .. } | Stream::Drawn(_)) => None,
            Workload::Requests(requests) => requests.total(),
            Workload::Flows { .. } => None,
        }
    }

    /// When copy `copy` (from 0) is opened.
    pub fn opened_at(&self, copy: u32) -> Instant {
        Instant::ZERO + self.start + self.stagger * u64::from(copy)
    }

    /// The two applications of copy `copy`, from 0: first that of [`Self::from`], then the other's.
    ///
    /// # Panics
    /// With [`Self::flows`], which have no copies.
    pub fn applications(&self, copy: u32) -> (App, App) {
        let opened = self.opened_at(copy);
        match &self.workload {
            Workload::Stream(stream) => self.stream(stream, self.total(), opened),
            Workload::Requests(requests) => {
                (Responder::new(self, requests, opened).into(), Requester::new(self, requests, opened).into())
            }
            Workload::Flows { .. } => panic!("flows have no copies: each has its own applications"),
        }
    }

    /// When the connection of a drawn flow is opened.
    pub fn flow_opened_at(&self, flow: Flow) -> Instant {
        self.opened_at(0) + flow.start
    }

    /// The two applications of a drawn flow, in the same order.
    pub fn applications_of(&self, flow: Flow) -> (App, App) {
        let write_size = match self.workload {
            Workload::Flows { write_size, .. } => write_size,
            Workload::Stream(_) | Workload::Requests(_) => BULK_WRITE.as_u64(),
        };
        let stream = Stream::Bulk { bulk: Bulk::Bytes(Bytes(flow.size)), write_size };
        self.stream(&stream, Some(flow.size), self.flow_opened_at(flow))
    }

    /// The sender and the receiver of a stream of `total` bytes, where that is known.
    fn stream(&self, stream: &Stream, total: Option<u64>, opened: Instant) -> (App, App) {
        (Sender::new(self, stream, opened).into(), Receiver::new(self, total, opened).into())
    }

    /// When the application that sends the data, or the one that receives them, connects, where the connection is
    /// opened at `opened`; `None` where it waits for the peer.
    pub(crate) fn connects_at(&self, sends: bool, opened: Instant) -> Option<Instant> {
        (sends == self.opened_by_sender).then_some(opened)
    }
}
