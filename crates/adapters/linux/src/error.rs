//! What can go wrong with a guest.

use std::io;

use thiserror::Error;

/// A guest that cannot be asked any more, or a wish that it refused.
#[derive(Debug, Error)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "none is booted there, so nothing else goes wrong")
)]
pub(crate) enum GuestError {
    /// It could not be started.
    #[error("the guest with Linux {kernel} cannot be started: {error}")]
    Start { kernel: String, error: io::Error },
    /// It ended.
    #[error("the guest with Linux {kernel} ended: {words}")]
    Ended { kernel: String, words: String },
    /// It has said nothing for long.
    #[error("the guest with Linux {kernel} has said nothing for {seconds} s{words}")]
    Hung { kernel: String, seconds: u64, words: String },
    /// It said what nobody understands: it is of another version.
    #[error("the guest with Linux {0} answered what this version does not know: build the kernel anew")]
    Garbled(String),
    /// It cannot be as it is wished for.
    #[error("{0}")]
    Refused(String),
}
