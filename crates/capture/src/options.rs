//! Options of a pcapng block.

use std::borrow::Cow;

use crate::block::{EPB_DROPCOUNT, EPB_FLAGS, OPT_COMMENT, OPT_END};
use crate::limits::COMMENT_BYTES;
use crate::order::Order;
use crate::record::Direction;

/// The options of a block, not looked at yet.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OptionBytes<'a> {
    pub(crate) bytes: &'a [u8],
    pub(crate) order: Order,
}

impl<'a> OptionBytes<'a> {
    pub(crate) const NONE: Self = OptionBytes { bytes: &[], order: Order::Little };

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Code and value of each; one that does not fit the block ends them.
    pub(crate) fn iter(self) -> impl Iterator<Item = (u16, &'a [u8])> {
        let Self { bytes, order } = self;
        let mut at = 0;
        std::iter::from_fn(move || {
            if at + 4 > bytes.len() {
                return None;
            }
            let (code, len) = (order.u16(bytes, at), usize::from(order.u16(bytes, at + 2)));
            let value = bytes.get(at + 4..at + 4 + len)?;
            at += 4 + len.next_multiple_of(4);
            (code != OPT_END).then_some((code, value))
        })
    }

    /// The number of eight bytes that option `code` holds, where it comes for the first time.
    pub(crate) fn u64(self, code: u16) -> Option<u64> {
        let (_, value) = self.iter().find(|(found, value)| *found == code && value.len() == 8)?;
        Some(self.order.u64(value, 0))
    }

    /// Of an enhanced packet: packets lost since the one before.
    pub(crate) fn drops(self) -> u64 {
        self.u64(EPB_DROPCOUNT).unwrap_or(0)
    }

    /// The comments, a line each; true if they are longer than that and were cut.
    pub(crate) fn comment(self) -> Option<(Cow<'a, str>, bool)> {
        let mut comment: Option<Cow<'a, str>> = None;
        let mut room = COMMENT_BYTES;
        let mut cut = false;
        for (_, value) in self.iter().filter(|(code, _)| *code == OPT_COMMENT) {
            if value.len() > room {
                cut = true;
            }
            if room == 0 {
                break;
            }
            let value = &value[..value.len().min(room)];
            room = room.saturating_sub(value.len() + 1);
            let line = String::from_utf8_lossy(value);
            match &mut comment {
                Some(lines) => {
                    let lines = lines.to_mut();
                    lines.push('\n');
                    lines.push_str(&line);
                }
                none => *none = Some(line),
            }
        }
        Some((comment?, cut))
    }

    /// The last that is said of it.
    pub(crate) fn direction(self) -> Option<Direction> {
        let flags = self.iter().filter(|(code, value)| *code == EPB_FLAGS && value.len() == 4).last();
        match self.order.u32(flags?.1, 0) & 3 {
            1 => Some(Direction::Inbound),
            2 => Some(Direction::Outbound),
            _ => None,
        }
    }
}
