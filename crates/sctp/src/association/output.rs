//! What may leave (RFC 9260 section 6.1; SC-S-1 to SC-S-8).

use rexmit_stack::Reason;
use rexmit_units::Instant;

use super::Association;
use super::packing::Draft;
use crate::outbound::Place;

/// Why data may leave now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    /// Something has arrived, or the application has written.
    Usual,
    /// T3 has run out this often in a row.
    Timeout { backoff: u32 },
    /// A fast retransmit: missing reports of its first chunk, chunks reported above.
    Fast { missing: u8, sacked: u16 },
}

impl Trigger {
    /// The reason of the first packet that it lets out.
    fn reason(self) -> Reason {
        match self {
            Self::Usual => Reason::RetransmitQueue,
            Self::Timeout { backoff } => Reason::Timeout { backoff },
            Self::Fast { missing, sacked } => Reason::Fast { duplicates: missing.into(), sacked },
        }
    }
}

impl Association {
    /// Sends what may be sent: chunks marked for retransmission, then new ones (SC-S-6), then a SACK that went along
    /// with neither.
    pub(super) fn flush(&mut self, now: Instant, trigger: Trigger) {
        if self.state.sends_data() && (self.out.queued > 0 || !self.out.pending.is_empty()) {
            for path in &mut self.paths {
                path.begin_burst(&self.profile.congestion);
            }
            let mut draft = None;
            if self.out.queued > 0 {
                self.flush_queue(now, trigger, &mut draft);
            }
            if self.out.queued == 0 && !self.out.pending.is_empty() {
                self.flush_new(now, &mut draft);
            }
            if let Some(draft) = draft {
                self.finish(now, draft);
            }
        }
        if self.departures.is_some() {
            self.note_app_limited();
        }
        self.send_due_sack();
    }

    /// The retransmit queue: one packet where a loss was just found, else as the window allows (SC-F-3, SC-T-1, SC-T-3).
    fn flush_queue(&mut self, now: Instant, trigger: Trigger, draft: &mut Option<Draft>) {
        let one_packet = trigger != Trigger::Usual;
        let mut reason = trigger.reason();
        while let Some(at) = self.out.first_queued() {
            if self.is_given_up(now, at) {
                self.abandon(now, at);
                continue;
            }
            let (path, len) = (usize::from(self.out.sent[at].path), self.out.sent[at].len);
            if let Some(full) = draft.take_if(|draft| !self.has_room(draft, path, len)) {
                self.finish(now, full);
                if one_packet {
                    break;
                }
                reason = Reason::RetransmitQueue;
            }
            if !self.may_send(now, path, len, self.out.sent[at].fast) {
                break;
            }
            self.out.sent[at].place = Place::Outstanding;
            self.out.queued -= 1;
            self.out.note_in_flight(len);
            let chunk = &mut self.out.sent[at];
            chunk.again += 1;
            chunk.missing = 0;
            chunk.fast = false;
            self.put(now, draft, (at, path), reason);
        }
        if one_packet && self.out.queued > 0 {
            self.unflag();
        }
    }

    /// Chunks that did not fit in the packet of a loss wait for the window (SC-F-3; RFC 9260 section 7.2.4 item 5).
    fn unflag(&mut self) {
        for chunk in self.out.sent.iter_mut().filter(|chunk| chunk.place == Place::Queued) {
            chunk.fast = false;
        }
    }

    fn flush_new(&mut self, now: Instant, draft: &mut Option<Draft>) {
        while let Some(front) = self.out.pending.front() {
            let len = (front.len - front.taken).min(self.fragment.into()) as u32;
            if front.expires <= now && self.peer.partial_reliability {
                self.drop_unsent(now);
                continue;
            }
            let path = self.send_path();
            if let Some(full) = draft.take_if(|draft| !self.has_room(draft, path, len)) {
                self.finish(now, full);
            }
            if self.profile.congestion.idle_halves {
                self.paths[path].note_idle(now);
            }
            let waits = self.profile.output.nagle
                && draft.is_none()
                && self.out.outstanding > 0
                && self.out.pending_bytes < u64::from(self.fragment);
            if waits || !self.may_send(now, path, len, false) {
                return;
            }
            let beyond = u64::from(len) > self.out.peer_window;
            let reason = if beyond { Reason::WindowProbe } else { Reason::New };
            let Some(at) = self.out.cut(now, self.fragment, path as u8, self.peer.interleaving) else {
                return;
            };
            self.put(now, draft, (at, path), reason);
        }
    }

    /// May a chunk leave on a path (SC-S-1, SC-S-2, SC-S-4; RFC 9260 section 6.1 A and B)?
    fn may_send(&mut self, now: Instant, path: usize, len: u32, fast: bool) -> bool {
        if u64::from(len) > self.out.peer_window && self.out.outstanding > 0 {
            return false;
        }
        let path = &mut self.paths[path];
        !path.waits_for_pace(now) && (path.allows(&self.profile.congestion) || fast)
    }

    /// Marks an outstanding chunk for retransmission on a path.
    pub(super) fn mark(&mut self, at: usize, to: usize) {
        let chunk = &self.out.sent[at];
        let from = &mut self.paths[usize::from(chunk.path)];
        from.flight -= u64::from(chunk.len);
        from.timing &= !chunk.timed; // SC-S-8
        self.out.mark(at, to as u8);
    }

    /// The path of new data: the primary one, or another that works (RFC 9260 section 6.4).
    pub(super) fn send_path(&self) -> usize {
        if self.paths.get(self.primary).is_some_and(|path| path.active) {
            return self.primary;
        }
        self.alternate(self.primary)
    }

    /// Another path that works, or the same one (RFC 9260 section 6.4.1).
    pub(super) fn alternate(&self, path: usize) -> usize {
        let count = self.paths.len();
        let others = (1..count).map(|step| (path + step) % count);
        let works = |at: &usize| self.paths[*at].active && self.paths[*at].confirmed;
        others.into_iter().find(works).unwrap_or(path)
    }
}
