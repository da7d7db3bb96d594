//! Loss events: losses that are close together in time count once.

use rexmit_units::{Duration, Instant};

use super::passed::Out;
use crate::rows::{Cause, LossEventRow, Need, RetransmissionRow, SideRow};

/// What is known of the transmission that a retransmission replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lost {
    /// Its number among the side's packets with data, from 1; the low 32 bits.
    pub order: u32,
    /// Packets on the wire: more than one for a super-packet.
    pub packets: u32,
    /// The smoothed RTT when it was sent again, if there is one.
    pub rtt: Option<Duration>,
}

/// Counts a side's losses and groups them into events.
#[derive(Debug, Default)]
pub(super) struct Loss {
    segments: u64,
    events: u64,
    open: Option<Box<Open>>,
}

/// The event that further losses may belong to.
#[derive(Debug)]
struct Open {
    row: LossEventRow,
    /// When the latest of its losses was sent.
    latest: Instant,
    /// Number of its first loss among the side's packets.
    order: u32,
}

impl Loss {
    /// A retransmission got its last judgement; they come in the order in which they were sent.
    pub(super) fn judged(&mut self, row: &RetransmissionRow, lost: &Lost, out: &mut Out<'_>) {
        let probe = matches!(row.cause, Cause::WindowProbe | Cause::KeepAlive);
        if row.need != Need::Needed || row.len == 0 || probe {
            return;
        }
        self.segments += u64::from(lost.packets);
        let timeout = matches!(row.cause, Cause::Timeout | Cause::GoBackN);
        // Without a sample: a segment is sent again no sooner than a round-trip time after it was sent.
        let rtt = lost.rtt.map(Duration::as_nanos).or(row.delay_previous).unwrap_or(0);
        let sent = row.time.as_nanos() - row.delay_previous.unwrap_or(0).min(row.time.as_nanos());
        let sent = Instant::from_nanos(sent);
        let reach = (rtt as f64 * out.loss_event_rtts) as u64;
        let near = |open: &&mut Box<Open>| sent.saturating_since(open.latest).as_nanos() <= reach;
        if let Some(open) = self.open.as_mut().filter(near) {
            open.latest = open.latest.max(sent);
            open.row.lost += lost.packets;
            open.row.timeout |= timeout;
            return;
        }
        let last = self.open.as_ref().map_or(0, |open| open.order);
        self.finish(out);
        self.events += 1;
        let row = LossEventRow {
            connection: row.connection,
            side: row.side,
            number: row.number,
            time: sent,
            seq: row.seq,
            lost: lost.packets,
            rtt,
            interval: u64::from(lost.order.wrapping_sub(last)),
            timeout,
        };
        self.open = Some(Box::new(Open { row, latest: sent, order: lost.order }));
    }

    /// The last event is over.
    pub(super) fn finish(&mut self, out: &mut Out<'_>) {
        if let Some(open) = self.open.take() {
            out.rows.loss_events.push(open.row);
        }
    }

    /// Writes the counts into the row.
    pub(super) fn fill(&self, row: &mut SideRow) {
        row.lost_segments = self.segments;
        row.loss_events = self.events;
    }
}

#[cfg(test)]
mod tests;
