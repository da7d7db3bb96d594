//! One run on this kernel: its hosts, the emulator between them, their applications, in one thread.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rexmit_capture::Options;
use rexmit_network::two_hosts::{CLIENT, SERVER};
use rexmit_network::{ByHost, HostId};
use rexmit_path::{EmulatorKind, Unreached};
use rexmit_scenario::{
    Ledger, Message, Resolved, Row, Sampling, SpecError, StateRow, Streams, VerdictLog, VerdictRow,
};
use rexmit_units::{Duration, Instant};
use serde::{Deserialize, Serialize};

use crate::between::Between;
use crate::counters::{Counted, KernelCounters};
use crate::drive::{EARLY, LINGER, poll_number};
use crate::emulator::{Emulator, Lateness};
use crate::ends::{Ends, FIRST_NUMBER, Wanted};
use crate::host::{Host, INTERFACE, system};
use crate::opening::Protocol;
use crate::programs::{Finished, PROGRAMS, ProgramPlace, Programs, SERVER_FIRST};
use crate::starting::{SECOND, SETTING_UP, round, start};
use crate::stock::{PAUSE, Stock};
use crate::sys::clock;
use crate::sys::packet_socket::PacketSocket;
use crate::sys::poll::{Poll, Ready};
use crate::tap::{Heading, Tap};
use crate::ticks::{BEGINS_BEFORE, Ticks};

/// Time between two signs of life of a run in real time.
const BEAT: Duration = Duration::from_secs(5);
/// Turns of the loop between two of a run in virtual time.
const TURNS_A_BEAT: u64 = 20_000;

/// What a run writes down besides its row, and how it is timed.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LiveOptions {
    /// By host, its capture, as pcapng; empty for none.
    pub captures: ByHost<Option<PathBuf>>,
    /// Most bytes of a packet that the captures keep. Absent: all.
    pub capture_snap_len: Option<u32>,
    /// Comment of the captures.
    pub comment: Option<String>,
    /// State over time, and when it is noted.
    pub state: Option<Sampling>,
    /// The path's verdicts.
    pub verdicts: bool,
    /// Every message that an application wrote, and when it was delivered.
    pub messages: bool,
    /// Where programs are at home, where hosts have some.
    pub programs: Option<ProgramPlace>,
    /// The clock is virtual, of a kernel with this many ticks a second: the run starts at a set phase of them.
    pub virtual_hz: Option<u32>,
}

impl LiveOptions {
    /// Where the capture at a host goes, if there is one.
    fn capture_at(&self, host: HostId) -> Option<&Path> {
        self.captures.get(host)?.as_deref()
    }
}

/// All that a run gave.
#[derive(Clone, Debug, Default)]
pub struct LiveOutcome {
    /// The row.
    pub row: Row,
    /// State over time, if asked for.
    pub states: Vec<StateRow>,
    /// Verdicts, if asked for, in order of time.
    pub verdicts: Vec<VerdictRow>,
    /// Every message, if asked for, by connection and number.
    pub messages: Vec<Message>,
    /// What patterns name and no packet matched.
    pub unreached: Vec<Unreached>,
    /// How late packets came out of the emulator.
    pub lateness: Lateness,
}

/// Runs a scenario once on this kernel, with hosts of `stock`; calls `beat` with the run's clock now and then. Needs
/// CAP_NET_ADMIN and CAP_SYS_ADMIN; leaves nothing behind.
///
/// # Errors
/// A missing privilege, a setting that this kernel does not have, a capture that cannot be written.
pub fn run(
    resolved: &Resolved,
    streams: &Streams,
    options: &LiveOptions,
    stock: &mut Stock,
    beat: &mut dyn FnMut(Instant),
) -> Result<LiveOutcome, SpecError> {
    let mut lab = Lab::new(resolved, streams, options, stock)?;
    let failure = lab.run(beat).err();
    lab.finish(failure, stock)
}

/// A run under way.
struct Lab<'a> {
    resolved: &'a Resolved,
    options: &'a LiveOptions,
    hosts: ByHost<Host>,
    /// What their kernels had counted before.
    counted: ByHost<KernelCounters>,
    between: Between,
    ends: Ends,
    taps: ByHost<Option<Tap>>,
    /// They wake this thread with each packet of a path that is not its own, where counters are to be read in time.
    witnesses: Vec<PacketSocket>,
    programs: Option<Box<dyn Programs>>,
    /// Programs are asked to end; nobody waits for them after this.
    ending: Option<Instant>,
    /// Timers that are put off keep to their times.
    _ticks: Option<Ticks>,
    poll: Poll,
    /// Of the kernel's random numbers, where it is a guest's.
    seed: Option<u64>,
    /// The start of the run on CLOCK_MONOTONIC.
    start: u64,
    now: Instant,
    limit: Instant,
}

