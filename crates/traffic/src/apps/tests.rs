//! The applications over a socket made of two counters.

mod bursts;
mod flows;
mod messages;
mod requests;

use proptest::prelude::*;
use rexmit_stack::{Event, Socket};
use rexmit_units::{Bytes, Duration, Instant, Rate};

use super::{App, Ending, Progress, total_time};
use crate::{Bulk, ReadSpec, TransferSpec};
use rexmit_network::two_hosts::Side;

/// What an application called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    Connect,
    Write(u64),
    Read(u64),
    Close,
}

/// A socket with a send buffer of `space` bytes left and `unread` bytes to read.
#[derive(Default)]
struct Fake {
    space: u64,
    unread: u64,
    calls: Vec<Call>,
}

impl Fake {
    fn with_space(space: u64) -> Self {
        Self { space, ..Self::default() }
    }

    fn take(&mut self) -> Vec<Call> {
        std::mem::take(&mut self.calls)
    }
}

impl Socket for Fake {
    fn connect(&mut self, _: Instant) {
        self.calls.push(Call::Connect);
    }

    fn write(&mut self, _: Instant, len: u64) -> u64 {
        self.calls.push(Call::Write(len));
        let taken = len.min(self.space);
        self.space -= taken;
        taken
    }

    fn read(&mut self, _: Instant, max: u64) -> u64 {
        let got = max.min(self.unread);
        self.calls.push(Call::Read(got));
        self.unread -= got;
        got
    }

    fn readable(&self) -> u64 {
        self.unread
    }

    fn close(&mut self, _: Instant) {
        self.calls.push(Call::Close);
    }

    fn abort(&mut self, _: Instant) {
        unreachable!("no application aborts");
    }
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Duration::from_millis(ms)
}

fn hurtig() -> TransferSpec {
    TransferSpec::writes(Side::Server, "5000 bytes, 8 x 2500 bytes".parse().unwrap())
}

/// Who sends the data, or answers.
fn sender(spec: &TransferSpec) -> App {
    spec.resolve().unwrap().applications(0).0
}

/// Who receives the data, or asks.
fn receiver(spec: &TransferSpec) -> App {
    spec.resolve().unwrap().applications(0).1
}

#[test]
fn the_server_of_hurtig_2006_writes_5000_then_2500_each_and_closes() {
    let mut app = sender(&hurtig());
    assert_eq!(app.poll_timer(), None, "the client opens");
    let mut socket = Fake::with_space(32_768);
    app.on_event(at(20), Event::Connected, &mut socket);
    let mut expected = vec![Call::Write(5000)];
    expected.extend([Call::Write(2500); 8]);
    expected.push(Call::Close);
    assert_eq!(socket.take(), expected);
    let finished = Progress {
        connected: Some(at(20)),
        first_byte: Some(at(20)),
        finished: Some(at(20)),
        bytes_written: 25_000,
        ..Progress::default()
    };
    assert_eq!(*app.progress(), finished);
    app.on_event(at(30), Event::Writable, &mut socket);
    app.on_event(at(40), Event::EndOfStream, &mut socket);
    app.on_event(at(50), Event::Closed, &mut socket);
    assert_eq!(socket.take(), []);
    assert_eq!(app.progress().ended, Some((at(50), Ending::Closed)));
}

#[test]
fn a_thin_stream_pauses_between_writes_and_before_its_close() {
    let writes = "3 x 100 bytes".parse().unwrap();
    let pause = Duration::from_millis(50);
    let mut app = sender(&TransferSpec { pause, ..TransferSpec::writes(Side::Server, writes) });
    let mut socket = Fake::with_space(150);
    app.on_event(at(20), Event::Connected, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(100)], Some(at(70))));
    app.on_event(at(30), Event::Writable, &mut socket);
    app.handle_timer(at(69), &mut socket);
    assert_eq!(socket.take(), []);
    app.handle_timer(at(70), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Write(100)], None), "the socket is full");
    socket.space = 1_000;
    app.on_event(at(300), Event::Writable, &mut socket);
    let late = vec![Call::Write(50), Call::Write(100)];
    assert_eq!((socket.take(), app.poll_timer()), (late, Some(at(350))));
    app.handle_timer(at(350), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Close], None));
}

