//! Packets that arrived damaged, in fields that are compared: what they were.

use super::{Lane, State, Tie};
use crate::pair::digest::Digest;
use rexmit_wire::Checksum;

impl Lane<'_> {
    /// A bit error changes one field, most often; the packet that agrees in the most and fits the time is meant.
    pub(super) fn match_bruised(&self, state: &mut State) {
        let damaged =
            |i: &u32| !state.got_done[*i as usize] && self.got[*i as usize].checksum == Checksum::Bad;
        let found: Vec<u32> = (0..self.got.len() as u32).filter(damaged).collect();
        let lost: Vec<u32> = (0..self.sent.len() as u32).filter(|i| !state.sent_done[*i as usize]).collect();
        for got in found {
            // Those near it in time; most are known already.
            let lost = &lost[lost.partition_point(|i| self.is_long_before(*i, got))..];
            let open = lost.iter().copied().filter(|i| !state.sent_done[*i as usize]).take(NEAR);
            let alike = open.filter_map(|sent| {
                let cost = self.cost(sent, got)?;
                let fields = self.alike(&self.sent[sent as usize], &self.got[got as usize]);
                (fields >= MOST).then_some((std::cmp::Reverse(fields), cost, sent))
            });
            if let Some((_, _, sent)) = alike.min() {
                self.join(sent, got, Tie::First, state);
            }
        }
    }

    /// A packet was sent too early to be an arrival.
    fn is_long_before(&self, sent: u32, got: u32) -> bool {
        let time = self.sent[sent as usize].time;
        self.got[got as usize].time - time > self.latest(time)
    }

    /// In how many fields two packets agree.
    fn alike(&self, a: &Digest, b: &Digest) -> usize {
        let fields = [
            a.raw_seq == b.raw_seq,
            a.raw_ack == b.raw_ack,
            a.len == b.len,
            a.flags == b.flags,
            !self.fields.print || a.print == b.print,
            !self.fields.print || a.tsval == b.tsval,
            !self.fields.ident || a.ident == b.ident,
        ];
        fields.into_iter().filter(|same| *same).count()
    }
}

/// Fields of seven that must agree.
const MOST: usize = 6;
/// Lost packets that one damaged one is compared with.
const NEAR: usize = 256;
