use serde_json::json;

use super::*;

fn leaves(prefix: &str, value: &Value, out: &mut Vec<String>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let name = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                leaves(&name, value, out);
            }
        }
        _ => out.push(prefix.to_string()),
    }
}

#[test]
fn every_value_of_every_profile_has_its_source() {
    for (name, text) in FILES {
        let mut map = parse(name, text).unwrap();
        let sources = map.remove("sources").unwrap_or_else(|| panic!("{name} has no [sources]"));
        map.remove("summary");
        map.remove("inherits");
        let mut keys = Vec::new();
        leaves("", &Value::Object(map), &mut keys);
        for key in &keys {
            assert!(
                sources.get(key).is_some_and(|s| s.as_str().is_some_and(|s| !s.is_empty())),
                "{name}: {key}"
            );
        }
        for key in sources.as_object().unwrap().keys() {
            assert!(keys.contains(key), "{name}: a source for {key}, which is not there");
        }
    }
}

#[test]
fn a_table_inherits_and_changes_single_values() {
    let stack = json!({ "inherits": "freebsd-6.0", "recovery": { "dupack_threshold": 2 } });
    let StackProfile::Tcp(profile) = resolve_profile(&stack).unwrap() else { panic!("a TCP") };
    assert_eq!(profile.recovery.dupack_threshold, 2);
    assert_eq!(profile.recovery.limited_transmit, 2);
}

/// Together with tuning, which goes on from its own first size, it would change nothing and say nothing.
#[test]
fn a_receive_buffer_without_effect_is_refused() {
    let error = |v: Value| resolve_profile(&v).map(|_| ()).map_err(|e| e.to_string());
    let receive = json!({ "receive": "16 kB" });
    assert_eq!(
        error(json!({ "inherits": "linux-6.1", "buffers": receive })),
        Err("buffers.receive: has no effect beside the inherited window.tuning; set window.tuning = \
             { first = \"64 KiB\", most = \"64 KiB\" }: half of it is window"
            .into())
    );
    let tuning = json!({ "tuning": { "first": "32 KiB", "most": "32 KiB" } });
    assert_eq!(error(json!({ "inherits": "linux-6.1", "buffers": receive, "window": tuning })), Ok(()));
    assert_eq!(error(json!({ "inherits": "freebsd-6.0", "buffers": receive })), Ok(()));
}

#[test]
fn an_unknown_name_or_key_is_told_with_the_nearest() {
    let error = |v: Value| resolve_profile(&v).unwrap_err().to_string();
    for stack in [json!("freebsd-6.1"), json!({ "inherits": "freebsd-6.1" })] {
        let text = error(stack);
        let told = "unknown profile `freebsd-6.1`: did you mean `freebsd-6.0`?; known here: ";
        assert!(text.contains(told), "{text}");
    }
    let text = error(json!({ "inherits": "freebsd-6.0", "recovery": { "dupack_treshold": 2 } }));
    assert!(text.contains("did you mean `dupack_threshold`?") && text.contains("recovery"), "{text}");
    let text = error(json!({ "inherits": "freebsd-6.0", "rtt": { "slop": "200" } }));
    assert!(text.contains("rtt.slop"), "{text}");
}

/// Each of these may be a number or a text: the error says what, and where.
#[test]
fn what_may_be_a_number_or_a_text_says_so() {
    let window = |value: Value| {
        resolve_profile(&json!({ "inherits": "rfc", "initial_window": value })).map_err(|e| e.to_string())
    };
    for name in ["rfc3390", "rfc6928", "rfc3390-segments"] {
        assert!(window(json!(name)).is_ok(), "{name}");
    }
    assert!(window(json!(10)).is_ok());
    for wrong in [json!("rfc3391"), json!(-1), json!(2.5), json!(true), json!([1])] {
        assert_eq!(
            window(wrong).unwrap_err(),
            "initial_window: not an initial window; allowed: a number of segments, such as 10, or \"rfc3390\", \
             \"rfc6928\" or \"rfc3390-segments\""
        );
    }
    let sysctl = crate::error::read::<crate::linux::LinuxSpec>(json!({ "sysctl": { "net.x": true } }));
    assert_eq!(
        sysctl.unwrap_err().to_string(),
        "sysctl.net.x: not a value of a sysctl; allowed: a whole number, or a text in quotes"
    );
}

#[test]
fn rules_of_the_rfcs_say_what_they_go_with() {
    let error = |v: Value| resolve_profile(&v).unwrap_err().to_string();
    let rack = json!({ "inherits": "freebsd-6.0", "recovery": { "rack": true } });
    assert!(error(rack).contains("recovery.rack: goes with recovery.sack = \"rfc6675\""));
    let prr = json!({ "inherits": "linux-6.1", "recovery": { "prr": "rfc9937" } });
    assert!(error(prr).contains("recovery.prr: goes with recovery.sack = \"rfc6675\""));
    let hystart = json!({ "inherits": "linux-6.1", "congestion": { "hystart": "rfc9406" } });
    assert!(error(hystart).contains("goes with `reno` and `cubic` and with growth `per-byte`"));
    let bic = json!({ "inherits": "linux-6.1", "congestion": { "algorithm": "bic" } });
    assert!(error(bic).contains("`bic` is that of Linux 2.6: inherit `linux-2.6.15`"));
}

#[test]
fn an_error_is_one_line_whatever_the_file_holds() {
    let error = |v: Value| resolve_profile(&v).unwrap_err().to_string();
    assert!(error(json!("a\nb\u{1b}[31m")).contains(r"`a\nb\u{1b}[31m`"));
    let text = error(json!({ "inherits": "rfc", "a\r\n": 1 }));
    assert!(text.contains(r"`a\r\n`") && !text.contains(char::is_control), "{text}");
}

/// A table that was read before gives the same profile, and another one its own.
#[test]
fn tables_are_told_apart() {
    let threshold = |number: u8| {
        let stack = json!({ "inherits": "freebsd-6.0", "recovery": { "dupack_threshold": number } });
        let StackProfile::Tcp(profile) = resolve_profile(&stack).unwrap() else { panic!("a TCP") };
        profile.recovery.dupack_threshold
    };
    assert_eq!([2, 4, 2].map(threshold), [2, 4, 2]);
}
