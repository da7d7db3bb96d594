//! Ends of hosts, packet by packet.

use std::net::{IpAddr, SocketAddr};

use rexmit_stack::{Counters, EndSettings, Endpoint, Event, Habits, Reason, Role, Socket, StackEnd};
use rexmit_units::{Bytes, Duration, Instant};
use rexmit_wire::{Flags, Packet, TcpSegment};

use crate::config::LwipConfig;
use crate::end::LwipEnd;
use crate::host::Host;

/// Who of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Who {
    Sender,
    Receiver,
}

/// A packet that has been sent, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Row {
    at: Instant,
    who: Who,
    bytes: Vec<u8>,
    reason: Reason,
}

impl Row {
    fn segment(&self) -> TcpSegment {
        Packet::parse(&self.bytes).unwrap().tcp().unwrap().clone()
    }
}

struct Side {
    end: LwipEnd,
    events: Vec<Event>,
}

struct Connection {
    sender: Side,
    receiver: Side,
    left: u64,
    got: u64,
}

impl Connection {
    fn side(&mut self, who: Who) -> &mut Side {
        match who {
            Who::Sender => &mut self.sender,
            Who::Receiver => &mut self.receiver,
        }
    }
}

struct Underway {
    due: Instant,
    connection: usize,
    to: Who,
    packet: Box<Packet>,
}

/// Senders at a host and receivers at another, of whose packets with data those with these numbers are lost.
struct Net {
    connections: Vec<Connection>,
    on_way: Vec<Underway>,
    lost: Vec<usize>,
    sent: usize,
    log: Vec<Row>,
    now: Instant,
    /// When the last byte was read.
    whole_at: Instant,
    /// The receivers read nothing before this.
    reads_from: Instant,
    /// Each write is so long, and comes so long after the one before; 0: as much as it takes.
    writes: (u64, Duration),
    next_write: Instant,
}

/// One way.
const DELAY: Duration = Duration::from_millis(50);
const SECOND: u64 = 1_000_000_000;

impl Net {
    fn new(config: &LwipConfig, connections: u16, bytes: u64) -> Self {
        Self::between(config, connections, bytes, ["10.0.2.1", "10.0.1.1"])
    }

    fn between(config: &LwipConfig, connections: u16, bytes: u64, addresses: [&str; 2]) -> Self {
        let [here, there] = addresses.map(|text| text.parse::<IpAddr>().unwrap());
        let [sends, receives] = addresses.map(|_| Host::new(config, 1500).unwrap());
        let end = |host: &Host, local, remote, role| {
            let settings = EndSettings {
                local,
                remote,
                more_local: None,
                role,
                streams: 1,
                phase: Duration::ZERO,
                marks_places: false,
                places: None,
                datagrams: false,
                wish: None,
                habits: Habits::default(),
            };
            Side { end: LwipEnd::new(host, config, &settings), events: Vec::new() }
        };
        let connection = |n: u16| {
            let (client, server) = (SocketAddr::new(here, 40_000 + n), SocketAddr::new(there, 5_001));
            let sender = end(&sends, client, server, Role::Active);
            let receiver = end(&receives, server, client, Role::Passive);
            Connection { sender, receiver, left: bytes, got: 0 }
        };
        Self {
            connections: (0..connections).map(connection).collect(),
            on_way: Vec::new(),
            lost: Vec::new(),
            sent: 0,
            log: Vec::new(),
            now: Instant::ZERO,
            whole_at: Instant::ZERO,
            reads_from: Instant::ZERO,
            writes: (0, Duration::ZERO),
            next_write: Instant::ZERO,
        }
    }

    fn losing(mut self, lost: &[usize]) -> Self {
        self.lost = lost.to_vec();
        self
    }

    fn connect(&mut self) {
        self.connections.iter_mut().for_each(|one| one.sender.end.connect(self.now));
        self.drain();
    }

    /// Until nothing happens any more.
    fn run(&mut self) -> &mut Self {
        self.connect();
        while self.step() {}
        self
    }

    /// What is due next; false where nothing is.
    fn step(&mut self) -> bool {
        let Some(at) = self.next().filter(|at| *at < Instant::from_nanos(1_000 * SECOND)) else {
            return false;
        };
        self.now = at;
        match self.on_way.iter().position(|one| one.due == at) {
            Some(place) => {
                let Underway { connection, to, packet, .. } = self.on_way.remove(place);
                self.connections[connection].side(to).end.handle_packet(at, packet);
            }
            None => self.ends().for_each(|end| end.handle_timer(at)),
        }
        self.drain();
        true
    }

