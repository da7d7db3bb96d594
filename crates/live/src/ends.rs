//! The connections of a run: real sockets, each with its application.

use std::collections::HashSet;
use std::io;
use std::rc::Rc;

use rexmit_network::{ByHost, EndId, EndIndex, HostId, Network};
use rexmit_scenario::{
    ConnectionPlan, IntervalRow, Measured, Message, MessageRow, Meter, Post, Resolved, Sampling, SpecError,
    StateLog, StateRow, Streams, connection_of_ports, roles,
};
use rexmit_stack::{Event, Snapshot, Socket as _};
use rexmit_traffic::{App, Transfer, total_time};
use rexmit_units::{Duration, Instant};
use socket2::Socket;

use crate::host::{Host, system};
use crate::opening::{Protocol, open};
use crate::socket::{self, KernelSocket};
use crate::sys::poll::{Poll, Readiness};
use crate::sys::sock_diag::SockDiag;

/// Where the numbers of sockets begin for [`Poll`]: after those of hosts' ports.
pub const FIRST_NUMBER: u64 = 1 << 16;
/// Room for the numbers of listeners: more than there are ports.
const LISTENERS: u64 = 1 << 20;

/// One end of a connection.
#[derive(Debug)]
pub(crate) struct End {
    pub socket: KernelSocket,
    pub app: App,
    /// The number of its transfer.
    transfer: u32,
    /// It closes, so that an end of the connection is to be waited for.
    closes: bool,
}

impl End {
    /// Nothing more will happen to it. An association ends when all has arrived, whether or not it has been read.
    fn is_over(&self) -> bool {
        let unread = matches!(self.socket, KernelSocket::Sctp(_)) && self.socket.waiting() > 0;
        self.app.progress().ended.is_some() && !unread
    }
}

impl Measured for End {
    fn app(&self) -> &App {
        &self.app
    }

    fn app_mut(&mut self) -> &mut App {
        &mut self.app
    }

    fn transfer(&self) -> usize {
        self.transfer as usize
    }

    fn snapshot(&self) -> Option<Snapshot> {
        self.socket.snapshot()
    }
}

/// Every connection of a run, and the sockets that wait for them.
#[derive(Debug)]
pub struct Ends {
    ends: rexmit_network::Ends<End>,
    /// A listening socket with its host, by number.
    listeners: Vec<(Socket, HostId)>,
    protocol: Protocol,
    hosts: ByHost<socket::Host>,
    states: Option<StateLog>,
    meter: Option<Meter>,
    post: Option<Post>,
    dues: Dues,
}

/// What is written down of the connections of a run, and what its applications are told of its clock.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// State over time.
    pub states: Option<Sampling>,
    /// Every message.
    pub messages: bool,
    /// By host, the phase of its ticks.
    pub phases: ByHost<Duration>,
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
    /// Chunks of SCTP sent again; for TCP, the hosts' counters tell.
    pub retransmits: u64,
}

impl Ends {
    /// What they speak.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// Opens the sockets of a scenario at its hosts and adds them to `poll`, numbered from [`FIRST_NUMBER`] on.
    ///
    /// # Errors
    /// A port in use; a protocol or a socket option that the kernel does not have.
    pub fn open(
        resolved: &Resolved,
        streams: &Streams,
        hosts: &ByHost<Host>,
        poll: &Poll,
        wanted: Wanted,
    ) -> Result<Self, SpecError> {
        let protocol = Protocol::of(resolved)?;
        let name = |host| &**resolved.network.host_name(host);
        let mut listening = HashSet::new();
        let mut ends = Self {
            ends: rexmit_network::Ends::new(),
            listeners: Vec::new(),
            protocol,
            hosts: hosts.each_ref().map(|host| {
                let ask = || host.namespace.within(SockDiag::open).ok().map(Rc::new);
                let diag = if protocol == Protocol::Sctp { ask() } else { None };
                socket::Host { diag, hz: wanted.hz }
            }),
            states: wanted.states.map(StateLog::new),
            meter: None,
            post: None,
            dues: Dues::default(),
        };
        for mut plan in resolved.connections(streams)? {
            // Tables have the ends of a connection in the order of their hosts.
            plan.ends.sort_by_key(|end| end.host);
            resolved.check_port(&plan)?;
            let number = plan.id.number();
            for end in &mut plan.ends {
                let messages = || streams.get(&format!("connections.{number}.messages"));
                end.app.prepare(wanted.phases[end.host], messages);
            }
            let transfer = &resolved.transfers[plan.transfer];
            let closes = resolved.scenario.transfers[plan.transfer].close;
            let opener = plan.opener;
            let host = &hosts[opener];
            let socket = host
                .namespace
                .within(|| open(plan.end(opener).socket, &host.linux, ends.protocol.with(transfer)))
                .map_err(|e| system(name(opener), &e))?;
            let waiting = plan.peer(opener);
            if listening.insert((plan.transfer, waiting)) {
                let listen = ends.listen(&plan, transfer, &hosts[waiting], poll);
                listen.map_err(|e| system(name(waiting), &e))?;
            }
            ends.add(plan, socket, closes, poll).map_err(|e| system(name(opener), &e))?;
        }
        ends.meter =
            resolved.scenario.intervals.as_ref().map(|what| Meter::new(what, &ends.ends, &resolved.network));
        if resolved.scenario.messages || wanted.messages {
            ends.post = Some(Post::new(&mut ends.ends, wanted.messages));
        }
        ends.dues = Dues::of(ends.ends.values().map(|end| end.app.poll_timer()));
        Ok(ends)
    }

