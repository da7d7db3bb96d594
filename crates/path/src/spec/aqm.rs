//! Active queue management as a study writes it: a name, or a table with its parameters.

use std::borrow::Cow;

use rexmit_units::{Bytes, Duration, Probability, QueueLimit};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pattern::TextOrTable;

/// Active queue management: `"codel"`, or `{ codel = { target = "10 ms" } }`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Aqm {
    /// A plain queue.
    #[default]
    None,
    /// CoDel (RFC 8289).
    Codel(Codel),
    /// FlowQueue-CoDel (RFC 8290).
    FqCodel(FqCodel),
    /// PIE (RFC 8033).
    Pie(Pie),
    /// Random early detection (Floyd and Jacobson 1993).
    Red(Red),
}

/// Which algorithm manages a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Algorithm {
    /// CoDel.
    Codel,
    /// FlowQueue-CoDel.
    FqCodel,
    /// PIE.
    Pie,
    /// Random early detection.
    Red,
}

impl Algorithm {
    /// Its name in a scenario.
    pub fn name(self) -> &'static str {
        match self {
            Self::Codel => "codel",
            Self::FqCodel => "fq-codel",
            Self::Pie => "pie",
            Self::Red => "red",
        }
    }
}

/// CoDel's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Codel {
    /// Time in the queue that is acceptable for long. Default: 5 ms (RFC 8289, section 4.3).
    pub target: Duration,
    /// The time in which it must be met at least once: of the order of a round trip. Default: 100 ms (RFC 8289,
    /// section 4.2).
    pub interval: Duration,
    /// Marks packets instead of dropping them, where they are ECN-capable. Default: true.
    pub ecn: bool,
}

/// FlowQueue-CoDel's parameters. Flows are told apart by addresses, protocol and ports, exactly: no two share a queue
/// because of their hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct FqCodel {
    /// CoDel's target for each flow. Default: 5 ms (RFC 8290, section 5.2.2).
    pub target: Duration,
    /// CoDel's interval for each flow. Default: 100 ms (RFC 8290, section 5.2.1).
    pub interval: Duration,
    /// Bytes that a flow may send before it is another's turn, those of the link layer included. Default: 1514 bytes
    /// (RFC 8290, section 5.2.4).
    pub quantum: Bytes,
    /// Marks packets instead of dropping them, where they are ECN-capable. Default: true (RFC 8290, section 5.2.6).
    pub ecn: bool,
}

/// PIE's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Pie {
    /// Time in the queue that is aimed at, QDELAY_REF. Default: 15 ms (RFC 8033, section 4.2).
    pub target: Duration,
    /// Time between updates of the probability, T_UPDATE; above zero. Default: 15 ms (RFC 8033, section 4.2).
    pub update: Duration,
    /// Weight of the distance from the target, 1/s. Default: 0.125 (RFC 8033, section 4.2).
    pub alpha: f64,
    /// Weight of the trend, 1/s. Default: 1.25 (RFC 8033, section 4.2).
    pub beta: f64,
    /// Nothing is dropped for this long after a time without congestion, MAX_BURST. Default: 150 ms (RFC 8033, section
    /// 4.4).
    pub burst: Duration,
    /// Nothing is dropped while the queue holds no more than two such packets, MEAN_PKTSIZE. Default: 1500 bytes (RFC
    /// 8033, section 4.1, which has no number).
    pub mean_packet: Bytes,
    /// Keeps drops apart: none below a sum of probabilities of 0.85, one for certain at 8.5. Default: true (RFC 8033,
    /// section 5.4).
    pub derandomise: bool,
    /// Marks packets instead of dropping them, where they are ECN-capable and the probability is at most
    /// `ecn_threshold`. Default: true (RFC 8033, section 5.1).
    pub ecn: bool,
    /// See `ecn`. Default: 10 % (RFC 8033, section 5.1).
    pub ecn_threshold: Probability,
}

/// RED's parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Red {
    /// Average queue up to which nothing is dropped, in packets or bytes. Default: 5 packets (Floyd and Jacobson 1993,
    /// section 5).
    pub min: QueueLimit,
    /// Average queue up to which the probability rises to `probability`, in the same unit. Default: 15 packets (three
    /// times `min`).
    pub max: QueueLimit,
    /// Probability at `max`. Default: 0.02 (Floyd and Jacobson 1993, section 5).
    pub probability: Probability,
    /// Weight of the present queue in the average. Default: 0.002 (Floyd and Jacobson 1993, section 5).
    pub weight: Probability,
    /// Above `max` the probability rises on to 1 at twice `max`; `false`: everything is dropped from `max` on. Default:
    /// true (Floyd 2000).
    pub gentle: bool,
    /// While nothing is sent, the average falls as if packets of this size had found an empty queue. Default: 500
    /// bytes.
    pub idle_packet: Bytes,
    /// Marks packets instead of dropping them, where they are ECN-capable and the average is below `max` (RFC 3168,
    /// section 7). Default: true.
    pub ecn: bool,
}

impl Default for Codel {
    fn default() -> Self {
        Self { target: Duration::from_millis(5), interval: Duration::from_millis(100), ecn: true }
    }
}

impl Default for FqCodel {
    fn default() -> Self {
        let Codel { target, interval, ecn } = Codel::default();
        Self { target, interval, quantum: Bytes(1514), ecn }
    }
}

impl Default for Pie {
    fn default() -> Self {
        Self {
            target: Duration::from_millis(15),
            update: Duration::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            burst: Duration::from_millis(150),
            mean_packet: Bytes(1500),
            derandomise: true,
            ecn: true,
            ecn_threshold: percent(10_000_000_000, 10),
        }
    }
}

