//! How late messages are: from the application's write to the moment at which the other application has read its last
//! byte, for every transport.

use std::collections::VecDeque;

use rexmit_network::{ConnectionId, EndId, HostId, Network};
use rexmit_tables::row;
use rexmit_traffic::{Read, Written};
use rexmit_units::Instant;
use serde::{Deserialize, Serialize};

use crate::HostCell;

row! {
    /// Latencies of the messages of one connection, in the direction of its transfer.
    ///
    /// A quantile is the least latency that this share of the messages delivered does not exceed.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct MessageRow {
        connection: u32 = plain("number of the connection, from 0"),
        host: HostCell = plain("server or client: who sends"),
        written: u64 = plain("messages that the application began to write"),
        delivered: u64 = plain("those that the other application has read whole"),
        latency_min_ms: Option<f64> =
            ms("the shortest latency: from the application's write to the other's read of its last byte") or "none was delivered",
        latency_mean_ms: Option<f64> = ms("the mean latency") or "none was delivered",
        latency_std_ms: Option<f64> =
            ms("the standard deviation of the sample (n - 1) of latencies; 0 of one") or "none was delivered",
        latency_max_ms: Option<f64> = ms("the longest latency") or "none was delivered",
        latency_p50_ms: Option<f64> =
            ms("the median latency: half of the messages delivered were no later") or "none was delivered",
        latency_p90_ms: Option<f64> = ms("the latency's 90th percentile") or "none was delivered",
        latency_p95_ms: Option<f64> = ms("the latency's 95th percentile") or "none was delivered",
        latency_p98_ms: Option<f64> = ms("the latency's 98th percentile") or "none was delivered",
        latency_p99_ms: Option<f64> = ms("the latency's 99th percentile") or "none was delivered",
        latency_p999_ms: Option<f64> = ms("the latency's 99.9th percentile") or "none was delivered",
    }
}

/// One message and its fate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// The connection.
    pub connection: ConnectionId,
    /// Who sends.
    pub host: HostId,
    /// Number of the message, from 0.
    pub number: u64,
    /// When the application began to write it.
    pub written: Instant,
    /// Bytes.
    pub len: u64,
    /// When the other application had read its last byte, if it did.
    pub delivered: Option<Instant>,
}

/// The messages of a run as it goes on.
#[derive(Debug, Default)]
pub struct MessageLog {
    flows: Vec<Flow>,
    /// Every message, where asked for.
    all: Option<Vec<Message>>,
}

/// One connection, from its sender.
#[derive(Debug)]
struct Flow {
    sender: EndId,
    /// Those not delivered and those after them, by offset.
    waiting: VecDeque<Waiting>,
    written: u64,
    latencies: Vec<u64>,
}

#[derive(Debug)]
struct Waiting {
    message: Message,
    offset: u64,
    /// Bytes not yet read.
    left: u64,
}

impl MessageLog {
    /// The log of a run; with `all`, every message is kept for [`Self::finish`].
    pub fn new(all: bool) -> Self {
        Self { flows: Vec::new(), all: all.then(Vec::new) }
    }

    /// The number by which a sender is known here.
    pub fn sender(&mut self, sender: EndId) -> usize {
        self.flows.push(Flow { sender, waiting: VecDeque::new(), written: 0, latencies: Vec::new() });
        self.flows.len() - 1
    }

    /// The application of sender `n` has begun a write.
    pub fn wrote(&mut self, n: usize, write: &Written) {
        let flow = &mut self.flows[n];
        let message = Message {
            connection: flow.sender.connection,
            host: flow.sender.host,
            number: flow.written,
            written: write.at,
            len: write.len,
            delivered: None,
        };
        flow.written += 1;
        flow.waiting.push_back(Waiting { message, offset: write.offset, left: write.len });
    }

    /// The application that sender `n` sends to has read.
    pub fn read(&mut self, n: usize, read: &Read) {
        let flow = &mut self.flows[n];
        let end = read.offset + read.len;
        let first = match flow.waiting.front() {
            Some(front) if read.offset < front.offset + front.message.len => 0,
            _ => flow.waiting.partition_point(|w| w.offset + w.message.len <= read.offset),
        };
        for waiting in flow.waiting.iter_mut().skip(first).take_while(|w| w.offset < end) {
            let from = read.offset.max(waiting.offset);
            let part = end.min(waiting.offset + waiting.message.len) - from;
            waiting.left = waiting.left.saturating_sub(part);
            if waiting.left == 0 && waiting.message.delivered.is_none() {
                waiting.message.delivered = Some(read.at);
                flow.latencies.push((read.at - waiting.message.written).as_nanos());
            }
        }
        while flow.waiting.front().is_some_and(|w| w.message.delivered.is_some()) {
            let done = flow.waiting.pop_front();
            if let (Some(all), Some(done)) = (&mut self.all, done) {
                all.push(done.message);
            }
        }
    }

