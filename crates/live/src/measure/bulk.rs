//! One TCP flow of the hosts' kernels through the emulator.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration as StdDuration;

use nix::sys::socket::{setsockopt, sockopt};
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_path::{PathRate, PathSpec};
use rexmit_units::Duration;
use socket2::{Domain, SockRef, Socket, Type};

use super::testbed::{Kind, Testbed, address};
use crate::drive::{DriveOptions, DriveReport};
use crate::sys::clock;
use crate::sys::tcp_info::{clamp_window, tcp_info};

/// What a flow gave.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// Data read a second after the start-up, bit/s.
    pub rate: f64,
    /// Segments that the sender sent again.
    pub retransmits: u64,
    /// What the emulator said.
    pub report: DriveReport,
    /// Packets that the path dropped.
    pub drops: u64,
}

const PORT: u16 = 7001;
/// What a socket buffer can hold at most: the kernel doubles what it is asked for.
const BUFFER: usize = (1 << 30) - 1;
/// Bytes that wait to be sent for the first time at most.
const NOT_SENT: u32 = 8 << 20;
/// Bytes of one read or write.
const BLOCK: usize = 1 << 20;

/// Sends for `warm` and then `time` through `path`, with buffers of a gigabyte; the rate of the latter.
///
/// The sender uses Reno, whose slow start ends with a loss or the window alone. The receiver offers a window of one and
/// a quarter of what the path holds, so that its queue neither runs empty nor overflows, and the sender does not fill
/// its buffer with what it may not send: two full buffers would exceed what Linux allows TCP in all
/// (`net.ipv4.tcp_mem`).
///
/// # Errors
/// As [`super::accuracy`].
pub fn bulk(
    kind: Kind,
    path: &PathSpec,
    options: &DriveOptions,
    warm: Duration,
    time: Duration,
) -> io::Result<Bulk> {
    let testbed = Testbed::new(kind, path, options)?;
    for name in ["net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"] {
        testbed.set(name, "4096 1073741823 1073741823")?;
    }
    testbed.set("net.ipv4.tcp_congestion_control", "reno")?;
    let listener = testbed.hosts[CLIENT].within(|| listen(window(path)))?;
    let sender = testbed.hosts[SERVER].within(connect)?;
    let (receiver, _) = listener.accept()?;
    let end = receiver.try_clone()?;
    for socket in [&sender, &receiver] {
        SockRef::from(socket).set_linger(Some(StdDuration::ZERO))?;
    }
    let stop = Arc::new(AtomicBool::new(false));
    let read = Arc::new(AtomicU64::new(0));
    let copy = sender.try_clone()?;
    let threads = [
        thread::spawn({
            let stop = stop.clone();
            move || write_until(copy, &stop)
        }),
        thread::spawn({
            let read = read.clone();
            move || read_all(receiver, &read)
        }),
    ];
    thread::sleep(StdDuration::from_nanos(warm.as_nanos()));
    let before = (read.load(Ordering::Relaxed), clock::monotonic());
    thread::sleep(StdDuration::from_nanos(time.as_nanos()));
    let after = (read.load(Ordering::Relaxed), clock::monotonic());
    let info = tcp_info(sender.as_fd())?;
    let retransmits = info.total_retrans.into();
    stop.store(true, Ordering::Relaxed);
    let ended = testbed.finish()?;
    let drops = ended.live.drops.values().sum();
    // Nothing arrives any more. Both ends are reset: what they hold would count as the system's for minutes.
    sender.shutdown(std::net::Shutdown::Both).ok();
    end.shutdown(std::net::Shutdown::Both).ok();
    for thread in threads {
        thread.join().map_err(|_| io::Error::other("a host's thread panicked"))?;
    }
    let rate = (after.0 - before.0) as f64 * 8e9 / (after.1 - before.1) as f64;
    Ok(Bulk { rate, retransmits, report: ended.report, drops })
}

/// A quarter more than what the path holds in a round trip, and some, bytes.
fn window(path: &PathSpec) -> u32 {
    const SOME: u64 = 4 << 20;
    let Some(rate) = path.rate.as_ref().and_then(PathRate::constant) else { return BUFFER as u32 };
    let round_trip = path.delay.unwrap_or_default().as_nanos() * 2;
    let holds = u128::from(rate.bits_per_second()) * u128::from(round_trip) / 8_000_000_000;
    (holds as u64 * 5 / 4 + SOME).min(BUFFER as u64) as u32
}

fn listen(window: u32) -> io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    clamp_window(&socket, window)?;
    setsockopt(&socket, sockopt::RcvBufForce, &BUFFER)?;
    socket.bind(&SocketAddr::new(address(CLIENT), PORT).into())?;
    socket.listen(1)?;
    Ok(socket.into())
}

fn connect() -> io::Result<TcpStream> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    setsockopt(&socket, sockopt::SndBufForce, &BUFFER)?;
    socket.set_tcp_notsent_lowat(NOT_SENT)?;
    socket.connect(&SocketAddr::new(address(CLIENT), PORT).into())?;
    Ok(socket.into())
}

fn write_until(mut to: TcpStream, stop: &AtomicBool) {
    let data = vec![0x55; BLOCK];
    while !stop.load(Ordering::Relaxed) && to.write_all(&data).is_ok() {}
}

fn read_all(mut from: TcpStream, bytes: &AtomicU64) {
    let mut data = vec![0; BLOCK];
    from.set_read_timeout(Some(StdDuration::from_secs(2))).ok();
    while let Ok(len @ 1..) = from.read(&mut data) {
        bytes.fetch_add(len as u64, Ordering::Relaxed);
    }
}
