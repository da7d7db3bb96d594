//! What a FreeBSD host keeps of connections that have ended, for the next ones to the same address: `tcp_hostcache` of
//! 5.2 and later, the metrics of routes of 4.x (FB-HC-1 to FB-HC-10).
//!
//! [`HostCache`] has the entries and forgets them in time; what a connection makes of an entry, and which values it
//! leaves there, is the connection's business (`connection::cached`).
//!
//! Not modelled: the limits of 30 entries a bucket and 15360 in all, which a host with so few peers never meets; the
//! path MTU that ICMP reports; pipe sizes, which TCP itself never writes; locked metrics of routes.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;

use rexmit_units::{Duration, Instant};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A host's cache of metrics of its peers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HostCacheConfig {
    /// Whether the host keeps one. Off, no connection knows of another.
    pub on: bool,
    /// Which values an ended connection leaves.
    pub update: CacheUpdate,
    /// Fewest RTT samples of a connection that leaves anything (FB-HC-2).
    pub samples: u32,
    /// How the cached window limits the first window of a connection (FB-HC-6).
    pub first_window: CachedWindow,
    /// An entry lives this long after it was last read or written, and then until the next look at all of them.
    pub expire: Duration,
    /// All entries are looked at this often, counted from the host's start.
    pub prune: Duration,
}

/// Which values an ended connection leaves (FB-HC-3, FB-HC-4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CacheUpdate {
    /// As it enters TIME-WAIT or ends: what is not 0 enters the mean with what was there. The slow-start threshold counts
    /// where it is below half the send buffer (5.2 and later: `tcp_discardcb`, `tcp_hc_update`).
    HostCache,
    /// When TIME-WAIT is over, or it ends otherwise: the slow-start threshold counts also where the route has one already;
    /// neither the window nor the bandwidth is kept (4.x: `tcp_close`).
    RouteMetrics,
}

/// How the cached window limits the first window of a connection (FB-HC-6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CachedWindow {
    /// Nothing (4.x).
    Unused,
    /// Half of it bounds the first window, and so does the peer's window, which is looked at before it is known and taken
    /// for 0: one segment is left (5.x, 6.x).
    OneSegment,
    /// The same at a passive opener; an active one has noted the window of the SYN-ACK before it looks, so half of the
    /// cached window is left, as far as that window and the send buffer allow (7.x).
    HalfAfterSynAck,
}

impl HostCacheConfig {
    /// Checks what the types allow and no host has.
    ///
    /// # Errors
    /// The key and what is allowed, one line.
    pub(crate) fn check(&self) -> Result<(), (&'static str, String)> {
        if self.expire.is_zero() || self.prune.is_zero() {
            return Err(("host_cache.prune", "expire and prune are longer than zero".into()));
        }
        Ok(())
    }
}

/// Metrics of a peer. 0 stands for what is not known, as in the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Metrics {
    /// Slow-start threshold in bytes, with 40 bytes of header for each segment (60 of IPv6).
    pub ssthresh: u32,
    /// Smoothed round-trip time in 1/32 of a tick.
    pub srtt: u32,
    /// Its variation in 1/16 of a tick.
    pub rttvar: u32,
    /// Congestion window in bytes.
    pub cwnd: u32,
    /// Bandwidth by `inflight` in bytes a second.
    pub bandwidth: u32,
}

impl Metrics {
    /// `new` beside what was there (`tcp_hc_update`): the mean of both, or the only one that is known.
    fn mean(self, new: Self) -> Self {
        let of = |old: u32, new: u32| match (old, new) {
            (0, new) => new,
            (old, 0) => old,
            (old, new) => mean(old, new),
        };
        Self {
            ssthresh: of(self.ssthresh, new.ssthresh),
            srtt: of(self.srtt, new.srtt),
            rttvar: of(self.rttvar, new.rttvar),
            cwnd: of(self.cwnd, new.cwnd),
            bandwidth: of(self.bandwidth, new.bandwidth),
        }
    }

