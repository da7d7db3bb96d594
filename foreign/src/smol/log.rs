//! What smoltcp logs as it decides to retransmit.
//!
//! smoltcp logs through the crate `log`, whose logger is the process's: each thread keeps the lines of the host that it
//! polls.

use std::cell::RefCell;
use std::sync::Once;

use log::{LevelFilter, Log, Metadata, Record};

/// A line of the log that tells why a packet leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Line {
    /// The timer has expired: what was sent and not acknowledged is to be sent again, from the first byte on.
    AfterRto,
    /// The third duplicate ACK has come: the first segment that is not acknowledged is to be sent again.
    FastRetransmit,
    /// A probe of a closed window.
    Probe,
}

/// Each line as smoltcp writes it in `src/socket/tcp.rs`.
const LINES: [(&str, Line); 3] = [
    ("retransmitting after rto", Line::AfterRto),
    ("retransmitting for fast-retransmit", Line::FastRetransmit),
    ("sending zero-window probe", Line::Probe),
];

thread_local! {
    static WRITTEN: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

struct Notes;

impl Log for Notes {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("smoltcp")
    }

    fn log(&self, record: &Record<'_>) {
        // Lines with values in them are not among those that count.
        let Some(text) = record.args().as_str().filter(|_| self.enabled(record.metadata())) else { return };
        if let Some((_, line)) = LINES.iter().find(|(written, _)| *written == text) {
            WRITTEN.with_borrow_mut(|lines| lines.push(*line));
        }
    }

    fn flush(&self) {}
}

/// Begins to keep what smoltcp logs.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        log::set_logger(&Notes).expect("nobody else logs in this process");
        log::set_max_level(LevelFilter::Trace);
    });
}

/// What was logged on this thread since the last call.
pub fn take() -> Vec<Line> {
    WRITTEN.take()
}
