//! One host of a run whose other hosts are elsewhere: the engine inside a guest's kernel, asked step by step.
//!
//! The crate `linux` asks; its `protocol` says what. The clock of the guest stands while nobody asks.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::rc::Rc;

use rexmit_linux::protocol::{
    self, Act, Answer, Begin, Counted, EVENTS, News, Opening, Request, Step, Stepped,
};
use rexmit_scenario::HostSpec;
use rexmit_stack::{Socket as _, SocketWish};
use rexmit_units::{Duration, Instant};
use socket2::Socket;

use crate::counters::KernelCounters;
use crate::guest;
use crate::host::{Addresses, Host};
use crate::opening::{Protocol, open};
use crate::packet::{RealPacket, Run};
use crate::pool::Intake;
use crate::port::Side;
use crate::socket::{self, KernelSocket};
use crate::starting::{SETTING_UP, round, start};
use crate::stock::{PAUSE, Stock};
use crate::sys::inside::{Steps, host_read, host_write};
use crate::sys::poll::{Poll, Readiness};
use crate::sys::sock_diag::SockDiag;

/// Numbers of descriptors for [`Poll`].
const CLOCK: u64 = 0;
const INTERFACE: u64 = 1;
const LISTENERS: u64 = 1 << 32;
const ENDS: u64 = 1 << 33;

/// Serves whoever is at the other end of the machine's standard input, until that ends.
///
/// # Errors
/// A kernel whose time does not go in steps; those of the line.
pub fn serve(ticks: u32) -> io::Result<()> {
    let mut served = Served {
        steps: Steps::open()?,
        stock: Stock::keeping(),
        tick: Duration::from_nanos(1_000_000_000 / u64::from(ticks.max(1))),
        run: None,
    };
    let mut frame = Vec::new();
    loop {
        let mut len = [0; 4];
        if !read_exactly(&mut len)? {
            return Ok(());
        }
        let len = u32::from_le_bytes(len);
        if len > protocol::LONGEST {
            return Err(io::ErrorKind::InvalidData.into());
        }
        frame.resize(len as usize, 0);
        if !read_exactly(&mut frame)? {
            return Ok(());
        }
        let request = protocol::message(&frame).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))?;
        let answer = served.answer(request).unwrap_or_else(Answer::Wrong);
        let mut out = vec![protocol::MARK];
        out.extend(protocol::frame(&answer).map_err(io::Error::other)?);
        host_write(1, &out)?;
    }
}

/// False where the line has ended.
fn read_exactly(mut room: &mut [u8]) -> io::Result<bool> {
    while !room.is_empty() {
        match host_read(0, room)? {
            0 => return Ok(false),
            got => room = &mut room[got..],
        }
    }
    Ok(true)
}

/// A guest between runs.
struct Served {
    steps: Steps,
    stock: Stock,
    tick: Duration,
    run: Option<Stepping>,
}

impl Served {
    fn answer(&mut self, request: Request) -> Result<Answer, String> {
        match request {
            Request::Begin(begin) => self.begin(&begin).map(|()| Answer::Ready),
            Request::Step(step) => {
                let run = self.run.as_mut().ok_or("no run has begun")?;
                run.step(&self.steps, &step).map(Answer::Stepped).map_err(|e| e.to_string())
            }
            Request::Look(end) => {
                let run = self.run.as_ref().ok_or("no run has begun")?;
                let told = run.ends.get(&end).and_then(KernelSocket::snapshot);
                Ok(Answer::Looked(told.map(|told| Box::new((&told).into()))))
            }
            Request::End => self.end().map(|()| Answer::Ended).map_err(|e| e.to_string()),
        }
    }

