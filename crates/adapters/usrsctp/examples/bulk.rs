//! Packets a second through two ends that are connected directly: `cargo run --release -p rexmit-usrsctp --example bulk`.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Instant as WallClock;

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
    let mut ends = Vec::new();
    let ports = ["10.0.0.2:40000", "10.0.0.1:5001"].map(|text| text.parse().expect("an address"));
    for (i, role) in [Role::Active, Role::Passive].into_iter().enumerate() {
        let config = AssociationConfig {
            settings: settings.clone(),
            local: ports[i],
            remote: ports[1 - i],
            mtu: 1500,
            role,
            seed: i as u64,
        };
        ends.push(library.association(config)?);
    }
    let (mut now, mut left, mut received) = (Instant::ZERO, total, 0);
    let mut under_way = VecDeque::new();
    ends[0].connect(now);
    while received < total * MESSAGE {
        for end in 0..2 {
            while let Some(event) = ends[end].poll_event() {
                match event {
                    Event::Connected | Event::Writable if end == 0 => {
                        while left > 0 && ends[0].send(now, MESSAGE, Delivery::default()) > 0 {
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
                under_way.push_back((now + DELAY, 1 - end, sent.packet));
            }
        }
        let timer = ends.iter().enumerate().filter_map(|(i, end)| Some((end.poll_timer()?, i))).min();
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
    assert_eq!(ends[1].misplaced_bytes(), 0, "every byte is where it belongs");
    let packets = ends.iter().map(|end| end.counters().packets).sum();
    Ok((packets, now.as_secs_f64()))
}
