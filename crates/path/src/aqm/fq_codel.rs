//! FlowQueue-CoDel (RFC 8290): a queue for each flow, served in turn, those of new flows first, each under CoDel.
//!
//! Flows are kept apart exactly. The RFC hashes them into 1024 queues, where two may meet; here none do.

use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher};

use rexmit_units::Instant;

use super::codel::{Control, State};
use crate::carried::{Carried, FlowKey};
use crate::discipline::Room;
use crate::spec::{Algorithm, Codel, FqCodel};
use crate::verdict::Fate;
use crate::waiting::{Dropped, Fifo, Waiting};

/// The flows and their turns.
pub(crate) struct FlowQueues<P> {
    // Looked up, and swept in whole: the order in it never shows.
    index: HashMap<FlowKey, usize, BuildHasherDefault<DefaultHasher>>,
    flows: Vec<Flow<P>>,
    free: Vec<usize>,
    /// Flows that have had no turn since they became active.
    new: VecDeque<usize>,
    old: VecDeque<usize>,
    config: Codel,
    quantum: i64,
    max_packet: u64,
    packets: u64,
    bytes: u64,
    /// Sweep once there are this many flows.
    sweep_at: usize,
}

struct Flow<P> {
    queue: Fifo<P>,
    state: State,
    /// Bytes that it may still send in its turn.
    deficit: i64,
    /// It is in one of the lists.
    active: bool,
}

/// Flows that are kept before those without packets are looked at.
const SWEEP: usize = 1024;

impl<P: Carried> FlowQueues<P> {
    pub fn new(config: FqCodel) -> Self {
        let FqCodel { target, interval, quantum, ecn } = config;
        Self {
            index: HashMap::default(),
            flows: Vec::new(),
            free: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            config: Codel { target, interval, ecn },
            quantum: i64::try_from(quantum.as_u64()).unwrap_or(i64::MAX),
            max_packet: 0,
            packets: 0,
            bytes: 0,
            sweep_at: SWEEP,
        }
    }

    /// Packets that wait.
    pub fn len(&self) -> u64 {
        self.packets
    }

    /// Their bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes a packet; where there is no room, the flow with the most bytes loses packets at its head (section 4.1).
    pub fn enqueue(&mut self, now: Instant, packet: Waiting<P>, room: &Room, dropped: &mut Dropped<P>) {
        let flow = self.flow_of(now, packet.packet.flow());
        self.max_packet = self.max_packet.max(packet.bytes.into());
        self.packets += 1;
        self.bytes += u64::from(packet.bytes);
        self.flows[flow].queue.push(packet);
        if !self.flows[flow].active {
            self.flows[flow].active = true;
            self.flows[flow].deficit = self.quantum;
            self.new.push_back(flow);
        }
        while !room.holds(self.packets, self.bytes) {
            let Some(packet) = self.drop_from_fattest() else { return };
            dropped.push((packet, Fate::QueueFull { limit: room.limit }));
        }
    }

    /// The next packet to send (section 4.2).
    pub fn dequeue(&mut self, now: Instant, dropped: &mut Dropped<P>) -> Option<Waiting<P>> {
        loop {
            let is_new = !self.new.is_empty();
            let list = if is_new { &mut self.new } else { &mut self.old };
            let flow = *list.front()?;
            let one = &mut self.flows[flow];
            if one.deficit <= 0 {
                one.deficit = one.deficit.saturating_add(self.quantum);
                list.pop_front();
                self.old.push_back(flow);
                continue;
            }
            let control =
                Control { config: &self.config, algorithm: Algorithm::FqCodel, max_packet: self.max_packet };
            let before = dropped.len();
            let packet = one.state.dequeue(&mut one.queue, now, &control, dropped);
            for gone in dropped[before..].iter().map(|d| &d.0).chain(&packet) {
                self.packets -= 1;
                self.bytes -= u64::from(gone.bytes);
            }
            if let Some(packet) = packet {
                one.deficit -= i64::from(packet.bytes);
                return Some(packet);
            }
            list.pop_front();
            if is_new {
                // It waits for a turn like the others, so that none comes back as new at once.
                self.old.push_back(flow);
            } else {
                one.active = false;
            }
        }
    }

    /// The place of a flow.
    fn flow_of(&mut self, now: Instant, key: FlowKey) -> usize {
        if let Some(flow) = self.index.get(&key) {
            return *flow;
        }
        if self.index.len() >= self.sweep_at {
            self.sweep(now);
        }
        let new = Flow { queue: Fifo::default(), state: State::default(), deficit: 0, active: false };
        let place = if let Some(place) = self.free.pop() {
            self.flows[place] = new;
            place
        } else {
            self.flows.push(new);
            self.flows.len() - 1
        };
        self.index.insert(key, place);
        place
    }

    /// Forgets flows without packets that are like new ones.
    fn sweep(&mut self, now: Instant) {
        let (flows, free, interval) = (&self.flows, &mut self.free, self.config.interval);
        self.index.retain(|_, place| {
            let flow = &flows[*place];
            let keep = flow.active || !flow.state.is_forgotten(now, interval);
            if !keep {
                free.push(*place);
            }
            keep
        });
        // The lowest places first, whatever the order of the table.
        self.free.sort_unstable_by(|a, b| b.cmp(a));
        self.sweep_at = SWEEP.max(self.index.len() * 2);
    }

    /// The packet at the head of the flow with the most bytes; of several such, of the one with the lowest place.
    fn drop_from_fattest(&mut self) -> Option<Waiting<P>> {
        let fattest = self.new.iter().chain(&self.old).copied();
        let fattest = fattest.max_by_key(|flow| (self.flows[*flow].queue.bytes(), usize::MAX - flow))?;
        let packet = self.flows[fattest].queue.pop()?;
        self.packets -= 1;
        self.bytes -= u64::from(packet.bytes);
        Some(packet)
    }
}
