//! Two ends, packet by packet.

use rexmit_stack::{EndSettings, Endpoint, Event, Reason, Role, Socket, StackEnd};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_wire::Packet;

use crate::config::{Congestion, SmoltcpConfig};
use crate::end::SmolEnd;

/// A sender and a receiver, 10 ms apart, of which packets with these numbers from the sender are lost.
struct Pair {
    ends: [SmolEnd; 2],
    on_way: Vec<(Instant, usize, Box<Packet>)>,
    lost: Vec<usize>,
    sent: usize,
    reasons: Vec<Reason>,
    now: Instant,
    left: u64,
    got: u64,
    events: [Vec<Event>; 2],
}

impl Pair {
    fn new(config: &SmoltcpConfig, bytes: u64, lost: &[usize]) -> Self {
        let addresses = ["10.0.2.1:5001".parse().unwrap(), "10.0.1.1:10000".parse().unwrap()];
        let end = |n: usize| EndSettings {
            local: addresses[n],
            remote: addresses[1 - n],
            more_local: None,
            role: if n == 0 { Role::Active } else { Role::Passive },
            streams: 1,
            phase: Duration::ZERO,
            marks_places: false,
            wish: None,
        };
        let ends = [0, 1].map(|n| SmolEnd::new(config, 1500, n as u64, &end(n)));
        let (on_way, reasons) = (Vec::new(), Vec::new());
        let events = [Vec::new(), Vec::new()];
        let lost = lost.to_vec();
        Self { ends, on_way, lost, sent: 0, reasons, now: Instant::ZERO, left: bytes, got: 0, events }
    }

    /// Until nothing happens any more.
    fn run(&mut self) -> &mut Self {
        self.ends[0].connect(self.now);
        self.drain();
        while let Some(at) = self.next().filter(|at| *at < Instant::from_nanos(100_000_000_000)) {
            self.now = at;
            match self.on_way.iter().position(|(due, ..)| *due == at) {
                Some(place) => {
                    let (_, to, packet) = self.on_way.remove(place);
                    self.ends[to].handle_packet(at, packet);
                }
                None => self.ends.iter_mut().for_each(|end| end.handle_timer(at)),
            }
            self.drain();
            if self.ends.iter().all(|end| end.snapshot().state == "CLOSED") {
                break;
            }
        }
        self
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.ends.iter().filter_map(Endpoint::poll_timer);
        timers.chain(self.on_way.iter().map(|(at, ..)| *at)).min()
    }

    fn drain(&mut self) {
        loop {
            let mut acted = false;
            for n in [0, 1] {
                while let Some(event) = self.ends[n].poll_event() {
                    self.events[n].push(event);
                    acted = true;
                }
                while let Some(sent) = self.ends[n].poll_transmit(self.now) {
                    acted = true;
                    if n == 0 {
                        self.sent += 1;
                        self.reasons.push(sent.reason);
                    }
                    if n == 1 || !self.lost.contains(&self.sent) {
                        self.on_way.push((self.now + Duration::from_millis(10), 1 - n, sent.packet));
                    }
                }
            }
            if self.events[0].contains(&Event::Connected) && self.left > 0 {
                let taken = self.ends[0].write(self.now, self.left);
                self.left -= taken;
                acted |= taken > 0;
                if self.left == 0 {
                    self.ends[0].close(self.now);
                }
            }
            let got = self.ends[1].read(self.now, u64::MAX);
            self.got += got;
            if self.events[1].last() == Some(&Event::EndOfStream) {
                self.ends[1].close(self.now);
                self.events[1].push(Event::Writable);
                acted = true;
            }
            if !acted && got == 0 {
                return;
            }
        }
    }
}

fn config() -> SmoltcpConfig {
    let size = Bytes(100_000);
    let congestion = Congestion::Reno;
    SmoltcpConfig {
        ack_delay: Duration::ZERO,
        congestion,
        send_buffer: size,
        receive_buffer: size,
        ..Default::default()
    }
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    let mut pair = Pair::new(&config(), 300_000, &[]);
    pair.run();
    assert_eq!((pair.got, pair.ends[1].misplaced_bytes()), (300_000, 0));
    assert!(
        pair.events[0].contains(&Event::Closed) && pair.events[1].contains(&Event::Closed),
        "{:?}",
        pair.events
    );
    let counters = pair.ends[0].counters();
    assert_eq!((counters.retransmits, counters.timeouts), (0, 0));
    assert!(pair.ends[1].has_received(pair.ends[0].first() + 1, pair.ends[0].first() + 300_001));
}

#[test]
fn three_duplicates_make_it_go_back_and_a_lost_tail_waits_for_the_timer() {
    let mut early = Pair::new(&config(), 300_000, &[20]);
    early.run();
    assert_eq!((early.got, early.ends[0].counters().timeouts), (300_000, 0));
    assert!(early.reasons.iter().any(|reason| matches!(reason, Reason::Fast { duplicates: 3.., .. })));
    let all = Pair::new(&config(), 30_000, &[]).run().sent;
    // The last packet with data; the ACK of the peer's FIN comes behind it.
    let mut tail = Pair::new(&config(), 30_000, &[all - 1]);
    tail.run();
    assert_eq!(tail.got, 30_000);
    assert_eq!(tail.ends[0].counters().timeouts, 1, "{:?}", tail.reasons);
    assert!(tail.now > early.now + Duration::from_millis(500));
}

#[test]
fn a_run_is_a_function_of_its_seed() {
    let one = Pair::new(&config(), 300_000, &[20, 31]).run().reasons.clone();
    let other = Pair::new(&config(), 300_000, &[20, 31]).run().reasons.clone();
    assert_eq!(one, other);
}
