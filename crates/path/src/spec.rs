//! What a path is, as a study writes it. The JSON Schema and the reference come from these types.

use rexmit_units::{Bytes, Duration, LineRate, QueueLimit, QueueSize, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Pattern;

mod aqm;
mod delay;
mod effects;
mod impairments;
mod qdisc;
mod random;
mod settings;
mod trace;

pub use aqm::{Algorithm, Aqm, Codel, FqCodel, Pie, Red};
pub use delay::DelayRule;
pub use effects::{Hold, Reorder};
pub use impairments::{Change, Impairments};
pub use qdisc::{KernelOptions, Qdisc};
pub use random::{GilbertElliott, Jitter, LossModel, Spread};
pub use trace::{Changes, Followed, PathRate, Trace, TraceName};

use settings::settings_table;

settings_table! {
    /// The path between two hosts. What stands here holds for both directions, each of which counts its own packets and
    /// has its own random numbers; `down` and `up` override it.
    ///
    /// Stages, in order: the sender's link, impairments, the queue, the shaper, the propagation delay, the receiver's
    /// link. A packet that is still propagating takes no place in the queue.
    pub struct PathSpec {
        before {
            /// Whose emulator it is. Default: `rexmit`, the same for every backend.
            #[serde(skip_serializing_if = "Option::is_none")]
            pub emulator: Option<EmulatorKind>,
        }
        after {
            /// From server to client.
            #[serde(skip_serializing_if = "DirectionOverride::is_empty")]
            pub down: DirectionOverride,
            /// From client to server.
            #[serde(skip_serializing_if = "DirectionOverride::is_empty")]
            pub up: DirectionOverride,
        }
    }
}

settings_table! {
    /// One direction of a path: what differs from what the path says for both.
    pub struct DirectionOverride {
        before {}
        after {}
    }
}

/// Whose emulator a path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmulatorKind {
    /// This one.
    #[default]
    Rexmit,
    /// The Linux kernel's own: for the backends `uml` and `kernel` only, and for rate, delay, queue in packets and
    /// independent loss only. Without `qdisc`, netem does all of that, and its queue holds propagating packets as
    /// well. With `qdisc`, netem delays packets first, then this discipline queues them before a bottleneck (tbf, or
    /// cake itself) that counts the 14 bytes of Ethernet with each packet, which is what `overhead` is then.
    Netem,
}

/// How a bottleneck sends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ShaperKind {
    /// Bit after bit; a packet leaves when its last bit has left, exact to the nanosecond.
    #[default]
    Exact,
    /// As FreeBSD's dummynet of 2005: packets leave at ticks, the delay is cut to whole ticks.
    Dummynet,
    /// As Linux's token bucket filter of 2.6.9: a packet leaves when the tokens of `burst` cover it; else the kernel
    /// looks again after whole jiffies of `tick`, or when another packet comes.
    Tbf,
    /// As a router's average-rate shaper (Cisco IOS 12.4): each Tc (`tick`) brings credit of rate x Tc; packets leave
    /// at once while it covers them, at the rate of `link`.
    Cisco,
}

/// One direction, with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct DirectionSpec {
    /// Rate of the bottleneck; `None` for no limit, or where a trace says it.
    pub rate: Option<Rate>,
    /// The trace that it follows.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<Followed>,
    /// Rate of the links before and behind the bottleneck; `None` for none.
    pub link: Option<Rate>,
    /// Bytes of the link layer besides each IP packet.
    pub overhead: Bytes,
    /// Whether the study says so; a trace may have another default.
    #[serde(skip)]
    pub has_own_overhead: bool,
    /// Propagation delay.
    pub delay: Duration,
    /// How it is kept.
    pub delay_rule: DelayRule,
    /// What the queue holds.
    pub queue: QueueSize,
    /// Who is dropped or marked before that.
    pub aqm: Aqm,
    /// How the bottleneck sends.
    pub shaper: ShaperKind,
    /// Time between ticks.
    pub tick: Duration,
    /// The Linux kernel's queueing discipline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<Qdisc>,
    /// What a token bucket holds; `None` where the shaper has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// What happens to packets.
    #[serde(flatten)]
    pub impairments: Impairments,
}

impl Default for DirectionSpec {
    fn default() -> Self {
        Self {
            rate: None,
            trace: None,
            link: None,
            overhead: Bytes::ZERO,
            has_own_overhead: false,
            delay: Duration::ZERO,
            delay_rule: DelayRule::Exact,
            queue: DEFAULT_QUEUE,
            aqm: Aqm::None,
            shaper: ShaperKind::default(),
            tick: default_tick(ShaperKind::Exact, DelayRule::Exact),
            burst: None,
            qdisc: None,
            impairments: Impairments::default(),
        }
    }
}

