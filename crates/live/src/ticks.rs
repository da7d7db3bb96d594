//! A timer at every tick of a guest's kernel, for disciplines that put their work off until another timer is due.
//!
//! The timer by which SFQ changes its hash is one of these (`TIMER_DEFERRABLE`). When another timer is due depends on
//! all that the kernel serves besides this run, and on what it served before.

use std::io;

use rexmit_path::{KernelOptions, PathSpec, Qdisc};

use crate::sys::link::{Links, Place};
use crate::sys::namespace::Namespace;

/// It must have begun this long before timers are to be kept to, nanoseconds: PIE's timer runs after half a second for
/// the first time [Linux 6.1 net/sched/sch_pie.c, `pie_init`], the wheel of timers adds up to eight ticks, and then
/// what was put off before is done.
pub const BEGINS_BEFORE: u64 = 700_000_000;

/// It ticks until it is dropped.
#[derive(Debug)]
pub struct Ticks {
    _namespace: Namespace,
}

impl Ticks {
    /// Whether a path needs it.
    pub fn are_needed(path: &PathSpec) -> bool {
        [path.down(), path.up()].iter().filter_map(|one| one.qdisc.as_ref()).any(Qdisc::has_deferred_timer)
    }

    /// Begins: PIE with an update at each tick, on an interface that nobody uses.
    ///
    /// # Errors
    /// Where the kernel has no PIE.
    pub fn begin() -> io::Result<Self> {
        let namespace = Namespace::create()?;
        let mut options = KernelOptions::default();
        options.add_number(UPDATE, 1);
        namespace.within(|| Links::open()?.add_qdisc("lo", Place::Root, "pie", &options))?;
        Ok(Self { _namespace: namespace })
    }
}

/// The attribute of the time between two updates, microseconds [Linux 6.1 include/uapi/linux/pkt_sched.h].
const UPDATE: u16 = 3;
