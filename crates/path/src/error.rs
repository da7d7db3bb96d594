//! What can be wrong with a path.

use rexmit_units::{Duration, LineRate};

use crate::spec::{Aqm, Change, DelayRule, DirectionSpec, ETHERNET, EmulatorKind, PathSpec, ShaperKind};

/// The smallest queue in bytes: the smallest MTU, so that any link's packets could pass.
const SMALLEST_QUEUE: u64 = 68;

/// What is wrong with a direction: one line that names the key and what is allowed. A key is the direction's in a
/// scenario, such as `path.down`, where nothing else is said.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// A shaper with ticks needs time between them.
    #[error("{0}.tick: allowed: a duration above zero, such as \"1 ms\"")]
    NoTick(String),
    /// Dummynet delays by its own rule.
    #[error(
        "{0}.delay_rule: {1} does not fit the shaper dummynet, whose own ticks cut the delay: leave one out"
    )]
    DelayOfDummynet(String, &'static str),
    /// The first tick comes before one whole tick has passed.
    #[error("{key}: the phase {phase} of its tick must be shorter than the tick {tick}")]
    Phase {
        /// Of the direction.
        key: String,
        /// As given.
        phase: Duration,
        /// As given.
        tick: Duration,
    },
    /// A shaper that limits nothing.
    #[error("{key}.rate: the shaper {shaper} needs one, such as \"1 Mbit/s\"")]
    NoRate {
        /// Of the direction.
        key: String,
        /// The shaper.
        shaper: &'static str,
    },
    /// A bucket where there is none.
    #[error("{0}.burst: only the shaper tbf has a bucket; leave it out")]
    NoBucket(String),
    /// A bucket that no packet fits into.
    #[error("{key}.burst: no packet fits in; allowed: at least {least} bytes")]
    SmallBucket {
        /// Of the direction.
        key: String,
        /// The smallest MTU with its overhead.
        least: u64,
    },
    /// A bucket that packets of a host do not fit into.
    #[error(
        "{key}.burst: packets of {mtu} bytes (the sender's MTU) with {overhead} of overhead do not fit into {burst} \
         bytes; allowed: at least {} bytes",
        mtu + overhead
    )]
    LongPackets {
        /// Of the direction.
        key: String,
        /// Of the sender, bytes.
        mtu: u64,
        /// Bytes.
        overhead: u64,
        /// Bytes.
        burst: u64,
    },
    /// Queue management where there is none.
    #[error("{0}.aqm: the shaper dummynet has a plain queue; allowed: the shapers exact, tbf and cisco")]
    NoAqm(String),
    /// A parameter of queue management.
    #[error("{key}.aqm.{parameter}: {allowed}")]
    Aqm {
        /// Of the direction.
        key: String,
        /// Which one.
        parameter: &'static str,
        /// What may stand there.
        allowed: &'static str,
    },
    /// A change without a moment or with several.
    #[error("{key}.changes.{index}: allowed: exactly one of at, packet and when")]
    ChangeMoment {
        /// Of the direction.
        key: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A change of nothing.
    #[error("{key}.changes.{index}: nothing changes; allowed: rate, delay or both")]
    ChangeOfNothing {
        /// Of the direction.
        key: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A change at packet 0.
    #[error("{key}.changes.{index}: packet = 0: allowed: at least 1, the first packet")]
    ChangeAtZero {
        /// Of the direction.
        key: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// An outage where the shaper's original knows none.
    #[error("{key}.changes.{index}.rate: 0 bit/s: {why}; an outage is for the shapers exact and cisco")]
    OutageOfShaper {
        /// Of the direction.
        key: String,
        /// Number of the change, from 0.
        index: usize,
        /// What the original does.
        why: &'static str,
    },
    /// An outage, and a change of the rate that comes with a packet.
    #[error(
        "{key}.changes.{index}: this direction has an outage (0 bit/s), where a packet that waits may bring no change of \
         the rate: write at = \"5 s\" instead of packet or when"
    )]
    OutageByPacket {
        /// Of the direction.
        key: String,
        /// Number of the change, from 0.
        index: usize,
    },
    /// A queueing discipline of Linux without Linux.
    #[error("{0}.qdisc: a discipline of the Linux kernel goes with {path}.emulator = \"netem\"", path = path_of(.0))]
    QdiscOfOthers(String),
    /// A queueing discipline of Linux that would count otherwise than Linux does.
    #[error(
        "{key}.overhead: {overhead} bytes; a discipline of the Linux kernel counts the 14 of Ethernet with each \
         packet: leave it out, or write \"14 bytes\""
    )]
    QdiscOverhead {
        /// Of the direction.
        key: String,
        /// As given, bytes.
        overhead: u64,
    },
    /// A queue in time without a rate.
    #[error("{0}.queue: a queue in time needs a rate that fills it, such as {path}.rate = \"10 Mbit/s\"", path = path_of(.0))]
    QueueWithoutRate(String),
    /// A queue that no packet fits into.
    #[error(
        "{0}.queue: no packet fits in; allowed: at least 1 packet or {SMALLEST_QUEUE} bytes, the smallest MTU"
    )]
    NoQueue(String),
}

