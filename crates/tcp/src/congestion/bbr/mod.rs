//! BBR, version 1, as Linux 6.1 has it (net/ipv4/tcp_bbr.c, whose function names stand at their counterparts; Cardwell and
//! others, "BBR: congestion-based congestion control", ACM Queue 14(5), 2016; LK-BBR-1 to LK-BBR-8).
//!
//! The model of the path is its bandwidth, the greatest of ten round trips, and its least round-trip time of ten seconds. The
//! pacing rate is the bandwidth times a gain, the window their product times another. Losses lower the window for a round
//! trip and change neither.
//!
//! Numbers are the kernel's: bandwidths in packets a microsecond times 2^24, gains in 256ths, times in microseconds,
//! windows in whole packets.

mod aggregation;
mod filter;
mod policer;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{CongestionControl, Loss, Window};
use crate::recovery::Phase;
use aggregation::Aggregation;
use filter::WindowedMax;
use policer::{Policer, Verdict};
use rexmit_units::Instant;

/// Bandwidths are scaled by two to this power (`BW_SCALE`).
const SCALE: u32 = 24;
/// One, of a gain (`BBR_UNIT`).
const UNIT: u64 = 256;
/// Twice the rate with each round trip, 2/ln 2, and its reciprocal.
const HIGH: u64 = UNIT * 2_885 / 1_000 + 1;
const DRAIN: u64 = UNIT * 1_000 / 2_885;
/// Of the window while bandwidth is probed for.
const WINDOW: u64 = 2 * UNIT;
/// Gains of the eight phases of a cycle: more, less, and what was measured.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// Round trips over which the greatest bandwidth counts.
const ROUNDS: u32 = CYCLE.len() as u32 + 2;
/// Seconds over which the least round-trip time counts.
const LEAST_RTT_SECONDS: u64 = 10;
/// How long the queue is emptied for a new least round-trip time, milliseconds.
const PROBE_RTT_MS: u64 = 200;
/// The window then, and never less, packets.
const LEAST_WINDOW: u32 = 4;
/// The pipe is full once the bandwidth has not grown by a quarter for three round trips.
const FULL_GROWTH: u64 = UNIT * 5 / 4;
const FULL_ROUNDS: u32 = 3;
/// Below this rate packets hold one segment, bytes a second.
const SINGLE_SEGMENTS: u64 = 1_200_000 >> 3;
/// The first window of Linux, packets.
const FIRST_WINDOW: u32 = 10;
/// A packet of the send queue has less than these bytes, in `bbr_tso_segs_goal`.
const LARGEST_GOAL: u64 = 65_536 - 1 - 320;

/// Constants of BBR.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct BbrConfig {
    /// With which phase of the cycle of eight gains the probing for bandwidth begins, 0 or 2 to 7; phase 1 is the one that
    /// drains. Absent: drawn for each connection and each time, as the kernel does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_phase: Option<u8>,
}

impl BbrConfig {
    pub(super) fn is_default(&self) -> bool {
        *self == Self::default()
    }
}

/// What the sender is after (`enum bbr_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// The bandwidth, doubling the rate with each round trip.
    Startup,
    /// Getting rid of the queue that this has made.
    Drain,
    /// More bandwidth, a cycle after another.
    ProbeBandwidth,
    /// A new least round-trip time.
    ProbeRtt,
}

/// What an acknowledgment tells of the rate of delivery (`struct rate_sample`).
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PacketSample {
    /// Packets delivered, and the microseconds that they took, where both are known.
    pub rate: Option<(u32, u64)>,
    /// Something was delivered, though perhaps not at a rate that is known.
    pub has_delivered: bool,
    /// Packets that had been delivered when the last packet of the sample left.
    pub prior_delivered: u32,
    /// The application had nothing to send when it left.
    pub app_limited: bool,
    /// Round-trip time of the last packet, microseconds.
    pub rtt: Option<u64>,
    /// The peer may have waited with this acknowledgment.
    pub ack_delayed: bool,
    /// Packets newly taken for lost, and newly known to have arrived.
    pub losses: u32,
    pub arrived: u32,
    /// Packets in flight before it.
    pub prior_in_flight: u32,
}

