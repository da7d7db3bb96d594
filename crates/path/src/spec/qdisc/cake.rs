//! CAKE: words that stand for a mode, a round trip, or what a kind of link adds to a packet.

use std::collections::BTreeMap;

use super::options::KernelOptions;
use super::words::Words;

/// The options of `cake`. Those of links add up, and of others the last counts, as `tc` has it.
pub fn read(mut words: Words<'_>) -> Result<KernelOptions, String> {
    let mut cake = Cake::default();
    while let Some(option) = words.option() {
        if let Some((_, attribute, value)) = MODES.iter().find(|(word, ..)| *word == option) {
            cake.told.insert(*attribute, *value);
        } else if let Some((_, time)) = ROUND_TRIPS.iter().find(|(word, _)| *word == option) {
            cake.round_trip(*time);
        } else if let Some((_, framing)) = FRAMINGS.iter().find(|(word, _)| *word == option) {
            cake.frame(*framing);
        } else {
            cake.read(option, &mut words)?;
        }
    }
    Ok(cake.told())
}

/// What is told so far.
#[derive(Default)]
struct Cake {
    /// Bytes a second; 0 for no limit.
    bandwidth: Option<u64>,
    overhead: Option<i32>,
    told: BTreeMap<u16, u32>,
}

/// What a kind of link adds: a coding, bytes of each packet, and the least that a packet counts.
#[derive(Clone, Copy)]
struct Framing {
    coding: Option<u32>,
    bytes: i32,
    least: Option<u32>,
}

impl Cake {
    /// Reads an option that is not a word of the lists.
    fn read(&mut self, option: &str, words: &mut Words<'_>) -> Result<(), String> {
        match option {
            "bandwidth" => self.limit(words.rate(1)?),
            "unlimited" => self.limit(0),
            "rtt" => {
                let time = words.time(1)?;
                self.round_trip(time);
            }
            "overhead" => {
                let read = |word: &str| word.parse().ok().filter(|bytes| (-64..=256).contains(bytes));
                self.overhead = Some(words.value(read, ("a whole number from -64 to 256", "18"))?);
            }
            "mpu" => {
                let least = words.number(1, 256)?;
                self.told.insert(MPU, least);
            }
            "memlimit" => {
                let size = words.size(1)?;
                self.told.insert(MEMORY, size);
            }
            "fwmark" => {
                let mask = words.number(1, u32::MAX)?;
                self.told.insert(FWMARK, mask);
            }
            "raw" => {
                self.told.extend([(ATM, NO_CELLS), (RAW, 0)]);
                self.overhead = Some(0);
            }
            "conservative" => {
                self.told.insert(ATM, CELLS);
                self.overhead = Some(48);
            }
            // CAKE knows by itself what an interface's packets hold.
            "via-ethernet" => {}
            _ => {
                let modes = MODES.iter().map(|(word, ..)| *word);
                let times = ROUND_TRIPS.iter().map(|(word, _)| *word);
                let framings = FRAMINGS.iter().map(|(word, _)| *word);
                return Err(words.unknown(OTHERS.into_iter().chain(modes).chain(times).chain(framings)));
            }
        }
        Ok(())
    }

    fn limit(&mut self, bandwidth: u64) {
        self.bandwidth = Some(bandwidth);
        self.told.insert(AUTORATE, 0);
    }

    /// A round trip, microseconds, of which a twentieth is the target.
    fn round_trip(&mut self, time: u32) {
        self.told.extend([(RTT, time), (TARGET, (time / 20).max(1))]);
    }

    fn frame(&mut self, framing: Framing) {
        self.told.extend(framing.coding.map(|coding| (ATM, coding)));
        self.told.extend(framing.least.map(|least| (MPU, least)));
        *self.overhead.get_or_insert(0) += framing.bytes;
    }

    fn told(self) -> KernelOptions {
        let mut options = KernelOptions::default();
        if let Some(bandwidth) = self.bandwidth {
            options.add(BASE_RATE, &bandwidth.to_ne_bytes());
        }
        if let Some(overhead) = self.overhead {
            options.add(OVERHEAD, &overhead.to_ne_bytes());
        }
        for (attribute, value) in self.told {
            options.add_number(attribute, value);
        }
        options
    }
}

