//! smoltcp as a host: <https://github.com/smoltcp-rs/smoltcp>, a stack for embedded systems.
//!
//! It takes no notice of the SACK blocks that it gets, has no recovery behind its fast retransmit, goes back after a
//! timeout, and its receiver reports one block at a time.

mod log;
mod truth;

use std::cell::Cell;
use std::collections::VecDeque;

use rexmit_units::{Duration, Instant};
use rexmit_wire::Packet;
use smoltcp::iface::{Config, Interface, SocketHandle, SocketSet};
use smoltcp::phy::{self, Device, DeviceCapabilities, Medium};
use smoltcp::socket::tcp::{self, CongestionControl};
use smoltcp::time;
use smoltcp::wire::{HardwareAddress, IpAddress, IpCidr};

use crate::host::{Host, Sent};
use crate::scenario::{Control, Scenario, Task};
use crate::senders::{Known, Sender};
use crate::world::{Ran, run};
use log::Line;
use truth::Truth;

/// Port of the passive side.
const PORT: u16 = 5001;
/// Port of the active side.
const ACTIVE_PORT: u16 = 40_000;
/// As often at most does a host that says that it has something to do, and does nothing, get another chance.
const AGAIN: Duration = Duration::from_millis(1);

thread_local! {
    /// The time that timestamps are made of; smoltcp asks a function that has no arguments.
    static CLOCK: Cell<Instant> = const { Cell::new(Instant::ZERO) };
}

/// The release that is linked, as `Cargo.toml` asks for it.
const VERSION: &str = "0.14";

/// smoltcp among the senders.
pub const KNOWN: Known = Known { name: "smoltcp", start: || Ok(Box::new(Both)) };

/// smoltcp at both ends of a path.
struct Both;

impl Sender for Both {
    fn ran(&mut self, seed: u64) -> Ran {
        let scenario = Scenario::random(seed);
        let (mut sender, mut receiver) = (Smol::new(&scenario, true), Smol::new(&scenario, false));
        run(&scenario, [&mut sender, &mut receiver])
    }

    fn version(&self) -> String {
        format!("smoltcp {VERSION}")
    }
}

/// A host with smoltcp on it.
pub struct Smol {
    interface: Interface,
    wire: Wire,
    sockets: SocketSet<'static>,
    socket: SocketHandle,
    task: Task,
    /// When the application acts next.
    acts_at: Option<Instant>,
    truth: Truth,
    /// It had nothing to do when it was last polled, whatever it says.
    idle_at: Option<Instant>,
}

impl Smol {
    /// The host that sends the data of `scenario`, or that gets them.
    pub fn new(scenario: &Scenario, sends: bool) -> Self {
        log::listen();
        let mut wire = Wire { mtu: scenario.mtu, ..Wire::default() };
        let mut config = Config::new(HardwareAddress::Ip);
        config.random_seed = scenario.seed.wrapping_mul(2).wrapping_add(u64::from(sends));
        let mut interface = Interface::new(config, &mut wire, smol_time(Instant::ZERO));
        let address = |sends: bool| IpAddress::v4(10, 0, if sends { 2 } else { 1 }, 1);
        interface.update_ip_addrs(|all| all.push(IpCidr::new(address(sends), 8)).expect("room for one"));
        let buffer = |len: usize| tcp::SocketBuffer::new(vec![0; len]);
        let (receive, send) =
            if sends { (4096, scenario.send_buffer) } else { (scenario.receive_buffer, 4096) };
        let mut socket = tcp::Socket::new(buffer(receive), buffer(send));
        socket.set_nagle_enabled(scenario.nagle);
        socket.set_ack_delay(scenario.ack_delay.map(|delay| time::Duration::from_micros(micros(delay))));
        socket.set_congestion_control(match scenario.control {
            Control::None => CongestionControl::None,
            Control::Reno => CongestionControl::Reno,
            Control::Cubic => CongestionControl::Cubic,
        });
        if scenario.timestamps {
            socket.set_tsval_generator(Some(|| (CLOCK.get().as_nanos() / 1_000_000) as u32));
        }
        if scenario.sender_opens == sends {
            socket.connect(interface.context(), (address(!sends), PORT), ACTIVE_PORT).expect("a new socket");
        } else {
            socket.listen(PORT).expect("a new socket");
        }
        let mut sockets = SocketSet::new(Vec::new());
        let socket = sockets.add(socket);
        let task = if sends { scenario.sends() } else { scenario.reads() };
        let truth = Truth::default();
        Self { interface, wire, sockets, socket, task, acts_at: None, truth, idle_at: None }
    }