/// What the connection knows besides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender {
    /// The clock's tick.
    pub ticks: u64,
    /// Ticks a second.
    pub hz: u64,
    /// Packets that have ever arrived, and when the last one was known to, microseconds.
    pub delivered: u32,
    pub delivered_at: u64,
    /// Packets that were ever taken for lost.
    pub lost: u32,
    /// Packets in flight.
    pub in_flight: u32,
    pub phase: Phase,
    /// Smoothed round-trip time, microseconds.
    pub srtt: Option<u64>,
    /// How far ahead of the clock the next packet is due, microseconds.
    pub ahead: u64,
    /// Bytes of a full segment.
    pub mss: u32,
}

impl Sender {
    /// `bbr_rate_bytes_per_sec`: a percent less than the bandwidth times the gain.
    fn bytes_a_second(&self, bandwidth: u64, gain: u64) -> u64 {
        let scaled = bandwidth * u64::from(self.mss) * gain;
        ((scaled >> 8) * (1_000_000 / 100 * 99)) >> SCALE
    }
}

/// BBR of one connection.
#[derive(Clone, Debug)]
pub struct Bbr {
    config: BbrConfig,
    random: u64,
    mode: Mode,
    bandwidth: WindowedMax,
    round: u32,
    /// Packets delivered when the present round trip ends.
    round_ends: u32,
    round_start: bool,
    /// The least round-trip time, microseconds, and the tick of it.
    least_rtt: Option<u64>,
    least_rtt_tick: u64,
    seen_rtt: bool,
    probe_rtt_ends: Option<u64>,
    probe_rtt_round: bool,
    /// What the sender did before the present acknowledgment.
    phase: Phase,
    conserves: bool,
    idle_restart: bool,
    pacing_gain: u64,
    window_gain: u64,
    /// Phase of the cycle, and when it began, microseconds.
    cycle: usize,
    cycle_since: u64,
    full: bool,
    full_bandwidth: u32,
    full_rounds: u32,
    prior_cwnd: u32,
    policer: Policer,
    aggregation: Aggregation,
    /// Bytes a second (`sk_pacing_rate`); 0 before the handshake.
    rate: u64,
}

impl Bbr {
    /// A controller that has seen nothing.
    pub fn new(config: BbrConfig) -> Self {
        Self {
            config,
            random: 0,
            mode: Mode::Startup,
            bandwidth: WindowedMax::default(),
            round: 0,
            round_ends: 0,
            round_start: false,
            least_rtt: None,
            least_rtt_tick: 0,
            seen_rtt: false,
            probe_rtt_ends: None,
            probe_rtt_round: false,
            phase: Phase::Open,
            conserves: false,
            idle_restart: false,
            pacing_gain: HIGH,
            window_gain: HIGH,
            cycle: 0,
            cycle_since: 0,
            full: false,
            full_bandwidth: 0,
            full_rounds: 0,
            prior_cwnd: 0,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            rate: 0,
        }
    }

    /// `bbr_init`: the handshake is complete. `seed` decides where cycles begin.
    pub(crate) fn begin(
        &mut self,
        window: &mut Window,
        sender: &Sender,
        (now, least_rtt): (u64, Option<u64>),
        seed: u64,
    ) {
        *self = Self::new(self.config);
        self.random = seed;
        window.ssthresh = u32::MAX;
        self.round_ends = sender.delivered;
        (self.least_rtt, self.least_rtt_tick) = (least_rtt, sender.ticks);
        self.begin_rate(window, sender);
        self.policer.reset(sender);
        self.aggregation.begin(now);
        self.pacing_gain = 0; // The first acknowledgment sets both.
        self.window_gain = 0;
    }

    /// The pacing rate, bytes a second.
    pub(crate) fn rate(&self) -> u64 {
        self.rate
    }

    /// A packet of the send queue holds at least this many segments (`bbr_min_tso_segs`).
    pub(crate) fn least_segments(&self) -> u64 {
        if self.rate < SINGLE_SEGMENTS { 1 } else { 2 }
    }

    /// Data leave while nothing is in flight, and the application was what limited the sender (`bbr_cwnd_event`).
    pub(crate) fn restart(&mut self, window: &mut Window, sender: &Sender, now: u64) {
        self.idle_restart = true;
        self.aggregation.begin(now);
        match self.mode {
            Mode::ProbeBandwidth => self.set_rate(window, sender, self.usual_bandwidth(), UNIT),
            Mode::ProbeRtt => self.end_probe_rtt(window, sender),
            Mode::Startup | Mode::Drain => {}
        }
    }

