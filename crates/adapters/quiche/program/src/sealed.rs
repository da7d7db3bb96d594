//! What quiche's packets carry, as it seals and opens them.
//!
//! quiche itself does not say why it sends a packet. The linker lets its calls that seal and open one come here (`build.rs`):
//! the frames are read before they are sealed, and the acknowledgments once they are open.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::slice::from_raw_parts;

thread_local! {
    /// Those of the end at work.
    static AT_WORK: RefCell<Option<Sealed>> = const { RefCell::new(None) };
}

/// What an end's packets have shown.
#[derive(Debug, Default)]
pub struct Sealed {
    /// What the packets of the datagram carry that is being made.
    pub carries: Carries,
    /// Of each stream, what was sent of it.
    streams: BTreeMap<u64, Sent>,
    /// What of streams is in the packets that may yet be acknowledged, by their numbers.
    outstanding: BTreeMap<u64, Vec<Piece>>,
    next: u64,
}

/// What a datagram carries.
#[derive(Clone, Copy, Debug, Default)]
pub struct Carries {
    /// Data of streams for the first time.
    pub fresh: bool,
    /// Data of streams that were sent before.
    pub again: bool,
    /// Datagrams.
    pub datagram: bool,
    /// Acknowledgments.
    pub acks: bool,
    /// Anything else but padding.
    pub others: bool,
}

#[derive(Debug, Default)]
struct Sent {
    end: u64,
    /// What is acknowledged: where ranges begin, and end.
    acknowledged: BTreeMap<u64, u64>,
}

/// A part of a stream. Its end counts as a byte.
#[derive(Clone, Copy, Debug)]
struct Piece {
    stream: u64,
    from: u64,
    to: u64,
}

/// Does something in which the packets of this end are sealed and opened.
pub fn with<T>(own: &mut Sealed, act: impl FnOnce() -> T) -> T {
    AT_WORK.with_borrow_mut(|at_work| *at_work = Some(std::mem::take(own)));
    let result = act();
    *own = AT_WORK.with_borrow_mut(Option::take).unwrap_or_default();
    result
}

impl Sealed {
    /// Bytes of streams that are acknowledged; the end of one is a byte.
    pub fn acknowledged(&self) -> u64 {
        self.streams.values().flat_map(|sent| &sent.acknowledged).map(|(from, to)| to - from).sum()
    }

    fn seals(&mut self, header: &[u8], plaintext: &[u8]) {
        let mut pieces = Vec::new();
        let mut frames = Frames(plaintext);
        while let Some(frame) = frames.next() {
            match frame {
                Frame::Padding => {}
                Frame::Ack(_) => self.carries.acks = true,
                Frame::Stream(piece) => {
                    let sent = self.streams.entry(piece.stream).or_default();
                    self.carries.again |= piece.from < sent.end;
                    self.carries.fresh |= piece.to > sent.end;
                    sent.end = sent.end.max(piece.to);
                    pieces.push(piece);
                }
                Frame::Datagram => self.carries.datagram = true,
                Frame::Other => self.carries.others = true,
            }
        }
        // Numbers of 0-RTT and 1-RTT packets are of one space.
        let first = header.first().copied().unwrap_or(0);
        if first & 0x80 != 0 && first & 0x30 != 0x10 {
            return;
        }
        let len = usize::from(first & 3) + 1;
        let cut = header[header.len() - len..].iter().fold(0, |number, byte| number << 8 | u64::from(*byte));
        let number = whole(self.next, cut, 8 * len as u32);
        self.next = self.next.max(number + 1);
        if !pieces.is_empty() {
            self.outstanding.insert(number, pieces);
        }
    }

    fn opens(&mut self, header: &[u8], plaintext: &[u8]) {
        if header.first().is_none_or(|first| first & 0x80 != 0) {
            return;
        }
        let mut frames = Frames(plaintext);
        while let Some(frame) = frames.next() {
            let Frame::Ack(ranges) = frame else { continue };
            for (from, to) in ranges {
                let numbers: Vec<u64> =
                    self.outstanding.range(from..=to).map(|(number, _)| *number).collect();
                for piece in numbers.iter().flat_map(|number| self.outstanding.remove(number)).flatten() {
                    self.streams.entry(piece.stream).or_default().acknowledge(piece.from, piece.to);
                }
            }
        }
    }
}

impl Sent {
    fn acknowledge(&mut self, mut from: u64, mut to: u64) {
        while let Some((&other, &end)) =
            self.acknowledged.range(..=to).next_back().filter(|(_, end)| **end >= from)
        {
            self.acknowledged.remove(&other);
            (from, to) = (from.min(other), to.max(end));
        }
        if from < to {
            self.acknowledged.insert(from, to);
        }
    }
}

