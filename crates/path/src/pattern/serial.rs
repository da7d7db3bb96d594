//! Patterns in TOML and JSON, and their schema.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::table::{FlowChoice, RetransmissionTable};
use super::{Fields, Pattern, PatternTable, Positions, Rule, Scalar, Scope};

/// Reads a value that is a text, a number, or a table `R`.
pub(crate) struct TextOrTable<T, R> {
    expecting: &'static str,
    text: fn(&str) -> Result<T, String>,
    table: fn(R) -> Result<T, String>,
}

impl<T, R> TextOrTable<T, R> {
    /// `expecting` completes "expected ...".
    pub fn new(
        expecting: &'static str,
        text: fn(&str) -> Result<T, String>,
        table: fn(R) -> Result<T, String>,
    ) -> Self {
        Self { expecting, text, table }
    }
}

impl<'de, T, R: Deserialize<'de>> Visitor<'de> for TextOrTable<T, R> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expecting)
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        (self.text)(text).map_err(E::custom)
    }

    fn visit_u64<E: de::Error>(self, n: u64) -> Result<T, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_i64<E: de::Error>(self, n: i64) -> Result<T, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_f64<E: de::Error>(self, n: f64) -> Result<T, E> {
        self.visit_str(&n.to_string())
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
        let table = R::deserialize(MapAccessDeserializer::new(map))?;
        (self.table)(table).map_err(de::Error::custom)
    }
}

const PATTERN: &str =
    "a position, a list such as \"1,4,10-12\", a table such as { match = \"syn-ack\" }, or a list of those";

impl<'de> Deserialize<'de> for Pattern {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Any(TextOrTable<Pattern, PatternTable>);
        impl<'de> Visitor<'de> for Any {
            type Value = Pattern;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.expecting(f)
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Pattern, E> {
                self.0.visit_str(text)
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Pattern, E> {
                self.0.visit_u64(n)
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Pattern, E> {
                self.0.visit_i64(n)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Pattern, A::Error> {
                self.0.visit_map(map)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Pattern, A::Error> {
                let mut rules = Vec::new();
                while let Some(pattern) = seq.next_element::<Pattern>()? {
                    rules.extend(pattern.rules);
                }
                Ok(Pattern { rules })
            }
        }
        let text = |t: &str| t.parse::<Positions>().map(Pattern::at);
        deserializer.deserialize_any(Any(TextOrTable::new(PATTERN, text, |t: PatternTable| t.pattern())))
    }
}

impl Serialize for Pattern {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let [rule] = self.rules.as_slice() {
            return rule.serialize(serializer);
        }
        let mut seq = serializer.serialize_seq(Some(self.rules.len()))?;
        for rule in &self.rules {
            seq.serialize_element(rule)?;
        }
        seq.end()
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        if let Some(positions) = self.plain() {
            return Scalar(positions.to_string()).serialize(serializer);
        }
        let mut map = serializer.serialize_map(None)?;
        Fields::from(self).serialize_into(&mut map)?;
        map.end()
    }
}

impl Fields {
    /// Writes the fields into a map that may hold others.
    pub fn serialize_into<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        let mut scalar = |key: &str, value: &Option<String>| match value {
            Some(text) => map.serialize_entry(key, &Scalar(text.clone())),
            None => Ok(()),
        };
        scalar("position", &self.position)?;
        scalar("time", &self.time)?;
        scalar("match", &self.r#match)?;
        scalar("nth", &self.nth)?;
        scalar("period", &self.period)?;
        if let Some(table) = &self.retransmission {
            map.serialize_entry("retransmission", table)?;
        }
        match self.flow {
            Some(FlowChoice(Scope::EachFlow)) => map.serialize_entry("flow", &true),
            Some(FlowChoice(Scope::Port(port))) => map.serialize_entry("flow", &port),
            Some(FlowChoice(Scope::Direction)) | None => Ok(()),
        }
    }
}

impl Serialize for RetransmissionTable {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        if let Some(offset) = self.offset {
            map.serialize_entry("offset", &offset)?;
        }
        if let Some(segment) = self.segment {
            map.serialize_entry("segment", &segment)?;
        }
        if let Some(nth) = &self.nth {
            map.serialize_entry("nth", nth)?;
        }
        map.end()
    }
}

impl Serialize for Scalar {
    /// A number where it is one.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.parse::<u64>() {
            Ok(n) => serializer.serialize_u64(n),
            Err(_) => serializer.serialize_str(&self.0),
        }
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Scalar;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number or a text")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Scalar, E> {
                Ok(Scalar(text.into()))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<Scalar, E> {
                Ok(Scalar(n.to_string()))
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<Scalar, E> {
                Ok(Scalar(n.to_string()))
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl<'de> Deserialize<'de> for FlowChoice {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TrueOrPort;
        impl Visitor<'_> for TrueOrPort {
            type Value = FlowChoice;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true (each flow on its own), false, or a port from 1 to 65535")
            }

            fn visit_bool<E: de::Error>(self, each: bool) -> Result<FlowChoice, E> {
                Ok(FlowChoice(if each { Scope::EachFlow } else { Scope::Direction }))
            }

            fn visit_u64<E: de::Error>(self, n: u64) -> Result<FlowChoice, E> {
                match u16::try_from(n) {
                    Ok(port) if port > 0 => Ok(FlowChoice(Scope::Port(port))),
                    _ => Err(E::invalid_value(de::Unexpected::Unsigned(n), &self)),
                }
            }

            fn visit_i64<E: de::Error>(self, n: i64) -> Result<FlowChoice, E> {
                match u64::try_from(n) {
                    Ok(n) => self.visit_u64(n),
                    Err(_) => Err(E::invalid_value(de::Unexpected::Signed(n), &self)),
                }
            }
        }
        deserializer.deserialize_any(TrueOrPort)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let table = generator.subschema_for::<PatternTable>();
        let itself = generator.subschema_for::<Pattern>();
        json_schema!({
            "description": "Which packets: a position (1 is the first packet, 0 names none), a list such as \"1,4,10-12\", a table, or a list of those (any of them).",
            "anyOf": [
                { "type": "integer", "minimum": 0 },
                { "type": "string" },
                table,
                { "type": "array", "items": itself },
            ],
            "examples": [18, "1,4,10-12", { "match": "syn-ack" }],
        })
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "NumberOrText".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "integer", "minimum": 0 }, { "type": "string" }] })
    }
}

impl JsonSchema for FlowChoice {
    fn schema_name() -> Cow<'static, str> {
        "FlowChoice".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, { "type": "integer", "minimum": 1, "maximum": 65535 }] })
    }
}