    fn ends(&mut self) -> impl Iterator<Item = &mut LwipEnd> {
        self.connections.iter_mut().flat_map(|one| [&mut one.sender.end, &mut one.receiver.end])
    }

    fn next(&mut self) -> Option<Instant> {
        let timer = self.ends().filter_map(|end| end.poll_timer()).min();
        let writes = self.connections.iter().any(|one| one.left > 0) && self.next_write > self.now;
        let reads = (self.now < self.reads_from).then_some(self.reads_from);
        let others = [timer, writes.then_some(self.next_write), reads];
        others.into_iter().flatten().chain(self.on_way.iter().map(|one| one.due)).min()
    }

    fn drain(&mut self) {
        loop {
            let mut acted = false;
            for n in 0..self.connections.len() {
                acted |= self.poll(n, Who::Sender) | self.write(n);
                acted |= self.poll(n, Who::Receiver) | self.read(n);
            }
            if !acted {
                return;
            }
        }
    }

    fn poll(&mut self, connection: usize, who: Who) -> bool {
        let side = self.connections[connection].side(who);
        let mut acted = false;
        while let Some(event) = side.end.poll_event() {
            side.events.push(event);
            acted = true;
        }
        while let Some(sent) = side.end.poll_transmit(self.now) {
            acted = true;
            let data = who == Who::Sender && !sent.packet.tcp().expect("TCP").payload.is_empty();
            self.sent += usize::from(data);
            self.log.push(Row { at: self.now, who, bytes: sent.packet.emit(), reason: sent.reason });
            if !data || !self.lost.contains(&self.sent) {
                let to = if who == Who::Sender { Who::Receiver } else { Who::Sender };
                self.on_way.push(Underway { due: self.now + DELAY, connection, to, packet: sent.packet });
            }
        }
        acted
    }

    fn write(&mut self, connection: usize) -> bool {
        let Connection { sender, left, .. } = &mut self.connections[connection];
        let waits = self.writes.0 > 0 && self.now < self.next_write;
        if !sender.events.contains(&Event::Connected) || *left == 0 || waits {
            return false;
        }
        let most = if self.writes.0 > 0 { self.writes.0 } else { u64::MAX };
        let taken = sender.end.write(self.now, most.min(*left));
        *left -= taken;
        self.next_write = self.now + self.writes.1;
        if *left == 0 {
            sender.end.close(self.now);
        }
        taken > 0
    }

    fn read(&mut self, connection: usize) -> bool {
        let Connection { receiver, got, .. } = &mut self.connections[connection];
        let more = if self.now >= self.reads_from { receiver.end.read(self.now, u64::MAX) } else { 0 };
        *got += more;
        self.whole_at = if more > 0 { self.now } else { self.whole_at };
        let over = receiver.events.last() == Some(&Event::EndOfStream);
        if over {
            receiver.end.close(self.now);
            receiver.events.push(Event::Writable);
        }
        more > 0 || over
    }

    /// Every byte of each connection has been read, and is in its place.
    fn check(&self, bytes: u64) {
        for one in &self.connections {
            assert_eq!((one.got, one.receiver.end.misplaced_bytes()), (bytes, 0));
        }
    }

    /// The first connection.
    fn one(&self) -> &Connection {
        self.connections.first().expect("it is there")
    }

    fn counters(&self) -> Counters {
        *self.one().sender.end.counters()
    }

    fn rows(&self, who: Who) -> impl Iterator<Item = &Row> {
        self.log.iter().filter(move |row| row.who == who)
    }
}

/// How many milliseconds later a run has arrived whole for the loss of these packets.
fn later(make: impl Fn() -> Net, lost: &[usize]) -> u64 {
    let whole = |lost: &[usize]| {
        let mut net = make().losing(lost);
        let bytes = net.one().left;
        net.run().check(bytes);
        net.whole_at.as_nanos() / 1_000_000
    };
    whole(lost) - whole(&[])
}

#[test]
fn a_stream_arrives_whole_and_both_ends_close() {
    for addresses in [["10.0.2.1", "10.0.1.1"], ["fd00::1", "fd00:1::2"]] {
        let mut net = Net::between(&LwipConfig::default(), 1, 300_000, addresses);
        net.run().check(300_000);
        let Connection { sender, receiver, .. } = net.one();
        assert!(sender.events.contains(&Event::Closed), "{:?}", sender.events);
        assert!(receiver.events.contains(&Event::Closed), "{:?}", receiver.events);
        assert_eq!((net.counters().retransmits, net.counters().timeouts), (0, 0));
        let first = sender.end.first();
        assert!(receiver.end.has_received(first + 1, first + 300_001));
        assert_eq!((sender.end.snapshot().state, receiver.end.snapshot().state), ("TIME-WAIT", "CLOSED"));
    }
}

