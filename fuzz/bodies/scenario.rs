//! Text as the TOML of a study, as far as the engine reads it: its scenario, and the first level of each factor set in
//! it. No input panics, an error is one line, and what is resolved is resolved again to the same.

use rexmit_scenario::{Resolved, set};
use serde_json::Value;

use crate::profile::{names_a_file, one_line};

/// Runs one input.
pub fn run(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(mut study) = toml::from_str::<Value>(text) else { return };
    let vary = study.get_mut("vary").map(Value::take).unwrap_or_default();
    let mut scenario = match study.get_mut("scenario") {
        Some(scenario) => scenario.take(),
        None => study,
    };
    for (key, levels) in vary.as_object().into_iter().flatten() {
        let levels = levels.get("levels").unwrap_or(levels);
        let level = levels.get(0).unwrap_or(levels);
        if let Err(error) = set(&mut scenario, key, level.clone()) {
            return one_line(&error.to_string());
        }
    }
    if names_a_file(&scenario) {
        return;
    }
    match Resolved::from_value(scenario) {
        Ok(resolved) => look(&resolved),
        Err(error) => one_line(&error.to_string()),
    }
}

fn look(resolved: &Resolved) {
    let written = serde_json::to_value(&resolved.scenario).expect("a scenario is JSON");
    let again = Resolved::from_value(written).expect("it was written by us");
    assert_eq!(again.to_value(), resolved.to_value());
    resolved.warnings().iter().for_each(|warning| one_line(warning));
    let mut keys = resolved.unsupported_by_kernel();
    match resolved.unsupported_in_virtual_time() {
        Ok(more) => keys.extend(more),
        Err(error) => one_line(&error.to_string()),
    }
    keys.iter().for_each(|key| one_line(key));
}
