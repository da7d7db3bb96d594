//! The kernel's own counters of a namespace: `/proc/net/snmp`, `/proc/net/netstat` and `/proc/net/sctp/snmp`.

use std::borrow::Cow;
use std::fs;
use std::io;

use rexmit_network::ByHost;

use crate::sys::inside;

/// Counters by their names, such as `Tcp.RetransSegs`, `TcpExt.TCPTimeouts` and `SctpT3RtxExpireds`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters(Vec<Counter>);

/// A name and a value.
type Counter = (Cow<'static, str>, u64);

impl KernelCounters {
    /// Those of this thread's namespace.
    ///
    /// # Errors
    /// Where /proc is not mounted.
    pub fn read() -> io::Result<Self> {
        if let Some(counted) = inside::counters() {
            let named = NAMES.iter().zip(counted).map(|(name, value)| (Cow::Borrowed(*name), value));
            return Ok(Self(named.collect()));
        }
        let mut all = Vec::new();
        for file in ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"] {
            parse(&fs::read_to_string(file)?, &mut all);
        }
        if let Ok(text) = fs::read_to_string("/proc/thread-self/net/sctp/snmp") {
            all.extend(text.lines().filter_map(line));
        }
        Ok(Self(all))
    }

    /// A counter; 0 where this kernel has none of that name.
    pub fn get(&self, name: &str) -> u64 {
        self.0.iter().find(|(known, _)| known == name).map_or(0, |(_, value)| *value)
    }

    /// For SCTP, expiries of the timers of the handshake and of the shutdown.
    pub fn control_expiries(&self) -> u64 {
        ["SctpT1InitExpireds", "SctpT1CookieExpireds", "SctpT2ShutdownExpireds"]
            .iter()
            .map(|name| self.get(name))
            .sum()
    }

    /// For TCP, segments with data sent again.
    pub fn retransmits(&self) -> u64 {
        self.get("Tcp.RetransSegs").saturating_sub(self.get("TcpExt.TCPSynRetrans"))
    }

    /// For TCP, entries into fast recovery.
    pub fn recoveries(&self) -> u64 {
        self.get("TcpExt.TCPSackRecovery") + self.get("TcpExt.TCPRenoRecovery")
    }

    /// For SCTP, expiries of any retransmission timer.
    pub fn expiries(&self) -> u64 {
        self.control_expiries() + self.get("SctpT3RtxExpireds")
    }

    /// What was counted since an earlier look.
    #[must_use]
    pub fn since(mut self, before: &Self) -> Self {
        for (place, (name, value)) in self.0.iter_mut().enumerate() {
            // Mostly they are the same in the same order.
            let same = before.0.get(place).filter(|(other, _)| other == name);
            *value = value.saturating_sub(same.map_or_else(|| before.get(name), |(_, value)| *value));
        }
        self
    }
}

/// The counters that a guest's kernel gives without a file, in its order.
const NAMES: [&str; inside::COUNTERS] = [
    "Tcp.RetransSegs",
    "TcpExt.TCPSynRetrans",
    "TcpExt.TCPTimeouts",
    "TcpExt.TCPSackRecovery",
    "TcpExt.TCPRenoRecovery",
    "SctpOutOrderChunks",
    "SctpOutUnorderChunks",
    "SctpT1InitExpireds",
    "SctpT1CookieExpireds",
    "SctpT2ShutdownExpireds",
    "SctpT3RtxExpireds",
    "SctpFastRetransmits",
];

/// Each pair of lines names counters and gives their values: `Tcp: A B` and `Tcp: 1 2`.
fn parse(text: &str, into: &mut Vec<Counter>) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let [names, values] = pair else { continue };
        let Some((group, names)) = names.split_once(':') else { continue };
        let Some((_, values)) = values.split_once(':') else { continue };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let Ok(value) = value.parse() {
                into.push((format!("{group}.{name}").into(), value));
            }
        }
    }
}

/// SCTP's are a name and a value in each line.
fn line(text: &str) -> Option<Counter> {
    let (name, value) = text.split_once(char::is_whitespace)?;
    Some((name.to_string().into(), value.trim().parse().ok()?))
}

/// What a run's row says of all hosts, by their kernels' counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// First transmissions of data.
    pub data_segments: u64,
    /// Data sent again.
    pub retransmits: u64,
    /// Expiries of retransmission timers, by host.
    pub timeouts: ByHost<u64>,
    /// Entries into fast recovery; for SCTP, fast retransmits.
    pub fast_retransmits: u64,
}

impl Counted {
    /// For TCP, in segments; `sent` are those with data that all connections sent.
    pub fn tcp(counters: &ByHost<KernelCounters>, sent: u64) -> Self {
        let retransmits = counters.values().map(KernelCounters::retransmits).sum();
        Self {
            data_segments: sent.saturating_sub(retransmits),
            retransmits,
            // Those of SYN and SYN-ACK included [Linux 6.1 net/ipv4/tcp_timer.c].
            timeouts: counters.each_ref().map(|c| c.get("TcpExt.TCPTimeouts")),
            fast_retransmits: counters.values().map(KernelCounters::recoveries).sum(),
        }
    }

    /// For SCTP, in chunks; `again` are those that all associations sent again, which no counter of a host tells.
    pub fn sctp(counters: &ByHost<KernelCounters>, again: u64) -> Self {
        let sum = |names: &[&str]| {
            counters.values().flat_map(|c| names.iter().map(|name| c.get(name))).sum::<u64>()
        };
        Self {
            data_segments: sum(&["SctpOutOrderChunks", "SctpOutUnorderChunks"]),
            retransmits: again,
            timeouts: counters.each_ref().map(KernelCounters::expiries),
            fast_retransmits: sum(&["SctpFastRetransmits"]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_stand_in_pairs_of_lines() {
        let mut all = Vec::new();
        parse("Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 3\nUdp: InDatagrams\nUdp: 7\n", &mut all);
        let counters = KernelCounters(all);
        assert_eq!((counters.get("Tcp.RetransSegs"), counters.get("Udp.InDatagrams")), (3, 7));
        assert_eq!(counters.get("Tcp.MaxConn"), 0);
    }

    #[test]
    fn sctp_has_a_name_and_a_value_in_each_line() {
        let server = "SctpOutOrderChunks              \t40\nSctpOutUnorderChunks            \t2\n\
                      SctpT1InitExpireds              \t1\nSctpT3RtxExpireds               \t3\n\
                      SctpFastRetransmits             \t5\n";
        let host = |text: &str| KernelCounters(text.lines().filter_map(line).collect());
        let both = [host(server), host("SctpT1CookieExpireds \t7\n")].into_iter().collect();
        let counted = Counted::sctp(&both, 9);
        let timeouts = [4, 7].into_iter().collect();
        let expected = Counted { data_segments: 42, retransmits: 9, timeouts, fast_retransmits: 5 };
        assert_eq!(counted, expected);
    }
}
