//! Which kernels there are, and the guests that the process keeps between its runs.

use std::collections::BTreeMap;
use std::io;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError, RwLock};

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

/// How guests are started, once a kernel is known. A program that provides none has no code that starts processes: the
/// library that a guest's own kernel loads links this crate too, and must not have it.
static START: OnceLock<Start> = OnceLock::new();

type Start = fn(&Kernel) -> Result<Guest, GuestError>;

/// Says how the kernel is booted that hosts name so in `hosts.X.linux.version`; of hosts that name none, `""`.
pub fn provide(name: impl Into<String>, kernel: Kernel) {
    START.get_or_init(|| start);
    KERNELS.write().unwrap_or_else(PoisonError::into_inner).insert(name.into(), kernel);
}

/// The kernel of this name.
pub(crate) fn kernel_of(name: &str) -> Option<Kernel> {
    KERNELS.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
}

/// Guests that no run of this process has now. They end with the process.
static IDLE: Mutex<Vec<Guest>> = Mutex::new(Vec::new());

/// A wish for a guest, and where it goes.
type Wish = (Kernel, Sender<Result<Guest, GuestError>>);

/// The thread that starts guests, and the process that it is of: one that was forked has none.
static STARTER: Mutex<Option<(u32, Sender<Wish>)>> = Mutex::new(None);

/// A guest with this kernel: one that has served an earlier run, or a new one.
pub(crate) fn take(kernel: &Kernel) -> Result<Guest, GuestError> {
    let here = std::process::id();
    let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
    // One that was killed while no run had it would fail the next.
    idle.retain_mut(Guest::lives);
    let fits = |guest: &Guest| guest.kernel() == kernel && guest.started_by() == here;
    let place = idle.iter().position(fits);
    let kept = place.map(|place| idle.swap_remove(place));
    drop(idle);
    match (kept, START.get()) {
        (Some(guest), _) => Ok(guest),
        (None, Some(start)) => start(kernel),
        (None, None) => Err(lost(kernel)),
    }
}

/// A new guest. It ends with the thread that starts it, so that a thread starts all which lasts as long as the process.
fn start(kernel: &Kernel) -> Result<Guest, GuestError> {
    let lost = || lost(kernel);
    let here = std::process::id();
    let (to, from) = mpsc::channel();
    let mut starter = STARTER.lock().unwrap_or_else(PoisonError::into_inner);
    if starter.as_ref().is_none_or(|(process, _)| *process != here) {
        let (wishes, wished) = mpsc::channel::<Wish>();
        let serve = move || {
            for (kernel, to) in wished {
                // Who has wished may be gone.
                let _ = to.send(Guest::start(kernel));
            }
        };
        std::thread::Builder::new().name("guests".into()).spawn(serve).map_err(|_| lost())?;
        *starter = Some((here, wishes));
    }
    let sent = starter.as_ref().map(|(_, wishes)| wishes.send((kernel.clone(), to)));
    drop(starter);
    sent.and_then(Result::ok).ok_or_else(lost)?;
    from.recv().map_err(|_| lost())?
}

fn lost(kernel: &Kernel) -> GuestError {
    GuestError::Start { kernel: kernel.version.clone(), error: io::ErrorKind::BrokenPipe.into() }
}

/// Keeps a guest for later runs.
pub(crate) fn put(guest: Guest) {
    IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(guest);
}