#[test]
fn the_client_of_hurtig_2006_reads_to_the_end_and_closes() {
    let mut app = receiver(&TransferSpec { start: Duration::from_millis(7), ..hurtig() });
    let mut socket = Fake::default();
    app.handle_timer(at(6), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![], Some(at(7))));
    app.handle_timer(at(7), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Connect], None));
    app.on_event(at(27), Event::Connected, &mut socket);
    socket.unread = 1448;
    app.on_event(at(47), Event::Readable, &mut socket);
    socket.unread = 23_552;
    app.on_event(at(99), Event::Readable, &mut socket);
    assert_eq!(socket.take(), [Call::Read(1448), Call::Read(23_552)]);
    assert_eq!(app.progress().finished, None);
    app.on_event(at(103), Event::EndOfStream, &mut socket);
    assert_eq!(socket.take(), [Call::Close]);
    let seen = app.progress();
    assert_eq!((seen.first_byte, seen.finished, seen.bytes_read), (Some(at(47)), Some(at(103)), 25_000));
    assert_eq!(total_time(&Progress::default(), seen), Some(Duration::from_millis(96)));
}

#[test]
fn a_blocked_write_goes_on_before_the_next_begins() {
    let mut app = sender(&hurtig());
    let mut socket = Fake::with_space(6000);
    app.on_event(at(0), Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Write(5000), Call::Write(2500)]);
    socket.space = 1000;
    app.on_event(at(1), Event::Writable, &mut socket);
    assert_eq!(socket.take(), [Call::Write(1500)]);
    socket.space = 500;
    app.on_event(at(2), Event::Writable, &mut socket);
    // All taken at last: the next write begins at once and blocks.
    assert_eq!(socket.take(), [Call::Write(500), Call::Write(2500)]);
    assert_eq!((app.progress().bytes_written, app.progress().finished), (7500, None));
}

#[test]
fn a_sender_writes_after_the_handshake_and_its_first_byte_is_one_that_was_taken() {
    let mut app = sender(&hurtig());
    let mut socket = Fake::default();
    app.on_event(at(0), Event::Writable, &mut socket);
    assert_eq!(socket.take(), []);
    app.on_event(at(1), Event::Connected, &mut socket);
    assert_eq!((socket.take(), app.progress().first_byte), (vec![Call::Write(5000)], None));
    socket.space = 1;
    app.on_event(at(2), Event::Writable, &mut socket);
    assert_eq!(app.progress().first_byte, Some(at(2)));
}

#[test]
fn a_sender_reads_what_nobody_asked_for() {
    let mut app = sender(&hurtig());
    let mut socket = Fake { unread: 70, ..Fake::default() };
    app.on_event(at(1), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.progress().bytes_read), (vec![Call::Read(70)], 70));
}

#[test]
fn a_receiver_finishes_and_closes_once() {
    let mut app = receiver(&hurtig());
    let mut socket = Fake::default();
    app.on_event(at(1), Event::EndOfStream, &mut socket);
    app.on_event(at(2), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.progress().finished), (vec![Call::Close], Some(at(1))));
}

#[test]
fn bulk_bytes_end_with_a_shorter_write() {
    let spec = TransferSpec {
        write_size: Some(Bytes(1460)),
        opened_by: Some("server".to_owned()),
        close: false,
        ..TransferSpec::bulk(Side::Server, "4000 bytes".parse().unwrap())
    };
    let mut app = sender(&spec);
    let mut socket = Fake::with_space(u64::MAX);
    app.handle_timer(at(0), &mut socket);
    app.on_event(at(5), Event::Connected, &mut socket);
    let expected = [Call::Connect, Call::Write(1460), Call::Write(1460), Call::Write(1080)];
    assert_eq!(socket.take(), expected);
    // Nobody closes: the receiver has finished at the last byte expected.
    let mut reader = receiver(&spec);
    assert_eq!(reader.poll_timer(), None);
    socket.unread = 3999;
    reader.on_event(at(10), Event::Readable, &mut socket);
    assert_eq!(reader.progress().finished, None);
    socket.unread = 1;
    reader.on_event(at(11), Event::Readable, &mut socket);
    assert_eq!(total_time(app.progress(), reader.progress()), Some(Duration::from_millis(11)));
    assert_eq!(socket.take(), [Call::Read(3999), Call::Read(1)]);
}

#[test]
fn bulk_time_finishes_the_write_that_has_begun() {
    let spec = TransferSpec {
        write_size: Some(Bytes(1000)),
        ..TransferSpec::bulk(Side::Server, Bulk::Time(Duration::from_millis(100)))
    };
    let mut app = sender(&spec);
    let mut socket = Fake::with_space(1500);
    app.on_event(at(20), Event::Connected, &mut socket);
    assert_eq!(socket.take(), [Call::Write(1000), Call::Write(1000)]);
    socket.space = 600;
    app.on_event(at(119), Event::Writable, &mut socket);
    assert_eq!(socket.take(), [Call::Write(500), Call::Write(1000)]);
    socket.space = 10_000;
    app.on_event(at(120), Event::Writable, &mut socket);
    assert_eq!(socket.take(), [Call::Write(900), Call::Close]);
    assert_eq!(app.progress().bytes_written, 3000);
}

