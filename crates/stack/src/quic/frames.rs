//! The frames of a QUIC packet (RFC 9000 section 19), read from its plaintext.

use rexmit_wire::quic_number;

/// A frame, as far as whoever follows a connection needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Bytes to make the packet longer.
    Padding,
    /// Asks for an acknowledgment.
    Ping,
    /// Acknowledged packets: the numbers of each range, first and last, the highest range first.
    Ack(Vec<(u64, u64)>),
    /// Data of the handshake.
    Crypto,
    /// Data of a stream.
    Stream {
        /// The stream.
        id: u64,
        /// Where the data begin in it.
        offset: u64,
        /// How many bytes there are.
        len: u64,
        /// The stream ends after them.
        fin: bool,
    },
    /// A datagram (RFC 9221) of this many bytes.
    Datagram(u64),
    /// The connection is closed.
    Close,
    /// Any other; all of them ask for an acknowledgment.
    Other,
}

/// The frames of a packet's plaintext, up to the first that cannot be read.
#[derive(Clone, Debug)]
pub struct Frames<'a> {
    rest: &'a [u8],
}

impl<'a> Frames<'a> {
    /// Those of this plaintext.
    pub fn new(plaintext: &'a [u8]) -> Self {
        Self { rest: plaintext }
    }

    fn frame(&mut self) -> Option<Frame> {
        let kind = self.number()?;
        Some(match kind {
            0x00 => {
                let zeros = self.rest.iter().take_while(|byte| **byte == 0).count();
                self.skip(zeros as u64)?;
                Frame::Padding
            }
            0x01 => Frame::Ping,
            0x02 | 0x03 => {
                let ranges = self.ranges()?;
                if kind == 0x03 {
                    self.numbers(3)?;
                }
                Frame::Ack(ranges)
            }
            0x06 => {
                self.number()?;
                self.skip_counted()?;
                Frame::Crypto
            }
            0x08..=0x0f => {
                let id = self.number()?;
                let offset = if kind & 0x04 != 0 { self.number()? } else { 0 };
                let len = if kind & 0x02 != 0 { self.number()? } else { self.rest.len() as u64 };
                self.skip(len)?;
                Frame::Stream { id, offset, len, fin: kind & 0x01 != 0 }
            }
            0x30 | 0x31 => {
                let len = if kind == 0x31 { self.number()? } else { self.rest.len() as u64 };
                self.skip(len)?;
                Frame::Datagram(len)
            }
            0x1c | 0x1d => {
                self.numbers(if kind == 0x1c { 2 } else { 1 })?;
                self.skip_counted()?;
                Frame::Close
            }
            _ => {
                self.other(kind)?;
                Frame::Other
            }
        })
    }

    fn other(&mut self, kind: u64) -> Option<()> {
        match kind {
            // HANDSHAKE_DONE, IMMEDIATE_ACK (draft-ietf-quic-ack-frequency).
            0x1e | 0x1f => Some(()),
            // RESET_STREAM.
            0x04 => self.numbers(3),
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
            0x05 | 0x11 | 0x15 => self.numbers(2),
            // NEW_TOKEN.
            0x07 => self.skip_counted(),
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12 | 0x13 | 0x14 | 0x16 | 0x17 | 0x19 => self.numbers(1),
            // NEW_CONNECTION_ID.
            0x18 => {
                self.numbers(2)?;
                let len = *self.rest.first()?;
                self.skip(1 + u64::from(len) + 16)
            }
            // PATH_CHALLENGE, PATH_RESPONSE.
            0x1a | 0x1b => self.skip(8),
            // ACK_FREQUENCY.
            0xaf => self.numbers(4),
            _ => None,
        }
    }

    /// RFC 9000 section 19.3.1.
    fn ranges(&mut self) -> Option<Vec<(u64, u64)>> {
        let largest = self.number()?;
        self.number()?;
        let more = self.number()?;
        let mut first = largest.checked_sub(self.number()?)?;
        let mut ranges = vec![(first, largest)];
        for _ in 0..more {
            let last = first.checked_sub(self.number()?)?.checked_sub(2)?;
            first = last.checked_sub(self.number()?)?;
            ranges.push((first, last));
        }
        Some(ranges)
    }

    fn number(&mut self) -> Option<u64> {
        quic_number(&mut self.rest)
    }

    fn numbers(&mut self, count: usize) -> Option<()> {
        (0..count).try_for_each(|_| self.number().map(drop))
    }

    fn skip(&mut self, len: u64) -> Option<()> {
        self.rest = self.rest.get(usize::try_from(len).ok()?..)?;
        Some(())
    }

    fn skip_counted(&mut self) -> Option<()> {
        let len = self.number()?;
        self.skip(len)
    }
}

impl Iterator for Frames<'_> {
    type Item = Frame;

    fn next(&mut self) -> Option<Frame> {
        if self.rest.is_empty() {
            return None;
        }
        let frame = self.frame();
        if frame.is_none() {
            self.rest = &[];
        }
        frame
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frames(bytes: &[u8]) -> Vec<Frame> {
        Frames::new(bytes).collect()
    }

    #[test]
    fn an_acknowledgment_has_its_ranges() {
        // 10 to 12, a gap of 9 and 8, 5 to 7.
        assert_eq!(frames(&[0x02, 12, 0, 1, 2, 1, 2]), [Frame::Ack(vec![(10, 12), (5, 7)])]);
        assert_eq!(frames(&[0x03, 3, 0, 0, 3, 1, 2, 3, 0x01]), [Frame::Ack(vec![(0, 3)]), Frame::Ping]);
        // A range that would end before the first packet.
        assert_eq!(frames(&[0x02, 3, 0, 0, 4]), []);
    }

    #[test]
    fn a_stream_says_where_its_data_are() {
        let whole = [&[0x0f, 4, 0x40, 0x64, 2][..], b"ab", &[0, 0, 0]].concat();
        assert_eq!(frames(&whole), [Frame::Stream { id: 4, offset: 100, len: 2, fin: true }, Frame::Padding]);
        assert_eq!(frames(b"\x08\x03abc"), [Frame::Stream { id: 3, offset: 0, len: 3, fin: false }]);
        assert_eq!(frames(b"\x0a\x03\x05abc"), []);
    }

    #[test]
    fn every_other_frame_is_passed_over_whole() {
        let all: [&[u8]; 12] = [
            &[0x04, 1, 2, 3],
            &[0x05, 1, 2],
            &[0x06, 0, 2, 9, 9],
            &[0x07, 1, 9],
            &[0x10, 1],
            &[0x18, 1, 0, 1, 9, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
            &[0x1a, 1, 2, 3, 4, 5, 6, 7, 8],
            &[0x1c, 1, 0, 1, 9],
            &[0x1e],
            &[0x31, 1, 9],
            &[0x40, 0xaf, 1, 2, 3, 4],
            &[0x01],
        ];
        let read = frames(&all.concat());
        assert_eq!((read.len(), read.last()), (12, Some(&Frame::Ping)));
    }

    #[test]
    fn what_is_cut_off_ends_the_frames() {
        let whole = [&[0x01][..], &[0x0f, 4, 0x40, 0x64, 2], b"ab"].concat();
        for len in 1..whole.len() {
            assert_eq!(frames(&whole[..len]).first(), Some(&Frame::Ping));
            assert_eq!(frames(&whole[..len]).len(), 1);
        }
    }
}