    fn listen(
        &mut self,
        plan: &ConnectionPlan,
        transfer: &Transfer,
        host: &Host,
        poll: &Poll,
    ) -> io::Result<()> {
        let waiting = plan.peer(plan.opener);
        let wish = self.protocol.with(transfer);
        let socket = host.namespace.within(|| open(plan.end(waiting).socket, &host.linux, wish))?;
        socket.listen(4096)?;
        let number = FIRST_NUMBER + self.listeners.len() as u64;
        poll.add_readable(&socket, number)?;
        self.listeners.push((socket, waiting));
        Ok(())
    }

    fn add(&mut self, plan: ConnectionPlan, socket: Socket, closes: bool, poll: &Poll) -> io::Result<()> {
        let transfer = plan.transfer as u32;
        let sockets = plan.ends.each_ref().map(|end| (end.socket, &self.hosts[end.host]));
        let [one, other] = self.protocol.pair(sockets);
        let [first, second] = plan.ends;
        let end = |socket, app| End { socket, app, transfer, closes };
        self.ends.push([(first.host, end(one, first.app)), (second.host, end(other, second.app))]);
        let Some(at) = self.ends.find(EndId { connection: plan.id, host: plan.opener }) else {
            return Ok(());
        };
        let number = self.number(at);
        poll.add_socket(&socket, number)?;
        self.ends[at].socket.take(socket, false);
        Ok(())
    }

    /// The number of an end for [`Poll`]: after those of listeners.
    fn number(&self, at: EndIndex) -> u64 {
        FIRST_NUMBER + LISTENERS + u64::from(at.number())
    }

    /// When an application next has something to do, or an interval begins or ends.
    pub fn next_due(&self) -> Option<Instant> {
        let measured = self.meter.as_ref().map(Meter::due);
        self.dues.first().into_iter().chain(measured).min()
    }

    /// Before what happens at `now`: begins and ends intervals.
    pub fn measure(&mut self, now: Instant) {
        if let Some(meter) = &mut self.meter {
            meter.pass(now, &self.ends);
        }
    }

    /// The latencies of messages, and every message where they were asked for, once the run is over.
    pub fn messages(&mut self, of: &Network) -> (Vec<MessageRow>, Vec<Message>) {
        self.post.take().map(|post| post.finish(of)).unwrap_or_default()
    }

    /// What was measured by intervals, once the run is over.
    pub fn intervals(&mut self, now: Instant) -> Vec<IntervalRow> {
        self.meter.take().map(|meter| meter.finish(now, &self.ends)).unwrap_or_default()
    }

    /// The ends themselves.
    pub(crate) fn all(&self) -> &rexmit_network::Ends<End> {
        &self.ends
    }

    /// How many connections there are.
    pub fn connections(&self) -> usize {
        self.ends.connections()
    }

    /// Lets every application whose time has come act.
    pub fn handle_timers(&mut self, now: Instant) {
        if self.dues.first().is_none_or(|first| first > now) {
            return;
        }
        for first in self.ends.indices().step_by(2) {
            // As the model's: the host with the higher number first.
            for at in [first.peer(), first] {
                let end = &mut self.ends[at];
                if end.app.poll_timer().is_some_and(|due| due <= now) {
                    end.app.handle_timer(now, &mut end.socket);
                    self.note(at, now);
                }
            }
        }
    }

    /// Acts on what [`Poll`] said of the socket with this number.
    ///
    /// # Errors
    /// Those of accepting a connection.
    pub fn handle(&mut self, number: u64, ready: Readiness, now: Instant, poll: &Poll) -> io::Result<()> {
        let index = number - FIRST_NUMBER;
        if index < self.listeners.len() as u64 {
            return self.accept(index as usize, now, poll);
        }
        self.react(EndIndex::new((index - LISTENERS) as u32), ready, now);
        Ok(())
    }

