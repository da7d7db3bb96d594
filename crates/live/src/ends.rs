//! The connections of a run: real sockets, each with its application.

use std::io;
use std::rc::Rc;

use rexmit_scenario::{
    ConnectionPlan, HOSTS, IntervalRow, Message, MessageRow, Resolved, Sampling, SpecError, StateLog,
    StateRow, Streams,
};
use rexmit_stack::Event;
use rexmit_traffic::{App, TransferSpec, total_time};
use rexmit_units::{Duration, Instant};
use socket2::Socket;

use crate::host::{Host, system};
use crate::meter::Meter;
use crate::opening::{Protocol, open};
use crate::post::Post;
use crate::socket::{self, KernelSocket};
use crate::sys::poll::{Poll, Readiness};
use crate::sys::sock_diag::SockDiag;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub socket: KernelSocket,
    pub app: App,
    /// It closes, so that an end of the connection is to be waited for.
    closes: bool,
}

/// Every connection of a run, and the sockets that wait for them.
#[derive(Debug)]
pub struct Ends {
    /// By connection, then by host.
    ends: Vec<[End; 2]>,
    /// A listening socket with its host, by number.
    listeners: Vec<(Socket, usize)>,
    /// Where numbers of sockets begin for [`Poll`].
    first: u64,
    protocol: Protocol,
    hosts: [socket::Host; 2],
    states: Option<StateLog>,
    meter: Option<Meter>,
    post: Option<Post>,
}

/// What is written down of the connections of a run, and what its applications are told of its clock.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// State over time.
    pub states: Option<Sampling>,
    /// Every message.
    pub messages: bool,
    /// By host, the phase of its ticks.
    pub phases: [Duration; 2],
    /// Ticks a second, where they are known.
    pub hz: Option<u32>,
}

/// What all connections gave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Totals {
    /// Every transfer reached its end: of the stream, or of the last response.
    pub completed: bool,
    /// Of the longest transfer.
    pub time: Duration,
    /// Bytes that applications read.
    pub bytes: u64,
    /// Bytes that were not those written.
    pub misplaced: u64,
    /// Segments (chunks of SCTP) with data, first transmissions and those sent again.
    pub data_segments: u64,
    /// Chunks of SCTP sent again; of TCP, the hosts' counters tell.
    pub retransmits: u64,
}

impl Ends {
    /// Opens the sockets of a scenario at its hosts and adds them to `poll`, numbered from `first` on.
    ///
    /// # Errors
    /// A port in use; a protocol or a socket option that the kernel does not have.
    pub fn open(
        (resolved, streams): (&Resolved, &Streams),
        hosts: &[Host; 2],
        poll: &Poll,
        first: u64,
        wanted: Wanted,
    ) -> Result<Self, SpecError> {
        let protocol = Protocol::of(resolved);
        let mut ends = Self {
            ends: Vec::new(),
            listeners: Vec::new(),
            first,
            protocol,
            hosts: hosts.each_ref().map(|host| {
                let ask = || host.namespace.within(SockDiag::open).ok().map(Rc::new);
                let diag = if protocol == Protocol::Sctp { ask() } else { None };
                socket::Host { diag, hz: wanted.hz }
            }),
            states: wanted.states.map(StateLog::new),
            meter: None,
            post: None,
        };
        for mut plan in resolved.connections() {
            for (app, phase) in plan.apps.iter_mut().zip(wanted.phases) {
                app.prepare(phase, || streams.get(&format!("connections.{}.messages", plan.number)));
            }
            let transfer = &resolved.scenario.transfers[plan.transfer];
            let opener = plan.opener;
            let host = &hosts[opener];
            let socket = host
                .namespace
                .within(|| open(&plan, opener, (&host.linux, ends.protocol.with(transfer))))
                .map_err(|e| system(HOSTS[opener], &e))?;
            if ends.listeners.len() <= plan.transfer {
                ends.listen(&plan, transfer, hosts, poll)?;
            }
            ends.add(plan, socket, transfer.close, poll)?;
        }
        ends.meter = resolved.scenario.intervals.as_ref().map(|what| Meter::new(what, &ends.ends));
        if resolved.scenario.messages || wanted.messages {
            ends.post = Some(Post::new(&mut ends.ends, wanted.messages));
        }
        Ok(ends)
    }