#[test]
fn a_paced_reader_waits_between_reads_and_finishes_with_the_last() {
    let rate = Rate::from_bits_per_second(1_000_000);
    let spec = TransferSpec { read: ReadSpec { size: Some(Bytes(1000)), rate }, ..hurtig() };
    let mut app = receiver(&spec);
    let mut socket = Fake::default();
    app.handle_timer(at(0), &mut socket);
    app.on_event(at(1), Event::Connected, &mut socket);
    socket.take();
    socket.unread = 2500;
    // 1000 bytes at 1 Mbit/s are 8 ms.
    app.on_event(at(10), Event::Readable, &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1000)], Some(at(18))));
    app.on_event(at(12), Event::EndOfStream, &mut socket);
    app.handle_timer(at(17), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![], Some(at(18))));
    app.handle_timer(at(18), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(1000)], Some(at(26))));
    app.handle_timer(at(26), &mut socket);
    assert_eq!((socket.take(), app.poll_timer()), (vec![Call::Read(500), Call::Close], None));
    assert_eq!(app.progress().finished, Some(at(26)));
}

#[test]
fn a_reader_of_a_given_size_takes_all_there_is_in_pieces() {
    let spec = TransferSpec { read: ReadSpec { size: Some(Bytes(1000)), rate: None }, ..hurtig() };
    let mut app = receiver(&spec);
    let mut socket = Fake { unread: 2500, ..Fake::default() };
    app.on_event(at(10), Event::Readable, &mut socket);
    assert_eq!(socket.take(), [Call::Read(1000), Call::Read(1000), Call::Read(500)]);
}

#[test]
fn copies_open_one_after_the_other() {
    let spec = TransferSpec {
        start: Duration::from_millis(100),
        stagger: Duration::from_millis(3),
        connections: 5,
        ..hurtig()
    };
    let transfer = spec.resolve().unwrap();
    let due = |copy| transfer.applications(copy).1.poll_timer();
    assert_eq!([due(0), due(1), due(4)], [Some(at(100)), Some(at(103)), Some(at(112))]);
}

#[test]
fn a_connection_that_fails_says_how() {
    for (event, ending) in [(Event::Reset, Ending::Reset), (Event::TimedOut, Ending::TimedOut)] {
        let mut app = sender(&hurtig());
        let mut socket = Fake::with_space(100);
        app.on_event(at(1), Event::Connected, &mut socket);
        app.on_event(at(9), event, &mut socket);
        app.on_event(at(10), Event::Closed, &mut socket);
        assert_eq!(app.progress().ended, Some((at(9), ending)));
        assert_eq!(app.progress().finished, None);
    }
}

proptest! {
    /// Whatever pieces the socket takes, the sender writes exactly its bytes, in the sizes of its list, and
    /// the receiver reads exactly what arrives.
    #[test]
    fn every_byte_is_written_once_and_read_once(
        runs in prop::collection::vec((1_u64..5, 1_u64..9_000), 1..6),
        spaces in prop::collection::vec(1_u64..4_000, 1..50),
        size in prop::option::of(1_u64..3_000),
    ) {
        let text: Vec<String> = runs.iter().map(|(n, m)| format!("{n} x {m} bytes")).collect();
        let spec = TransferSpec {
            read: ReadSpec { size: size.map(Bytes), rate: None },
            ..TransferSpec::writes(Side::Client, text.join(", ").parse().unwrap())
        };
        let total = runs.iter().map(|(n, m)| n * m).sum::<u64>();
        let (mut tx, mut rx) = spec.resolve().unwrap().applications(0);
        let mut socket = Fake::default();
        let mut now = at(0);
        tx.on_event(now, Event::Connected, &mut socket);
        for space in spaces.iter().cycle() {
            if tx.progress().finished.is_some() {
                break;
            }
            now += Duration::from_millis(1);
            socket.space = *space;
            tx.on_event(now, Event::Writable, &mut socket);
            let taken = *space - socket.space;
            prop_assert!(taken == *space || tx.progress().finished.is_some(), "a blocked writer takes all space");
            socket.unread += taken;
            rx.on_event(now, Event::Readable, &mut socket);
        }
        rx.on_event(now, Event::EndOfStream, &mut socket);
        prop_assert_eq!(tx.progress().bytes_written, total);
        prop_assert_eq!(rx.progress().bytes_read, total);
        prop_assert_eq!(rx.progress().finished, Some(now));
        let closes = socket.calls.iter().filter(|call| **call == Call::Close).count();
        prop_assert_eq!(closes, 2);
    }
}
