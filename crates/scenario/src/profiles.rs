//! Profiles: those that come with rexmit, those of users, and what inherits from them.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, OnceLock, PoisonError};

use rexmit_stack::quic::QuicProfile;
use rexmit_stack::unknown_name;
use rexmit_units::Duration;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::SpecError;
use crate::error::read;
use crate::inputs::{MOST_PROFILE_BYTES, read_text};
use crate::stack_programs::profile_of;

/// Name and text of every file in the folder `profiles`, found by `build.rs`.
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/profiles.rs"));

/// Longest chain of inheritance.
const MAX_DEPTH: usize = 8;

/// A host's transport as its profile describes it.
#[derive(Clone, Debug, PartialEq)]
pub enum StackProfile {
    /// TCP.
    Tcp(Arc<rexmit_tcp::Profile>),
    /// SCTP: a profile with `protocol = "sctp"`.
    Sctp(Arc<rexmit_sctp::Profile>),
    /// QUIC: a profile with `protocol = "quic"`. It has no model.
    Quic(Arc<QuicProfile>),
}

impl StackProfile {
    /// One line that says which system this is.
    pub fn summary(&self) -> &str {
        match self {
            Self::Tcp(profile) => &profile.summary,
            Self::Sctp(profile) => &profile.summary,
            Self::Quic(profile) => &profile.summary,
        }
    }

    /// `tcp`, `sctp` or `quic`.
    pub fn protocol(&self) -> &'static str {
        match self {
            Self::Tcp(_) => "tcp",
            Self::Sctp(_) => "sctp",
            Self::Quic(_) => "quic",
        }
    }

    /// After this time the host's clock looks the same again.
    pub fn clock_period(&self) -> Duration {
        match self {
            Self::Tcp(profile) => profile.clock.period(),
            Self::Sctp(profile) => profile.clock.period(),
            // Its clock, if any, is its code's.
            Self::Quic(_) => Duration::from_nanos(1),
        }
    }

    /// The whole profile as a table of a scenario.
    pub fn to_value(&self) -> Value {
        let mut table = match self {
            Self::Tcp(profile) => return serde_json::to_value(&**profile).unwrap_or_default(),
            Self::Sctp(profile) => serde_json::to_value(&**profile).unwrap_or_default(),
            Self::Quic(profile) => serde_json::to_value(&**profile).unwrap_or_default(),
        };
        table["protocol"] = self.protocol().into();
        table
    }
}

/// Profiles that tables gave, by their text: those that depend on nothing else.
static MADE: LazyLock<Mutex<HashMap<String, StackProfile>>> = LazyLock::new(Mutex::default);

fn made() -> MutexGuard<'static, HashMap<String, StackProfile>> {
    MADE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// More of them are not kept at a time.
const MOST_MADE: usize = 256;

/// A profile that comes with rexmit. Each form is made when it is first asked for.
#[derive(Default)]
struct Builtin {
    text: &'static str,
    /// With what it inherits.
    table: OnceLock<Value>,
    profile: OnceLock<StackProfile>,
    /// What it changes in [`KERNEL`], where it inherits from that.
    variant: OnceLock<Option<Value>>,
}

static BUILTIN: LazyLock<HashMap<&'static str, Builtin>> = LazyLock::new(|| {
    FILES.iter().map(|&(name, text)| (name, Builtin { text, ..Builtin::default() })).collect()
});

impl Builtin {
    fn table(&self, name: &str) -> &Value {
        let made = || parse(name, self.text).and_then(|own| inherited(own, 0));
        self.table.get_or_init(|| made().unwrap_or_else(|e| panic!("{name}: {e}")))
    }

    fn variant(&self, name: &str) -> Option<&Value> {
        let made = || {
            let mut own = parse(name, self.text).ok()?;
            own.remove("sources");
            (own.get("inherits")? == KERNEL).then_some(Value::Object(own))
        };
        self.variant.get_or_init(made).as_ref()
    }

    fn profile(&self, name: &str) -> &StackProfile {
        let made = || finish(self.table(name).clone()).unwrap_or_else(|e| panic!("{name}: {e}"));
        self.profile.get_or_init(made)
    }
}

/// The one of this name that comes with rexmit.
fn builtin(name: &str) -> Option<&'static StackProfile> {
    BUILTIN.get_key_value(name).map(|(name, builtin)| builtin.profile(name))
}

/// Names and one-line descriptions of the profiles that come with rexmit.
pub fn builtin_profiles() -> Vec<(&'static str, String)> {
    FILES.iter().filter_map(|(name, _)| Some((*name, builtin(name)?.summary().to_string()))).collect()
}

/// The profile that `stack` names: a name, the path of a TOML file, or a table that inherits from one and
/// changes single values. What a table says of a program that is the stack is left out.
///
/// # Errors
/// An unknown name, a file that cannot be read, a key or a value that does not fit.
pub fn resolve_profile(stack: &Value) -> Result<StackProfile, SpecError> {
    if let Some(profile) = stack.as_str().and_then(builtin) {
        return Ok(profile.clone());
    }
    let own = profile_of(stack);
    let table = own.as_ref().unwrap_or(stack);
    if inherits_file(table) {
        return finish(tables(table, 0)?);
    }
    // Thousands of scenarios may be read whose hosts have one of a few tables.
    let text = table.to_string();
    if let Some(profile) = made().get(&text) {
        return Ok(profile.clone());
    }
    let profile = finish(tables(table, 0)?)?;
    let mut made = made();
    if made.len() >= MOST_MADE {
        made.clear();
    }
    made.insert(text, profile.clone());
    Ok(profile)
}