/// The packet number nearest to `next` that ends in these bits (RFC 9000 appendix A.3).
fn whole(next: u64, cut: u64, bits: u32) -> u64 {
    let window = 1_u64 << bits;
    let near = next & !(window - 1) | cut;
    if near + window / 2 <= next {
        near + window
    } else if near > next + window / 2 && near >= window {
        near - window
    } else {
        near
    }
}

enum Frame {
    Padding,
    Ack(Vec<(u64, u64)>),
    Stream(Piece),
    Datagram,
    Other,
}

/// Frames of a packet (RFC 9000 section 19).
struct Frames<'a>(&'a [u8]);

impl Frames<'_> {
    fn next(&mut self) -> Option<Frame> {
        let kind = self.number()?;
        let other = Some(Frame::Other);
        match kind {
            0 => {
                let others = self.0.iter().position(|byte| *byte != 0).unwrap_or(self.0.len());
                self.skip(others as u64)?;
                return Some(Frame::Padding);
            }
            2 | 3 => return self.ack(kind == 3),
            8..=15 => return self.stream(kind),
            1 | 0x1e => {}
            0x06 => {
                self.number()?;
                let len = self.number()?;
                self.skip(len)?;
            }
            0x07 => {
                let len = self.number()?;
                self.skip(len)?;
            }
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => {
                self.number()?;
            }
            0x05 | 0x11 | 0x15 => {
                self.number()?;
                self.number()?;
            }
            0x04 => (0..3).try_for_each(|_| self.number().map(|_| ()))?,
            0x18 => {
                self.number()?;
                self.number()?;
                let (len, rest) = self.0.split_first()?;
                self.0 = rest;
                self.skip(u64::from(*len) + 16)?;
            }
            0x1a | 0x1b => self.skip(8)?,
            0x30 | 0x31 => {
                let len = if kind == 0x31 { self.number()? } else { self.0.len() as u64 };
                self.skip(len)?;
                return Some(Frame::Datagram);
            }
            // What closes the connection, or is not known here, is the last.
            _ => self.0 = &[],
        }
        other
    }

    fn ack(&mut self, counts: bool) -> Option<Frame> {
        let mut largest = self.number()?;
        self.number()?;
        let count = self.number()?;
        let mut ranges = Vec::new();
        for n in 0..=count {
            if n > 0 {
                largest =
                    ranges.last().map(|(from, _): &(u64, u64)| *from)?.checked_sub(self.number()? + 2)?;
            }
            ranges.push((largest.checked_sub(self.number()?)?, largest));
        }
        if counts {
            (0..3).try_for_each(|_| self.number().map(|_| ()))?;
        }
        Some(Frame::Ack(ranges))
    }

    fn stream(&mut self, kind: u64) -> Option<Frame> {
        let stream = self.number()?;
        let from = if kind & 4 != 0 { self.number()? } else { 0 };
        let len = if kind & 2 != 0 { self.number()? } else { self.0.len() as u64 };
        self.skip(len)?;
        Some(Frame::Stream(Piece { stream, from, to: from + len + (kind & 1) }))
    }

    /// A number of variable length (RFC 9000 section 16).
    fn number(&mut self) -> Option<u64> {
        let first = *self.0.first()?;
        let (taken, rest) = self.0.split_at_checked(1 << (first >> 6))?;
        self.0 = rest;
        let start = u64::from(first & 0x3f);
        Some(taken[1..].iter().fold(start, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn skip(&mut self, len: u64) -> Option<()> {
        self.0 = self.0.get(usize::try_from(len).ok()?..)?;
        Some(())
    }
}

unsafe extern "C" {
    #[allow(clippy::too_many_arguments)]
    fn __real_EVP_AEAD_CTX_seal_scatter(
        context: *const c_void,
        out: *mut u8,
        tag: *mut u8,
        tag_len: *mut usize,
        most_tag: usize,
        nonce: *const u8,
        nonce_len: usize,
        input: *const u8,
        input_len: usize,
        extra: *const u8,
        extra_len: usize,
        header: *const u8,
        header_len: usize,
    ) -> c_int;

    fn __real_EVP_AEAD_CTX_open(
        context: *const c_void,
        out: *mut u8,
        out_len: *mut usize,
        most: usize,
        nonce: *const u8,
        nonce_len: usize,
        input: *const u8,
        input_len: usize,
        header: *const u8,
        header_len: usize,
    ) -> c_int;
}

/// Seals as BoringSSL does, in quiche's name.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn __wrap_EVP_AEAD_CTX_seal_scatter(
    context: *const c_void,
    out: *mut u8,
    tag: *mut u8,
    tag_len: *mut usize,
    most_tag: usize,
    nonce: *const u8,
    nonce_len: usize,
    input: *const u8,
    input_len: usize,
    extra: *const u8,
    extra_len: usize,
    header: *const u8,
    header_len: usize,
) -> c_int {
    // What is sealed of no bytes is not a packet, but a key that is tried or a token's tag.
    if input_len > 0 && header_len > 0 {
        AT_WORK.with_borrow_mut(|at_work| {
            let Some(own) = at_work.as_mut() else { return };
            // SAFETY: the caller's have so many bytes.
            let (header, input) =
                unsafe { (from_raw_parts(header, header_len), from_raw_parts(input, input_len)) };
            if extra_len > 0 {
                // SAFETY: as above.
                let extra = unsafe { from_raw_parts(extra, extra_len) };
                own.seals(header, &[input, extra].concat());
            } else {
                own.seals(header, input);
            }
        });
    }
    // SAFETY: as the caller has asked.
    unsafe {
        __real_EVP_AEAD_CTX_seal_scatter(
            context, out, tag, tag_len, most_tag, nonce, nonce_len, input, input_len, extra, extra_len,
            header, header_len,
        )
    }
}

/// Opens as BoringSSL does, in quiche's name.
#[unsafe(no_mangle)]
#[allow(clippy::too_many_arguments)]
unsafe extern "C" fn __wrap_EVP_AEAD_CTX_open(
    context: *const c_void,
    out: *mut u8,
    out_len: *mut usize,
    most: usize,
    nonce: *const u8,
    nonce_len: usize,
    input: *const u8,
    input_len: usize,
    header: *const u8,
    header_len: usize,
) -> c_int {
    // SAFETY: as the caller has asked.
    let opened = unsafe {
        __real_EVP_AEAD_CTX_open(
            context, out, out_len, most, nonce, nonce_len, input, input_len, header, header_len,
        )
    };
    if opened == 1 && header_len > 0 {
        AT_WORK.with_borrow_mut(|at_work| {
            let Some(own) = at_work.as_mut() else { return };
            // SAFETY: the caller's have so many bytes, and `out_len` of them were opened.
            let (header, plaintext) =
                unsafe { (from_raw_parts(header, header_len), from_raw_parts(out, *out_len)) };
            own.opens(header, plaintext);
        });
    }
    opened
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_made_whole_as_rfc_9000_says() {
        assert_eq!(whole(0xa82f_30eb, 0x9b32, 16), 0xa82f_9b32);
        assert_eq!(whole(0, 0, 8), 0);
        assert_eq!(whole(0x100, 0xff, 8), 0xff);
    }

    #[test]
    fn what_is_acknowledged_counts_once() {
        let mut sent = Sent::default();
        for (from, to) in [(0, 10), (20, 30), (5, 20), (29, 40), (0, 40)] {
            sent.acknowledge(from, to);
        }
        assert_eq!(sent.acknowledged, BTreeMap::from([(0, 40)]));
    }

    #[test]
    fn data_are_fresh_once_and_outstanding_until_they_are_acknowledged() {
        let mut own = Sealed::default();
        // A short header with a number of one byte; MAX_DATA, then STREAM 2 with length and end.
        let packet = [&[0x10, 0x05, 0x0b, 0x02, 0x03][..], b"abc", &[0, 0]].concat();
        own.seals(&[0x40, 7], &packet);
        assert!(own.carries.fresh && own.carries.others && !own.carries.again && !own.carries.acks);
        own.carries = Carries::default();
        own.seals(&[0x40, 8], &packet);
        assert!(own.carries.again && !own.carries.fresh);
        assert_eq!(own.acknowledged(), 0);
        own.opens(&[0x40, 0], &[2, 7, 0, 0, 0]);
        assert_eq!((own.acknowledged(), own.outstanding.len()), (4, 1));
        own.opens(&[0x40, 1], &[2, 8, 0, 0, 1]);
        assert_eq!((own.acknowledged(), own.outstanding.len()), (4, 0));
    }

    #[test]
    fn a_datagram_is_told_from_what_stands_behind_it() {
        let mut own = Sealed::default();
        own.seals(&[0x40, 7], &[0x31, 2, 9, 9, 2, 3, 0, 0, 0]);
        assert!(own.carries.datagram && own.carries.acks && !own.carries.fresh && !own.carries.others);
    }

    #[test]
    fn frames_that_are_cut_off_end_a_packet() {
        for bytes in [&[0x08][..], &[2, 1], &[2, 1, 0, 0, 5], &[0x0a, 0, 9, 1], &[0x06, 0, 0x7f, 0xff, 1]] {
            let mut frames = Frames(bytes);
            while frames.next().is_some() {}
        }
    }
}
