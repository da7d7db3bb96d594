//! Which kernels there are, and the guests that a thread keeps between its runs.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{PoisonError, RwLock};

use crate::error::GuestError;
use crate::guest::Guest;

/// How a kernel is booted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its version, such as `6.1.192`.
    pub version: String,
    /// The command that boots it with an engine that asks its standard input what to do. One more word follows, which gives
    /// the guest a name among the others.
    pub command: Vec<String>,
    /// What its environment has beside this process's.
    pub environment: Vec<(String, String)>,
}

static KERNELS: RwLock<BTreeMap<String, Kernel>> = RwLock::new(BTreeMap::new());

/// Says how the kernel is booted that hosts name so in `hosts.X.linux.version`; of hosts that name none, `""`.
pub fn provide(name: impl Into<String>, kernel: Kernel) {
    KERNELS.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), kernel);
}

/// The kernel of this name.
pub(crate) fn kernel_of(name: &str) -> Option<Kernel> {
    KERNELS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

thread_local! {
    /// Guests that no run of this thread has now. They end with the thread.
    static IDLE: RefCell<Vec<Guest>> = const { RefCell::new(Vec::new()) };
}

/// A guest with this kernel: one that has served an earlier run, or a new one.
pub(crate) fn take(kernel: &Kernel) -> Result<Guest, GuestError> {
    let kept = IDLE.with_borrow_mut(|idle| {
        let place = idle.iter().position(|guest| guest.kernel() == kernel);
        place.map(|place| idle.swap_remove(place))
    });
    kept.map_or_else(|| Guest::start(kernel.clone()), Ok)
}

/// Keeps a guest for later runs.
pub(crate) fn put(guest: Guest) {
    // A thread that ends has none to keep it.
    let _ = IDLE.try_with(|idle| idle.borrow_mut().push(guest));
}
