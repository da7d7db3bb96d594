//! What a stack hands to its host.

use std::collections::VecDeque;

use rexmit_wire::Packet;

use crate::{Reason, Transmission};

/// How many spare packets are kept. More lie idle only when a flow ends.
const MOST_SPARE: usize = 32;

/// The packets that leave, in order, and the memory of packets that have arrived, in which the next ones leave: a flow
/// at full speed then allocates nothing.
#[derive(Debug, Default)]
pub struct Outbox {
    leaving: VecDeque<Transmission>,
    #[expect(clippy::vec_box, reason = "the boxes themselves go on their way")]
    spare: Vec<Box<Packet>>,
}

impl Outbox {
    /// A packet leaves after those before it.
    #[inline]
    pub fn send(&mut self, packet: Packet, reason: Reason) {
        let packet = match self.spare.pop() {
            Some(mut spare) => {
                *spare = packet;
                spare
            }
            None => Box::new(packet),
        };
        self.push(Transmission { packet, reason });
    }

    /// The same for one that has its memory already.
    #[inline]
    pub fn push(&mut self, sent: Transmission) {
        self.leaving.push_back(sent);
    }

    /// The next packet to leave.
    #[inline]
    pub fn pop(&mut self) -> Option<Transmission> {
        self.leaving.pop_front()
    }

    /// A packet has been taken in whole: its memory serves another.
    #[inline]
    pub fn recycle(&mut self, packet: Box<Packet>) {
        if self.spare.len() < MOST_SPARE {
            self.spare.push(packet);
        }
    }
}
