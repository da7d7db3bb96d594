//! FreeBSD's dummynet, by the rows of the behaviour tables (EM-DN and T-EM).

use crate::common::{burst, down, down_at, idents, ms, udp, us};
use rexmit_units::{Duration, Instant};

const PIPE: &str = r#"
    rate = "40 kbit/s"
    delay = "5 ms"
    queue = "99 packets"
    shaper = "dummynet"
"#;

/// T-EM-1, EM-DN-6: 64 bytes on an idle pipe: 13 + 5 ticks less the part of the tick that had passed.
#[test]
fn t_em_1_small_packet_on_idle_pipe() {
    let mut pipe = down(PIPE);
    pipe.send(ms(100), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(ms(118)));

    let mut pipe = down_at(PIPE, Duration::from_micros(300));
    pipe.send(ms(100), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(us(99_300 + 18_000)));
}

/// T-EM-2: 1500 bytes: 300 + 5 ticks.
#[test]
fn t_em_2_full_packet_on_idle_pipe() {
    let mut pipe = down(PIPE);
    pipe.send(us(100_700), udp(1500, 1));
    assert_eq!(pipe.poll_timer(), Some(ms(405)));
}

/// T-EM-3, EM-DN-4: two of 64 bytes at once: 13 ticks for the first, 26 for both (12.8 each).
#[test]
fn t_em_3_credit_is_exact_in_a_busy_period() {
    let mut pipe = down(PIPE);
    burst(&mut pipe, ms(0), 5, 64);
    // 12.8, 25.6, 38.4, 51.2, 64.0 ticks, each rounded up, and 5 of delay.
    let expected = [18, 31, 44, 57, 69].map(ms);
    assert_eq!(idents(&mut pipe).into_iter().map(|p| p.0).collect::<Vec<_>>(), expected);
}

/// EM-DN-4: as many packets leave at a tick as the credit covers.
#[test]
fn several_packets_leave_at_one_tick() {
    let mut pipe = down("rate = \"10 Mbit/s\"\nshaper = \"dummynet\"");
    burst(&mut pipe, ms(0), 4, 500);
    // 10,000 bits a tick; 4,000 a packet.
    let ticks: Vec<_> = idents(&mut pipe).into_iter().map(|p| p.0).collect();
    assert_eq!(ticks, [1, 1, 2, 2].map(ms));
}

/// EM-DN-4: when the queue empties, the credit is lost.
#[test]
fn credit_ends_with_the_busy_period() {
    // 10,000 bits a tick: a packet of 4,000 leaves credit for another.
    let mut pipe = down("rate = \"10 Mbit/s\"\nshaper = \"dummynet\"");
    pipe.send(ms(0), udp(500, 1));
    assert_eq!(idents(&mut pipe), [(ms(1), 1)]);
    // At tick 1 the queue is empty again: a whole tick anew.
    pipe.send(ms(1), udp(500, 2));
    assert_eq!(idents(&mut pipe), [(ms(2), 2)]);
    pipe.send(us(5_600), udp(500, 3));
    assert_eq!(idents(&mut pipe), [(ms(6), 3)]);
}

/// T-EM-5, EM-DN-2: of 100 packets at a queue of 99 the last is dropped: the one being sent counts.
#[test]
fn t_em_5_packet_in_service_counts_as_queued() {
    let mut pipe = down(PIPE);
    let verdicts = burst(&mut pipe, ms(0), 100, 1500);
    assert!(verdicts[..99].iter().all(|v| v.is_plain()));
    assert_eq!(verdicts[99].to_string(), "dropped: queue full (99 packets)");
    assert_eq!(pipe.queued(ms(299)), (99, 99 * 1500));
    assert_eq!(pipe.queued(ms(300)), (98, 98 * 1500));
    assert!(pipe.send(ms(300), udp(1500, 101)).is_plain());
}

/// EM-DN-2: a limit in bytes refuses only where more is held already.
#[test]
fn byte_limit_may_be_overrun() {
    let mut pipe = down("rate = \"40 kbit/s\"\nqueue = \"3000 bytes\"\nshaper = \"dummynet\"");
    let drops: Vec<bool> = burst(&mut pipe, ms(0), 5, 1500).iter().map(|v| v.is_drop()).collect();
    assert_eq!(drops, [false, false, false, true, true]);
}

/// EM-DN-5: the delay is cut to whole ticks.
#[test]
fn delay_is_cut_to_ticks() {
    let mut pipe = down("rate = \"40 kbit/s\"\ndelay = \"2.9 ms\"\nshaper = \"dummynet\"");
    pipe.send(ms(0), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(ms(15)));
}

/// EM-DN-7: without a rate the queue empties at once and its size does not matter.
#[test]
fn no_rate_no_queue() {
    let mut pipe = down("delay = \"5 ms\"\nqueue = \"1 packet\"\nshaper = \"dummynet\"");
    assert!(burst(&mut pipe, us(400), 50, 1500).iter().all(|v| v.is_plain()));
    assert!(idents(&mut pipe).iter().all(|p| p.0 == ms(5)));
    let mut pipe = down("shaper = \"dummynet\"");
    pipe.send(us(400), udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(us(400)));
}

/// EM-DN-1: study 004 has ticks of 0.5 ms.
#[test]
fn other_ticks() {
    let mut pipe = down("rate = \"40 kbit/s\"\ntick = \"500 us\"\nshaper = \"dummynet\"");
    pipe.send(Instant::ZERO, udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(ms(13)));
    let mut pipe = down("rate = \"41 kbit/s\"\ntick = \"500 us\"\nshaper = \"dummynet\"");
    pipe.send(Instant::ZERO, udp(64, 1));
    assert_eq!(pipe.poll_timer(), Some(us(12_500)));
}
