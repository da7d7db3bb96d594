//! Sleeps that end at ticks, drawn messages, streams in turn, and the journal.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_stack::Delivery;

use super::*;
use crate::{BurstsSpec, Read, SleepRule, SleepSpec, Written};

fn slept(rule: SleepRule, spec: TransferSpec) -> App {
    let sleep = Some(SleepSpec { tick: Duration::from_millis(4), rule });
    sender(&TransferSpec { sleep, ..spec })
}

fn writes(text: &str) -> TransferSpec {
    TransferSpec::writes(Side::Server, text.parse().unwrap())
}

/// Starts of writes after a connect at 402 ms, each taken at once, up to a time.
fn begins(app: &mut App, until: u64) -> Vec<u64> {
    let mut socket = Fake::with_space(1 << 30);
    let mut all = Vec::new();
    let mut now = at(402);
    app.on_event(now, Event::Connected, &mut socket);
    loop {
        let wrote = socket.take().iter().filter(|call| matches!(call, Call::Write(_))).count();
        all.extend(std::iter::repeat_n((now - Instant::ZERO).as_nanos() / 1_000_000, wrote));
        match app.poll_timer() {
            Some(due) if due <= at(until) => now = due,
            _ => return all,
        }
        app.handle_timer(now, &mut socket);
    }
}

/// SC-A-1 and LX-TCP-1: 250 ms at HZ 250 are 256 ms by nanosleep and 252 ms by an interval timer.
#[test]
fn pauses_of_250_ms_at_hz_250() {
    let thin = || TransferSpec { pause: Duration::from_millis(250), ..writes("4 x 100 bytes") };
    assert_eq!(begins(&mut slept(SleepRule::Nanosleep, thin()), 9_999), [402, 656, 912, 1168]);
    assert_eq!(begins(&mut slept(SleepRule::Itimer, thin()), 9_999), [402, 652, 904, 1156]);
}

/// SC-A-2: 4 messages with pauses of 10 ms, then 1000 ms, come every 1052 ms.
#[test]
fn bursts_of_study_002() {
    let bursts = Some(BurstsSpec { count: 2, every: Duration::from_millis(1030) });
    let spec = TransferSpec { pause: Duration::from_millis(10), bursts, ..writes("4 x 100 bytes") };
    let mut app = slept(SleepRule::Nanosleep, spec);
    let expected = [402, 416, 432, 448, 1452, 1468, 1484, 1500];
    assert_eq!(begins(&mut app, 9_999), expected);
}

/// nanosleep begins when the write is over, however long it took; the other timer is older than that.
#[test]
fn a_write_that_waits_delays_a_nanosleep() {
    for (rule, expected) in [(SleepRule::Nanosleep, 556), (SleepRule::Itimer, 500)] {
        let spec = TransferSpec { pause: Duration::from_millis(50), ..writes("2 x 100 bytes") };
        let mut app = slept(rule, spec);
        let mut socket = Fake::with_space(60);
        app.on_event(at(402), Event::Connected, &mut socket);
        assert_eq!(app.poll_timer(), None, "the write is not over");
        socket.space = 1_000;
        app.on_event(at(500), Event::Writable, &mut socket);
        let next = app.poll_timer().unwrap();
        let begun = socket.take().iter().filter(|call| **call == Call::Write(100)).count();
        if rule == SleepRule::Nanosleep {
            assert_eq!((next, begun), (at(expected), 1));
        } else {
            assert_eq!(begun, 2, "the timer had run out at 452 ms");
        }
    }
}

#[test]
fn the_phase_is_the_host_s() {
    let spec = TransferSpec { pause: Duration::from_millis(250), ..writes("2 x 100 bytes") };
    let mut app = slept(SleepRule::Itimer, spec);
    app.prepare(Duration::from_millis(1), || Xoshiro256PlusPlus::seed_from_u64(1));
    assert_eq!(begins(&mut app, 9_999), [402, 651]);
}