    /// Lets application and stack act until neither does anything more.
    fn run(&mut self, now: Instant, out: &mut Vec<Sent>) {
        CLOCK.set(now);
        loop {
            let acted = self.act(now);
            self.interface.poll(smol_time(now), &mut self.wire, &mut self.sockets);
            let sent = std::mem::take(&mut self.wire.outbox);
            if sent.is_empty() && !acted {
                break;
            }
            for (bytes, lines) in sent {
                let packet = Packet::parse(&bytes).expect("smoltcp sends whole packets");
                let sending = self.truth.sending(&lines, packet.tcp().expect("TCP alone is sent"));
                out.push(Sent { bytes, sending });
            }
        }
        self.truth.note(&log::take());
        self.idle_at = Some(now);
    }

    /// The application reads or writes; true if it did.
    fn act(&mut self, now: Instant) -> bool {
        let socket = self.sockets.get_mut::<tcp::Socket<'_>>(self.socket);
        match &mut self.task {
            Task::Write { left, piece, pause } => {
                if !socket.may_send() {
                    return false;
                }
                let mut written = false;
                while *left > 0 && socket.can_send() && self.acts_at.is_none_or(|at| at <= now) {
                    let len = (*piece).min(*left);
                    let len = socket.send(|room| {
                        let len = room.len().min(len);
                        (len, len)
                    });
                    let len = len.expect("it can send");
                    *left -= len;
                    written |= len > 0;
                    if !pause.is_zero() {
                        self.acts_at = Some(now + *pause);
                    }
                }
                if *left == 0 {
                    self.acts_at = None;
                    socket.close();
                }
                written
            }
            Task::Read { piece, pause } => {
                let mut read = false;
                while socket.can_recv() && self.acts_at.is_none_or(|at| at <= now) {
                    let len = socket.recv(|data| {
                        let len = data.len().min(*piece);
                        (len, len)
                    });
                    read |= len.expect("it can receive") > 0;
                    self.acts_at = (!pause.is_zero()).then(|| now + *pause);
                }
                if !socket.can_recv() {
                    self.acts_at = None;
                }
                if socket.state() == tcp::State::CloseWait && socket.recv_queue() == 0 {
                    socket.close();
                }
                read
            }
        }
    }
}

impl Host for Smol {
    fn receive(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Sent>) {
        self.wire.inbox = Some(packet.to_vec());
        self.run(now, out);
    }

    fn wake(&mut self, now: Instant, out: &mut Vec<Sent>) {
        self.run(now, out);
    }

    fn next(&mut self, now: Instant) -> Option<Instant> {
        let due = self.interface.poll_at(smol_time(now), &self.sockets);
        let due = due.map(|at| Instant::from_nanos(at.total_micros().max(0) as u64 * 1_000));
        let next = [due, self.acts_at].into_iter().flatten().min()?;
        Some(self.idle_at.filter(|idle| next <= *idle).map_or(next, |idle| idle + AGAIN))
    }
}

/// What connects a host: packets with the lines that were logged before each.
#[derive(Default)]
struct Wire {
    inbox: Option<Vec<u8>>,
    outbox: VecDeque<(Vec<u8>, Vec<Line>)>,
    mtu: usize,
}

/// A packet that has come.
struct Arrived(Vec<u8>);

/// Takes a packet that leaves.
struct Leaving<'a>(&'a mut VecDeque<(Vec<u8>, Vec<Line>)>);

impl Device for Wire {
    type RxToken<'a> = Arrived;
    type TxToken<'a> = Leaving<'a>;

    fn receive(&mut self, _: time::Instant) -> Option<(Arrived, Leaving<'_>)> {
        self.inbox.take().map(|packet| (Arrived(packet), Leaving(&mut self.outbox)))
    }

    fn transmit(&mut self, _: time::Instant) -> Option<Leaving<'_>> {
        Some(Leaving(&mut self.outbox))
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut can = DeviceCapabilities::default();
        can.medium = Medium::Ip;
        can.max_transmission_unit = self.mtu;
        can
    }
}

impl phy::RxToken for Arrived {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, f: F) -> R {
        f(&self.0)
    }
}

impl phy::TxToken for Leaving<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, len: usize, f: F) -> R {
        let mut packet = vec![0; len];
        let result = f(&mut packet);
        self.0.push_back((packet, log::take()));
        result
    }
}

fn smol_time(time: Instant) -> time::Instant {
    time::Instant::from_micros((time.as_nanos() / 1_000) as i64)
}

fn micros(time: Duration) -> u64 {
    time.as_nanos() / 1_000
}
