//! Hosts and links, moved by events alone.

use std::cmp::Reverse;
use std::sync::Arc;

use rexmit_network::{ByHost, ByLink, EndId, EndIndex, Ends, HostId, LinkId, Network, Node};
use rexmit_path::Direction;
use rexmit_scenario::{
    DueLinks, Ledger, LinkCounts, Measured, Message, Meter, Post, Resolved, Row, SpecError, Streams, Timers,
    connection_of_ports, roles,
};
use rexmit_stack::{Endpoint, Outbox, Snapshot, Socket, ToldCounters};
use rexmit_traffic::{App, total_time};
use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;

use crate::caches::Caches;
use crate::observer::Observer;
use crate::options::RunOptions;
use crate::parcel::Parcel;
use crate::recorder::{Recorder, Sent};
use crate::stack::{Stack, Stacks};
use crate::stop::Stop;
use crate::truth::Seen;

/// One end of a connection with its application.
#[derive(Debug)]
pub(crate) struct End {
    pub connection: Stack,
    pub app: App,
    /// The number of its transfer.
    pub transfer: u32,
    /// When the heap next looks at it; [`Instant::FAR_FUTURE`] if it does not.
    scheduled: Instant,
    /// How many times some end had acted when this one did last.
    acted: u64,
    ended: bool,
}

impl Measured for End {
    #[inline]
    fn app(&self) -> &App {
        &self.app
    }

    #[inline]
    fn app_mut(&mut self) -> &mut App {
        &mut self.app
    }

    fn transfer(&self) -> usize {
        self.transfer as usize
    }

    fn snapshot(&self) -> Option<Snapshot> {
        Some(self.connection.snapshot())
    }

    fn counters(&self) -> Option<ToldCounters> {
        Some((*self.connection.counters()).into())
    }
}

/// A run under way: hosts with their links and routes, and connections with two ends each.
pub(crate) struct World {
    pub now: Instant,
    network: Arc<Network>,
    /// Whether there are more hosts than a server and a client.
    has_many: bool,
    links: ByLink<Direction<Parcel>>,
    due: DueLinks,
    ends: Ends<End>,
    timers: Timers<EndIndex>,
    /// How many times an end has acted.
    acts: u64,
    /// The outbox that the end at work is lent.
    outbox: Outbox,
    unfinished: usize,
    limit: Instant,
    deliveries: u64,
    meter: Option<Meter>,
    recorder: Option<Recorder>,
    post: Option<Post>,
    /// After `ends`, which must be gone before them.
    stacks: Option<Stacks>,
    /// Every message, once the run is over, where they were asked for.
    messages: Vec<Message>,
    observer: Option<Box<dyn Observer>>,
    ledger: Option<Ledger>,
}

impl World {
    /// The world at its start, before the first event.
    pub fn new(resolved: &Resolved, streams: &Streams, options: &RunOptions) -> Result<Self, SpecError> {
        let scenario = &resolved.scenario;
        let mut world = Self {
            now: Instant::ZERO,
            network: Arc::clone(&resolved.network),
            has_many: resolved.links.is_some(),
            links: streams.links(resolved, options.verdicts)?,
            due: DueLinks::new(resolved.network.links().count()),
            ends: Ends::with_capacity(resolved.least_connections()),
            timers: Timers::default(),
            acts: 0,
            outbox: Outbox::default(),
            unfinished: 0,
            limit: Instant::ZERO + scenario.limit,
            deliveries: 0,
            meter: None,
            recorder: None,
            post: None,
            stacks: None,
            messages: Vec::new(),
            observer: None,
            ledger: None,
        };
        world.populate(resolved, streams, options)?;
        world.meter = scenario.intervals.as_ref().map(|what| Meter::new(what, &world.ends, &world.network));
        let connections = world.ends.connections();
        world.ledger = resolved.measured().map(|what| Ledger::new(&what, resolved, connections));
        Ok(world)
    }

