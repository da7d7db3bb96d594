//! Ways to recover from outside this crate.

use std::fmt;
use std::sync::Arc;

use super::{LossRecovery, Tcb};

type Begin = dyn Fn(&Tcb) -> Box<dyn LossRecovery> + Send + Sync;

/// What begins a [`LossRecovery`] from outside for each connection, for [`crate::Connection::set_recovery`].
#[derive(Clone)]
pub struct OwnRecovery(Arc<Begin>);

impl OwnRecovery {
    /// `begin` is called when a connection is made, and again each time its handshake has settled the options, with what
    /// the connection then is.
    pub fn new<R: LossRecovery + 'static>(begin: impl Fn(&Tcb) -> R + Send + Sync + 'static) -> Self {
        Self(Arc::new(move |tcb| Box::new(begin(tcb))))
    }
}

impl fmt::Debug for OwnRecovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("OwnRecovery")
    }
}

/// That of one connection.
#[derive(Debug)]
pub(crate) struct Own {
    begin: OwnRecovery,
    pub way: Box<dyn LossRecovery>,
}

impl Own {
    pub fn new(begin: &OwnRecovery, tcb: &Tcb) -> Self {
        Self { begin: begin.clone(), way: (begin.0)(tcb) }
    }

    pub fn begin(&mut self, tcb: &Tcb) {
        self.way = (self.begin.0)(tcb);
    }
}
