//! What an analysis keeps and does at most, so that a file of n bytes costs O(n) time and bounded memory.
//!
//! Each limit is far beyond what captures of real traffic need. What lies beyond one is let go by a plain rule, and
//! counted in [`Counts`], which the summary of a run shows: nothing is passed over without a word. The limits of the
//! reader are in [`rexmit_capture::limits`], those of fragments in [`rexmit_wire::limits`].

use rexmit_capture::limits as reader;
use rexmit_wire::limits as wire;

/// Bytes that connections, associations and all that they keep may take for any capture.
pub const MEMORY_BYTES: u64 = 24_000_000;
/// Bytes that they may take beyond that, for each byte of the file read so far.
pub const MEMORY_PER_BYTE: u64 = 25;
/// TCP connections, or SCTP associations, that are open at once.
pub const OPEN: usize = 1 << 20;
/// TCP connections, or SCTP associations, of a capture: as many as there are numbers for.
pub const FLOWS: u32 = u32::MAX - 1;
/// Chunks of an SCTP packet that are judged. A packet of 64 KiB holds 3,276 with a byte of data each.
pub const CHUNKS: usize = 4_096;
/// TSNs of one side that are remembered: what its SACKs can report.
pub const BOARD_CHUNKS: usize = 1 << 16;
/// Segments of one side that are remembered without an acknowledgment. More than any window holds.
pub const BOARD_SEGMENTS: usize = 1 << 17;
/// The same before the first acknowledgment. No initial window is as large: the capture has one direction only.
pub const BOARD_UNANSWERED: usize = 1 << 12;
/// Ranges of SACK blocks that are remembered: more than the holes of any window.
pub const RANGES: usize = 1 << 12;
/// Retransmissions of TCP of one side that wait for an answer: more than the losses of a few round trips.
pub const WAITING_SEGMENTS: usize = 1 << 12;
/// Retransmitted chunks of SCTP of one side that wait for an answer.
pub const WAITING_CHUNKS: usize = 1 << 15;
/// Acknowledgments of one side that are under way from the place of the capture to the sender.
pub const UNDER_WAY: usize = 1 << 14;
/// TSvals of one side that wait for their echo.
pub const TICKS: usize = 1 << 12;
/// Paths of one side of an association: pairs of addresses.
pub const PATHS: usize = 256;
/// Steps of work that a packet may cause: entries of a board or queue that are looked at.
pub const STEPS_PER_PACKET: u64 = 8_192;
/// The same for each chunk of an SCTP packet.
pub const STEPS_PER_CHUNK: u64 = 256;
/// Steps that one side may have in hand, from packets that needed less.
pub const STEPS_KEPT: u64 = 1 << 24;
/// Steps of work for the whole capture beyond these.
pub const STEPS: u64 = 1 << 25;
/// Steps of work, or chunks, after which rows are handed over, so that a run can be interrupted.
pub const STEPS_AT_ONCE: u64 = 1 << 23;
/// Bytes of rows that are handed over at once.
pub const ROWS_BYTES: u64 = 2 << 20;
/// The same for each byte of the file read so far.
pub const ROWS_PER_BYTE: u64 = 8;
/// Bytes that two captures judged together may keep, for any captures and for each byte of both files read so far. A
/// packet of TCP takes [`PAIR_PACKET`] of them.
pub const PAIR_BYTES: u64 = 40_000_000;
/// See [`PAIR_BYTES`].
pub const PAIR_PER_BYTE: u64 = 60;
/// Bytes that a packet of two captures takes until both are judged.
pub const PAIR_PACKET: u64 = 400;

/// A limit that has acted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Limit {
    /// Interfaces passed over.
    Interfaces,
    /// Packets of these.
    InterfacePackets,
    /// Names of interfaces cut or left out.
    Names,
    /// Comments cut.
    Comments,
    /// Packets in too many layers.
    Layers,
    /// Datagrams given up for the memory of their fragments.
    Fragments,
    /// Flows ended early for memory.
    Memory,
    /// Flows ended early since too many were open.
    Open,
    /// Packets of flows for which there is no number.
    Flows,
    /// Chunks not judged.
    Chunks,
    /// Packets of paths beyond [`PATHS`].
    Paths,
    /// Segments forgotten before their acknowledgment.
    Segments,
    /// TSNs forgotten before their acknowledgment.
    Tsns,
    /// SACK blocks not remembered.
    Ranges,
    /// Retransmissions closed without an answer.
    Waiting,
    /// Acknowledgments and TSvals not waited for.
    UnderWay,
    /// Times that all of one side was forgotten, since judging it took too many steps.
    Steps,
    /// Packets of two captures not judged.
    Pair,
}

