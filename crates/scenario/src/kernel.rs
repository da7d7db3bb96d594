//! Which settings of a scenario's host a real kernel can be asked for.

use rexmit_stack::changed_values;
use rexmit_units::Duration;
use serde_json::Value;

use crate::host_spec::HostSpec;
use crate::linux::LinuxSpec;
use crate::profiles::variant_of_kernel;

/// The settings of a host's kernel, and what of the scenario it does not support.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KernelSettings {
    /// What is set.
    pub linux: LinuxSpec,
    /// Keys of the stack, such as `stack.clock.tick`, for which the kernel has no knob.
    pub unsupported: Vec<String>,
}

impl HostSpec {
    /// What a real kernel is set to. It is a system of its own, so the profile's name means nothing to it, except
    /// where it names a variant of that kernel, such as `linux-6.1-no-rack`; single values that the scenario changes in a
    /// profile count where the kernel has a knob for them, and what stands in `linux` counts before those.
    pub fn kernel_settings(&self) -> KernelSettings {
        let mut settings = KernelSettings::default();
        let named = self.stack.as_str().or_else(|| self.stack.get("inherits")?.as_str());
        let variant = named.and_then(variant_of_kernel).map(changed_values).unwrap_or_default();
        let own = changed_values(&self.stack);
        // Where a program begins is not written by anybody.
        for (key, value) in variant.into_iter().chain(own).filter(|(key, _)| key != "folder") {
            if translate(&key, &value, &mut settings.linux).is_none() {
                settings.unsupported.push(format!("stack.{key}"));
            }
        }
        settings.linux = self.linux.clone().over(settings.linux);
        settings
    }
}

/// Sets what a value of a profile is on Linux; `None` where Linux has no such knob.
fn translate(key: &str, value: &Value, linux: &mut LinuxSpec) -> Option<()> {
    let on = || value.as_bool();
    let number = || value.as_u64().and_then(|n| u32::try_from(n).ok());
    let small = || value.as_u64().and_then(|n| u8::try_from(n).ok());
    let text = || value.as_str();
    match key {
        "ecn.mode" => {
            linux.ecn = Some(match text()? {
                "off" => 0,
                "on" => 1,
                "grant" => 2,
                _ => return None,
            });
        }
        "ecn.fallback" => {
            let name = "net.ipv4.tcp_ecn_fallback";
            linux.sysctl.insert(name.into(), crate::SysctlValue::Number(on()?.into()));
        }
        "options.sack" => linux.sack = Some(on()?),
        "options.dsack" => linux.dsack = Some(on()?),
        "options.timestamps" => linux.timestamps = Some(on()?),
        "options.window_scaling" => linux.window_scaling = Some(on()?),
        "congestion.algorithm" => linux.congestion = Some(text()?.to_string()),
        "initial_window" => {
            linux.initial_window = Some(match text() {
                Some("rfc6928") => 10,
                Some(_) => return None,
                None => number()?,
            });
        }
        "rtt.min_rto" => linux.rto_min = Some(text()?.parse().ok()?),
        "recovery.dupack_threshold" => linux.reordering = Some(number()?),
        "recovery.rack" => linux.recovery = Some(on()?.into()),
        "recovery.tail_probe" => linux.early_retrans = Some(if on()? { 3 } else { 0 }),
        "recovery.frto" => linux.frto = Some(if on()? { 2 } else { 0 }),
        "thin.linear_timeouts" => linux.thin_linear_timeouts = Some(on()?),
        "recovery.max_retransmits" => {
            linux.sysctl.insert("net.ipv4.tcp_retries2".into(), crate::SysctlValue::Number(number()?.into()));
        }
        "handshake.syn_retries" => linux.syn_retries = Some(small()?),
        "handshake.syn_ack_retries" => linux.synack_retries = Some(small()?),
        "output.nagle" => {
            linux.nagle = Some(match (on(), text()) {
                (Some(on), _) => on,
                (None, Some("off")) => false,
                (None, Some("minshall")) => true,
                _ => return None,
            });
        }
        _ => return translate_sctp(key, value, linux),
    }
    Some(())
}