impl Default for Red {
    fn default() -> Self {
        Self {
            min: QueueLimit::Packets(5),
            max: QueueLimit::Packets(15),
            probability: percent(10_000_000_000, 2),
            weight: percent(1_000_000_000, 2),
            gentle: true,
            idle_packet: Bytes(500),
            ecn: true,
        }
    }
}

/// This many times some trillionths.
fn percent(trillionths: u64, times: u64) -> Probability {
    Probability::from_trillionths(trillionths * times).unwrap_or(Probability::ONE)
}

impl Aqm {
    /// The algorithm; `None` for a plain queue.
    pub fn algorithm(&self) -> Option<Algorithm> {
        Some(match self {
            Self::None => return None,
            Self::Codel(_) => Algorithm::Codel,
            Self::FqCodel(_) => Algorithm::FqCodel,
            Self::Pie(_) => Algorithm::Pie,
            Self::Red(_) => Algorithm::Red,
        })
    }

    /// What is wrong with its parameters: the key below `aqm` and what is allowed.
    pub(crate) fn fault(&self) -> Option<(&'static str, &'static str)> {
        const TIME: &str = "allowed: a duration above zero, such as \"100 ms\"";
        let codel = |key, interval: Duration| interval.is_zero().then_some((key, TIME));
        match self {
            Self::None => None,
            Self::Codel(codel_) => codel("codel.interval", codel_.interval),
            Self::FqCodel(fq) if fq.quantum.as_u64() == 0 => {
                Some(("fq_codel.quantum", "allowed: at least 1 byte, such as \"1514 bytes\""))
            }
            Self::FqCodel(fq) => codel("fq_codel.interval", fq.interval),
            Self::Pie(pie) if pie.update.is_zero() => Some(("pie.update", TIME)),
            Self::Pie(pie) if !(pie.alpha >= 0.0 && pie.alpha.is_finite()) => {
                Some(("pie.alpha", "allowed: a number from 0 on, such as 0.125"))
            }
            Self::Pie(pie) if !(pie.beta >= 0.0 && pie.beta.is_finite()) => {
                Some(("pie.beta", "allowed: a number from 0 on, such as 1.25"))
            }
            Self::Pie(_) => None,
            Self::Red(red) => match (red.min, red.max) {
                (QueueLimit::Packets(min), QueueLimit::Packets(max))
                | (QueueLimit::Bytes(min), QueueLimit::Bytes(max)) => {
                    (min >= max).then_some(("red.max", "allowed: more than min"))
                }
                _ => Some(("red.max", "allowed: the unit of min, packets or bytes")),
            },
        }
    }
}

/// Active queue management as a table: one of these.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, expecting = "a table such as { codel = { target = \"10 ms\" } }")]
#[schemars(transform = both_spellings)]
pub(crate) struct AqmTable {
    /// CoDel (RFC 8289).
    #[serde(default)]
    codel: Option<Codel>,
    /// FlowQueue-CoDel (RFC 8290).
    #[serde(default, alias = "fq-codel")]
    fq_codel: Option<FqCodel>,
    /// PIE (RFC 8033).
    #[serde(default)]
    pie: Option<Pie>,
    /// Random early detection (Floyd and Jacobson 1993).
    #[serde(default)]
    red: Option<Red>,
}

/// The table's key is also taken as the name alone is spelt.
fn both_spellings(schema: &mut Schema) {
    let Some(properties) = schema.get_mut("properties").and_then(|p| p.as_object_mut()) else {
        return;
    };
    if let Some(mut other) = properties.get("fq_codel").cloned() {
        other["description"] = "`fq_codel` in its other spelling.".into();
        properties.insert("fq-codel".to_owned(), other);
    }
}

const NAMES: &str = "\"none\", \"codel\", \"fq-codel\", \"pie\" or \"red\"";

impl<'de> Deserialize<'de> for Aqm {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |text: &str| {
            Ok(match text {
                "none" => Self::None,
                "codel" => Self::Codel(Codel::default()),
                "fq-codel" | "fq_codel" => Self::FqCodel(FqCodel::default()),
                "pie" => Self::Pie(Pie::default()),
                "red" => Self::Red(Red::default()),
                other => return Err(format!("{other:?} is not a queue management: write {NAMES}")),
            })
        };
        deserializer.deserialize_any(TextOrTable::new(
            "a name such as \"codel\", or a table such as { codel = { target = \"10 ms\" } }",
            text,
            |table: AqmTable| match (table.codel, table.fq_codel, table.pie, table.red) {
                (Some(codel), None, None, None) => Ok(Self::Codel(codel)),
                (None, Some(fq), None, None) => Ok(Self::FqCodel(fq)),
                (None, None, Some(pie), None) => Ok(Self::Pie(pie)),
                (None, None, None, Some(red)) => Ok(Self::Red(red)),
                _ => Err("allowed: exactly one of codel, fq_codel, pie and red".to_owned()),
            },
        ))
    }
}

impl Serialize for Aqm {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::None => serializer.serialize_str("none"),
            Self::Codel(codel) => serializer.collect_map([("codel", codel)]),
            Self::FqCodel(fq) => serializer.collect_map([("fq_codel", fq)]),
            Self::Pie(pie) => serializer.collect_map([("pie", pie)]),
            Self::Red(red) => serializer.collect_map([("red", red)]),
        }
    }
}

impl JsonSchema for Aqm {
    fn schema_name() -> Cow<'static, str> {
        "Aqm".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<AqmTable>();
        json_schema!({
            "description": "Active queue management, by its name or with its parameters.",
            "anyOf": [{ "enum": ["none", "codel", "fq-codel", "fq_codel", "pie", "red"] }, table],
        })
    }
}
