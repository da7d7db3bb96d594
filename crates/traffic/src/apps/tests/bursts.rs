//! Bursts: a list of writes again and again.

use proptest::prelude::*;
use rexmit_stack::Event;
use rexmit_units::{Duration, Instant};

use super::{App, Call, Fake, at, receiver, sender};
use crate::{BurstsSpec, TransferSpec};
use rexmit_network::two_hosts::Side;

fn bursts(writes: &str, pause_ms: u64, count: u64, every_ms: u64) -> TransferSpec {
    TransferSpec {
        pause: Duration::from_millis(pause_ms),
        bursts: Some(BurstsSpec { count, every: Duration::from_millis(every_ms) }),
        ..TransferSpec::writes(Side::Server, writes.parse().unwrap())
    }
}

/// Lets its timers move an application whose socket takes everything; what it called, and when.
fn play(app: &mut App, socket: &mut Fake) -> Vec<(Instant, Call)> {
    let mut seen = Vec::new();
    while let Some(now) = app.poll_timer() {
        app.handle_timer(now, socket);
        seen.extend(socket.take().into_iter().map(|call| (now, call)));
    }
    seen
}

#[test]
fn bursts_begin_a_period_apart_and_their_writes_a_pause_apart() {
    let mut app = sender(&bursts("4 x 100 bytes", 10, 3, 1000));
    let mut socket = Fake::with_space(u64::MAX);
    let connected = Instant::from_nanos(20_000_001);
    app.on_event(connected, Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Write(100)]);
    let seen = play(&mut app, &mut socket);
    let ms = |n: u64| connected + Duration::from_millis(n);
    let writes = [10, 20, 30, 1000, 1010, 1020, 1030, 2000, 2010, 2020, 2030];
    let mut expected: Vec<_> = writes.map(|n| (ms(n), Call::Write(100))).into();
    // As after the last write of a thin stream.
    expected.push((ms(2040), Call::Close));
    assert_eq!(seen, expected);
    assert_eq!((app.progress().bytes_written, app.progress().finished), (1200, Some(ms(2040))));
}

#[test]
fn without_a_pause_a_burst_is_written_at_once() {
    let mut app = sender(&bursts("500 bytes, 2 x 100 bytes", 0, 2, 50));
    let mut socket = Fake::with_space(u64::MAX);
    app.on_event(at(0), Event::Connected, &mut socket);
    let burst = [Call::Write(500), Call::Write(100), Call::Write(100)];
    assert_eq!((socket.take(), app.poll_timer()), (burst.into(), Some(at(50))));
    app.handle_timer(at(49), &mut socket);
    assert_eq!(socket.take(), []);
    app.handle_timer(at(50), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), ([&burst[..], &[Call::Close]].concat(), None));
}

#[test]
fn a_write_that_blocks_makes_later_ones_of_its_burst_late_and_not_the_next_burst() {
    let mut app = sender(&bursts("3 x 100 bytes", 10, 3, 40));
    let mut socket = Fake::with_space(60);
    app.on_event(at(0), Event::Connected, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(100)], None));
    socket.space = 1000;
    app.on_event(at(25), Event::Writable, &mut socket);
    // Its rest, and the second, whose time has come.
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(40), Call::Write(100)], Some(at(35))));
    app.handle_timer(at(35), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(100)], Some(at(40))));
    // The second burst's last write is taken whole when the third is long due.
    app.handle_timer(at(40), &mut socket);
    app.handle_timer(at(50), &mut socket);
    socket.take();
    socket.space = 99;
    app.handle_timer(at(60), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(100)], None));
    socket.space = 1000;
    app.on_event(at(95), Event::Writable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(1), Call::Write(100)], Some(at(105))));
}

#[test]
fn where_nobody_closes_all_bursts_are_expected() {
    let mut app = receiver(&TransferSpec { close: false, ..bursts("2 x 100 bytes", 0, 3, 50) });
    let mut socket = Fake { unread: 599, ..Fake::default() };
    app.on_event(at(1), Event::Readable, &mut socket);
    assert_eq!(app.progress().finished, None);
    socket.unread = 1;
    app.on_event(at(2), Event::Readable, &mut socket);
    assert_eq!(app.progress().finished, Some(at(2)));
}

#[test]
fn one_burst_is_the_list_of_writes() {
    let once = bursts("4 x 100 bytes", 10, 1, 31);
    let plain = TransferSpec { bursts: None, ..once.clone() };
    let of = |spec: &TransferSpec| {
        let (mut app, mut socket) = (sender(spec), Fake::with_space(u64::MAX));
        app.on_event(at(0), Event::Connected, &mut socket);
        (play(&mut app, &mut socket), *app.progress())
    };
    assert_eq!(of(&once), of(&plain));
}

proptest! {
    /// Where the socket takes everything, write k of burst n is at n * every + k * pause, exactly.
    #[test]
    fn times_are_exact(
        writes in 1_u64..6, pause in 0_u64..50, count in 1_u64..8, spare in 1_u64..100, size in 1_u64..2000,
    ) {
        let every = pause * (writes - 1) + spare;
        let mut app = sender(&bursts(&format!("{writes} x {size} bytes"), pause, count, every));
        let mut socket = Fake::with_space(u64::MAX);
        app.on_event(at(7), Event::Connected, &mut socket);
        let mut seen: Vec<_> = socket.take().into_iter().map(|call| (at(7), call)).collect();
        seen.extend(play(&mut app, &mut socket));
        let times = (0..count).flat_map(|n| (0..writes).map(move |k| 7 + n * every + k * pause));
        let mut expected: Vec<_> = times.map(|ms| (at(ms), Call::Write(size))).collect();
        expected.push((expected[expected.len() - 1].0 + Duration::from_millis(pause), Call::Close));
        prop_assert_eq!(seen, expected);
    }
}
