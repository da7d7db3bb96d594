//! What a pairing may be told.

/// What a pairing may be told.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Options {
    /// What the analysis of each capture is told.
    pub analysis: crate::options::Options,
    /// Both captures were made by one clock.
    pub same_clock: bool,
    /// Both captures ran from before the first packet until after the last one, so that a packet that is in one of them
    /// only was lost. Otherwise a capture is taken to have run from its first to its last packet.
    pub whole: bool,
    /// Keep [`super::PairRows::crossings`]: one row per packet.
    pub crossings: bool,
}