    fn begin(&mut self, begin: &Begin) -> Result<(), String> {
        self.end().map_err(|e| e.to_string())?;
        let spec: HostSpec = serde_json::from_str(&begin.table).map_err(|e| e.to_string())?;
        let protocol = Protocol::named(&begin.protocol).ok_or("no such protocol")?;
        let phase = begin
            .phase_ns
            .map_or_else(|| rexmit_stack::phase(begin.phase, round(self.tick)), Duration::from_nanos);
        let start = start(Some(self.tick), phase, protocol, PAUSE);
        let wrong = |e: io::Error| e.to_string();
        let mut poll = Poll::new().map_err(wrong)?;
        poll.add_readable(&self.steps, CLOCK).map_err(wrong)?;
        self.steps.begin(start - SETTING_UP, true);
        poll.wait_on().map_err(wrong)?;
        guest::count_from(start, protocol == Protocol::Sctp).map_err(wrong)?;
        guest::seed(begin.seed).map_err(wrong)?;
        let addresses = Addresses { own: begin.address, peer: begin.peer };
        let (host, side) = self.stock.take_one(&begin.name, &spec, addresses).map_err(|e| e.to_string())?;
        let counted = host.namespace.within(KernelCounters::read).map_err(wrong)?;
        poll.add_readable(&side, INTERFACE).map_err(wrong)?;
        self.steps.begin(start, true);
        while !poll.wait_on().map_err(wrong)?.iter().any(|(number, _)| *number == CLOCK) {}
        // What the kernel drew while it waited depends on what ran before.
        guest::seed(begin.seed).map_err(wrong)?;
        let diag = || host.namespace.within(SockDiag::open).ok().map(Rc::new);
        let asked = socket::Host {
            diag: if protocol == Protocol::Sctp { diag() } else { None },
            hz: Some((1_000_000_000 / self.tick.as_nanos()) as u32),
        };
        let intake = Intake::new(self.stock.pool());
        self.run = Some(Stepping {
            made: (spec, addresses),
            host,
            asked,
            side,
            intake,
            protocol,
            poll,
            start,
            counted,
            ends: BTreeMap::new(),
            waiting: BTreeMap::new(),
            listeners: Vec::new(),
            told: Stepped::default(),
        });
        Ok(())
    }

    fn end(&mut self) -> io::Result<()> {
        let Some(run) = self.run.take() else { return Ok(()) };
        let Stepping { made: (spec, addresses), host, side, mut ends, .. } = run;
        for socket in ends.values_mut() {
            socket.abort(Instant::ZERO);
        }
        self.stock.put_one(&spec, addresses, (host, side))
    }
}

/// A host under way.
struct Stepping {
    made: (HostSpec, Addresses),
    host: Host,
    /// Whom its sockets ask.
    asked: socket::Host,
    side: Side,
    intake: Intake,
    protocol: Protocol,
    poll: Poll,
    /// The start of the run on CLOCK_MONOTONIC.
    start: u64,
    /// What the kernel had counted before.
    counted: KernelCounters,
    ends: BTreeMap<u32, KernelSocket>,
    /// By both addresses, its own and the peer's, who waits for a connection.
    waiting: BTreeMap<[SocketAddr; 2], u32>,
    listeners: Vec<(SocketAddr, Socket)>,
    told: Stepped,
}

impl Stepping {
    fn step(&mut self, steps: &Steps, step: &Step) -> io::Result<Stepped> {
        let at = self.start + step.now;
        if !step.acts.is_empty() {
            self.pass(steps, at, !step.timers_first)?;
        }
        for act in &step.acts {
            self.act(act)?;
        }
        self.pass(steps, at, false)?;
        let mut told = std::mem::take(&mut self.told);
        told.next = steps.next_timer().map(|next| next.saturating_sub(self.start));
        told.counted = self.count()?;
        told.failure =
            self.ends.values().find_map(|end| end.failure().map(|e| format!("a socket failed: {e}")));
        for News { end, readable, misplaced, .. } in &mut told.ends {
            let Some(socket) = self.ends.get(end) else { continue };
            (*readable, *misplaced) = (socket.waiting(), socket.misplaced());
        }
        Ok(told)
    }

    /// Lets the kernel's time pass until `at`, and hears what happens.
    fn pass(&mut self, steps: &Steps, at: u64, before: bool) -> io::Result<()> {
        steps.begin(at, before);
        loop {
            let mut over = false;
            for (number, ready) in self.poll.wait_on()? {
                match number {
                    CLOCK => over = true,
                    INTERFACE => {}
                    ENDS.. => self.hear((number - ENDS) as u32, ready),
                    _ => self.accept((number - LISTENERS) as usize)?,
                }
            }
            self.take_in()?;
            if over {
                return Ok(());
            }
        }
    }

    /// Takes what the host has sent.
    fn take_in(&mut self) -> io::Result<()> {
        while let Some(arrival) = self.side.receive(&mut self.intake)? {
            for packet in arrival.frame.split() {
                let bytes = packet.to_bytes();
                self.told.lengths.push(bytes.len() as u32);
                self.told.packets.0.extend_from_slice(&bytes);
            }
        }
        Ok(())
    }

    fn hear(&mut self, number: u32, ready: Readiness) {
        let Some(socket) = self.ends.get_mut(&number) else { return };
        let told = socket.events(ready);
        self.tell(number, told);
    }

    fn tell(&mut self, number: u32, events: Vec<rexmit_stack::Event>) {
        let numbers = events.into_iter().filter_map(|event| EVENTS.iter().position(|known| *known == event));
        let numbers = numbers.map(|number| number as u8);
        match self.told.ends.iter_mut().find(|news| news.end == number) {
            Some(news) => news.events.extend(numbers),
            None => {
                self.told.ends.push(News { end: number, events: numbers.collect(), ..News::default() });
            }
        }
    }

