//! ns-3, a simulator of networks with a TCP of its own: <https://www.nsnam.org>, Debian's package libns3-dev.
//!
//! `foreign/ns3/sender.cc` runs scenarios in ns-3's own time, over ns-3's own links and queues, with ns-3 as sender and as
//! receiver, and writes captures. A subclass of its socket notes, and changes nothing, in which function and state ns-3 is
//! as it sends: `ReTxTimeout`, `PersistTimeout`, or in answer to an ACK in `CA_LOSS`, as it enters `CA_RECOVERY`, in
//! `CA_RECOVERY`, or in neither. The last is a habit of its own, mostly without SACK: segments that it took for lost are
//! sent again when the recovery is over. It has no name for it, and none is counted as right.
//!
//! `reading::Side::sending` panics if a segment repeats what was sent before and ns-3 noted no reason.

mod reading;

use std::io::{BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use rand_core::RngCore;
use rexmit_capture::DEFAULT_EPOCH_NS;
use rexmit_units::Duration;

use crate::program::{Source, compiled};
use crate::scenario::{Control, Scenario, Task};
use crate::senders::{Known, Sender};
use crate::world::Ran;

/// ns-3 among the senders.
pub const KNOWN: Known = Known { name: "ns-3", start: || Ok(Box::new(Ns3::new()?)) };

const SOURCE: Source = Source {
    name: "ns-3",
    file: "ns3/sender.cc",
    header: "/usr/include/ns3/tcp-socket-base.h",
    libraries: &[
        "-lns3-internet",
        "-lns3-point-to-point",
        "-lns3-traffic-control",
        "-lns3-network",
        "-lns3-core",
    ],
    install: "apt-get install libns3-dev g++",
};

/// One at a time compiles the program.
static COMPILING: Mutex<()> = Mutex::new(());

/// A process of ns-3 that runs one scenario after the other.
struct Ns3 {
    version: String,
    process: Child,
    scenarios: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Ns3 {
    fn new() -> Result<Self, String> {
        let program = {
            let _one = COMPILING.lock().expect("no thread has failed");
            compiled(&SOURCE)?
        };
        let mut command = Command::new(program);
        let spawned = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut process = spawned.map_err(|e| format!("ns-3: {e}"))?;
        let scenarios = process.stdin.take();
        let mut answers = BufReader::new(process.stdout.take().expect("it was asked for"));
        let version = reading::line(&mut answers).map_err(|e| format!("ns-3: {e}"))?;
        Ok(Self { version, process, scenarios, answers })
    }
}

impl Sender for Ns3 {
    fn ran(&mut self, seed: u64) -> Ran {
        let line = words(&Scenario::random(seed));
        let scenarios = self.scenarios.as_mut().expect("it is closed at the end only");
        let asked = scenarios.write_all(line.as_bytes()).and_then(|()| scenarios.flush());
        let ran = asked.and_then(|()| reading::ran(&mut self.answers));
        ran.unwrap_or_else(|e| panic!("ns-3: {e}, in the scenario {line}"))
    }

    fn version(&self) -> String {
        self.version.clone()
    }
}

impl Drop for Ns3 {
    fn drop(&mut self) {
        // The end of its input ends it.
        self.scenarios = None;
        let _ = self.process.wait();
    }
}

/// A scenario as the program reads it: words with a whole number each, times in nanoseconds.
fn words(scenario: &Scenario) -> String {
    // What the scenarios of one connection over smoltcp know nothing of.
    let mut more = scenario.stream("ns-3");
    let mut below = |count: u64| more.next_u64() % count;
    let flows = [1, 1, 1, 2, 3, 5][below(6) as usize];
    let min_rto = [200, 1_000][below(2) as usize] * 1_000_000;
    let control = match scenario.control {
        Control::None => 0,
        Control::Reno => 1,
        Control::Cubic => 2,
    };
    let Task::Write { left, piece, pause: write_pause } = scenario.sends() else { unreachable!("it writes") };
    let Task::Read { piece: read, pause: read_pause } = scenario.reads() else { unreachable!("it reads") };
    // Where the receiver's window is what limits it, ns-3 3.37 crashes before long: seldom, so.
    let room = if below(8) == 0 { 0 } else { scenario.send_buffer as u64 };
    let options = if scenario.timestamps { 12 } else { 0 };
    let ns = |time: Duration| time.as_nanos();
    let words = [
        ("seed", scenario.seed),
        ("epoch", DEFAULT_EPOCH_NS / 1_000_000_000),
        ("rate", scenario.rate.bits_per_second()),
        ("queue", scenario.queue),
        ("near", ns(scenario.delays[0])),
        ("far", ns(scenario.delays[1])),
        ("data-loss-0", scenario.data_loss[0].trillionths()),
        ("data-loss-1", scenario.data_loss[1].trillionths()),
        ("ack-loss-0", scenario.ack_loss[0].trillionths()),
        ("ack-loss-1", scenario.ack_loss[1].trillionths()),
        ("mtu", scenario.mtu as u64),
        ("segment", scenario.mtu as u64 - 40 - options),
        ("control", control),
        ("timestamps", u64::from(scenario.timestamps)),
        ("nagle", u64::from(scenario.nagle)),
        ("ack-delay", scenario.ack_delay.map_or(0, ns)),
        ("sender-opens", u64::from(scenario.sender_opens)),
        ("send-buffer", scenario.send_buffer as u64),
        ("receive-buffer", scenario.receive_buffer as u64 + room),
        ("bytes", left as u64),
        ("piece", piece as u64),
        ("write-pause", ns(write_pause)),
        ("read", read.min(u32::MAX as usize) as u64),
        ("read-pause", ns(read_pause)),
        ("sack", below(2)),
        ("prr", below(2)),
        ("limited-transmit", below(2)),
        ("flows", flows),
        ("stagger", below(500) * 1_000_000),
        ("min-rto", min_rto),
    ];
    words.map(|(name, value)| format!("{name} {value}")).join(" ") + "\n"
}