#[test]
fn drawn_messages_are_those_of_the_run_s_stream() {
    let messages = serde_json::json!({ "time": "2 s", "size": "uniform 1 byte to 200 bytes",
        "every": "exponential 100 ms" });
    let messages = Some(serde_json::from_value(messages).unwrap());
    let spec = TransferSpec { messages, writes: None, ..writes("1 byte") };
    let run = |seed| {
        let mut app = sender(&spec);
        app.prepare(Duration::ZERO, || Xoshiro256PlusPlus::seed_from_u64(seed));
        let begins = begins(&mut app, 9_999);
        (begins, *app.progress())
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
    let (begins, progress) = run(1);
    assert!((10..32).contains(&begins.len()), "{begins:?}");
    assert!(begins.iter().all(|ms| *ms < 2_402) && progress.finished.is_some());
}

/// A socket that keeps how messages were sent, and says where reads begin.
#[derive(Default)]
struct Messages {
    sent: Vec<Delivery>,
    unread: Vec<(u64, u64)>,
    last: Option<u64>,
}

impl Socket for Messages {
    fn connect(&mut self, _: Instant) {}
    fn write(&mut self, now: Instant, len: u64) -> u64 {
        self.send(now, len, Delivery::default())
    }
    fn send(&mut self, _: Instant, len: u64, how: Delivery) -> u64 {
        self.sent.push(how);
        len
    }
    fn read(&mut self, _: Instant, _: u64) -> u64 {
        let (offset, len) = self.unread.remove(0);
        self.last = Some(offset);
        len
    }
    fn read_offset(&self) -> Option<u64> {
        self.last
    }
    fn readable(&self) -> u64 {
        self.unread.iter().map(|message| message.1).sum()
    }
    fn close(&mut self, _: Instant) {}
    fn abort(&mut self, _: Instant) {}
}

#[test]
fn messages_go_round_the_streams() {
    let spec = TransferSpec { streams: Some(3), unordered: Some(true), ..writes("5 x 10 bytes") };
    let mut app = sender(&spec);
    let mut socket = Messages::default();
    app.on_event(at(0), Event::Connected, &mut socket);
    assert_eq!(socket.sent.iter().map(|how| how.stream).collect::<Vec<_>>(), [0, 1, 2, 0, 1]);
    assert!(socket.sent.iter().all(|how| how.unordered && how.lifetime.is_none()));
}

#[test]
fn a_journal_holds_writes_and_reads_where_they_stand() {
    let spec = writes("100 bytes, 50 bytes");
    let (mut from, mut to) = (sender(&spec), receiver(&spec));
    from.keep_journal();
    to.keep_journal();
    let mut socket = Messages::default();
    from.on_event(at(5), Event::Connected, &mut socket);
    let wrote = |offset, len| Written { at: at(5), offset, len };
    assert_eq!(from.written().collect::<Vec<_>>(), [wrote(0, 100), wrote(100, 50)]);
    assert_eq!(from.written().count(), 0, "taken once");
    socket.unread = vec![(100, 50), (0, 100)];
    to.on_event(at(9), Event::Readable, &mut socket);
    let read = |offset, len| Read { at: at(9), offset, len };
    assert_eq!(to.read().collect::<Vec<_>>(), [read(100, 50), read(0, 100)]);
}

/// One that is refused for good fails the run, and was not written.
#[test]
fn a_datagram_is_written_once_the_socket_takes_it() {
    let spec = TransferSpec { datagrams: Some(true), ..writes("100 bytes, 50 bytes") };
    let mut from = sender(&spec);
    from.keep_journal();
    let mut socket = Fake::with_space(100);
    from.on_event(at(5), Event::Connected, &mut socket);
    let wrote = |offset, len| Written { at: at(5), offset, len };
    assert_eq!(from.written().collect::<Vec<_>>(), [wrote(0, 100)]);
    socket.space = 50;
    from.on_event(at(9), Event::Writable, &mut socket);
    assert_eq!(from.written().collect::<Vec<_>>(), [wrote(100, 50)], "it was late from its begin on");
}

#[test]
fn keys_that_do_not_fit_are_refused() {
    let refused = |spec: TransferSpec| spec.resolve().unwrap_err().to_string();
    let sleep = |tick| Some(SleepSpec { tick, rule: SleepRule::Itimer });
    let text = refused(TransferSpec { sleep: sleep(Duration::ZERO), ..writes("1 byte") });
    assert!(text.contains("`sleep.tick` must be above zero"), "{text}");
    let text = refused(TransferSpec { streams: Some(0), ..writes("1 byte") });
    assert!(text.contains("`streams` must be at least 1"), "{text}");
    let asked = TransferSpec::requests(
        Side::Server,
        crate::RequestsSpec {
            count: 1,
            request: "1 byte".parse().unwrap(),
            response: "1 byte".parse().unwrap(),
            think: Duration::ZERO,
            pause: Duration::ZERO,
        },
    );
    let text = refused(TransferSpec { unordered: Some(true), ..asked });
    assert!(text.contains("`unordered` does not fit `requests`"), "{text}");
}
