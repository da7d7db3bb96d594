//! What held a sender back, and for how long.

use super::rows::Confidence;

/// What kept a sender from sending its next data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Held {
    /// Its application had nothing for it to send: all that was written was on its way, or arrived.
    Application,
    /// The window that the receiver offered was full.
    ReceiveWindow,
    /// The sender's own limit on what may be outstanding, which does not grow: as a rule its send buffer.
    SendBuffer,
    /// The congestion window, before any loss was seen.
    SlowStart,
    /// The congestion window, after a loss had lowered it.
    AfterLoss,
    /// The congestion window, which an idle period had lowered.
    IdleRestart,
    /// A window, while a queue stood on the path: its slowest link was busy, and a larger window would have lengthened the
    /// queue.
    PathRate,
    /// The repair of losses: from a retransmission until what was outstanding then is acknowledged.
    Recovery,
    /// A retransmission timer or the timer of a tail probe, which was waited for.
    Timer,
    /// The packets do not tell.
    Unknown,
}

impl Held {
    /// All, in the order of tables.
    pub const ALL: [Self; 10] = [
        Self::Application,
        Self::ReceiveWindow,
        Self::SendBuffer,
        Self::SlowStart,
        Self::AfterLoss,
        Self::IdleRestart,
        Self::PathRate,
        Self::Recovery,
        Self::Timer,
        Self::Unknown,
    ];
}

/// Nanoseconds for which each held a side back. Together they are the time from its first to its last packet with data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HeldTimes {
    likely: [u64; Held::ALL.len()],
    certain: [u64; Held::ALL.len()],
}

impl HeldTimes {
    /// For this many nanoseconds more it was held back by that.
    pub(crate) fn add(&mut self, by: Held, confidence: Confidence, nanos: u64) {
        let times = if confidence == Confidence::Certain { &mut self.certain } else { &mut self.likely };
        times[by as usize] += nanos;
    }

    /// Nanoseconds, of any confidence.
    pub fn of(&self, by: Held) -> u64 {
        self.likely[by as usize] + self.certain[by as usize]
    }

    /// Nanoseconds of these that are certain.
    pub fn certain(&self, by: Held) -> u64 {
        self.certain[by as usize]
    }

    /// All of them.
    pub fn total(&self) -> u64 {
        Held::ALL.iter().map(|by| self.of(*by)).sum()
    }
}