/// The same of keys that only profiles of SCTP have. lksctp counts its times in whole milliseconds.
fn translate_sctp(key: &str, value: &Value, linux: &mut LinuxSpec) -> Option<()> {
    let number = || value.as_u64().and_then(|n| i64::try_from(n).ok());
    let time = || value.as_str()?.parse::<Duration>().ok();
    let ms = || {
        time().filter(|d| d.as_nanos().is_multiple_of(1_000_000)).map(|d| (d.as_nanos() / 1_000_000) as i64)
    };
    let (name, number) = match key {
        "rto.initial" => ("rto_initial", ms()?),
        "rto.min" => ("rto_min", ms()?),
        "rto.max" => ("rto_max", ms()?),
        "association.cookie_life" => ("valid_cookie_life", ms()?),
        "association.max_init_retransmits" => ("max_init_retransmits", number()?),
        "association.max_retransmits" => ("association_max_retrans", number()?),
        "association.path_max_retransmits" => ("path_max_retrans", number()?),
        "association.partial_reliability" => ("prsctp_enable", value.as_bool()?.into()),
        "congestion.max_burst" => ("max_burst", number()?),
        "heartbeat.interval" => ("hb_interval", ms()?),
        "heartbeat.enabled" => {
            linux.sctp_heartbeat = Some(value.as_bool()?);
            return Some(());
        }
        "association.outbound_streams" => {
            linux.sctp_streams = Some(u16::try_from(number()?).ok()?);
            return Some(());
        }
        "sack.packets" => {
            linux.sctp_sack_packets = Some(u32::try_from(number()?).ok()?);
            return Some(());
        }
        "sack.delay" => {
            linux.sctp_sack_delay = Some(time().filter(|_| ms().is_some_and(|ms| ms <= 500))?);
            return Some(());
        }
        _ => return None,
    };
    linux.sysctl.insert(format!("net.sctp.{name}"), crate::SysctlValue::Number(number));
    Some(())
}

