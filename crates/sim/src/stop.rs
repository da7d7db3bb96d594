//! Asking runs to end early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end early, seen by every run that holds a clone of it. Once made it stays.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks all that hold this to end.
    pub fn ask(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has asked.
    #[inline]
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
