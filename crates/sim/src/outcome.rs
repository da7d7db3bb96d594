//! What a run gives.

use rexmit_network::ByHost;
use rexmit_path::Unreached;
use rexmit_scenario::{Message, Row, StateRow, VerdictRow};

use crate::caches::Caches;
use crate::truth::TransmissionRow;

/// All that a run was asked to give.
#[derive(Clone, Debug, Default)]
pub struct Outcome {
    /// The row.
    pub row: Row,
    /// State over time, if asked for.
    pub states: Vec<StateRow>,
    /// Verdicts, if asked for, in order of time.
    pub verdicts: Vec<VerdictRow>,
    /// Every packet that a TCP sent, if asked for, in order of time.
    pub transmissions: Vec<TransmissionRow>,
    /// Every message, if asked for, by connection and number.
    pub messages: Vec<Message>,
    /// Captures at each host, pcapng, if asked for as bytes.
    pub captures: ByHost<Vec<u8>>,
    /// What patterns name and no packet matched.
    pub unreached: Vec<Unreached>,
    /// What the hosts keep of connections as the run ends.
    pub caches: Caches,
}
