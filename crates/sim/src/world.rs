//! Two hosts and a path, moved by events alone.

use std::collections::VecDeque;
use std::net::IpAddr;

use rexmit_path::Direction;
use rexmit_stack::{Counters, Endpoint, Socket, Transmission};
use rexmit_traffic::{App, total_time};
use rexmit_units::{Duration, Instant};
use rexmit_wire::{PROTOCOL_SCTP, Packet, Transport};

use crate::meter::Meter;
use crate::observer::Observer;
use crate::options::RunOptions;
use crate::post::Post;
use crate::recorder::Recorder;
use crate::stack::{Stack, Stacks};
use crate::stop::Stop;
use crate::timers::Timers;
use crate::truth::Seen;
use rexmit_scenario::Message;
use rexmit_scenario::Row;
use rexmit_scenario::SpecError;
use rexmit_scenario::Streams;
use rexmit_scenario::{FIRST_PORT, HOSTS, Resolved};

/// The greater of a packet's ports, which numbers its connection; `None` without ports.
#[inline]
fn greater_port(packet: &Packet) -> Option<u16> {
    Some(match &packet.transport {
        Transport::Tcp(segment) => segment.src_port.max(segment.dst_port),
        Transport::Sctp(packet) => packet.src_port.max(packet.dst_port),
        Transport::Other { protocol: PROTOCOL_SCTP, payload } => {
            let bytes = payload.bytes();
            let port = |at: usize| Some(u16::from_be_bytes([*bytes.get(at)?, *bytes.get(at + 1)?]));
            port(0)?.max(port(2)?)
        }
        Transport::Udp(_) | Transport::Other { .. } => return None,
    })
}

/// One end of a connection with its application.
#[derive(Debug)]
pub(crate) struct End {
    pub connection: Stack,
    pub app: App,
    /// When the heap next looks at it; [`Instant::FAR_FUTURE`] if it does not.
    scheduled: Instant,
    ended: bool,
}

/// A run under way. Hosts are numbered 0 (server) and 1 (client), and so are the directions that they send
/// into; ends are numbered by connection, the client's before the server's.
pub(crate) struct World {
    pub now: Instant,
    /// By host that sends, of the first path and then of the alternate one.
    directions: Vec<Direction>,
    /// By host, its address on the alternate path.
    alternate: Option<[IpAddr; 2]>,
    ends: Vec<End>,
    timers: Timers,
    /// The queue that the end at work lends from.
    queue: VecDeque<Transmission>,
    unfinished: usize,
    limit: Instant,
    deliveries: u64,
    meter: Option<Meter>,
    recorder: Option<Recorder>,
    post: Option<Post>,
    /// Behind `ends`, which must be gone before them.
    stacks: Option<Stacks>,
    /// Every message, once the run is over, where they were asked for.
    messages: Vec<Message>,
    observer: Option<Box<dyn Observer>>,
}

fn end_index(connection: usize, host: usize) -> usize {
    2 * connection + (1 - host)
}

impl World {
    /// The world at its start, before the first event.
    pub fn new(resolved: &Resolved, streams: &Streams, options: &RunOptions) -> Result<Self, SpecError> {
        let (scenario, verdicts) = (&resolved.scenario, options.verdicts);
        let mut world = Self {
            now: Instant::ZERO,
            directions: streams.directions(&scenario.path, verdicts)?.into(),
            alternate: None,
            ends: Vec::new(),
            timers: Timers::default(),
            queue: VecDeque::new(),
            unfinished: 0,
            limit: Instant::ZERO + scenario.limit,
            deliveries: 0,
            meter: None,
            recorder: None,
            post: None,
            stacks: None,
            messages: Vec::new(),
            observer: None,
        };
        if let Some(path) = &scenario.alternate {
            world.directions.extend(streams.alternate_directions(path, verdicts)?);
            world.alternate = Some(HOSTS.map(|host| resolved.alternate_address(host)));
        }
        world.populate(resolved, streams, options)?;
        world.meter = scenario.intervals.as_ref().map(|what| Meter::new(what, &world.ends));
        Ok(world)
    }

