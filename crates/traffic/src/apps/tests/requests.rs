//! Requests and responses.

use proptest::prelude::*;
use rexmit_stack::{Event, Socket};
use rexmit_units::{Bytes, Duration, Rate};

use super::{App, Call, Ending, Fake, at, receiver, sender};
use crate::{ReadSpec, RequestsSpec, TransferSpec, total_time};
use rexmit_network::two_hosts::Side;

fn requests(count: u64, request: &str, response: &str) -> RequestsSpec {
    RequestsSpec {
        count,
        request: request.parse().unwrap(),
        response: response.parse().unwrap(),
        think: Duration::from_millis(5),
        pause: Duration::from_millis(100),
    }
}

fn transfer(count: u64, request: &str, response: &str) -> TransferSpec {
    TransferSpec::requests(Side::Server, requests(count, request, response))
}

#[test]
fn a_request_follows_a_pause_after_the_whole_response() {
    let mut app = receiver(&transfer(2, "200 bytes", "3000 bytes"));
    let mut socket = Fake::with_space(u64::MAX);
    assert_eq!(app.poll_timer(), Some(at(0)), "who asks opens");
    app.handle_timer(at(0), &mut socket);
    app.on_event(at(20), Event::Connected, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Connect, Call::Write(200)], None));
    socket.unread = 2999;
    app.on_event(at(45), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(2999)], None));
    socket.unread = 1;
    app.on_event(at(46), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1)], Some(at(146))));
    app.handle_timer(at(145), &mut socket);
    assert_eq!(socket.take(), []);
    app.handle_timer(at(146), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(200)], None));
    assert_eq!(app.progress().finished, None);
    socket.unread = 3000;
    app.on_event(at(171), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(3000), Call::Close], None));
    let seen = app.progress();
    assert_eq!((seen.first_byte, seen.finished), (Some(at(45)), Some(at(171))));
    assert_eq!((seen.bytes_written, seen.bytes_read), (400, 6000));
    app.on_event(at(190), Event::EndOfStream, &mut socket);
    assert_eq!((socket.take(), app.progress().finished), (vec![], Some(at(171))));
}

#[test]
fn a_response_follows_the_thought_about_the_whole_request() {
    let mut app = sender(&transfer(2, "200 bytes", "3000 bytes"));
    assert_eq!(app.poll_timer(), None);
    let mut socket = Fake::with_space(1000);
    app.on_event(at(10), Event::Connected, &mut socket);
    socket.unread = 199;
    app.on_event(at(30), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(199)], None));
    socket.unread = 1;
    app.on_event(at(31), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1)], Some(at(36))));
    assert_eq!(app.progress().first_byte, None);
    app.handle_timer(at(36), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(3000)], None));
    socket.space = 9000;
    app.on_event(at(50), Event::Writable, &mut socket);
    assert_eq!((socket.take(), app.progress().finished), (vec![Call::Write(2000)], None));
    socket.unread = 200;
    app.on_event(at(170), Event::Readable, &mut socket);
    app.handle_timer(at(175), &mut socket);
    assert_eq!(socket.take(), [Call::Read(200), Call::Write(3000)]);
    let seen = app.progress();
    assert_eq!((seen.first_byte, seen.finished), (Some(at(36)), Some(at(175))));
    assert_eq!((seen.bytes_written, seen.bytes_read), (6000, 400));
    app.on_event(at(200), Event::EndOfStream, &mut socket);
    assert_eq!(socket.take(), [Call::Close]);
}

#[test]
fn without_times_each_side_acts_at_once() {
    let spec = RequestsSpec {
        think: Duration::ZERO,
        pause: Duration::ZERO,
        ..requests(2, "100 bytes, 50 bytes", "2 x 500 bytes")
    };
    let spec = TransferSpec { close: false, ..TransferSpec::requests(Side::Client, spec) };
    let (mut answers, mut asks) = (sender(&spec), receiver(&spec));
    let mut socket = Fake::with_space(u64::MAX);
    asks.on_event(at(0), Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Write(100), Call::Write(50)]);
    socket.unread = 150;
    answers.on_event(at(1), Event::Readable, &mut socket);
    assert_eq!(socket.take(), [Call::Read(150), Call::Write(500), Call::Write(500)]);
    socket.unread = 1000;
    asks.on_event(at(2), Event::Readable, &mut socket);
    assert_eq!(socket.take(), [Call::Read(1000), Call::Write(100), Call::Write(50)]);
    socket.unread = 1000;
    asks.on_event(at(4), Event::Readable, &mut socket);
    assert_eq!((socket.take(), asks.progress().finished), (vec![Call::Read(1000)], Some(at(4))));
}