    /// A timeout ends the round (`bbr_set_state`).
    pub(crate) fn on_loss_state(&mut self, sender: &Sender) {
        self.phase = Phase::Loss;
        self.full_bandwidth = 0;
        self.round_start = true;
        let sample = PacketSample { losses: 1, ..PacketSample::default() };
        self.judge_policer(&sample, sender);
    }

    /// The last reduction was needless (`bbr_undo_cwnd`).
    pub(crate) fn on_undo(&mut self, sender: &Sender) {
        (self.full_bandwidth, self.full_rounds) = (0, 0);
        self.policer.reset(sender);
    }

    /// `bbr_main`: an acknowledgment. True if what is in flight now counts as limited by the application, since the queue
    /// is being emptied.
    pub(crate) fn on_sample(&mut self, window: &mut Window, sample: &PacketSample, sender: &Sender) -> bool {
        self.update_bandwidth(sample, sender);
        let (bandwidth, cwnd) = (self.usual_bandwidth(), window.packets());
        self.aggregation.take(sample, sender, (bandwidth, self.round_start, cwnd));
        if self.mode == Mode::ProbeBandwidth && self.is_phase_over(sample, sender) {
            self.advance_phase(sender);
        }
        self.look_for_full_pipe(sample);
        self.drain(window, sender);
        let limited = self.update_least_rtt(window, sample, sender);
        self.set_gains();
        let bandwidth = self.usual_bandwidth();
        self.set_rate(window, sender, bandwidth, self.pacing_gain);
        self.set_window(window, sample, sender, bandwidth);
        limited
    }

    fn usual_bandwidth(&self) -> u32 {
        if self.policer.uses { self.policer.rate } else { self.bandwidth.get() }
    }

    /// The first rate is a window in a round trip, of which there may be none yet (`bbr_init_pacing_rate_from_rtt`).
    fn begin_rate(&mut self, window: &Window, sender: &Sender) {
        let rtt = sender.srtt.map_or(1_000, |srtt| srtt.max(1));
        self.seen_rtt |= sender.srtt.is_some();
        let bandwidth = (u64::from(window.packets()) << SCALE) / rtt;
        self.rate = sender.bytes_a_second(u64::from(bandwidth as u32), HIGH);
    }

    /// The rate grows at once; it falls once the pipe is full (`bbr_set_pacing_rate`).
    fn set_rate(&mut self, window: &Window, sender: &Sender, bandwidth: u32, gain: u64) {
        if !self.seen_rtt && sender.srtt.is_some() {
            self.begin_rate(window, sender);
        }
        let rate = sender.bytes_a_second(bandwidth.into(), gain);
        if self.full || rate > self.rate {
            self.rate = rate;
        }
    }

    fn segments_goal(&self, sender: &Sender) -> u32 {
        let bytes = (self.rate >> 10).min(LARGEST_GOAL);
        (bytes / u64::from(sender.mss)).max(self.least_segments()).min(0x7f) as u32
    }

    /// Bandwidth times the least round-trip time times the gain, packets (`bbr_bdp`).
    fn product(&self, bandwidth: u32, gain: u64) -> u32 {
        let Some(rtt) = self.least_rtt else { return FIRST_WINDOW };
        let scaled = (u64::from(bandwidth) * rtt * gain) >> 8;
        scaled.div_ceil(1 << SCALE) as u32
    }

    /// Room for packets of several segments that are under way, and an even number (`bbr_quantization_budget`).
    fn with_room(&self, packets: u32, sender: &Sender) -> u32 {
        let even = (packets + 3 * self.segments_goal(sender) + 1) & !1;
        even + if self.mode == Mode::ProbeBandwidth && self.cycle == 0 { 2 } else { 0 }
    }

    fn target(&self, sender: &Sender, gain: u64) -> u32 {
        self.with_room(self.product(self.bandwidth.get(), gain), sender)
    }

    /// How many are in the network when the next packet leaves (`bbr_packets_in_net_at_edt`).
    fn in_flight_then(&self, sender: &Sender, in_flight: u32) -> u32 {
        let arrives = ((u64::from(self.usual_bandwidth()) * sender.ahead) >> SCALE) as u32;
        let more = if self.pacing_gain > UNIT { self.segments_goal(sender) } else { 0 };
        (in_flight + more).saturating_sub(arrives)
    }

