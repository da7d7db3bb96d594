//! `hosts.X.stack = "linux:6.12"`: the kernel itself in place of a profile.

use serde_json::{Value, json};

use crate::SpecError;

/// What begins the name of a kernel where a profile's name stands.
const PREFIX: &str = "linux:";
/// The profile that gives such a host its protocol.
const PROFILE: &str = "linux-6.1";
/// The code that runs it.
const CODE: &str = "linux";

/// Writes out what the name of a kernel says: the profile, the code, the kernel's version.
pub(crate) fn name_kernels(scenario: &mut Value) -> Result<(), SpecError> {
    let hosts = scenario.get_mut("hosts").and_then(Value::as_object_mut);
    for (name, table) in hosts.into_iter().flatten() {
        let Some(stack) = table.get_mut("stack") else { continue };
        let stack = if stack.is_object() { stack.get_mut("inherits") } else { Some(stack) };
        let Some(stack) = stack else { continue };
        let Some(version) = stack.as_str().and_then(|stack| stack.strip_prefix(PREFIX)) else { continue };
        let version = version.to_string();
        *stack = json!(PROFILE);
        set(table, "code", CODE).map_err(|e| e.within(&format!("hosts.{name}")))?;
        if !version.is_empty() {
            let linux = table.as_object_mut().map(|table| table.entry("linux").or_insert_with(|| json!({})));
            let Some(linux) = linux.filter(|linux| linux.is_object()) else { continue };
            set(linux, "version", &version).map_err(|e| e.within(&format!("hosts.{name}.linux")))?;
        }
    }
    Ok(())
}

/// Sets a key that is not there, and refuses one that says otherwise.
pub(crate) fn set(table: &mut Value, key: &str, value: &str) -> Result<(), SpecError> {
    match table.get(key).filter(|known| !known.is_null()) {
        Some(known) if known != value => {
            Err(SpecError::new(key, format!("{known} contradicts `stack`, which says {value:?}")))
        }
        _ => {
            table[key] = json!(value);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(server: Value) -> Result<Value, String> {
        let mut scenario = json!({ "hosts": { "server": server, "client": { "stack": "rfc" } } });
        name_kernels(&mut scenario).map_err(|e| e.to_string())?;
        Ok(scenario["hosts"]["server"].take())
    }

    #[test]
    fn the_name_of_a_kernel_is_a_profile_a_code_and_a_version() {
        let whole = json!({ "stack": "linux-6.1", "code": "linux", "linux": { "version": "6.12" } });
        assert_eq!(named(json!({ "stack": "linux:6.12" })), Ok(whole));
        let table = json!({ "stack": { "inherits": "linux:", "output": { "nagle": false } }, "linux": { "sack": false } });
        let written = named(table).unwrap();
        assert_eq!(written["stack"]["inherits"], "linux-6.1");
        assert_eq!(written["linux"], json!({ "sack": false }));
        assert_eq!(named(json!({ "stack": "rfc" })), Ok(json!({ "stack": "rfc" })));
    }

    #[test]
    fn what_contradicts_it_is_refused() {
        let told = named(json!({ "stack": "linux:6.12", "code": "model" })).unwrap_err();
        assert_eq!(told, r#"hosts.server.code: "model" contradicts `stack`, which says "linux""#);
        let told = named(json!({ "stack": "linux:6.12", "linux": { "version": "6.1" } })).unwrap_err();
        assert_eq!(told, r#"hosts.server.linux.version: "6.1" contradicts `stack`, which says "6.12""#);
    }
}