    fn populate(
        &mut self,
        resolved: &Resolved,
        streams: &Streams,
        options: &RunOptions,
    ) -> Result<(), SpecError> {
        let hosts = &resolved.scenario.hosts;
        let hosts =
            [("server", &resolved.server, &hosts.server), ("client", &resolved.client, &hosts.client)];
        let phases = hosts.map(|(name, stack, spec)| {
            spec.tick_phase
                .unwrap_or_else(|| streams.phase(&format!("hosts.{name}.tick"), stack.clock_period()))
        });
        let stacks = self.stacks.insert(Stacks::start(resolved, streams)?);
        for plan in resolved.connections() {
            for host in [1, 0] {
                let mut app = plan.apps[host].clone();
                app.prepare(phases[host], || streams.get(&format!("connections.{}.messages", plan.number)));
                let mut connection = stacks.end(resolved, &plan, host, phases[host])?;
                let own = [&options.congestion_server, &options.congestion_client][host];
                if own.as_ref().is_some_and(|own| !connection.set_congestion(own.clone())) {
                    let text = "a congestion control of one's own goes with a TCP of the model only";
                    return Err(SpecError::new(format!("hosts.{}.stack", hosts[host].0), text));
                }
                self.ends.push(End { connection, app, scheduled: Instant::FAR_FUTURE, ended: false });
            }
        }
        if resolved.scenario.messages {
            self.post = Some(Post::new(&mut self.ends, false));
        }
        self.unfinished = self.ends.len();
        for i in 0..self.ends.len() {
            self.reschedule(i);
        }
        Ok(())
    }

    /// Writes down what happens from now on.
    pub fn record(&mut self, recorder: Option<Recorder>) {
        if recorder.is_some() {
            self.directions.iter_mut().for_each(Direction::keep_late_verdicts);
        }
        self.recorder = recorder;
    }

    /// Lets somebody see the packets from now on.
    pub fn observe(&mut self, observer: Option<Box<dyn Observer>>) {
        self.observer = observer;
    }

    /// Runs until everything is over, nothing can happen any more, or the limit is reached; false if it was asked to
    /// stop before.
    pub fn run(&mut self, stop: &Stop) -> bool {
        while !stop.is_asked() {
            if !self.step() {
                return true;
            }
        }
        false
    }

    /// One event; false if there is none left to handle.
    fn step(&mut self) -> bool {
        let (mut first, mut path) = (None, Instant::FAR_FUTURE);
        for (n, direction) in self.directions.iter().enumerate() {
            if let Some(due) = direction.poll_timer().filter(|due| *due < path) {
                (first, path) = (Some(n), due);
            }
        }
        let next = path.min(self.timers.next());
        if next == Instant::FAR_FUTURE || next > self.limit {
            return false;
        }
        if self.unfinished == 0 && first.is_none() {
            return false;
        }
        self.now = next;
        if let Some(meter) = &mut self.meter {
            meter.pass(next, &self.ends);
        }
        match first.filter(|_| path == next) {
            Some(direction) => self.arrive(direction),
            None => self.expire(),
        }
        true
    }

    /// A packet comes out of a direction.
    fn arrive(&mut self, direction: usize) {
        let Some(packet) = self.directions[direction].poll_receive(self.now) else {
            self.settle(direction);
            return;
        };
        let host = 1 - direction % 2;
        self.deliveries += 1;
        if self.recorder.is_some() {
            self.settle(direction);
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.received(host, self.now, &packet);
        }
        if let Some(observer) = &mut self.observer {
            observer.packet(host, self.now, &packet);
        }
        if packet.damaged {
            return; // the host finds the checksum wrong and drops it
        }
        let Some(port) = greater_port(&packet) else { return };
        let connection = usize::from(port.wrapping_sub(FIRST_PORT));
        let index = end_index(connection, host);
        if index < self.ends.len() {
            let now = self.now;
            let seen = self.recorder.is_some().then(|| Seen::of(&packet)).flatten();
            self.act(index, |end| end.connection.handle_packet(now, packet));
            if let (Some(recorder), Some(seen)) = (&mut self.recorder, seen) {
                recorder.handled((host, connection as u32), now, &seen, &self.ends[index].connection);
            }
        }
    }

