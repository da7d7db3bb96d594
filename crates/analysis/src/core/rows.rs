//! What the rows of TCP and of SCTP share.

/// How sure a judgement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Confidence {
    /// The packets allow nothing better than a name.
    Unknown,
    /// Another reading is possible and less plausible.
    Likely,
    /// No other reading fits what was seen.
    Certain,
}

/// Whether the retransmission was needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Need {
    /// Nothing disproves it: of one capture no more than that, since an earlier copy may have arrived.
    Needed,
    /// The original had arrived or was on its way.
    Spurious,
    /// It was acknowledged already when it was sent again.
    Unnecessary,
    /// The capture ends before an answer.
    Unknown,
}

/// What a packet's data are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// It takes no sequence space.
    Bare,
    /// New data, in order.
    New,
    /// Data seen before, or missing before and sent again.
    Retransmission,
    /// Data not seen before, below the highest seen, that was overtaken on its way here.
    Reordered,
    /// The same packet again: duplicated by the network, or captured at two ports.
    Copy,
    /// Outside the order of the stream: a probe of a closed window or of an idle connection.
    Probe,
}

/// Bytes of the rows of a table.
pub(crate) fn bytes<T>(rows: &[T]) -> u64 {
    size_of_val(rows) as u64
}

/// Which tables to keep. Judgements are the same whatever is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// [`crate::rows::Rows::segments`] and [`crate::rows::Rows::sacks`]: one row per packet.
    pub segments: bool,
    /// [`crate::rows::Rows::rtt`]: one row per sample.
    pub rtt: bool,
    /// The DATA chunks of SCTP, one row per transmission, and its SACKs.
    pub chunks: bool,
    /// [`crate::rows::Rows::held`]: a row for each time in which one thing held a side of TCP back.
    pub held: bool,
}