/// Words each of which is a value of an attribute.
const MODES: [(&str, u16, u32); 29] = [
    ("autorate-ingress", AUTORATE, 1),
    ("besteffort", DIFFSERV, 3),
    ("precedence", DIFFSERV, 4),
    ("diffserv8", DIFFSERV, 2),
    ("diffserv4", DIFFSERV, 1),
    ("diffserv", DIFFSERV, 1),
    ("diffserv3", DIFFSERV, 0),
    ("flowblind", FLOWS, 0),
    ("srchost", FLOWS, 1),
    ("dsthost", FLOWS, 2),
    ("hosts", FLOWS, 3),
    ("flows", FLOWS, 4),
    ("dual-srchost", FLOWS, 5),
    ("dual-dsthost", FLOWS, 6),
    ("triple-isolate", FLOWS, 7),
    ("nat", NAT, 1),
    ("nonat", NAT, 0),
    ("wash", WASH, 1),
    ("nowash", WASH, 0),
    ("split-gso", SPLIT_GSO, 1),
    ("no-split-gso", SPLIT_GSO, 0),
    ("ack-filter", ACK_FILTER, 1),
    ("ack-filter-aggressive", ACK_FILTER, 2),
    ("no-ack-filter", ACK_FILTER, 0),
    ("ingress", INGRESS, 1),
    ("egress", INGRESS, 0),
    ("noatm", ATM, NO_CELLS),
    ("atm", ATM, CELLS),
    ("ptm", ATM, PTM),
];

/// Words for a round trip, microseconds (tc-cake(8)).
const ROUND_TRIPS: [(&str, u32); 8] = [
    ("datacentre", 100),
    ("lan", 1_000),
    ("metro", 10_000),
    ("regional", 30_000),
    ("internet", 100_000),
    ("oceanic", 300_000),
    ("satellite", 1_000_000),
    ("interplanetary", 1_000_000_000),
];

/// Words for a kind of link (tc-cake(8)).
const FRAMINGS: [(&str, Framing); 13] = [
    ("ipoa-vcmux", cells(8)),
    ("ipoa-llcsnap", cells(16)),
    ("bridged-vcmux", cells(24)),
    ("bridged-llcsnap", cells(32)),
    ("pppoa-vcmux", cells(10)),
    ("pppoa-llc", cells(14)),
    ("pppoe-vcmux", cells(32)),
    ("pppoe-llcsnap", cells(40)),
    ("pppoe-ptm", Framing { coding: Some(PTM), bytes: 30, least: None }),
    ("bridged-ptm", Framing { coding: Some(PTM), bytes: 22, least: None }),
    ("ethernet", Framing { coding: None, bytes: 38, least: Some(84) }),
    ("ether-vlan", Framing { coding: None, bytes: 4, least: None }),
    ("docsis", Framing { coding: Some(NO_CELLS), bytes: 18, least: Some(64) }),
];

const fn cells(bytes: i32) -> Framing {
    Framing { coding: Some(CELLS), bytes, least: None }
}

/// Words that are in none of the lists.
const OTHERS: [&str; 10] = [
    "bandwidth",
    "unlimited",
    "rtt",
    "overhead",
    "mpu",
    "memlimit",
    "fwmark",
    "raw",
    "conservative",
    "via-ethernet",
];

/// Attributes, and values of one [Linux 6.1 include/uapi/linux/pkt_sched.h].
const BASE_RATE: u16 = 2;
const DIFFSERV: u16 = 3;
const ATM: u16 = 4;
const FLOWS: u16 = 5;
const OVERHEAD: u16 = 6;
const RTT: u16 = 7;
const TARGET: u16 = 8;
const AUTORATE: u16 = 9;
const MEMORY: u16 = 10;
const NAT: u16 = 11;
const RAW: u16 = 12;
const WASH: u16 = 13;
const MPU: u16 = 14;
const INGRESS: u16 = 15;
const ACK_FILTER: u16 = 16;
const SPLIT_GSO: u16 = 17;
const FWMARK: u16 = 18;
const NO_CELLS: u32 = 0;
const CELLS: u32 = 1;
const PTM: u32 = 2;
