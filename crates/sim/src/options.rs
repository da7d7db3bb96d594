//! What a run is asked to write down.

use std::path::{Path, PathBuf};

use rexmit_network::two_hosts::choose;
use rexmit_network::{ByHost, HostId};
use rexmit_scenario::Sampling;
use rexmit_tcp::congestion::Congestion;

use crate::stop::Stop;

/// What a single run writes down beside its row.
#[derive(Clone, Debug, Default)]
pub struct RunOptions {
    /// By host, the file of its capture, as pcapng; empty for none.
    pub capture_files: ByHost<Option<PathBuf>>,
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
    /// Captures of both hosts as bytes in [`crate::Outcome::captures`]; no file then.
    pub captures: bool,
    /// Ends the run early: it is then an error.
    pub stop: Stop,
    /// Congestion control of each of the server's connections, in place of the one that its profile names: a
    /// TCP's of the model. Each connection gets a copy.
    pub congestion_server: Option<Congestion>,
    /// The same for the client.
    pub congestion_client: Option<Congestion>,
}

impl RunOptions {
    /// Where the capture at a host goes, if it goes to a file.
    pub fn capture_at(&self, host: HostId) -> Option<&Path> {
        self.capture_files.get(host)?.as_deref()
    }

    /// The congestion control of a host's connections, where it is not that of its profile.
    pub fn congestion_at(&self, host: HostId) -> Option<&Congestion> {
        choose(host, &self.congestion_server, &self.congestion_client).as_ref()
    }
}
