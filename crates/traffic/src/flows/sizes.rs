//! Sizes of flows as people write them, and as they are drawn.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rexmit_stack::unknown_name;
use rexmit_units::Bytes;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::cdf::Cdf;
use super::error::FlowsError;
use super::file::{Read, TableFile};
use super::flow::MOST_SIZE;
use crate::random::Distribution;
use crate::spec::TransferError;

/// What the sizes of flows are drawn from.
#[derive(Clone, Debug, PartialEq)]
pub enum FlowSizes {
    /// One of the five.
    Distribution(Distribution<Bytes>),
    /// A published one.
    Published(Published),
    /// The points of a file.
    Cdf(CdfSpec),
}

/// A published distribution of flows' sizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Published {
    /// `web-search`: Alizadeh and others, "Data Center TCP", SIGCOMM 2010.
    WebSearch,
    /// `data-mining`: Greenberg and others, "VL2", SIGCOMM 2009.
    DataMining,
}

/// Sizes by the points of their cumulative distribution: `{ cdf = "sizes.csv" }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CdfSpec {
    /// A CSV with the columns `size`, its unit in the header (`size (kB)`; `size (1460 bytes)` where sizes are packets), and
    /// `probability`, that a size is at most this one: from row to row neither decreases, and the last probability is 1.
    /// Between two points lies a straight line; the first size is as likely as its probability says.
    pub cdf: TableFile,
}

impl Published {
    const ALL: [Self; 2] = [Self::WebSearch, Self::DataMining];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::WebSearch => "web-search",
            Self::DataMining => "data-mining",
        }
    }

    /// Its points, with their sources.
    fn points(self) -> &'static str {
        match self {
            Self::WebSearch => include_str!("../../data/web-search.csv"),
            Self::DataMining => include_str!("../../data/data-mining.csv"),
        }
    }
}

/// What sizes are drawn from. Cloning is cheap.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Sizes {
    Distribution(Distribution<Bytes>),
    Cdf(Cdf),
}

impl FlowSizes {
    pub(super) fn resolve(&self, read: &mut Read<'_>) -> Result<Sizes, TransferError> {
        match self {
            Self::Distribution(size) if size.is_zero() => Err(TransferError::NoBytes("flows.size")),
            Self::Distribution(Distribution::Constant(size)) if *size > MOST_SIZE => {
                Err(FlowsError::TooLarge(*size).into())
            }
            Self::Distribution(size) => Ok(Sizes::Distribution(*size)),
            Self::Published(published) => {
                let refused = |e| FlowsError::File("flows.size", format!("{}: {e}", published.name()));
                Ok(Sizes::Cdf(Cdf::read(published.points()).map_err(refused)?))
            }
            Self::Cdf(CdfSpec { cdf }) => Ok(Sizes::Cdf(cdf.parse("flows.size.cdf", read, Cdf::read)?)),
        }
    }
}

impl Sizes {
    /// In bytes; `None` where it is infinite.
    pub fn mean(&self) -> Option<f64> {
        match self {
            Self::Distribution(size) => size.mean(),
            Self::Cdf(cdf) => Some(cdf.mean()),
        }
    }

    /// At least 1 byte.
    pub fn draw(&self, stream: &mut Xoshiro256PlusPlus) -> u64 {
        let size = match self {
            Self::Distribution(size) => size.draw(stream).as_u64(),
            Self::Cdf(cdf) => cdf.draw(stream),
        };
        size.clamp(1, MOST_SIZE.as_u64())
    }
}

/// First words that are not the name of a published distribution.
const FORMS: [&str; 4] = ["uniform", "exponential", "pareto", "lognormal"];

impl FromStr for FlowSizes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let published = Published::ALL.into_iter().find(|published| published.name() == text.trim());
        if let Some(published) = published {
            return Ok(Self::Published(published));
        }
        let word = text.split_whitespace().next().unwrap_or_default();
        if word.starts_with(char::is_alphabetic) && !FORMS.contains(&word) {
            let known = [Published::ALL.map(Published::name).as_slice(), &FORMS].concat();
            return Err(unknown_name("distribution", word, &known));
        }
        text.parse().map(Self::Distribution)
    }
}

impl fmt::Display for FlowSizes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Distribution(size) => size.fmt(f),
            Self::Published(published) => f.write_str(published.name()),
            Self::Cdf(CdfSpec { cdf }) => f.write_str(&cdf.file),
        }
    }
}

impl<'de> Deserialize<'de> for FlowSizes {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct TextOrTable;
        impl<'de> Visitor<'de> for TextOrTable {
            type Value = FlowSizes;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "sizes such as \"100 kB\", \"exponential 100 kB\", \"web-search\" or { cdf = \"sizes.csv\" }",
                )
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<FlowSizes, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<FlowSizes, A::Error> {
                CdfSpec::deserialize(MapAccessDeserializer::new(map)).map(FlowSizes::Cdf)
            }
        }
        from.deserialize_any(TextOrTable)
    }
}

impl Serialize for FlowSizes {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Cdf(cdf) => cdf.serialize(to),
            text => to.collect_str(text),
        }
    }
}

impl JsonSchema for FlowSizes {
    fn schema_name() -> Cow<'static, str> {
        "FlowSizes".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<CdfSpec>();
        json_schema!({
            "description": "A distribution of sizes, the name of a published one, or the file of a cumulative one.",
            "anyOf": [{ "type": "string", "examples": ["exponential 100 kB", "web-search", "data-mining"] }, table]
        })
    }
}