impl<'a> Lab<'a> {
    fn new(
        resolved: &'a Resolved,
        streams: &Streams,
        options: &'a LiveOptions,
        stock: &mut Stock,
    ) -> Result<Self, SpecError> {
        let wrong = |e: io::Error| SpecError::writing("to the kernel", &e);
        let mut poll = Poll::new().map_err(wrong)?;
        let first_host = resolved.network.hosts().next().unwrap_or(SERVER);
        let phase = resolved.scenario.hosts.of(first_host).tick_phase;
        let tick = options.virtual_hz.map(|hz| Duration::from_nanos(1_000_000_000 / u64::from(hz.max(1))));
        let round = tick.map_or(Duration::ZERO, round);
        let phase = phase.unwrap_or_else(|| {
            let name = resolved.network.host_name(first_host);
            streams.phase(&format!("hosts.{name}.tick"), round)
        });
        let protocol = Protocol::of(resolved)?;
        let first = if resolved.has_programs() { SERVER_FIRST } else { 0 };
        let pause = if stock.keeps() { PAUSE } else { SECOND } + Duration::from_nanos(first);
        let ticking = tick.is_some() && Ticks::are_needed(&resolved.scenario.path);
        let start = start(tick, phase, protocol, if ticking { pause + SECOND } else { pause });
        let mut ticks = None;
        if tick.is_some() {
            if ticking {
                wait_until(start - SETTING_UP - first - BEGINS_BEFORE, &mut poll).map_err(wrong)?;
                ticks = Some(Ticks::begin().map_err(wrong)?);
            }
            // Some disciplines of the kernel have timers that run from the moment at which they are made (PIE's).
            wait_until(start - SETTING_UP - first, &mut poll).map_err(wrong)?;
            crate::guest::count_from(start, protocol == Protocol::Sctp).map_err(wrong)?;
        }
        let seed = tick.map(|_| streams.number("kernel.random"));
        if let Some(seed) = seed {
            // A host may draw as it is made, too.
            crate::guest::seed(seed).map_err(wrong)?;
        }
        let verdicts = options.captures.values().any(Option::is_some);
        let connections = resolved.connections(streams)?.count();
        let (hosts, between) =
            setting(resolved, streams, stock, &Kept { log: options.verdicts, verdicts, seed, connections })?;
        let counted = counters(&hosts).map_err(wrong)?;
        let taps = taps(resolved, options, &hosts, &between)?;
        between.watch(&poll).map_err(wrong)?;
        let mut witnesses = Vec::new();
        if let (Between::Netem(_), Protocol::Sctp) = (&between, protocol) {
            for (id, host) in hosts.iter() {
                let seen = host.namespace.within(|| PacketSocket::open(INTERFACE)).map_err(wrong)?;
                poll.add_readable(&seen, poll_number(id)).map_err(wrong)?;
                witnesses.push(seen);
            }
        }
        let phases = match tick {
            // One kernel, one clock.
            Some(_) => resolved.network.by_host(|_| phase),
            None => resolved.phases(streams),
        };
        let hz = options.virtual_hz;
        let wanted = Wanted { states: options.state, messages: options.messages, phases, hz };
        if let Some(seed) = seed {
            // A socket of SCTP draws the key of its cookies; what was drawn before depends on which hosts were new.
            crate::guest::seed(seed).map_err(wrong)?;
        }
        let ends = Ends::open(resolved, streams, &hosts, &poll, wanted)?;
        let programs = match &options.programs {
            Some(place) if resolved.has_programs() => Some(stock.begin_programs()?(resolved, &hosts, place)?),
            _ => None,
        };
        Ok(Self {
            resolved,
            options,
            hosts,
            counted,
            between,
            ends,
            taps,
            witnesses,
            programs,
            ending: None,
            _ticks: ticks,
            poll,
            seed,
            start,
            now: Instant::ZERO,
            limit: Instant::ZERO + resolved.scenario.limit,
        })
    }