#[test]
fn whoever_opens_the_receiver_of_the_data_asks() {
    let spec = TransferSpec { opened_by: Some("server".to_owned()), ..transfer(1, "200 bytes", "1 kB") };
    let (mut answers, mut asks) = (sender(&spec), receiver(&spec));
    assert_eq!((answers.poll_timer(), asks.poll_timer()), (Some(at(0)), None));
    assert_eq!((answers.receives(), asks.receives()), (false, true));
    let mut socket = Fake::with_space(u64::MAX);
    answers.handle_timer(at(0), &mut socket);
    answers.on_event(at(20), Event::Connected, &mut socket);
    asks.on_event(at(30), Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Connect, Call::Write(200)]);
    socket.unread = 1000;
    asks.on_event(at(80), Event::Readable, &mut socket);
    assert_eq!(total_time(answers.progress(), asks.progress()), Some(Duration::from_millis(80)));
}

#[test]
fn a_paced_reader_asks_again_when_it_has_read_the_whole_response() {
    let rate = Rate::from_bits_per_second(1_000_000);
    let spec = TransferSpec {
        read: ReadSpec { size: Some(Bytes(1000)), rate },
        ..transfer(2, "200 bytes", "2000 bytes")
    };
    let mut app = receiver(&spec);
    let mut socket = Fake::with_space(u64::MAX);
    app.handle_timer(at(0), &mut socket);
    app.on_event(at(1), Event::Connected, &mut socket);
    socket.take();
    socket.unread = 2000;
    // 1000 bytes at 1 Mbit/s are 8 ms.
    app.on_event(at(10), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1000)], Some(at(18))));
    app.handle_timer(at(18), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1000)], Some(at(118))));
}

#[test]
fn after_its_end_a_connection_is_neither_asked_nor_answered() {
    let spec = transfer(2, "200 bytes", "1000 bytes");
    let (mut answers, mut asks) = (sender(&spec), receiver(&spec));
    let mut socket = Fake::with_space(u64::MAX);
    asks.handle_timer(at(0), &mut socket);
    asks.on_event(at(1), Event::Connected, &mut socket);
    socket.unread = 1000;
    asks.on_event(at(2), Event::Readable, &mut socket);
    socket.unread = 200;
    answers.on_event(at(3), Event::Readable, &mut socket);
    assert_eq!((asks.poll_timer(), answers.poll_timer()), (Some(at(102)), Some(at(8))));
    for app in [&mut asks, &mut answers] {
        app.on_event(at(4), Event::Reset, &mut socket);
        assert_eq!((app.poll_timer(), app.progress().ended), (None, Some((at(4), Ending::Reset))));
    }
}

/// Moves up to `most` bytes from what `from` has written to what `to` can read; true if there was anything.
fn carry(moved: &mut u64, most: u64, from: (&App, &mut Fake), to: &mut Fake) -> bool {
    let bytes = (from.0.progress().bytes_written - *moved).min(most);
    *moved += bytes;
    from.1.space += bytes;
    to.unread += bytes;
    bytes > 0
}

proptest! {
    /// Whatever pieces the network makes, every request is written once and answered once.
    #[test]
    fn every_request_is_answered_once(
        count in 1_u64..6, sizes in (1_u64..3000, 1_u64..9000), times in (0_u64..4, 0_u64..4),
        pieces in prop::collection::vec(1_u64..2000, 1..20), space in 1_u64..4000,
    ) {
        let spec = RequestsSpec {
            think: Duration::from_millis(times.0),
            pause: Duration::from_millis(times.1),
            ..requests(count, &format!("{} bytes", sizes.0), &format!("10 bytes, {} bytes", sizes.1))
        };
        let spec = TransferSpec::requests(Side::Server, spec);
        let (mut answers, mut asks) = (sender(&spec), receiver(&spec));
        let (mut server, mut client) = (Fake::with_space(space), Fake::with_space(space));
        let (mut up, mut down, mut now) = (0, 0, at(0));
        answers.on_event(now, Event::Connected, &mut server);
        asks.on_event(now, Event::Connected, &mut client);
        for piece in pieces.iter().cycle() {
            if asks.progress().finished.is_some() {
                break;
            }
            now += Duration::from_millis(1);
            for (app, socket) in [(&mut answers, &mut server), (&mut asks, &mut client)] {
                app.handle_timer(now, socket);
            }
            if carry(&mut up, *piece, (&asks, &mut client), &mut server) {
                answers.on_event(now, Event::Readable, &mut server);
                asks.on_event(now, Event::Writable, &mut client);
            }
            if carry(&mut down, *piece, (&answers, &mut server), &mut client) {
                asks.on_event(now, Event::Readable, &mut client);
                answers.on_event(now, Event::Writable, &mut server);
            }
        }
        let (asked, answered) = (asks.progress(), answers.progress());
        prop_assert_eq!((asked.bytes_written, answered.bytes_read), (count * sizes.0, count * sizes.0));
        let whole = count * (10 + sizes.1);
        prop_assert_eq!((answered.bytes_written, asked.bytes_read), (whole, whole));
        prop_assert_eq!((client.readable(), server.readable()), (0, 0));
        let closes = client.calls.iter().filter(|call| **call == Call::Close).count();
        prop_assert_eq!(closes, 1);
    }
}