    fn populate(
        &mut self,
        resolved: &Resolved,
        streams: &Streams,
        options: &RunOptions,
    ) -> Result<(), SpecError> {
        let phases = resolved.phases(streams);
        let stacks =
            self.stacks.insert(Stacks::start(resolved, streams, |host| options.qlog_at(host).is_some())?);
        stacks.set_caches(&options.caches);
        let of_kernels = self.has_many && resolved.runs_linux();
        for plan in resolved.connections(streams)? {
            if of_kernels {
                resolved.check_port(&plan)?;
            }
            self.ends.push_with(plan.ends.each_ref().map(|end| end.host), |host| {
                let mut app = plan.end(host).app.clone();
                let messages = || streams.get(&format!("connections.{}.messages", plan.id.number()));
                app.prepare(phases[host], messages);
                let mut connection = stacks.end(resolved, &plan, host, phases[host])?;
                if let Some(own) = options.own.get(&host) {
                    let refused = |text| {
                        let name = resolved.scenario.hosts.name(host);
                        SpecError::new(format!("hosts.{name}.stack"), text)
                    };
                    connection.set_own_parts(own).map_err(refused)?;
                }
                let transfer = plan.transfer as u32;
                Ok::<_, SpecError>(End {
                    connection,
                    app,
                    transfer,
                    scheduled: Instant::FAR_FUTURE,
                    acted: 0,
                    ended: false,
                })
            })?;
        }
        if resolved.scenario.messages {
            self.post = Some(Post::new(&mut self.ends, false));
        }
        self.unfinished = self.ends.len();
        for at in self.ends.indices() {
            self.reschedule(at);
        }
        Ok(())
    }

