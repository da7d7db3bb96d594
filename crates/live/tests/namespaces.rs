//! The emulator between real hosts: two namespaces of this machine. Needs root; says so and passes without.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration as StdDuration;

use rexmit_live::measure::{Kind, Load, Testbed, address, bulk, delays};
use rexmit_live::{DriveOptions, Mode};
use rexmit_network::two_hosts::{CLIENT, DOWN, SERVER};
use rexmit_path::PathSpec;
use rexmit_units::{Duration, QueueLimit, Rate};
use serde_json::json;

/// One test after another: each has a thread that takes a core. `None` where this process may not make namespaces,
/// which is said.
fn allowed(test: &str) -> Option<MutexGuard<'static, ()>> {
    static TURN: Mutex<()> = Mutex::new(());
    if !nix::unistd::geteuid().is_root() || !std::path::Path::new("/dev/net/tun").exists() {
        println!("skipped {test}: needs root and /dev/net/tun");
        return None;
    }
    Some(TURN.lock().unwrap_or_else(PoisonError::into_inner))
}

fn path(value: serde_json::Value) -> PathSpec {
    serde_json::from_value(value).unwrap()
}

const KINDS: [Kind; 3] = [Kind::Tun, Kind::Offloads, Kind::Veth];

fn options(mode: Mode) -> DriveOptions {
    DriveOptions { mode, nice: Some(-20), ..DriveOptions::default() }
}

/// Sends `bytes` over TCP from host 0 to host 1; what arrived, and the segments that were sent again.
fn transfer(testbed: &Testbed, bytes: usize) -> (Vec<u8>, u64) {
    let to = SocketAddr::new(address(CLIENT), 9000);
    let listener = testbed.hosts[CLIENT].within(|| TcpListener::bind(to)).unwrap();
    let mut sender = testbed.hosts[SERVER].within(|| TcpStream::connect(to)).unwrap();
    let (mut receiver, _) = listener.accept().unwrap();
    let data: Vec<u8> = (0..bytes).map(|i| (i / 7) as u8).collect();
    let reader = thread::spawn(move || {
        let mut all = Vec::new();
        receiver.set_read_timeout(Some(StdDuration::from_secs(20))).unwrap();
        receiver.read_to_end(&mut all).unwrap();
        all
    });
    sender.write_all(&data).unwrap();
    sender.shutdown(std::net::Shutdown::Write).unwrap();
    let all = reader.join().unwrap();
    assert!(all == data, "the stream came out changed");
    let info = rexmit_live::sys::tcp_info::tcp_info(&sender).unwrap();
    (all, info.total_retrans.into())
}

#[test]
fn a_stream_comes_out_as_it_went_in() {
    let Some(_turn) = allowed("a_stream_comes_out_as_it_went_in") else { return };
    for kind in KINDS {
        for mode in [Mode::BusyPoll, Mode::HYBRID, Mode::Sleep] {
            let testbed = Testbed::new(kind, &path(json!({ "delay": "2 ms" })), &options(mode)).unwrap();
            let (all, again) = transfer(&testbed, 3_000_000);
            let live = testbed.finish().unwrap().live;
            assert_eq!((all.len(), live.refused, live.no_room), (3_000_000, 0, 0), "{kind:?} {mode:?}");
            // A probe of an impatient sender on a busy machine, at most.
            assert!(again < 20, "{kind:?} {mode:?}: {again} sent again");
            // Packets on the wire, offloads or not: 1448 bytes of data in each.
            assert!(live.packets[DOWN] >= 3_000_000 / 1448, "{kind:?} {mode:?}: {live:?}");
            assert!(live.bytes[DOWN] / live.packets[DOWN] <= 1500, "{kind:?} {mode:?}: {live:?}");
        }
    }
}

#[test]
fn exactly_the_packets_of_a_pattern_are_lost_with_offloads_on() {
    let Some(_turn) = allowed("exactly_the_packets_of_a_pattern_are_lost_with_offloads_on") else { return };
    for kind in KINDS {
        // SYN, ACK, then data: packets 20 and 33 are data of 1448 bytes.
        let lossy = path(json!({ "delay": "5 ms", "down": { "drop": "20,33" } }));
        let testbed = Testbed::new(kind, &lossy, &options(Mode::BusyPoll)).unwrap();
        let (_, again) = transfer(&testbed, 200_000);
        assert!((2..20).contains(&again), "{kind:?}: {again} sent again");
        assert_eq!(testbed.finish().unwrap().live.drops[DOWN], 2, "{kind:?}");
    }
}

