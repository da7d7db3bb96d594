//! Packets a second through two ends that are connected directly: `cargo run --release -p rexmit-usrsctp --example bulk_of_usrsctp`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant as WallClock;

use rexmit_network::two_hosts::{CLIENT, ORDER_OF_ENDS, SERVER, choose, peer, server_and_client};
use rexmit_stack::{Delivery, Endpoint, Event, Socket};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_usrsctp::{AssociationConfig, Role, Usrsctp, UsrsctpConfig, UsrsctpError};

/// One way.
const DELAY: Duration = Duration::from_millis(1);
const MESSAGE: u64 = 1_400;

fn main() -> Result<(), UsrsctpError> {
    let total = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(400_000);
    let started = WallClock::now();
    let (packets, seconds) = transfer(total)?;
    let wall = started.elapsed().as_secs_f64();
    println!(
        "{total} messages of {MESSAGE} bytes: {packets} packets in {wall:.2} s, {:.0} packets/s \
         ({seconds:.1} s of virtual time)",
        packets as f64 / wall
    );
    Ok(())
}

/// Sends so many messages; packets sent by both ends, and seconds of virtual time.
fn transfer(total: u64) -> Result<(u64, f64), UsrsctpError> {
    let library = Usrsctp::start(Duration::ZERO)?;
    let settings = Arc::new(UsrsctpConfig {
        send_buffer: Bytes(1 << 20),
        receive_buffer: Bytes(1 << 20),
        ..UsrsctpConfig::default()
    });
    let ports =
        server_and_client("10.0.0.1:5001", "10.0.0.2:40000").map(|text| text.parse().expect("an address"));
    let end = |host| {
        library.association(AssociationConfig {
            settings: settings.clone(),
            local: ports[host],
            remote: ports[peer(host)],
            mtu: 1500,
            role: choose(host, Role::Passive, Role::Active),
            seed: choose(host, 1, 0),
        })
    };
    let client = end(CLIENT)?;
    let mut ends = server_and_client(end(SERVER)?, client);
    let (mut now, mut left, mut received) = (Instant::ZERO, total, 0);
    let mut under_way = VecDeque::new();
    ends[CLIENT].connect(now);
    while received < total * MESSAGE {
        for end in ORDER_OF_ENDS {
            while let Some(event) = ends[end].poll_event() {
                match event {
                    Event::Connected | Event::Writable if end == CLIENT => {
                        while left > 0 && ends[CLIENT].send(now, MESSAGE, Delivery::default()) > 0 {
                            left -= 1;
                        }
                    }
                    Event::Readable => {
                        while ends[end].readable() > 0 {
                            received += ends[end].read(now, u64::MAX);
                        }
                    }
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
            (Some((at, _, _)), timer) if timer.is_none_or(|(due, _)| *at <= due) => {
                let (at, to, packet) = under_way.pop_front().expect("it is there");
                now = at;
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
