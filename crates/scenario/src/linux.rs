//! What a host's real kernel is asked for: sysctls, routes and socket options by the field's own names.

use std::collections::BTreeMap;

use rexmit_units::{Bytes, Duration};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::SpecError;

/// Settings of a real Linux kernel, for the backends `uml` and `kernel`. What is absent stays as the kernel has
/// it, except where a default is named here.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct LinuxSpec {
    /// Which kernel it is, on backend `uml` and for the code `linux`: a version such as `"6.12"`, or the beginning of the
    /// hash of one that was built. On `uml` all hosts of a run have the same, so a host that says nothing has the others';
    /// where none says anything it is that of `--kernel`, or the default.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Congestion control, such as `"reno"`, `"cubic"`, `"bbr"` or `"dctcp"` (TCP_CONGESTION; for a program's sockets
    /// `tcp_congestion_control`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub congestion: Option<String>,
    /// Selective acknowledgments (`tcp_sack`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sack: Option<bool>,
    /// Duplicate reports in SACK (`tcp_dsack`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dsack: Option<bool>,
    /// Timestamps option; without random offsets where it is on (`tcp_timestamps` 2).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Window scale option (`tcp_window_scaling`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_scaling: Option<bool>,
    /// Explicit congestion notification: 0 off, 1 asked for, 2 granted when asked (`tcp_ecn`). The model has it as `ecn.mode` of a
    /// stack. Accurate ECN is in no kernel up to 6.12.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<u8>,
    /// Tail loss probes: 0 off, 3 on (`tcp_early_retrans`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub early_retrans: Option<u8>,
    /// RACK, by bits: 0 off, 1 on, 2 static reordering window, 4 no threshold of duplicates (`tcp_recovery`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<u8>,
    /// Forward RTO recovery: 0 off, 2 on (`tcp_frto`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub frto: Option<u8>,
    /// The first threshold of duplicates, segments (`tcp_reordering`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reordering: Option<u32>,
    /// cwnd shrinks after an idle time (`tcp_slow_start_after_idle`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slow_start_after_idle: Option<bool>,
    /// No exponential backoff for thin streams (`tcp_thin_linear_timeouts`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thin_linear_timeouts: Option<bool>,
    /// Nothing is remembered of earlier connections (`tcp_no_metrics_save`). Default: true.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub no_metrics_save: Option<bool>,
    /// First congestion window, segments (`initcwnd` of the route).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// First receive window, segments (`initrwnd` of the route).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_receive_window: Option<u32>,
    /// Least retransmission timeout, whole milliseconds up to 120 s (`rto_min` of the route).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_min: Option<Duration>,
    /// ACKs are not delayed (`quickack` of the route).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub quick_ack: Option<bool>,
    /// Retransmissions of a SYN (`tcp_syn_retries`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub syn_retries: Option<u8>,
    /// Retransmissions of a SYN-ACK (`tcp_synack_retries`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub synack_retries: Option<u8>,
    /// Send buffer of the socket: what an application would ask for; the kernel takes twice as much and no
    /// longer adapts it (SO_SNDBUF, beyond the limit where allowed). TCP asks whether it is full only where it begins a new
    /// super-packet, so that a sender whose congestion window is full queues more.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer of the socket, likewise (SO_RCVBUF).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// Nagle's algorithm; off sets TCP_NODELAY or SCTP_NODELAY. Default: on for TCP, and off for SCTP, so that a message
    /// leaves at once, as lksctp's did by default in 2006.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// The stack may hand several segments at once to its interface (GSO, TSO, GRO). Default: false, so that a
    /// packet is a packet everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offloads: Option<bool>,
    /// SCTP: a SACK comes at most this late, whole milliseconds up to 500; `"0 ns"`: at once (SCTP_DELAYED_SACK).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sctp_sack_delay: Option<Duration>,
    /// SCTP: a SACK comes whenever this many packets with data have come; at least 1 (SCTP_DELAYED_SACK).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sctp_sack_packets: Option<u32>,
    /// SCTP: outgoing streams that it asks for, at least as many as `transfers.N.streams` (SCTP_INITMSG).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sctp_streams: Option<u16>,
    /// SCTP: idle paths are probed (SCTP_PEER_ADDR_PARAMS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sctp_heartbeat: Option<bool>,
    /// Any other sysctl of the host's namespace by its name, such as
    /// `{ "net.ipv4.tcp_rmem" = "4096 131072 6291456" }`. That one and `net.ipv4.tcp_wmem` (`4096 16384 4194304`)
    /// have these values where nothing is said, whatever memory the machine has.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub sysctl: BTreeMap<String, SysctlValue>,
}

