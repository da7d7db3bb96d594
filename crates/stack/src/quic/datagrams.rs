//! The application's writes as DATAGRAM frames (RFC 9221): the first bytes of each say which write it is, since nothing else of
//! a datagram does.

use std::collections::VecDeque;

use rexmit_wire::Payload;

/// Bytes at the beginning of a datagram that are the place of its write among all that the application writes, the most
/// significant first.
pub const PLACE_BYTES: u64 = 8;

/// No datagram of UDP has room for a longer one.
pub const MOST_DATAGRAM: u64 = 65_527;

/// What is wrong with a write of `len` bytes where datagrams have `most` bytes at most now.
pub fn no_datagram(len: u64, most: u64) -> String {
    format!(
        "a write of {len} bytes is not a datagram of this connection, which takes {PLACE_BYTES} to {most} bytes now: change the \
         transfer's writes, its write_size or the size of its messages"
    )
}

/// Datagrams that have arrived, which the application reads in the order in which they came. None is dropped, however late
/// it reads.
#[derive(Debug, Default)]
pub struct DatagramInbox {
    waiting: VecDeque<Vec<u8>>,
    /// Bytes of the first that have been read.
    read: usize,
    readable: u64,
    last: Option<u64>,
    misplaced: u64,
}

impl DatagramInbox {
    /// A datagram has arrived.
    pub fn arrived(&mut self, bytes: Vec<u8>) {
        match bytes.split_first_chunk() {
            Some((place, rest)) => {
                let place = u64::from_be_bytes(*place).wrapping_add(PLACE_BYTES);
                self.misplaced += Payload::wrong_bytes(place, rest);
                self.readable += bytes.len() as u64;
                self.waiting.push_back(bytes);
            }
            // None was written without a place.
            None => self.misplaced += bytes.len().max(1) as u64,
        }
    }

    /// Bytes that wait for a read.
    pub fn readable(&self) -> u64 {
        self.readable
    }

    /// Reads up to `max` bytes of one datagram.
    pub fn read(&mut self, max: u64) -> u64 {
        self.last = None;
        let Some(first) = self.waiting.front() else { return 0 };
        let Some(place) = first.first_chunk() else { return 0 };
        let place = u64::from_be_bytes(*place).wrapping_add(self.read as u64);
        let left = (first.len() - self.read) as u64;
        let len = left.min(max);
        self.last = Some(place);
        self.readable -= len;
        self.read += len as usize;
        if len == left {
            self.waiting.pop_front();
            self.read = 0;
        }
        len
    }

    /// Where the bytes of the last read stand among the peer's writes.
    pub fn last(&self) -> Option<u64> {
        self.last
    }

    /// Bytes that differ from those written there.
    pub fn misplaced(&self) -> u64 {
        self.misplaced
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Role;
    use crate::quic::StreamWriter;

    fn written(sizes: &[u64]) -> Vec<Vec<u8>> {
        let mut writer = StreamWriter::new(Role::Active, None);
        let mut one = |size: &u64| {
            let bytes = writer.next_datagram(*size, Some(1_000)).unwrap().to_vec();
            writer.wrote(0, *size);
            bytes
        };
        sizes.iter().map(&mut one).collect()
    }

    #[test]
    fn a_datagram_says_which_write_it_is_in_whatever_order_they_come() {
        let sent = written(&[100, 8, 50]);
        assert_eq!(sent.iter().map(Vec::len).collect::<Vec<_>>(), [100, 8, 50]);
        let mut inbox = DatagramInbox::default();
        for n in [2, 0] {
            inbox.arrived(sent[n].clone());
        }
        assert_eq!(inbox.readable(), 150);
        assert_eq!((inbox.read(u64::MAX), inbox.last()), (50, Some(108)));
        assert_eq!((inbox.read(30), inbox.last()), (30, Some(0)));
        assert_eq!((inbox.read(80), inbox.last(), inbox.readable()), (70, Some(30), 0));
        inbox.arrived(sent[1].clone());
        assert_eq!((inbox.read(u64::MAX), inbox.last()), (8, Some(100)));
        assert_eq!((inbox.read(u64::MAX), inbox.last(), inbox.misplaced()), (0, None, 0));
    }

    #[test]
    fn another_place_or_another_byte_is_counted() {
        let sent = written(&[100]);
        for at in [3, 7, 40] {
            let mut inbox = DatagramInbox::default();
            let mut wrong = sent[0].clone();
            wrong[at] ^= 1;
            inbox.arrived(wrong);
            assert!(inbox.misplaced() > 0, "{at}");
        }
        let mut inbox = DatagramInbox::default();
        inbox.arrived(vec![0; 3]);
        assert_eq!((inbox.misplaced(), inbox.readable()), (3, 0));
    }

    #[test]
    fn a_length_that_none_has_is_told_with_those_that_fit() {
        let mut writer = StreamWriter::new(Role::Active, None);
        for len in [7, 1_201] {
            let told = writer.next_datagram(len, Some(1_200)).unwrap_err();
            assert!(
                told.starts_with(&format!("a write of {len} bytes")) && told.contains("8 to 1200 bytes now")
            );
            assert!(!told.contains('\n') && !told.contains("  "), "{told}");
        }
        assert!(writer.next_datagram(1_200, Some(1_200)).is_ok() && writer.next_datagram(8, None).is_ok());
    }
}
