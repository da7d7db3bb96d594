//! What connections and links did: the tables `transfers` and `links`, and both over time.

use rexmit_tables::row;
use rexmit_units::Duration;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{HostCell, SpecError};

/// What is measured of connections and links.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct MeasureSpec {
    /// Both also by intervals of this length, in the tables `transfers_over_time` and `links_over_time`. Absent: not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub every: Option<Duration>,
    /// A queue is looked at this often: its mean and its quantiles are over time. Default: 1 ms.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sample: Option<Duration>,
}

/// How often a queue is looked at.
const SAMPLE: Duration = Duration::from_millis(1);
/// Shorter ones would make more rows than packets.
const SHORTEST: Duration = Duration::from_micros(1);

impl MeasureSpec {
    /// How often a queue is looked at.
    pub fn sample(&self) -> Duration {
        self.sample.unwrap_or(SAMPLE)
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        for (key, time) in [("every", self.every), ("sample", self.sample)] {
            if time.is_some_and(|time| time < SHORTEST) {
                let text = format!("too short; allowed: at least {SHORTEST}");
                return Err(SpecError::new(format!("measure.{key}"), text));
            }
        }
        Ok(())
    }
}

row! {
    /// One connection of a run.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct TransferRow {
        connection: u32 = plain("number of the connection, from 0"),
        transfer: String = plain("name of the transfer that it is of, or its number in the list, from 0"),
        sender: HostCell = plain("host that sends the data; with requests, that answers"),
        receiver: HostCell = plain("host that receives them; with requests, that asks"),
        completed: bool = plain("true when the transfer ended"),
        opened_ns: Option<u64> = ns("when connect() was called, since the start of the run") or "it never was",
        time_ns: Option<u64> =
            ns("completion time: from connect() to the receiver's end of stream or the last response's end")
                or "it did not end",
        bytes: u64 = bytes("bytes delivered to the receiving application; with requests, of responses"),
        goodput_bit_s: Option<f64> =
            bit_s("those bytes over the completion time, or over the time until the end of the run")
                or "it was never opened",
        data_segments: Option<u64> = packets("the sender's first transmissions of data: TCP's segments, SCTP's chunks")
            or "a real kernel has forgotten the connection",
        retransmits: Option<u64> = packets("segments or chunks with data that the sender sent again, for whatever reason")
            or "a real kernel has forgotten the connection",
        retransmits_fast: Option<u64> =
            packets("of these, those of a fast retransmit or of the recovery that it began") or "a real kernel does not report it",
        retransmits_timeout: Option<u64> = packets("those that an expired timer began") or "a real kernel does not report it",
        retransmits_probe: Option<u64> = packets("those that probed for a lost tail") or "a real kernel does not report it",
        timeouts: Option<u64> = plain("expiries of the sender's retransmission timer, those of SYN and SYN-ACK included")
            or "a real kernel does not report it",
        fast_retransmits: Option<u64> = plain("the sender's entries into fast recovery; of SCTP, fast retransmits")
            or "a real kernel does not report it",
        rtt_min_ms: Option<f64> =
            ms("the shortest round-trip time: one packet with data at a time is timed, until it is acknowledged, and not if something was sent again meanwhile (Karn)")
                or "none was timed",
        rtt_mean_ms: Option<f64> = ms("the mean of these") or "none was timed",
        rtt_p99_ms: Option<f64> = ms("their 99th percentile") or "none was timed",
    }
}

row! {
    /// One direction of one link of a run.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct LinkRow {
        link: String = plain("name of the link; access of a host's own; path or alternate between a server and a client"),
        from_point: String = plain("point or host where it begins"),
        to_point: String = plain("point or host where it ends"),
        packets: u64 = packets("packets that entered it"),
        bytes: u64 = bytes("IP bytes that entered it"),
        passed_bytes: u64 = bytes("IP bytes that came out of it"),
        utilisation: Option<f64> =
            plain("passed bytes with those of the link layer, over what its rate allows from the start of the run to its end")
                or "its rate has no limit, or changes",
        drops: u64 = packets("packets that it dropped"),
        drops_pattern: u64 = packets("of these, packets that a pattern dropped"),
        drops_random: u64 = packets("packets that random loss took"),
        drops_queue: u64 = packets("packets that a full queue dropped, or a token bucket too small for them"),
        drops_aqm: u64 = packets("packets that the queue's management dropped"),
        marked: u64 = packets("packets that were marked congestion experienced"),
        queue_packets_mean: Option<f64> = packets("the queue's mean length over time") or "it was not sampled",
        queue_packets_p95: Option<f64> = packets("its 95th percentile") or "it was not sampled",
        queue_packets_p99: Option<f64> = packets("its 99th percentile") or "it was not sampled",
        queue_packets_max: Option<f64> = packets("its maximum") or "it was not sampled",
        queue_mean_ms: Option<f64> =
            ms("the time that the queue takes to drain at the link's rate, its mean") or "it was not sampled, or the link has no rate",
        queue_p95_ms: Option<f64> =
            ms("its 95th percentile") or "it was not sampled, or the link has no rate",
        queue_p99_ms: Option<f64> =
            ms("its 99th percentile") or "it was not sampled, or the link has no rate",
        queue_max_ms: Option<f64> =
            ms("its maximum") or "it was not sampled, or the link has no rate",
    }
}

row! {
    /// What a connection delivered in an interval. Intervals in which nothing was delivered are left out.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct TransferSlice {
        connection: u32 = plain("number of the connection, from 0"),
        from_ns: u64 = ns("where the interval begins, since the start of the run"),
        to_ns: u64 = ns("where it ends, at the end of the run at the latest"),
        bytes: u64 = bytes("bytes delivered to the receiving application"),
        goodput_bit_s: f64 = bit_s("those bytes over the interval's length"),
    }
}

row! {
    /// What a link did in an interval.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
    pub struct LinkSlice {
        link: String = plain("name of the link, as in links"),
        from_point: String = plain("point or host where it begins"),
        to_point: String = plain("point or host where it ends"),
        from_ns: u64 = ns("where the interval begins, since the start of the run"),
        to_ns: u64 = ns("where it ends, at the end of the run at the latest"),
        passed_bytes: u64 = bytes("IP bytes that came out of it"),
        drops: u64 = packets("packets that it dropped"),
        queue_packets_mean: Option<f64> = packets("the queue's mean length over time") or "it was not sampled",
        queue_packets_max: Option<f64> = packets("its maximum") or "it was not sampled",
        queue_mean_ms: Option<f64> =
            ms("the time that the queue takes to drain at the link's rate, its mean") or "it was not sampled, or the link has no rate",
        queue_max_ms: Option<f64> =
            ms("its maximum") or "it was not sampled, or the link has no rate",
    }
}
