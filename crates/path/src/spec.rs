//! What a path is, as a study writes it. The JSON Schema and the reference come from these types.

use rexmit_units::{Bytes, Duration, QueueLimit, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::Pattern;

mod aqm;
mod delay;
mod effects;
mod qdisc;
mod random;

pub use aqm::{Algorithm, Aqm, Codel, FqCodel, Pie, Red};
pub use delay::DelayRule;
pub use effects::{Hold, Reorder};
pub use qdisc::Qdisc;
pub use random::{GilbertElliott, Jitter, LossModel, Spread};

/// The path between two hosts. What stands here holds for both directions; `down` and `up` override it.
///
/// Stages, in order: the sender's link, impairments, the queue, the shaper, the propagation delay, the receiver's
/// link. A packet that is still propagating takes no place in the queue.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct PathSpec {
    /// Whose emulator it is. Default: `rexmit`, the same for every backend.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub emulator: Option<EmulatorKind>,
    /// Rate of the bottleneck, counted over IP packets with their `overhead`. Absent: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of the links to the hosts, one before and one behind the bottleneck. Packets pass each in order, one
    /// after the other, and wait without limit: before the first as in the sender's own interface. Absent: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Rate>,
    /// Bytes of the link layer that shaper, links and a queue in bytes count beside the IP packet, such as
    /// `"14 bytes"` of Ethernet. Default: none, but 14 bytes with `qdisc`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Bytes>,
    /// Propagation delay, one way. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// How the emulator keeps its delay. Default: `exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_rule: Option<DelayRule>,
    /// What the queue before the bottleneck holds, in packets or bytes (at least 1 packet or 68 bytes); the
    /// packet being sent counts. Default: 1000 packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// Active queue management: who is dropped or marked before the queue is full. Behind the shapers `exact`, `tbf`
    /// and `cisco`. Default: `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// How the bottleneck sends. Default: `exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperKind>,
    /// Time between ticks of a shaper or delay that works at ticks: dummynet's tick, tbf's and netem's jiffy, cisco's
    /// Tc. Default: 1 ms; 4 ms for `cisco`, and for the delay rule `netem-2.6` behind the shaper `exact`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Duration>,
    /// The queueing discipline before the bottleneck, of the Linux kernel: with the emulator `netem` only. It takes the
    /// place of `queue`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<Qdisc>,
    /// What the bucket of `tbf` holds. Packets that are longer, their `overhead` included, do not pass. Default: 1600
    /// bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// From server to client.
    #[serde(skip_serializing_if = "DirectionOverride::is_empty")]
    pub down: DirectionOverride,
    /// From client to server.
    #[serde(skip_serializing_if = "DirectionOverride::is_empty")]
    pub up: DirectionOverride,
}

/// One direction of a path: what differs from the path, and what happens to packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct DirectionOverride {
    /// Rate of the bottleneck in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// Rate of the links in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<Rate>,
    /// Bytes of the link layer in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<Bytes>,
    /// Propagation delay in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
    /// How the delay is kept in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_rule: Option<DelayRule>,
    /// What the queue in this direction holds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueueLimit>,
    /// Active queue management in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aqm: Option<Aqm>,
    /// How the bottleneck in this direction sends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperKind>,
    /// Time between ticks in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Duration>,
    /// The Linux kernel's queueing discipline in this direction; with the emulator `netem` only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub qdisc: Option<Qdisc>,
    /// What the bucket of `tbf` holds in this direction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst: Option<Bytes>,
    /// Packets that are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Pattern>,
    /// Packets that get a bit error: the receiver sees a bad checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Pattern>,
    /// Packets that are marked "congestion experienced" (RFC 3168), where they are ECN-capable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Pattern>,
    /// Packets of which a second copy enters the queue right behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Pattern>,
    /// Packets that take longer, added to the propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Packets that are held back until later ones have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Random loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossModel>,
    /// Random variation of the propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Changes of rate or delay, each from its moment on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// What happens to packets as they enter. Each acts on its own; a packet may meet several.
///
/// A pattern counts every packet offered, lost ones too. A random impairment draws for every packet offered,
/// from a stream of its own, so that no impairment changes what another does.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Impairments {
    /// Packets that are lost.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub drop: Option<Pattern>,
    /// Packets that get a bit error: the receiver sees a bad checksum.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub corrupt: Option<Pattern>,
    /// Packets that are marked "congestion experienced" (RFC 3168), where they are ECN-capable.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mark: Option<Pattern>,
    /// Packets of which a second copy enters the queue right behind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplicate: Option<Pattern>,
    /// Packets that take longer, added to the propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hold: Option<Hold>,
    /// Packets that are held back until later ones have passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reorder: Option<Reorder>,
    /// Random loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss: Option<LossModel>,
    /// Random variation of the propagation delay.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub jitter: Option<Jitter>,
    /// Changes of rate or delay, each from its moment on.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
}

/// A change of rate or delay from a moment on. The later of two changes holds. With `tbf` and with queue management, one
/// by a packet holds from the moment at which that packet enters the queue, also for those that wait before it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// From this time after the start: packets whose sending starts (rate) or ends (delay) then or later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Duration>,
    /// Or from this packet of the direction on, 1 being the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<u64>,
    /// Or from a packet on that this pattern names, each time that it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Pattern>,
    /// The new rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Rate>,
    /// The new propagation delay. A shorter one lets no packet overtake another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
}

