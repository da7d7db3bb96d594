//! What an emulation says while it runs and at its end.

use std::fs::File;
use std::io::{self, Write};
use std::net::IpAddr;
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use rexmit_network::{ByHost, LinkId, Network};
use rexmit_path::{Counters, Direction};
use rexmit_units::{Duration, Instant};
use serde::ser::Serializer;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::drive::DriveReport;
use crate::emulator::Emulator;
use crate::packet::RealPacket;
use crate::port::Side;
use crate::sys::write_out;
use crate::watch::Live;
use crate::wire::Carrier;

/// One line of an emulation's answer.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// Something worth a line for people.
    Note(String),
    /// All links are up; the addresses of the hosts, absent between two interfaces.
    Up {
        /// By host.
        addresses: Option<ByHost<IpAddr>>,
    },
    /// Where it is.
    Now(Summary),
    /// It is impossible, or broke off: one line.
    Wrong {
        /// What is wrong.
        text: String,
        /// The exit code that this means.
        code: i32,
    },
    /// It is over.
    Over {
        /// The exit code of the commands, if some ran: of the first that failed, or 0.
        code: Option<i32>,
        /// What came of it.
        summary: Summary,
        /// What carried packets to the programs; absent between two interfaces.
        device: Option<Carrier>,
        /// Why the emulation was not what it should be, if so: one line.
        invalid: Option<String>,
        /// What patterns name and no packet matched.
        unreached: Vec<String>,
        /// The links' verdicts by columns, if they were asked for.
        verdicts: Value,
    },
}

/// Counts so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// Nanoseconds since the links were up.
    pub time_ns: u64,
    /// What passed each link.
    #[serde(flatten)]
    pub links: Passed,
    /// How late packets came out: half of them no more than this, nanoseconds. Known at the end.
    pub late_p50_ns: u64,
    /// And 99 of 100. Known at the end.
    pub late_p99_ns: u64,
    /// And all of them.
    pub late_max_ns: u64,
    /// Packets that came out more than 10 ms late. Known at the end.
    pub too_late: u64,
    /// Packets that came out.
    pub deliveries: u64,
    /// Packets that an interface refused, or lost before the emulator could take them.
    pub missed: u64,
    /// Of these, longer than the MTU. Known at the end.
    pub too_long: u64,
}

/// What passed the links: each direction of each, by its name.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Passed {
    /// Of a path: `down`, towards the command, and `up`.
    Path(#[serde(serialize_with = "by_name")] Vec<(String, Traffic)>),
    /// Of a network.
    Network {
        /// Its links.
        #[serde(serialize_with = "by_name")]
        links: Vec<(String, Traffic)>,
    },
}

impl Default for Passed {
    fn default() -> Self {
        Self::Path(Vec::new())
    }
}

impl Passed {
    fn of(network: &Network, mut traffic: impl FnMut(LinkId) -> Traffic) -> Self {
        let named = |link| (network.link_name(link).to_string(), traffic(link));
        let links = network.links().map(named).collect();
        // A path has no point.
        if network.points() == 0 { Self::Path(links) } else { Self::Network { links } }
    }
}

/// Writes what has names as a table, in its order.
fn by_name<S: Serializer>(links: &[(String, Traffic)], to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(links.iter().map(|(name, traffic)| (name, traffic)))
}

/// One direction so far.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Traffic {
    /// Packets offered.
    pub packets: u64,
    /// Bytes of IP packets offered.
    pub bytes: u64,
    /// Packets that came out, copies included.
    pub received: u64,
    /// Bytes of IP packets that were not dropped.
    pub carried_bytes: u64,
    /// Packets in the queue now.
    pub queue_packets: u64,
    /// Bytes in the queue now.
    pub queue_bytes: u64,
    /// Dropped by a pattern.
    pub dropped_by_pattern: u64,
    /// Dropped by random loss.
    pub dropped_by_loss: u64,
    /// Dropped by a full queue.
    pub queue_full: u64,
    /// Dropped by the queue's management.
    pub dropped_by_aqm: u64,
    /// Dropped as longer than the token bucket.
    pub longer_than_burst: u64,
    /// With a bit error.
    pub corrupted: u64,
    /// Marked "congestion experienced".
    pub marked: u64,
    /// Copies that were admitted.
    pub duplicated: u64,
    /// Held by a pattern.
    pub held: u64,
    /// Held back past others.
    pub reordered: u64,
}

