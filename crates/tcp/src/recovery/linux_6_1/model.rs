//! What a controller that sets the window and the pacing rate itself (`cong_control`) is told: BBR.

use rexmit_units::Instant;

use super::ack::Told;
use super::rack::micros;
use super::{Linux61, Sent};
use crate::congestion::bbr::Sender;
use crate::connection::Tcb;

impl Linux61 {
    /// Packets that have ever arrived, that of the handshake included.
    fn all_delivered(&self) -> u32 {
        (self.delivered as u32).wrapping_add(1)
    }

    fn sender(&self, tcb: &Tcb, now: Instant) -> Sender {
        Sender {
            ticks: tcb.clock.ticks(now),
            hz: 1_000_000_000 / tcb.profile.clock.tick.as_nanos().max(1),
            delivered: self.all_delivered(),
            delivered_at: self.rates.as_deref().map_or(0, |rates| rates.delivered_at()),
            lost: self.packets.queue.losses as u32,
            in_flight: self.packets.in_flight(),
            phase: self.packets.phase,
            srtt: tcb.rtt.srtt().map(|srtt| srtt.as_nanos() / 1_000),
            ahead: tcb.pacing.as_deref().map_or(0, |pacing| pacing.ahead(now) / 1_000),
            mss: tcb.snd.mss,
        }
    }

    /// The handshake is complete (`tcp_init_congestion_control`).
    pub(super) fn begin_rates(&mut self, tcb: &mut Tcb, now: Instant) {
        if !self.rates.as_deref_mut().is_some_and(|rates| rates.begins()) {
            return;
        }
        let sender = self.sender(tcb, now);
        let least = tcb.least_rtt_micros();
        // Where its cycles begin is drawn, separately for each connection.
        let seed = u64::from(tcb.snd.iss.0);
        if let Some(bbr) = tcb.congestion.bbr() {
            bbr.begin(&mut tcb.window, &sender, (micros(now), least), seed);
        }
        Self::take_rate(tcb);
    }

    /// The pacing rate is the controller's.
    fn take_rate(tcb: &mut Tcb) {
        if let (Some(bbr), Some(pacing)) = (tcb.congestion.bbr(), tcb.pacing.as_deref_mut()) {
            pacing.set_rate(bbr.rate(), bbr.least_segments());
        }
    }

    /// The application writes: is it what limits the sender (`tcp_rate_check_app_limited`)?
    pub(super) fn note_app_limit(&mut self, tcb: &mut Tcb) {
        let (delivered, in_flight) = (self.all_delivered(), self.packets.in_flight());
        let Some(rates) = &mut self.rates else { return };
        let unsent = i64::from(tcb.buffer.len()) - tcb.off();
        let repaired = self.packets.queue.lost <= self.packets.queue.resent;
        if unsent < tcb.snd.mss.into() && in_flight < tcb.window.packets() && repaired {
            rates.limit(delivered, in_flight);
        }
    }

    /// A segment leaves, for the first time or again; `idle`: nothing is in flight.
    #[cold]
    pub(super) fn note_sent_by_rate(&mut self, tcb: &mut Tcb, now: Instant, sent: &Sent, idle: bool) {
        if sent.space() == 0 {
            return;
        }
        self.begin_rates(tcb, now);
        let limited = self.rates.as_deref().is_some_and(|rates| rates.is_app_limited());
        if sent.len > 0 && idle && limited {
            let sender = self.sender(tcb, now);
            if let Some(bbr) = tcb.congestion.bbr() {
                bbr.restart(&mut tcb.window, &sender, micros(now));
            }
            Self::take_rate(tcb);
        }
        let (at, alone) = (tcb.left_at(now), self.packets.queue.len() == 0);
        let (delivered, end) = (self.all_delivered(), sent.seq + sent.space());
        if let Some(rates) = &mut self.rates {
            rates.on_sent(at, (sent.seq, end), alone, delivered);
        }
    }

    /// An acknowledgment has been looked at (`tcp_rate_gen`, `tcp_cong_control`).
    pub(super) fn control_by_model(&mut self, tcb: &mut Tcb, now: Instant, told: &Told) {
        let least = tcb.least_rtt_micros().unwrap_or(0);
        let (delivered, una) = (self.all_delivered(), tcb.snd.una);
        let Some(rates) = &mut self.rates else { return };
        let single = rates.is_single(delivered);
        let mut sample = rates.sample(now, una, (delivered, told.delivered), least);
        sample.losses = told.lost;
        sample.rtt = told.rtt.map(|rtt| rtt.as_nanos() / 1_000);
        let short = una.diff(told.prior_una) < tcb.snd.mss as i32;
        sample.ack_delayed = told.may_be_delayed && single && short;
        let sender = self.sender(tcb, now);
        let Some(bbr) = tcb.congestion.bbr() else { return };
        if bbr.on_sample(&mut tcb.window, &sample, &sender)
            && let Some(rates) = &mut self.rates
        {
            rates.limit(sender.delivered, sender.in_flight);
        }
        Self::take_rate(tcb);
    }

    /// A timeout is being repaired.
    pub(super) fn tell_of_loss(&mut self, tcb: &mut Tcb, now: Instant) {
        if self.rates.is_none() {
            return;
        }
        let sender = self.sender(tcb, now);
        if let Some(bbr) = tcb.congestion.bbr() {
            bbr.on_loss_state(&sender);
        }
    }

    /// The last reduction was needless.
    pub(super) fn tell_of_undo(&mut self, tcb: &mut Tcb) {
        let sender = self.sender(tcb, tcb.last_arrival);
        if let Some(bbr) = tcb.congestion.bbr() {
            bbr.on_undo(&sender);
        }
    }
}
