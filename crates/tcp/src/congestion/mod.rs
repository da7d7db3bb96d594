//! Congestion control behind one small trait: how the window grows, and what a loss makes of it.
//!
//! Families of methods, and who calls them when:
//!
//! 1. *growth*: [`CongestionControl::on_ack`] at each acknowledgment of new data outside recovery;
//! 2. *reduction*: [`CongestionControl::ssthresh_on_loss`] once per congestion event gives the new
//!    slow-start threshold, which the caller stores; on a timeout it then calls
//!    [`CongestionControl::on_timeout`], which sets the loss window; in fast recovery the window is the
//!    recovery's business until [`CongestionControl::on_recovery_exit`];
//! 3. *undo*: [`CongestionControl::on_spurious`] when the last reduction proves needless. The caller
//!    restores [`Window`]; the controller restores what it keeps itself.
//!
//! Two more traits are for those that need them, and cost nothing otherwise: [`RateControl`] for controllers that go by
//! the rate of delivery, pace, or heed ECN (BBR); [`LinuxControl`] for what Linux's ways to recover ask besides.
//!
//! Only the controller writes to [`Window`] in the calls that take it `&mut`; it keeps no copy of it.
//!
//! What must hold for every controller, whatever is called in which order, is in [`bounds`], with a body of
//! operations that checks it. [`Congestion::own`] takes a controller from outside this crate.
//!
//! [`Bbr`] goes by packets as Linux counts them, and its connection asks it by name.
//!
//! [`Dctcp`] counts marks, which its connection reports to it by name; to the others an echo of ECN is a loss.

pub(crate) mod bbr;
mod bic;
pub mod bounds;
mod config;
mod cubic;
mod cubic_integer;
mod dctcp;
mod hystart;
mod hystart_plus_plus;
mod inflight;
mod own;
mod reno;
#[cfg(test)]
mod tests;

use rexmit_units::{Duration, Instant};
use rexmit_wire::SeqNumber;

pub use bbr::{Bbr, BbrConfig};
pub use bic::Bic;
pub use config::{
    AlgorithmKind, BicConfig, CongestionConfig, CongestionConfigError, CubicArithmetic, CubicConfig, Growth,
    GrowthCondition, GrowthCount, HystartConfig, HystartRule, InflightConfig, SlowStartCondition,
    SsthreshRule,
};
pub use cubic::Cubic;
pub use cubic_integer::CubicInteger;
pub use dctcp::Dctcp;
pub(crate) use hystart_plus_plus::RoundTrip;
pub use inflight::{Inflight, RttView};
pub use own::OwnControl;
pub use reno::Reno;
pub use rexmit_stack::rate::{EcnEcho, RateControl, RateSample, SentData};

// --8<-- [start:window]
/// The windows of a sender, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u32,
    /// Slow-start threshold; `u32::MAX` stands for no limit.
    pub ssthresh: u32,
    /// Bytes of data in a full segment; never 0.
    pub mss: u32,
    /// The congestion window never grows beyond this (for instance 65535 << scale).
    pub max: u32,
}
// --8<-- [end:window]

/// `ssthresh` where there is none, in packets (`TCP_INFINITE_SSTHRESH`).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// The same in whole packets, as Linux counts them.
impl Window {
    pub(crate) fn packets(&self) -> u32 {
        self.cwnd / self.mss
    }

    pub(crate) fn set_packets(&mut self, n: u32) {
        self.cwnd = n.saturating_mul(self.mss);
    }

    pub(crate) fn threshold_packets(&self) -> u32 {
        match self.ssthresh {
            u32::MAX => NO_THRESHOLD,
            bytes => bytes / self.mss,
        }
    }

    pub(crate) fn set_threshold_packets(&mut self, n: u32) {
        let bytes = n.saturating_mul(self.mss);
        self.ssthresh = if n >= NO_THRESHOLD { u32::MAX } else { bytes };
    }
}