impl Traffic {
    fn of(direction: &mut Direction<RealPacket>, now: Instant) -> Self {
        let (queue_packets, queue_bytes) = direction.queued(now);
        let Counters {
            packets,
            bytes,
            dropped_by_pattern,
            dropped_by_loss,
            queue_full,
            dropped_by_aqm,
            too_long: longer_than_burst,
            dropped_bytes,
            corrupted,
            marked,
            duplicated,
            held,
            reordered,
            received,
            received_bytes: _,
        } = *direction.counters();
        Self {
            packets,
            bytes,
            received,
            carried_bytes: bytes - dropped_bytes,
            queue_packets,
            queue_bytes,
            dropped_by_pattern,
            dropped_by_loss,
            queue_full,
            dropped_by_aqm,
            longer_than_burst,
            corrupted,
            marked,
            duplicated,
            held,
            reordered,
        }
    }
}

impl Summary {
    /// At the end.
    pub fn of(emulator: &mut Emulator<Side>, driven: &DriveReport, now: Instant) -> Self {
        let lateness = &driven.lateness;
        let late = |share: f64| lateness.quantile(share).as_nanos();
        let lost: u64 = driven.lost.values().map(|l| l.sent + l.received).sum();
        let network = emulator.shared_network();
        Self {
            time_ns: driven.time.as_nanos(),
            links: Passed::of(&network, |link| Traffic::of(&mut emulator.links_mut()[link], now)),
            late_p50_ns: late(0.5),
            late_p99_ns: late(0.99),
            late_max_ns: lateness.max_ns,
            deliveries: lateness.packets,
            too_late: lateness.later_than(LATE),
            missed: lost + lateness.refused + driven.incidents.no_room,
            too_long: driven.lost.values().map(|l| l.too_long).sum(),
        }
    }

    /// While it runs, as far as it is known then.
    pub fn so_far(network: &Network, live: &Live, now: Instant) -> Self {
        let traffic = |link: LinkId| Traffic {
            packets: live.packets[link],
            bytes: live.bytes[link],
            received: live.received[link],
            carried_bytes: live.bytes[link].saturating_sub(live.dropped_bytes[link]),
            queue_packets: live.queue_packets[link],
            queue_bytes: live.queue_bytes[link],
            dropped_by_pattern: live.dropped_by_pattern[link],
            dropped_by_loss: live.dropped_by_loss[link],
            queue_full: live.queue_full[link],
            dropped_by_aqm: live.dropped_by_aqm[link],
            longer_than_burst: live.too_long[link],
            ..Traffic::default()
        };
        Self {
            time_ns: now.as_nanos(),
            links: Passed::of(network, traffic),
            late_max_ns: live.max_late_ns,
            missed: live.refused + live.no_room + live.lost,
            ..Self::default()
        }
    }

    /// Why the emulation was not what it should be, if so.
    pub fn invalid(&self) -> Option<String> {
        if self.too_long > 0 {
            return Some(format!(
                "{} packets were longer than the MTU: a host beyond --between leaves it to its device to split them; \
                 switch that off there (ethtool -K INTERFACE tso off gso off)",
                self.too_long
            ));
        }
        if self.missed > 0 {
            let text = "the emulator did not keep up: {} packets missed the path or did not come out of it";
            return Some(text.replace("{}", &self.missed.to_string()));
        }
        let few = (self.deliveries / 100).max(FEW);
        (self.too_late > few).then(|| {
            let (late, all) = (self.too_late, self.deliveries);
            format!("the emulator did not keep up: {late} of {all} packets came out more than {LATE} late")
        })
    }
}

/// An emulation does not count where more than a hundredth of its packets came out later than this.
const LATE: Duration = Duration::from_millis(10);
/// This many may be that late in a short emulation: a machine's pause.
const FEW: u64 = 20;

/// Where events go.
#[derive(Debug)]
pub struct Events(pub File);

impl Events {
    /// Says something, in one line.
    ///
    /// # Errors
    /// Where nobody listens any more.
    pub fn say(&mut self, event: &Event) -> io::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        self.0.write_all(&line)?;
        write_out(&self.0);
        Ok(())
    }

    /// Says something that may be missed: not at all where the listener is behind.
    ///
    /// # Errors
    /// Where nobody listens any more.
    pub fn say_if_heard(&mut self, event: &Event) -> io::Result<()> {
        let mut room = [PollFd::new(self.0.as_fd(), PollFlags::POLLOUT)];
        match poll(&mut room, PollTimeout::ZERO) {
            Ok(1..) => self.say(event),
            _ => Ok(()),
        }
    }

    /// Says something for people.
    ///
    /// # Errors
    /// Where nobody listens any more.
    pub fn note(&mut self, text: impl Into<String>) -> io::Result<()> {
        self.say(&Event::Note(text.into()))
    }
}
