//! `hosts.X.stack = { program = "./mine" }`: a program of one's own as a host's stack.

use rexmit_stacks::PROGRAM_KEYS;
use serde_json::{Value, json};

use crate::SpecError;
use crate::kernel_names::set;

/// The code that runs it.
const CODE: &str = "program";

/// Writes out what a program in the place of a stack says: the code, and the profile where none is named, by its protocol.
pub(crate) fn name_stack_programs(scenario: &mut Value) -> Result<(), SpecError> {
    let hosts = scenario.get_mut("hosts").and_then(Value::as_object_mut);
    for (name, table) in hosts.into_iter().flatten() {
        let Some(stack) = table.get_mut("stack").and_then(Value::as_object_mut) else { continue };
        if !stack.contains_key("program") {
            continue;
        }
        let profile = match stack.get("protocol").and_then(Value::as_str) {
            Some("sctp") => "rfc9260",
            Some("quic") => "rfc9000",
            _ => "rfc",
        };
        stack.entry("inherits").or_insert_with(|| json!(profile));
        set(table, "code", CODE).map_err(|e| e.within(&format!("hosts.{name}")))?;
    }
    Ok(())
}

/// A stack without what is about its program, as profiles have it.
pub(crate) fn profile_of(stack: &Value) -> Option<Value> {
    let table = stack.as_object().filter(|table| table.contains_key("program"))?;
    let rest = table.iter().filter(|(key, _)| !PROGRAM_KEYS.contains(&key.as_str()));
    Some(Value::Object(rest.map(|(key, value)| (key.clone(), value.clone())).collect()))
}

/// Puts what a stack says of its program next to the values of the whole profile.
pub(crate) fn add_program(profile: &mut Value, stack: &Value) {
    let table = stack.as_object().filter(|table| table.contains_key("program"));
    for (key, value) in table.into_iter().flatten().filter(|(key, _)| PROGRAM_KEYS.contains(&key.as_str())) {
        profile[key] = value.clone();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Resolved;

    fn resolved(server: Value, client: &str) -> Result<Resolved, String> {
        let scenario = json!({
            "hosts": { "server": server, "client": { "stack": client } },
            "transfers": [{ "from": "server", "to": "client", "writes": "10 bytes" }],
        });
        Resolved::from_value(scenario).map_err(|e| e.to_string())
    }

    #[test]
    fn a_program_is_a_profile_and_a_code() {
        for (stack, client, protocol) in [
            (json!({ "program": "./mine --fast" }), "rfc", "tcp"),
            (json!({ "inherits": "linux-6.1", "program": ["./mine"], "settings": { "a": 1 } }), "rfc", "tcp"),
            (json!({ "protocol": "sctp", "program": "./mine" }), "rfc9260", "sctp"),
            (json!({ "protocol": "quic", "program": "./mine" }), "rfc9000", "quic"),
        ] {
            let client =
                if protocol == "quic" { json!({ "stack": stack }) } else { json!({ "stack": client }) };
            let scenario = json!({
                "hosts": { "server": { "stack": stack }, "client": client },
                "transfers": [{ "from": "server", "to": "client", "writes": "10 bytes" }],
            });
            let found = match Resolved::from_value(scenario) {
                Ok(found) => found,
                Err(e) if protocol == "quic" && e.to_string().contains("no model") => continue,
                Err(e) => panic!("{stack}: {e}"),
            };
            assert_eq!(found.protocol(), protocol);
            let server = found.network.hosts().next().unwrap();
            assert_eq!(found.codes[server].about().name, "program");
        }
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let told = |server: Value| resolved(server, "rfc").unwrap_err();
        let contradicts = told(json!({ "stack": { "program": "./mine" }, "code": "model" }));
        assert_eq!(contradicts, r#"hosts.server.code: "model" contradicts `stack`, which says "program""#);
        let unknown = told(json!({ "stack": { "program": "./mine", "programm": 1 } }));
        assert!(unknown.starts_with("hosts.server.stack.programm: unknown key"), "{unknown}");
    }
}