/// What Linux counts with each packet before an Ethernet interface.
pub(crate) const ETHERNET: Bytes = Bytes(14);
/// As netem and Linux devices have it.
const DEFAULT_QUEUE: QueueSize = QueueSize::Limit(QueueLimit::Packets(1000));
/// A full Ethernet frame and a little (EM-TB-4).
const DEFAULT_BURST: Bytes = Bytes(1600);

impl ShaperKind {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Dummynet => "dummynet",
            Self::Tbf => "tbf",
            Self::Cisco => "cisco",
        }
    }

    /// Why it has no outages; `None` where it has.
    pub(crate) fn why_no_outage(self) -> Option<&'static str> {
        match self {
            Self::Exact | Self::Cisco => None,
            Self::Dummynet => Some("dummynet takes it as no limit (EM-DN-7)"),
            Self::Tbf => Some("tbf cannot be given it (EM-TB-11)"),
        }
    }

    /// True where each direction is a machine of its own, whose ticks have a phase of their own.
    pub fn has_ticks_for_each_direction(self) -> bool {
        self == Self::Cisco
    }
}

/// FreeBSD 6 and Linux 2.6.9 with HZ = 1000 (EM-DN-1, EM-TB-1); the Tc of study 001 (EM-CI-1); Linux 2.6.15 with HZ = 250
/// (EM-NE-2).
fn default_tick(shaper: ShaperKind, delay: DelayRule) -> Duration {
    let slow = shaper == ShaperKind::Cisco || (shaper == ShaperKind::Exact && delay == DelayRule::Netem26);
    Duration::from_millis(if slow { 4 } else { 1 })
}

impl DirectionSpec {
    /// What the queue holds, in packets or bytes: for a time, the bytes that the first rate sends in it. Without a
    /// rate, which is refused, none.
    pub fn queue_limit(&self) -> QueueLimit {
        self.queue.limit(self.rate).unwrap_or(QueueLimit::Bytes(0))
    }

    /// True where the bottleneck stops at some time.
    pub(crate) fn has_outage(&self) -> bool {
        self.impairments.changes.iter().any(|change| change.rate == Some(LineRate::Outage))
    }

    /// True where something in it works at ticks.
    pub(crate) fn has_ticks(&self) -> bool {
        self.shaper != ShaperKind::Exact || self.delay_rule != DelayRule::Exact
    }
}

impl PathSpec {
    /// From server to client, with every default filled in.
    pub fn down(&self) -> DirectionSpec {
        self.direction(&self.down)
    }

    /// From client to server, with every default filled in.
    pub fn up(&self) -> DirectionSpec {
        self.direction(&self.up)
    }

    /// The same path with every default written out, for the record.
    #[must_use]
    pub fn with_defaults(&self) -> Self {
        let shaper = self.shaper.unwrap_or_default();
        let tick = self.tick.unwrap_or(default_tick(shaper, self.delay_rule.unwrap_or_default()));
        let burst = self.burst.or((shaper == ShaperKind::Tbf).then_some(DEFAULT_BURST));
        // A direction with another shaper may have other defaults.
        let own = |own: &DirectionOverride, all: DirectionSpec| DirectionOverride {
            tick: own.tick.or((all.tick != tick).then_some(all.tick)),
            burst: own.burst.or(all.burst.filter(|_| burst.is_none())),
            ..own.clone()
        };
        Self {
            delay: Some(self.delay.unwrap_or(Duration::ZERO)),
            queue: Some(self.queue.unwrap_or(DEFAULT_QUEUE)),
            shaper: Some(shaper),
            tick: [self.down(), self.up()].iter().any(DirectionSpec::has_ticks).then_some(tick),
            burst,
            down: own(&self.down, self.down()),
            up: own(&self.up, self.up()),
            ..self.clone()
        }
    }

    /// Both directions with their keys, where the path's key in a scenario is `key`.
    pub(crate) fn directions(&self, key: &str) -> [(DirectionSpec, String); 2] {
        [(self.down(), format!("{key}.down")), (self.up(), format!("{key}.up"))]
    }

    /// What is odd about the path before any packet has come, a line each, with the setting; `key` is the path's in a
    /// scenario, such as `path`.
    pub fn warnings(&self, key: &str) -> Vec<String> {
        let mut all = Vec::new();
        let ticks = [self.down(), self.up()].map(|direction| direction.has_ticks());
        let given = [
            ("tick", self.tick, ticks[0] || ticks[1]),
            ("down.tick", self.down.tick, ticks[0]),
            ("up.tick", self.up.tick, ticks[1]),
        ];
        for (setting, tick, used) in given {
            if tick.is_some() && !used {
                all.push(format!(
                    "{key}.{setting}: neither the shaper nor the delay works at ticks; name one that does, such as \
                     {key}.shaper = \"dummynet\" or {key}.delay_rule = \"netem-2.6\""
                ));
            }
        }
        for (direction, key) in self.directions(key) {
            for (setting, pattern) in direction.impairments.patterns() {
                all.extend(pattern.warnings().iter().map(|w| format!("{key}.{setting}: {w}")));
            }
        }
        all
    }

