//! A pattern as a table: its fields, what they mean together, and how they are printed.

use std::fmt;
use std::str::FromStr;

use rexmit_units::Duration;
use schemars::JsonSchema;

use super::{Data, Kind, Positions, Rule, Scope, Times};

/// A number or a text, as a table holds it: `18` or `"1,4,10-12"`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Scalar(pub(crate) String);

/// What a position counts, as a table holds it: `true` or a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FlowChoice(pub(super) Scope);

/// Declares a table that holds the fields of a pattern, and `$name::pattern`.
macro_rules! pattern_table {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($(#[$fmeta:meta])* $field:ident: $type:ty,)* }) => {
        #[derive(Clone, Debug, PartialEq, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        $(#[$meta])*
        $vis struct $name {
            /// Numbers of packets, 1 being the first: `18` or `"1,4,10-12"`. 0 names no packet.
            position: Option<$crate::pattern::Scalar>,
            /// Times at which packets enter the path: `"1 s-2 s, 3 s-3.5 s"`, ends excluded.
            time: Option<$crate::pattern::Scalar>,
            /// Times at which the effect is switched on or off: `"4 ms, 8 ms"`.
            switches: Option<$crate::pattern::Scalar>,
            /// With `switches`: 0 (default) if the effect is off at first, 1 if it is on.
            start: Option<u8>,
            /// What the packet is: `syn`, `syn-ack`, `fin`, `rst`, `pure-ack` (or `ack-only`), `data` (or `stream`),
            /// `retransmission`; for QUIC, by its headers, `initial`, `0-rtt`, `handshake`, `1-rtt`, and by what the
            /// code that seals it says, `pure-ack`, `data`, `retransmission` and `datagram`. Counted in each flow on
            /// its own.
            r#match: Option<String>,
            /// With `match`: which of those, `3` or `"1,3-5"`; all if absent. For `data`, only segments with new
            /// data are counted.
            nth: Option<$crate::pattern::Scalar>,
            /// Retransmissions of given data, counted in each flow on its own.
            retransmission: Option<$crate::pattern::table::RetransmissionTable>,
            /// The pattern starts afresh after this many packets (with `time`: after this time). Absent: it ends.
            period: Option<$crate::pattern::Scalar>,
            /// `true`: each flow on its own; a port number: only packets from or to that port. Absent: the
            /// whole direction.
            flow: Option<$crate::pattern::table::FlowChoice>,
            $($(#[$fmeta])* $field: $type,)*
        }

        impl $name {
            /// The pattern that the table writes; the error is one line.
            pub(crate) fn pattern(&self) -> Result<$crate::pattern::Pattern, String> {
                $crate::pattern::Fields {
                    position: self.position.as_ref().map(|s| s.0.clone()),
                    time: self.time.as_ref().map(|s| s.0.clone()),
                    switches: self.switches.as_ref().map(|s| s.0.clone()),
                    start: self.start,
                    r#match: self.r#match.clone(),
                    nth: self.nth.as_ref().map(|s| s.0.clone()),
                    retransmission: self.retransmission.clone(),
                    period: self.period.as_ref().map(|s| s.0.clone()),
                    flow: self.flow,
                }
                .rule()
                .map(Into::into)
            }
        }
    };
}
pub(crate) use pattern_table;

pattern_table! {
    /// Which packets, as a table. Exactly one of `position`, `time`, `switches`, `match` and `retransmission`.
    pub(crate) struct PatternTable {}
}

/// Repetitions of given data: by `offset` or by `segment`.
#[derive(Clone, Debug, PartialEq, serde::Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct RetransmissionTable {
    /// Offset of a byte in the stream, the first being 0: segments that hold it.
    pub(super) offset: Option<u64>,
    /// Number of a segment with new data, the first being 1: segments that hold its first byte.
    pub(super) segment: Option<u64>,
    /// Which retransmissions, `2` or `"1,3-5"`, the first being 1; all if absent.
    pub(super) nth: Option<Scalar>,
}

/// The fields of a table, before they are understood and for printing.
#[derive(Default)]
pub(crate) struct Fields {
    pub position: Option<String>,
    pub time: Option<String>,
    pub switches: Option<String>,
    pub start: Option<u8>,
    pub r#match: Option<String>,
    pub nth: Option<String>,
    pub retransmission: Option<RetransmissionTable>,
    pub period: Option<String>,
    pub flow: Option<FlowChoice>,
}

const ONE_OF: &str = "exactly one of position, time, switches, match and retransmission";

impl Fields {
    /// The rule that the fields write.
    pub fn rule(&self) -> Result<Rule, String> {
        let given = [
            self.position.is_some(),
            self.time.is_some(),
            self.switches.is_some(),
            self.r#match.is_some(),
            self.retransmission.is_some(),
        ];
        if given.iter().filter(|g| **g).count() != 1 {
            return Err(format!("a pattern needs {ONE_OF}"));
        }
        self.refuse_strays()?;
        if let Some(positions) = &self.position {
            let scope = self.flow.map_or(Scope::Direction, |f| f.0);
            return Ok(Rule::Position { positions: positions.parse()?, period: self.count_period()?, scope });
        }
        if let Some(times) = &self.time {
            return Ok(Rule::Time { times: times.parse()?, period: self.time_period()? });
        }
        if let Some(points) = &self.switches {
            let start = match self.start {
                None | Some(0) => false,
                Some(1) => true,
                Some(n) => return Err(format!("start = {n}: allowed: 0 (off at first) or 1 (on)")),
            };
            let (times, period) = (Times::parse_switches(points, start)?, self.time_period()?);
            if times.spans().is_empty() {
                // Never on: no text of times says that, position 0 does.
                return Ok(Rule::Position {
                    positions: Positions::one(0),
                    period: None,
                    scope: Scope::Direction,
                });
            }
            return Ok(Rule::Time { times, period });
        }
        let port = match self.flow {
            Some(FlowChoice(Scope::Port(port))) => Some(port),
            _ => None,
        };
        if let Some(name) = &self.r#match {
            let nth = self.nth.as_deref().map(str::parse).transpose()?;
            return Ok(Rule::Match { kind: name.parse()?, nth, period: self.count_period()?, port });
        }
        let table = self.retransmission.as_ref().ok_or(ONE_OF)?;
        let of = match (table.offset, table.segment) {
            (Some(offset), None) => Data::Offset(offset),
            (None, Some(0)) => return Err("retransmission: segment = 0: the first segment is 1".into()),
            (None, Some(segment)) => Data::Segment(segment),
            _ => return Err("retransmission needs exactly one of offset and segment".into()),
        };
        let nth = table.nth.as_ref().map(|s| s.0.parse()).transpose()?;
        Ok(Rule::Retransmission { of, nth, port })
    }

    /// Refuses a field that means nothing beside the others.
    fn refuse_strays(&self) -> Result<(), String> {
        let timed = self.time.is_some() || self.switches.is_some();
        let strays = [
            (self.nth.is_some() && self.r#match.is_none(), "nth goes with match (or inside retransmission)"),
            (self.start.is_some() && self.switches.is_none(), "start goes with switches"),
            (self.flow.is_some() && timed, "flow goes with position, match and retransmission"),
            (self.period.is_some() && self.retransmission.is_some(), "retransmission has no period"),
            (
                self.period.is_some() && self.r#match.is_some() && self.nth.is_none(),
                "with match, period needs nth",
            ),
        ];
        strays.iter().find(|s| s.0).map_or(Ok(()), |s| Err(s.1.into()))
    }

    fn count_period(&self) -> Result<Option<u64>, String> {
        let Some(text) = &self.period else { return Ok(None) };
        match text.parse() {
            Ok(n) if n > 0 => Ok(Some(n)),
            _ => Err(format!("period = {text:?}: allowed: a number of packets of at least 1")),
        }
    }

    fn time_period(&self) -> Result<Option<Duration>, String> {
        let Some(text) = &self.period else { return Ok(None) };
        match text.parse::<Duration>() {
            Ok(d) if !d.is_zero() => Ok(Some(d)),
            Ok(_) => Err("period = \"0 s\": allowed: a duration above zero".into()),
            Err(why) => Err(format!("period: {why}")),
        }
    }

    /// Each field on a line of its own, as TOML writes it.
    pub fn lines(&self) -> String {
        self.entries().iter().map(|(k, v)| format!("{k} = {v}\n")).collect()
    }

    /// Each field with its value as TOML writes it.
    fn entries(&self) -> Vec<(&'static str, String)> {
        let quoted = |s: &String| if s.parse::<u64>().is_ok() { s.clone() } else { format!("{s:?}") };
        let mut all = Vec::new();
        let mut add = |key, value: Option<String>| all.extend(value.map(|v| (key, v)));
        add("position", self.position.as_ref().map(quoted));
        add("time", self.time.as_ref().map(quoted));
        add("match", self.r#match.as_ref().map(quoted));
        add("nth", self.nth.as_ref().map(quoted));
        add("retransmission", self.retransmission.as_ref().map(RetransmissionTable::inline));
        add("period", self.period.as_ref().map(quoted));
        add("flow", self.flow.and_then(FlowChoice::text));
        all
    }
}

impl RetransmissionTable {
    fn inline(&self) -> String {
        let nth = self.nth.as_ref().map(|s| ("nth", s.0.clone()));
        let parts: Vec<String> = [
            self.offset.map(|n| ("offset", n.to_string())),
            self.segment.map(|n| ("segment", n.to_string())),
            nth,
        ]
        .into_iter()
        .flatten()
        .map(|(k, v)| if v.parse::<u64>().is_ok() { format!("{k} = {v}") } else { format!("{k} = {v:?}") })
        .collect();
        format!("{{ {} }}", parts.join(", "))
    }
}

impl From<&Rule> for Fields {
    fn from(rule: &Rule) -> Self {
        let port_choice = |port: &Option<u16>| port.map(|p| FlowChoice(Scope::Port(p)));
        match rule {
            Rule::Position { positions, period, scope } => Self {
                position: Some(positions.to_string()),
                period: period.map(|p| p.to_string()),
                flow: (*scope != Scope::Direction).then_some(FlowChoice(*scope)),
                ..Self::default()
            },
            Rule::Time { times, period } => Self {
                time: Some(times.to_string()),
                period: period.map(|p| p.to_string()),
                ..Self::default()
            },
            Rule::Match { kind, nth, period, port } => Self {
                r#match: Some(kind.name().into()),
                nth: nth.as_ref().map(Positions::to_string),
                period: period.map(|p| p.to_string()),
                flow: port_choice(port),
                ..Self::default()
            },
            Rule::Retransmission { of, nth, port } => {
                let (offset, segment) = match *of {
                    Data::Offset(n) => (Some(n), None),
                    Data::Segment(n) => (None, Some(n)),
                };
                let nth = nth.as_ref().map(|n| Scalar(n.to_string()));
                Self {
                    retransmission: Some(RetransmissionTable { offset, segment, nth }),
                    flow: port_choice(port),
                    ..Self::default()
                }
            }
        }
    }
}

impl fmt::Display for Fields {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries: Vec<String> = self.entries().iter().map(|(k, v)| format!("{k} = {v}")).collect();
        f.write_str(&entries.join(", "))
    }
}

impl FromStr for Kind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let names: Vec<&str> = Self::ALL.iter().map(|k| k.name()).collect();
        Self::named(text).ok_or_else(|| format!("match = {text:?}: allowed: {}", names.join(", ")))
    }
}

impl FlowChoice {
    fn text(self) -> Option<String> {
        match self.0 {
            Scope::Direction => None,
            Scope::EachFlow => Some("true".into()),
            Scope::Port(port) => Some(port.to_string()),
        }
    }
}
