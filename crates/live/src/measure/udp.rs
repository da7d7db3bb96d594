//! Datagrams through the emulator: their delays, the rate that comes out, and how many pass.

use std::io;
use std::net::UdpSocket;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use hdrhistogram::Histogram;
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER};
use rexmit_path::PathSpec;
use rexmit_units::{Duration, QueueLimit};

use super::DelayError;
use super::testbed::{Kind, Testbed, address};
use crate::drive::{DriveOptions, DriveReport, Mode};
use crate::sys::{clock, stamped};

/// What a sender offers.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    /// Packets a second, evenly spaced.
    pub packets_per_second: u64,
    /// Bytes of an IP packet.
    pub bytes: usize,
    /// For how long.
    pub time: Duration,
}

/// Delays of packets beyond the path's own.
#[derive(Clone, Debug)]
pub struct Delays {
    errors: Histogram<u64>,
    /// The largest time by which a packet came too early, nanoseconds; zero is as it should be.
    pub early_ns: u64,
    /// Packets that came before one sent earlier.
    pub disordered: u64,
    /// Packets sent.
    pub sent: u64,
    /// What the emulator said.
    pub report: DriveReport,
}

impl Delays {
    /// The error, nanoseconds, that this share of packets did not exceed.
    pub fn quantile(&self, share: f64) -> u64 {
        self.errors.value_at_quantile(share)
    }

    /// In short.
    pub fn error(&self, mode: Mode, packets_per_second: u64) -> DelayError {
        let us = |share: f64| self.quantile(share) as f64 / 1e3;
        DelayError {
            mode: mode.name(),
            packets_per_second,
            p50_us: us(0.5),
            p99_us: us(0.99),
            max_us: us(1.0),
            packets: self.errors.len(),
            lost: self.sent - self.errors.len(),
            invalid: self.report.invalid.clone(),
        }
    }
}

/// Longer errors count as this long: a minute, nanoseconds.
const LONGEST: u64 = 60_000_000_000;
const PORT: u16 = 7000;
/// Headers of IPv4 and UDP.
const HEADERS: usize = 28;
/// Room for what a receiver does not read before the end.
const RECEIVE_BUFFER: usize = 512 << 20;
/// A sender that has longer to wait than this sleeps, and no longer has what it needs in its caches when it wakes.
const NAP: u64 = 2_000_000;

/// Measures delays of datagrams through a path of `delay`.
///
/// # Errors
/// As [`super::accuracy`].
pub fn delays(kind: Kind, delay: Duration, options: &DriveOptions, load: Load) -> io::Result<Delays> {
    let path = PathSpec { delay: Some(delay), ..PathSpec::default() };
    let (testbed, receiver) = open(kind, &path, options)?;
    let sent = send(&testbed, load)?;
    settle(delay);
    let mut found = Delays {
        errors: Histogram::new_with_bounds(1, LONGEST, 3).map_err(io::Error::other)?,
        early_ns: 0,
        disordered: 0,
        sent,
        report: testbed.finish()?.report,
    };
    let mut last = 0;
    let mut buffer = [0; 2048];
    while let Some((_, arrived)) = stamped::receive(&receiver, &mut buffer)? {
        let mut stamp = [0; 8];
        stamp.copy_from_slice(&buffer[..8]);
        let sent = u64::from_ne_bytes(stamp);
        found.disordered += u64::from(sent < last);
        last = last.max(sent);
        let took = arrived.saturating_sub(sent);
        found.early_ns = found.early_ns.max(delay.as_nanos().saturating_sub(took));
        found.errors.saturating_record(took.saturating_sub(delay.as_nanos()));
    }
    Ok(found)
}

/// The rate in bit/s that comes out of `path`, over IP packets, by the receiving kernel's stamps.
///
/// # Errors
/// As [`super::accuracy`].
pub fn shaped(kind: Kind, path: &PathSpec, options: &DriveOptions, load: Load) -> io::Result<f64> {
    let (testbed, receiver) = open(kind, path, options)?;
    send(&testbed, load)?;
    // What waits in the queue comes out.
    settle(path.delay.unwrap_or_default() + Duration::from_millis(200));
    testbed.finish()?;
    let (mut first, mut last, mut packets) = (None, 0, 0_u64);
    let mut buffer = [0; 2048];
    while let Some((_, arrived)) = stamped::receive(&receiver, &mut buffer)? {
        first.get_or_insert(arrived);
        last = arrived;
        packets += 1;
    }
    let time = last.saturating_sub(first.unwrap_or(last));
    if time == 0 {
        return Err(io::Error::other("nothing came out of the path"));
    }
    Ok((packets - 1) as f64 * load.bytes as f64 * 8e9 / time as f64)
}

