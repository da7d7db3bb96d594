//! RED, whose kernel is told logarithms and a table: of the weight of its average, of what idle time does to that.

use super::options::KernelOptions;
use super::words::Words;

const OPTIONS: [&str; 12] = [
    "limit",
    "min",
    "max",
    "avpkt",
    "burst",
    "probability",
    "bandwidth",
    "ecn",
    "harddrop",
    "nodrop",
    "adaptive",
    "adaptative",
];

/// The bits of its flags, which SFQ has as well.
pub const ECN: u32 = 1;
/// As [`ECN`].
pub const HARD_DROP: u32 = 2;
const ADAPTIVE: u32 = 4;
const NO_DROP: u32 = 8;

/// What a sender that is marked or dropped by its average is set by; bytes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Thresholds {
    /// No packet is lost below it.
    pub min: u32,
    /// From here on all are.
    pub max: u32,
    /// Packets of a burst that is let through.
    pub burst: u32,
    /// Bytes of a packet.
    pub average: u32,
}

/// The options of `red`.
pub fn read(mut words: Words<'_>) -> Result<KernelOptions, String> {
    let (mut limit, mut bandwidth, mut flags) = (0, DEFAULT_BANDWIDTH, 0);
    let (mut probability, mut given) = (DEFAULT_PROBABILITY, Thresholds::default());
    while let Some(option) = words.option() {
        match option {
            "limit" => limit = words.size(1)?,
            "min" => given.min = words.size(1)?,
            "max" => given.max = words.size(1)?,
            "avpkt" => given.average = words.size(1)?,
            "burst" => given.burst = words.number(1, u32::MAX)?,
            "probability" => probability = words.probability()?,
            "bandwidth" => bandwidth = words.rate(1)?,
            "ecn" => flags |= ECN,
            "harddrop" => flags |= HARD_DROP,
            "nodrop" => flags |= NO_DROP,
            "adaptive" | "adaptative" => flags |= ADAPTIVE,
            _ => return Err(words.unknown(OPTIONS)),
        }
    }
    if limit == 0 || given.average == 0 {
        return Err("red: it needs limit and avpkt, such as \"red limit 60000 avpkt 1000\"".into());
    }
    let thresholds = given.completed(limit);
    let [weight, probability_log] = thresholds.logarithms(probability).map_err(|e| format!("red: {e}"))?;
    let (cell, table) = idle_damping(weight, thresholds.average, bandwidth).ok_or_else(|| {
        format!("red: idle time cannot be told of burst {} and this bandwidth", thresholds.burst)
    })?;
    let mut options = KernelOptions::default();
    let mut parameters: Vec<u8> =
        [limit, thresholds.min, thresholds.max].iter().flat_map(|number| number.to_ne_bytes()).collect();
    parameters.extend([weight, probability_log, cell, 0]);
    options.add(PARAMETERS, &parameters);
    options.add(TABLE, &table);
    options.add_number(PROBABILITY, of_two_to_the_32nd(probability));
    let flags: Vec<u8> =
        [flags, ECN | HARD_DROP | ADAPTIVE | NO_DROP].iter().flat_map(|n| n.to_ne_bytes()).collect();
    options.add(FLAGS, &flags);
    Ok(options)
}

impl Thresholds {
    /// With defaults for what is 0, for a queue of at most `limit` bytes: tc-red(8), after S. Floyd's "RED: Discussions of
    /// Setting Parameters", 1997.
    pub fn completed(mut self, limit: u32) -> Self {
        if self.max == 0 {
            self.max = if self.min == 0 { limit / 4 } else { self.min.saturating_mul(3) };
        }
        if self.min == 0 {
            self.min = self.max / 3;
        }
        if self.burst == 0 {
            let both = 2 * u64::from(self.min) + u64::from(self.max);
            self.burst = (both / (3 * u64::from(self.average))) as u32;
        }
        self
    }

    /// The logarithms of two that the kernel is told: of the average's weight, and of the probability for each byte from
    /// `min` to `max`.
    pub fn logarithms(&self, probability: f64) -> Result<[u8; 2], String> {
        if self.min > self.max {
            return Err(format!("min {} is more than max {}", self.min, self.max));
        }
        let room = f64::from(self.burst) + 1.0 - f64::from(self.min) / f64::from(self.average);
        if room < 1.0 {
            let least = 1 + self.min / self.average;
            return Err(format!(
                "burst {} is too small for min {}; write at least {least}",
                self.burst, self.min
            ));
        }
        // The least weight with which a burst that meets an empty queue lifts the average to `min` at the most.
        let fits = |log: &i32| {
            let weight = libm::pow(0.5, f64::from(*log));
            room <= (1.0 - libm::pow(1.0 - weight, self.burst.into())) / weight
        };
        let weight = (1..32).find(fits).ok_or_else(|| format!("burst {} is too large", self.burst))?;
        let log = match self.max - self.min {
            0 => Some(0),
            between => {
                let each = probability / f64::from(between);
                (0..32).find(|log| each * libm::pow(2.0, f64::from(*log)) > 1.0)
            }
        };
        let log = log.ok_or_else(|| format!("probability {probability} is too small"))?;
        Ok([weight as u8, log as u8])
    }
}

/// A probability as the kernel has it in 32 bits.
pub fn of_two_to_the_32nd(probability: f64) -> u32 {
    (probability * 4_294_967_296.0) as u32
}

/// By how much the average falls while nothing comes: for times in cells of this many ticks (a logarithm of two) the
/// exponent by which it is divided.
fn idle_damping(weight: u8, average: u32, bandwidth: u64) -> Option<(u8, [u8; 256])> {
    let packet = libm::ceil(f64::from(average) / bandwidth as f64 * 1e6 * TICKS_IN_MICROSECOND);
    let each = -libm::log(1.0 - libm::pow(0.5, weight.into())) / packet.min(f64::from(u32::MAX));
    let cell = (0_u8..32).find(|cell| MOST / each / libm::pow(2.0, (*cell).into()) < 512.0)?;
    let mut table = [0; 256];
    for (at, damped) in (0..).zip(&mut table) {
        *damped = (f64::from(at) * libm::pow(2.0, cell.into()) * each).min(MOST) as u8;
    }
    table[255] = MOST as u8;
    Some((cell, table))
}

/// The largest exponent.
const MOST: f64 = 31.0;
/// Ticks of 64 ns, in which the kernel's disciplines are told times [Linux 6.1 include/net/pkt_sched.h, PSCHED_SHIFT].
const TICKS_IN_MICROSECOND: f64 = 15.625;
/// Bytes a second.
const DEFAULT_BANDWIDTH: u64 = 10_000_000 / 8;
/// What it is without a word.
pub const DEFAULT_PROBABILITY: f64 = 0.02;
/// Attributes [Linux 6.1 include/uapi/linux/pkt_sched.h].
const PARAMETERS: u16 = 1;
const TABLE: u16 = 2;
const PROBABILITY: u16 = 3;
const FLAGS: u16 = 4;
