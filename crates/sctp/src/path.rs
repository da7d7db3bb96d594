//! One path: an address of the peer, with its congestion window, timeout, timers and errors.

use std::net::IpAddr;

use rexmit_units::{Duration, Instant};

use crate::by_rate::PathRate;
use crate::congestion::{Congestion, Window};
use crate::profile::{BurstRule, CongestionConfig, Profile};
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
    pub congestion: Congestion,
    /// While one thing is answered, data leave up to this flight (Max.Burst).
    burst: u64,
    /// What a controller that goes by rate needs.
    pub by_rate: Option<Box<PathRate>>,
    /// When data that wait for their time leave, where they are paced.
    pub pace: Instant,
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
    /// Bytes that were acknowledged by gap blocks and no longer are.
    pub reneged: u64,
    /// T3 is to restart (SC section 4 step 4).
    pub restart: bool,
}

impl Path {
    pub fn new(
        profile: &Profile,
        local: IpAddr,
        remote: IpAddr,
        mtu: u32,
        mut congestion: Congestion,
    ) -> Self {
        let ip_header = if remote.is_ipv4() { 20 } else { 40 };
        // A packet holds at least a byte of data besides all headers.
        let room = mtu.saturating_sub(ip_header).max(LEAST_ROOM);
        Self {
            local,
            remote,
            room,
            rto: Rto::new(&profile.rto, profile.clock.tick),
            window: first_window(&profile.congestion, room, ip_header),
            by_rate: congestion.inner().rate_control().is_some().then(Box::default),
            congestion,
            burst: u64::MAX,
            pace: Instant::FAR_FUTURE,
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

    /// Data are about to leave in answer to something.
    #[inline]
    pub fn begin_burst(&mut self, config: &CongestionConfig) {
        if config.burst_rule == BurstRule::Temporary {
            self.burst = self.flight + u64::from(config.max_burst) * self.window.unit;
        }
    }

    /// May a chunk leave (RFC 9260 section 6.1 B and D; SC-S-1, SC-S-3)?
    #[inline]
    pub fn allows(&mut self, config: &CongestionConfig) -> bool {
        if config.burst_rule == BurstRule::Permanent {
            let most = self.flight + u64::from(config.max_burst) * self.window.unit;
            self.window.cwnd = self.window.cwnd.min(most);
        }
        if self.by_rate.is_some() {
            self.keep_own_window();
        }
        self.flight < self.window.cwnd.min(self.burst)
    }
}

/// RFC 9260 section 7.2.1; SC-P-1.
fn first_window(config: &CongestionConfig, room: u32, ip_header: u32) -> Window {
    let unit = match config.unit {
        crate::profile::WindowUnit::DataChunk => room - 12,
        crate::profile::WindowUnit::PathMtu => room + ip_header,
    };
    let unit = u64::from(unit);
    let cwnd = (4 * unit).min((2 * unit).max(config.initial_bytes.0));
    Window { cwnd, ssthresh: u64::MAX, unit }
}

/// Common header, DATA header and four bytes: what any packet holds.
const LEAST_ROOM: u32 = 12 + 20 + 4;