/// Whether files of the user's take part, which may be different the next time.
fn inherits_file(stack: &Value) -> bool {
    match stack {
        Value::String(name) => !BUILTIN.contains_key(name.as_str()),
        Value::Object(map) => map.get("inherits").is_some_and(inherits_file),
        _ => false,
    }
}

fn finish(mut table: Value) -> Result<StackProfile, SpecError> {
    let protocol = table.as_object_mut().and_then(|table| table.remove("protocol"));
    let wrong = |(key, message): (&'static str, String)| SpecError::new(key, message);
    match protocol.as_ref().map_or(Some("tcp"), Value::as_str) {
        Some("tcp") => {
            let profile: rexmit_tcp::Profile = whole(table)?;
            profile.check().map_err(wrong)?;
            Ok(StackProfile::Tcp(Arc::new(profile)))
        }
        Some("sctp") => {
            let profile: rexmit_sctp::Profile = whole(table)?;
            profile.check().map_err(wrong)?;
            Ok(StackProfile::Sctp(Arc::new(profile)))
        }
        Some("quic") => {
            let profile: QuicProfile = whole(table)?;
            profile.check().map_err(wrong)?;
            Ok(StackProfile::Quic(Arc::new(profile)))
        }
        _ => {
            let allowed = "not a protocol of a profile; allowed: \"tcp\", \"sctp\" or \"quic\"";
            Err(SpecError::new("protocol", allowed))
        }
    }
}

fn whole<T: DeserializeOwned>(table: Value) -> Result<T, SpecError> {
    read(table).map_err(|mut e| {
        if e.message.ends_with(" is missing") {
            e.message += "; a profile that inherits nothing states every value: \
                          add `inherits = \"rfc\"` or another profile";
        }
        e
    })
}

/// The merged table of a stack.
fn tables(stack: &Value, depth: usize) -> Result<Value, SpecError> {
    if depth > MAX_DEPTH {
        return Err(SpecError::new("inherits", format!("more than {MAX_DEPTH} profiles in a row")));
    }
    match stack {
        Value::String(name) => named(name, depth),
        Value::Object(map) => inherited(map.clone(), depth),
        _ => Err(SpecError::new("", "a stack is the name of a profile, a file, or a table that inherits")),
    }
}

fn named(name: &str, depth: usize) -> Result<Value, SpecError> {
    if let Some(builtin) = BUILTIN.get(name) {
        return Ok(builtin.table(name).clone());
    }
    if name.ends_with(".toml") || name.contains('/') {
        let text = read_text(Path::new(name), MOST_PROFILE_BYTES)
            .map_err(|e| SpecError::new("", format!("cannot read the profile {name}: {e}")))?;
        return inherited(parse(name, &text)?, depth);
    }
    let known: Vec<&str> = FILES.iter().map(|(n, _)| *n).collect();
    Err(SpecError::new("", unknown_name("profile", name, &known)))
}

/// The profile of Linux 6.1 with its defaults.
const KERNEL: &str = "linux-6.1";

/// What the built-in profile of this name changes in that kernel; `None` where it is not a variant of it.
pub(crate) fn variant_of_kernel(name: &str) -> Option<&'static Value> {
    BUILTIN.get(name)?.variant(name)
}

fn inherited(mut map: Map<String, Value>, depth: usize) -> Result<Value, SpecError> {
    map.remove("sources");
    match map.remove("inherits") {
        None => Ok(Value::Object(map)),
        Some(parent) => {
            let mut base = tables(&parent, depth + 1)?;
            refuse_idle_buffer(&base, &map)?;
            merge(&mut base, Value::Object(map));
            Ok(base)
        }
    }
}

/// Refuses a receive buffer of its own together with inherited tuning, which alone sets the window.
fn refuse_idle_buffer(base: &Value, own: &Map<String, Value>) -> Result<(), SpecError> {
    let is_set = |key: &str, name: &str| own.get(key).is_some_and(|table| table.get(name).is_some());
    let is_tuned =
        base.get("window").is_some_and(|window| window.get("tuning").is_some_and(|one| !one.is_null()));
    if !is_tuned || !is_set("buffers", "receive") || is_set("window", "tuning") {
        return Ok(());
    }
    let text = "has no effect beside the inherited window.tuning; set window.tuning = { first = \"64 KiB\", \
                most = \"64 KiB\" }: half of it is window";
    Err(SpecError::new("buffers.receive", text))
}

fn parse(name: &str, text: &str) -> Result<Map<String, Value>, SpecError> {
    toml::from_str(text).map_err(|e| {
        SpecError::new("", format!("the profile {name} is not TOML: {}", e.message().replace('\n', " ")))
    })
}

/// Values of `over` replace those of `base`; tables are merged.
fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                match base.get_mut(&key) {
                    Some(old) if old.is_object() && value.is_object() => merge(old, value),
                    _ => {
                        base.insert(key, value);
                    }
                }
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
#[path = "profiles_tests.rs"]
mod tests;
