//! What a run is asked to write down.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use rexmit_network::{ByHost, HostId};
use rexmit_scenario::Sampling;
use rexmit_stacks::{OwnCongestion, OwnParts};
use rexmit_tcp::recovery::OwnRecovery;

use crate::caches::Caches;
use crate::stop::Stop;

/// What a single run writes down besides its row.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// By host, the file of its capture, as pcapng; empty for none.
    pub capture_files: ByHost<Option<PathBuf>>,
    /// Most bytes of a packet that the captures keep. Absent: all.
    pub capture_snap_len: Option<u32>,
    /// Beside each file of a capture, the logs of its host's QUIC ends as their code writes them (qlog): `run-1-server-0.sqlog`
    /// of connection 0 beside `run-1-server.pcapng`.
    pub qlog: bool,
    /// Comment of the captures.
    pub comment: Option<String>,
    /// State over time, and when it is noted.
    pub state: Option<Sampling>,
    /// The path's verdicts.
    pub verdicts: bool,
    /// Every packet that a TCP sent, with the reason.
    pub transmissions: bool,
    /// Every message that an application wrote, and when it was delivered.
    pub messages: bool,
    /// What the hosts kept of connections before this run.
    pub caches: Caches,
    /// Captures of both hosts as bytes in [`crate::Outcome::captures`]; no file then.
    pub captures: bool,
    /// Ends the run early: it is then an error.
    pub stop: Stop,
    /// Parts of the models that come from outside, in place of those that a host's profile names. Each connection of the
    /// host gets a copy.
    pub own: BTreeMap<HostId, OwnParts>,
}

impl RunOptions {
    /// Where the capture at a host goes, if it goes to a file.
    pub fn capture_at(&self, host: HostId) -> Option<&Path> {
        self.capture_files.get(host)?.as_deref()
    }

    /// Where the logs of a host's ends go, except the number of the connection and the suffix.
    pub(crate) fn qlog_at(&self, host: HostId) -> Option<PathBuf> {
        self.capture_at(host).filter(|_| self.qlog && !self.captures).map(|path| path.with_extension(""))
    }

    /// Gives the connections of a host this congestion control: [`rexmit_tcp::congestion::Congestion::own`], or
    /// `rexmit_sctp::congestion::Congestion::own`, of which each path of an association gets a copy.
    #[must_use]
    pub fn with_congestion(mut self, host: HostId, own: impl Into<OwnCongestion>) -> Self {
        self.own.entry(host).or_default().congestion = Some(own.into());
        self
    }

    /// Gives the TCP connections of a host this way to recover from loss.
    #[must_use]
    pub fn with_recovery(mut self, host: HostId, own: OwnRecovery) -> Self {
        self.own.entry(host).or_default().recovery = Some(own);
        self
    }
}
