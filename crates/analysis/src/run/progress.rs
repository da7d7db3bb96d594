//! How far a run has come, and who goes on.

/// What a thread is to do.
pub type Work = Box<dyn FnOnce() + Send>;

/// How far a run has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of the file taken so far, packed as it is.
    pub bytes: u64,
    /// Records of the capture judged or skipped so far.
    pub packets: u64,
}
