//! What must hold for every controller, and the operations that check it: the body that all controllers of this
//! crate, and those of others, go through.
//!
//! A source of random numbers makes steps ([`Step::draw`]), [`check`] feeds them to a controller as a
//! connection would and looks at the window after each. The source is the caller's: a property test, a fuzz
//! target, a seeded generator.

use rexmit_units::{Duration, Instant};

use super::{Ack, CongestionControl, During, Loss, Window};

/// One thing that happens to a sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// An ACK of this many full segments.
    Ack {
        /// Segments that it acknowledges.
        segments: u32,
        /// The window was what limited the sender.
        limited: bool,
        /// There is a round-trip time and nothing is suspected; else a timeout is being repaired.
        sampled: bool,
    },
    /// A loss found by duplicates, repaired at once.
    FastRetransmit,
    /// The retransmission timer expires.
    Timeout,
    /// The last loss was spurious.
    Spurious,
    /// This many microseconds pass.
    Wait(u64),
}

impl Step {
    /// A step from a random number: mostly ACKs, now and then a loss, a timeout, a silence of up to 12 days.
    pub fn draw(random: u64) -> Self {
        let value = random >> 8;
        match random & 0xff {
            0..=189 => Self::Ack {
                segments: (value >> 2) as u32 % 200,
                limited: value & 1 == 0,
                sampled: value & 2 == 0,
            },
            190..=208 => Self::FastRetransmit,
            209..=217 => Self::Timeout,
            218..=226 => Self::Spurious,
            227..=246 => Self::Wait(value % 100_000),
            _ => Self::Wait(value % (1 << 40)),
        }
    }
}

/// What a controller broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// An ACK of new data never closes the window.
    NeverCloses,
    /// Growth ends at [`Window::max`].
    Limit,
    /// After a timeout the window is one segment.
    LossWindow,
    /// cwnd is at least one segment.
    Cwnd,
    /// ssthresh is at least two segments.
    Ssthresh,
    /// A loss never raises ssthresh beyond itself, cwnd and two segments.
    Raised,
}

impl std::fmt::Display for Bound {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::NeverCloses => "an ACK of new data never closes the window",
            Self::Limit => "growth ends at the window's limit",
            Self::LossWindow => "after a timeout the window is one segment",
            Self::Cwnd => "cwnd is at least one segment",
            Self::Ssthresh => "ssthresh is at least two segments",
            Self::Raised => "a loss never raises ssthresh",
        })
    }
}

/// A bound that was broken, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Number of the step, from 0.
    pub number: usize,
    /// The step.
    pub step: Step,
    /// The bound.
    pub bound: Bound,
    /// The window before the step.
    pub before: Window,
    /// The window after it.
    pub after: Window,
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { number, step, bound, before, after } = self;
        write!(f, "step {number}, {step:?}: {bound}; before {before:?}, after {after:?}")
    }
}

impl std::error::Error for Broken {}

/// Takes a controller through `steps`, from a window of three segments of `mss` bytes and no threshold.
///
/// # Errors
/// The first bound that it breaks.
pub fn check(
    control: &mut (impl CongestionControl + ?Sized),
    mss: u32,
    steps: impl IntoIterator<Item = Step>,
) -> Result<(), Broken> {
    let mut w = Window { cwnd: 3 * mss, ssthresh: u32::MAX, mss, max: 65_535 << 14 };
    let mut now = Instant::ZERO;
    for (number, step) in steps.into_iter().enumerate() {
        let before = w;
        take(control, &mut w, &mut now, step).and_then(|()| hold(&before, &w)).map_err(|bound| Broken {
            number,
            step,
            bound,
            before,
            after: w,
        })?;
    }
    Ok(())
}

/// One step, in the order of calls that [`super`] states.
fn take(
    c: &mut (impl CongestionControl + ?Sized),
    w: &mut Window,
    now: &mut Instant,
    step: Step,
) -> Result<(), Bound> {
    let before = *w;
    let event = Loss { in_flight: w.cwnd / 2, snd_wnd: 1 << 20, now: *now };
    match step {
        Step::Ack { segments, limited, sampled } => {
            let srtt = sampled.then(|| Duration::from_millis(80));
            let acked = w.mss * segments;
            let during = if sampled { During::Open } else { During::Loss };
            c.on_ack(w, &Ack { acked, now: *now, srtt, in_flight: w.cwnd, cwnd_limited: limited, during });
            held(w.cwnd >= before.cwnd, Bound::NeverCloses)?;
            held(w.cwnd <= before.cwnd.max(w.max), Bound::Limit)?;
        }
        Step::FastRetransmit => {
            w.ssthresh = c.ssthresh_on_loss(w, &event);
            w.cwnd = w.ssthresh;
            c.on_recovery_exit(w, *now);
        }
        Step::Timeout => {
            w.ssthresh = c.ssthresh_on_loss(w, &event);
            c.on_timeout(w, *now);
            held(w.cwnd == w.mss, Bound::LossWindow)?;
        }
        Step::Spurious => c.on_spurious(),
        Step::Wait(us) => *now += Duration::from_micros(us),
    }
    Ok(())
}

/// What must hold after every step.
fn hold(before: &Window, w: &Window) -> Result<(), Bound> {
    held(w.cwnd >= w.mss, Bound::Cwnd)?;
    held(w.ssthresh >= 2 * w.mss, Bound::Ssthresh)?;
    held(w.ssthresh <= before.ssthresh.max(before.cwnd).max(2 * w.mss), Bound::Raised)
}

fn held(holds: bool, bound: Bound) -> Result<(), Bound> {
    if holds { Ok(()) } else { Err(bound) }
}
