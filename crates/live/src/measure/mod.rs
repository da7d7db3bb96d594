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

pub use bulk::{Bulk, bulk};
pub use testbed::{Kind, Testbed};
pub use udp::{Delays, Load, delays, throughput};

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

/// The error of a delay at one rate, in microseconds; never below zero but for the clock's own error.
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
/// # Errors
/// `PermissionDenied` without CAP_NET_ADMIN and CAP_SYS_ADMIN; what a testbed needs and the kernel lacks.
pub fn accuracy(time: Duration) -> io::Result<Accuracy> {
    let mut delay_errors = Vec::new();
    for mode in [Mode::BusyPoll, Mode::HYBRID, Mode::Sleep] {
        let options = options(mode);
        for rate in RATES {
            let load = Load { packets_per_second: rate, bytes: 64, time };
            let found = delays(Kind::Tun, DELAY, &options, load)?;
            delay_errors.push(found.error(mode, rate));
        }
    }
    Ok(Accuracy {
        delays: delay_errors,
        rate_error: rate_error(time)?,
        packets_per_second: throughput(Kind::Tun, 64, time)?.round() as u64,
    })
}

/// The error of a rate of 100 Mbit/s, as a share of it.
///
/// # Errors
/// As [`accuracy`].
pub fn rate_error(time: Duration) -> io::Result<f64> {
    let nominal = Rate::from_bits_per_second(100_000_000);
    let path = PathSpec { rate: nominal, delay: Some(Duration::from_millis(1)), ..PathSpec::default() };
    // A tenth more than fits.
    let load = Load { packets_per_second: 9_167, bytes: 1500, time };
    let found = udp::shaped(Kind::Tun, &path, &options(Mode::BusyPoll), load)?;
    Ok(found / 100e6 - 1.0)
}

/// How the emulator is driven where it is measured: on the last core, before everything ordinary.
pub fn options(mode: Mode) -> DriveOptions {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    DriveOptions { mode, nice: Some(-20), core: Some(cores - 1), ..DriveOptions::default() }
}
