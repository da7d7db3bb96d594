//! Options of a connection's sockets, as its applications set them.

use rexmit_units::{Bytes, Duration, Rate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Options of the sockets at both ends of a connection, as `setsockopt` sets them before the handshake. What is absent is
/// as the host has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct SocketSpec {
    /// Nagle's algorithm (TCP_NODELAY, SCTP_NODELAY).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nagle: Option<bool>,
    /// Send buffer: what an application would ask for; Linux takes twice as much and no longer adapts it (SO_SNDBUF, beyond
    /// the limit where allowed).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_buffer: Option<Bytes>,
    /// Receive buffer, likewise (SO_RCVBUF).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_buffer: Option<Bytes>,
    /// Most bytes of data in a segment, options included; 88 to 32767 (TCP_MAXSEG).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 88, max = 32767))]
    pub max_segment: Option<u16>,
    /// The receive window never grows beyond this (TCP_WINDOW_CLAMP).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window_clamp: Option<Bytes>,
    /// The socket is writable once fewer bytes than this wait to be sent for the first time (TCP_NOTSENT_LOWAT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_sent_low: Option<Bytes>,
    /// Data leave at this rate at most (SO_MAX_PACING_RATE), as Linux paces by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pacing_rate: Option<Rate>,
    /// Data that stay unacknowledged for this long end the connection, whole milliseconds (TCP_USER_TIMEOUT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_timeout: Option<Duration>,
    /// Retransmissions of a SYN; 1 to 127 (TCP_SYNCNT).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 127))]
    pub syn_retries: Option<u8>,
    /// No exponential backoff while the stream is thin (TCP_THIN_LINEAR_TIMEOUTS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub thin_linear_timeouts: Option<bool>,
    /// The byte of differentiated services and ECN in the IP header; TCP sets the two bits of ECN itself (IP_TOS,
    /// IPV6_TCLASS).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tos: Option<u8>,
}

impl SocketSpec {
    /// Nothing is said.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Checks what the kernel would refuse, or cut.
    ///
    /// # Errors
    /// The key, and what is allowed.
    pub fn check(&self) -> Result<(), (&'static str, &'static str)> {
        let ms = Duration::from_millis(1).as_nanos();
        let broken = |time: Duration| {
            !time.as_nanos().is_multiple_of(ms) || time.as_nanos() / ms > u64::from(u32::MAX / 2)
        };
        let rules = [
            (
                self.max_segment.is_some_and(|n| !(88..=32_767).contains(&n)),
                "max_segment",
                "allowed: 88 to 32767",
            ),
            (self.syn_retries.is_some_and(|n| !(1..=127).contains(&n)), "syn_retries", "allowed: 1 to 127"),
            (
                self.user_timeout.is_some_and(broken),
                "user_timeout",
                "the kernel counts whole milliseconds; allowed: such as \"30 s\"",
            ),
            (
                self.pacing_rate.is_some_and(|rate| rate.bits_per_second() < 8),
                "pacing_rate",
                "nothing would leave; allowed: from \"8 bit/s\" on",
            ),
        ];
        rules.iter().find(|(broken, ..)| *broken).map_or(Ok(()), |(_, key, text)| Err((key, text)))
    }
}

/// What a transfer asks of the sockets at both ends of its connections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SocketWish {
    /// Congestion control (TCP_CONGESTION).
    pub congestion: Option<String>,
    /// Other options.
    pub socket: SocketSpec,
}

impl SocketWish {
    /// Its keys that are given, as a transfer has them: `congestion`, `socket.nagle`.
    pub fn keys(&self) -> impl Iterator<Item = String> {
        let table = serde_json::to_value(&self.socket).unwrap_or_default();
        let keys = table.as_object().map(|table| table.keys().map(|key| format!("socket.{key}")).collect());
        let keys: Vec<String> = keys.unwrap_or_default();
        self.congestion.iter().map(|_| "congestion".to_string()).chain(keys)
    }

    /// The keys that a socket of Linux has nothing for, of SCTP or of TCP.
    pub fn beyond_linux(&self, sctp: bool) -> Vec<String> {
        let of_both = ["socket.nagle", "socket.send_buffer", "socket.receive_buffer", "socket.tos"];
        self.keys().filter(|key| sctp && !of_both.contains(&key.as_str())).collect()
    }
}