    /// The earliest timer of an end.
    fn expire(&mut self) {
        let Some((due, owner)) = self.timers.pop() else { return };
        let index = owner as usize;
        if self.ends[index].scheduled != due {
            return; // an earlier entry has been pushed since
        }
        self.ends[index].scheduled = Instant::FAR_FUTURE;
        let now = self.now;
        let app_due = self.ends[index].app.poll_timer().is_some_and(|t| t <= now);
        let stack_due = self.ends[index].connection.poll_timer().is_some_and(|t| t <= now);
        if !app_due && !stack_due {
            self.reschedule(index);
            return;
        }
        self.act(index, |end| {
            if stack_due {
                end.connection.handle_timer(now);
            }
            if app_due {
                end.app.handle_timer(now, &mut end.connection);
            }
        });
    }

    /// Does something to an end, lets its application react, and hands what leaves to the path.
    #[inline]
    fn act(&mut self, index: usize, what: impl FnOnce(&mut End)) {
        let now = self.now;
        let end = &mut self.ends[index];
        end.connection.swap_queue(now, &mut self.queue);
        what(end);
        while let Some(event) = end.connection.poll_event() {
            end.app.on_event(now, event, &mut end.connection);
        }
        end.connection.swap_queue(now, &mut self.queue);
        // An association ends when all has arrived, whether or not it has been read.
        let unread = end.connection.is_of_messages() && end.connection.readable() > 0;
        if !end.ended && end.app.progress().ended.is_some() && !unread {
            end.ended = true;
            self.unfinished -= 1;
        }
        if let Some(meter) = &mut self.meter {
            meter.look(index, &self.ends[index]);
        }
        if let Some(post) = &mut self.post {
            post.look(index, &mut self.ends[index]);
        }
        if let Some(recorder) = &mut self.recorder {
            let end = &self.ends[index];
            let written = end.app.progress().bytes_written;
            recorder.state((1 - index % 2, index / 2), now, written, &end.connection);
        }
        self.transmit(index);
        self.reschedule(index);
    }

    /// Hands what an end has queued to the path.
    fn transmit(&mut self, index: usize) {
        let host = 1 - index % 2;
        while let Some(sent) = self.queue.pop_front() {
            let second = self.alternate.is_some_and(|addresses| sent.packet.dst == addresses[1 - host]);
            let direction = host + 2 * usize::from(second);
            if let Some(observer) = &mut self.observer {
                observer.packet(host, self.now, &sent.packet);
            }
            match &mut self.recorder {
                None => {
                    self.directions[direction].send(self.now, sent.packet);
                }
                Some(recorder) => {
                    let verdict = self.directions[direction].send(self.now, sent.packet.clone());
                    let from = &self.ends[index].connection;
                    recorder.sent(
                        (host, (index / 2) as u32),
                        self.now,
                        (&sent, from),
                        (direction / 2, &verdict),
                    );
                    self.settle(direction);
                }
            }
        }
    }

    /// Writes down verdicts of a direction that were undecided until now.
    #[inline]
    fn settle(&mut self, direction: usize) {
        let Some(recorder) = &mut self.recorder else { return };
        while let Some(verdict) = self.directions[direction].poll_verdict() {
            recorder.settled(direction % 2, (direction / 2, &verdict));
        }
    }

