//! The emulator between interfaces of this test: what enters, what leaves, when, and in which company.

use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use rexmit_live::emulator::{Emulator, Pace};
use rexmit_live::offload::{Offload, PartialChecksum, Segmentation};
use rexmit_live::packet::{Frame, HEADER_ROOM, Run};
use rexmit_live::pool::{Intake, Pool};
use rexmit_live::port::{Arrival, Port};
use rexmit_live::sys::clock::Clock;
use rexmit_live::sys::device::Lost;
use rexmit_network::two_hosts::{self, CLIENT, DOWN, SERVER};
use rexmit_path::{Direction, PathSpec};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{IpFields, Packet, Payload, TcpSegment, Transport};
use serde_json::json;

/// An interface whose host has sent `sent`, and what it got: the packets of each write, and when.
struct Fake {
    file: File,
    sent: VecDeque<(Vec<u8>, Offload)>,
    got: Vec<(u32, Vec<u8>, u64)>,
}

impl Fake {
    fn new(sent: impl IntoIterator<Item = (Vec<u8>, Offload)>) -> Self {
        let file = File::open("/dev/null").unwrap();
        Self { file, sent: sent.into_iter().collect(), got: Vec::new() }
    }
}

impl AsFd for Fake {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

impl Port for Fake {
    fn receive(&mut self, intake: &mut Intake) -> io::Result<Option<Arrival>> {
        let Some((bytes, offload)) = self.sent.pop_front() else { return Ok(None) };
        intake.room()[..bytes.len()].copy_from_slice(&bytes);
        let frame = Frame::new(intake.take(bytes.len()), 0, offload)?;
        Ok(Some(Arrival { frame, is_ip: true, stamp: None }))
    }

    fn merges(&self) -> bool {
        true
    }

    fn transmit(&mut self, run: &Run) -> io::Result<()> {
        let mut room = [0; HEADER_ROOM];
        let out = run.write(&mut room);
        let data = [out.head, out.body].concat()[40..].to_vec();
        self.got.push((run.packets(), data, rexmit_live::sys::clock::monotonic()));
        Ok(())
    }

