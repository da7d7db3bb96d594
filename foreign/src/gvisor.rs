//! Hosts with netstack, the TCP of gVisor, on them: a modern sender, with RACK and tail loss probes where it is told so.

use std::cell::RefCell;
use std::rc::Rc;

use rand_core::RngCore;
use rexmit_units::Instant;
use rexmit_wire::Packet;

use crate::host::{Host, Sent};
use crate::scenario::{Control, Scenario, Task};
use crate::senders::{Known, Sender};
use crate::smol::Smol;
use crate::world::{Ran, run};
use program::{Answer, NEW, Program, RECEIVE, WAKE};
use truth::Truth;

mod program;
mod truth;

/// gVisor's netstack among the senders.
pub const KNOWN: Known = Known { name: "gvisor", start };

fn start() -> Result<Box<dyn Sender>, String> {
    Ok(Box::new(Netstack(Rc::new(RefCell::new(Program::start()?)))))
}

/// netstack as the sender; the receiver is netstack in one half of the scenarios and smoltcp in the other, which can do
/// without timestamps and delay its ACKs.
struct Netstack(Rc<RefCell<Program>>);

impl Sender for Netstack {
    fn ran(&mut self, seed: u64) -> Ran {
        let scenario = Scenario::random(seed);
        let choices = Choices::random(&scenario);
        let mut sender = Gvisor::new(&self.0, &scenario, choices, true);
        if choices.smoltcp_receives {
            run(&scenario, [&mut sender, &mut Smol::new(&scenario, false)])
        } else {
            run(&scenario, [&mut sender, &mut Gvisor::new(&self.0, &scenario, choices, false)])
        }
    }

    fn version(&self) -> String {
        program::version()
    }
}

/// What a scenario leaves open.
#[derive(Clone, Copy, Debug)]
struct Choices {
    sack: bool,
    /// With SACK: losses found by RACK, and tail loss probes (RFC 8985). Without, RFC 6675.
    rack: bool,
    /// The receiver's buffer grows.
    tunes: bool,
    smoltcp_receives: bool,
}

impl Choices {
    fn random(scenario: &Scenario) -> Self {
        let mut stream = scenario.stream("gvisor");
        let mut one_of = |count: u64| stream.next_u64().is_multiple_of(count);
        let sack = !one_of(3);
        Self { sack, rack: sack && one_of(2), tunes: one_of(2), smoltcp_receives: one_of(2) }
    }
}

/// A host with netstack on it.
struct Gvisor {
    program: Rc<RefCell<Program>>,
    number: u8,
    next: Option<Instant>,
    /// What it sent before anybody asked: a SYN.
    early: Vec<Sent>,
    truth: Truth,
}

impl Gvisor {
    fn new(program: &Rc<RefCell<Program>>, scenario: &Scenario, choices: Choices, sends: bool) -> Self {
        let (left, piece, pause) = match if sends { scenario.sends() } else { scenario.reads() } {
            Task::Write { left, piece, pause } => (left, piece, pause),
            Task::Read { piece, pause } => (0, piece, pause),
        };
        let seed = scenario.seed.wrapping_mul(2).wrapping_add(u64::from(sends));
        // In the order of `settings` in `foreign/gvisor/host.go`.
        let settings = [
            seed,
            u64::from(sends),
            u64::from(scenario.sender_opens == sends),
            scenario.mtu as u64,
            u64::from(scenario.control == Control::Cubic),
            u64::from(choices.sack),
            u64::from(choices.rack),
            u64::from(scenario.nagle),
            scenario.send_buffer as u64,
            scenario.receive_buffer as u64,
            u64::from(choices.tunes),
            left as u64,
            piece as u64,
            pause.as_nanos(),
        ];
        let settings: Vec<u8> = settings.iter().flat_map(|number| number.to_le_bytes()).collect();
        let number = u8::from(!sends);
        let answer = program.borrow_mut().ask(NEW, number, &[&settings]);
        let mut host = Self {
            program: Rc::clone(program),
            number,
            next: None,
            early: Vec::new(),
            truth: Truth::default(),
        };
        let mut early = Vec::new();
        host.take(answer, &mut early);
        host.early = early;
        host
    }

    fn ask(&mut self, letter: u8, now: Instant, packet: &[u8], out: &mut Vec<Sent>) {
        out.append(&mut self.early);
        let now = now.as_nanos().to_le_bytes();
        let answer = self.program.borrow_mut().ask(letter, self.number, &[&now, packet]);
        self.take(answer, out);
    }

    fn take(&mut self, answer: Answer, out: &mut Vec<Sent>) {
        self.next = answer.next;
        for (note, bytes) in answer.sent {
            let packet = Packet::parse(&bytes).expect("netstack sends whole packets");
            let sending = self.truth.sending(note, packet.tcp().expect("TCP alone is sent"));
            out.push(Sent { bytes, sending });
        }
    }
}

impl Host for Gvisor {
    fn receive(&mut self, now: Instant, packet: &[u8], out: &mut Vec<Sent>) {
        self.ask(RECEIVE, now, packet, out);
    }

    fn wake(&mut self, now: Instant, out: &mut Vec<Sent>) {
        self.ask(WAKE, now, &[], out);
    }

    fn next(&mut self, _: Instant) -> Option<Instant> {
        if self.early.is_empty() { self.next } else { Some(Instant::ZERO) }
    }
}
