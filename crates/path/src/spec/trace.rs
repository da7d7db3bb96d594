//! Traces as a study names them: where a rate stands, and where changes stand.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rexmit_units::{LineRate, Rate};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error, IntoDeserializer, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Change;
use crate::pattern::TextOrTable;

/// A trace that a link follows: `{ trace = "cellular.down" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Its file, as seen from the folder of the study's file.
    pub trace: TraceName,
    /// Whether it begins again at its end, the time of its last line. Default: `true` for mahimahi's lines, as mm-link
    /// does; `false` for a CSV, whose last row holds from then on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<bool>,
}

/// The file of a trace, by its name alone or with the hash of what it held when the study was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceName {
    /// Its name.
    pub file: String,
    /// SHA-256 of its content, in hexadecimal digits; a file with other content is refused.
    pub sha256: Option<String>,
}

/// A trace with the hash of its content.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct TraceTable {
    /// Its name.
    file: String,
    /// SHA-256 of its content, as `sha256sum` prints it. A file with other content is refused. A study's record has it.
    sha256: String,
}

impl<'de> Deserialize<'de> for TraceName {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(TextOrTable::new(
            "the name of a file such as \"cellular.down\"",
            |file| Ok(Self { file: file.to_owned(), sha256: None }),
            |table: TraceTable| Ok(Self { file: table.file, sha256: Some(table.sha256) }),
        ))
    }
}

impl Serialize for TraceName {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match &self.sha256 {
            None => to.serialize_str(&self.file),
            Some(sha256) => TraceTable { file: self.file.clone(), sha256: sha256.clone() }.serialize(to),
        }
    }
}

impl JsonSchema for TraceName {
    fn schema_name() -> Cow<'static, str> {
        "TraceName".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<TraceTable>();
        json_schema!({
            "description": "The file of a trace: its name, or a table of its name and the hash of its content.",
            "anyOf": [{ "type": "string" }, table]
        })
    }
}

/// Rate of a bottleneck: always the same, or as a trace says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathRate {
    /// Above zero.
    Constant(Rate),
    /// From a file.
    Trace(Trace),
}

impl From<Rate> for PathRate {
    fn from(rate: Rate) -> Self {
        Self::Constant(rate)
    }
}

impl FromStr for PathRate {
    type Err = <Rate as FromStr>::Err;

    /// A rate that is always the same, such as `10 Mbit/s`.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        text.parse().map(Self::Constant)
    }
}

impl PathRate {
    /// The rate, if it is always the same.
    pub fn constant(&self) -> Option<Rate> {
        match self {
            Self::Constant(rate) => Some(*rate),
            Self::Trace(_) => None,
        }
    }

    /// The trace, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::Constant(_) => None,
            Self::Trace(trace) => Some(trace),
        }
    }
}

impl<'de> Deserialize<'de> for PathRate {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct RateOrTrace;
        impl<'de> Visitor<'de> for RateOrTrace {
            type Value = PathRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a rate such as \"40 kbit/s\", or { trace = \"file\" }")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<PathRate, E> {
                above_zero(LineRate::deserialize(text.into_deserializer())?)
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<PathRate, E> {
                above_zero(LineRate::deserialize(n.into_deserializer())?)
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<PathRate, E> {
                above_zero(LineRate::deserialize(n.into_deserializer())?)
            }

            fn visit_f64<E: Error>(self, n: f64) -> Result<PathRate, E> {
                above_zero(LineRate::deserialize(n.into_deserializer())?)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<PathRate, A::Error> {
                Trace::deserialize(MapAccessDeserializer::new(map)).map(PathRate::Trace)
            }
        }
        from.deserialize_any(RateOrTrace)
    }
}

/// A rate above zero, or what to write for one of zero.
fn above_zero<E: Error>(rate: LineRate) -> Result<PathRate, E> {
    match rate {
        LineRate::Rate(rate) => Ok(PathRate::Constant(rate)),
        LineRate::Outage => Err(E::custom(
            "a path begins with a rate above zero; an outage is a change of it, such as changes = [{ at = \"0 s\", rate = \
             \"0 bit/s\" }, { at = \"2 s\", rate = \"1 Mbit/s\" }]",
        )),
    }
}

impl Serialize for PathRate {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Constant(rate) => rate.serialize(to),
            Self::Trace(trace) => trace.serialize(to),
        }
    }
}

impl JsonSchema for PathRate {
    fn schema_name() -> Cow<'static, str> {
        "PathRate".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (rate, trace) = (generator.subschema_for::<Rate>(), generator.subschema_for::<Trace>());
        json_schema!({ "description": "A rate, or a trace of one: `{ trace = \"file\" }`.", "anyOf": [rate, trace] })
    }
}

/// Changes in the course of a run: a list of them, or a trace.
#[derive(Clone, Debug, PartialEq)]
pub enum Changes {
    /// One after another, as the study writes them.
    List(Vec<Change>),
    /// From a CSV.
    Trace(Trace),
}

impl Default for Changes {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Changes {
    /// True where nothing changes.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty() && self.trace().is_none()
    }

    /// Those that the study writes.
    pub fn list(&self) -> &[Change] {
        match self {
            Self::List(list) => list,
            Self::Trace(_) => &[],
        }
    }

    /// The trace, if there is one.
    pub fn trace(&self) -> Option<&Trace> {
        match self {
            Self::List(_) => None,
            Self::Trace(trace) => Some(trace),
        }
    }
}

impl<'de> Deserialize<'de> for Changes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct ListOrTrace;
        impl<'de> Visitor<'de> for ListOrTrace {
            type Value = Changes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a list such as [{ at = \"5 s\", rate = \"1 Mbit/s\" }], or { trace = \"file.csv\" }",
                )
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Changes, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Changes::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Changes, A::Error> {
                Trace::deserialize(MapAccessDeserializer::new(map)).map(Changes::Trace)
            }
        }
        from.deserialize_any(ListOrTrace)
    }
}

impl Serialize for Changes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::List(list) => list.serialize(to),
            Self::Trace(trace) => trace.serialize(to),
        }
    }
}

impl JsonSchema for Changes {
    fn schema_name() -> Cow<'static, str> {
        "Changes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (list, trace) = (generator.subschema_for::<Vec<Change>>(), generator.subschema_for::<Trace>());
        json_schema!({
            "description": "Changes one after another, or a trace of them: `{ trace = \"file.csv\" }`.",
            "anyOf": [list, trace]
        })
    }
}

/// The trace that a direction follows, and the key that names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Followed {
    /// Where it stands: `rate` or `changes`.
    pub key: &'static str,
    /// What stands there.
    #[serde(flatten)]
    pub trace: Trace,
}
