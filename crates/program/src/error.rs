//! What can go wrong with a program.

use std::io;

/// Why a program does not serve.
#[derive(Debug, thiserror::Error)]
#[cfg_attr(
    not(target_os = "linux"),
    expect(dead_code, reason = "none is started there, so nothing else goes wrong")
)]
pub enum ProgramError {
    /// It cannot be started.
    #[error("it cannot be started: {0}")]
    Start(#[source] io::Error),
    /// It has ended.
    #[error("it ended ({ending}) instead of answering{words}")]
    Ended {
        /// How: its exit status.
        ending: String,
        /// The last line that it printed as an error, after a colon.
        words: String,
    },
    /// It does not answer.
    #[error("no answer within {seconds} s of real time{words}")]
    Hung {
        /// How long it had.
        seconds: f64,
        /// The last line that it printed as an error, after a colon.
        words: String,
    },
    /// It answers something that the protocol does not have.
    #[error("{0}")]
    Garbled(String),
    /// Its clock is not the run's, as it should be.
    #[error(
        "its clock cannot be led: it has not loaded rexmit's library; leave stack.lead out (statically linked programs, those with \
         rights of their own and those in a container take none)"
    )]
    Unled,
    /// It says itself what is wrong.
    #[error("it refuses: {0}")]
    Refused(String),
}
