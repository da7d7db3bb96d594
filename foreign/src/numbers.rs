//! Which sequence numbers a host has sent.

use rexmit_wire::{Flags, SeqNumber, TcpSegment};

/// What a segment is by its sequence numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbered {
    /// It takes none, or only such as were never sent.
    New,
    /// The first probe of a closed window, or data of which a byte was in a probe.
    AroundProbe,
    /// A probe whose byte was sent before.
    ProbedAgain,
    /// It repeats what was sent before, and is not a probe.
    Again,
}

/// The numbers that one host of a connection has sent so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbers {
    /// One past the highest number sent, probes left out.
    edge: Option<SeqNumber>,
    /// One past the highest number sent in a probe.
    probed: Option<SeqNumber>,
}

impl Numbers {
    /// What the segment is that the host sends next; `probe` of a probe of a closed window.
    pub fn take(&mut self, segment: &TcpSegment, probe: bool) -> Numbered {
        let end = end(segment);
        if end == segment.seq {
            return Numbered::New;
        }
        if probe {
            let before = [self.probed, self.edge].into_iter().flatten().any(|sent| sent >= end);
            self.probed = Some(self.probed.map_or(end, |probed| probed.max(end)));
            return if before { Numbered::ProbedAgain } else { Numbered::AroundProbe };
        }
        let edge = *self.edge.get_or_insert(segment.seq);
        self.edge = Some(edge.max(end));
        if segment.seq < edge {
            return Numbered::Again;
        }
        let around = self.probed.is_some_and(|probed| probed > segment.seq);
        if around { Numbered::AroundProbe } else { Numbered::New }
    }
}

/// One past the last sequence number of a segment.
pub fn end(segment: &TcpSegment) -> SeqNumber {
    let controls = [Flags::SYN, Flags::FIN].into_iter().filter(|flag| segment.flags.has(*flag));
    segment.seq + segment.payload.len() + controls.count() as u32
}