/// An acknowledgment of new data.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// Bytes newly acknowledged.
    pub acked: u32,
    /// When it arrived.
    pub now: Instant,
    /// Smoothed round-trip time, if there is one.
    pub srtt: Option<Duration>,
    /// Bytes in flight before it arrived.
    pub in_flight: u32,
    /// The congestion window, and nothing else, kept the sender from sending more before it arrived.
    pub cwnd_limited: bool,
    /// What the sender was doing.
    pub during: During,
}

/// What a sender is doing while its window may grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum During {
    /// Nothing is suspected.
    Open,
    /// Some duplicates or SACK reports have come.
    Disorder,
    /// A timeout is being repaired.
    Loss,
}

/// A congestion event: a loss found by duplicate ACKs, by SACK or by a timeout.
#[derive(Clone, Copy, Debug)]
pub struct Loss {
    /// Bytes in flight when it was found.
    pub in_flight: u32,
    /// The peer's window in bytes.
    pub snd_wnd: u32,
    /// When it was found.
    pub now: Instant,
}

/// What a controller is told besides, by senders that count packets.
#[derive(Clone, Copy, Debug)]
pub enum Note {
    /// An acknowledgment was looked at, before it makes the window grow.
    Sample {
        /// When it arrived.
        now: Instant,
        /// Round-trip time of the last packet that it told of, if one can be known.
        rtt: Option<Duration>,
        /// Oldest number outstanding after it.
        una: SeqNumber,
        /// Next number to send.
        nxt: SeqNumber,
        /// Data are paced.
        paced: bool,
    },
    /// Data leave while nothing is in flight.
    Restart {
        /// When.
        now: Instant,
        /// Since data left last.
        idle: Duration,
    },
}

// --8<-- [start:trait]
/// One algorithm of congestion control.
pub trait CongestionControl {
    /// Grows the window for an acknowledgment of new data.
    fn on_ack(&mut self, window: &mut Window, ack: &Ack);

    /// The slow-start threshold after a congestion event: at least two segments. Remembers the event.
    fn ssthresh_on_loss(&mut self, window: &Window, loss: &Loss) -> u32;

    /// Sets the loss window of one segment after an expiry of the retransmission timer (RFC 5681 section
    /// 3.1). The caller has set the threshold before, at the first expiry of a segment only.
    fn on_timeout(&mut self, window: &mut Window, now: Instant);

    /// Fast recovery is over and the caller has set the window.
    fn on_recovery_exit(&mut self, window: &Window, now: Instant);

    /// The last congestion event was spurious: takes back what [`Self::ssthresh_on_loss`] remembered.
    fn on_spurious(&mut self);

    /// Itself, if it goes by the rate of delivery, paces, or heeds ECN. Asked when a connection begins, and then at
    /// each call of [`RateControl`].
    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        None
    }

    /// Itself, if Linux's ways to recover get other answers from it than those of Reno.
    fn linux_control(&mut self) -> Option<&mut dyn LinuxControl> {
        None
    }

    /// Name of the algorithm, as in a profile.
    fn name(&self) -> &'static str;
}
// --8<-- [end:trait]

/// What Linux's ways to recover ask besides. The answers here are Reno's.
pub trait LinuxControl {
    /// Something of which a controller may make use.
    fn note(&mut self, _window: &mut Window, _note: &Note) {}

    /// How far a recovery that lowers the window ACK by ACK may go (LX-ST-7).
    fn recovery_floor(&self, window: &Window) -> u32 {
        window.ssthresh / 2
    }

    /// The window after a reduction that was needless, where the caller keeps none (LX-ST-11, `undo_cwnd`).
    fn undo_window(&self, window: &Window) -> u32 {
        window.ssthresh.saturating_mul(2)
    }
}

/// What any controller answers that has no answers of its own.
struct LikeReno;

impl LinuxControl for LikeReno {}

/// The controller of one connection.
#[derive(Clone, Debug)]
pub enum Congestion {
    /// Reno and NewReno.
    Reno(Reno),
    /// CUBIC.
    Cubic(Box<Cubic>),
    /// CUBIC in whole packets.
    CubicInteger(Box<CubicInteger>),
    /// BIC.
    Bic(Box<Bic>),
    /// BBR.
    Bbr(Box<Bbr>),
    /// DCTCP.
    Dctcp(Box<Dctcp>),
    /// One from outside this crate.
    Own(Box<dyn OwnControl>),
}

