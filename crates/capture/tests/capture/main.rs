//! Captures written, read, and judged by another program.

mod build;
mod common;
mod damage;
mod formats;
mod fuzz;
mod gaps;
mod limits;
mod packed;
mod pcapng;
mod tshark;
