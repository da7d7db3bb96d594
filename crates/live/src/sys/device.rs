//! What the kernel counts for an interface: `/proc/net/dev`.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::about;

/// The counters of one interface, readable from any namespace.
#[derive(Debug)]
pub struct DeviceCounters {
    /// The file shows the namespace in which it was opened.
    file: File,
    name: String,
}

/// Packets that an interface lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lost {
    /// On their way from the host: the emulator did not take them in time (`tx_dropped`, errors and overruns).
    pub sent: u64,
    /// Of these, longer than the interface's MTU: whoever sent them leaves it to a device to split them.
    pub too_long: u64,
    /// On their way to the host (`rx_dropped`, errors and overruns).
    pub received: u64,
}

impl DeviceCounters {
    /// Of an interface of this thread's namespace.
    ///
    /// # Errors
    /// Where /proc is not mounted.
    pub fn open(name: &str) -> io::Result<Self> {
        let path = "/proc/thread-self/net/dev";
        Ok(Self { file: File::open(path).map_err(about(path))?, name: name.to_string() })
    }

    /// What was lost since the interface exists. Super-packets count once.
    ///
    /// # Errors
    /// Where the interface is gone.
    pub fn lost(&self) -> io::Result<Lost> {
        let mut text = Vec::new();
        let mut block = [0; 4096];
        loop {
            match self.file.read_at(&mut block, text.len() as u64)? {
                0 => break,
                n => text.extend_from_slice(&block[..n]),
            }
        }
        let text = String::from_utf8_lossy(&text);
        let gone = || io::Error::new(io::ErrorKind::NotFound, format!("interface {} is gone", self.name));
        find(&text, &self.name).ok_or_else(gone)
    }
}

/// Columns: bytes packets errs drop fifo frame compressed multicast, and again for what is sent.
fn find(text: &str, name: &str) -> Option<Lost> {
    let (_, values) = text.lines().filter_map(|l| l.split_once(':')).find(|(n, _)| n.trim() == name)?;
    let values: Vec<u64> = values.split_whitespace().map_while(|v| v.parse().ok()).collect();
    let sum = |from: usize| Some(values.get(from + 2)? + values.get(from + 3)? + values.get(from + 4)?);
    Some(Lost { received: sum(0)?, sent: sum(8)?, too_long: 0 })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn losses_stand_behind_the_packets() {
        let text =
            "Inter-|   Receive  |  Transmit\n face |bytes\n  eth0: 9 8 1 2 4 0 0 0 7 6 8 16 32 0 0 0\n";
        assert_eq!(find(text, "eth0"), Some(Lost { received: 7, sent: 56, too_long: 0 }));
        assert_eq!(find(text, "eth1"), None);
    }
}
