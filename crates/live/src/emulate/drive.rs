//! The loop: packets in, packets out, each at its time, until the watcher has seen enough.

use std::io;
use std::ops::ControlFlow;

use rexmit_units::{Duration, Instant};

use super::Mode;
use crate::emulator::Emulator;
use crate::sys::clock;
use crate::sys::poll::Poll;

/// Numbers of the emulator's two ports for [`Poll`]; a watcher's begin behind.
pub const PORTS: [u64; 2] = [0, 1];
/// How long before a packet's time a hybrid wakes: longer than it takes the kernel to wake it.
const SLACK: Duration = Duration::from_micros(100);
/// A watcher is asked at least this often.
const LOOK: Duration = Duration::from_millis(50);

/// Drives the path until `watch` breaks. `start` is the start of its clock, nanoseconds of CLOCK_MONOTONIC; the
/// watcher is called with the time now and then, and at once where a descriptor in `poll` that is not a port is
/// ready.
///
/// # Errors
/// Those of the ports, of waiting, and of the watcher.
pub fn drive(
    emulator: &mut Emulator,
    poll: &mut Poll,
    (mode, start): (Mode, u64),
    watch: &mut dyn FnMut(&mut Emulator, Instant) -> io::Result<ControlFlow<()>>,
) -> io::Result<()> {
    let now = || Instant::from_nanos(clock::monotonic().saturating_sub(start));
    let mut look = Instant::ZERO;
    loop {
        let mut at = now();
        while let Some(port) = emulator.hand_out(at)? {
            emulator.take_in(port, at)?;
            at = now();
        }
        if at >= look {
            if watch(emulator, at)?.is_break() {
                return Ok(());
            }
            look = at + LOOK;
        }
        let due = emulator.next_due().unwrap_or(Instant::FAR_FUTURE);
        let spin = match mode {
            Mode::Busy => true,
            Mode::Hybrid => due <= at + SLACK,
            Mode::Sleep => due <= at,
        };
        if !spin {
            let early = if mode == Mode::Hybrid { SLACK } else { Duration::ZERO };
            let wake = Instant::from_nanos(due.as_nanos().saturating_sub(early.as_nanos())).min(look);
            let ready = poll.wait(start.saturating_add(wake.as_nanos()))?;
            if ready.iter().any(|(number, _)| !PORTS.contains(number)) {
                look = Instant::ZERO;
            }
        }
        let at = now();
        for port in 0..2 {
            emulator.take_in(port, at)?;
        }
    }
}