    /// A row for each sender, and every message where they were asked for, by connection and number.
    pub fn finish(self, of: &Network) -> (Vec<MessageRow>, Vec<Message>) {
        let mut all = self.all;
        let mut rows = Vec::with_capacity(self.flows.len());
        for mut flow in self.flows {
            if let Some(all) = &mut all {
                all.extend(flow.waiting.drain(..).map(|w| w.message));
            }
            rows.push(flow.row(of));
        }
        let mut all = all.unwrap_or_default();
        all.sort_by_key(|message| (message.connection, message.number));
        (rows, all)
    }
}

impl Flow {
    fn row(mut self, of: &Network) -> MessageRow {
        self.latencies.sort_unstable();
        let n = self.latencies.len();
        let count = n as f64;
        let mean = (n > 0).then(|| self.latencies.iter().map(|ns| *ns as f64).sum::<f64>() / count);
        let squares = |mean: f64| self.latencies.iter().map(|ns| (*ns as f64 - mean).powi(2)).sum::<f64>();
        let ms = |ns: f64| ns / 1e6;
        let std = mean.map(|mean| if n > 1 { (squares(mean) / (count - 1.0)).sqrt() } else { 0.0 });
        let quantile = |thousandths: usize| {
            let rank = (n * thousandths).div_ceil(1000);
            rank.checked_sub(1).map(|at| ms(self.latencies[at] as f64))
        };
        MessageRow {
            connection: self.sender.connection.number(),
            host: HostCell(of.host_name(self.sender.host).clone()),
            written: self.written,
            delivered: n as u64,
            latency_min_ms: self.latencies.first().map(|ns| ms(*ns as f64)),
            latency_mean_ms: mean.map(ms),
            latency_std_ms: std.map(ms),
            latency_max_ms: quantile(1000),
            latency_p50_ms: quantile(500),
            latency_p90_ms: quantile(900),
            latency_p95_ms: quantile(950),
            latency_p98_ms: quantile(980),
            latency_p99_ms: quantile(990),
            latency_p999_ms: quantile(999),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rexmit_network::two_hosts::CLIENT;
    use rexmit_units::Duration;

    fn ms(n: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(n)
    }

    fn log(writes: &[(u64, u64)], reads: &[(u64, u64, u64)]) -> (MessageRow, Vec<Message>) {
        let mut log = MessageLog::new(true);
        let n = log.sender(EndId { connection: ConnectionId::new(3), host: CLIENT });
        let mut offset = 0;
        for (at, len) in writes {
            log.wrote(n, &Written { at: ms(*at), offset, len: *len });
            offset += len;
        }
        for (at, offset, len) in reads {
            log.read(n, &Read { at: ms(*at), offset: *offset, len: *len });
        }
        let (mut rows, all) = log.finish(&rexmit_network::two_hosts::network());
        (rows.remove(0), all)
    }

    #[test]
    fn a_message_is_delivered_with_its_last_byte() {
        let (row, all) = log(&[(0, 100), (10, 100), (20, 50)], &[(30, 0, 150), (45, 150, 50), (60, 200, 40)]);
        assert_eq!((row.connection, row.host.name(), row.written, row.delivered), (3, "client", 3, 2));
        assert_eq!((row.latency_min_ms, row.latency_max_ms), (Some(30.0), Some(35.0)));
        assert_eq!(all.iter().map(|m| m.delivered).collect::<Vec<_>>(), [Some(ms(30)), Some(ms(45)), None]);
    }

    #[test]
    fn messages_may_overtake_each_other() {
        let (row, all) = log(&[(0, 10), (1, 10), (2, 10)], &[(5, 20, 10), (6, 0, 10), (9, 10, 10)]);
        assert_eq!(
            all.iter().map(|m| m.delivered).collect::<Vec<_>>(),
            [Some(ms(6)), Some(ms(9)), Some(ms(5))]
        );
        assert_eq!(row.latency_p50_ms, Some(6.0));
        assert_eq!(row.latency_mean_ms, Some(17e6 / 3.0 / 1e6));
    }

    #[test]
    fn nothing_delivered_has_no_latency() {
        let (row, _) = log(&[(0, 10)], &[]);
        assert_eq!((row.written, row.delivered, row.latency_mean_ms, row.latency_p99_ms), (1, 0, None, None));
    }
}
