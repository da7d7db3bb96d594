//! Quantities in TOML and JSON: as their text. A probability may be a number too.

use std::borrow::Cow;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, Serializer};

use crate::text::{BYTES, DURATION, Kind, PROBABILITY, QUEUE, QUEUE_SIZE, RATE, UnitError};
use crate::{Bytes, Duration, LineRate, Probability, QueueLimit, QueueSize, Rate};

/// How a decimal number is written, as a regular expression.
const NUMBER: &str = r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?";

macro_rules! as_text {
    ($type:ident, $kind:expr, $units:literal) => {
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        expecting(f, &$kind)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }

                    fn visit_u64<E: Error>(self, n: u64) -> Result<$type, E> {
                        Err(E::custom(UnitError::bare_number(n, &$kind)))
                    }

                    fn visit_i64<E: Error>(self, n: i64) -> Result<$type, E> {
                        Err(E::custom(UnitError::bare_number(n, &$kind)))
                    }

                    fn visit_f64<E: Error>(self, n: f64) -> Result<$type, E> {
                        Err(E::custom(UnitError::bare_number(n, &$kind)))
                    }
                }
                deserializer.deserialize_any(Text)
            }
        }

        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                schema(&$kind, $units)
            }
        }
    };
}

as_text!(Duration, DURATION, "(ns|us|µs|μs|ms|s|min|h)");
as_text!(Bytes, BYTES, "(B|bytes?|[kMG]B|[KMG]iB)");
as_text!(Rate, RATE, "[kMG]?bit/s");
as_text!(LineRate, RATE, "[kMG]?bit/s");
as_text!(QueueLimit, QUEUE, "(packets?|B|bytes?|[kMG]B|[KMG]iB)");
as_text!(QueueSize, QUEUE_SIZE, "(packets?|B|bytes?|[kMG]B|[KMG]iB|ns|us|µs|μs|ms|s|min|h)");

impl Serialize for Probability {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Probability {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberOrText;
        impl Visitor<'_> for NumberOrText {
            type Value = Probability;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                expecting(f, &PROBABILITY)
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Probability, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_u64<E: Error>(self, n: u64) -> Result<Probability, E> {
                self.visit_str(&n.to_string())
            }

            fn visit_i64<E: Error>(self, n: i64) -> Result<Probability, E> {
                self.visit_str(&n.to_string())
            }

            /// Printing gives the shortest decimal that reads back as `n`: what the person wrote.
            fn visit_f64<E: Error>(self, n: f64) -> Result<Probability, E> {
                self.visit_str(&n.to_string())
            }
        }
        deserializer.deserialize_any(NumberOrText)
    }
}

impl JsonSchema for Probability {
    fn schema_name() -> Cow<'static, str> {
        "Probability".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "a probability, in steps of 1e-12: a number from 0 to 1, or text such as \"5 %\" or \"1e-5\"",
            "anyOf": [
                { "type": "number", "minimum": 0, "maximum": 1 },
                { "type": "string", "pattern": format!("^ *{NUMBER} *%? *$") },
            ],
            "examples": [0.01, "5 %"],
        })
    }
}

fn expecting(f: &mut fmt::Formatter<'_>, kind: &Kind) -> fmt::Result {
    write!(f, "{} such as {:?}", kind.what, kind.example)
}

fn schema(kind: &Kind, units: &str) -> Schema {
    json_schema!({
        "description": format!("{}: {}", kind.what, kind.allowed()),
        "type": "string",
        "pattern": format!("^ *{NUMBER} *{units} *$"),
        "examples": [kind.example],
    })
}