    /// The same for a route (`tcp_close` of 4.x): a time that is not known takes the place of one that is.
    fn of_route(self, new: Self) -> Self {
        let time = |old: u32, new: u32| if old != 0 && new != 0 { mean(old, new) } else { new };
        Self {
            srtt: time(self.srtt, new.srtt),
            rttvar: time(self.rttvar, new.rttvar),
            cwnd: 0,
            bandwidth: 0,
            ..self.mean(new)
        }
    }
}

fn mean(a: u32, b: u32) -> u32 {
    u64::midpoint(a.into(), b.into()) as u32
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    metrics: Metrics,
    /// The host's age when the entry was last read or written.
    used: Duration,
}

/// Metrics that are written later: at the end of TIME-WAIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Late {
    due: Duration,
    peer: IpAddr,
    metrics: Metrics,
}

/// What a host keeps of its peers. Its clock is the host's age, which goes on from run to run of a sequence.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostCache {
    /// The host's age at the start of the present run.
    age: Duration,
    entries: BTreeMap<IpAddr, Entry>,
    late: Vec<Late>,
}

/// A host's cache as its connections have it.
pub type SharedHostCache = Rc<RefCell<HostCache>>;

impl HostCache {
    /// What is known of `peer` at `now`; reading it keeps it for longer.
    pub(crate) fn read(&mut self, config: &HostCacheConfig, now: Instant, peer: IpAddr) -> Option<Metrics> {
        let age = self.settle(config, now);
        let entry = self.entries.get_mut(&peer)?;
        entry.used = age;
        Some(entry.metrics)
    }

    /// What is known of `peer` at `now`, for a look without a use.
    pub(crate) fn look(&mut self, config: &HostCacheConfig, now: Instant, peer: IpAddr) -> Option<Metrics> {
        self.settle(config, now);
        self.entries.get(&peer).map(|entry| entry.metrics)
    }

    /// A connection to `peer` leaves `metrics`, `after` a time from `now`.
    pub(crate) fn write(
        &mut self,
        config: &HostCacheConfig,
        now: Instant,
        (peer, after): (IpAddr, Duration),
        metrics: Metrics,
    ) {
        let due = self.settle(config, now) + after;
        let place = self.late.partition_point(|late| late.due <= due);
        self.late.insert(place, Late { due, peer, metrics });
        self.settle(config, now);
    }

    /// The present run has taken this long, and the next one begins this much later.
    pub fn pass(&mut self, time: Duration) {
        self.age += time;
    }

    /// Writes what is due and forgets what has expired; the host's age.
    fn settle(&mut self, config: &HostCacheConfig, now: Instant) -> Duration {
        let age = self.age + (now - Instant::ZERO);
        let due = self.late.partition_point(|late| late.due <= age);
        for late in self.late.drain(..due).collect::<Vec<_>>() {
            self.prune(config, late.due);
            let old = self.entries.get(&late.peer).map(|entry| entry.metrics).unwrap_or_default();
            let metrics = match config.update {
                CacheUpdate::HostCache => old.mean(late.metrics),
                CacheUpdate::RouteMetrics => old.of_route(late.metrics),
            };
            self.entries.insert(late.peer, Entry { metrics, used: late.due });
        }
        self.prune(config, age);
        age
    }

    /// Forgets what the last look at all entries, at this age or before, found expired (`tcp_hc_purge`): 13 looks of 300 s
    /// after its last use where an entry expires after 3600 s.
    fn prune(&mut self, config: &HostCacheConfig, age: Duration) {
        let prune = config.prune.as_nanos().max(1);
        let last = Duration::from_nanos(age.as_nanos() / prune * prune);
        self.entries.retain(|_, entry| last <= entry.used + config.expire);
    }
}

#[cfg(test)]
#[path = "host_cache_tests.rs"]
mod tests;