#[test]
fn three_duplicates_retransmit_and_a_lost_tail_waits_for_the_timer() {
    let mut early = Net::new(&LwipConfig::default(), 1, 300_000).losing(&[20]);
    early.run().check(300_000);
    let Counters { timeouts, retransmits, fast_retransmits, .. } = early.counters();
    assert_eq!((timeouts, retransmits, fast_retransmits), (0, 1, 1));
    let fast = |row: &&Row| matches!(row.reason, Reason::Fast { duplicates: 3, .. });
    assert_eq!(early.rows(Who::Sender).filter(fast).count(), 1);
    let mut tail = Net::new(&LwipConfig::default(), 1, 29_200).losing(&[20]);
    tail.run().check(29_200);
    assert_eq!(tail.counters().timeouts, 1);
    assert!(tail.rows(Who::Sender).any(|row| row.reason == Reason::Timeout { backoff: 1 }));
}

/// At a round trip of 100 ms: what is lost early costs a round trip, what is lost at the end its timer, which counts in
/// half seconds. Its estimate begins with 3 s and comes down sample by sample.
#[test]
fn what_a_loss_costs() {
    for (packets, tail) in [(20, [2_350, 1_850, 1_850]), (40, [1_750, 1_250, 1_250]), (100, [1_150; 3])] {
        let bulk = || Net::new(&LwipConfig::default(), 1, packets as u64 * 1_460);
        let costs = [packets - 2, packets - 1, packets].map(|n| later(bulk, &[n]));
        assert_eq!(costs, tail, "the last three of {packets}");
    }
    let bulk = || Net::new(&LwipConfig::default(), 1, 100 * 1_460);
    assert_eq!(later(bulk, &[50]), 100);
}

/// Its duplicates come one an interval.
#[test]
fn a_loss_in_a_thin_stream_waits_for_three_more_packets() {
    let config = LwipConfig { nagle: false, ..LwipConfig::default() };
    let mut net = Net::new(&config, 1, 100 * 100).losing(&[50]);
    net.writes = (100, Duration::from_millis(200));
    net.run().check(10_000);
    let at = |row: &Row| row.at;
    let sent = net.rows(Who::Sender).filter(|row| row.reason == Reason::New).map(at).nth(49).unwrap();
    let fast = |row: &&Row| matches!(row.reason, Reason::Fast { .. });
    let again = net.rows(Who::Sender).find(fast).map(at).unwrap();
    assert_eq!((again - sent, net.counters().timeouts), (Duration::from_millis(700), 0));
}

#[test]
fn runs_are_the_same_to_the_byte_whatever_was_before() {
    let log = |lost: &[usize]| Net::new(&LwipConfig::default(), 3, 200_000).losing(lost).run().log.clone();
    let one = log(&[20, 31, 77]);
    log(&[5]);
    // One that is broken off leaves nothing.
    let mut broken_off = Net::new(&LwipConfig::default(), 2, 200_000);
    broken_off.connect();
    broken_off.step();
    drop(broken_off);
    assert!(one == log(&[20, 31, 77]), "the same packets");
    let elsewhere = std::thread::spawn(move || log(&[20, 31, 77])).join().unwrap();
    assert!(one == elsewhere, "and in another thread");
}

#[test]
fn connections_of_two_hosts_keep_apart() {
    let mut net = Net::new(&LwipConfig::default(), 8, 100_000).losing(&[30, 31, 60]);
    net.run().check(100_000);
    assert!(net.ends().all(|end| end.poll_timer().is_none()));
    let closed = |side: &Side| side.events.contains(&Event::Closed);
    assert!(net.connections.iter().all(|one| closed(&one.sender) && closed(&one.receiver)));
}

/// Two runs take turns in a thread: whose host is at work changes with each call.
#[test]
fn runs_side_by_side_keep_apart() {
    let make = |lost| Net::new(&LwipConfig::default(), 2, 150_000).losing(lost);
    let [mut one, mut other] = [make(&[12]), make(&[40, 41])];
    one.connect();
    other.connect();
    while one.step() | other.step() {}
    assert!(one.log == make(&[12]).run().log && other.log == make(&[40, 41]).run().log);
}

