//! What can go wrong.

/// Why FreeBSD's SCTP does not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum UsrsctpError {
    /// It was not there when rexmit was built.
    #[error("stack usrsctp: {0}")]
    Missing(&'static str),
    /// One runs in this thread already.
    #[error("stack usrsctp: a run of it goes on in this thread, and there is one library a process")]
    Running,
    /// A value that the library cannot take.
    #[error("stack usrsctp: {key} = {value} is not possible: {allowed}")]
    Setting {
        /// The setting.
        key: &'static str,
        /// What was asked for.
        value: String,
        /// What would be possible.
        allowed: &'static str,
    },
    /// The library refused a call.
    #[error("stack usrsctp: the library refused {call} (error {code})")]
    Refused {
        /// The library's function.
        call: &'static str,
        /// Its `errno`.
        code: i32,
    },
}