impl Congestion {
    /// A controller that has seen nothing. `config` is taken as it is: check it first with
    /// [`CongestionConfig::check`].
    pub fn new(config: &CongestionConfig) -> Self {
        match config.algorithm {
            AlgorithmKind::Reno => Self::Reno(Reno::new(config)),
            AlgorithmKind::Cubic if config.cubic.arithmetic == CubicArithmetic::Integer => {
                Self::CubicInteger(Box::new(CubicInteger::new(config)))
            }
            AlgorithmKind::Cubic => Self::Cubic(Box::new(Cubic::new(config))),
            AlgorithmKind::Bic => Self::Bic(Box::new(Bic::new(config))),
            AlgorithmKind::Bbr => Self::Bbr(Box::new(Bbr::new(config.bbr))),
            AlgorithmKind::Dctcp => Self::Dctcp(Box::new(Dctcp::new(config))),
        }
    }

    /// What it counts by ticks, it counts by those of a clock of this phase.
    pub(crate) fn with_phase(mut self, phase: Duration) -> Self {
        if let Self::CubicInteger(cubic) = &mut self {
            cubic.set_phase(phase);
        }
        self
    }

    /// A controller from outside this crate, for [`crate::Connection::set_congestion`].
    pub fn own(control: impl OwnControl) -> Self {
        Self::Own(Box::new(control))
    }

    /// It sets the window itself at each acknowledgment, in recovery too (`cong_control`).
    pub(crate) fn sets_window(&self) -> bool {
        matches!(self, Self::Bbr(_))
    }

    /// Itself, if it is BBR.
    pub(crate) fn bbr(&mut self) -> Option<&mut Bbr> {
        match self {
            Self::Bbr(bbr) => Some(bbr),
            _ => None,
        }
    }

    /// It wants every packet to be ECN-capable (`TCP_CONG_NEEDS_ECN`).
    pub(crate) fn needs_ecn(&self) -> bool {
        matches!(self, Self::Dctcp(_))
    }

    /// Itself, if it is DCTCP, and the peer has agreed to ECN.
    pub(crate) fn dctcp(&mut self) -> Option<&mut Dctcp> {
        match self {
            Self::Dctcp(dctcp) if dctcp.heeds_marks() => Some(dctcp),
            _ => None,
        }
    }

    /// See [`LinuxControl::note`].
    pub fn note(&mut self, window: &mut Window, note: &Note) {
        if let Some(control) = self.linux_control() {
            control.note(window, note);
        }
    }

    /// See [`LinuxControl::recovery_floor`].
    pub fn recovery_floor(&mut self, window: &Window) -> u32 {
        self.linux_control().map_or_else(|| LikeReno.recovery_floor(window), |c| c.recovery_floor(window))
    }

    /// See [`LinuxControl::undo_window`].
    pub fn undo_window(&mut self, window: &Window) -> u32 {
        self.linux_control().map_or_else(|| LikeReno.undo_window(window), |c| c.undo_window(window))
    }

    /// An acknowledgment has made the window grow: is slow start over (HyStart++)?
    pub(crate) fn watch_slow_start(&mut self, window: &mut Window, round: &RoundTrip) {
        match self {
            Self::Reno(c) => c.watch_slow_start(window, round),
            Self::Cubic(c) => c.watch_slow_start(window, round),
            Self::CubicInteger(_) | Self::Bic(_) | Self::Bbr(_) | Self::Dctcp(_) | Self::Own(_) => {}
        }
    }

    /// Sets the count towards the next step of congestion avoidance, where there is one (LX-ST-13).
    pub fn set_credit(&mut self, credit: u32) {
        match self {
            Self::Reno(c) => c.set_credit(credit),
            Self::Bic(c) => c.set_credit(credit),
            Self::Cubic(_) | Self::CubicInteger(_) | Self::Bbr(_) | Self::Dctcp(_) | Self::Own(_) => {}
        }
    }
}

