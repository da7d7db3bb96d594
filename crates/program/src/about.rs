//! What a program says of itself.

/// What a program says of itself.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its name.
    pub name: Option<String>,
    /// What tells one build of it from another.
    pub version: Option<String>,
    /// It serves one run after the other.
    pub forgets: bool,
    /// It knows datagrams of QUIC.
    pub datagrams: bool,
    /// It answers calls of the application's that follow another one, together with that one.
    pub follows_up: bool,
}