    /// Makes sure that the heap looks at an end no later than its earliest timer.
    #[inline]
    fn reschedule(&mut self, index: usize) {
        let end = &mut self.ends[index];
        let stack = end.connection.poll_timer().unwrap_or(Instant::FAR_FUTURE);
        let app = end.app.poll_timer().unwrap_or(Instant::FAR_FUTURE);
        let due = stack.min(app);
        if due < end.scheduled {
            end.scheduled = due;
            self.timers.push(due, index as u32);
        }
    }

    /// What the run gave; it ends what is measured by intervals.
    pub fn row(&mut self) -> Row {
        let mut row = Row {
            completed: true,
            deliveries: self.deliveries,
            virtual_ns: self.now.as_nanos(),
            packets_down: self.sum(0, |direction| direction.counters().packets),
            packets_up: self.sum(1, |direction| direction.counters().packets),
            drops_down: self.sum(0, |direction| direction.counters().drops()),
            drops_up: self.sum(1, |direction| direction.counters().drops()),
            unreached_down: self.sum(0, Direction::unmet),
            unreached_up: self.sum(1, Direction::unmet),
            ..Row::default()
        };
        let mut misplaced = 0;
        for pair in self.ends.chunks_exact(2) {
            let [client, server] = pair else { continue };
            let (from, to) = if client.app.receives() { (server, client) } else { (client, server) };
            match total_time(from.app.progress(), to.app.progress()) {
                Some(time) => row.time_ns = row.time_ns.max(time.as_nanos()),
                None => row.completed = false,
            }
            row.timeouts_server += server.connection.counters().timeouts;
            for end in pair {
                row.bytes += end.app.progress().bytes_read;
                add(&mut row, end.connection.counters());
                misplaced += end.connection.misplaced_bytes();
            }
        }
        if let Some(post) = self.post.take() {
            (row.messages, self.messages) = post.finish();
        }
        row.error = self.error(row.completed, misplaced);
        row.intervals = self.meter.take().map(|meter| meter.finish(self.now, &self.ends)).unwrap_or_default();
        row.retransmissions = self.observer.take().map(|observer| observer.finish()).unwrap_or_default();
        row
    }

    /// A count over the directions from a host.
    fn sum(&self, host: usize, count: impl Fn(&Direction) -> u64) -> u64 {
        self.directions.iter().skip(host).step_by(2).map(count).sum()
    }

    fn error(&self, completed: bool, misplaced: u64) -> Option<String> {
        if misplaced > 0 {
            return Some(format!(
                "{misplaced} bytes arrived at another place of the stream: a fault of the model"
            ));
        }
        if completed {
            return None;
        }
        let gave_up = self.ends.iter().filter(|e| e.ended).count();
        Some(
            if self.timers.next() > self.limit
                && self.unfinished > 0
                && self.timers.next() != Instant::FAR_FUTURE
            {
                format!("not complete after {} of virtual time", Duration::from_nanos(self.limit.as_nanos()))
            } else if gave_up > 0 {
                "a connection was given up or reset before its transfer was complete".to_string()
            } else {
                "nothing more could happen before the transfer was complete".to_string()
            },
        )
    }

    /// Keeps every message for [`Self::take_messages`].
    pub fn keep_messages(&mut self) {
        self.post = Some(Post::new(&mut self.ends, true));
    }

    /// Every message, once there is a row.
    pub fn take_messages(&mut self) -> Vec<Message> {
        std::mem::take(&mut self.messages)
    }

    /// Verdict logs of the two directions and patterns that were never reached.
    pub fn into_logs(self) -> (Vec<Direction>, Option<Recorder>) {
        (self.directions, self.recorder)
    }
}

fn add(row: &mut Row, c: &Counters) {
    row.data_segments += c.data_segments;
    row.retransmits += c.retransmits;
    row.timeouts += c.timeouts;
    row.fast_retransmits += c.fast_retransmits;
}
