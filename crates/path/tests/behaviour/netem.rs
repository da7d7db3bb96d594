//! The delay of Linux's netem up to 2.6.21, which lets go at ticks (EM-NE-2, EM-NE-4).

use crate::common::{burst, down, down_at, idents, ms, udp, us};
use rexmit_units::Duration;

fn netem(delay: &str) -> String {
    format!("delay = \"{delay}\"\ndelay_rule = \"netem-2.6\"")
}

/// EM-NE-2: 50, 100 and 200 ms become 52, 104 and 204 ms at HZ 250 for a packet that comes at a tick.
#[test]
fn a_packet_leaves_one_tick_after_the_whole_ticks_of_its_delay() {
    for (delay, out) in [("50 ms", 52), ("100 ms", 104), ("200 ms", 204)] {
        let mut pipe = down(&netem(delay));
        pipe.send(ms(400), udp(64, 1));
        assert_eq!(pipe.poll_timer(), Some(ms(400 + out)), "{delay}");
    }
}

/// EM-NE-2: less the time that has passed since the tick.
#[test]
fn what_has_passed_of_a_tick_counts() {
    let mut pipe = down_at(&netem("50 ms"), Duration::from_micros(1_500));
    pipe.send(ms(400), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(us(397_500 + 52_000)));
}

/// EM-NE-4: order is kept, and what came within one tick leaves at one tick.
#[test]
fn packets_of_a_tick_leave_together() {
    let mut pipe = down(&netem("50 ms"));
    burst(&mut pipe, us(400_100), 3, 64);
    burst(&mut pipe, us(403_900), 2, 64);
    burst(&mut pipe, us(404_000), 1, 64);
    let out: Vec<_> = idents(&mut pipe).into_iter().map(|p| p.0).collect();
    assert_eq!(out, [ms(452), ms(452), ms(452), ms(452), ms(452), ms(456)]);
}

/// EM-NE-3: without a delay nothing waits for a tick.
#[test]
fn no_delay_is_none() {
    let mut pipe = down(&netem("0 ms"));
    pipe.send(us(400_100), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(us(400_100)));
}
