//! Captures judged by packets alone.
//!
//! Nothing here sees a model, an emulator or a log of events. The emulator's comments in a capture are
//! handed on as notes and decide nothing, so that every answer can be checked against the truth elsewhere.
//!
//! A capture's records become packets in a [`Decoder`], an [`Analyzer`] sorts them into connections and judges them, and
//! what is final leaves as [`rows`], which [`tables`] turns into columns; [`Run`] does all of it for one capture, and
//! [`pair`] for two captures of the same flows. [`repeats`] keeps counts of retransmissions alone. Memory follows the connections that are open, not the file.
//!
//! Not judged: urgent data, and what is inside tunnels.
//!
//! # Example
//!
#![doc = include_str!("../example.md")]

mod analyzer;
mod core;
mod decode;
mod filter;
mod idle;
pub mod limits;
mod options;
pub mod packet;
pub mod pair;
pub mod repeats;
pub mod rows;
mod run;
pub mod sctp;
pub mod tables;
mod tcp;

#[cfg(test)]
mod script;

pub use self::core::policy;
pub use analyzer::Analyzer;
pub use decode::{Decoder, Skipped};
pub use filter::{Filter, FilterError};
pub use options::Options;
pub use run::{Progress, Run, RunOptions, Summary, Work};
