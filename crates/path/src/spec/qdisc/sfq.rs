//! SFQ, whose kernel is told one structure; with RED in each of its queues.

use super::options::KernelOptions;
use super::red::{DEFAULT_PROBABILITY, ECN, HARD_DROP, Thresholds, of_two_to_the_32nd};
use super::words::Words;

const OPTIONS: [&str; 15] = [
    "divisor",
    "limit",
    "perturb",
    "quantum",
    "flows",
    "depth",
    "headdrop",
    "redflowlimit",
    "min",
    "max",
    "avpkt",
    "burst",
    "probability",
    "ecn",
    "harddrop",
];

/// The options of `sfq`.
pub fn read(mut words: Words<'_>) -> Result<KernelOptions, String> {
    let mut sfq = Sfq { given: Thresholds { average: 1000, ..Thresholds::default() }, ..Sfq::default() };
    let (mut any, mut red) = (false, false);
    while let Some(option) = words.option() {
        any = true;
        match option {
            "divisor" => sfq.divisor = words.number(1, 65_536)?,
            "limit" => sfq.limit = words.number(2, u32::MAX)?,
            "perturb" => sfq.perturb = words.number(0, i32::MAX as u32)?,
            "quantum" => sfq.quantum = words.size(1)?,
            "flows" => sfq.flows = words.number(1, u32::MAX)?,
            "depth" => sfq.depth = words.number(1, u32::MAX)?,
            "headdrop" => sfq.head_drop = true,
            _ => {
                red = true;
                sfq.red(option, &mut words)?;
            }
        }
    }
    if red && sfq.flow_limit == 0 {
        return Err("sfq: its options of RED need redflowlimit, such as \"redflowlimit 40000\"".into());
    }
    if any { sfq.told() } else { Ok(KernelOptions::default()) }
}

/// What is set; what is 0 is the kernel's to choose.
#[derive(Default)]
struct Sfq {
    quantum: u32,
    perturb: u32,
    limit: u32,
    divisor: u32,
    flows: u32,
    depth: u32,
    head_drop: bool,
    flow_limit: u32,
    given: Thresholds,
    probability: Option<f64>,
    flags: u32,
}

impl Sfq {
    /// Reads an option of RED.
    fn red(&mut self, option: &str, words: &mut Words<'_>) -> Result<(), String> {
        let given = &mut self.given;
        match option {
            "redflowlimit" => self.flow_limit = words.number(1, u32::MAX)?,
            "min" => given.min = words.number(1, u32::MAX)?,
            "max" => given.max = words.number(1, u32::MAX)?,
            "avpkt" => given.average = words.size(1)?,
            "burst" => given.burst = words.number(1, u32::MAX)?,
            "probability" => self.probability = Some(words.probability()?),
            "ecn" => self.flags |= ECN,
            "harddrop" => self.flags |= HARD_DROP,
            _ => return Err(words.unknown(OPTIONS)),
        }
        Ok(())
    }

    /// `struct tc_sfq_qopt_v1` [Linux 6.1 include/uapi/linux/pkt_sched.h].
    fn told(&self) -> Result<KernelOptions, String> {
        let (mut red, mut logarithms, mut most) = (Thresholds::default(), [0; 2], 0);
        if self.flow_limit > 0 {
            red = self.given;
            // Unlike RED's own, this one is not three times `min`.
            if red.max == 0 {
                red.max = self.flow_limit / 4;
            }
            red = red.completed(self.flow_limit);
            if red.max > self.flow_limit || red.min >= red.max {
                return Err(format!(
                    "sfq: min {}, max {} and redflowlimit {} are not in this order",
                    red.min, red.max, self.flow_limit
                ));
            }
            let probability = self.probability.unwrap_or(DEFAULT_PROBABILITY);
            logarithms = red.logarithms(probability).map_err(|e| format!("sfq: {e}"))?;
            most = of_two_to_the_32nd(probability);
        }
        let [weight, log] = logarithms;
        let bytes = u32::from_ne_bytes([weight, log, 0, self.flags as u8]);
        let own = [self.quantum, self.perturb, self.limit, self.divisor, self.flows, self.depth];
        let rest = [self.head_drop.into(), self.flow_limit, red.min, red.max, bytes, most];
        // What it counts follows, which nobody tells it.
        Ok(KernelOptions::of_numbers(&[&own[..], &rest, &[0; 6]].concat()))
    }
}
