//! A stack in one file, as CONTRIBUTING's recipe says: TCP that has one segment on its way at a time, in a registry of its own
//! beside the model, against itself and against the model.
//!
//! Not modelled: options, windows of more than 64 KiB, TIME-WAIT, simultaneous opens.

use std::collections::VecDeque;

use rexmit_sim::{BatchOptions, Plan, Registry, Resolved, RunOptions, StackFactory, Streams, Target, run};
use rexmit_stack::{
    About, Counters, Determinism, EndSettings, Endpoint, Event, HostSettings, RandomStream, Reason, RngCore,
    Role, RunSettings, SettingError, Snapshot, Socket, StackEnd, StackRun, Transmission, changed_values,
    read,
};
use rexmit_tcp::TcpModel;
use rexmit_units::{Duration, Instant};
use rexmit_wire::{Flags, IpFields, Packet, Payload, SeqNumber, TcpSegment, Transport};
use serde_json::{Value, json};

/// The registry: the model, and the toy behind it.
static STACKS: Registry = Registry::new(&[&TcpModel, &Toy]);

struct Toy;

/// The table `hosts.X.toy`.
#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Settings {
    /// An answer is waited for so long.
    timeout: Duration,
}

impl Default for Settings {
    fn default() -> Self {
        Self { timeout: Duration::from_secs(1) }
    }
}

static ABOUT: About = About {
    name: "toy",
    summary: "TCP with one segment on its way at a time",
    version: Some("1"),
    protocols: &["tcp"],
    determinism: Determinism::Bytes,
    one_run_at_a_time: false,
    is_linux: false,
    transmissions: true,
    settings: Some(|| json!({ "title": "Toy", "properties": { "timeout": { "type": "string" } } })),
};

impl StackFactory for Toy {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn check_settings(&self, table: &Value) -> Result<(), SettingError> {
        read::<Settings>(table.clone()).map(drop)
    }

    fn check_host(&self, host: &HostSettings<'_>) -> Result<Vec<String>, SettingError> {
        let changed = changed_values(host.stack);
        Ok(changed.into_iter().map(|(key, _)| host.key(&format!("stack.{key}"))).collect())
    }

    fn start(&self, run: &RunSettings<'_>) -> Result<Box<dyn StackRun>, SettingError> {
        let host = |host: &HostSettings<'_>| {
            let timeout = read::<Settings>(host.settings.cloned().unwrap_or(json!({})))?.timeout;
            let segment = host.mtu - 40;
            Ok(Host { timeout, segment, numbers: (run.streams)(&host.key("iss")) })
        };
        Ok(Box::new(Run { hosts: run.hosts.iter().map(host).collect::<Result<_, _>>()? }))
    }
}

struct Run {
    hosts: Vec<Host>,
}

struct Host {
    timeout: Duration,
    segment: u32,
    numbers: RandomStream,
}

impl StackRun for Run {
    fn endpoint(&mut self, host: usize, end: &EndSettings) -> Result<Box<dyn StackEnd>, SettingError> {
        let host = &mut self.hosts[host];
        let first = SeqNumber(host.numbers.next_u32());
        Ok(Box::new(End::new(end.clone(), host.timeout, host.segment.min(536), first)))
    }
}

/// Of the send buffer, bytes.
const BUFFER: u64 = 65_535;

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Closed,
    Listen,
    Opening,
    Open,
}

#[derive(Debug)]
struct End {
    settings: EndSettings,
    timeout: Duration,
    segment: u32,
    state: State,
    first: SeqNumber,
    /// What is on its way: its flags and bytes of data, and when it is sent again.
    waiting: Option<(Flags, u32, Instant)>,
    /// Bytes that the application has written, and that are acknowledged.
    written: u64,
    acknowledged: u64,
    close: bool,
    fin_acknowledged: bool,
    /// The peer's first number, once known; bytes that came in order, and that were read.
    peer: Option<SeqNumber>,
    received: u64,
    read: u64,
    fin_received: bool,
    misplaced: u64,
    events: VecDeque<Event>,
    out: VecDeque<Transmission>,
    counters: Counters,
}

