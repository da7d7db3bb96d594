//! The path emulator, sans-IO: impairments, queue, shaper, propagation delay.
//!
//! A [`Direction`] takes packets at instants that the caller gives and hands them out at instants that it
//! names. It reads no clock and draws from random streams that the caller gives, so the same code serves
//! virtual time and live traffic. What a path is, as a study writes it, is a [`PathSpec`]; which packets an
//! effect is for is a [`Pattern`].
//!
//! Stages, in order: the first link carries a packet; impairments decide as it enters; the queue admits it or not,
//! and its management may drop it later; the shaper sends it; the delay line and the second link carry it. Extra delay,
//! jitter and reordering act after that, so they never change what the queue holds.
//!
//! Not modelled: several bottlenecks in a row.
//!
#![doc = include_str!("../example.md")]

mod ahead;
mod aqm;
mod books;
mod carried;
mod counters;
mod direction;
mod discipline;
mod error;
mod flow;
mod headed;
mod ingress;
mod line;
mod outlet;
pub mod pattern;
mod queue;
mod random;
mod schedule;
mod select;
mod shaper;
mod spec;
mod station;
mod ticks;
pub mod trace;
mod unreached;
mod verdict;
mod waiting;

pub use carried::{Carried, FlowKey};
pub use counters::{Counters, Drops, LogRow, Stay, Summary};
pub use direction::Direction;
pub use error::PathError;
pub use pattern::{Pattern, Positions, Times};
pub use spec::{
    Algorithm, Aqm, Change, Changes, Codel, DelayRule, DirectionOverride, DirectionSpec, EmulatorKind,
    Followed, FqCodel, GilbertElliott, Hold, Impairments, Jitter, KernelOptions, LossModel, PathRate,
    PathSpec, Pie, Qdisc, Red, Reorder, ShaperKind, Spread, Trace, TraceName,
};
pub use trace::TraceFile;
pub use unreached::{Missed, Unreached};
pub use verdict::{By, Duplicated, Effects, Fate, Verdict};