    fn update_bandwidth(&mut self, sample: &PacketSample, sender: &Sender) {
        self.round_start = false;
        let Some((delivered, interval)) = sample.rate else { return };
        if (sample.prior_delivered.wrapping_sub(self.round_ends) as i32) >= 0 {
            self.round_ends = sender.delivered;
            self.round += 1;
            (self.round_start, self.conserves) = (true, false);
        }
        self.judge_policer(sample, sender);
        let bandwidth = ((u64::from(delivered) << SCALE) / interval) as u32;
        if !sample.app_limited || bandwidth >= self.bandwidth.get() {
            self.bandwidth.take(ROUNDS, self.round, bandwidth);
        }
    }

    fn judge_policer(&mut self, sample: &PacketSample, sender: &Sender) {
        match self.policer.take(sample, sender, self.mode, self.round_start) {
            Verdict::Nothing => {}
            Verdict::Steady => self.pacing_gain = UNIT,
            Verdict::Probe => self.probe_bandwidth(sender),
        }
    }

    /// `bbr_is_next_cycle_phase`.
    fn is_phase_over(&self, sample: &PacketSample, sender: &Sender) -> bool {
        let least = self.least_rtt.unwrap_or(u64::from(u32::MAX));
        let long = sender.delivered_at.saturating_sub(self.cycle_since) > least;
        if self.pacing_gain == UNIT {
            return long;
        }
        let in_flight = self.in_flight_then(sender, sample.prior_in_flight);
        if self.pacing_gain > UNIT {
            long && (sample.losses > 0 || in_flight >= self.target(sender, self.pacing_gain))
        } else {
            long || in_flight <= self.target(sender, UNIT)
        }
    }

    fn advance_phase(&mut self, sender: &Sender) {
        self.cycle = (self.cycle + 1) % CYCLE.len();
        self.cycle_since = sender.delivered_at;
    }

    /// `bbr_reset_probe_bw_mode`: any phase but the one that drains comes first.
    fn probe_bandwidth(&mut self, sender: &Sender) {
        self.mode = Mode::ProbeBandwidth;
        let before = match self.config.first_phase {
            Some(phase) => (usize::from(phase) + CYCLE.len() - 1) % CYCLE.len(),
            None => CYCLE.len() - 1 - self.draw(7) as usize,
        };
        self.cycle = before;
        self.advance_phase(sender);
    }