impl End {
    fn new(settings: EndSettings, timeout: Duration, segment: u32, first: SeqNumber) -> Self {
        let state = if settings.role == Role::Active { State::Closed } else { State::Listen };
        Self {
            settings,
            timeout,
            segment,
            state,
            first,
            waiting: None,
            written: 0,
            acknowledged: 0,
            close: false,
            fin_acknowledged: false,
            peer: None,
            received: 0,
            read: 0,
            fin_received: false,
            misplaced: 0,
            events: VecDeque::new(),
            out: VecDeque::new(),
            counters: Counters::default(),
        }
    }

    /// The number of the first byte that is not acknowledged.
    fn next(&self) -> SeqNumber {
        let syn = u32::from(matches!(self.state, State::Open));
        self.first + syn + self.acknowledged as u32 + u32::from(self.fin_acknowledged)
    }

    fn expected(&self) -> Option<SeqNumber> {
        Some(self.peer? + 1 + self.received as u32 + u32::from(self.fin_received))
    }

    fn emit(&mut self, reason: Reason, flags: Flags, len: u32) {
        let ack = self.expected();
        let segment = TcpSegment {
            src_port: self.settings.local.port(),
            dst_port: self.settings.remote.port(),
            seq: self.next(),
            ack: ack.unwrap_or_default(),
            flags: if ack.is_some() { flags.with(Flags::ACK) } else { flags },
            window: (BUFFER - (self.received - self.read)) as u16,
            payload: Payload::Stream { offset: self.acknowledged, len },
            ..TcpSegment::default()
        };
        self.counters.packets += 1;
        self.counters.pure_acks += u64::from(len == 0);
        let ip = IpFields { ident: self.counters.packets as u16, ..IpFields::default() };
        let (src, dst) = (self.settings.local.ip(), self.settings.remote.ip());
        let packet = Box::new(Packet { src, dst, ip, transport: Transport::Tcp(segment), damaged: false });
        self.out.push_back(Transmission { packet, reason });
    }

    /// Sends the one segment that is then on its way, if there is anything to send.
    fn advance(&mut self, now: Instant) {
        if self.waiting.is_some() || self.state != State::Open || self.fin_acknowledged {
            return;
        }
        let len = (self.written - self.acknowledged).min(self.segment.into()) as u32;
        if len == 0 && !self.close {
            return;
        }
        let flags = if len == 0 { Flags::FIN } else { Flags::PSH };
        self.counters.data_segments += u64::from(len > 0);
        self.waiting = Some((flags, len, now + self.timeout));
        self.emit(Reason::New, flags, len);
    }

    /// The answer to what is on its way has come.
    fn answered(&mut self) {
        let Some((flags, len, _)) = self.waiting.take() else { return };
        if flags.has(Flags::SYN) {
            self.state = State::Open;
            self.events.push_back(Event::Connected);
        } else if flags.has(Flags::FIN) {
            self.fin_acknowledged = true;
        } else {
            self.acknowledged += u64::from(len);
            self.events.push_back(Event::Writable);
        }
    }

    fn take_data(&mut self, segment: &TcpSegment) {
        if segment.seq_len() == 0 {
            return;
        }
        if Some(segment.seq) == self.expected() && !segment.flags.has(Flags::SYN) {
            let len = u64::from(segment.payload.len());
            let place = match segment.payload {
                Payload::Stream { offset, .. } => offset,
                Payload::Bytes(_) => self.received,
            };
            self.misplaced += if place == self.received { 0 } else { len };
            self.received += len;
            if len > 0 {
                self.events.push_back(Event::Readable);
            }
            if segment.flags.has(Flags::FIN) {
                self.fin_received = true;
                self.events.push_back(Event::EndOfStream);
            }
        }
        self.emit(Reason::Ack, Flags::default(), 0);
    }
}

