//! Random loss and jitter as a study writes them.

use std::borrow::Cow;

use rexmit_units::{Duration, Probability};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::pattern::TextOrTable;

/// Random loss: `"5 %"`, or `{ gilbert_elliott = { p = "1 %", r = "20 %" } }`.
#[derive(Clone, Debug, PartialEq)]
pub enum LossModel {
    /// Each packet on its own.
    Independent(Probability),
    /// Two states.
    GilbertElliott(GilbertElliott),
}

/// Loss in two states, good and bad, with the four parameters that netem's `gemodel` takes. Each packet is
/// lost with the probability of the present state and may then change the state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct GilbertElliott {
    /// From good to bad.
    pub p: Probability,
    /// From bad to good. Default: 1 - p.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub r: Option<Probability>,
    /// Loss in the bad state, netem's 1-h. Default: 100 %.
    #[serde(default = "certain")]
    pub bad_loss: Probability,
    /// Loss in the good state, netem's 1-k. Default: none.
    #[serde(default)]
    pub good_loss: Probability,
}

/// Random variation of the propagation delay: `"5 ms"`, or `{ spread = "5 ms", distribution = "normal" }`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Jitter {
    /// Half width (uniform) or standard deviation (normal).
    pub spread: Duration,
    /// How the variation is distributed around zero; a delay never falls below zero.
    pub distribution: Spread,
    /// True: a packet may overtake another; false: it waits for those before it.
    pub reorder: bool,
}

/// A distribution around zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Spread {
    /// From minus the spread to plus the spread.
    #[default]
    Uniform,
    /// The spread is the standard deviation.
    Normal,
}

/// Random loss as a table.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LossTable {
    /// Loss in two states, good and bad.
    gilbert_elliott: GilbertElliott,
}

/// Jitter as a table.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct JitterTable {
    /// Half width (uniform) or standard deviation (normal).
    spread: Duration,
    /// Default: `uniform`.
    #[serde(default)]
    distribution: Spread,
    /// `true`: a packet may overtake another. Default `false`: it waits for those before it.
    #[serde(default)]
    reorder: bool,
}

fn certain() -> Probability {
    Probability::ONE
}

impl GilbertElliott {
    /// The chance to leave the bad state.
    pub fn leave_bad(&self) -> Probability {
        let rest = Probability::ONE.trillionths() - self.p.trillionths();
        self.r.unwrap_or_else(|| Probability::from_trillionths(rest).unwrap_or(Probability::ONE))
    }
}

impl<'de> Deserialize<'de> for LossModel {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |t: &str| {
            t.parse().map(LossModel::Independent).map_err(|e: rexmit_units::UnitError| e.to_string())
        };
        deserializer.deserialize_any(TextOrTable::new(
            "a probability such as \"5 %\", or { gilbert_elliott = { p = \"1 %\", r = \"20 %\" } }",
            text,
            |t: LossTable| Ok(LossModel::GilbertElliott(t.gilbert_elliott)),
        ))
    }
}

impl Serialize for LossModel {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Independent(p) => p.serialize(serializer),
            Self::GilbertElliott(ge) => serializer.collect_map([("gilbert_elliott", ge)]),
        }
    }
}

impl<'de> Deserialize<'de> for Jitter {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = |t: &str| {
            let spread = t.parse().map_err(|e: rexmit_units::UnitError| e.to_string())?;
            Ok(Jitter { spread, distribution: Spread::Uniform, reorder: false })
        };
        deserializer.deserialize_any(TextOrTable::new(
            "a duration such as \"5 ms\", or { spread = \"5 ms\", distribution = \"normal\", reorder = true }",
            text,
            |t: JitterTable| Ok(Jitter { spread: t.spread, distribution: t.distribution, reorder: t.reorder }),
        ))
    }
}

impl Serialize for Jitter {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { spread, distribution, reorder } = *self;
        JitterTable { spread, distribution, reorder }.serialize(serializer)
    }
}

impl JsonSchema for LossModel {
    fn schema_name() -> Cow<'static, str> {
        "LossModel".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (p, table) = (generator.subschema_for::<Probability>(), generator.subschema_for::<LossTable>());
        json_schema!({ "description": "Random loss, each packet on its own or in two states.", "anyOf": [p, table] })
    }
}

impl JsonSchema for Jitter {
    fn schema_name() -> Cow<'static, str> {
        "Jitter".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let (d, table) = (generator.subschema_for::<Duration>(), generator.subschema_for::<JitterTable>());
        json_schema!({ "description": "Random variation of the propagation delay.", "anyOf": [d, table] })
    }
}
