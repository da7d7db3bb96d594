//! Paths: pairs of addresses.

use std::net::IpAddr;

use rexmit_units::{Duration, Instant};

use super::data::Outcome;
use super::rows::{PathRow, SctpRows};
use crate::core::side::SideName;
use crate::core::spread::{Samples, Spread};
use crate::limits::PATHS;

/// The paths that one side sends on, numbered from 0.
#[derive(Debug, Default)]
pub(super) struct Paths {
    paths: Vec<Path>,
}

#[derive(Debug)]
struct Path {
    row: PathRow,
    data: Samples,
    heartbeats: Samples,
}

impl Paths {
    /// A packet took a path: its number; `None` where there are too many to tell apart.
    pub(super) fn packet(&mut self, src: IpAddr, dst: IpAddr, time: Instant) -> Option<u32> {
        let at = self.paths.iter().position(|path| path.row.src == src && path.row.dst == dst);
        if at.is_none() && self.paths.len() == PATHS {
            return None;
        }
        let at = at.unwrap_or_else(|| {
            // Most associations have one.
            self.paths.reserve_exact(1);
            self.paths.push(Path::new(src, dst, time));
            self.paths.len() - 1
        });
        let row = &mut self.paths[at].row;
        row.packets += 1;
        row.end = row.end.max(time);
        Some(at as u32)
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        let samples = self.paths.iter().map(|path| path.data.heap() + path.heartbeats.heap()).sum::<usize>();
        samples + self.paths.capacity() * size_of::<Path>()
    }

    /// DATA chunks went on a path.
    pub(super) fn data(&mut self, path: u32, chunks: u64, bytes: u64, outcome: &Outcome) {
        let row = &mut self.paths[path as usize].row;
        row.chunks += chunks;
        row.bytes += bytes;
        row.retransmitted_chunks += outcome.again.chunks;
        row.retransmitted_bytes += outcome.again.bytes;
        row.moved_chunks += outcome.moved;
        if let Some(path) = outcome.timeout.and_then(|path| self.paths.get_mut(path as usize)) {
            path.row.timeouts += 1;
        }
    }

    /// On how many paths DATA was sent.
    pub(super) fn with_data(&self) -> usize {
        self.paths.iter().filter(|path| path.row.chunks > 0).count()
    }

    /// A HEARTBEAT went on a path.
    pub(super) fn heartbeat(&mut self, path: u32) {
        self.paths[path as usize].row.heartbeats += 1;
    }

    /// DATA of a path was timed; gives where it goes.
    pub(super) fn data_sample(&mut self, path: u32, rtt: Duration) -> IpAddr {
        let path = &mut self.paths[path as usize];
        path.data.add(rtt.as_nanos());
        path.row.dst
    }

    /// A HEARTBEAT of a path was answered; gives where it goes.
    pub(super) fn heartbeat_sample(&mut self, path: u32, rtt: Duration) -> IpAddr {
        let path = &mut self.paths[path as usize];
        path.row.heartbeats_answered += 1;
        path.heartbeats.add(rtt.as_nanos());
        path.row.dst
    }

    /// Gives the rows.
    pub(super) fn finish(&mut self, association: u32, side: SideName, rows: &mut SctpRows) {
        rows.paths.extend(self.paths.drain(..).map(|path| PathRow {
            association,
            side,
            rtt: path.data.spread(),
            rtt_heartbeat: path.heartbeats.spread(),
            ..path.row
        }));
    }
}

impl Path {
    fn new(src: IpAddr, dst: IpAddr, time: Instant) -> Self {
        let row = PathRow {
            association: 0,
            side: SideName::Client,
            src,
            dst,
            start: time,
            end: time,
            packets: 0,
            chunks: 0,
            bytes: 0,
            retransmitted_chunks: 0,
            retransmitted_bytes: 0,
            moved_chunks: 0,
            timeouts: 0,
            heartbeats: 0,
            heartbeats_answered: 0,
            rtt: Spread::default(),
            rtt_heartbeat: Spread::default(),
        };
        Self { row, data: Samples::default(), heartbeats: Samples::default() }
    }
}
