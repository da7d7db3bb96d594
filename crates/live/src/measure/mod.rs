//! What live emulation is worth on this machine: errors of delay and rate, and how many packets it can take.
//!
//! Both hosts are namespaces on this machine. A delay is that between the sender's stamp, right before it sends, and
//! the stamp of the receiving host's kernel, so two passes through a kernel's stack count as error.

mod bulk;
mod testbed;
mod udp;

use std::io;

use rexmit_path::PathSpec;
use rexmit_units::{Duration, Rate};
use serde::Serialize;

use crate::drive::{DriveOptions, Mode};
use crate::sys::thread;

pub use bulk::{Bulk, bulk};
pub use testbed::{Ended, Kind, Testbed, address};
pub use udp::{Delays, Load, delays, floor, throughput};

/// All that [`accuracy`] measures.
#[derive(Clone, Debug, Serialize)]
pub struct Accuracy {
    /// Errors of a delay of 10 ms, for each mode and rate.
    pub delays: Vec<DelayError>,
    /// The rate that came out of a bottleneck of 100 Mbit/s that got more, less that, as a share of it.
    pub rate_error: f64,
    /// Packets of 64 bytes a second that pass when more are offered, in the mode `busy-poll`.
    pub packets_per_second: u64,
}

/// The error of a delay at one rate, in microseconds; never below zero except by the clock's own error.
#[derive(Clone, Debug, Serialize)]
pub struct DelayError {
    /// How the emulator waited.
    pub mode: &'static str,
    /// Packets a second.
    pub packets_per_second: u64,
    /// The error that half of all packets did not exceed.
    pub p50_us: f64,
    /// That 99 % did not exceed.
    pub p99_us: f64,
    /// The largest.
    pub max_us: f64,
    /// Packets measured.
    pub packets: u64,
    /// Packets lost, of the emulator's or the hosts' own accord.
    pub lost: u64,
    /// Why the emulator says that the run does not count.
    pub invalid: Option<String>,
}

/// Packets a second at which delays are measured: few, and many.
const RATES: [u64; 2] = [1_000, 50_000];
/// The delay that is measured.
const DELAY: Duration = Duration::from_millis(10);

/// Measures this machine, each part for `time`; in all about nine times that.
///
/// The emulator runs on the last of this thread's cores, before everything ordinary; the hosts run on the others.
///
/// # Errors
/// `PermissionDenied` without CAP_NET_ADMIN and CAP_SYS_ADMIN; what a testbed needs and the kernel lacks.
pub fn accuracy(time: Duration) -> io::Result<Accuracy> {
    let (hosts, core) = share_cores()?;
    let measure = || {
        thread::pin_to(&hosts)?;
        measure(time, core)
    };
    // In a thread of its own: the caller's cores stay as they are.
    let done = std::thread::scope(|scope| scope.spawn(measure).join());
    done.map_err(|_| io::Error::other("the measuring thread panicked"))?
}

fn measure(time: Duration, core: usize) -> io::Result<Accuracy> {
    let mut delay_errors = Vec::new();
    for mode in [Mode::BusyPoll, Mode::HYBRID, Mode::Sleep] {
        for rate in RATES {
            let load = Load { packets_per_second: rate, bytes: 64, time };
            let found = delays(Kind::Tun, DELAY, &options(mode, core), load)?;
            delay_errors.push(found.error(mode, rate));
        }
    }
    let busy = options(Mode::BusyPoll, core);
    Ok(Accuracy {
        delays: delay_errors,
        rate_error: rate_error(&busy, time)?,
        packets_per_second: throughput(Kind::Tun, &busy, 64, time)?.round() as u64,
    })
}

/// The error of a rate of 100 Mbit/s, as a share of it.
///
/// # Errors
/// As [`accuracy`].
pub fn rate_error(options: &DriveOptions, time: Duration) -> io::Result<f64> {
    let nominal = Rate::from_bits_per_second(100_000_000);
    let path = PathSpec {
        rate: nominal.map(Into::into),
        delay: Some(Duration::from_millis(1)),
        ..PathSpec::default()
    };
    // A tenth more than fits.
    let load = Load { packets_per_second: 9_167, bytes: 1500, time };
    let found = udp::shaped(Kind::Tun, &path, options, load)?;
    Ok(found / 100e6 - 1.0)
}

/// How the emulator is driven where it is measured: on a core of its own, before everything ordinary of this session.
pub fn options(mode: Mode, core: usize) -> DriveOptions {
    DriveOptions { mode, nice: Some(-20), core: Some(core), ..DriveOptions::default() }
}

/// This thread's cores for the hosts, and the last one for the emulator; where there is only one, both share it.
///
/// # Errors
/// None on Linux.
pub fn share_cores() -> io::Result<(Vec<usize>, usize)> {
    let mut cores = thread::cores()?;
    let last = cores.pop().unwrap_or(0);
    if cores.is_empty() {
        cores.push(last);
    }
    Ok((cores, last))
}