#[test]
fn a_damaged_packet_is_refused_by_the_host() {
    let Some(_turn) = allowed("a_damaged_packet_is_refused_by_the_host") else { return };
    for kind in KINDS {
        let bad = path(json!({ "delay": "5 ms", "down": { "corrupt": "15" } }));
        let testbed = Testbed::new(kind, &bad, &options(Mode::BusyPoll)).unwrap();
        let (_, again) = transfer(&testbed, 200_000);
        let counters = testbed.hosts[CLIENT].within(rexmit_live::counters::KernelCounters::read).unwrap();
        assert_eq!(counters.get("Tcp.InCsumErrors"), 1, "{kind:?}");
        assert!((1..20).contains(&again), "{kind:?}: {again} sent again");
        testbed.finish().unwrap();
    }
}

#[test]
fn no_packet_is_early_and_none_overtakes() {
    let Some(_turn) = allowed("no_packet_is_early_and_none_overtakes") else { return };
    for mode in [Mode::BusyPoll, Mode::HYBRID, Mode::Sleep] {
        let load = Load { packets_per_second: 5_000, bytes: 200, time: Duration::from_millis(300) };
        for kind in KINDS {
            let found = delays(kind, Duration::from_millis(4), &options(mode), load).unwrap();
            let error = found.error(mode, load.packets_per_second);
            assert_eq!((found.early_ns, found.disordered, error.lost), (0, 0, 0), "{kind:?} {error:?}");
            assert!(error.packets > 0, "{kind:?}: nothing came");
        }
    }
}

#[test]
fn a_rate_is_kept_with_offloads_on() {
    let Some(_turn) = allowed("a_rate_is_kept_with_offloads_on") else { return };
    let limited = PathSpec {
        rate: Rate::from_bits_per_second(50_000_000).map(Into::into),
        delay: Some(Duration::from_millis(5)),
        // Nothing is lost: after a loss, data would be read in one piece.
        queue: Some(QueueLimit::Packets(10_000).into()),
        ..PathSpec::default()
    };
    let (warm, time) = (Duration::from_millis(700), Duration::from_millis(1000));
    let found = bulk(Kind::Offloads, &limited, &options(Mode::HYBRID), warm, time).unwrap();
    let nominal = 50e6 * 1448.0 / 1500.0;
    // Reads come in blocks, and this machine may be busy with other tests.
    assert!((0.8..1.15).contains(&(found.rate / nominal)), "{} bit/s, {} dropped", found.rate, found.drops);
}

#[test]
fn what_the_emulator_cannot_take_makes_the_run_invalid() {
    let Some(_turn) = allowed("what_the_emulator_cannot_take_makes_the_run_invalid") else { return };
    // A sleeping emulator behind everything else, and a sender that does not stop.
    let slow = DriveOptions { nice: Some(19), core: Some(0), ..DriveOptions::default() };
    let testbed = Testbed::new(Kind::Tun, &PathSpec::default(), &slow).unwrap();
    let socket = testbed.hosts[SERVER].within(|| UdpSocket::bind((address(SERVER), 0))).unwrap();
    let end = std::time::Instant::now() + StdDuration::from_millis(1500);
    rexmit_live::sys::thread::pin(0).unwrap();
    while std::time::Instant::now() < end {
        socket.send_to(&[0; 1000], (address(CLIENT), 9)).ok();
    }
    let report = testbed.finish().unwrap().report;
    let invalid = report.invalid.expect("nothing was lost");
    assert!(invalid.starts_with("the emulator did not keep up: packets: "), "{invalid}");
    assert!(report.lost[SERVER].sent > 0, "{invalid}");
    assert!(!invalid.contains('\n'));
}

#[test]
fn nothing_is_left_after_a_kill() {
    let Some(_turn) = allowed("nothing_is_left_after_a_kill") else { return };
    if std::env::var_os("REXMIT_TESTBED").is_some() {
        let _testbed = Testbed::new(Kind::Veth, &PathSpec::default(), &options(Mode::Sleep)).unwrap();
        println!("ready");
        thread::sleep(StdDuration::from_secs(60));
    }
    let interfaces = || std::fs::read_to_string("/proc/net/dev").unwrap().lines().count();
    let named = || std::fs::read_dir("/run/netns").map_or(0, Iterator::count);
    let before = (interfaces(), named());
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(["nothing_is_left_after_a_kill", "--exact", "--nocapture"])
        .env("REXMIT_TESTBED", "1")
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = [0; 200];
    let mut out = child.stdout.take().unwrap();
    let mut text = String::new();
    while !text.contains("ready") {
        let len = out.read(&mut said).unwrap();
        assert!(len > 0, "the testbed ended: {text}");
        text.push_str(&String::from_utf8_lossy(&said[..len]));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!((interfaces(), named()), before);
}
