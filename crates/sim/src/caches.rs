//! What hosts keep of connections that have ended, on its way from a run to the next.

use std::collections::BTreeMap;

use rexmit_tcp::HostCache;
use rexmit_units::Duration;
use serde::{Deserialize, Serialize};

/// What each host keeps, by its name; empty where the hosts have just been started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Caches(BTreeMap<String, HostCache>);

impl Caches {
    /// What a host keeps.
    pub(crate) fn of(&self, host: &str) -> Option<&HostCache> {
        self.0.get(host)
    }

    /// A host keeps this.
    pub(crate) fn set(&mut self, host: &str, kept: HostCache) {
        self.0.insert(host.into(), kept);
    }

    /// This much time goes by before the next run begins.
    pub fn pass(&mut self, time: Duration) {
        self.0.values_mut().for_each(|kept| kept.pass(time));
    }
}
