//! How an application reads: all there is, or in pieces at its own pace.

use rexmit_stack::Socket;
use rexmit_units::{Instant, Rate, TransmitClock};

use super::Progress;
use crate::journal::{Journal, Read};
use crate::spec::ReadSpec;

/// The reading half of an application.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// Most bytes that one read takes.
    size: u64,
    pace: Option<Box<Pace>>,
    pub journal: Journal<Read>,
}

/// A reader that takes its time.
#[derive(Clone, Debug)]
struct Pace {
    rate: Rate,
    clock: TransmitClock,
    next: Instant,
    /// There is something to read, but it is too early.
    waits: bool,
}

impl Reader {
    pub fn new(spec: ReadSpec) -> Self {
        let clock = TransmitClock::default();
        let pace = |rate| Box::new(Pace { rate, clock, next: Instant::ZERO, waits: false });
        Self {
            size: spec.size.map_or(u64::MAX, |size| size.as_u64()),
            pace: spec.rate.map(pace),
            journal: Journal::default(),
        }
    }

    /// The most that each read takes, where none waits.
    pub fn at_once(&self) -> Option<u64> {
        self.pace.is_none().then_some(self.size)
    }

    /// When the next read is due, where one waits.
    #[inline]
    pub fn poll_timer(&self) -> Option<Instant> {
        self.pace.as_ref().filter(|pace| pace.waits).map(|pace| pace.next)
    }

    /// Reads what is there and due; true if nothing is left unread.
    pub fn read<S: Socket + ?Sized>(
        &mut self,
        now: Instant,
        socket: &mut S,
        progress: &mut Progress,
    ) -> bool {
        while socket.readable() > 0 {
            if let Some(pace) = &mut self.pace {
                pace.waits = now < pace.next;
                if pace.waits {
                    return false;
                }
            }
            let got = socket.read(now, self.size);
            debug_assert!(got > 0, "readable bytes can be read");
            if got == 0 {
                return false;
            }
            progress.first_byte.get_or_insert(now);
            let followed = progress.bytes_read;
            self.journal.note(|| {
                let offset = socket.read_offset().unwrap_or(followed);
                Read { at: now, offset, len: got }
            });
            progress.bytes_read += got;
            if let Some(pace) = &mut self.pace {
                pace.next = pace.clock.transmit(now, got, pace.rate);
            }
        }
        true
    }
}