/// How often each limit has acted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts([u64; Limit::ALL.len()]);

impl Limit {
    /// All, in the order in which they are told.
    pub const ALL: [Self; 18] = [
        Self::Interfaces,
        Self::InterfacePackets,
        Self::Names,
        Self::Comments,
        Self::Layers,
        Self::Fragments,
        Self::Memory,
        Self::Open,
        Self::Flows,
        Self::Chunks,
        Self::Paths,
        Self::Segments,
        Self::Tsns,
        Self::Ranges,
        Self::Waiting,
        Self::UnderWay,
        Self::Steps,
        Self::Pair,
    ];

    /// Its name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Interfaces => "interfaces",
            Self::InterfacePackets => "interface_packets",
            Self::Names => "names",
            Self::Comments => "comments",
            Self::Layers => "layers",
            Self::Fragments => "fragments",
            Self::Memory => "memory",
            Self::Open => "open",
            Self::Flows => "flows",
            Self::Chunks => "chunks",
            Self::Paths => "paths",
            Self::Segments => "segments",
            Self::Tsns => "tsns",
            Self::Ranges => "ranges",
            Self::Waiting => "waiting",
            Self::UnderWay => "under_way",
            Self::Steps => "steps",
            Self::Pair => "pair",
        }
    }
}

impl Limit {
    /// What to say where it acted this many times: one line.
    pub fn told(self, times: u64) -> String {
        let (one, many, rule) = self.words();
        let what = if times == 1 { one } else { many };
        format!("{} {what}; {rule}", grouped(times))
    }

    /// What it acts on, one and several, and what is allowed.
    #[allow(clippy::too_many_lines, reason = "a table: a row for each limit")]
    fn words(self) -> (&'static str, &'static str, String) {
        let most = |n: usize| grouped(n as u64);
        match self {
            Self::Interfaces => (
                "interface was passed over",
                "interfaces were passed over",
                format!("a capture may have {}", most(reader::INTERFACES)),
            ),
            Self::InterfacePackets => (
                "packet of an interface that was passed over is not judged",
                "packets of interfaces that were passed over are not judged",
                format!("a capture may have {} interfaces", most(reader::INTERFACES)),
            ),
            Self::Names => (
                "name of an interface was cut or left out",
                "names of interfaces were cut or left out",
                format!(
                    "one may have {} bytes, all together {}",
                    most(reader::NAME_BYTES),
                    most(reader::NAMES_BYTES)
                ),
            ),
            Self::Comments => (
                "packet's comments were cut",
                "packets' comments were cut",
                format!("those of a packet may have {} bytes", most(reader::COMMENT_BYTES)),
            ),
            Self::Layers => (
                "packet was passed over for its headers",
                "packets were passed over for their headers",
                format!("{} may be within each other", most(wire::LAYERS)),
            ),
            Self::Fragments => (
                "IP datagram was given up",
                "IP datagrams were given up",
                format!(
                    "those with missing fragments may take {} bytes together, and have {} fragments each",
                    most(wire::FRAGMENT_BYTES),
                    most(wire::FRAGMENTS)
                ),
            ),
            Self::Memory => (
                "connection or association was ended early, and what came later counts as another",
                "connections or associations were ended early, and what came later counts as others",
                format!(
                    "open connections and associations may take {} bytes and {MEMORY_PER_BYTE} for each byte of the \
                     file; those idle longest are ended first",
                    grouped(MEMORY_BYTES)
                ),
            ),
            Self::Open => (
                "connection or association was ended early, and what came later counts as another",
                "connections or associations were ended early, and what came later counts as others",
                format!("{} may be open at once; those idle longest are ended first", most(OPEN)),
            ),
            Self::Flows => (
                "packet is not judged: there is no number for its connection",
                "packets are not judged: there are no numbers for their connections",
                format!("a capture may have {}", grouped(FLOWS.into())),
            ),
            Self::Chunks => (
                "SCTP chunk is not judged",
                "SCTP chunks are not judged",
                format!("a packet may have {}", most(CHUNKS)),
            ),
            Self::Paths => (
                "SCTP packet counts for the first path",
                "SCTP packets count for the first path",
                format!("a side may have {} paths", most(PATHS)),
            ),
            Self::Segments => (
                "TCP segment was forgotten before it was acknowledged",
                "TCP segments were forgotten before they were acknowledged",
                format!(
                    "{} of a side are remembered, {} before the first acknowledgment",
                    most(BOARD_SEGMENTS),
                    most(BOARD_UNANSWERED)
                ),
            ),
            Self::Tsns => (
                "TSN was forgotten before it was acknowledged",
                "TSNs were forgotten before they were acknowledged",
                format!("{} of a side are remembered", most(BOARD_CHUNKS)),
            ),
            Self::Ranges => (
                "SACK block was left out",
                "SACK blocks were left out",
                format!("{} ranges are remembered", most(RANGES)),
            ),
            Self::Waiting => (
                "retransmission was judged without an answer",
                "retransmissions were judged without an answer",
                format!(
                    "{} segments, or {} chunks, of a side wait for one",
                    most(WAITING_SEGMENTS),
                    most(WAITING_CHUNKS)
                ),
            ),
            Self::UnderWay => (
                "acknowledgment or timestamp was not waited for",
                "acknowledgments or timestamps were not waited for",
                format!(
                    "{} acknowledgments and {} timestamps of a side may be under way",
                    most(UNDER_WAY),
                    most(TICKS)
                ),
            ),
            Self::Steps => (
                "time, what a side had outstanding was forgotten",
                "times, what a side had outstanding was forgotten",
                format!(
                    "a packet may take {} steps, {} more for each chunk, and all packets together {} more",
                    grouped(STEPS_PER_PACKET),
                    grouped(STEPS_PER_CHUNK),
                    grouped(STEPS)
                ),
            ),
            Self::Pair => (
                "packet of the two captures is not judged",
                "packets of the two captures are not judged",
                format!(
                    "both may take {} bytes and {PAIR_PER_BYTE} for each byte of the files, a packet {PAIR_PACKET}",
                    grouped(PAIR_BYTES)
                ),
            ),
        }
    }