impl CongestionControl for Congestion {
    #[inline]
    fn on_ack(&mut self, window: &mut Window, ack: &Ack) {
        match self {
            Self::Reno(c) => c.on_ack(window, ack),
            Self::Cubic(c) => c.on_ack(window, ack),
            Self::CubicInteger(c) => c.on_ack(window, ack),
            Self::Bic(c) => c.on_ack(window, ack),
            Self::Bbr(c) => c.on_ack(window, ack),
            Self::Dctcp(c) => c.on_ack(window, ack),
            Self::Own(c) => c.on_ack(window, ack),
        }
    }

    fn ssthresh_on_loss(&mut self, window: &Window, loss: &Loss) -> u32 {
        match self {
            Self::Reno(c) => c.ssthresh_on_loss(window, loss),
            Self::Cubic(c) => c.ssthresh_on_loss(window, loss),
            Self::CubicInteger(c) => c.ssthresh_on_loss(window, loss),
            Self::Bic(c) => c.ssthresh_on_loss(window, loss),
            Self::Bbr(c) => c.ssthresh_on_loss(window, loss),
            Self::Dctcp(c) => c.ssthresh_on_loss(window, loss),
            Self::Own(c) => c.ssthresh_on_loss(window, loss),
        }
    }

    fn on_timeout(&mut self, window: &mut Window, now: Instant) {
        match self {
            Self::Reno(c) => c.on_timeout(window, now),
            Self::Cubic(c) => c.on_timeout(window, now),
            Self::CubicInteger(c) => c.on_timeout(window, now),
            Self::Bic(c) => c.on_timeout(window, now),
            Self::Bbr(c) => c.on_timeout(window, now),
            Self::Dctcp(c) => c.on_timeout(window, now),
            Self::Own(c) => c.on_timeout(window, now),
        }
    }

    fn on_recovery_exit(&mut self, window: &Window, now: Instant) {
        match self {
            Self::Reno(c) => c.on_recovery_exit(window, now),
            Self::Cubic(c) => c.on_recovery_exit(window, now),
            Self::CubicInteger(c) => c.on_recovery_exit(window, now),
            Self::Bic(c) => c.on_recovery_exit(window, now),
            Self::Bbr(c) => c.on_recovery_exit(window, now),
            Self::Dctcp(c) => c.on_recovery_exit(window, now),
            Self::Own(c) => c.on_recovery_exit(window, now),
        }
    }

    fn on_spurious(&mut self) {
        match self {
            Self::Reno(c) => c.on_spurious(),
            Self::Cubic(c) => c.on_spurious(),
            Self::CubicInteger(c) => c.on_spurious(),
            Self::Bic(c) => c.on_spurious(),
            Self::Bbr(c) => c.on_spurious(),
            Self::Dctcp(c) => c.on_spurious(),
            Self::Own(c) => c.on_spurious(),
        }
    }

    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        match self {
            Self::Own(c) => c.rate_control(),
            Self::Reno(_)
            | Self::Cubic(_)
            | Self::CubicInteger(_)
            | Self::Bic(_)
            | Self::Bbr(_)
            | Self::Dctcp(_) => None,
        }
    }

    fn linux_control(&mut self) -> Option<&mut dyn LinuxControl> {
        match self {
            Self::CubicInteger(c) => c.linux_control(),
            Self::Bic(c) => c.linux_control(),
            Self::Own(c) => c.linux_control(),
            Self::Reno(_) | Self::Cubic(_) | Self::Bbr(_) | Self::Dctcp(_) => None,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Reno(c) => c.name(),
            Self::Cubic(c) => c.name(),
            Self::CubicInteger(c) => c.name(),
            Self::Bic(c) => c.name(),
            Self::Bbr(c) => c.name(),
            Self::Dctcp(c) => c.name(),
            Self::Own(c) => c.name(),
        }
    }
}
