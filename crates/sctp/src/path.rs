//! One path: an address of the peer, with its congestion window, timeout, timers and errors.

use std::net::IpAddr;

use rexmit_units::{Duration, Instant};

use crate::profile::{BurstRule, CongestionConfig, PartialBytes, Profile};
use crate::rto::Rto;

/// A path to the peer (RFC 9260 section 14.3).
#[derive(Clone, Debug)]
pub(crate) struct Path {
    /// Our address, from which packets leave.
    pub local: IpAddr,
    /// The peer's address.
    pub remote: IpAddr,
    /// Packets are no longer than this, in bytes after the IP header.
    pub room: u32,
    pub rto: Rto,
    pub window: Window,
    /// Bytes of user data in flight: sent, neither acknowledged nor marked for retransmission.
    pub flight: u64,
    /// A chunk is being timed.
    pub timing: bool,
    /// When T3 is due; [`Instant::FAR_FUTURE`] if it does not run.
    pub t3: Instant,
    /// When a heartbeat is due.
    pub heartbeat_due: Instant,
    /// A heartbeat that is not answered: its nonce and when it left.
    pub heartbeat: Option<(u64, Instant)>,
    /// Expiries in a row.
    pub errors: u32,
    /// Expiries of T3 in a row.
    pub backoff: u32,
    /// False after too many errors (RFC 9260 section 8.2).
    pub active: bool,
    /// The peer has shown that the address is its own (RFC 9260 section 5.4).
    pub confirmed: bool,
    /// When data last left on it.
    pub last_data: Instant,
    /// What the SACK that is being looked at says of it.
    pub tally: Tally,
}

/// What one SACK says of a path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally {
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes that were acknowledged by gap blocks and no more are.
    pub reneged: u64,
    /// T3 is to start anew (SC section 4 step 4).
    pub restart: bool,
}

impl Path {
    pub fn new(profile: &Profile, local: IpAddr, remote: IpAddr, mtu: u32) -> Self {
        let ip_header = if remote.is_ipv4() { 20 } else { 40 };
        // A packet holds at least a byte of data beside all headers.
        let room = mtu.saturating_sub(ip_header).max(LEAST_ROOM);
        Self {
            local,
            remote,
            room,
            rto: Rto::new(&profile.rto, profile.clock.tick),
            window: Window::new(&profile.congestion, room, ip_header),
            flight: 0,
            timing: false,
            t3: Instant::FAR_FUTURE,
            heartbeat_due: Instant::FAR_FUTURE,
            heartbeat: None,
            errors: 0,
            backoff: 0,
            active: true,
            confirmed: false,
            last_data: Instant::ZERO,
            tally: Tally::default(),
        }
    }

    #[inline]
    pub fn t3_runs(&self) -> bool {
        self.t3 != Instant::FAR_FUTURE
    }

    /// Before new data leave after a pause: the window may fall, by half for each timeout (RFC 9260 section 7.2.1).
    pub fn note_idle(&mut self, now: Instant) {
        let rto = self.rto.get();
        let mut idle = now.saturating_since(self.last_data);
        let least = 4 * self.window.unit;
        if self.flight > 0 || idle <= rto || self.window.cwnd <= least {
            return;
        }
        self.window.ssthresh = self.window.cwnd;
        while idle > rto && self.window.cwnd > least {
            idle = Duration::from_nanos(idle.as_nanos() - rto.as_nanos());
            self.window.cwnd = (self.window.cwnd / 2).max(least);
        }
    }
}

/// Common header, DATA header and four bytes: what any packet holds.
const LEAST_ROOM: u32 = 12 + 20 + 4;

/// The congestion window of a path (RFC 9260 section 7.2), in bytes.
#[derive(Clone, Debug)]
pub(crate) struct Window {
    pub cwnd: u64,
    /// [`u64::MAX`] while unlimited.
    pub ssthresh: u64,
    /// partial_bytes_acked.
    pub partial: u64,
    /// One step: the PMDCS or the PMTU.
    pub unit: u64,
    /// While one thing is answered, data leave up to this flight (Max.Burst).
    limit: u64,
}

impl Window {
    fn new(config: &CongestionConfig, room: u32, ip_header: u32) -> Self {
        let unit = match config.unit {
            crate::profile::WindowUnit::DataChunk => room - 12,
            crate::profile::WindowUnit::PathMtu => room + ip_header,
        };
        let unit = u64::from(unit);
        // RFC 9260 section 7.2.1; SC-P-1.
        let cwnd = (4 * unit).min((2 * unit).max(config.initial_bytes.0));
        Self { cwnd, ssthresh: u64::MAX, partial: 0, unit, limit: u64::MAX }
    }

    /// Data are about to leave in answer to something.
    #[inline]
    pub fn begin_burst(&mut self, config: &CongestionConfig, flight: u64) {
        if config.burst_rule == BurstRule::Temporary {
            self.limit = flight + u64::from(config.max_burst) * self.unit;
        }
    }

    /// May a chunk leave while so much is in flight (RFC 9260 section 6.1 B and D; SC-S-1, SC-S-3)?
    #[inline]
    pub fn allows(&mut self, config: &CongestionConfig, flight: u64) -> bool {
        if config.burst_rule == BurstRule::Permanent {
            self.cwnd = self.cwnd.min(flight + u64::from(config.max_burst) * self.unit);
        }
        flight < self.cwnd.min(self.limit)
    }

    /// A SACK acknowledged `acked` bytes of the `flight` before it (RFC 9260 sections 7.2.1 and 7.2.2; SC-C-1 to 3).
    pub fn grow(&mut self, config: &CongestionConfig, acked: u64, flight: u64, moved: bool) {
        let full = flight >= self.cwnd;
        if self.cwnd <= self.ssthresh {
            if full && moved {
                self.cwnd += acked.min(self.unit);
            }
            return;
        }
        match config.partial_bytes {
            PartialBytes::LessOldWindow => {
                self.partial += acked;
                if !full {
                    self.partial = self.partial.min(self.cwnd);
                } else if self.partial >= self.cwnd {
                    self.partial -= self.cwnd;
                    self.cwnd += self.unit;
                }
            }
            PartialBytes::LessNewWindow if full && moved => {
                self.partial += acked;
                if self.partial >= self.cwnd {
                    self.cwnd += self.unit;
                    self.partial = self.partial.saturating_sub(self.cwnd);
                }
            }
            PartialBytes::LessNewWindow => {}
        }
    }

    /// Lowered by a fast retransmit (RFC 9260 section 7.2.3; SC-C-4).
    pub fn on_fast_retransmit(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(4 * self.unit);
        self.cwnd = self.ssthresh;
        self.partial = 0;
    }

    /// Lowered by an expiry of T3 (RFC 9260 section 7.2.3; SC-C-4).
    pub fn on_timeout(&mut self) {
        self.ssthresh = (self.cwnd / 2).max(4 * self.unit);
        self.cwnd = self.unit;
        self.partial = 0;
    }
}