    /// Takes a connection that waits; the next wait tells of more. To ask for one where none waits takes lksctp a tick, though
    /// the socket does not block [Linux 6.1 net/sctp/socket.c, `sctp_wait_for_accept`].
    fn accept(&mut self, listener: usize, now: Instant, poll: &Poll) -> io::Result<()> {
        let (socket, host) = &self.listeners[listener];
        let host = *host;
        let (socket, from) = match socket.accept() {
            Ok(accepted) => accepted,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        socket.set_nonblocking(true)?;
        let port = from.as_socket().map_or(0, |a| a.port());
        let end = connection_of_ports(port, port).map(|connection| EndId { connection, host });
        let Some(at) = end.and_then(|end| self.ends.find(end)) else { return Ok(()) }; // nobody of this run
        poll.add_socket(&socket, self.number(at))?;
        self.ends[at].socket.take(socket, true);
        // Connected, and perhaps data: the edge comes with the descriptor's first wait.
        self.react(at, Readiness::EPOLLOUT, now);
        Ok(())
    }

    fn react(&mut self, at: EndIndex, ready: Readiness, now: Instant) {
        let end = &mut self.ends[at];
        for event in end.socket.events(ready) {
            end.app.on_event(now, event, &mut end.socket);
            if event == Event::EndOfStream {
                // A close that follows may end the connection without another word from the kernel.
                for event in end.socket.events(Readiness::empty()) {
                    end.app.on_event(now, event, &mut end.socket);
                }
            }
        }
        self.note(at, now);
    }

    /// Writes down what is asked for, after something happened to an end.
    fn note(&mut self, at: EndIndex, now: Instant) {
        let (id, end) = (self.ends.id(at), &mut self.ends[at]);
        self.dues.set(at, end.app.poll_timer());
        sample(&mut self.states, id, now, end);
        if let Some(meter) = &mut self.meter {
            meter.look(at, end);
        }
        if let Some(post) = &mut self.post {
            post.look(at, end);
        }
    }

    /// Asks the kernel for counters that it forgets with a connection; before a packet is handed to a host.
    pub fn look(&mut self) {
        if self.protocol == Protocol::Sctp {
            self.ends.iter_mut().for_each(|(_, end)| end.socket.look());
        }
    }

    /// Notes the state of every connection.
    pub fn sample_all(&mut self, now: Instant) {
        if self.states.is_some() {
            for (at, end) in self.ends.iter() {
                sample(&mut self.states, self.ends.id(at), now, end);
            }
        }
    }

    /// Nothing is left to wait for: every connection is over, or its stream was read where nobody closes.
    pub fn over(&self) -> bool {
        self.ends.pairs().all(|pair| {
            let (_, receiver) = roles(pair);
            pair.iter().all(End::is_over) || (!receiver.closes && receiver.app.progress().finished.is_some())
        })
    }

    /// An application whose socket did what it should not, if there is one.
    pub fn failure(&self) -> Option<String> {
        let failed = |end: &End| end.socket.failure().map(ToString::to_string);
        self.ends.values().find_map(failed)
    }

    /// A connection that was given up or reset, if there is one that did not complete.
    pub fn given_up(&self) -> bool {
        self.ends
            .pairs()
            .any(|pair| roles(pair).1.app.progress().finished.is_none() && pair.iter().any(End::is_over))
    }

    /// What all connections gave so far.
    pub fn totals(&self) -> Totals {
        let mut totals = Totals { completed: true, ..Totals::default() };
        for pair in self.ends.pairs() {
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

    /// Ends every connection at once, so that nothing of it is left in its host.
    pub fn abort(&mut self, now: Instant) {
        self.ends.iter_mut().for_each(|(_, end)| end.socket.abort(now));
    }

    /// The states noted.
    pub fn into_states(self) -> Vec<StateRow> {
        self.states.map(StateLog::into_rows).unwrap_or_default()
    }
}

/// When each application next has something to do: asked often, and with many connections most are far from it.
#[derive(Debug, Default)]
struct Dues {
    /// By end; [`Instant::FAR_FUTURE`] for never.
    all: Vec<Instant>,
    first: Instant,
}

impl Dues {
    fn of(all: impl Iterator<Item = Option<Instant>>) -> Self {
        let mut dues =
            Self { all: all.map(|due| due.unwrap_or(Instant::FAR_FUTURE)).collect(), ..Self::default() };
        dues.find_first();
        dues
    }

    fn first(&self) -> Option<Instant> {
        (self.first < Instant::FAR_FUTURE).then_some(self.first)
    }

    fn set(&mut self, at: EndIndex, due: Option<Instant>) {
        let Some(place) = self.all.get_mut(at.number() as usize) else { return };
        let due = due.unwrap_or(Instant::FAR_FUTURE);
        let before = std::mem::replace(place, due);
        if due <= self.first {
            self.first = due;
        } else if before == self.first {
            self.find_first();
        }
    }

    fn find_first(&mut self) {
        self.first = self.all.iter().copied().min().unwrap_or(Instant::FAR_FUTURE);
    }
}

/// Notes the state of an end.
fn sample(log: &mut Option<StateLog>, id: EndId, now: Instant, end: &End) {
    let Some(log) = log else { return };
    log.note(id, now, end.app.progress().bytes_written, end.socket.snapshot());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_due_is_known_whichever_changes() {
        let at = |ns: u64| Some(Instant::from_nanos(ns));
        let mut dues = Dues::of([at(7), None, at(3), at(3)].into_iter());
        assert_eq!(dues.first(), at(3));
        for (end, due, first) in [(2, at(9), at(3)), (3, None, at(7)), (1, at(1), at(1)), (1, None, at(7))] {
            dues.set(EndIndex::new(end), due);
            assert_eq!(dues.first(), first);
        }
        assert_eq!(Dues::of([None, None].into_iter()).first(), None);
    }
}
