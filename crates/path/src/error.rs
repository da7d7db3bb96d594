//! What can be wrong with a path.

use rexmit_units::{Duration, LineRate};

use crate::spec::{
    Aqm, Change, DelayRule, DirectionSpec, ETHERNET, EmulatorKind, PathSpec, ShaperKind, Trace,
};
use crate::trace::{TraceFile, TraceFormat};

/// The smallest queue in bytes: the smallest MTU, so that any link's packets could pass.
const SMALLEST_QUEUE: u64 = 68;

/// A trace that begins again takes at least this long, so that a packet does not meet it without end.
const SHORTEST_ROUND: Duration = Duration::from_millis(1);

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
    /// A queueing discipline of Linux that would count differently from Linux.
    #[error(
        "{key}.overhead: {overhead} bytes; a discipline of the Linux kernel counts Ethernet's 14 bytes with each \
         packet: leave it out, or write \"14 bytes\""
    )]
    QdiscOverhead {
        /// Of the direction.
        key: String,
        /// As given, bytes.
        overhead: u64,
    },
    /// A trace that does not fit, or beside something that it does not go with.
    #[error("{key}.{setting}: {what}")]
    Trace {
        /// Of the direction.
        key: String,
        /// Which of its keys.
        setting: &'static str,
        /// What is wrong, and what to write.
        what: String,
    },
    /// A queue in time without a rate.
    #[error("{0}.queue: a queue in time needs a drain rate, such as {path}.rate = \"10 Mbit/s\"", path = path_of(.0))]
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
        let by_trace = spec.trace.as_ref().is_some_and(|trace| trace.key == "rate");
        match (spec.shaper, spec.rate, spec.burst) {
            (shaper @ (ShaperKind::Tbf | ShaperKind::Cisco), None, _) if !by_trace => {
                return Err(Self::NoRate { key: key.into(), shaper: shaper.name() });
            }
            (ShaperKind::Tbf, _, Some(burst)) if burst.as_u64() < least => {
                return Err(Self::SmallBucket { key: key.into(), least });
            }
            (ShaperKind::Tbf, ..) | (_, _, None) => {}
            (_, _, Some(_)) => return Err(Self::NoBucket(key.into())),
        }
        if by_trace && spec.queue.limit(None).is_none() {
            let what = "a queue in time needs one rate, and a trace has many: write such as \"100 packets\" or \"64 KiB\"";
            return Err(Self::Trace { key: key.into(), setting: "queue", what: what.into() });
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

    /// Checks that a trace fits the direction, and returns it where the direction follows one.
    pub(crate) fn check_trace<'a>(
        spec: &DirectionSpec,
        key: &str,
        trace: Option<&'a TraceFile>,
    ) -> Result<Option<&'a TraceFile>, Self> {
        let Some(followed) = &spec.trace else { return Ok(None) };
        let setting = followed.key;
        let wrong = |setting, what: String| Err(Self::Trace { key: key.into(), setting, what });
        let Some(trace) = trace else {
            return wrong(setting, format!("the trace {} has not been opened", followed.trace.trace.file));
        };
        let (name, about) = (trace.name(), trace.about());
        let changes = &spec.impairments.changes;
        let (listed, rates) = (!changes.is_empty(), changes.iter().any(|change| change.rate.is_some()));
        let stops = about.rate.is_some_and(|rate| rate.least == 0);
        let why = spec.shaper.why_no_outage();
        match (about.format, setting) {
            (TraceFormat::Mahimahi, "changes") => wrong(
                setting,
                format!(
                    "{name} has mahimahi's lines, opportunities to send: write {key}.rate = {{ trace = ... }}"
                ),
            ),
            (TraceFormat::Mahimahi, _) if spec.shaper != ShaperKind::Exact => wrong(
                "shaper",
                format!("{}: the lines of {name} say when packets leave: leave it out", spec.shaper.name()),
            ),
            (TraceFormat::Mahimahi, _) if rates => wrong(
                "changes",
                format!("the lines of {name} say when packets leave: leave the changes of the rate out"),
            ),
            (TraceFormat::Mahimahi, _) => Ok(Some(trace)),
            (TraceFormat::Csv, _) if listed => wrong(
                "changes",
                format!("{name} says what changes: leave them out, or write them into its rows"),
            ),
            (TraceFormat::Csv, "rate") if about.rate.is_none() => wrong(
                setting,
                format!("{name} has no column rate: add one, or write {key}.changes = {{ trace = ... }}"),
            ),
            (TraceFormat::Csv, "rate") if !about.first.is_zero() => {
                wrong(setting, format!("{name} begins at {}: add a row for the time 0", about.first))
            }
            (TraceFormat::Csv, _) if about.loss.is_some() && spec.impairments.loss.is_some() => {
                wrong("loss", format!("{name} has a column of its own for it: leave one of them out"))
            }
            (TraceFormat::Csv, _) if about.last < SHORTEST_ROUND && followed.trace.repeats(about.format) => {
                wrong(
                    setting,
                    format!(
                        "{name} ends at {}, too soon to begin again: its last row must be at {SHORTEST_ROUND} at least, or \
                     leave repeat out",
                        about.last
                    ),
                )
            }
            (TraceFormat::Csv, _)
                if about.most_in_round == Some(0) && followed.trace.repeats(about.format) =>
            {
                wrong(
                    setting,
                    format!(
                        "{name} has a rate of 0 in every row but the last, whose time is the end of a round: no packet would \
                         ever pass; write a rate above 0 before it, or leave repeat out"
                    ),
                )
            }
            (TraceFormat::Csv, _) if stops && why.is_some() => wrong(
                setting,
                format!(
                    "{name} has a rate of 0 bit/s: {}; an outage is for the shapers exact and cisco",
                    why.unwrap_or_default()
                ),
            ),
            (TraceFormat::Csv, _) => Ok(Some(trace)),
        }
    }

    fn check_outages(spec: &DirectionSpec, key: &str) -> Result<(), Self> {
        let why = spec.shaper.why_no_outage();
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
    /// Checks that the traces which its directions follow fit; `open` opens one. `key` is the path's in a scenario.
    ///
    /// # Errors
    /// Names the key, the trace, and what to write.
    pub fn check_traces(
        &self,
        key: &str,
        open: &mut dyn FnMut(&Trace) -> Result<TraceFile, String>,
    ) -> Result<(), PathError> {
        for (spec, key) in self.directions(key) {
            let Some(followed) = &spec.trace else { continue };
            let wrong = |what| PathError::Trace { key: key.clone(), setting: followed.key, what };
            let trace = open(&followed.trace).map_err(wrong)?;
            PathError::check_trace(&spec, &key, Some(&trace))?;
        }
        Ok(())
    }

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
        for own in [&self.down, &self.up] {
            if self.followed(own).nth(1).is_some() {
                let what = "a link follows one trace: leave this one or that of the rate out";
                return Err(PathError::Trace { key: key.into(), setting: "changes", what: what.into() });
            }
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
