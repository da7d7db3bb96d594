//! The library as a whole: started for a run, forgotten after it.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use rexmit_units::{Duration, Instant};

use crate::ffi::{self, Setting, Statistics};
use crate::{Association, AssociationConfig, UsrsctpConfig, UsrsctpError, hooks, memory};

/// The library, started for one run. It ends with the last of its associations.
#[derive(Clone, Debug)]
pub struct Usrsctp {
    library: Rc<Library>,
}

impl Usrsctp {
    /// Starts the library, whose ticks have this phase; waits while a run of another thread has it.
    ///
    /// # Errors
    /// [`UsrsctpError::Running`] where a run of this thread has it.
    pub fn start(phase: Duration) -> Result<Self, UsrsctpError> {
        if RUNS_HERE.get() {
            return Err(UsrsctpError::Running);
        }
        let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        RUNS_HERE.set(true);
        restore();
        hooks::begin(phase);
        // SAFETY: the library is as before its first start, and nobody else uses it: `turn` is ours.
        unsafe {
            ffi::usrsctp_init_nothreads(0, hooks::output, std::ptr::null());
            ffi::usrsctp_enable_crc32c_offload();
        }
        Ok(Self { library: Rc::new(Library { applied: RefCell::new(None), _turn: turn }) })
    }

    /// One end of an association: listening, or not yet connecting.
    ///
    /// # Errors
    /// [`UsrsctpError::Setting`] for settings that cannot be, [`UsrsctpError::Refused`] if the library refuses them.
    pub fn association(&self, config: AssociationConfig) -> Result<Association, UsrsctpError> {
        Association::new(self.library.clone(), config)
    }
}

/// The right to use the library. It stays in its thread, so all calls of the library come from there.
#[derive(Debug)]
pub(crate) struct Library {
    /// The settings in force: those of the end at work.
    applied: RefCell<Option<Arc<UsrsctpConfig>>>,
    _turn: MutexGuard<'static, ()>,
}

impl Library {
    /// The library is about to work for an end, with its settings.
    pub fn enter(
        &self,
        number: usize,
        now: Instant,
        settings: &Arc<UsrsctpConfig>,
    ) -> Result<(), UsrsctpError> {
        hooks::enter(number, now);
        let mut applied = self.applied.borrow_mut();
        let same = applied.as_ref().is_some_and(|old| Arc::ptr_eq(old, settings) || old == settings);
        if !same {
            apply(settings)?;
            *applied = Some(settings.clone());
        }
        Ok(())
    }

    /// What the library counted.
    pub fn statistics(&self, into: &mut Statistics) {
        // SAFETY: the structure has the library's size (`layout.c`).
        unsafe { ffi::usrsctp_get_stat(into) };
    }
}

impl Drop for Library {
    fn drop(&mut self) {
        hooks::end();
        memory::forget_everything();
        RUNS_HERE.set(false);
    }
}

/// Puts an end's settings into the library's own, from which new sockets and associations take theirs.
fn apply(settings: &UsrsctpConfig) -> Result<(), UsrsctpError> {
    let ms = |time: Duration| (time.as_nanos() / 1_000_000) as u32;
    let values = [
        (Setting::SendSpace, settings.send_buffer.0 as u32),
        (Setting::ReceiveSpace, settings.receive_buffer.0 as u32),
        (Setting::Ecn, settings.ecn.into()),
        (Setting::MaxBurst, settings.max_burst),
        (Setting::FastMaxBurst, settings.fast_max_burst),
        (Setting::SackDelay, ms(settings.sack_delay)),
        (Setting::SackFrequency, settings.sack_frequency),
        (Setting::Heartbeat, ms(settings.heartbeat)),
        (Setting::RtoMax, ms(settings.rto_max)),
        (Setting::RtoMin, ms(settings.rto_min)),
        (Setting::RtoInitial, ms(settings.rto_initial)),
        (Setting::InitMax, settings.init_retransmits.into()),
        (Setting::AssociationMax, settings.association_retransmits.into()),
        (Setting::PathMax, settings.path_retransmits.into()),
        (Setting::StreamsOut, settings.streams.into()),
        (Setting::InitialWindow, settings.initial_window),
        (Setting::Interleave, settings.fragment_interleave),
    ];
    for (name, value) in values {
        if !name.set(value) {
            return Err(UsrsctpError::Refused { call: "usrsctp_sysctl_set", code: value as i32 });
        }
    }
    Ok(())
}

/// Puts the library's variables back to what they were before its first start.
fn restore() {
    let places = places();
    let first = PRISTINE.get_or_init(|| {
        // SAFETY: the linker says where the library's variables lie; nobody writes them meanwhile.
        places.map(|(at, len)| unsafe { std::slice::from_raw_parts(at, len) }.into())
    });
    for ((at, len), bytes) in places.into_iter().zip(first) {
        // SAFETY: as above; what the variables point to is forgotten with them.
        unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), len) };
    }
}

/// Where the library keeps its variables, and how many bytes.
fn places() -> [(*mut u8, usize); 3] {
    macro_rules! span {
        ($start:ident, $stop:ident) => {{
            let (start, stop) = (&raw mut $start, &raw mut $stop);
            (start, stop as usize - start as usize)
        }};
    }
    [
        span!(__start_rexmit_usrsctp_data, __stop_rexmit_usrsctp_data),
        span!(__start_rexmit_usrsctp_bss, __stop_rexmit_usrsctp_bss),
        span!(__start_rexmit_usrsctp_rel, __stop_rexmit_usrsctp_rel),
    ]
}

unsafe extern "C" {
    static mut __start_rexmit_usrsctp_data: u8;
    static mut __stop_rexmit_usrsctp_data: u8;
    static mut __start_rexmit_usrsctp_bss: u8;
    static mut __stop_rexmit_usrsctp_bss: u8;
    static mut __start_rexmit_usrsctp_rel: u8;
    static mut __stop_rexmit_usrsctp_rel: u8;
}

static TURN: Mutex<()> = Mutex::new(());
static PRISTINE: OnceLock<[Box<[u8]>; 3]> = OnceLock::new();

thread_local! {
    static RUNS_HERE: Cell<bool> = const { Cell::new(false) };
}