/// The value of a sysctl: a number, or text where it has several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged, expecting = "not a value of a sysctl; allowed: a whole number, or a text in quotes")]
pub enum SysctlValue {
    /// One number.
    Number(i64),
    /// Text.
    Text(String),
}

impl std::fmt::Display for SysctlValue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Number(n) => n.fmt(f),
            Self::Text(text) => text.fmt(f),
        }
    }
}

/// No timeout is longer (TCP_RTO_MAX) [Linux 6.1 include/net/tcp.h].
const LONGEST_RTO: Duration = Duration::from_secs(120);

/// The kernel doubles what is asked for, in 31 bits [Linux 6.1 net/core/sock.c, `sk_setsockopt`].
const LARGEST_BUFFER: u64 = (i32::MAX / 2) as u64;

/// Keys of every protocol; those of SCTP alone begin with its name, the others are of TCP.
const BOTH: [&str; 6] = ["version", "send_buffer", "receive_buffer", "nagle", "offloads", "sysctl"];

impl LinuxSpec {
    /// Refuses what no kernel could heed; `host` is whose settings they are.
    pub(crate) fn check(&self, host: &str) -> Result<(), SpecError> {
        let wrong = |key: &str, text: &str| Err(SpecError::new(format!("hosts.{host}.linux.{key}"), text));
        let named = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
        if self.version.as_ref().is_some_and(|name| name.is_empty() || !name.chars().all(named)) {
            return wrong("version", "not the name of a kernel; allowed: such as \"6.12\"");
        }
        let takes = |d: Duration| !d.is_zero() && d.as_nanos().is_multiple_of(1_000_000) && d <= LONGEST_RTO;
        if !self.rto_min.is_none_or(takes) {
            return wrong("rto_min", "a kernel takes whole milliseconds, from 1 ms to 120 s");
        }
        for (key, size) in [("send_buffer", self.send_buffer), ("receive_buffer", self.receive_buffer)] {
            if size.is_some_and(|size| size.as_u64() > LARGEST_BUFFER) {
                return wrong(key, &format!("a kernel takes at most {LARGEST_BUFFER} bytes"));
            }
        }
        for (name, value) in &self.sysctl {
            if value.to_string().chars().any(char::is_control) {
                return wrong("sysctl", &format!("{name:?}: the value is not one line of text"));
            }
        }
        let whole = |d: Duration| d.as_nanos().is_multiple_of(1_000_000) && d <= Duration::from_millis(500);
        if !self.sctp_sack_delay.is_none_or(whole) {
            return wrong("sctp_sack_delay", "a kernel takes whole milliseconds, up to 500 ms");
        }
        if self.sctp_sack_packets == Some(0) || self.sctp_streams == Some(0) {
            let key = if self.sctp_streams == Some(0) { "sctp_streams" } else { "sctp_sack_packets" };
            return wrong(key, "at least 1");
        }
        for (key, value) in
            [("initial_window", self.initial_window), ("initial_receive_window", self.initial_receive_window)]
        {
            if value == Some(0) {
                return wrong(key, "at least one segment; leave it out for the kernel's own");
            }
        }
        Ok(())
    }

    /// Keys that say something here and mean nothing to SCTP, or else to TCP.
    pub(crate) fn of_another_protocol(&self, sctp: bool) -> impl Iterator<Item = String> + use<> {
        let table = serde_json::to_value(self).unwrap_or_default();
        let keys: Vec<String> = table.as_object().into_iter().flat_map(|t| t.keys().cloned()).collect();
        let means = move |key: &str| BOTH.contains(&key) || key.starts_with("sctp_") == sctp;
        keys.into_iter().filter(move |key| !means(key))
    }

