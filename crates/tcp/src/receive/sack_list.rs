//! Which SACK blocks an ACK carries: the one with the newest segment first, then earlier ones, newest first
//! (RFC 2018 section 4; FB-ACK-4).

use rexmit_wire::SeqNumber;

/// Blocks remembered beyond those that fit into one ACK.
const REMEMBERED: usize = 6;

/// The receiver's report.
#[derive(Clone, Debug, Default)]
pub(crate) struct SackList {
    blocks: [(SeqNumber, SeqNumber); REMEMBERED],
    len: u8,
    /// The last arrival was a duplicate of this range (RFC 2883); told once.
    duplicate: Option<(SeqNumber, SeqNumber)>,
}

impl SackList {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0 && self.duplicate.is_none()
    }

    /// Takes note of `[start, end)`, which has just arrived; `nxt` is rcv_nxt after it.
    pub fn update(&mut self, start: SeqNumber, end: SeqNumber, nxt: SeqNumber) {
        self.update_within(start, end, nxt, REMEMBERED);
    }

    /// Would `[start, end)` be a further block, or a part of one, after the first `n`?
    pub fn is_beyond(&self, start: SeqNumber, end: SeqNumber, n: usize) -> bool {
        let blocks = &self.blocks[..usize::from(self.len)];
        blocks.iter().position(|&(left, right)| start <= right && left <= end).unwrap_or(blocks.len()) >= n
    }

    /// `update` where only `most` blocks are remembered.
    pub fn update_within(&mut self, start: SeqNumber, end: SeqNumber, nxt: SeqNumber, most: usize) {
        let (mut head, mut kept, mut n) = ((start, end), [(SeqNumber(0), SeqNumber(0)); REMEMBERED], 0);
        for &(left, right) in &self.blocks[..usize::from(self.len)] {
            if left >= right || left <= nxt {
                continue; // covered by the cumulative acknowledgment
            }
            if head.0 <= right && head.1 >= left {
                head = (head.0.min(left), head.1.max(right));
            } else {
                kept[n] = (left, right);
                n += 1;
            }
        }
        let mut len = 0;
        if head.0 > nxt {
            self.blocks[0] = head;
            len = 1;
            n = n.min(most.clamp(1, REMEMBERED) - 1);
        }
        self.blocks[len..len + n].copy_from_slice(&kept[..n]);
        self.len = (len + n) as u8;
    }

    /// Forgets all blocks.
    pub fn clear(&mut self) {
        self.len = 0;
    }

    /// Drops what the cumulative acknowledgment covers.
    #[inline]
    pub fn advance(&mut self, nxt: SeqNumber) {
        if self.len > 0 {
            self.update(nxt, nxt, nxt);
        }
    }

    /// The next ACK reports `[start, end)` as received twice (RFC 2883 section 4).
    pub fn report_duplicate(&mut self, start: SeqNumber, end: SeqNumber) {
        self.duplicate = Some((start, end));
    }

    /// The blocks of an ACK with room for `room`.
    pub fn take(&mut self, room: usize) -> rexmit_wire::SackBlocks {
        let mut out = rexmit_wire::SackBlocks::default();
        if let Some((left, right)) = self.duplicate.take() {
            out.push(left, right);
        }
        for &(left, right) in &self.blocks[..usize::from(self.len)] {
            if out.len() == room {
                break;
            }
            out.push(left, right);
        }
        out
    }
}
