//! What happens to packets, and changes in the course of a run.

use rexmit_units::{Duration, LineRate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Hold, Jitter, LossModel, Reorder};
use crate::Pattern;

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

/// A change of rate or delay from a moment on. The later of two changes holds.
///
/// A change of the rate at a time applies to all that has not been sent by then: the bits that are left of the packet
/// in service go at the new rate. With `cisco`, credit comes at the rate of its tick (EM-CI-8); `dummynet` and `tbf` do
/// what the originals did when reconfigured (EM-DN-15, EM-TB-11). A change by a packet applies to that packet and those
/// behind it; with `tbf` and with queue management also for those that wait as it enters the queue.
///
/// `rate = "0 bit/s"` is an outage: nothing is sent until the next change, packets wait in the queue, and what finds it
/// full is dropped. After an outage without an end, they wait for ever. With the shapers `exact` and `cisco` only;
/// where a direction has an outage, its rate changes at times only.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// From this time after the start: what is sent then or later (rate), or packets whose sending ends then or later
    /// (delay).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Duration>,
    /// Or from this packet of the direction on, 1 being the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packet: Option<u64>,
    /// Or from a packet on that this pattern names, each time that it names one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub when: Option<Pattern>,
    /// The new rate; `"0 bit/s"` for an outage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<LineRate>,
    /// The new propagation delay. A shorter one lets no packet overtake another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay: Option<Duration>,
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