    /// Runs until everything is over or the limit is reached.
    fn run(&mut self, beat: &mut dyn FnMut(Instant)) -> io::Result<()> {
        self.start_server()?;
        // Sockets that are not connected are ready at once; what they say is heard, and nothing done before its time.
        while clock::monotonic() < self.start {
            self.wait(Instant::ZERO)?;
        }
        if let Some(seed) = self.seed {
            // Now: what the kernel drew while it waited depends on what ran before.
            crate::guest::seed(seed)?;
        }
        if let Some(programs) = &mut self.programs {
            programs.start(CLIENT, clock::monotonic(), &self.poll)?;
        }
        let (mut turns, mut beaten) = (0_u64, Instant::ZERO);
        loop {
            self.tick();
            self.measure();
            turns += 1;
            let waited = self.options.virtual_hz.is_none() && self.now > beaten + BEAT;
            if turns % TURNS_A_BEAT == 0 || waited {
                beaten = self.now;
                beat(self.now);
            }
            self.ends.handle_timers(self.now);
            self.ends.look();
            let handed = self.between.hand_out(self.now)?;
            let over = self.over();
            if !handed && (over || self.now > self.limit) && self.programs_are_over() {
                // What a host's timer has sent at this very instant: captures have it, too.
                return self.between.take_in(self.now);
            }
            let mut end = self.ending.unwrap_or(self.limit) + Duration::from_nanos(1);
            if handed && over {
                // What a host answers is there at once; where it answers nothing, nothing else ends the wait.
                end = self.now;
            }
            if self.options.virtual_hz.is_none() {
                end = end.min(self.now + BEAT);
            }
            let due = [self.between.next_due(), self.ends.next_due()];
            self.wait(due.into_iter().flatten().fold(end, Instant::min))?;
        }
    }

    fn over(&self) -> bool {
        let client = self.programs.as_ref().is_none_or(|programs| programs.client_is_over());
        client && self.between.next_due().is_none() && self.ends.over()
    }

    /// Asks programs to end, now that nothing else is left to do; true once they have, or are not waited for any longer.
    fn programs_are_over(&mut self) -> bool {
        /// What a program may take to end, and what it has left running.
        const END: Duration = Duration::from_secs(5);
        let limit = (self.now > self.limit).then_some(self.resolved.scenario.limit);
        let Some(programs) = &mut self.programs else { return true };
        let by = *self.ending.get_or_insert_with(|| {
            programs.end(limit);
            self.now + END
        });
        programs.are_over() || self.now > by
    }

    /// Starts the server's program. With a real clock, the run starts once it listens.
    fn start_server(&mut self) -> io::Result<()> {
        if self.programs.is_none() {
            return Ok(());
        }
        let virtual_time = self.options.virtual_hz.is_some();
        while virtual_time && clock::monotonic() < self.start - SERVER_FIRST {
            self.poll.wait(self.start - SERVER_FIRST)?;
        }
        let begun = clock::monotonic();
        let Some(programs) = &mut self.programs else { return Ok(()) };
        programs.start(SERVER, begun, &self.poll)?;
        if virtual_time {
            return Ok(());
        }
        while !self.programs.as_ref().is_none_or(|programs| programs.server_is_ready())
            && clock::monotonic() < begun + SERVER_FIRST
        {
            self.start = clock::monotonic() + 10_000_000;
            let awake = self.poll.wait(self.start)?;
            self.hear(&awake);
        }
        self.start = clock::monotonic() + 1_000_000;
        Ok(())
    }

    /// Hears of programs.
    fn hear(&mut self, ready: &[Ready]) {
        let at = clock::monotonic();
        let Some(programs) = &mut self.programs else { return };
        for (number, _) in ready.iter().filter(|(number, _)| *number >= PROGRAMS) {
            programs.handle(*number, at);
        }
    }

    /// Measures what was until now, before anything happens.
    fn measure(&mut self) {
        self.ends.measure(self.now);
        self.between.measure(self.now, self.ends.all());
    }

    fn tick(&mut self) {
        self.now = Instant::from_nanos(clock::monotonic().saturating_sub(self.start));
    }

    /// Waits until `due` or until something happens, and handles that.
    fn wait(&mut self, due: Instant) -> io::Result<()> {
        let at = self.start + due.as_nanos();
        let virtual_time = self.options.virtual_hz.is_some();
        let ready = if virtual_time {
            self.poll.wait(at)?
        } else {
            let awake = self.start + (self.now + LINGER).as_nanos();
            self.poll.wait_awake(at, EARLY.as_nanos(), awake)?
        };
        if ready.is_empty() {
            return Ok(());
        }
        self.tick();
        self.measure();
        // Applications first: what they make the stack send leaves with the rest.
        self.hear(&ready);
        for (number, readiness) in &ready {
            if (FIRST_NUMBER..PROGRAMS).contains(number) {
                self.ends.handle(*number, *readiness, self.now, &self.poll)?;
            }
        }
        self.between.take_in(self.now)?;
        // Before counters are read: a packet that comes afterwards is to wake this thread again.
        for witness in &self.witnesses {
            while witness.receive(&mut [0; 64])?.is_some() {}
        }
        self.ends.sample_all(self.now);
        for tap in self.taps.values_mut().flatten() {
            tap.drain()?;
        }
        Ok(())
    }

