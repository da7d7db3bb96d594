//! What a run is asked to write down.

use std::path::{Path, PathBuf};

use rexmit_network::HostId;
use rexmit_network::two_hosts::choose;
use rexmit_scenario::Sampling;
use rexmit_tcp::congestion::Congestion;
use serde::{Deserialize, Serialize};

use crate::caches::Caches;
use crate::stop::Stop;

/// What a single run writes down beside its row.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RunOptions {
    /// Capture at the server, as pcapng.
    pub capture_server: Option<PathBuf>,
    /// Capture at the client, as pcapng.
    pub capture_client: Option<PathBuf>,
    /// Most bytes of a packet that the captures keep. Absent: all.
    pub capture_snap_len: Option<u32>,
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
    #[serde(skip)]
    pub captures: bool,
    /// Ends the run early: it is then an error.
    #[serde(skip)]
    pub stop: Stop,
    /// Congestion control of each of the server's connections, in place of the one that its profile names: a
    /// TCP's of the model. Each connection gets a copy.
    #[serde(skip)]
    pub congestion_server: Option<Congestion>,
    /// The same for the client.
    #[serde(skip)]
    pub congestion_client: Option<Congestion>,
}

impl RunOptions {
    /// Where the capture at a host goes, if it goes to a file.
    pub fn capture_at(&self, host: HostId) -> Option<&Path> {
        choose(host, &self.capture_server, &self.capture_client).as_deref()
    }

    /// The congestion control of a host's connections, where it is not that of its profile.
    pub fn congestion_at(&self, host: HostId) -> Option<&Congestion> {
        choose(host, &self.congestion_server, &self.congestion_client).as_ref()
    }
}
