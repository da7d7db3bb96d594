//! Packets a second through two ends that are connected directly: `cargo run --release -p rexmit-lwip --example bulk_of_lwip`.

use std::collections::VecDeque;
use std::time::Instant as WallClock;

use rexmit_lwip::LwipStack;
use rexmit_network::two_hosts::{CLIENT, ORDER_OF_ENDS, SERVER, choose, peer, server_and_client};
use rexmit_stack::{EndSettings, Event, Habits, HostSettings, Role, RunSettings, SettingError, StackFactory};
use rexmit_units::{Duration, Instant};

/// One way.
const DELAY: Duration = Duration::from_millis(1);

fn main() -> Result<(), SettingError> {
    let total = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(1_000_000_000);
    let started = WallClock::now();
    let (packets, seconds) = transfer(total)?;
    let wall = started.elapsed().as_secs_f64();
    println!(
        "{total} bytes: {packets} packets in {wall:.2} s, {:.0} packets/s ({seconds:.1} s of virtual time)",
        packets as f64 / wall
    );
    Ok(())
}

/// Sends so many bytes; packets sent by both ends, and seconds of virtual time.
fn transfer(total: u64) -> Result<(u64, f64), SettingError> {
    let stack = "rfc".into();
    let host = |name| HostSettings {
        name,
        stack: &stack,
        settings: None,
        table: &(),
        profile: &(),
        protocol: "tcp",
        mtu: 1500,
        address: [10, 0, 0, 1].into(),
        peer: None,
        alternate_address: None,
        qlog: false,
    };
    let none = |_: &str| unreachable!("lwIP draws no random numbers");
    let mut run =
        LwipStack.start(&RunSettings { hosts: &[host("server"), host("client")], streams: &none })?;
    let ports =
        server_and_client("10.0.0.1:5001", "10.0.0.2:40000").map(|text| text.parse().expect("an address"));
    let mut end = |host| {
        let settings = EndSettings {
            local: ports[host],
            remote: ports[peer(host)],
            more_local: None,
            role: choose(host, Role::Passive, Role::Active),
            streams: 1,
            phase: Duration::ZERO,
            marks_places: false,
            places: None,
            datagrams: false,
            wish: None,
            habits: Habits::default(),
        };
        run.endpoint(choose(host, 0, 1), &settings)
    };
    let client = end(CLIENT)?;
    let mut ends = server_and_client(end(SERVER)?, client);
    let (mut now, mut left, mut received) = (Instant::ZERO, total, 0);
    let mut under_way = VecDeque::new();
    ends[CLIENT].connect(now);
    while received < total {
        for end in ORDER_OF_ENDS {
            while let Some(event) = ends[end].poll_event() {
                match event {
                    Event::Connected | Event::Writable if end == CLIENT => left -= ends[end].write(now, left),
                    Event::Readable => received += ends[end].read(now, u64::MAX),
                    _ => {}
                }
            }
            while let Some(sent) = ends[end].poll_transmit(now) {
                under_way.push_back((now + DELAY, peer(end), sent.packet));
            }
        }
        let timers = ORDER_OF_ENDS.into_iter().filter_map(|end| Some((ends[end].poll_timer()?, end)));
        let timer = timers.min_by_key(|(due, _)| *due);
        match (under_way.front(), timer) {
            (Some((arrives, ..)), timer) if timer.is_none_or(|(due, _)| *arrives <= due) => {
                let (arrives, to, packet) = under_way.pop_front().expect("it is there");
                now = arrives;
                ends[to].handle_packet(now, packet);
            }
            (_, Some((due, end))) => {
                now = due;
                ends[end].handle_timer(now);
            }
            _ => break,
        }
    }
    assert_eq!(ends[SERVER].misplaced_bytes(), 0, "every byte is where it belongs");
    let packets = ends.values().map(|end| end.counters().packets).sum();
    Ok((packets, now.as_secs_f64()))
}
