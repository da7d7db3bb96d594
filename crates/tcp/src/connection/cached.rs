//! What a connection takes from its host's cache as it begins, and leaves there as it ends.

use rexmit_stack::Cached;
use rexmit_units::{Duration, Instant};

use super::{Role, State, Tcb};
use crate::host_cache::{CacheUpdate, CachedWindow, HostCacheConfig, Metrics, SharedHostCache};
use crate::profile::Profile;

/// BSD's threshold of a connection without a loss: 65535 << 14 (FB-IW-4).
const UNLIMITED: u32 = 65_535 << 14;

/// A connection's access to the cache of its host.
#[derive(Debug)]
pub(crate) struct CacheAccess {
    config: HostCacheConfig,
    cache: SharedHostCache,
    /// What was found.
    found: Option<Metrics>,
    written: bool,
}

impl CacheAccess {
    /// To this cache, where the profile turns it on.
    pub fn new(profile: &Profile, cache: Option<SharedHostCache>) -> Option<Box<Self>> {
        let config = profile.host_cache.clone().filter(|kept| kept.on)?;
        Some(Box::new(Self { config, cache: cache?, found: None, written: false }))
    }

    /// The cache, for another connection of the host.
    pub fn share(&self) -> SharedHostCache {
        self.cache.clone()
    }
}

impl Tcb {
    /// Begins from what earlier connections left (`tcp_mss`; FB-HC-5, FB-HC-6, FB-HC-7). `known` is the peer's window as
    /// far as the system has noted it by then.
    pub(super) fn begin_from_cache(&mut self, now: Instant, known: u32) {
        let Some(access) = &mut self.host_cache else { return };
        let found = access.cache.borrow_mut().read(&access.config, now, self.remote.ip);
        access.found = found;
        let first_window = access.config.first_window;
        let Some(found) = found else { return };
        if found.srtt != 0 {
            self.rtt.begin_from(found.srtt, found.rttvar);
        }
        let mss = self.snd.mss;
        if found.ssthresh != 0 {
            self.window.ssthresh = found.ssthresh.max(2 * mss);
        }
        if let Some(inflight) = &mut self.inflight {
            inflight.begin_from(found.bandwidth, found.srtt);
        }
        let known = match (first_window, self.role) {
            (CachedWindow::Unused, _) => return,
            (CachedWindow::HalfAfterSynAck, Role::Active) => known,
            (CachedWindow::HalfAfterSynAck | CachedWindow::OneSegment, _) => 0,
        };
        if found.cwnd != 0 {
            self.window.cwnd = (found.cwnd / 2).min(known).min(self.buffer.limit).max(mss);
        }
    }

    /// Leaves the connection's metrics once it is over (`tcp_discardcb`, `tcp_close` of 4.x; FB-HC-2 to FB-HC-4).
    #[inline]
    pub(super) fn leave_to_cache(&mut self, now: Instant) {
        if self.host_cache.is_some() && matches!(self.state, State::TimeWait | State::Closed) {
            self.leave_metrics(now);
        }
    }

    fn leave_metrics(&mut self, now: Instant) {
        let metrics = self.metrics();
        let (samples, peer) = (self.rtt.samples(), self.remote.ip);
        let header = if self.local.ip.is_ipv4() { 40 } else { 60 };
        let time_wait =
            if self.state == State::TimeWait { self.profile.clock.msl * 2 } else { Duration::ZERO };
        let (limit, mss) = (self.buffer.limit, self.snd.mss);
        let Some(access) = &mut self.host_cache else { return };
        if access.written || samples < access.config.samples {
            return;
        }
        access.written = true;
        let mut cache = access.cache.borrow_mut();
        let low = metrics.ssthresh < limit / 2;
        let (counts, after) = match access.config.update {
            CacheUpdate::HostCache => (low, Duration::ZERO),
            CacheUpdate::RouteMetrics => {
                let now_cached = cache.look(&access.config, now, peer);
                (low || now_cached.is_some_and(|old| old.ssthresh != 0), time_wait)
            }
        };
        let packets = ((metrics.ssthresh + mss / 2) / mss).max(2);
        let ssthresh = if counts { packets.saturating_mul(mss + header) } else { 0 };
        cache.write(&access.config, now, (peer, after), Metrics { ssthresh, ..metrics });
    }

    /// The metrics as they are, the threshold in bytes of data.
    fn metrics(&self) -> Metrics {
        let (srtt, rttvar) = self.rtt.fixed_point();
        Metrics {
            ssthresh: self.window.ssthresh.min(UNLIMITED),
            srtt,
            rttvar,
            cwnd: self.window.cwnd,
            bandwidth: self.inflight.as_ref().map_or(0, |inflight| inflight.bandwidth()),
        }
    }

    /// What was found, for tables.
    pub(super) fn cached(&self) -> Cached {
        let known = |n: u32| (n != 0).then_some(u64::from(n));
        let found = self.host_cache.as_ref().and_then(|access| access.found).unwrap_or_default();
        let tick = self.profile.rtt.tick.as_nanos();
        let rtt = known(found.srtt).map(|srtt| Duration::from_nanos((tick * srtt) >> 5));
        Cached { ssthresh: known(found.ssthresh), rtt, cwnd: known(found.cwnd) }
    }
}