impl Endpoint for End {
    fn handle_packet(&mut self, now: Instant, packet: Box<Packet>) {
        let Transport::Tcp(segment) = packet.transport else { return };
        if segment.flags.has(Flags::RST) {
            self.state = State::Closed;
            self.waiting = None;
            return self.events.push_back(Event::Reset);
        }
        if segment.flags.has(Flags::SYN) && self.peer.is_none() && self.state != State::Closed {
            self.peer = Some(segment.seq);
            if self.state == State::Listen {
                self.state = State::Opening;
                self.waiting = Some((Flags::SYN, 0, now + self.timeout));
                return self.emit(Reason::SynAck { backoff: 0 }, Flags::SYN, 0);
            }
        }
        let end = self.waiting.map(|(flags, len, _)| self.next() + len + u32::from(!flags.has(Flags::PSH)));
        if segment.flags.has(Flags::ACK) && Some(segment.ack) == end {
            self.answered();
        }
        self.take_data(&segment);
        self.advance(now);
        if self.fin_acknowledged && self.fin_received && self.state == State::Open {
            self.state = State::Closed;
            self.events.push_back(Event::Closed);
        }
    }

    fn handle_timer(&mut self, now: Instant) {
        let Some((flags, len, due)) = self.waiting.filter(|(_, _, due)| *due <= now) else { return };
        self.counters.timeouts += 1;
        self.counters.retransmits += u64::from(len > 0);
        self.waiting = Some((flags, len, due + self.timeout));
        self.emit(Reason::Timeout { backoff: 1 }, flags, len);
    }

    fn poll_transmit(&mut self, _now: Instant) -> Option<Transmission> {
        self.out.pop_front()
    }

    fn poll_timer(&self) -> Option<Instant> {
        self.waiting.map(|(_, _, due)| due)
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    fn snapshot(&self) -> Snapshot {
        Snapshot { state: "OPEN", phase: "open", counters: self.counters.into(), ..Snapshot::default() }
    }
}

impl Socket for End {
    fn connect(&mut self, now: Instant) {
        self.state = State::Opening;
        self.waiting = Some((Flags::SYN, 0, now + self.timeout));
        self.emit(Reason::Syn { backoff: 0 }, Flags::SYN, 0);
    }

    fn write(&mut self, now: Instant, len: u64) -> u64 {
        let taken = if self.close { 0 } else { len.min(BUFFER - (self.written - self.acknowledged)) };
        self.written += taken;
        self.advance(now);
        taken
    }

    fn read(&mut self, _now: Instant, max: u64) -> u64 {
        let len = self.readable().min(max);
        self.read += len;
        len
    }

    fn readable(&self) -> u64 {
        self.received - self.read
    }

    fn close(&mut self, now: Instant) {
        self.close = true;
        self.advance(now);
    }

    fn abort(&mut self, _now: Instant) {
        self.emit(Reason::Reset, Flags::RST, 0);
        self.state = State::Closed;
        self.waiting = None;
    }
}

impl StackEnd for End {
    fn counters(&self) -> &Counters {
        &self.counters
    }

    fn misplaced_bytes(&self) -> u64 {
        self.misplaced
    }

    fn initial_number(&self) -> Option<SeqNumber> {
        Some(self.first)
    }