    /// Keys that say something here and are of sockets, which programs set themselves.
    pub(crate) fn of_sockets(&self) -> Vec<&'static str> {
        let given = [
            ("send_buffer", self.send_buffer.is_some()),
            ("receive_buffer", self.receive_buffer.is_some()),
            ("nagle", self.nagle.is_some()),
            ("sctp_sack_delay", self.sctp_sack_delay.is_some()),
            ("sctp_sack_packets", self.sctp_sack_packets.is_some()),
            ("sctp_streams", self.sctp_streams.is_some()),
            ("sctp_heartbeat", self.sctp_heartbeat.is_some()),
        ];
        given.into_iter().filter_map(|(key, given)| given.then_some(key)).collect()
    }

    /// Every sysctl that it asks for, by name, in order.
    pub fn sysctls(&self) -> Vec<(String, String)> {
        let on = |value: Option<bool>| value.map(|v| u8::from(v).to_string());
        let number = |value: Option<u8>| value.map(|v| v.to_string());
        let mut all: Vec<(String, String)> = [
            ("tcp_sack", on(self.sack)),
            ("tcp_dsack", on(self.dsack)),
            // 2: on, and the clock is the same for every connection.
            ("tcp_timestamps", Some(if self.timestamps.unwrap_or(true) { "2" } else { "0" }.to_string())),
            ("tcp_window_scaling", on(self.window_scaling)),
            ("tcp_ecn", number(self.ecn)),
            ("tcp_early_retrans", number(self.early_retrans)),
            ("tcp_recovery", number(self.recovery)),
            ("tcp_frto", number(self.frto)),
            ("tcp_reordering", self.reordering.map(|v| v.to_string())),
            ("tcp_slow_start_after_idle", on(self.slow_start_after_idle)),
            ("tcp_thin_linear_timeouts", on(self.thin_linear_timeouts)),
            ("tcp_no_metrics_save", on(Some(self.no_metrics_save.unwrap_or(true)))),
            ("tcp_syn_retries", number(self.syn_retries)),
            ("tcp_synack_retries", number(self.synack_retries)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((format!("net.ipv4.{name}"), value?)))
        .collect();
        // The kernel chooses these by the memory that it finds; here they are what a large machine has.
        for (name, value) in [("tcp_rmem", "4096 131072 6291456"), ("tcp_wmem", "4096 16384 4194304")] {
            all.push((format!("net.ipv4.{name}"), value.to_string()));
        }
        all.extend(self.sysctl.iter().map(|(name, value)| (name.clone(), value.to_string())));
        all
    }

    /// True where nothing is asked for.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_of_the_other_protocol_is_told() {
        let spec: LinuxSpec = serde_json::from_value(serde_json::json!({
            "nagle": false, "thin_linear_timeouts": true, "sctp_sack_delay": "0 ns", "sctp_heartbeat": false,
        }))
        .unwrap();
        assert_eq!(spec.of_another_protocol(true).collect::<Vec<_>>(), ["thin_linear_timeouts"]);
        assert_eq!(
            spec.of_another_protocol(false).collect::<Vec<_>>(),
            ["sctp_heartbeat", "sctp_sack_delay"]
        );
    }

    #[test]
    fn the_name_of_a_kernel_is_a_word() {
        let with = |name: &str| LinuxSpec { version: Some(name.to_string()), ..LinuxSpec::default() };
        for name in ["6.12", "6.12.117-0123456789abcdef", "6.13.0-rc3+"] {
            assert!(with(name).check("client").is_ok(), "{name}");
        }
        for name in ["", "6.12 or so", "../6.12"] {
            let error = with(name).check("client").unwrap_err().to_string();
            assert!(error.starts_with("hosts.client.linux.version"), "{error}");
        }
        assert_eq!(with("6.12").of_another_protocol(true).count(), 0);
    }

    #[test]
    fn what_a_kernel_would_cut_is_refused() {
        let refused = |text: &str| {
            let spec: LinuxSpec = serde_json::from_str(text).unwrap();
            spec.check("client").map_err(|e| e.to_string())
        };
        for fits in [
            r#"{ "send_buffer": "1073741823 bytes", "rto_min": "120 s" }"#,
            r#"{ "sysctl": { "net.ipv4.tcp_rmem": "4096 131072 6291456" } }"#,
        ] {
            assert_eq!(refused(fits), Ok(()), "{fits}");
        }
        for (text, key) in [
            (r#"{ "send_buffer": "1073741824 bytes" }"#, "send_buffer"),
            (r#"{ "receive_buffer": "99 GB" }"#, "receive_buffer"),
            (r#"{ "rto_min": "2000 h" }"#, "rto_min"),
            (r#"{ "sysctl": { "net.ipv4.tcp_sack": "1\n2" } }"#, "sysctl"),
        ] {
            let error = refused(text).unwrap_err();
            assert!(error.starts_with(&format!("hosts.client.linux.{key}: ")), "{error}");
        }
    }

    #[test]
    fn a_sack_delay_is_whole_milliseconds_up_to_500() {
        let with =
            |delay: &str| LinuxSpec { sctp_sack_delay: Some(delay.parse().unwrap()), ..LinuxSpec::default() };
        for delay in ["0 ns", "1 ms", "500 ms"] {
            assert!(with(delay).check("client").is_ok(), "{delay}");
        }
        for delay in ["1500 us", "501 ms"] {
            let error = with(delay).check("client").unwrap_err().to_string();
            assert!(error.starts_with("hosts.client.linux.sctp_sack_delay"), "{error}");
        }
    }
}
