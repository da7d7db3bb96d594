//! Effects with a parameter: a pattern's fields and their own in one table.

use std::borrow::Cow;

use rexmit_units::Duration;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::Pattern;
use crate::pattern::{Fields, pattern_table};

/// Extra delay for packets that a pattern names: `{ position = 3, by = "50 ms" }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    /// Which packets.
    pub pattern: Pattern,
    /// Added to the propagation delay.
    pub by: Duration,
    /// True: packets behind wait as well; false: they overtake.
    pub keep_order: bool,
}

/// Packets held back until later ones have passed: `{ position = 3, past = 3 }`.
#[derive(Clone, Debug, PartialEq)]
pub struct Reorder {
    /// Which packets.
    pub pattern: Pattern,
    /// How many later packets pass first; at least 1.
    pub past: u32,
    /// Where fewer come, the packet arrives this much later than it would have.
    pub within: Duration,
}

pattern_table! {
    /// Which packets, and how much longer they take.
    #[serde(expecting = "a table such as { position = 3, by = \"50 ms\" }")]
    pub(crate) struct HoldTable {
        /// Added to the propagation delay.
        by: Duration,
        /// `true`: packets behind wait as well. Default `false`: they overtake.
        #[serde(default)]
        keep_order: bool,
    }
}

pattern_table! {
    /// Which packets, and how many later ones pass first.
    #[serde(expecting = "a table such as { position = 3, past = 3 }")]
    pub(crate) struct ReorderTable {
        /// How many later packets pass first; at least 1.
        past: u32,
        /// Where fewer come, the packet arrives this much later than it would have. Default: 1 s.
        #[serde(default = "one_second")]
        within: Duration,
    }
}

fn one_second() -> Duration {
    Duration::from_secs(1)
}

impl<'de> Deserialize<'de> for Hold {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = HoldTable::deserialize(deserializer)?;
        let pattern = table.pattern().map_err(serde::de::Error::custom)?;
        Ok(Self { pattern, by: table.by, keep_order: table.keep_order })
    }
}

impl<'de> Deserialize<'de> for Reorder {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let table = ReorderTable::deserialize(deserializer)?;
        let pattern = table.pattern().map_err(serde::de::Error::custom)?;
        if table.past == 0 {
            return Err(serde::de::Error::custom("past = 0: allowed: at least 1"));
        }
        Ok(Self { pattern, past: table.past, within: table.within })
    }
}

impl Serialize for Hold {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        serialize_pattern(&self.pattern, &mut map)?;
        map.serialize_entry("by", &self.by)?;
        map.serialize_entry("keep_order", &self.keep_order)?;
        map.end()
    }
}

impl Serialize for Reorder {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        serialize_pattern(&self.pattern, &mut map)?;
        map.serialize_entry("past", &self.past)?;
        map.serialize_entry("within", &self.within)?;
        map.end()
    }
}

/// Their table holds one rule, as [`HoldTable`] reads it.
fn serialize_pattern<M: SerializeMap>(pattern: &Pattern, map: &mut M) -> Result<(), M::Error> {
    pattern.rules.iter().try_for_each(|rule| Fields::from(rule).serialize_into(map))
}

impl JsonSchema for Hold {
    fn schema_name() -> Cow<'static, str> {
        HoldTable::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        HoldTable::json_schema(generator)
    }
}

impl JsonSchema for Reorder {
    fn schema_name() -> Cow<'static, str> {
        ReorderTable::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        ReorderTable::json_schema(generator)
    }
}