impl LinuxSpec {
    /// These settings, and those of `under` where they say nothing.
    #[must_use]
    pub fn over(self, under: Self) -> Self {
        macro_rules! first {
            ($($field:ident),*) => {
                Self { $($field: self.$field.or(under.$field),)* sysctl: {
                    let mut all = under.sysctl;
                    all.extend(self.sysctl);
                    all
                } }
            };
        }
        first!(
            version,
            congestion,
            sack,
            dsack,
            timestamps,
            window_scaling,
            ecn,
            early_retrans,
            recovery,
            frto,
            reordering,
            slow_start_after_idle,
            thin_linear_timeouts,
            no_metrics_save,
            initial_window,
            initial_receive_window,
            rto_min,
            quick_ack,
            syn_retries,
            synack_retries,
            send_buffer,
            receive_buffer,
            nagle,
            offloads,
            sctp_sack_delay,
            sctp_sack_packets,
            sctp_streams,
            sctp_heartbeat
        )
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(host: Value) -> KernelSettings {
        serde_json::from_value::<HostSpec>(host).unwrap().kernel_settings()
    }

    #[test]
    fn a_name_means_nothing_to_a_real_kernel() {
        assert_eq!(settings(json!({ "stack": "freebsd-6.0" })), KernelSettings::default());
    }

    #[test]
    fn a_variant_of_the_kernel_is_set_as_its_profile_says() {
        let without = settings(json!({ "stack": "linux-6.1-no-rack" }));
        assert_eq!((without.linux.recovery, without.linux.early_retrans), (Some(0), Some(0)));
        assert!(without.unsupported.is_empty(), "{:?}", without.unsupported);
        assert_eq!(settings(json!({ "stack": "linux-6.1" })), KernelSettings::default());
        let stack = json!({ "inherits": "linux-6.1-no-rack", "recovery": { "rack": true } });
        let changed = settings(json!({ "stack": stack, "linux": { "early_retrans": 3 } })).linux;
        assert_eq!((changed.recovery, changed.early_retrans), (Some(1), Some(3)));
    }

    #[test]
    fn changed_values_are_translated_or_named() {
        let stack = json!({
            "inherits": "rfc",
            "options": { "sack": false },
            "rtt": { "min_rto": "100 ms" },
            "congestion": { "algorithm": "reno" },
            "clock": { "tick": "1 ms" },
        });
        let found = settings(json!({ "stack": stack }));
        assert_eq!(found.linux.sack, Some(false));
        assert_eq!(found.linux.rto_min, Some("100 ms".parse().unwrap()));
        assert_eq!(found.linux.congestion.as_deref(), Some("reno"));
        assert_eq!(found.unsupported, ["stack.clock.tick"]);
    }

    #[test]
    fn how_losses_are_found_is_the_kernels_own_setting() {
        let recovery = json!({ "rack": false, "tail_probe": false, "frto": true });
        let stack =
            json!({ "inherits": "linux-6.1", "recovery": recovery, "thin": { "linear_timeouts": true } });
        let found = settings(json!({ "stack": stack }));
        let linux = &found.linux;
        assert_eq!((linux.recovery, linux.early_retrans, linux.frto), (Some(0), Some(0), Some(2)));
        assert_eq!((linux.thin_linear_timeouts, found.unsupported.len()), (Some(true), 0));
        let on = json!({ "inherits": "linux-6.1", "recovery": { "rack": true, "tail_probe": true } });
        let found = settings(json!({ "stack": on })).linux;
        assert_eq!((found.recovery, found.early_retrans), (Some(1), Some(3)));
    }

    #[test]
    fn ecn_is_a_sysctl_and_dctcp_a_congestion_control() {
        let ecn = |ecn: Value| settings(json!({ "stack": { "inherits": "linux-6.1", "ecn": ecn } }));
        for (mode, number) in [("off", 0), ("on", 1), ("grant", 2)] {
            assert_eq!(ecn(json!({ "mode": mode })).linux.ecn, Some(number));
        }
        let found = ecn(json!({ "fallback": false, "quick_acks": 0 }));
        let sysctls: Vec<_> = found.linux.sysctl.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(sysctls, ["net.ipv4.tcp_ecn_fallback=0"]);
        assert_eq!(found.unsupported, ["stack.ecn.quick_acks"]);
        let stack = json!({ "inherits": "linux-6.1", "congestion": { "algorithm": "dctcp" } });
        assert_eq!(settings(json!({ "stack": stack })).linux.congestion.as_deref(), Some("dctcp"));
    }

    #[test]
    fn what_stands_in_linux_counts_first() {
        let stack = json!({ "inherits": "rfc", "options": { "sack": false, "dsack": false } });
        let found = settings(json!({ "stack": stack, "linux": { "sack": true, "recovery": 0 } }));
        assert_eq!(
            (found.linux.sack, found.linux.dsack, found.linux.recovery),
            (Some(true), Some(false), Some(0))
        );
    }

    #[test]
    fn lksctp_has_knobs_for_times_and_counts() {
        let stack = json!({
            "inherits": "lksctp-2.6.15",
            "rto": { "min": "200 ms", "initial": "1500 us" },
            "association": { "path_max_retransmits": 3, "outbound_streams": 4 },
            "sack": { "delay": "0 ns", "packets": 1 },
            "heartbeat": { "enabled": false, "interval": "5 s" },
            "output": { "nagle": true },
            "thin": { "fast_retransmit_reports": 1 },
        });
        let found = settings(json!({ "stack": stack, "linux": { "sysctl": { "net.sctp.rto_min": 100 } } }));
        let sysctls: Vec<_> = found.linux.sysctl.iter().map(|(k, v)| format!("{k}={v}")).collect();
        assert_eq!(
            sysctls,
            ["net.sctp.hb_interval=5000", "net.sctp.path_max_retrans=3", "net.sctp.rto_min=100"]
        );
        assert_eq!((found.linux.nagle, found.linux.sctp_heartbeat), (Some(true), Some(false)));
        assert_eq!(found.linux.sctp_sack_delay, Some(Duration::ZERO));
        assert_eq!((found.linux.sctp_sack_packets, found.linux.sctp_streams), (Some(1), Some(4)));
        let unsupported = ["stack.rto.initial", "stack.thin.fast_retransmit_reports"];
        assert_eq!(found.unsupported, unsupported);
    }
}