/// Whose emulator a path is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum EmulatorKind {
    /// This one.
    #[default]
    Rexmit,
    /// The Linux kernel's own: of the backends `uml` and `kernel` only, and for rate, delay, queue in packets and
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
    /// Rate of the bottleneck; `None` for no limit.
    pub rate: Option<Rate>,
    /// Rate of the links before and behind the bottleneck; `None` for none.
    pub link: Option<Rate>,
    /// Bytes of the link layer beside each IP packet.
    pub overhead: Bytes,
    /// Propagation delay.
    pub delay: Duration,
    /// How it is kept.
    pub delay_rule: DelayRule,
    /// What the queue holds.
    pub queue: QueueLimit,
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
            link: None,
            overhead: Bytes::ZERO,
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
const DEFAULT_QUEUE: QueueLimit = QueueLimit::Packets(1000);
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

    /// True where each direction has ticks of its own: it is a machine of its own.
    pub fn is_a_machine_a_direction(self) -> bool {
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

    /// What is odd about the path before any packet has come, a line each, with the key.
    pub fn warnings(&self) -> Vec<String> {
        let mut all = Vec::new();
        let ticks = [self.down(), self.up()].map(|direction| direction.has_ticks());
        let given = [
            ("path.tick", self.tick, ticks[0] || ticks[1]),
            ("path.down.tick", self.down.tick, ticks[0]),
            ("path.up.tick", self.up.tick, ticks[1]),
        ];
        for (key, tick, used) in given {
            if tick.is_some() && !used {
                all.push(format!(
                    "{key}: neither the shaper nor the delay works at ticks; name one that does, such as \
                     path.shaper = \"dummynet\" or path.delay_rule = \"netem-2.6\""
                ));
            }
        }
        for (name, direction) in [("path.down", &self.down), ("path.up", &self.up)] {
            let impairments = direction.impairments();
            for (key, pattern) in impairments.patterns() {
                all.extend(pattern.warnings().iter().map(|w| format!("{name}.{key}: {w}")));
            }
        }
        all
    }

    /// What netem cannot do of it, by keys; empty where the path is not netem's.
    pub fn beyond_netem(&self) -> Vec<String> {
        if self.emulator.unwrap_or_default() != EmulatorKind::Netem {
            return Vec::new();
        }
        let mut beyond = Vec::new();
        for (name, direction) in [("down", self.down()), ("up", self.up())] {
            let own = &direction.impairments;
            let mut note = |key: &str, wrong: bool| {
                if wrong {
                    beyond.push(format!("path.{name}.{key}"));
                }
            };
            for (key, _) in own.patterns() {
                note(&key, true);
            }
            note("link", direction.link.is_some());
            note("overhead", direction.qdisc.is_none() && direction.overhead != Bytes::ZERO);
            note("queue", direction.qdisc.is_none() && matches!(direction.queue, QueueLimit::Bytes(_)));
            note("aqm", direction.aqm != Aqm::None);
            note("shaper", direction.shaper != ShaperKind::Exact);
            note("delay_rule", direction.delay_rule != DelayRule::Exact);
            note("loss", matches!(own.loss, Some(LossModel::GilbertElliott(_))));
            note("jitter", own.jitter.is_some());
            note("changes", !own.changes.is_empty());
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
        DirectionSpec {
            rate: own.rate.or(self.rate),
            link: own.link.or(self.link),
            overhead: own.overhead.or(self.overhead).unwrap_or(counted),
            delay: own.delay.or(self.delay).unwrap_or(Duration::ZERO),
            delay_rule,
            queue: own.queue.or(self.queue).unwrap_or(DEFAULT_QUEUE),
            aqm: own.aqm.or(self.aqm).unwrap_or_default(),
            shaper,
            tick: own.tick.or(self.tick).unwrap_or(default_tick(shaper, delay_rule)),
            burst: burst.or((shaper == ShaperKind::Tbf).then_some(DEFAULT_BURST)),
            qdisc,
            impairments: own.impairments(),
        }
    }
}

impl DirectionOverride {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    fn impairments(&self) -> Impairments {
        let own = self.clone();
        Impairments {
            drop: own.drop,
            corrupt: own.corrupt,
            mark: own.mark,
            duplicate: own.duplicate,
            hold: own.hold,
            reorder: own.reorder,
            loss: own.loss,
            jitter: own.jitter,
            changes: own.changes,
        }
    }
}

impl Impairments {
    /// Each pattern with its key.
    pub(crate) fn patterns(&self) -> impl Iterator<Item = (String, &Pattern)> {
        let changes = self.changes.iter().enumerate();
        let whens = changes.filter_map(|(i, c)| c.when.as_ref().map(|p| (format!("changes.{i}.when"), p)));
        [
            ("drop", self.drop.as_ref()),
            ("corrupt", self.corrupt.as_ref()),
            ("mark", self.mark.as_ref()),
            ("duplicate", self.duplicate.as_ref()),
            ("hold", self.hold.as_ref().map(|h| &h.pattern)),
            ("reorder", self.reorder.as_ref().map(|r| &r.pattern)),
        ]
        .into_iter()
        .filter_map(|(key, pattern)| pattern.map(|p| (key.to_owned(), p)))
        .chain(whens)
    }
}
