//! The Internet checksum (RFC 1071).

use std::net::IpAddr;

/// A ones' complement sum that is not yet folded.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sum(u64);

impl Sum {
    /// Adds `bytes`, which start at an even offset; an odd last byte is the high half of a word.
    #[inline]
    pub(crate) fn add(self, bytes: &[u8]) -> Self {
        Self(self.0 + words(bytes))
    }

    /// Adds the pseudo-header of TCP and UDP (RFC 9293 section 3.1, RFC 8200 section 8.1).
    #[inline]
    pub(crate) fn add_pseudo_header(self, src: IpAddr, dst: IpAddr, protocol: u8, len: usize) -> Self {
        let tail = (len as u32).to_be_bytes();
        self.add_address(src).add_address(dst).add(&tail).add(&[0, protocol])
    }

    /// The checksum of all that was added; zero for data that holds its own right checksum.
    #[inline]
    pub(crate) fn finish(self) -> u16 {
        let mut sum = self.0;
        while sum > 0xffff {
            sum = (sum & 0xffff) + (sum >> 16);
        }
        !(sum as u16)
    }

    fn add_address(self, address: IpAddr) -> Self {
        match address {
            IpAddr::V4(a) => self.add(&a.octets()),
            IpAddr::V6(a) => self.add(&a.octets()),
        }
    }
}

/// The sum of the words of `bytes`, an odd last byte being the high half of one.
///
/// Not in line: a crate that is compiled without optimisation, as tests are, would compile the loop so too.
fn words(bytes: &[u8]) -> u64 {
    // Words of 32 bits fold to the same sum as words of 16, and 2^32 of them fit.
    let (words, rest) = bytes.as_chunks::<4>();
    let sum: u64 = words.iter().map(|word| u64::from(u32::from_be_bytes(*word))).sum();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    sum + u64::from(u32::from_be_bytes(last))
}
