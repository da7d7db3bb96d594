//! What an association does for controllers that go by the rate of delivery, pace, or heed ECN
//! ([`crate::congestion::RateControl`]). Each path has samples of its own, of the chunks that left on it last.

use rexmit_stack::rate::EcnEcho;
use rexmit_units::Instant;
use rexmit_wire::SeqNumber;

use super::Association;
use crate::by_rate::Departure;

impl Association {
    /// The chunk at `at` leaves on a path.
    #[cold]
    pub(super) fn note_departure(&mut self, now: Instant, at: usize, path: usize) {
        let tsn = self.out.base + at as u32;
        let (len, again) = (self.out.sent[at].len, self.out.sent[at].again > 0);
        let Some(departures) = &mut self.departures else { return };
        let old = departures.take(tsn);
        if let Some(stamp) = self.paths[path].depart(now, len, again) {
            departures.put(tsn, Departure { path: path as u8, stamp });
        }
        // Until now it was out: a path on which nothing else is has not been idle.
        if let Some(old) = old {
            self.paths[usize::from(old.path)].note_gone();
        }
    }

    /// The chunk at `at`, which is out on this path, leaves once more in a packet of new chunks (SC-E-6).
    #[cold]
    pub(super) fn note_departure_beside(&mut self, now: Instant, at: usize, path: usize) {
        let tsn = self.out.base + at as u32;
        let departure = self.departures.as_mut().and_then(|departures| departures.get(tsn));
        if let (Some(departure), Some(stamp)) = (departure, self.paths[path].depart_beside(now)) {
            departure.stamp = stamp;
        }
    }

    /// A chunk is acknowledged, or passed over because it was given up; one that was reported before is not counted again.
    #[cold]
    pub(super) fn note_arrival(&mut self, now: Instant, tsn: SeqNumber, len: u32, arrived: bool) {
        let departure = self.departures.as_mut().and_then(|departures| departures.take(tsn));
        let Some(Departure { path, stamp }) = departure else { return };
        let path = &mut self.paths[usize::from(path)];
        match arrived {
            true => path.note_delivered(now, &stamp, len),
            false => path.note_gone(),
        }
    }

    /// All that might leave has left (draft-cheng-iccrg-delivery-rate-estimation-02, section 3.4).
    #[cold]
    pub(super) fn note_app_limited(&mut self) {
        if self.out.pending.is_empty() && self.out.queued == 0 {
            for path in &mut self.paths {
                path.note_app_limited();
            }
        }
    }

    /// ECNE: the lowest TSN that was in a marked packet (RFC 4960 appendix A), and how many such packets there were since
    /// the last CWR, where that is said (draft-stewart-tsvwg-sctpecn). It concerns the path on which that chunk left, or the primary one if
    /// the chunk has been acknowledged.
    #[cold]
    pub(super) fn on_marks(&mut self, now: Instant, value: &[u8]) {
        let Some(departures) = &mut self.departures else { return };
        let number = |from: usize| value.get(from..)?.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
        let departure = number(0).and_then(|tsn| departures.get(SeqNumber(tsn)));
        let at = departure.map_or(self.primary, |departure| usize::from(departure.path));
        let Some(path) = self.paths.get_mut(at) else { return };
        let echo = EcnEcho { now, acked: 0, marks: number(4).unwrap_or(1).max(1), in_flight: path.flight };
        if let Some(control) = path.congestion.inner().rate_control() {
            control.on_ecn(&mut path.window, &echo);
        }
    }
}