    fn has_received(&self, _from: SeqNumber, end: SeqNumber) -> bool {
        self.expected().is_some_and(|next| end <= next)
    }
}

fn scenario(server: &str, client: &str) -> Value {
    json!({
        "hosts": { "server": { "stack": "rfc-2014", "code": server }, "client": { "stack": "rfc-2014", "code": client } },
        "path": { "delay": "10 ms" },
        "transfers": [{ "from": "server", "to": "client", "writes": "10 x 536 bytes" }],
    })
}

/// The study: whose code each host has, by what is lost.
fn study() -> Plan {
    let codes = || vec![json!("toy"), json!("model")];
    let factors = ["hosts.server.code", "hosts.client.code", "path.down.drop"].map(String::from).to_vec();
    let levels = vec![codes(), codes(), vec![json!(0), json!(5)]];
    let mut base = scenario("toy", "toy");
    base["hosts"]["server"]["toy"] = json!({ "timeout": "300 ms" });
    Plan::new(base, factors, levels).unwrap().with_stacks(STACKS)
}

#[test]
fn a_study_runs_with_it() {
    let plan = study();
    let names: Vec<&str> = plan.stacks().iter().map(|stack| stack.about().name).collect();
    assert_eq!(names, ["model", "toy"]);
    let checked = plan.check(0..plan.points(), Target::Virtual).unwrap();
    assert!(checked.unsupported.is_empty(), "{:?}", checked.unsupported);
    let options = |jobs| BatchOptions { replications: 1, seed: 1, jobs };
    let rows = plan.run(0..8, options(1)).unwrap().rows;
    assert_eq!(plan.run(0..8, options(2)).unwrap().rows, rows);
    for (n, row) in rows.iter().enumerate() {
        assert!(row.completed && row.error.is_none(), "run {n}: {row:?}");
        assert_eq!((row.bytes, row.drops_down.unwrap()), (5_360, n as u64 % 2), "run {n}");
    }
    let ms = |n: usize| rows[n].time_ns / 1_000_000;
    // One segment a round trip, one for the handshake and one for the end; what is lost costs a timeout.
    assert_eq!((ms(0), ms(1)), (12 * 20, 12 * 20 + 300));
    assert_eq!((rows[1].timeouts, rows[1].retransmits), (1, 1));
    // A client of the model delays its acknowledgments; a server of the model sends several at a time.
    assert!(ms(2) > ms(0), "{} {}", ms(2), ms(0));
    assert!(ms(4) < ms(0), "{} {}", ms(4), ms(0));
}

#[test]
fn every_packet_of_both_has_its_row() {
    let options = RunOptions { transmissions: true, verdicts: true, captures: true, ..RunOptions::default() };
    for (server, client) in [("toy", "toy"), ("toy", "model"), ("model", "toy")] {
        let mut value = scenario(server, client);
        value["path"]["down"] = json!({ "drop": [3, 6] });
        value["path"]["up"] = json!({ "loss": "10 %" });
        let resolved = Resolved::with_stacks(value, STACKS).unwrap();
        let outcome = run(&resolved, &Streams::new(1, "toy"), &options).unwrap();
        assert!(outcome.row.completed && outcome.row.error.is_none(), "{server} {client}: {:?}", outcome.row);
        let packets = outcome.row.packets_down.unwrap() + outcome.row.packets_up.unwrap();
        assert_eq!((outcome.transmissions.len() as u64, outcome.verdicts.len() as u64), (packets, packets));
        let lost =
            outcome.transmissions.iter().filter(|row| row.earlier == rexmit_sim::Earlier::Lost).count();
        assert!(lost >= 2, "{server} {client}: {lost}");
        assert!(outcome.captures.values().all(|bytes| !bytes.is_empty()));
    }
}

#[test]
fn its_settings_are_checked_and_what_it_cannot_honour_is_told() {
    let mut value = scenario("toy", "model");
    value["hosts"]["server"]["stack"] =
        json!({ "inherits": "rfc-2014", "recovery": { "dupack_threshold": 2 } });
    value["hosts"]["server"]["toy"] = json!({ "timeout": "2 s" });
    let plan = |value: &Value| Plan::new(value.clone(), Vec::new(), Vec::new()).unwrap().with_stacks(STACKS);
    let checked = plan(&value).check(0..1, Target::Virtual).unwrap();
    assert_eq!(checked.unsupported, ["hosts.server.stack.recovery.dupack_threshold"]);
    value["hosts"]["server"]["toy"] = json!({ "timeuot": "2 s" });
    let told = plan(&value).check(0..1, Target::Virtual).unwrap_err().to_string();
    assert!(
        told.starts_with("hosts.server.toy.timeuot: unknown key `timeuot`: did you mean `timeout`?"),
        "{told}"
    );
    // Nobody else's registry has it.
    let told = Resolved::from_value(scenario("toy", "toy")).unwrap_err().to_string();
    assert!(told.starts_with("hosts.server.code: unknown code `toy`"), "{told}");
}
