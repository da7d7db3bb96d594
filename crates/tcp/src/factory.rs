//! The model as an entry of the registry of stacks.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use rexmit_stack::{
    About, Counters, EndSettings, HostSettings, Outbox, RandomStream, RngCore, RunSettings, SettingError,
    SocketWish, StackEnd, StackFactory, StackRun,
};
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use crate::host_cache::{HostCache, SharedHostCache};
use crate::wish::with_wish;
use crate::{Connection, ConnectionConfig, Profile};

/// The TCP model; a host's profile says how it behaves.
#[derive(Clone, Copy, Debug)]
pub struct TcpModel;

static ABOUT: About = About::model("the TCP model, by the host's profile", &["tcp"]);

impl StackFactory for TcpModel {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_sockets(&self, host: &HostSettings<'_>, wish: &SocketWish) -> Result<Vec<String>, SettingError> {
        Ok(with_wish(&host.profile_of()?, wish)?.1)
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let mut hosts = Vec::with_capacity(run.hosts.len());
        for host in run.hosts {
            let numbers = (run.streams)(&host.key("iss"));
            let profile: Arc<Profile> = host.profile_of()?;
            let keeps = profile.host_cache.as_ref().is_some_and(|kept| kept.on);
            let host_cache = keeps.then(SharedHostCache::default);
            hosts.push(Host { profile, mtu: host.mtu, numbers, host_cache, wished: None });
        }
        Ok(Box::new(TcpRun { hosts }))
    }
}

/// The model started for a run.
pub struct TcpRun {
    hosts: Vec<Host>,
}

struct Host {
    profile: Arc<Profile>,
    mtu: u32,
    /// Initial sequence numbers, one after the other.
    numbers: RandomStream,
    /// What it keeps of connections that have ended, where it does.
    host_cache: Option<SharedHostCache>,
    /// What a transfer asked of its sockets last, and the profile that this makes.
    wished: Option<(Arc<SocketWish>, Arc<Profile>)>,
}

impl Host {
    /// The profile of a socket.
    fn profile(&mut self, wish: Option<&Arc<SocketWish>>) -> Arc<Profile> {
        let Some(wish) = wish else { return self.profile.clone() };
        if let Some((_, profile)) = self.wished.as_ref().filter(|(known, _)| known == wish) {
            return profile.clone();
        }
        // What cannot be was refused by `check_sockets`, or is to have no effect.
        let profile =
            with_wish(&self.profile, wish).map_or_else(|_| self.profile.clone(), |(profile, _)| profile);
        self.wished.insert((wish.clone(), profile)).1.clone()
    }
}

impl StackRun for TcpRun {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        Ok(Box::new(self.connection(host, end)))
    }
}

impl TcpRun {
    /// [`StackRun::endpoint`] as it is, for whoever has room for it.
    #[inline]
    pub fn connection(&mut self, host: usize, end: &EndSettings) -> Connection {
        let host = &mut self.hosts[host];
        Connection::new(ConnectionConfig {
            profile: host.profile(end.wish.as_ref()),
            local: end.local,
            remote: end.remote,
            iss: SeqNumber(host.numbers.next_u32()),
            mtu: host.mtu,
            phase: end.phase,
            role: end.role,
            host_cache: host.host_cache.clone(),
        })
    }

    /// What a host keeps of connections that have ended; `None` of one that keeps nothing.
    pub fn host_cache(&self, host: usize) -> Option<HostCache> {
        self.hosts[host].host_cache.as_ref().map(|cache| cache.borrow().clone())
    }

    /// Gives a host what it kept in a run before this one, where it keeps something. Call it before the first end is made.
    pub fn set_host_cache(&mut self, host: usize, kept: HostCache) {
        if let Some(cache) = &mut self.hosts[host].host_cache {
            *cache = Rc::new(RefCell::new(kept));
        }
    }
}

impl StackEnd for Connection {
    #[inline]
    fn counters(&self) -> &Counters {
        self.counters()
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced_bytes()
    }

    #[inline]
    fn swap_outbox(&mut self, _now: Instant, outbox: &mut Outbox) {
        self.swap_outbox(outbox);
    }

    fn initial_number(&self) -> Option<SeqNumber> {
        Some(self.initial_sequence())
    }

    fn has_received(&self, from: SeqNumber, end: SeqNumber) -> bool {
        self.has_received(from, end)
    }
}
