//! Congestion control behind one small trait: how the window of a path grows, and what a loss makes of it.
//!
//! Each path has a controller of its own (RFC 9260 section 7.1). The association owns the [`Window`] and lends it;
//! bursts (Max.Burst), idle times and what is sent again are the association's business. [`Congestion::own`] takes a
//! controller from outside this crate.
//!
//! [`RateControl`] is for those that go by the rate of delivery, pace, or heed ECN (BBR), and costs nothing else. Samples
//! are a path's own: what left on it last. A chunk that is packed once more beside new ones (SC-E-6) is told to nobody.

use std::fmt::Debug;

use rexmit_units::{Duration, Instant};

pub use rexmit_stack::rate::{EcnEcho, RateControl, RateSample, SentData};

use crate::profile::{CongestionConfig, PartialBytes};

/// The congestion window of a path (RFC 9260 section 7.2), in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Congestion window.
    pub cwnd: u64,
    /// Slow-start threshold; [`u64::MAX`] while unlimited.
    pub ssthresh: u64,
    /// One step: the PMDCS or the PMTU.
    pub unit: u64,
}

/// A SACK that newly acknowledges data of the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sacked {
    /// When it arrived.
    pub now: Instant,
    /// Bytes newly acknowledged.
    pub acked: u64,
    /// Bytes in flight before it.
    pub flight: u64,
    /// The cumulative TSN has moved.
    pub moved: bool,
    /// Fast recovery lasts: the window of RFC 9260 does not grow.
    pub recovering: bool,
    /// Smoothed round-trip time of the path, if there is one.
    pub srtt: Option<Duration>,
}

/// One algorithm of congestion control.
pub trait CongestionControl {
    /// A SACK newly acknowledges data.
    fn on_sack(&mut self, window: &mut Window, sacked: &Sacked);

    /// Missing reports begin a fast retransmit: sets both windows. `flight`: bytes in flight.
    fn on_loss(&mut self, window: &mut Window, now: Instant, flight: u64);

    /// T3 has expired: sets both windows.
    fn on_timeout(&mut self, window: &mut Window, now: Instant);

    /// Everything on the path is acknowledged.
    fn on_drained(&mut self) {}

    /// Itself, if it goes by the rate of delivery, paces, or heeds ECN. Asked when a path begins, and then at each call of
    /// [`RateControl`].
    fn rate_control(&mut self) -> Option<&mut dyn RateControl<Window>> {
        None
    }

    /// Name of the algorithm.
    fn name(&self) -> &'static str;
}

/// RFC 9260 section 7.2, with the choices in which systems differ (SC-C-1 to SC-C-4).
#[derive(Clone, Debug)]
pub struct Rfc9260 {
    rule: PartialBytes,
    forgets_when_idle: bool,
    /// partial_bytes_acked.
    partial: u64,
}

impl Rfc9260 {
    /// One that has seen nothing.
    pub fn new(config: &CongestionConfig) -> Self {
        Self { rule: config.partial_bytes, forgets_when_idle: config.forget_partial_when_idle, partial: 0 }
    }
}

impl CongestionControl for Rfc9260 {
    /// Sections 7.2.1 and 7.2.2; SC-C-1 to 3.
    fn on_sack(&mut self, w: &mut Window, sacked: &Sacked) {
        if sacked.recovering {
            return;
        }
        let full = sacked.flight >= w.cwnd;
        if w.cwnd <= w.ssthresh {
            if full && sacked.moved {
                w.cwnd += sacked.acked.min(w.unit);
            }
            return;
        }
        match self.rule {
            PartialBytes::LessOldWindow => {
                self.partial += sacked.acked;
                if !full {
                    self.partial = self.partial.min(w.cwnd);
                } else if self.partial >= w.cwnd {
                    self.partial -= w.cwnd;
                    w.cwnd += w.unit;
                }
            }
            PartialBytes::LessNewWindow if full && sacked.moved => {
                self.partial += sacked.acked;
                if self.partial >= w.cwnd {
                    w.cwnd += w.unit;
                    self.partial = self.partial.saturating_sub(w.cwnd);
                }
            }
            PartialBytes::LessNewWindow => {}
        }
    }

    /// Section 7.2.3; SC-C-4.
    fn on_loss(&mut self, w: &mut Window, _now: Instant, _flight: u64) {
        w.ssthresh = (w.cwnd / 2).max(4 * w.unit);
        w.cwnd = w.ssthresh;
        self.partial = 0;
    }

    /// Section 7.2.3; SC-C-4.
    fn on_timeout(&mut self, w: &mut Window, _now: Instant) {
        w.ssthresh = (w.cwnd / 2).max(4 * w.unit);
        w.cwnd = w.unit;
        self.partial = 0;
    }

    /// Section 7.2.2.
    fn on_drained(&mut self) {
        if self.forgets_when_idle {
            self.partial = 0;
        }
    }

    fn name(&self) -> &'static str {
        "rfc9260"
    }
}

/// A [`CongestionControl`] that a path can own and copy. Whatever is `Clone`, `Debug`, `Send` and `Sync` has it.
pub trait OwnControl: CongestionControl + Debug + Send + Sync + 'static {
    /// A copy in the same state.
    fn boxed_clone(&self) -> Box<dyn OwnControl>;
}

impl<C: CongestionControl + Clone + Debug + Send + Sync + 'static> OwnControl for C {
    fn boxed_clone(&self) -> Box<dyn OwnControl> {
        Box::new(self.clone())
    }
}

/// The controller of one path.
#[derive(Debug)]
pub enum Congestion {
    /// That of the RFC.
    Rfc9260(Rfc9260),
    /// One from outside this crate.
    Own(Box<dyn OwnControl>),
}

impl Clone for Congestion {
    fn clone(&self) -> Self {
        match self {
            Self::Rfc9260(control) => Self::Rfc9260(control.clone()),
            // Of what is inside: a box is not a controller itself.
            Self::Own(control) => Self::Own((**control).boxed_clone()),
        }
    }
}

impl Congestion {
    /// A controller from outside this crate, for [`crate::Association::set_congestion`].
    pub fn own(control: impl OwnControl) -> Self {
        Self::Own(Box::new(control))
    }

    /// Whichever it is.
    #[inline]
    pub(crate) fn inner(&mut self) -> &mut dyn CongestionControl {
        match self {
            Self::Rfc9260(control) => control,
            Self::Own(control) => &mut **control,
        }
    }
}
