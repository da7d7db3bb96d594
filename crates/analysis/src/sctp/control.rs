//! Control chunks that are sent again.

use rexmit_units::{Duration, Instant};

use super::rows::{Control, ControlRow};
use crate::core::side::SideName;
use crate::packet::Packet;

/// The control chunks of the opening and the end that one side has sent.
#[derive(Debug, Default)]
pub(super) struct Controls {
    /// Few, so that a vector serves.
    sent: Vec<(Control, Sent)>,
    /// What its last SHUTDOWN acknowledged.
    shutdown: Option<u32>,
    /// The other side sent DATA since its last SHUTDOWN.
    data: bool,
}

/// Times of a chunk that may be sent again.
#[derive(Clone, Copy, Debug)]
struct Sent {
    first: Instant,
    last: Instant,
    times: u32,
}

/// A chunk was sent again.
#[derive(Clone, Copy, Debug)]
pub(super) struct Again {
    retransmission: u32,
    first: Duration,
    previous: Duration,
}

impl Controls {
    /// Whether it was sent.
    pub(super) fn sent(&self, control: Control) -> bool {
        self.find(control).is_some()
    }

    /// When it was sent, if that was once.
    pub(super) fn sent_once(&self, control: Control) -> Option<Instant> {
        self.find(control).filter(|sent| sent.times == 1).map(|sent| sent.first)
    }

    /// It was sent at `time`.
    pub(super) fn send(&mut self, control: Control, time: Instant) -> Option<Again> {
        let at = self.sent.iter().position(|(of, _)| *of == control);
        let mut sent = at.map(|at| self.sent.swap_remove(at).1);
        let again = send(&mut sent, time);
        self.sent.reserve_exact(1);
        self.sent.extend(sent.map(|sent| (control, sent)));
        again
    }

    fn find(&self, control: Control) -> Option<&Sent> {
        self.sent.iter().find(|(of, _)| *of == control).map(|(_, sent)| sent)
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        self.sent.capacity() * size_of::<(Control, Sent)>()
    }

    /// A SHUTDOWN is another one if there was DATA to answer, or if it acknowledges something else.
    pub(super) fn renew(&mut self, control: Control, cumulative: u32) {
        if std::mem::take(&mut self.data) || self.shutdown != Some(cumulative) {
            self.sent.retain(|(of, _)| *of != control);
        }
        self.shutdown = Some(cumulative);
    }

    /// The other side sent DATA.
    pub(super) fn other_sent_data(&mut self) {
        self.data = true;
    }
}

/// The HEARTBEATs of one side that are not answered.
#[derive(Debug, Default)]
pub(super) struct Heartbeats {
    paths: Vec<(u32, Sent)>,
    /// Path, hash of the information, and time of the last ones.
    waiting: Vec<(u32, u64, Instant)>,
}

impl Heartbeats {
    /// One was sent: whether the one before on that path is not answered.
    pub(super) fn sent(&mut self, path: u32, info: &[u8], time: Instant) -> Option<Again> {
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.remove(0);
        }
        self.waiting.push((path, hash(info), time));
        let at = self.paths.iter().position(|(of, _)| *of == path);
        let mut sent = at.map(|at| self.paths.swap_remove(at).1);
        let again = send(&mut sent, time);
        self.paths.extend(sent.map(|sent| (path, sent)));
        again
    }

    /// Bytes that they take besides themselves.
    pub(super) fn heap(&self) -> usize {
        self.waiting.capacity() * size_of::<(u32, u64, Instant)>()
            + self.paths.capacity() * size_of::<(u32, Sent)>()
    }

    /// One was answered: its path, and the time that took.
    pub(super) fn answered(&mut self, info: &[u8], time: Instant) -> Option<(u32, Duration)> {
        let info = hash(info);
        let at = self.waiting.iter().rposition(|(_, of, _)| *of == info)?;
        let (path, _, sent) = self.waiting.remove(at);
        self.paths.retain(|(of, _)| *of != path);
        Some((path, time.saturating_since(sent)))
    }
}

impl Again {
    /// The row of the table.
    pub(super) fn row(
        &self,
        association: u32,
        side: SideName,
        chunk: Control,
        packet: &Packet,
    ) -> ControlRow {
        ControlRow {
            association,
            side,
            number: packet.number,
            time: packet.time,
            src: packet.src.ip(),
            dst: packet.dst.ip(),
            chunk,
            retransmission: self.retransmission,
            delay_first: self.first.as_nanos(),
            delay_previous: self.previous.as_nanos(),
        }
    }
}

fn send(slot: &mut Option<Sent>, time: Instant) -> Option<Again> {
    let Some(sent) = slot else {
        *slot = Some(Sent { first: time, last: time, times: 1 });
        return None;
    };
    let again = Again {
        retransmission: sent.times,
        first: time.saturating_since(sent.first),
        previous: time.saturating_since(sent.last),
    };
    sent.times += 1;
    sent.last = time;
    Some(again)
}

/// FNV-1a.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

/// This many HEARTBEATs are waited for.
const MOST_WAITING: usize = 16;