    /// What netem cannot do of it, by keys; empty where the path is not netem's.
    pub fn beyond_netem(&self) -> Vec<String> {
        if self.emulator.unwrap_or_default() != EmulatorKind::Netem {
            return Vec::new();
        }
        let all = beyond_netem(&self.direction(&DirectionOverride::default()));
        let down = beyond_netem(&self.down());
        let up = beyond_netem(&self.up());
        // What holds for both directions is reported once, by the key that was written.
        let shared = all.iter().filter(|key| down.contains(key) || up.contains(key));
        let mut beyond: Vec<String> = shared.map(|key| format!("path.{key}")).collect();
        for (name, own) in [("down", &down), ("up", &up)] {
            beyond
                .extend(own.iter().filter(|key| !all.contains(key)).map(|key| format!("path.{name}.{key}")));
        }
        beyond
    }

    fn direction(&self, own: &DirectionOverride) -> DirectionSpec {
        let shaper = own.shaper.or(self.shaper).unwrap_or_default();
        let delay_rule = own.delay_rule.or(self.delay_rule).unwrap_or_default();
        // What stands for both directions is for those that have a bucket.
        let burst = own.burst.or(self.burst.filter(|_| shaper == ShaperKind::Tbf));
        let qdisc = own.qdisc.clone().or_else(|| self.qdisc.clone());
        let counted = if qdisc.is_some() { ETHERNET } else { Bytes::ZERO };
        let rate = own.rate.as_ref().or(self.rate.as_ref());
        let overhead = own.overhead.or(self.overhead);
        DirectionSpec {
            rate: rate.and_then(PathRate::constant),
            trace: self.followed(own).next(),
            link: own.link.or(self.link),
            overhead: overhead.unwrap_or(counted),
            has_own_overhead: overhead.is_some(),
            delay: own.delay.or(self.delay).unwrap_or(Duration::ZERO),
            delay_rule,
            queue: own.queue.or(self.queue).unwrap_or(DEFAULT_QUEUE),
            aqm: own.aqm.or(self.aqm).unwrap_or_default(),
            shaper,
            tick: own.tick.or(self.tick).unwrap_or(default_tick(shaper, delay_rule)),
            burst: burst.or((shaper == ShaperKind::Tbf).then_some(DEFAULT_BURST)),
            qdisc,
            impairments: self.impairments(own),
        }
    }

    /// The changes of a direction whose own settings are `own`.
    fn changes_of<'a>(&'a self, own: &'a DirectionOverride) -> &'a Changes {
        if own.changes.is_empty() { &self.changes } else { &own.changes }
    }

    /// The traces that a direction with the settings `own` follows; there may be only one.
    pub(crate) fn followed<'a>(&'a self, own: &'a DirectionOverride) -> impl Iterator<Item = Followed> + 'a {
        let rate = own.rate.as_ref().or(self.rate.as_ref()).and_then(PathRate::trace);
        let traces = [("rate", rate), ("changes", self.changes_of(own).trace())];
        traces.into_iter().filter_map(|(key, trace)| Some(Followed { key, trace: trace?.clone() }))
    }

    /// What happens to packets of a direction whose own settings are `own`.
    fn impairments(&self, own: &DirectionOverride) -> Impairments {
        let changes = self.changes_of(own).list().to_vec();
        macro_rules! own_or_all {
            ($($key:ident),*) => {
                Impairments { $($key: own.$key.clone().or_else(|| self.$key.clone()),)* changes }
            };
        }
        own_or_all!(drop, corrupt, mark, duplicate, hold, reorder, loss, jitter)
    }
}

/// What netem cannot do of a direction, by keys.
fn beyond_netem(direction: &DirectionSpec) -> Vec<String> {
    let own = &direction.impairments;
    let packets = matches!(direction.queue, QueueSize::Limit(QueueLimit::Packets(_)));
    let beyond = [
        ("link", direction.link.is_some()),
        ("overhead", direction.qdisc.is_none() && direction.overhead != Bytes::ZERO),
        ("queue", direction.qdisc.is_none() && !packets),
        ("aqm", direction.aqm != Aqm::None),
        ("shaper", direction.shaper != ShaperKind::Exact),
        ("delay_rule", direction.delay_rule != DelayRule::Exact),
        ("loss", matches!(own.loss, Some(LossModel::GilbertElliott(_)))),
        ("jitter", own.jitter.is_some()),
        ("changes", !own.changes.is_empty()),
    ];
    let trace = direction.trace.iter().map(|followed| (followed.key, true));
    let settings = beyond.into_iter().chain(trace).filter(|(_, wrong)| *wrong).map(|(key, _)| key.to_owned());
    own.patterns().map(|(key, _)| key).chain(settings).collect()
}

impl DirectionOverride {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