    /// Writes down what happens from now on.
    pub fn record(&mut self, recorder: Option<Recorder>) {
        if recorder.is_some() {
            self.links.values_mut().for_each(Direction::keep_late_verdicts);
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
        let (first, path) = self.due.first(&self.links);
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
        if let Some(ledger) = &mut self.ledger {
            ledger.pass(next, &mut self.links, &self.ends);
        }
        match first.filter(|_| path == next && !self.reads_first()) {
            Some(link) => self.arrive(link),
            None => self.expire(),
        }
        true
    }

    /// An application that takes its time reads at this very instant: before a packet comes, as in a guest, whose clock wakes
    /// applications before it brings packets.
    #[inline]
    fn reads_first(&self) -> bool {
        let Some((due, at)) = self.timers.first().filter(|(due, _)| *due == self.now) else { return false };
        self.ends[at].app.reads_at().is_some_and(|reads| reads <= due)
    }

    /// A packet comes out of a link.
    fn arrive(&mut self, link: LinkId) {
        let Some(parcel) = self.links[link].poll_receive(self.now) else {
            self.settle(link);
            return;
        };
        if self.recorder.is_some() {
            self.settle(link);
        }
        match self.network.link(link).to {
            Node::Host(host) => self.deliver(host, parcel),
            Node::Point(point) => {
                let next = self.network.forward(point, self.ends.host(parcel.to));
                self.links[next].send(self.now, parcel);
                self.due.entered(next, &self.links[next]);
                self.settle(next);
            }
        }
    }

    /// A packet arrives at a host.
    #[inline]
    fn deliver(&mut self, host: HostId, parcel: Parcel) {
        let Parcel { packet, to: at, .. } = parcel;
        self.deliveries += 1;
        if let Some(recorder) = &mut self.recorder {
            recorder.received(host, self.now, &packet);
        }
        if let Some(observer) = &mut self.observer {
            observer.packet(host, self.now, &packet);
        }
        if packet.damaged {
            return; // the host finds the checksum wrong and drops it
        }
        if let Some(ledger) = &mut self.ledger {
            ledger.received(at, self.now, &packet);
        }
        let now = self.now;
        let seen = self.recorder.is_some().then(|| Seen::of(&packet)).flatten();
        self.act(at, |end| end.connection.handle_packet(now, packet));
        if let (Some(recorder), Some(seen)) = (&mut self.recorder, seen) {
            recorder.handled(self.ends.id(at.peer()), now, &seen, &self.ends[at].connection);
        }
    }

    /// The earliest timer of an end.
    fn expire(&mut self) {
        let Some((due, at)) = self.timers.pop() else { return };
        if self.timers.next() == due && self.turn(at).is_some() {
            self.expire_in_turn(due, at);
        } else {
            self.expire_one(due, at);
        }
    }

    /// The place of an end among those of its host whose timers fire now, where its clock has an order for them.
    fn turn(&self, at: EndIndex) -> Option<impl Ord + use<>> {
        let end = &self.ends[at];
        let Stack::Tcp(connection) = &end.connection else { return None };
        connection.turn(self.now).map(|turn| (turn, Reverse(end.acted)))
    }

    /// Timers of several ends fire at once: they act in the order of their host's clock, and those for which it has none after
    /// them.
    #[cold]
    fn expire_in_turn(&mut self, due: Instant, first: EndIndex) {
        let mut all = vec![first];
        while self.timers.next() == due
            && let Some((_, at)) = self.timers.pop()
        {
            all.push(at);
        }
        all.sort_by_cached_key(|at| {
            let turn = self.turn(*at);
            (turn.is_none(), turn)
        });
        for at in all {
            self.expire_one(due, at);
        }
    }

    fn expire_one(&mut self, due: Instant, at: EndIndex) {
        if self.ends[at].scheduled != due {
            return; // an earlier entry has been pushed since
        }
        self.ends[at].scheduled = Instant::FAR_FUTURE;
        let now = self.now;
        let app_due = self.ends[at].app.poll_timer().is_some_and(|t| t <= now);
        let stack_due = self.ends[at].connection.poll_timer().is_some_and(|t| t <= now);
        if !app_due && !stack_due {
            self.reschedule(at);
            return;
        }
        self.act(at, |end| {
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
    fn act(&mut self, at: EndIndex, what: impl FnOnce(&mut End)) {
        let now = self.now;
        self.acts += 1;
        let end = &mut self.ends[at];
        end.acted = self.acts;
        end.connection.swap_outbox(now, &mut self.outbox);
        what(end);
        while let Some(event) = end.connection.poll_event() {
            end.app.on_event(now, event, &mut end.connection);
        }
        end.connection.swap_outbox(now, &mut self.outbox);
        // An association ends when all has arrived, whether or not it has been read.
        let unread = end.connection.is_of_messages() && end.connection.readable() > 0;
        if !end.ended && end.app.progress().ended.is_some() && !unread {
            end.ended = true;
            self.unfinished -= 1;
        }
        if let Some(meter) = &mut self.meter {
            meter.look(at, &self.ends[at]);
        }
        if let Some(post) = &mut self.post {
            post.look(at, &mut self.ends[at]);
        }
        if let Some(recorder) = &mut self.recorder {
            let end = &self.ends[at];
            let written = end.app.progress().bytes_written;
            recorder.state(self.ends.id(at), now, written, &end.connection);
            if let Some(lines) = self.ends[at].connection.take_secrets() {
                recorder.secrets([at, at.peer()].map(|end| self.ends.host(end)), &lines);
            }
            if let Some(records) = self.ends[at].connection.take_qlog() {
                recorder.qlog(self.ends.id(at), now, &records);
            }
        }
        self.transmit(at);
        self.reschedule(at);
    }

    /// The end that a packet handed out by `acting` belongs to: a stack that serves all connections of its host at once
    /// may hand out those of others, and their ports say which.
    #[inline]
    fn sender(&self, acting: EndIndex, packet: &Packet) -> EndIndex {
        if !matches!(self.ends[acting].connection, Stack::Other(_)) {
            return acting;
        }
        let connection = packet.ports().and_then(|(one, other)| connection_of_ports(one, other));
        let host = self.ends.host(acting);
        connection.and_then(|connection| self.ends.find(EndId { connection, host })).unwrap_or(acting)
    }

    /// Hands what an end has queued to the path.
    fn transmit(&mut self, acting: EndIndex) {
        let host = self.ends.host(acting);
        while let Some(sent) = self.outbox.pop() {
            let at = self.sender(acting, &sent.packet);
            let link = self.network.route(host, sent.packet.dst);
            if let Some(ledger) = &mut self.ledger {
                ledger.sent(at, self.now, &sent);
            }
            if let Some(observer) = &mut self.observer {
                observer.packet(host, self.now, &sent.packet);
            }
            match &mut self.recorder {
                None => {
                    self.links[link].send(self.now, Parcel::new(sent.packet, at.peer()));
                    self.due.entered(link, &self.links[link]);
                }
                Some(recorder) => {
                    let parcel = Parcel::new(sent.packet.clone(), at.peer());
                    let verdict = self.links[link].send(self.now, parcel);
                    self.due.entered(link, &self.links[link]);
                    let leaving = Sent { transmission: &sent, link, verdict: &verdict };
                    recorder.sent(self.ends.id(at), self.now, &leaving, &self.ends[at].connection);
                    self.settle(link);
                }
            }
        }
    }

    /// Writes down verdicts of a link that were undecided until now.
    #[inline]
    fn settle(&mut self, link: LinkId) {
        let Some(recorder) = &mut self.recorder else { return };
        let host = self.network.link(link).from.host();
        while let Some(verdict) = self.links[link].poll_verdict() {
            if let Some(host) = host {
                recorder.settled(host, link, &verdict);
            }
        }
    }

    /// Makes sure that the heap looks at an end no later than its earliest timer.
    #[inline]
    fn reschedule(&mut self, at: EndIndex) {
        let end = &mut self.ends[at];
        let stack = end.connection.poll_timer().unwrap_or(Instant::FAR_FUTURE);
        let app = end.app.poll_timer().unwrap_or(Instant::FAR_FUTURE);
        let due = stack.min(app);
        if due < end.scheduled {
            end.scheduled = due;
            self.timers.push(due, at);
        }
    }

    /// What the run gave; it ends what is measured by intervals.
    pub fn row(&mut self, resolved: &Resolved) -> Row {
        let mut row = Row {
            completed: true,
            deliveries: self.deliveries,
            virtual_ns: self.now.as_nanos(),
            ..Row::default()
        };
        let links = self.links.values().map(|direction| LinkCounts {
            packets: direction.counters().packets,
            drops: direction.counters().drops_by().into(),
            unreached: direction.unmet(),
        });
        if !self.has_many {
            row.set_links(&links.collect());
        }
        let mut first = true;
        for pair in self.ends.pairs() {
            let (from, to) = roles(pair);
            if std::mem::take(&mut first) {
                row.set_cached(from.connection.snapshot().cached);
            }
            match total_time(from.app.progress(), to.app.progress()) {
                Some(time) => row.time_ns = row.time_ns.max(time.as_nanos()),
                None => row.completed = false,
            }
        }
        let mut timeouts: ByHost<u64> = self.network.hosts().map(|_| 0).collect();
        for (at, end) in self.ends.iter() {
            let counters = end.connection.counters();
            timeouts[self.ends.host(at)] += counters.timeouts;
            row.bytes += end.app.progress().bytes_read;
            row.data_segments += counters.data_segments;
            row.retransmits += counters.retransmits;
            row.fast_retransmits += counters.fast_retransmits;
        }
        if self.has_many {
            row.timeouts = timeouts.values().sum();
        } else {
            row.set_timeouts(&timeouts);
        }
        if let Some(post) = self.post.take() {
            (row.messages, self.messages) = post.finish(&self.network);
        }
        row.error = self.error(row.completed);
        row.intervals = self.meter.take().map(|meter| meter.finish(self.now, &self.ends)).unwrap_or_default();
        if let Some(ledger) = self.ledger.take() {
            ledger.finish(&mut row, resolved, &mut self.links, &self.ends);
        }
        row.retransmissions = self.observer.take().map(|observer| observer.finish()).unwrap_or_default();
        row
    }

    fn error(&self, completed: bool) -> Option<String> {
        let host = |at: EndIndex| self.network.host_name(self.ends.host(at));
        let mut misplaced = self.ends.iter().map(|(at, end)| (at, end.connection.misplaced_bytes()));
        if let Some((at, bytes)) = misplaced.find(|(_, bytes)| *bytes > 0) {
            return Some(format!(
                "at the {}, {bytes} bytes were read at another place of the stream, or changed: a fault of its stack or of the peer's",
                host(at)
            ));
        }
        if let Some(failure) = self.ends.values().find_map(|end| end.connection.failure()) {
            return Some(failure);
        }
        if completed {
            return None;
        }
        let gave_up = self.ends.values().filter(|e| e.ended).count();
        Some(
            if self.timers.next() > self.limit
                && self.unfinished > 0
                && self.timers.next() != Instant::FAR_FUTURE
            {
                format!("not complete after {} of virtual time", Duration::from_nanos(self.limit.as_nanos()))
            } else if gave_up > 0 {
                "a connection was given up or reset before its transfer was complete".to_string()
            } else {
                let open = self.ends.iter().find(|(_, end)| !end.ended).map(|(at, _)| host(at));
                let open = open.map(|name| format!(": the end at the {name} is open")).unwrap_or_default();
                format!("nothing more could happen before the transfer was complete{open}")
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

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.ends.connections()
    }

    /// What the hosts keep of connections as the run ends.
    pub fn caches(&self) -> Caches {
        let mut caches = self.stacks.as_ref().map(Stacks::caches).unwrap_or_default();
        caches.pass(self.now - Instant::ZERO);
        caches
    }

    /// The links with their verdict logs and their patterns that were never reached, and what was written down.
    pub fn into_logs(self) -> (ByLink<Direction<Parcel>>, Option<Recorder>) {
        (self.links, self.recorder)
    }
}
