//! One side of an association: what it sent, and what is known of it.

use std::net::{IpAddr, SocketAddr};

use rexmit_units::Instant;

use super::super::control::{Controls, Heartbeats};
use super::super::copies::Copies;
use super::super::half::Half;
use super::super::path::Paths;
use super::super::rows::{CauseCounts, SctpSideRow};
use crate::core::spread::Spread;
use crate::options::Options;

/// One side of an association.
#[derive(Debug)]
pub(super) struct Side {
    pub(super) row: SctpSideRow,
    /// Its DATA, and the other side's SACKs for it.
    pub(super) half: Half,
    pub(super) paths: Paths,
    pub(super) copies: Copies,
    pub(super) controls: Controls,
    pub(super) heartbeats: Heartbeats,
    /// Since when its window is closed.
    pub(super) zero: Option<Instant>,
    /// A right checksum of it was seen.
    pub(super) right: bool,
    /// It has been answered.
    pub(super) sack_seen: Option<Instant>,
}

impl Side {
    pub(super) fn new(address: SocketAddr, options: &Options) -> Self {
        Self {
            row: SctpSideRow::new(address),
            half: Half::new(options.missing_reports, &options.policy.sctp),
            paths: Paths::default(),
            copies: Copies::default(),
            controls: Controls::default(),
            heartbeats: Heartbeats::default(),
            zero: None,
            right: false,
            sack_seen: None,
        }
    }

    /// Bytes that it takes besides itself.
    pub(super) fn heap(&self) -> usize {
        let addresses = self.row.addresses.capacity() * size_of::<IpAddr>();
        self.half.heap()
            + self.paths.heap()
            + self.copies.heap()
            + self.controls.heap()
            + self.heartbeats.heap()
            + addresses
    }

    /// It advertised a window.
    pub(super) fn window(&mut self, window: u32, time: Instant) {
        let row = &mut self.row;
        row.min_window = Some(row.min_window.map_or(window, |min| min.min(window)));
        row.max_window = Some(row.max_window.map_or(window, |max| max.max(window)));
        match (window, self.zero) {
            (0, None) => {
                row.zero_windows += 1;
                self.zero = Some(time);
            }
            (1.., Some(zero)) => {
                row.zero_window_time += time.saturating_since(zero).as_nanos();
                self.zero = None;
            }
            _ => {}
        }
    }
}

impl SctpSideRow {
    /// One of which nothing is known but an address.
    fn new(address: SocketAddr) -> Self {
        Self {
            address,
            addresses: vec![address.ip()],
            tag: None,
            initial_tsn: None,
            initial_tsn_known: false,
            outbound_streams: None,
            inbound_streams: None,
            interleaving: false,
            partial_reliability: false,
            packets: 0,
            data_packets: 0,
            chunks: 0,
            unique_chunks: 0,
            messages: 0,
            bytes: 0,
            unique_bytes: 0,
            retransmitted_chunks: 0,
            retransmitted_bytes: 0,
            reordered_chunks: 0,
            copies: 0,
            damaged: 0,
            cut: 0,
            unseen_chunks: 0,
            abandoned_chunks: 0,
            first_data: None,
            last_data: None,
            last_acked: None,
            acked_bytes: 0,
            goodput: None,
            throughput: None,
            max_outstanding: 0,
            causes: CauseCounts::default(),
            not_needed: 0,
            control_retransmissions: 0,
            heartbeats: 0,
            heartbeat_acks: 0,
            sacks: 0,
            gap_sacks: 0,
            duplicate_tsns: 0,
            reneged: 0,
            min_window: None,
            max_window: None,
            zero_windows: 0,
            zero_window_time: 0,
            sack_delay: Spread::default(),
            packets_per_sack: None,
            rtt: Spread::default(),
            rtt_heartbeat: Spread::default(),
        }
    }

    pub(super) fn address_seen(&mut self, address: IpAddr) {
        if self.addresses.len() < MOST_ADDRESSES && !self.addresses.contains(&address) {
            self.addresses.push(address);
        }
    }
}

/// More addresses than this are not listed.
const MOST_ADDRESSES: usize = 64;