/// The key of the path that a direction is of.
fn path_of(key: &str) -> &str {
    key.split_once('.').map_or(key, |(path, _)| path)
}

impl PathError {
    /// Checks what the types of `spec` allow and a path does not; `key` is the direction's, such as `path.down`.
    pub(crate) fn check(spec: &DirectionSpec, key: &str, phase: Duration) -> Result<(), Self> {
        use rexmit_units::QueueLimit::{Bytes, Packets};
        if spec.has_ticks() {
            if spec.tick.is_zero() {
                return Err(Self::NoTick(key.into()));
            }
            if phase >= spec.tick {
                return Err(Self::Phase { key: key.into(), phase, tick: spec.tick });
            }
        }
        if spec.delay_rule != DelayRule::Exact && spec.shaper == ShaperKind::Dummynet {
            return Err(Self::DelayOfDummynet(key.into(), spec.delay_rule.name()));
        }
        if let Some((parameter, allowed)) = spec.aqm.fault() {
            return Err(Self::Aqm { key: key.into(), parameter, allowed });
        }
        if spec.aqm != Aqm::None && spec.shaper == ShaperKind::Dummynet {
            return Err(Self::NoAqm(key.into()));
        }
        let least = SMALLEST_QUEUE + spec.overhead.as_u64();
        match (spec.shaper, spec.rate, spec.burst) {
            (shaper @ (ShaperKind::Tbf | ShaperKind::Cisco), None, _) => {
                return Err(Self::NoRate { key: key.into(), shaper: shaper.name() });
            }
            (ShaperKind::Tbf, _, Some(burst)) if burst.as_u64() < least => {
                return Err(Self::SmallBucket { key: key.into(), least });
            }
            (ShaperKind::Tbf, ..) | (_, _, None) => {}
            (_, _, Some(_)) => return Err(Self::NoBucket(key.into())),
        }
        if spec.queue.limit(spec.rate).is_none() {
            return Err(Self::QueueWithoutRate(key.into()));
        }
        if matches!(spec.queue_limit(), Packets(0) | Bytes(..SMALLEST_QUEUE)) {
            return Err(Self::NoQueue(key.into()));
        }
        let changes = spec.impairments.changes.iter().enumerate();
        changes.into_iter().try_for_each(|(index, change)| Self::check_change(change, key, index))?;
        if spec.has_outage() { Self::check_outages(spec, key) } else { Ok(()) }
    }

    fn check_outages(spec: &DirectionSpec, key: &str) -> Result<(), Self> {
        let why = match spec.shaper {
            ShaperKind::Exact | ShaperKind::Cisco => None,
            ShaperKind::Dummynet => Some("dummynet takes it as no limit (EM-DN-7)"),
            ShaperKind::Tbf => Some("tbf cannot be given it (EM-TB-11)"),
        };
        for (index, change) in spec.impairments.changes.iter().enumerate() {
            let key = key.to_owned();
            match (change.rate, why) {
                (Some(LineRate::Outage), Some(why)) => {
                    return Err(Self::OutageOfShaper { key, index, why });
                }
                (Some(_), _) if change.at.is_none() => return Err(Self::OutageByPacket { key, index }),
                _ => {}
            }
        }
        Ok(())
    }

    fn check_change(change: &Change, key: &str, index: usize) -> Result<(), Self> {
        let key = key.to_owned();
        let moments = [change.at.is_some(), change.packet.is_some(), change.when.is_some()];
        match change {
            Change { rate: None, delay: None, .. } => Err(Self::ChangeOfNothing { key, index }),
            Change { packet: Some(0), .. } => Err(Self::ChangeAtZero { key, index }),
            _ if moments.iter().filter(|m| **m).count() == 1 => Ok(()),
            _ => Err(Self::ChangeMoment { key, index }),
        }
    }
}

impl PathSpec {
    /// Checks what the types allow and a path does not, for both directions; with the MTUs (bytes) of the hosts that send
    /// into `down` and `up`, where they are known, also that their packets can pass. `key` is the path's in a scenario,
    /// such as `path`.
    ///
    /// # Errors
    /// Names the key and what is allowed.
    pub fn check(&self, key: &str, mtu: Option<[u64; 2]>) -> Result<(), PathError> {
        let directions = self.directions(key);
        if self.burst.is_some() && directions.iter().all(|d| d.0.shaper != ShaperKind::Tbf) {
            return Err(PathError::NoBucket(key.into()));
        }
        for (n, (spec, key)) in directions.iter().enumerate() {
            PathError::check(spec, key, Duration::ZERO)?;
            if spec.qdisc.is_some() && self.emulator != Some(EmulatorKind::Netem) {
                return Err(PathError::QdiscOfOthers(key.clone()));
            }
            if spec.qdisc.is_some() && spec.overhead != ETHERNET {
                return Err(PathError::QdiscOverhead { key: key.clone(), overhead: spec.overhead.as_u64() });
            }
            let (Some(mtu), Some(burst)) = (mtu.map(|mtu| mtu[n]), spec.burst) else { continue };
            let (overhead, burst) = (spec.overhead.as_u64(), burst.as_u64());
            if mtu + overhead > burst {
                return Err(PathError::LongPackets { key: key.clone(), mtu, overhead, burst });
            }
        }
        Ok(())
    }
}