    /// Takes a connection that waits; the next wait tells of more. To ask for one where none waits takes lksctp a tick, and the
    /// clock stands.
    fn accept(&mut self, listener: usize) -> io::Result<()> {
        let Some((local, socket)) = self.listeners.get(listener) else { return Ok(()) };
        let (socket, from) = match socket.accept() {
            Ok(accepted) => accepted,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(e) => return Err(e),
        };
        socket.set_nonblocking(true)?;
        let waits = |from| self.waiting.get(&[*local, from]).copied();
        let Some(number) = from.as_socket().and_then(waits) else { return Ok(()) };
        self.poll.add_socket(&socket, ENDS + u64::from(number))?;
        if let Some(end) = self.ends.get_mut(&number) {
            end.take(socket, true);
        }
        // Connected, and perhaps data: the edge comes with the descriptor's first wait.
        self.hear(number, Readiness::EPOLLOUT);
        Ok(())
    }

    fn act(&mut self, act: &Act) -> io::Result<()> {
        let now = Instant::ZERO;
        match act {
            Act::Open(opening) => return self.open(opening),
            Act::Packet(bytes) => {
                self.side.transmit(&Run::new(RealPacket::whole(&bytes.0)))?;
                self.side.flush()?;
            }
            Act::Connect(end) => self.with(*end, |socket| socket.connect(now)),
            Act::Write(end, len, how) => {
                let taken = self.with(*end, |socket| socket.send(now, *len, (*how).into()));
                self.told.counts.push(taken);
            }
            Act::Read(end, len) => {
                let (got, at) = self.with(*end, |socket| read(socket, *len));
                self.told.counts.push(got);
                self.told.read_at = at;
                self.tell(*end, Vec::new());
            }
            Act::Close(end) => {
                // It may end the connection without another word from the kernel.
                let told = self.with(*end, |socket| {
                    socket.close(now);
                    socket.events(Readiness::empty())
                });
                self.tell(*end, told);
            }
            Act::Abort(end) => self.with(*end, |socket| socket.abort(now)),
        }
        Ok(())
    }

    fn with<T: Default>(&mut self, end: u32, what: impl FnOnce(&mut KernelSocket) -> T) -> T {
        self.ends.get_mut(&end).map(what).unwrap_or_default()
    }

    fn open(&mut self, opening: &Opening) -> io::Result<()> {
        let Opening { end, local, remote, active, streams, ref wish } = *opening;
        let asked: Option<SocketWish> = match wish.as_str() {
            "" => None,
            text => Some(serde_json::from_str(text).map_err(io::Error::other)?),
        };
        let wish = self.protocol.with_options(streams, asked.as_ref());
        let host = &self.host;
        let mut socket = self.protocol.alone((local, &self.asked), remote);
        if active {
            let made = host.namespace.within(|| open(local, &host.linux, wish))?;
            self.poll.add_socket(&made, ENDS + u64::from(end))?;
            socket.take(made, false);
        } else {
            self.waiting.insert([local, remote], end);
            if !self.listeners.iter().any(|(address, _)| *address == local) {
                let made = host.namespace.within(|| open(local, &host.linux, wish))?;
                made.listen(4096)?;
                self.poll.add_readable(&made, LISTENERS + self.listeners.len() as u64)?;
                self.listeners.push((local, made));
            }
        }
        self.ends.insert(end, socket);
        Ok(())
    }

    /// What the host's kernel has counted in this run.
    fn count(&self) -> io::Result<Counted> {
        let now = self.host.namespace.within(KernelCounters::read)?.since(&self.counted);
        Ok(match self.protocol {
            Protocol::Tcp => Counted {
                retransmits: now.retransmits(),
                timeouts: now.get("TcpExt.TCPTimeouts"),
                control_timeouts: 0,
                fast_retransmits: now.recoveries(),
            },
            Protocol::Sctp => Counted {
                retransmits: 0,
                timeouts: now.expiries(),
                control_timeouts: now.control_expiries(),
                fast_retransmits: now.get("SctpFastRetransmits"),
            },
        })
    }
}

/// Reads up to this many bytes; how many were there, and where they began.
fn read(socket: &mut KernelSocket, len: u64) -> (u64, Option<u64>) {
    let mut got = socket.read(Instant::ZERO, len);
    if let KernelSocket::Tcp(_) = socket {
        // A read gives what there is of one piece.
        while got < len {
            match socket.read(Instant::ZERO, len - got) {
                0 => break,
                more => got += more,
            }
        }
    }
    (got, socket.read_offset())
}
