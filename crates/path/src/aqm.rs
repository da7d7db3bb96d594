//! Active queue management: who is dropped or marked before the queue is full.

mod codel;
mod fq_codel;
mod pie;
mod red;

pub(crate) use codel::CodelQueue;
pub(crate) use fq_codel::FlowQueues;
pub(crate) use pie::PieQueue;
pub(crate) use red::RedQueue;

use rexmit_units::Instant;

use crate::carried::Carried;
use crate::spec::Algorithm;
use crate::verdict::Fate;
use crate::waiting::Waiting;

/// An algorithm wants the packet to go at `now`, after it has waited: marks it, where that is wanted and possible, and
/// gives it back; else says why it is dropped.
fn mark_or_drop<P: Carried>(
    packet: &mut Waiting<P>,
    now: Instant,
    by: Algorithm,
    ecn: bool,
) -> Result<(), Fate> {
    if ecn && packet.packet.mark() {
        packet.marked = true;
        return Ok(());
    }
    Err(Fate::DroppedFromQueue { by, after: packet.sojourn(now) })
}