    fn finish(mut self, failure: Option<io::Error>, stock: &mut Stock) -> Result<LiveOutcome, SpecError> {
        let wrong = |e: io::Error| SpecError::writing("to the kernel", &e);
        let finished = self.programs.take().map(|mut programs| programs.finish(self.start));
        let mut row = self.row(finished).map_err(wrong)?;
        row.intervals = self.ends.intervals(self.now);
        self.between.tell(&mut row, self.resolved, self.ends.all());
        let (rows, messages) = self.ends.messages(&self.resolved.network);
        if self.resolved.scenario.messages {
            row.messages = rows;
        }
        if let Some(e) = failure {
            row.error = Some(format!("the run was aborted: {e}"));
        }
        self.write_captures(&mut row)?;
        let mut verdicts = VerdictLog::of(self.ends.connections());
        for (link, log) in self.between.logs().iter() {
            verdicts.add(link, log);
        }
        let verdicts = verdicts.into_rows();
        let (unreached, lateness) = (self.between.unreached(self.resolved), self.between.lateness().cloned());
        let in_order = row.error.is_none();
        // Sockets that are only closed go on sending and drawing random numbers, in the runs that follow.
        self.ends.abort(self.now);
        let Self { hosts, between, ends, taps, witnesses, .. } = self;
        drop((taps, witnesses));
        let states = ends.into_states();
        if in_order {
            let put = match between {
                Between::Ours(emulator) => stock.put(self.resolved, hosts, emulator.into_ports()),
                Between::Netem(netem) => stock.put_routed(self.resolved, hosts, netem),
            };
            put.map_err(wrong)?;
        }
        Ok(LiveOutcome { row, states, verdicts, messages, unreached, lateness: lateness.unwrap_or_default() })
    }

    fn row(&self, programs: Option<Finished>) -> io::Result<Row> {
        let counters = counters(&self.hosts)?.into_values().zip(self.counted.values());
        let counters = counters.map(|(now, before)| now.since(before)).collect();
        let totals = self.ends.totals();
        let counted = match self.ends.protocol() {
            Protocol::Tcp => Counted::tcp(&counters, totals.data_segments),
            Protocol::Sctp => Counted::sctp(&counters, totals.retransmits),
        };
        let passed = self.between.passed()?;
        let mut row = Row {
            completed: totals.completed,
            time_ns: totals.time.as_nanos(),
            bytes: totals.bytes,
            data_segments: counted.data_segments,
            retransmits: counted.retransmits,
            fast_retransmits: counted.fast_retransmits,
            deliveries: passed.delivered,
            virtual_ns: self.now.as_nanos(),
            ..Row::default()
        };
        if self.resolved.links.is_some() {
            row.timeouts = counted.timeouts.values().sum();
        } else {
            row.set_links(&passed.links);
            row.set_timeouts(&counted.timeouts);
        }
        let error = programs.and_then(|programs| {
            row.completed &= programs.completed;
            row.time_ns = row.time_ns.max(programs.time_ns);
            row.programs = programs.rows;
            programs.error
        });
        row.error = error.or_else(|| self.error(&row, totals.misplaced));
        Ok(row)
    }

    fn error(&self, row: &Row, misplaced: u64) -> Option<String> {
        let refused = self.between.lateness().map_or(0, |lateness| lateness.refused);
        if misplaced > 0 {
            return Some(format!("{misplaced} bytes arrived that were not those written at their place"));
        }
        if refused > 0 {
            return Some(format!("{refused} packets were refused by a host's interface"));
        }
        if let Some(failure) = self.ends.failure() {
            return Some(format!("a socket failed: {failure}"));
        }
        if row.completed {
            return None;
        }
        Some(if self.ends.given_up() {
            "a connection was given up or reset before its transfer was complete".to_string()
        } else {
            let time = if self.options.virtual_hz.is_some() { " of virtual time" } else { "" };
            format!("not complete after {}{time}", self.resolved.scenario.limit)
        })
    }