    /// A number below `below`, all equally likely (SplitMix64).
    fn draw(&mut self, below: u64) -> u64 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (((z ^ (z >> 31)) >> 32) * below) >> 32
    }

    /// `bbr_check_full_bw_reached`.
    fn look_for_full_pipe(&mut self, sample: &PacketSample) {
        if self.full || !self.round_start || sample.app_limited {
            return;
        }
        let bandwidth = self.bandwidth.get();
        if u64::from(bandwidth) >= (u64::from(self.full_bandwidth) * FULL_GROWTH) >> 8 {
            (self.full_bandwidth, self.full_rounds) = (bandwidth, 0);
            return;
        }
        self.full_rounds += 1;
        self.full = self.full_rounds >= FULL_ROUNDS;
    }

    /// `bbr_check_drain`.
    fn drain(&mut self, window: &mut Window, sender: &Sender) {
        if self.mode == Mode::Startup && self.full {
            self.mode = Mode::Drain;
            window.set_threshold_packets(self.target(sender, UNIT));
        }
        if self.mode == Mode::Drain
            && self.in_flight_then(sender, sender.in_flight) <= self.target(sender, UNIT)
        {
            self.probe_bandwidth(sender);
        }
    }

    /// `bbr_update_min_rtt`: a least round-trip time of ten seconds ago is measured again, with an empty queue.
    fn update_least_rtt(&mut self, window: &mut Window, sample: &PacketSample, sender: &Sender) -> bool {
        let old = sender.ticks > self.least_rtt_tick + LEAST_RTT_SECONDS * sender.hz;
        if let Some(rtt) = sample.rtt
            && (self.least_rtt.is_none_or(|least| rtt < least) || (old && !sample.ack_delayed))
        {
            (self.least_rtt, self.least_rtt_tick) = (Some(rtt), sender.ticks);
        }
        if old && !self.idle_restart && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window(window);
            self.probe_rtt_ends = None;
        }
        let probing = self.mode == Mode::ProbeRtt;
        if probing {
            self.probe_rtt(window, sender);
        }
        if sample.has_delivered {
            self.idle_restart = false;
        }
        probing
    }

    fn probe_rtt(&mut self, window: &mut Window, sender: &Sender) {
        if self.probe_rtt_ends.is_some() {
            self.probe_rtt_round |= self.round_start;
            if self.probe_rtt_round {
                self.end_probe_rtt(window, sender);
            }
        } else if sender.in_flight <= LEAST_WINDOW {
            self.probe_rtt_ends = Some(sender.ticks + PROBE_RTT_MS * sender.hz / 1_000);
            self.probe_rtt_round = false;
            self.round_ends = sender.delivered;
        }
    }

    /// `bbr_check_probe_rtt_done`.
    fn end_probe_rtt(&mut self, window: &mut Window, sender: &Sender) {
        if self.probe_rtt_ends.is_none_or(|end| sender.ticks <= end) {
            return;
        }
        self.least_rtt_tick = sender.ticks;
        window.set_packets(window.packets().max(self.prior_cwnd));
        if self.full {
            self.probe_bandwidth(sender);
        } else {
            self.mode = Mode::Startup;
        }
    }

    fn set_gains(&mut self) {
        (self.pacing_gain, self.window_gain) = match self.mode {
            Mode::Startup => (HIGH, HIGH),
            Mode::Drain => (DRAIN, HIGH),
            Mode::ProbeBandwidth if self.policer.uses => (UNIT, WINDOW),
            Mode::ProbeBandwidth => (CYCLE[self.cycle], WINDOW),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    /// The window before a repair, or before the queue is emptied (`bbr_save_cwnd`).
    fn save_window(&mut self, window: &Window) {
        let cwnd = window.packets();
        let fresh = !repairs(self.phase) && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if fresh { cwnd } else { self.prior_cwnd.max(cwnd) };
    }

    /// `bbr_set_cwnd_to_recover_or_restore`: what is lost is taken from the window; in the first round trip of a recovery as
    /// much leaves as arrives. True if the window is set by that.
    fn recover(&mut self, cwnd: &mut u32, sample: &PacketSample, sender: &Sender) -> bool {
        let (before, phase) = (self.phase, sender.phase);
        if sample.losses > 0 {
            *cwnd = (i64::from(*cwnd) - i64::from(sample.losses)).max(1) as u32;
        }
        if phase == Phase::Recovery && before != Phase::Recovery {
            self.conserves = true;
            self.round_ends = sender.delivered;
            *cwnd = sender.in_flight + sample.arrived;
        } else if repairs(before) && !repairs(phase) {
            *cwnd = (*cwnd).max(self.prior_cwnd);
            self.conserves = false;
        }
        self.phase = phase;
        if self.conserves {
            *cwnd = (*cwnd).max(sender.in_flight + sample.arrived);
        }
        self.conserves
    }

    /// `bbr_set_cwnd`.
    fn set_window(&mut self, window: &mut Window, sample: &PacketSample, sender: &Sender, bandwidth: u32) {
        let (mut cwnd, arrived) = (window.packets(), sample.arrived);
        if arrived > 0 && !self.recover(&mut cwnd, sample, sender) {
            let mut target = self.product(bandwidth, self.window_gain);
            if self.full {
                target += self.aggregation.packets(bandwidth);
            }
            target = self.with_room(target, sender);
            if self.full {
                cwnd = (cwnd + arrived).min(target);
            } else if cwnd < target || sender.delivered < FIRST_WINDOW {
                cwnd += arrived;
            }
            cwnd = cwnd.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            cwnd = cwnd.min(LEAST_WINDOW);
        }
        window.set_packets(cwnd);
        window.cwnd = window.cwnd.min(window.max);
    }
}

fn repairs(phase: Phase) -> bool {
    matches!(phase, Phase::Recovery | Phase::Loss)
}

// What others may ask of any controller. The window is `on_sample`'s.
impl CongestionControl for Bbr {
    fn on_ack(&mut self, _window: &mut Window, _ack: &super::Ack) {}

    fn ssthresh_on_loss(&mut self, window: &Window, _loss: &Loss) -> u32 {
        self.save_window(window);
        window.ssthresh
    }

    fn on_timeout(&mut self, window: &mut Window, _now: Instant) {
        window.cwnd = window.mss;
    }

    fn on_recovery_exit(&mut self, _window: &Window, _now: Instant) {}

    fn on_spurious(&mut self) {}

    fn name(&self) -> &'static str {
        "bbr"
    }
}

#[cfg(test)]
mod tests;
