//! Settings by their dotted names.

use serde_json::{Map, Value};

use crate::SpecError;

/// The keys on the way to a setting: that of a sysctl, such as `hosts.server.linux.sysctl.net.ipv4.tcp_ecn`, has dots itself.
fn parts_of(key: &str) -> Vec<&str> {
    match key.split_once(".linux.sysctl.") {
        Some((tables, last)) => tables.split('.').chain(["linux", "sysctl", last]).collect(),
        None => key.split('.').collect(),
    }
}

/// Sets `key` (dotted, `transfers.0.writes` for a list) in `scenario` to `value`.
///
/// Tables on the way are made where they are missing. A stack given by its name becomes a table that inherits
/// from it, so that `hosts.server.stack.recovery.dupack_threshold` can be varied.
///
/// # Errors
/// Where the name goes through something that is not a table, or an index is not there.
pub fn set(scenario: &mut Value, key: &str, value: Value) -> Result<(), SpecError> {
    let parts = parts_of(key);
    if parts.iter().any(|p| p.is_empty()) {
        return Err(SpecError::new(key, "a setting is named by words with dots between, such as path.rate"));
    }
    let mut node = scenario;
    for (i, part) in parts.iter().enumerate() {
        let last = i + 1 == parts.len();
        if node.is_null() {
            *node = Value::Object(Map::new());
        }
        if parts[..i].last() == Some(&"stack") && node.is_string() {
            let name = node.take();
            *node = serde_json::json!({ "inherits": name });
        }
        node = match node {
            Value::Object(map) => map.entry((*part).to_string()).or_insert(Value::Null),
            Value::Array(list) => {
                let n = list.len();
                part.parse::<usize>().ok().and_then(|i| list.get_mut(i)).ok_or_else(|| {
                    SpecError::new(
                        key,
                        format!("`{part}` must be the number of an entry, 0 to {}", n.saturating_sub(1)),
                    )
                })?
            }
            _ => {
                return Err(SpecError::new(
                    key,
                    format!("`{}` is a value, not a table", parts[..i].join(".")),
                ));
            }
        };
        if last {
            *node = value;
            return Ok(());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_name_of_a_sysctl_is_one_key() {
        let mut scenario = json!({});
        set(&mut scenario, "hosts.server.linux.sysctl.net.ipv4.tcp_ecn", json!(1)).unwrap();
        set(&mut scenario, "hosts.server.linux.nagle", json!(true)).unwrap();
        let linux = json!({ "sysctl": { "net.ipv4.tcp_ecn": 1 }, "nagle": true });
        assert_eq!(scenario, json!({ "hosts": { "server": { "linux": linux } } }));
        assert!(set(&mut scenario, "hosts.server.linux.sysctl.", json!(1)).is_err());
    }
}
