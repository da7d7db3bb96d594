//! When a run in virtual time starts: where the kernel's timers are as in every other run.

use rexmit_units::Duration;

use crate::opening::Protocol;
use crate::sys::clock;

/// This long before a run's start in virtual time, nanoseconds, its hosts and what is between them are made.
pub const SETTING_UP: u64 = 500_000_000;
/// Ticks over which the phase of a run is drawn: a round of the wheel's steps for timers up to 32 s, as the model
/// of Linux has it.
const PHASES: u64 = 512;

/// The time over which the phase of a run is drawn, of a kernel whose tick is this long.
pub fn round(tick: Duration) -> Duration {
    tick * PHASES
}

/// Ticks after which every timer of the kernel's wheel that TCP uses falls on the same places again: those of up to
/// 262143 ticks have steps of 4096, those below finer ones [Linux 6.1 kernel/time/timer.c].
const WHEEL: u64 = 1 << 15;
/// The kernel counts its ticks from this long before its start [Linux 6.1 include/linux/jiffies.h].
const TICKS_BEGIN: u64 = 300_000_000_000;

/// Runs of SCTP start no earlier after the boot, nanoseconds. Whoever has sent no data yet keeps still for an interval of
/// heartbeats after the count of ticks has passed 0, and for nothing else [Linux 6.1 net/sctp/sm_sideeffect.c,
/// `sctp_generate_heartbeat_event`]: 300 s after the boot.
const SCTP_BEGINS: u64 = 3_600_000_000_000;

/// Time from one run to the next, at the least, where each has hosts of its own.
pub const SECOND: Duration = Duration::from_secs(1);

/// When the run starts, on CLOCK_MONOTONIC: at once, or in virtual time, `pause` from now at the earliest, where the wheel
/// of timers is `phase` into its round, so that what ran before changes nothing.
pub fn start(tick: Option<Duration>, phase: Duration, protocol: Protocol, pause: Duration) -> u64 {
    let now = clock::monotonic();
    let Some(tick) = tick else { return now + 1_000_000 };
    let round = WHEEL * tick.as_nanos();
    // Wheel and clock differ by the time at which the ticks begin.
    let offset = (TICKS_BEGIN + phase.as_nanos()) % round;
    let mut least = now + pause.as_nanos();
    if protocol == Protocol::Sctp {
        least = least.max(SCTP_BEGINS);
    }
    (least - least.min(offset)).div_ceil(round) * round + offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_in_virtual_time_starts_where_the_wheel_is_at_its_phase() {
        let (tick, phase) = (Duration::from_millis(1), Duration::from_micros(5_250));
        let at = start(Some(tick), phase, Protocol::Tcp, SECOND);
        // 300 s before its start the wheel was at 0.
        let ticks_ns = (WHEEL * 1_000_000 * 100 + at - TICKS_BEGIN) % (WHEEL * 1_000_000);
        assert_eq!(ticks_ns, phase.as_nanos());
        assert!(at > clock::monotonic());
    }
}