    /// What is allowed, in words: for the documentation.
    pub fn rule(self) -> String {
        self.words().2
    }

    /// What becomes of what is beyond, in words: for the documentation.
    pub fn effect(self) -> &'static str {
        self.words().1
    }
}

/// A number with a comma at each thousand.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

impl Counts {
    /// It acted this many more times.
    pub fn add(&mut self, limit: Limit, times: u64) {
        self.0[limit as usize] += times;
    }

    /// It has acted this many times in all.
    pub(crate) fn set(&mut self, limit: Limit, times: u64) {
        self.0[limit as usize] = times;
    }

    /// How often it acted.
    pub fn of(&self, limit: Limit) -> u64 {
        self.0[limit as usize]
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(own, more)| *own += more);
    }

    /// Those that acted, each with how often.
    pub fn acted(&self) -> impl Iterator<Item = (Limit, u64)> {
        Limit::ALL.into_iter().zip(self.0).filter(|(_, times)| *times > 0)
    }
}

/// Steps of work that one side may still cause.
///
/// What its packets grant it keeps. Beyond that it draws on a pool of the whole capture; once that is empty, sides that
/// stay within what is granted to them go on as before.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Work {
    granted: u64,
    /// Of the pool: what may be drawn, and what was.
    pool: u64,
    drawn: u64,
    spent: u64,
}

impl Work {
    /// A packet comes that grants this many steps; `pool` is what is left for all.
    pub(crate) fn begin(&mut self, steps: u64, pool: u64) {
        self.granted = (self.granted + steps).min(STEPS_KEPT);
        self.pool = pool;
    }

    /// Does this many steps; false if there are not this many left, and nothing is to be done.
    pub(crate) fn spend(&mut self, steps: u64) -> bool {
        let more = steps.saturating_sub(self.granted);
        if more > self.pool {
            return false;
        }
        self.granted -= steps - more;
        self.pool -= more;
        self.drawn += more;
        self.spent += steps;
        true
    }

    /// Grants this many more steps.
    pub(crate) fn grant(&mut self, steps: u64) {
        self.granted += steps;
    }

    /// The packet is over.
    pub(crate) fn end(&mut self, steps: &mut Steps) {
        steps.pool = steps.pool.saturating_sub(std::mem::take(&mut self.drawn));
        steps.spent += std::mem::take(&mut self.spent);
    }
}

/// The steps of work of a capture.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Those left beyond what packets grant.
    pub(crate) pool: u64,
    /// Those done so far.
    pub(crate) spent: u64,
}

impl Default for Steps {
    fn default() -> Self {
        Self { pool: STEPS, spent: 0 }
    }
}

#[cfg(test)]
mod tests;