#[test]
fn a_reset_ends_both_ends() {
    let mut net = Net::new(&LwipConfig::default(), 1, 100_000);
    net.connect();
    while net.one().got == 0 {
        net.step();
    }
    let now = net.now;
    net.connections.iter_mut().for_each(|one| one.sender.end.abort(now));
    net.drain();
    let last = net.rows(Who::Sender).last().unwrap();
    assert!(last.reason == Reason::Reset && last.segment().flags.has(Flags::RST));
    while net.step() {}
    assert_eq!(net.one().sender.events.last(), Some(&Event::Closed));
    assert_eq!(net.one().receiver.events.last(), Some(&Event::Reset));
    assert_eq!(net.one().receiver.end.snapshot().state, "CLOSED");
}

#[test]
fn a_peer_that_says_nothing_is_given_up() {
    let mut net = Net::new(&LwipConfig::default(), 1, 100_000);
    net.connect();
    loop {
        net.on_way.clear();
        if !net.step() {
            break;
        }
    }
    assert_eq!(net.one().sender.events, [Event::TimedOut]);
    assert_eq!(net.counters().timeouts, 6, "retransmissions of the SYN");
    let backoffs: Vec<u32> = net.rows(Who::Sender).map(|row| row.reason.backoff()).collect();
    assert_eq!(backoffs, [0, 1, 2, 3, 4, 5, 6]);
}

#[test]
fn a_small_window_is_the_window_and_probes_open_it() {
    let config = LwipConfig { receive_buffer: Bytes(4_000), ..LwipConfig::default() };
    let mut net = Net::new(&config, 1, 60_000);
    net.reads_from = Instant::from_nanos(20 * SECOND);
    net.run().check(60_000);
    let window = |row: &Row| {
        let segment = row.segment();
        u32::from(segment.window) << u32::from(!segment.flags.has(Flags::SYN))
    };
    let most = net.rows(Who::Receiver).map(window).max();
    assert_eq!(most, Some(4_000));
    assert!(net.rows(Who::Sender).any(|row| row.reason == Reason::WindowProbe));
    assert_eq!(net.counters().timeouts, 0, "probes are none");
}

/// Its window is no longer what the library begins with.
#[test]
fn a_syn_that_comes_again_meets_a_small_window() {
    let config = LwipConfig { receive_buffer: Bytes(4_000), ..LwipConfig::default() };
    let mut net = Net::new(&config, 1, 60_000);
    net.connect();
    net.step();
    assert_eq!(net.on_way.len(), 1, "the SYN-ACK");
    net.on_way.clear();
    while net.step() {}
    net.check(60_000);
    assert!(net.counters().timeouts > 0);
}

#[test]
fn a_smaller_mss_and_no_nagle_show_in_packets() {
    let config = LwipConfig { mss: 500, nagle: false, ..LwipConfig::default() };
    let mut net = Net::new(&config, 1, 10_000);
    net.writes = (700, Duration::from_millis(10));
    net.run().check(10_000);
    let sizes: Vec<u32> = net.rows(Who::Sender).map(|row| row.segment().payload.len()).collect();
    let with_data: Vec<u32> = sizes.into_iter().filter(|len| *len > 0).collect();
    assert!(with_data.starts_with(&[500, 200]) && with_data.iter().max() == Some(&500), "{with_data:?}");
}

#[test]
fn an_assertion_that_fails_ends_the_host_and_not_the_process() {
    let host = Host::new(&LwipConfig::default(), 1500).unwrap();
    let settings = EndSettings {
        local: ([10, 0, 0, 1], 5_001).into(),
        remote: ([10, 0, 0, 2], 40_000).into(),
        more_local: None,
        role: Role::Active,
        streams: 1,
        phase: Duration::ZERO,
        marks_places: false,
        places: None,
        datagrams: false,
        wish: None,
        habits: Habits::default(),
    };
    let mut end = LwipEnd::new(&host, &LwipConfig::default(), &settings);
    end.connect(Instant::ZERO);
    assert_eq!((end.failure(), end.snapshot().state), (None, "SYN-SENT"));
    host.add_an_interface_again();
    let told = end.failure().expect("it has failed");
    assert!(told.starts_with("lwip: Assertion \"netif already added\" failed at line "), "{told}");
    assert_eq!((end.poll_timer(), end.snapshot().state), (None, "CLOSED"));
    assert_eq!(end.write(Instant::ZERO, 1), 0);
    Net::new(&LwipConfig::default(), 1, 1_000).run().check(1_000);
}