    fn listen(
        &mut self,
        plan: &ConnectionPlan,
        transfer: &TransferSpec,
        hosts: &[Host; 2],
        poll: &Poll,
    ) -> Result<(), SpecError> {
        let waiting = 1 - plan.opener;
        let host = &hosts[waiting];
        let wrong = |e: io::Error| system(HOSTS[waiting], &e);
        let how = (&host.linux, self.protocol.with(transfer));
        let socket = host.namespace.within(|| open(plan, waiting, how)).map_err(wrong)?;
        socket.listen(4096).map_err(wrong)?;
        let number = self.first + self.listeners.len() as u64;
        poll.add_readable(&socket, number).map_err(wrong)?;
        self.listeners.push((socket, waiting));
        Ok(())
    }

    fn add(
        &mut self,
        plan: ConnectionPlan,
        socket: Socket,
        closes: bool,
        poll: &Poll,
    ) -> Result<(), SpecError> {
        let opener = plan.opener;
        let number = self.number(plan.number, opener);
        poll.add_socket(&socket, number).map_err(|e| system(HOSTS[opener], &e))?;
        let mut sockets = self.protocol.pair(plan.sockets, &self.hosts);
        sockets[opener].take(socket, false);
        let [server, client] = sockets;
        let [first, second] = plan.apps;
        let end = |socket, app| End { socket, app, closes };
        self.ends.push([end(server, first), end(client, second)]);
        Ok(())
    }

    /// The number of an end for [`Poll`]: behind those of listeners, of which there are fewer than ports.
    fn number(&self, connection: usize, host: usize) -> u64 {
        self.first + (1 << 20) + 2 * connection as u64 + host as u64
    }

    /// When an application next has something to do, or an interval begins or ends.
    pub fn next_due(&self) -> Option<Instant> {
        let measured = self.meter.as_ref().map(Meter::due);
        self.ends.iter().flatten().filter_map(|end| end.app.poll_timer()).chain(measured).min()
    }