    fn write_captures(&mut self, row: &mut Row) -> Result<(), SpecError> {
        let start = self.start.saturating_add_signed(clock::realtime_offset());
        for (host, tap) in self.taps.iter_mut() {
            let (Some(tap), Some(file)) = (tap, self.options.capture_at(host)) else { continue };
            let name = &**self.resolved.network.host_name(host);
            let about = Options {
                comment: self.options.comment.clone(),
                description: Some(format!("the {name}'s interface on a real kernel")),
                epoch_ns: if self.options.virtual_hz.is_some() {
                    rexmit_capture::DEFAULT_EPOCH_NS
                } else {
                    start
                },
                ..Options::default()
            };
            let verdicts = self.between.verdicts_on(host);
            let heading = Heading { interface: name, start, options: &about };
            let written = tap.drain().and_then(|()| tap.write(file, &heading, verdicts.unwrap_or_default()));
            written.map_err(|e| SpecError::writing(&file.display().to_string(), &e))?;
            let (sent, taken) = (tap.outgoing(), verdicts.map(|v| v.len() as u64));
            if taken.is_some_and(|taken| taken != sent) || tap.missed().is_ok_and(|n| n > 0) {
                let lost = format!(
                    "the capture at the {name} has {sent} packets sent, the emulator took {}: some are missing",
                    taken.unwrap_or(0)
                );
                row.error.get_or_insert(lost);
            }
        }
        Ok(())
    }
}

/// Begins the captures that are wanted.
fn taps(
    resolved: &Resolved,
    options: &LiveOptions,
    hosts: &ByHost<Host>,
    between: &Between,
) -> Result<ByHost<Option<Tap>>, SpecError> {
    let network = &resolved.network;
    let between_these: Vec<_> = network.hosts().map(|host| resolved.address(host)).collect();
    network.try_by_host(|host| {
        if options.capture_at(host).is_none() {
            return Ok(None);
        }
        if let Some(recorder) = between.record(host) {
            return Ok(Some(Tap::of(recorder, options.capture_snap_len, &between_these)));
        }
        let tap = Tap::open(&hosts[host].namespace, INTERFACE, options.capture_snap_len, &between_these);
        tap.map(Some).map_err(|e| system(network.host_name(host), &e))
    })
}

/// Waits for a time of CLOCK_MONOTONIC, whatever else there is.
fn wait_until(time: u64, poll: &mut Poll) -> io::Result<()> {
    while clock::monotonic() < time {
        poll.wait(time)?;
    }
    Ok(())
}

/// What is kept of the packets between the hosts, and what they may meet there.
struct Kept {
    /// The log of each link.
    log: bool,
    /// Verdicts, for captures.
    verdicts: bool,
    /// What the kernel's random numbers begin with.
    seed: Option<u64>,
    /// How many connections there are.
    connections: usize,
}

/// The hosts of a run, and what the scenario wants between them.
fn setting(
    resolved: &Resolved,
    streams: &Streams,
    stock: &mut Stock,
    kept: &Kept,
) -> Result<(ByHost<Host>, Between), SpecError> {
    let addresses = resolved.network.by_host(|host| resolved.address(host));
    let path = &resolved.scenario.path;
    if path.emulator == Some(EmulatorKind::Netem) {
        let (hosts, mut netem) = stock.take_routed(resolved)?;
        if let Some(seed) = kept.seed {
            // A discipline may draw, too, and so have hosts that were new.
            crate::guest::seed(seed).map_err(|e| SpecError::writing("to the kernel", &e))?;
        }
        netem.become_this(path, &hosts)?;
        return Ok((hosts, Between::Netem(netem)));
    }
    let links = streams.links(resolved, kept.log)?;
    let (hosts, sides): (Vec<_>, Vec<_>) = stock.take(resolved)?.into_values().unzip();
    let sides = sides.into_iter().collect();
    let measured = resolved.measured();
    let ledger = measured.map(|what| Ledger::new(&what, resolved, kept.connections).of_kernel());
    let emulator = Emulator::new(Arc::clone(&resolved.network), sides, links, kept.verdicts)
        .only_between(&addresses)
        .with_ledger(ledger)
        .with_pool(stock.pool());
    Ok((hosts.into_iter().collect(), Between::Ours(Box::new(emulator))))
}

/// What the kernels of these hosts have counted so far.
fn counters(hosts: &ByHost<Host>) -> io::Result<ByHost<KernelCounters>> {
    hosts.values().map(|host| host.namespace.within(KernelCounters::read)).collect()
}
