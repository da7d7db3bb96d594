//! Captures that are made to cost much: time stays in proportion to their size, memory within what is stated, and each
//! limit that acts is counted.

mod build;
mod cost;
mod sctp;
mod tcp;
