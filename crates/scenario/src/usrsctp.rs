//! What usrsctp, run as a third-party stack, can be asked for of what a scenario says about a host.

use std::str::FromStr;

use rexmit_units::{Bytes, Duration};
use rexmit_usrsctp::UsrsctpConfig;
use serde_json::Value;

use crate::kernel::flatten;
use crate::scenario::HostSpec;

impl HostSpec {
    /// The settings of usrsctp at this host, and the keys that it cannot have. It is a system of its own, so the profile's
    /// name means nothing to it; single values that the scenario changes in a profile count where the library has a
    /// setting for them, and what stands in `usrsctp` counts before those.
    pub fn usrsctp_settings(&self) -> (UsrsctpConfig, Vec<String>) {
        let mut settings = UsrsctpConfig::default();
        let mut changes = Vec::new();
        if self.stack.get("inherits").is_some() {
            flatten("", &self.stack, &mut changes);
        }
        let mut unsupported = Vec::new();
        for (key, value) in changes {
            if translate(&key, &value, &mut settings).is_none() {
                unsupported.push(format!("stack.{key}"));
            }
        }
        let given = self.usrsctp.as_ref().and_then(|table| table.as_object()).cloned().unwrap_or_default();
        let mut whole = serde_json::to_value(&settings).unwrap_or_default();
        for (key, value) in given {
            whole[key] = value;
        }
        (serde_json::from_value(whole).unwrap_or(settings), unsupported)
    }
}

/// Sets what a value of a profile is in the library; `None` where it has no such setting.
fn translate(key: &str, value: &Value, settings: &mut UsrsctpConfig) -> Option<()> {
    fn text<T: FromStr>(value: &Value) -> Option<T> {
        value.as_str()?.parse().ok()
    }
    fn number<T: TryFrom<u64>>(value: &Value) -> Option<T> {
        value.as_u64()?.try_into().ok()
    }
    match key {
        "protocol" => (value.as_str() == Some("sctp")).then_some(())?,
        "rto.initial" => settings.rto_initial = text(value)?,
        "rto.min" => settings.rto_min = text(value)?,
        "rto.max" => settings.rto_max = text(value)?,
        "sack.delay" => settings.sack_delay = text::<Duration>(value)?,
        "sack.packets" => settings.sack_frequency = number(value)?,
        "congestion.max_burst" => settings.max_burst = number(value)?,
        "output.nagle" => settings.nodelay = !value.as_bool()?,
        "buffers.send" => settings.send_buffer = text::<Bytes>(value)?,
        "buffers.receive" => settings.receive_buffer = text(value)?,
        "association.outbound_streams" => settings.streams = number(value)?,
        "association.max_init_retransmits" => settings.init_retransmits = number(value)?,
        "association.max_retransmits" => settings.association_retransmits = number(value)?,
        "association.path_max_retransmits" => settings.path_retransmits = number(value)?,
        "heartbeat.interval" => settings.heartbeat = text(value)?,
        "heartbeat.enabled" if value.as_bool() == Some(false) => settings.heartbeat = Duration::ZERO,
        _ => return None,
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn host(value: Value) -> HostSpec {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn single_values_of_a_profile_are_settings_of_the_library() {
        let (settings, unsupported) = host(json!({
            "stack": { "inherits": "rfc9260", "rto": { "min": "200 ms" }, "sack": { "delay": "0 ns" },
                       "recovery": { "fast_recovery": false } },
            "usrsctp": { "streams": 3, "rto_min": "300 ms" },
        }))
        .usrsctp_settings();
        assert_eq!((settings.sack_delay, settings.streams), (Duration::ZERO, 3));
        assert_eq!(settings.rto_min, Duration::from_millis(300), "its own table counts first");
        assert_eq!(unsupported, ["stack.recovery.fast_recovery"]);
    }

    #[test]
    fn the_name_of_a_profile_changes_nothing() {
        let (settings, unsupported) = host(json!({ "stack": "lksctp-2.6.15" })).usrsctp_settings();
        assert_eq!((settings, unsupported.len()), (UsrsctpConfig::default(), 0));
    }
}
