//! Captures written, read, and judged by another program.

mod common;
mod formats;
mod fuzz;
mod pcapng;
mod tshark;