    /// Before what happens at `now`: begins and ends intervals.
    pub fn measure(&mut self, now: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.pass(now, &self.ends);
        }
    }

    /// The latencies of messages, and every message where they were asked for, once the run is over.
    pub fn messages(&mut self) -> (Vec<MessageRow>, Vec<Message>) {
        self.post.take().map(Post::finish).unwrap_or_default()
    }

    /// What was measured by intervals, once the run is over.
    pub fn intervals(&mut self, now: Instant) -> Vec<IntervalRow> {
        self.meter.take().map(|meter| meter.finish(now, &self.ends)).unwrap_or_default()
    }

    /// Lets every application act whose time has come.
    pub fn handle_timers(&mut self, now: Instant) {
        for (connection, pair) in self.ends.iter_mut().enumerate() {
            for host in [1, 0] {
                let end = &mut pair[host];
                if end.app.poll_timer().is_some_and(|due| due <= now) {
                    end.app.handle_timer(now, &mut end.socket);
                    sample(&mut self.states, (host, connection), now, end);
                    if let Some(meter) = &mut self.meter {
                        meter.look(connection, pair);
                    }
                    if let Some(post) = &mut self.post {
                        post.look(connection, pair);
                    }
                }
            }
        }
    }

    /// Acts on what [`Poll`] said of the socket with this number.
    ///
    /// # Errors
    /// Those of accepting a connection.
    pub fn handle(&mut self, number: u64, ready: Readiness, now: Instant, poll: &Poll) -> io::Result<()> {
        let index = number - self.first;
        if index < self.listeners.len() as u64 {
            return self.accept(index as usize, now, poll);
        }
        let index = (index - (1 << 20)) as usize;
        self.react(index / 2, index % 2, ready, now);
        Ok(())
    }

    fn accept(&mut self, listener: usize, now: Instant, poll: &Poll) -> io::Result<()> {
        loop {
            let (socket, host) = &self.listeners[listener];
            let host = *host;
            let (socket, from) = match socket.accept() {
                Ok(accepted) => accepted,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            };
            socket.set_nonblocking(true)?;
            let port = from.as_socket().map_or(0, |a| a.port());
            let connection = usize::from(port.wrapping_sub(rexmit_scenario::FIRST_PORT));
            if connection >= self.ends.len() {
                continue; // nobody of this run
            }
            poll.add_socket(&socket, self.number(connection, host))?;
            self.ends[connection][host].socket.take(socket, true);
            // Connected, and perhaps data: the edge comes with the descriptor's first wait.
            self.react(connection, host, Readiness::EPOLLOUT, now);
        }
    }

    fn react(&mut self, connection: usize, host: usize, ready: Readiness, now: Instant) {
        let end = &mut self.ends[connection][host];
        for event in end.socket.events(ready) {
            end.app.on_event(now, event, &mut end.socket);
            if event == Event::EndOfStream {
                // A close that follows may end the connection without another word from the kernel.
                for event in end.socket.events(Readiness::empty()) {
                    end.app.on_event(now, event, &mut end.socket);
                }
            }
        }
        sample(&mut self.states, (host, connection), now, end);
        if let Some(meter) = &mut self.meter {
            meter.look(connection, &self.ends[connection]);
        }
        if let Some(post) = &mut self.post {
            post.look(connection, &mut self.ends[connection]);
        }
    }

    /// Asks the kernel for counters that it forgets with a connection; before a packet is handed to a host.
    pub fn look(&mut self) {
        if self.protocol == Protocol::Sctp {
            self.ends.iter_mut().flatten().for_each(|end| end.socket.look());
        }
    }

    /// Notes the state of every connection.
    pub fn sample_all(&mut self, now: Instant) {
        if self.states.is_some() {
            for (connection, pair) in self.ends.iter().enumerate() {
                for (host, end) in pair.iter().enumerate() {
                    sample(&mut self.states, (host, connection), now, end);
                }
            }
        }
    }

    /// Nothing is left to wait for: every connection is over, or its stream was read where nobody closes.
    pub fn over(&self) -> bool {
        self.ends.iter().all(|pair| {
            let ended = |end: &End| end.app.progress().ended.is_some();
            let (_, receiver) = roles(pair);
            pair.iter().all(ended) || (!receiver.closes && receiver.app.progress().finished.is_some())
        })
    }

    /// An application whose socket did what it should not, if there is one.
    pub fn failure(&self) -> Option<String> {
        let failed = |end: &End| end.socket.failure().map(ToString::to_string);
        self.ends.iter().flatten().find_map(failed)
    }

    /// A connection that was given up or reset, if there is one that did not complete.
    pub fn given_up(&self) -> bool {
        self.ends.iter().any(|pair| {
            roles(pair).1.app.progress().finished.is_none()
                && pair.iter().any(|e| e.app.progress().ended.is_some())
        })
    }

    /// What all connections gave so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { completed: true, ..Totals::default() };
        for pair in &self.ends {
            let (from, to) = roles(pair);
            match total_time(from.app.progress(), to.app.progress()) {
                Some(time) => totals.time = totals.time.max(time),
                None => totals.completed = false,
            }
            for end in pair {
                totals.bytes += end.app.progress().bytes_read;
                totals.misplaced += end.socket.misplaced();
                let sent = end.socket.sent();
                totals.data_segments += sent.data;
                totals.retransmits += sent.again;
            }
        }
        totals
    }

    /// The states noted.
    pub fn into_states(self) -> Vec<StateRow> {
        self.states.map(StateLog::into_rows).unwrap_or_default()
    }
}

/// The end that the data come from, and the one that they are for.
fn roles([server, client]: &[End; 2]) -> (&End, &End) {
    if client.app.receives() { (server, client) } else { (client, server) }
}

/// Notes the state of an end (host and connection).
fn sample(log: &mut Option<StateLog>, number: (usize, usize), now: Instant, end: &End) {
    let Some(log) = log else { return };
    log.note(number, now, end.app.progress().bytes_written, end.socket.snapshot());
}
