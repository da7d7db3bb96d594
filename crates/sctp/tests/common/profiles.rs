//! Profiles read from `profiles/*.toml`, with single values changed.
//!
//! Profiles inherit as in `crates/scenario/src/profiles.rs`, which these tests do without: it uses this crate, so that
//! all that it needs would be compiled before any of them.

use std::path::Path;
use std::sync::Arc;

use rexmit_sctp::Profile;
use serde_json::Value;

/// The profile `name` with the values of `changes` in place of its own.
pub fn profile(name: &str, changes: Value) -> Arc<Profile> {
    let mut table = load(name);
    merge(&mut table, changes);
    let profile: Profile = serde_json::from_value(table).unwrap_or_else(|e| panic!("{name}: {e}"));
    profile.check().unwrap_or_else(|e| panic!("{name}: {e:?}"));
    Arc::new(profile)
}

/// lksctp of Linux 2.6.15 with the values of `changes` in place of its own.
pub fn lksctp(changes: Value) -> Arc<Profile> {
    profile("lksctp-2.6.15", changes)
}

/// RFC 9260 with the values of `changes` in place of its own.
pub fn rfc(changes: Value) -> Arc<Profile> {
    profile("rfc9260", changes)
}

fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("../../profiles/{name}.toml"));
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut table: Value = toml::from_str(&text).unwrap_or_else(|e| panic!("{name}: {e}"));
    let map = table.as_object_mut().expect("a profile is a table");
    map.remove("sources");
    map.remove("protocol");
    match map.remove("inherits") {
        Some(Value::String(parent)) => {
            let mut base = load(&parent);
            merge(&mut base, table);
            base
        }
        _ => table,
    }
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (_, Value::Null) => {}
        (base, over) => *base = over,
    }
}