    fn lost(&mut self) -> io::Result<Lost> {
        Ok(Lost::default())
    }
}

/// A super-packet of `packets` packets with 1000 bytes of data each; their number is in each byte.
fn super_packet(packets: u8) -> (Vec<u8>, Offload) {
    let data: Vec<u8> = (0..packets).flat_map(|n| [n; 1000]).collect();
    let segment = TcpSegment { payload: Payload::Bytes(data.into()), ..TcpSegment::default() };
    let (src, dst) = ([10, 0, 0, 1].into(), [10, 0, 0, 2].into());
    let transport = Transport::Tcp(segment);
    let bytes = Packet { src, dst, ip: IpFields::default(), transport, damaged: false }.emit();
    let segmentation = Some(Segmentation { v6: false, size: 1000, header: 40 });
    let checksum = Some(PartialChecksum { start: 20, offset: 16 });
    (bytes, Offload { segmentation, checksum })
}

fn emulator(path: serde_json::Value, sent: &[u8]) -> Emulator<Fake> {
    let path: PathSpec = serde_json::from_value(path).unwrap();
    let mut streams = |_: &str| unreachable!("nothing random");
    let mut direction = |spec, name| Direction::new(&spec, name, Duration::ZERO, &mut streams).unwrap();
    let links = [direction(path.down(), "down"), direction(path.up(), "up")].into_iter().collect();
    let ports = [Fake::new(sent.iter().map(|n| super_packet(*n))), Fake::new([])].into_iter().collect();
    Emulator::new(two_hosts::network(), ports, links, true)
}

/// The numbers of packets in what was written.
fn numbers(got: &[(u32, Vec<u8>, u64)]) -> Vec<Vec<u8>> {
    got.iter().map(|(_, data, _)| data.chunks(1000).map(|c| c[0]).collect()).collect()
}

const PACE: Pace = Pace { slice: Duration::from_millis(100), horizon: Duration::ZERO };

fn run(emulator: &mut Emulator<Fake>, pace: Pace, time: Duration) -> Clock {
    let clock = Clock::start();
    while clock.now() < Instant::ZERO + time {
        emulator.take_in_for(SERVER, &clock, pace).unwrap();
        emulator.hand_out_for(DOWN, &clock, pace).unwrap();
    }
    clock
}

#[test]
fn a_pattern_names_packets_on_the_wire_and_the_rest_stay_together() {
    let mut emulator = emulator(json!({ "down": { "drop": "3,6-7" } }), &[5, 4]);
    run(&mut emulator, PACE, Duration::from_millis(1));
    assert_eq!(numbers(&emulator.ports()[CLIENT].got), [vec![0, 1], vec![3, 4], vec![2, 3]]);
    let verdicts = emulator.verdicts_on(SERVER);
    let dropped: Vec<u64> = verdicts.iter().filter(|v| v.is_drop()).map(|v| v.position).collect();
    assert_eq!((verdicts.len(), dropped), (9, vec![3, 6, 7]));
}

#[test]
fn a_packet_leaves_when_it_is_due_and_waits_for_others_no_longer_than_the_horizon() {
    // 1040 bytes take 2 ms each.
    let path = json!({ "rate": "4160 kbit/s", "delay": "3 ms" });
    for (horizon, together) in [(0, 1), (5, 3)] {
        let mut emulator = emulator(path.clone(), &[6]);
        let pace = Pace { horizon: Duration::from_millis(horizon), ..PACE };
        let clock = run(&mut emulator, pace, Duration::from_millis(40));
        let got = &emulator.ports()[CLIENT].got;
        assert_eq!(numbers(got).concat(), [0, 1, 2, 3, 4, 5]);
        let mut before = 0;
        for (packets, _, at) in got {
            // The last packet of those is due then.
            before += u64::from(*packets);
            let due = Instant::ZERO + Duration::from_millis(3 + 2 * before);
            assert!(clock.at(*at) >= due, "packet {before} came early");
        }
        // More where this machine was busy.
        assert!(got[0].0 >= together, "{horizon} ms: {} packets left together", got[0].0);
        assert_eq!(emulator.lateness().packets, 6);
    }
}

#[test]
fn a_lone_packet_does_not_wait() {
    let mut emulator = emulator(json!({ "delay": "1 ms" }), &[1]);
    let pace = Pace { horizon: Duration::from_secs(10), ..PACE };
    run(&mut emulator, pace, Duration::from_millis(20));
    assert_eq!(numbers(&emulator.ports()[CLIENT].got), [[0]]);
}

#[test]
fn memory_that_runs_out_is_counted() {
    let mut emulator = emulator(json!({ "delay": "1 ms" }), &[40, 40, 40]).with_pool(Pool::new(100_000));
    run(&mut emulator, PACE, Duration::from_millis(5));
    let came = emulator.ports()[CLIENT].got.iter().map(|g| u64::from(g.0)).sum::<u64>();
    assert_eq!((came, emulator.incidents().no_room), (40, 80));
    assert_eq!(emulator.verdicts_on(SERVER).len(), 40);
}

#[test]
fn one_packet_at_a_time_by_a_clock_that_stands() {
    let mut emulator = emulator(json!({ "delay": "1 ms" }), &[3]);
    let due = Instant::ZERO + Duration::from_millis(1);
    assert_eq!(emulator.take_in(SERVER, Instant::ZERO).unwrap(), 3);
    assert_eq!((emulator.next_due(), emulator.hand_out(Instant::ZERO).unwrap()), (Some(due), None));
    for _ in 0..3 {
        assert_eq!(emulator.hand_out(due).unwrap(), Some(CLIENT));
    }
    assert_eq!(emulator.hand_out(due).unwrap(), None);
    assert_eq!(numbers(&emulator.ports()[CLIENT].got), [[0], [1], [2]]);
}

/// Packets that are dropped from the queue, and marked in it, are so on real packets as on the model's: at the same
/// moments, with the same verdicts; their memory goes back.
#[test]
fn a_managed_queue_is_the_model_s() {
    for path in [
        json!({ "rate": "1 Mbit/s", "delay": "3 ms", "down": { "aqm": "codel" } }),
        json!({ "rate": "1 Mbit/s", "aqm": { "fq_codel": { "interval": "20 ms" } }, "link": "100 Mbit/s" }),
        json!({ "rate": "1 Mbit/s", "shaper": "tbf", "queue": "40 kB", "overhead": "14 bytes" }),
    ] {
        let mut emulator = emulator(path.clone(), &[50]);
        assert_eq!(emulator.take_in(SERVER, Instant::ZERO).unwrap(), 50);
        let mut at = Vec::new();
        while let Some(due) = emulator.next_due() {
            while emulator.hand_out(due).unwrap().is_some() {
                at.push(due);
            }
        }
        let spec: PathSpec = serde_json::from_value(path).unwrap();
        let mut streams = |_: &str| unreachable!("nothing random");
        let direction = Direction::new(&spec.down(), "down", Duration::ZERO, &mut streams).unwrap();
        let mut direction = direction.with_log();
        let bytes = super_packet(1).0;
        for _ in 0..50 {
            direction.send(Instant::ZERO, Packet::parse(&bytes).unwrap());
        }
        let mut model = Vec::new();
        while let Some(due) = direction.poll_timer() {
            model.extend(direction.poll_receive(due).map(|_| due));
        }
        assert_eq!(at, model);
        let verdicts: Vec<_> = direction.log().iter().map(|row| row.verdict).collect();
        assert_eq!(emulator.verdicts_on(SERVER), verdicts);
        let dropped = verdicts.iter().filter(|v| v.is_drop()).count();
        assert!(dropped > 0, "something is dropped");
        assert_eq!((emulator.lateness().packets, emulator.lateness().max_ns), (50 - dropped as u64, 0));
        // What is read into stays.
        let intake = emulator.pool().out();
        assert!(intake <= rexmit_live::pool::LARGEST as u64, "{intake} bytes are still out");
    }
}

/// By a clock that runs on as well: what happens in the queue happens at its time, however late anybody looks.
#[test]
fn a_managed_queue_by_the_clock() {
    let mut emulator = emulator(json!({ "rate": "10 Mbit/s", "down": { "aqm": "codel" } }), &[60]);
    let codel = json!({ "rate": "10 Mbit/s", "down": { "aqm": { "codel": { "target": "1 ms", "interval": "5 ms" } } } });
    run(&mut emulator, PACE, Duration::from_millis(80));
    assert_eq!(
        emulator.ports()[CLIENT].got.iter().map(|g| g.0).sum::<u32>(),
        60,
        "too short for an interval of 100 ms"
    );
    let mut emulator = self::emulator(codel, &[60]);
    run(&mut emulator, PACE, Duration::from_millis(80));
    let dropped: Vec<u64> =
        emulator.verdicts_on(SERVER).iter().filter(|v| v.is_drop()).map(|v| v.position).collect();
    // 1040 bytes take 0.832 ms: above the target from the third on, at 1.664 ms; the first at 6.664 ms or after goes.
    assert_eq!(dropped[0], 10);
    assert!(emulator.verdicts_on(SERVER).iter().all(|v| v.is_final()));
    let got = emulator.ports()[CLIENT].got.iter().map(|g| u64::from(g.0)).sum::<u64>();
    assert_eq!(got + dropped.len() as u64, 60);
}

/// In an outage packets wait, whoever looks; then they leave one behind the other, late by nothing that the emulator did.
#[test]
fn an_outage_by_the_clock() {
    let outage = json!([{ "at": "0 s", "rate": "0 bit/s" }, { "at": "300 ms", "rate": "10 Mbit/s" }]);
    for aqm in ["none", "codel"] {
        let mut emulator = emulator(json!({ "rate": "10 Mbit/s", "aqm": aqm, "changes": outage }), &[20]);
        run(&mut emulator, PACE, Duration::from_millis(200));
        assert_eq!(emulator.ports()[CLIENT].got.len(), 0, "{aqm}: nothing passes");
        run(&mut emulator, PACE, Duration::from_millis(400));
        assert_eq!(emulator.ports()[CLIENT].got.iter().map(|g| g.0).sum::<u32>(), 20, "{aqm}");
    }
}
