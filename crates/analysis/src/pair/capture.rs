//! One of the two captures: its own analysis, and the digests of its packets.

mod copies;

use std::collections::HashMap;

use foldhash::fast::RandomState;

use super::crossing::Span;
use super::digest::{Head, nanos};
use super::flow::Flow;
use crate::analyzer::Analyzer;
use crate::core::policy::PairPolicy;
use crate::options::Options;
use crate::packet::{Batch, Transport};
use crate::rows::{Rows, SideName, Tables};

/// A capture that is being read, or was.
#[derive(Debug)]
pub(super) struct Capture {
    policy: &'static PairPolicy,
    analyzer: Analyzer,
    keep: Tables,
    waiting: HashMap<u64, Head, RandomState>,
    /// What its analysis gives.
    pub rows: Rows,
    /// By number of the connection, less one.
    pub flows: Vec<Flow>,
    /// Times of its first and last packet.
    pub span: Option<Span>,
}

impl Capture {
    pub(super) fn new(options: &Options) -> Self {
        let tables = Tables { segments: true, ..options.tables };
        Self {
            policy: &options.policy.pair,
            analyzer: Analyzer::new(&Options { tables, ..*options }),
            keep: options.tables,
            waiting: HashMap::default(),
            rows: Rows::default(),
            flows: Vec::new(),
            span: None,
        }
    }

    pub(super) fn allow(&mut self, read: u64) {
        self.analyzer.allow(read);
    }

    pub(super) fn push(&mut self, batch: &Batch) {
        for packet in &batch.packets {
            let time = nanos(packet.time);
            let span = self.span.unwrap_or(Span { from: time, to: time });
            self.span = Some(Span { from: span.from.min(time), to: span.to.max(time) });
            if let Transport::Tcp(tcp) = &packet.transport {
                self.waiting.insert(packet.number, Head::new(packet, tcp));
            }
        }
        self.analyzer.push(batch);
        self.take();
    }

    pub(super) fn finish(&mut self) {
        self.analyzer.finish();
        self.take();
        for row in &self.rows.connections {
            let [client, server] = [row.client.offered, row.server.offered];
            if let Some(flow) = self.flows.get_mut(row.connection as usize - 1) {
                flow.segments = [server.segment_from(&client), client.segment_from(&server)];
            }
        }
        copies::take_out(&mut self.flows, self.policy);
    }

    fn take(&mut self) {
        let mut rows = self.analyzer.take_rows();
        for row in &rows.segments {
            let Some(head) = self.waiting.remove(&row.number) else { continue };
            let flow = self.flow(row.connection);
            let addresses = match row.side {
                SideName::Client => [head.src, head.dst],
                SideName::Server => [head.dst, head.src],
            };
            flow.addresses.get_or_insert(addresses);
            flow.sides[row.side as usize].packets.push(head.digest(row));
        }
        for row in rows.sacks.iter().filter(|row| !row.duplicate) {
            self.flow(row.connection).sides[row.side as usize].sacks.push((row.number, row.left, row.right));
        }
        if !self.keep.segments {
            rows.segments.clear();
            rows.sacks.clear();
        }
        append(&mut self.rows, rows);
    }

    fn flow(&mut self, connection: u32) -> &mut Flow {
        let count = connection as usize;
        if self.flows.len() < count {
            self.flows.resize_with(count, Flow::default);
        }
        &mut self.flows[count - 1]
    }
}

fn append(all: &mut Rows, more: Rows) {
    let Rows {
        connections,
        segments,
        sacks,
        retransmissions,
        rtt,
        loss_events,
        sctp,
        limits,
        held,
        notes: _,
    } = more;
    all.connections.extend(connections);
    all.segments.extend(segments);
    all.sacks.extend(sacks);
    all.retransmissions.extend(retransmissions);
    all.rtt.extend(rtt);
    all.loss_events.extend(loss_events);
    all.held.extend(held);
    all.limits.merge(&limits);
    all.limits.merge(&sctp.limits);
    let into = &mut all.sctp;
    into.associations.extend(sctp.associations);
    into.paths.extend(sctp.paths);
    into.streams.extend(sctp.streams);
    into.chunks.extend(sctp.chunks);
    into.retransmissions.extend(sctp.retransmissions);
    into.controls.extend(sctp.controls);
    into.rtt.extend(sctp.rtt);
}
