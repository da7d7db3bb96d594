//! Text as the TOML of a profile: no input panics, an error is one line, and a profile that is read is one that can be
//! written and read again.

use rexmit_scenario::resolve_profile;
use serde_json::Value;

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(table) = toml::from_str::<Value>(text) else { return };
    if names_a_file(&table) {
        return;
    }
    match resolve_profile(&table) {
        Ok(stack) => {
            let written = stack.to_value();
            assert_eq!(resolve_profile(&written).as_ref(), Ok(&stack));
            assert!(!stack.clock_period().is_zero());
        }
        Err(error) => one_line(&error.to_string()),
    }
}

/// True where something might be read from this machine's disk: that is not a matter of bytes.
pub fn names_a_file(value: &Value) -> bool {
    match value {
        Value::String(text) => text.ends_with(".toml") || text.contains('/'),
        Value::Array(list) => list.iter().any(names_a_file),
        Value::Object(map) => map.iter().any(|(key, value)| {
            (key == "inherits" || key == "stack" || value.is_object() || value.is_array())
                && names_a_file(value)
        }),
        _ => false,
    }
}

/// What may be printed as it is.
pub fn one_line(message: &str) {
    assert!(!message.is_empty() && !message.contains(char::is_control), "{message:?}");
}