/// Packets a second of `bytes` each that pass the emulator when more are offered.
///
/// # Errors
/// As [`super::accuracy`].
pub fn throughput(kind: Kind, options: &DriveOptions, bytes: usize, time: Duration) -> io::Result<f64> {
    let queue = Some(QueueLimit::Packets(1_000_000).into());
    let path = PathSpec { delay: Some(Duration::from_millis(1)), queue, ..PathSpec::default() };
    passing(Testbed::new(kind, &path, options)?, bytes, time)
}

/// The same through nothing but reads and writes of TUN devices.
///
/// # Errors
/// As [`super::accuracy`].
pub fn floor(options: &DriveOptions, bytes: usize, time: Duration) -> io::Result<f64> {
    passing(Testbed::without_emulator(options)?, bytes, time)
}

fn passing(testbed: Testbed, bytes: usize, time: Duration) -> io::Result<f64> {
    let receiver = receiver(&testbed)?;
    // Unread, they would be dropped at the socket in the end, which is cheaper than being received. A reader that
    // waited would be woken for each, in the emulator's time.
    let done = Arc::new(AtomicBool::new(false));
    let reader = thread::spawn({
        let done = done.clone();
        move || {
            let mut buffer = [0; 2048];
            while !done.load(Ordering::Relaxed) {
                thread::sleep(StdDuration::from_millis(50));
                while stamped::receive(&receiver, &mut buffer)?.is_some() {}
            }
            Ok::<(), io::Error>(())
        }
    });
    let load = Load { packets_per_second: u64::MAX, bytes, time };
    let sender = testbed.hosts[SERVER].within(|| sender(bytes))?;
    let offered = thread::spawn(move || offer(&sender, load));
    // The first fifth is not counted.
    let nap = StdDuration::from_nanos(time.as_nanos());
    thread::sleep(nap / 5);
    let before = (testbed.watch().live().received[DOWN], clock::monotonic());
    thread::sleep(nap * 3 / 5);
    let after = (testbed.watch().live().received[DOWN], clock::monotonic());
    offered.join().map_err(|_| io::Error::other("the sender's thread panicked"))??;
    testbed.finish()?;
    done.store(true, Ordering::Relaxed);
    reader.join().map_err(|_| io::Error::other("the receiver's thread panicked"))??;
    Ok((after.0 - before.0) as f64 * 1e9 / (after.1 - before.1) as f64)
}

/// A testbed and a socket at its second host.
fn open(kind: Kind, path: &PathSpec, options: &DriveOptions) -> io::Result<(Testbed, UdpSocket)> {
    let testbed = Testbed::new(kind, path, options)?;
    let receiver = receiver(&testbed)?;
    Ok((testbed, receiver))
}

fn receiver(testbed: &Testbed) -> io::Result<UdpSocket> {
    testbed.hosts[CLIENT].within(|| {
        let socket = UdpSocket::bind((address(CLIENT), PORT))?;
        stamped::stamp(&socket, RECEIVE_BUFFER)?;
        // The kernel begins to stamp some time after it was asked to (`net_enable_timestamp` leaves it to a worker);
        // until then it gives the time at which a datagram is read.
        thread::sleep(StdDuration::from_millis(200));
        Ok(socket)
    })
}

fn sender(bytes: usize) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((address(SERVER), PORT))?;
    socket.connect((address(CLIENT), PORT))?;
    debug_assert!(bytes >= HEADERS + 8, "no room for a stamp");
    Ok(socket)
}

/// Sends from the first host to the second; how many packets.
fn send(testbed: &Testbed, load: Load) -> io::Result<u64> {
    let socket = testbed.hosts[SERVER].within(|| sender(load.bytes))?;
    let sent = thread::scope(|scope| scope.spawn(|| offer(&socket, load)).join());
    sent.map_err(|_| io::Error::other("the sender's thread panicked"))?
}

/// Sends packets with their stamp, evenly spaced.
fn offer(socket: &UdpSocket, load: Load) -> io::Result<u64> {
    crate::sys::thread::be_punctual()?;
    let mut data = vec![0; load.bytes - HEADERS];
    let start = clock::monotonic();
    let mut sent = 0;
    loop {
        let due = start + (u128::from(sent) * 1_000_000_000 / u128::from(load.packets_per_second)) as u64;
        loop {
            let now = clock::monotonic();
            if now - start > load.time.as_nanos() {
                return Ok(sent);
            }
            if now >= due {
                break;
            }
            if due - now > NAP {
                thread::sleep(StdDuration::from_nanos(due - now - NAP / 2));
            }
        }
        data[..8].copy_from_slice(&clock::realtime().to_ne_bytes());
        match socket.send(&data) {
            Err(e) if e.raw_os_error() == Some(libc::ENOBUFS) => {}
            other => drop(other?),
        }
        sent += 1;
    }
}

/// Waits until what is on its way has arrived.
fn settle(delay: Duration) {
    thread::sleep(StdDuration::from_nanos(delay.as_nanos()) + StdDuration::from_millis(50));
}
