//! The kernel's own counters of a namespace: `/proc/net/snmp` and `/proc/net/netstat`.

use std::collections::HashMap;
use std::fs;
use std::io;

/// Counters by their names, such as `Tcp.RetransSegs` and `TcpExt.TCPTimeouts`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelCounters(HashMap<String, u64>);

impl KernelCounters {
    /// Those of this thread's namespace.
    ///
    /// # Errors
    /// Where /proc is not mounted.
    pub fn read() -> io::Result<Self> {
        let mut all = HashMap::new();
        for file in ["/proc/thread-self/net/snmp", "/proc/thread-self/net/netstat"] {
            parse(&fs::read_to_string(file)?, &mut all);
        }
        Ok(Self(all))
    }

    /// A counter; 0 where this kernel has none of that name.
    pub fn get(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

/// Each pair of lines names counters and gives their values: `Tcp: A B` and `Tcp: 1 2`.
fn parse(text: &str, into: &mut HashMap<String, u64>) {
    let lines: Vec<&str> = text.lines().collect();
    for pair in lines.chunks_exact(2) {
        let [names, values] = pair else { continue };
        let Some((group, names)) = names.split_once(':') else { continue };
        let Some((_, values)) = values.split_once(':') else { continue };
        for (name, value) in names.split_whitespace().zip(values.split_whitespace()) {
            if let Ok(value) = value.parse() {
                into.insert(format!("{group}.{name}"), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_values_stand_in_pairs_of_lines() {
        let mut all = HashMap::new();
        parse("Tcp: RtoMin MaxConn RetransSegs\nTcp: 200 -1 3\nUdp: InDatagrams\nUdp: 7\n", &mut all);
        let counters = KernelCounters(all);
        assert_eq!((counters.get("Tcp.RetransSegs"), counters.get("Udp.InDatagrams")), (3, 7));
        assert_eq!(counters.get("Tcp.MaxConn"), 0);
    }
}
